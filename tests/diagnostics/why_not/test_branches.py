"""Why a pattern with choices finds its matches: each branch is explained as if it were alone."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pytest

import sase
from sase.cli.main import main

EVENTS = pa.table(
    {
        "ts": range(14),
        "type": list("ACDABDAXDACCDB"),
        "v": [1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 9, 9],
    }
)
QUERY = (
    "EVENT SEQ(A a, (B b OR C+ c[] OR Z z)?, !(X x), D d)"
    " WHERE a.v < d.v AND b.v > 5 WITHIN 8 RETURN a.v, b.v"
)
ALONE = [
    "EVENT SEQ(A a, B b, !(X x), D d) WHERE a.v < d.v AND b.v > 5 WITHIN 8",
    "EVENT SEQ(A a, C+ c[], !(X x), D d) WHERE a.v < d.v WITHIN 8",
    "EVENT SEQ(A a, Z z, !(X x), D d) WHERE a.v < d.v WITHIN 8",
    "EVENT SEQ(A a, !(X x), D d) WHERE a.v < d.v WITHIN 8",
]
PATTERNS = [
    "SEQ(A a, B b, !(X x), D d)",
    "SEQ(A a, C+ c, !(X x), D d)",
    "SEQ(A a, Z z, !(X x), D d)",
    "SEQ(A a, !(X x), D d)",
]


@pytest.mark.parametrize("more", [{}, {"where": "v <> 5"}, {"from_": 3, "to": 12}, {"near": 0}])
def test_each_branch_is_explained_as_if_it_were_alone(more: dict[str, object]) -> None:
    found = sase.why(QUERY, EVENTS, **more)  # type: ignore[arg-type]
    assert len(found.branches) == len(ALONE)
    for each, query, pattern in zip(found.branches, ALONE, PATTERNS, strict=True):
        alone = sase.why(query, EVENTS, **more)  # type: ignore[arg-type]
        assert str(each) == str(alone)
        assert each.to_dict() == alone.to_dict()
        assert each.pattern == pattern


def test_how_often_which_branch_matches_comes_first() -> None:
    found = sase.why(QUERY, EVENTS)
    assert found.matches.number == len(sase.match(QUERY, EVENTS)) == 12
    assert found.matches.is_exact
    text = str(found)
    assert text.startswith(
        "There are 12 matches: 8 of branch 2, 4 of branch 4.\n"
        "There is none of branches 1 and 3.\n"
        "Branch 1 breaks at D d.\n"
        "Branch 3 breaks at Z z.\n\n"
        "branch 1 of 4: SEQ(A a, B b, !(X x), D d)\n\ncomponent"
    )
    headings = [line for line in text.splitlines() if line.startswith("branch ")]
    assert headings == [f"branch {n} of 4: {each}" for n, each in enumerate(PATTERNS, 1)]


def test_nothing_matches() -> None:
    found = sase.why("EVENT SEQ(A a, Y y) OR SEQ(A a, Z z)", EVENTS)
    assert found.matches.is_none
    assert found.words[0] == "there is no match of any of the 2 branches"
    assert "No event has the type `Y`" in str(found)
    assert "No event has the type `Z`" in str(found)


def test_one_branch_matches_once() -> None:
    found = sase.why("EVENT SEQ(X x, B b) OR SEQ(Z z, B b)", EVENTS)
    assert found.words == (
        "there is 1 match: 1 of branch 1",
        "there is none of branch 2",
        "branch 2 never begins: no event can be its Z z",
    )


def test_where_branches_break_that_match_nothing() -> None:
    """An element that may be empty breaks none; HAVING is checked at the last."""
    found = sase.why(
        "EVENT SEQ(A? p, D d) OR SEQ(Q? q, A a, Z z) OR SEQ(A a) WHERE a.v > 99", EVENTS
    )
    assert found.words[1:] == (
        "there is none of branches 2 and 3",
        "branch 2 never begins: no event can be its A a",
        "branch 3 never begins: no event can be its A a",
    )
    found = sase.why("EVENT (SEQ(A a, X x, Z z) OR SEQ(A a, !(X y), D d)) HAVING d.v > 99", EVENTS)
    assert found.words == (
        "there is no match of any of the 2 branches",
        "branch 1 breaks at Z z",
        "branch 2 breaks at D d",
    )


@pytest.mark.parametrize(
    ("query", "counts"),
    [
        ("EVENT SEQ(A a, D d) OR SEQ(A a, D d)", "at least 10 matches"),
        ("EVENT SEQ(A a, C? c, D d) OR SEQ(A a, D d)", "at least "),
        ("EVENT SEQ(A a, C? c, D d) OR SEQ(A a, X x, D d)", ""),
        ("EVENT SEQ(A a, C d) OR SEQ(A a, D d)", ""),
    ],
)
def test_what_two_branches_may_both_find_is_not_counted_twice(query: str, counts: str) -> None:
    found, number = sase.why(query, EVENTS), len(sase.match(query, EVENTS))
    assert found.matches.is_exact == (counts == "")
    assert found.matches.number <= number
    if found.matches.is_exact:
        assert found.matches.number == number
    assert found.words[0].startswith(f"there are {counts}")


def test_the_budget_is_shared_by_the_branches() -> None:
    found = sase.why(QUERY, EVENTS, most=1)
    assert not found.is_complete
    assert not found.matches.is_exact
    assert str(found.matches).startswith("at least ")


def test_types_by_conditions_hold_in_every_branch() -> None:
    types = {"Low": "v < 5", "High": "v >= 5"}
    plain = EVENTS.drop_columns(["type"])
    found = sase.why("EVENT SEQ(Low a, (Low b OR High c)) WITHIN 3", plain, types=types)
    alone = sase.why("EVENT SEQ(Low a, High c) WITHIN 3", plain, types=types)
    assert found.branches[1].matches == alone.matches
    assert alone.matches.number > 0


@pytest.mark.parametrize("form", ["text", "json"])
def test_on_the_command_line(form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "events.csv"
    pyarrow.csv.write_csv(EVENTS, path)
    assert main(["why", "--events", str(path), "--format", form, "-q", QUERY]) == 0
    out = capsys.readouterr().out
    if form == "text":
        assert "\nbranch 3 of 4: SEQ(A a, Z z, !(X x), D d)\n" in out
        return
    document = json.loads(out)
    assert [each["pattern"] for each in document["branches"]] == PATTERNS
    assert [each["matches"]["number"] for each in document["branches"]] == [0, 8, 0, 4]
    assert document["matches"]["number"] == 12
