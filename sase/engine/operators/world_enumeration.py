"""The confidence of candidates by enumeration of their worlds: the paper's way, for comparison."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from sase.binding.folding import INT64_MAX
from sase.engine.kernels.confidence.worlds import enumerate_worlds
from sase.engine.operators.candidate_confidence import PlacedNegative, TimeBounds
from sase.engine.resources import Check, no_check

# Worlds between two looks at whether to go on.
PATIENCE = 1 << 22


class WorldEnumeration:
    """The confidence of one candidate after the other, whose window reaches so far."""

    def __init__(self, reach: int = INT64_MAX, check: Check = no_check) -> None:
        self._reach, self._check = reach, check

    def of(
        self, steps: Sequence[Sequence[TimeBounds]], negatives: Sequence[PlacedNegative]
    ) -> float:
        """Return that of steps in the order of the pattern: an event, or all events of a set."""
        events = [each for step in steps for each in step]
        numbers = [number for number, step in enumerate(steps) for _ in step]
        columns = [
            [each.lo for each in events], [each.hi for each in events], numbers,
            [each.interval.lo for each in negatives], [each.interval.hi for each in negatives],
            [each.place for each in negatives],
        ]  # fmt: skip
        lo, hi, own, other_lo, other_hi, places = (np.array(each, np.int64) for each in columns)
        times, found = lo.copy(), np.zeros(1)
        while not enumerate_worlds(
            lo, hi, own, self._reach, other_lo, other_hi, places, times, found, PATIENCE
        ):
            self._check(0)
        return min(float(found[0]) / prod(each.size for each in events), 1.0)
