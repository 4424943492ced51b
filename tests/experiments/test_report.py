"""Committed results: a finding that does not hold has a reason; the report agrees with figures."""

import pytest

from experiments.core import results
from experiments.core.reporting import HOLDS, Section, _why
from experiments.core.running import PLACES
from experiments.figures import EXPERIMENTS

FOLDER = PLACES["full"]
REPORT = (FOLDER / "report.md").read_text(encoding="utf-8")
MEASURED = [each for each in EXPERIMENTS if (FOLDER / f"{each.name}.csv").exists()]


@pytest.mark.parametrize("experiment", MEASURED, ids=lambda experiment: experiment.name)
def test_what_does_not_hold_has_a_reason_that_its_columns_support(experiment):
    found = results.read(FOLDER / f"{experiment.name}.csv")
    for finding in experiment.findings:
        verdict = finding.check(found)
        assert verdict.holds is not False or finding.reasons(found), finding.said


@pytest.mark.parametrize("experiment", MEASURED, ids=lambda experiment: experiment.name)
def test_the_report_says_what_the_figures_say(experiment):
    found = results.read(FOLDER / f"{experiment.name}.csv")
    section = Section(experiment, found, [], [])
    for finding in experiment.findings:
        verdict = finding.check(found)
        assert f"- {finding.said}: **{HOLDS[verdict.holds]}** ({verdict.evidence})" in REPORT
        if verdict.holds is False:
            assert f"  - {_why(section, finding, verdict)}" in REPORT


def test_a_reason_that_its_figures_do_not_support_is_none():
    """Else the first test could not fail: of other results some reasons do not hold."""
    reasons = [
        (reason, each.name)
        for each in MEASURED
        for finding in each.findings
        for reason in finding.why
    ]
    others = {each.name: results.read(FOLDER / f"{each.name}.csv") for each in MEASURED}
    assert all(
        any(not reason.check(rows).holds for other, rows in others.items() if other != name)
        for reason, name in reasons
    )
