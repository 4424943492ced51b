"""Matches that two branches give, by events in an unknown order."""

from __future__ import annotations

import sase

QUERY = "EVENT SEQ(A a, B b, !(C c)) OR SEQ(B b, A a, !(C c)) WITHIN 7"
ROWS = [
    {"type": "A", "lo": 9, "hi": 20},
    {"type": "B", "lo": 12, "hi": 13},
    {"type": "D", "lo": 22, "hi": 22},
    {"type": "D", "lo": 40, "hi": 40},
]


def test_a_match_waits_for_its_copy_which_begins_with_another_event() -> None:
    """The window that shows the absence is that of the first event, which differs by branch."""
    known = sase.compile(QUERY, ROWS, time=("lo", "hi"))
    expected = known.run(ROWS).to_pylist()
    matcher = known.open()
    pushed = [match for row in ROWS for match in matcher.push([row]).to_pylist()]
    assert [*pushed, *matcher.finish().to_pylist()] == expected
    assert [match["detected_at"] for match in expected] == [27]
