"""Matches of several branches that wait in a snapshot are those of their branches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import sase
from sase.engine.snapshots.codec import from_bytes, to_bytes

ROWS = [{"type": kind, "ts": ts} for ts, kind in enumerate("BACABCCCN", 1)]
QUERY = (
    "EVENT (SEQ(A a, B b) OR SEQ(A a, B b, !(N n)) OR SEQ(A a, (C c OR SEQ(C d, A e))+ g[]))"
    " WITHIN 9"
)


def test_a_match_of_another_branch_is_refused() -> None:
    plan = sase.compile(QUERY, ROWS)
    matcher = plan.open()
    matcher.push(ROWS[:7])
    state: Any = from_bytes(matcher.snapshot())
    branches = state["operators"][0]["waiting"]["branches"]
    branches[np.flatnonzero(branches == 0)[0]] = 2
    with pytest.raises(sase.SnapshotError, match="events of another branch"):
        plan.restore(to_bytes(state))


def test_matches_wait_in_a_snapshot_though_none_has_iterations() -> None:
    plan = sase.compile(QUERY, ROWS)
    matcher = plan.open()
    matcher.push([{"type": kind, "ts": ts} for ts, kind in enumerate("ABB", 1)])
    again = plan.restore(matcher.snapshot())
    found = matcher.finish().to_pylist()
    assert len(found) == 2
    assert again.finish().to_pylist() == found
