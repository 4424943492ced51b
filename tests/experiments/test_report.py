"""Committed results: the report is made of them; a finding that does not hold has a reason."""

import re

import pytest

from experiments.core import results
from experiments.core.reporting import HOLDS, Section, _why, commits, markdown
from experiments.core.results import TOO_SLOW, Results
from experiments.core.running import PLACES
from experiments.figures import EXPERIMENTS

FOLDER = PLACES["full"]
REPORT = (FOLDER / "report.md").read_text(encoding="utf-8")
MEASURED = [each for each in EXPERIMENTS if (FOLDER / f"{each.name}.csv").exists()]


def section_of(experiment):
    """A section of the report, with its pictures left out: they are files of their own."""
    found = results.read(FOLDER / f"{experiment.name}.csv")
    pictures = [""] * len(list(FOLDER.glob(f"{experiment.name}-*.svg")))
    verdicts = [(finding, finding.check(found)) for finding in experiment.findings]
    return Section(experiment, found, pictures, verdicts)


SECTIONS = [section_of(each) for each in MEASURED]


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.experiment.name)
def test_what_does_not_hold_has_a_reason_that_its_columns_support(section):
    for finding, verdict in section.verdicts:
        assert verdict.holds is not False or finding.reasons(section.results), finding.said


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.experiment.name)
def test_the_report_says_what_the_figures_say(section):
    for finding, verdict in section.verdicts:
        told = f"({verdict.evidence}; required: {verdict.required})"
        assert verdict.evidence and verdict.required
        assert f"- {finding.said}: **{HOLDS[verdict.holds]}** {told}" in REPORT
        if verdict.holds is False:
            assert f"  - {_why(section, finding, verdict)}" in REPORT


def test_the_report_has_nothing_but_what_the_figures_say():
    assert markdown(SECTIONS).splitlines() == REPORT.splitlines()


def test_the_report_names_the_commits_of_its_sections():
    """If it says "One commit", one experiment measured later by another commit fails here."""
    of_it = {
        each.experiment.name: {row["commit"] for row in each.results.rows} for each in SECTIONS
    }
    one = re.search(r"^One commit: (\S+)\.$", REPORT, re.MULTILINE)
    if one:
        assert set().union(*of_it.values()) == {one[1]}
    else:
        several = re.search(r"^(\d+) commits: (.+)\.$", REPORT, re.MULTILINE)
        told = dict(re.findall(r"(\S+) \(([^)]+)\)", several[2]))
        assert int(several[1]) == len(told) > 1
        named = {
            name: {c for c, names in told.items() if name in names.split(", ")} for name in of_it
        }
        assert named == of_it


def of_commits(*names):
    row = {"panel": "", "x": 1, "way": "w", "status": "measured", "note": ""}
    return [
        Section(experiment, Results([row | {"commit": name}]), [], [])
        for experiment, name in zip(EXPERIMENTS, names, strict=False)
    ]


def test_sections_of_different_commits_are_not_called_one():
    assert commits(of_commits("abc", "abc")) == "One commit: abc."
    assert (
        commits(of_commits("abc", "def", "abc")) == "2 commits: abc (fig8, first_test); def (fig9)."
    )


def changed(rows, factor):
    """Figures of a way, a point, a panel or a column multiplied, in turn; and a way too slow.

    Of a column that has zeros these also become ones.
    """
    for names in ((), ("way",), ("x",), ("panel",), ("way", "x"), ("way", "panel")):
        for place in dict.fromkeys(tuple(row[name] for name in names) for row in rows):
            yield [
                multiplied(row, row, factor) if tuple(row[name] for name in names) == place else row
                for row in rows
            ]
    for column in dict.fromkeys(name for row in rows for name in row):
        yield [multiplied(row, (column,), factor) for row in rows]
        if any(row.get(column) == 0 for row in rows):
            yield [row | {column: 1} if row.get(column) == 0 else row for row in rows]
        yield [
            multiplied(row, (column,), factor) if row["x"] == rows[-1]["x"] else row for row in rows
        ]
    for way in dict.fromkeys(row["way"] for row in rows):
        stopped = {"status": TOO_SLOW, "note": "more than 60 s"}
        yield [row | stopped if row["way"] == way else row for row in rows]


def multiplied(row, columns, factor):
    """Of the columns the numbers, but not the point at which they were measured."""
    return {
        name: value * factor
        if name in columns and name != "x" and isinstance(value, int | float)
        else value
        for name, value in row.items()
    }


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.experiment.name)
def test_by_other_figures_a_finding_that_holds_does_not(section):
    """A check that holds by any figures says nothing."""
    known = section.results
    others = [
        Results(rows)
        for some in ([known.rows] if known.rows == known.measured else [known.rows, known.measured])
        for factor in (1e-6, 1e6)
        for rows in changed(some, factor)
    ]
    for finding, verdict in section.verdicts:
        if verdict.holds:
            found = (finding.check(each).holds for each in others)
            assert any(holds is False for holds in found), finding.said


def test_a_reason_that_its_figures_do_not_support_is_none():
    """Else the first test could not fail: of other results some reasons do not hold."""
    reasons = [
        (reason, each.name)
        for each in MEASURED
        for finding in each.findings
        for reason in finding.why
    ]
    others = {each.experiment.name: each.results for each in SECTIONS}
    assert all(
        any(not reason.check(rows).holds for other, rows in others.items() if other != name)
        for reason, name in reasons
    )
