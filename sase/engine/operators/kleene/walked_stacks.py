"""The stacks of a whole loaded input for series, and the kernel that fills and walks them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from sase.binding.bound import BoundComponent
from sase.engine.kernels.kleene.batch_walk import STEP, batch_walk
from sase.engine.kernels.kleene.match_buffer import MatchBuffer
from sase.engine.kernels.kleene.run_nodes import CROWDED
from sase.engine.operators.batch_stacks import WholeStacks
from sase.engine.operators.programs.series_program import pattern_of

# The initial number of steps of a walk.
STEPS = 64


class WalkResult(NamedTuple):
    """The row reached, the events admitted, why walks stopped, and the room that lacked."""

    reached: int
    admitted: int
    why: int
    lacks: int


class WalkedStacks(WholeStacks):
    """Stacks of rows of series: a walk may choose several events of a stack."""

    def __init__(self, components: Sequence[BoundComponent], *sizes: Any) -> None:
        ends = len(components) - (2 if components[-1].minimum == 0 else 1)
        super().__init__(len(components), None, *sizes, ends=ends)
        self._pattern = pattern_of(components)
        self._steps = np.empty((STEPS, STEP), np.int64)

    def walk(
        self, begin: int, end: int, position: int, step: int, written: MatchBuffer
    ) -> WalkResult:
        """Push rows and write the matches that they complete, until the kernel stops."""
        sought = self._sought(begin, end, position, step)
        found = WalkResult._make(
            batch_walk(
                self._reading, sought, self._arrays, self._pattern, self._room, self._steps, written
            )
        )
        self._make_room_that_lacks(found.lacks)
        if found.why == CROWDED:
            self._steps = np.append(self._steps, np.empty_like(self._steps), axis=0)
        return found
