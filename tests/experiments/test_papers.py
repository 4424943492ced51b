"""Each figure and table of the four papers has an experiment, or a reason why it has none."""

import re
from collections.abc import Iterator

import pytest

from experiments.__main__ import main
from experiments.figures import EXPERIMENTS
from experiments.papers import (
    MATCH_WINDOWS,
    NOT_REPEATED,
    REPEATED,
    SASE,
    SASE_PLUS,
    SASE_PLUS_PLUS,
)
from tests.repo.source import ROOT

# How many figures and tables a paper has, and the panels of a figure that has several.
PAPERS = {
    SASE: (12, 2, {10: "ab"}),
    SASE_PLUS: (8, 3, {8: "abcdefg"}),
    SASE_PLUS_PLUS: (8, 6, {5: "abcdefghi", 6: "abcdef", 7: "abcdef"}),
    MATCH_WINDOWS: (8, 1, {6: "abcdef", 7: "abcdef", 8: "ab"}),
}
# The source of an experiment, up to its first comma.
OF_SOURCE = {
    "SASE": SASE,
    "SASE+": SASE_PLUS,
    "SASE++": SASE_PLUS_PLUS,
    "Match windows": MATCH_WINDOWS,
}


def items(paper: str) -> Iterator[str]:
    figures, tables, panels = PAPERS[paper]
    for number in range(1, figures + 1):
        yield from (f"Figure {number}{panel}" for panel in panels.get(number, " "))
    yield from (f"Table {number}" for number in range(1, tables + 1))


@pytest.mark.parametrize("paper", PAPERS)
def test_each_figure_and_table_is_repeated_or_has_a_reason(paper: str) -> None:
    listed = [*REPEATED[paper], *NOT_REPEATED[paper]]
    assert sorted(listed) == sorted(item.strip() for item in items(paper))


def test_the_places_that_a_reason_names_are_there() -> None:
    reasons = " ".join(reason for each in NOT_REPEATED.values() for reason in each.values())
    places = set(re.findall(r"(?:tests|docs|examples)/[\w/.]*\w", reasons))
    assert len(places) >= 5 and all((ROOT / place).exists() for place in places)


def named(title: str) -> Iterator[str]:
    """The figures and tables that a title names: `Figures 5a, 5b and Table 3`."""
    for kind, numbers in re.findall(r"(Figure|Table)s? (\d+[a-z]?(?:, \d+[a-z])*)", title):
        yield from (f"{kind} {number}" for number in numbers.split(", "))


def test_titles_of_experiments_name_the_same_figures() -> None:
    listed = {
        (paper, item, name)
        for paper, repeated in REPEATED.items()
        for item, names in repeated.items()
        for name in names
    }
    titles = {
        (paper, item, each.name)
        for each in EXPERIMENTS
        if (paper := OF_SOURCE.get(each.source.partition(",")[0])) is not None
        for item in named(each.title)
        if f"{item}a" not in REPEATED[paper]  # a figure as a whole, of other data
    }
    assert titles == listed


def test_the_list_gives_the_reasons(capsys: pytest.CaptureFixture[str]) -> None:
    main(["list"])
    _, _, rest = capsys.readouterr().out.partition("\n\n")
    told = " ".join(rest.split())
    for reasons in NOT_REPEATED.values():
        for item, reason in reasons.items():
            assert reason in told and item.split()[1] in told
    assert "SASE++ 2014, Figures 6e, 6f: not repeated: XSeq" in told
