"""Branches of imprecise time that give the same match, of which one waits."""

from __future__ import annotations

import sase

EVENTS = [("A", 1, 1), ("B", 2, 2), ("B", 2, 3), ("C", 3, 3)]
ROWS = [{"type": kind, "lo": lo, "hi": hi} for kind, lo, hi in EVENTS]


def test_threads_know_of_which_branch_a_match_is() -> None:
    query = "EVENT SEQ(A* a[], ANY b, !(C d), B* c[]) OR SEQ(B* c[], ANY b, A* a[]) WITHIN 3"
    plan = sase.compile(query, ROWS, time=("lo", "hi"))
    alone, several = (plan.run(ROWS, threads=number) for number in (1, 3))
    assert {"a": [], "b": 0, "c": []} in alone.rows.to_pylist()
    assert several.rows == alone.rows and several.to_pylist() == alone.to_pylist()


# ---------------------------------------------------------------- copies

# Matches that two branches give, by events in an unknown order.


EITHER = "EVENT SEQ(A a, B b, !(C c)) OR SEQ(B b, A a, !(C c)) WITHIN 7"
OF_EITHER = [
    {"type": "A", "lo": 9, "hi": 20},
    {"type": "B", "lo": 12, "hi": 13},
    {"type": "D", "lo": 22, "hi": 22},
    {"type": "D", "lo": 40, "hi": 40},
]


def test_a_match_waits_for_its_copy_which_begins_with_another_event() -> None:
    """The window that shows the absence is that of the first event, which differs by branch."""
    known = sase.compile(EITHER, OF_EITHER, time=("lo", "hi"))
    expected = known.run(OF_EITHER).to_pylist()
    matcher = known.open()
    pushed = [match for row in OF_EITHER for match in matcher.push([row]).to_pylist()]
    assert [*pushed, *matcher.finish().to_pylist()] == expected
    assert [match["detected_at"] for match in expected] == [27]
