"""Strategies side by side for a pattern with choices: the reasons are those of the branch alone."""

from __future__ import annotations

import pyarrow as pa
import pytest

import sase
from sase.diagnostics.strategies.comparison import SEVERAL, Comparison

ROWS = 40
EVENTS = pa.table(
    {
        "ts": range(ROWS),
        "type": list("ACBDACXDABBDCACDXBACDDABCDAXCDABDABBACBD"),
        "id": [number // 3 % 2 for number in range(ROWS)],
        "v": [number * 7 % 11 for number in range(ROWS)],
    }
)
QUERY = (
    "EVENT SEQ(A a, (C+ c[] OR B b), D d) WHERE [id] AND a.v < d.v AND b.v <> d.v WITHIN 12 events"
)
BRANCHES = {
    "c": "EVENT SEQ(A a, C+ c[], D d) WHERE [id] AND a.v < d.v WITHIN 12 events",
    "b": "EVENT SEQ(A a, B b, D d) WHERE [id] AND a.v < d.v AND b.v <> d.v WITHIN 12 events",
}


def told(compared: Comparison) -> set[tuple[object, ...]]:
    """The matches that each strategy has beyond another one, by the bound rows, and why."""
    return {
        (each.strategy, each.other, tuple(rows for rows in match.rows if rows[1]), match.reasons)
        for each in compared.differences
        for match in each.matches
    }


def test_what_a_strategy_adds_is_what_it_adds_to_the_branches() -> None:
    whole = sase.compare(QUERY, EVENTS, show=500)
    alone = {name: sase.compare(query, EVENTS, show=500) for name, query in BRANCHES.items()}
    assert all(each.differences[-1].number for each in alone.values())
    assert told(whole) == set().union(*map(told, alone.values()))
    assert any("must take it" in reason for _, _, _, why in told(whole) for reason in why)
    for place, each in enumerate(whole.measured):
        assert each.matches == sum(other.measured[place].matches for other in alone.values())


def test_variables_may_stand_in_another_order_in_a_branch() -> None:
    """The rows of a match are in the order of the variables of the whole, here a, c, d."""
    one, other = "SEQ(A a, C c, D d)", "SEQ(A a, D d, C c)"
    compared = sase.compare(f"EVENT {one} OR {other} WITHIN 9 events", EVENTS, show=500)
    every = (sase.compare(f"EVENT {q} WITHIN 9 events", EVENTS, show=500) for q in (one, other))
    alone = [
        {(*names, tuple(sorted(rows)), why) for *names, rows, why in told(each)} for each in every
    ]
    assert all(alone)
    assert told(compared) == set.union(*alone)


@pytest.mark.parametrize(
    ("query", "is_known"),
    [
        ("EVENT SEQ(A a, (B b)?, D d)", True),
        ("EVENT SEQ(A a, D d) OR SEQ(A a, B? b, D d)", False),
    ],
)
def test_why_not_is_told_where_one_branch_may_bind_the_events(query: str, is_known: bool) -> None:
    compared = sase.compare(f"{query} WITHIN 9 events", EVENTS, show=500)
    why = {match[3] for match in told(compared)}
    assert ((SEVERAL,) in why) is not is_known
    assert len(why) > 1
