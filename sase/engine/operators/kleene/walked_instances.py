"""The instances of evaluations that walk back: what is counted, saved and needed of them."""

from __future__ import annotations

import numpy as np

from sase.engine.columns.arrays import Numbers
from sase.engine.kernels.kleene import candidates as of
from sase.engine.operators.contract import Checkpoint, Counters


def counted_walks(state: Numbers) -> Counters:
    """Return how many instances there were and are, and what walks through them did."""
    return {
        "instances": int(state[of.COUNT]),
        "alive": int(state[of.COUNT] - state[of.TAIL]),
        "walks": int(state[of.WALKS]),
        "visited": int(state[of.VISITED]),
        "bound": int(state[of.BOUND]),
        "failed": int(state[of.FAILED]),
    }


def saved_instances(walk: of.WalkBack) -> Checkpoint:
    """Return the live instances and the state of partitions; between pushes there is no walk."""
    numbers = np.arange(walk.state[of.TAIL], walk.state[of.COUNT])
    cells = walk.cells[numbers & (len(walk.cells) - 1)]
    return {"cells": cells, "known": walk.known, "state": walk.state}


def oldest_event(walk: of.WalkBack, field: int) -> int | None:
    """Return the event of the oldest live instance, which a field of it has."""
    tail = walk.state[of.TAIL]
    if tail == walk.state[of.COUNT]:
        return None
    return int(walk.cells[tail & (len(walk.cells) - 1), field])
