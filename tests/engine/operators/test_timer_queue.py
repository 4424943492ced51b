"""Sequences that wait: each comes out when it is due, in the order in which it went in."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sase.engine.blocks.block import Watermark
from sase.engine.operators.timer_queue import MOST_RUNS, TimerQueue
from sase.engine.snapshots.saved_state import LiveEvents, Saved

LATEST = 2**63 - 1
# The additions, each sequence with the time at which it is due; how far time then comes; or whether
# the state is saved and restored.
STEPS = st.lists(
    st.tuples(
        st.lists(st.one_of(st.integers(0, 12), st.just(LATEST)), max_size=4),
        st.one_of(st.none(), st.integers(0, 3)),
        st.booleans(),
    ),
    max_size=MOST_RUNS + 20,
)


@given(STEPS, st.booleans())
def test_released_when_due(steps: list[Any], inclusive: bool) -> None:
    waiting, model = TimerQueue(2), list[tuple[int, int]]()
    number, now = 0, 0
    for dues, gap, is_saved in steps:
        new = [(now + due if due < LATEST else due, number + n) for n, due in enumerate(dues)]
        number += len(new)
        if new:
            rows = np.array([[n for _, n in new], [n + 1 for _, n in new]])
            waiting.add(rows, np.array([due for due, _ in new]))
        model += new
        if gap is not None:
            now += gap
            out = released(waiting, Watermark(now, 0), inclusive)
            ready = [e for e in model if e[0] < now or (e[0] == now and not inclusive)]
            assert out == [n for _, n in sorted(ready)]
            model = [each for each in model if each not in ready]
        if is_saved:
            saved = pickle.loads(pickle.dumps(waiting.checkpoint()))
            waiting = TimerQueue(2)
            waiting.restore(Saved(saved, live=LiveEvents(0, number + 1)))
        assert len(waiting) == len(model)
        oldest = waiting.oldest()
        assert (oldest is None) == (not model)
        assert all(oldest is not None and oldest <= n for _, n in model)
    assert released(waiting, Watermark(LATEST, 0, is_final=True), inclusive) == [
        n for _, n in sorted(model)
    ]


def released(waiting: TimerQueue, clock: Watermark, inclusive: bool) -> list[int]:
    rows = waiting.released(clock, inclusive=inclusive)
    assert rows[1].tolist() == [n + 1 for n in rows[0].tolist()]
    found: list[int] = rows[0].tolist()
    return found
