"""When a match of earliest_maximal is told: at its last event, where it can bind nothing more."""

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
