"""When a match of earliest_maximal is returned: at its last event, if it can bind nothing more."""

from __future__ import annotations

import pytest

import sase


@pytest.mark.parametrize("window", ["", "WITHIN 9", "WITHIN 5 EVENTS"])
@pytest.mark.parametrize("last", ["B{2} b[]", "SET(B{2} b[])", "B{1} b[], B c", "SET(B b, ANY c)"])
def test_a_match_that_is_full_is_told_at_once(last: str, window: str) -> None:
    rows = [{"ts": ts, "type": kind} for ts, kind in enumerate("ABB")]
    query = f"EVENT SEQ(A a, {last}) WHERE earliest_maximal {window}"
    matcher = sase.compile(query, rows).open()
    told = len(matcher.push(rows))
    assert told > 0
    assert len(matcher.finish()) == 0


def test_a_restored_matcher_may_end_at_once() -> None:
    """No event after the restart has ended the window in EVENTS PER PARTITION."""
    rows = [{"ts": ts, "type": kind, "k": 1} for ts, kind in enumerate("AB")]
    query = "EVENT SEQ(A a, B+ b[]) WHERE earliest_maximal { [k] } WITHIN 5 EVENTS PER PARTITION"
    plan = sase.compile(query, rows)
    matcher = plan.open()
    matcher.push(rows)
    assert len(plan.restore(matcher.snapshot()).finish()) == 1


@pytest.mark.parametrize("first", [-2, -1, 0])
def test_a_match_is_told_when_its_window_has_passed(first: int) -> None:
    """Whatever the time of the first event: no number among times means none."""
    rows = [{"ts": first + ts, "type": kind} for ts, kind in enumerate("CABBC", -1)]
    plan = sase.compile("EVENT SEQ(A a, B+ b[]) WHERE earliest_maximal WITHIN 3", rows)
    matcher = plan.open()
    told = [len(matcher.push([row])) for row in rows]
    assert told == [0, 0, 0, 0, 1]


@pytest.mark.parametrize(
    ("pattern", "kinds", "told"),
    [
        ("SEQ(A a, B+ b[]) OR SEQ(A a, B{1} b[])", "ABZZZ", [0, 0, 0, 1, 0]),
        ("SEQ(A a, B{1} b[]) OR SEQ(A a, B+ b[])", "ABZZZ", [0, 0, 0, 1, 0]),
        ("SEQ(A a, B{1,2} b[]) OR SEQ(A a, B{1,3} b[])", "ABBZZ", [0, 0, 0, 1, 0]),
        ("SEQ(A a, B{1} b[]) OR SEQ(A a, C+ c[])", "ABZZZ", [0, 1, 0, 0, 0]),
    ],
)
def test_what_branches_detect_at_two_times_is_told_once(
    pattern: str, kinds: str, told: list[int]
) -> None:
    """It waits for the later one, if both may give the same match: that is the one of the first."""
    rows = [{"ts": ts, "type": kind} for ts, kind in zip((0, 1, 2, 9, 20), kinds, strict=True)]
    plan = sase.compile(f"EVENT ({pattern}) WHERE earliest_maximal WITHIN 5", rows)
    matcher = plan.open()
    assert [len(matcher.push([row])) for row in rows] == told
    assert len(matcher.finish()) == 0
