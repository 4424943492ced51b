"""Branches of imprecise time that give the same match, of which one waits for an absence."""

from __future__ import annotations

import sase
from tests.drawing.imprecise import Row
from tests.drawing.imprecise_ways import TIME, found, table

EVENTS = [("A", 1, 1), ("B", 2, 2), ("B", 2, 3), ("C", 3, 3)]
ROWS: list[Row] = [
    {"type": kind, "lo": lo, "hi": hi, "k": 1, "v": 0, "w": None} for kind, lo, hi in EVENTS
]


def test_threads_know_of_which_branch_a_match_is() -> None:
    query = "EVENT SEQ(A* a[], ANY b, !(C d), B* c[]) OR SEQ(B* c[], ANY b, A* a[]) WITHIN 3"
    plan = sase.compile(query, table(ROWS), time=TIME)
    alone, several = (found(plan.run(table(ROWS), threads=number)) for number in (1, 3))
    assert ((), (0,), ()) in alone.rows
    assert repr(several) == repr(alone)
