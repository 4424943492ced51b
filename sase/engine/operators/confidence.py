"""How likely events are in an order, with the room that its kernel takes."""

from __future__ import annotations

import numpy as np

from sase.binding.folding import INT64_MAX
from sase.engine.columns.arrays import Numbers
from sase.engine.kernels.confidence.order import MOST_COEFFICIENTS, order_probability


class OrderConfidence:
    """The probability of an order and a window, of one candidate after the other."""

    def __init__(self, reach: int = INT64_MAX) -> None:
        self._reach = reach
        self._most = 0

    def of(self, lo: Numbers, hi: Numbers) -> float:
        """Return that of events by their bounds, in the order that they are to have.

        The last is at most the reach after the first.
        """
        if len(lo) > self._most:
            self._grow(len(lo))
        return order_probability(
            lo, hi, self._reach, self._cuts, self._bounds, self._counts,
            self._values, self._weights, self._sums,
        )  # fmt: skip

    def _grow(self, count: int) -> None:
        """Make room for so many events: twice as many cuts, each with a polynomial behind it."""
        self._most = count
        bounds = 2 * count + 2
        room = bounds * min(count, MOST_COEFFICIENTS)
        self._cuts, self._bounds, self._counts = (np.empty(bounds, np.int64) for _ in range(3))
        self._values, self._weights = (np.empty(room) for _ in range(2))
        self._sums = np.empty(count + 1)
