"""The probability that events are in an order; allocates the memory of its kernels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sase.binding.values.folding import INT64_MAX
from sase.engine.columns.arrays import Floats, Numbers
from sase.engine.kernels.confidence.candidate_orders import order_confidences
from sase.engine.kernels.confidence.first_times import FEW, likelihood_by_first_time
from sase.engine.kernels.confidence.order import MOST_COEFFICIENTS, order_probability
from sase.engine.operators.bindings.bindings import Bindings, match_arrays
from sase.errors import BudgetError

# Memory for negated events is cubic in the number of all events.
TOO_LONG = (
    "the confidence of a candidate needs more memory than there is, because this query excludes"
    " other events:"
    " {:,} events of it and around it are at uncertain times: bound its series, narrow its"
    " conditions, or give it a smaller WITHIN"
)

NO_ENDS = (np.zeros(0, np.int64),) * 3

# Values this near to a decimal of nine digits become that decimal: sums have rounding errors.
DECIMALS, NEAR = 1e9, 1e-13


def tidied(confidences: Floats) -> Floats:
    """Round confidences to decimals of nine digits if they are those except for rounding errors."""
    decimals = np.rint(confidences * DECIMALS) / DECIMALS
    return np.where(np.abs(decimals - confidences) <= NEAR * confidences, decimals, confidences)


class OrderConfidence:
    """Computes the probability of an order and a window for one candidate at a time."""

    def __init__(self, reach: int = INT64_MAX) -> None:
        self._reach = reach
        self._most = 0

    def of(self, lo: Numbers, hi: Numbers) -> float:
        """The probability that events with these bounds are in the given order.

        The last is at most the reach after the first.
        """
        if len(lo) > self._most:
            self._grow(len(lo))
        return order_probability(
            lo, hi, self._reach, self._cuts, self._bounds, self._counts,
            self._values, self._weights, self._sums,
        )  # fmt: skip

    def of_candidates(
        self, bindings: Bindings, sets: Numbers, earliest: Numbers, latest: Numbers, mask: int
    ) -> Floats:
        """The probabilities of candidates, by events' bounds by place; `SEVERAL` for some sets."""
        longest, out = int(bindings.lengths.sum(axis=0).max(initial=0)), np.empty(bindings.size)
        if longest > self._most:
            self._grow(2 * longest)
        steps, lo, hi = self._chain
        order_confidences(
            match_arrays(bindings), sets, earliest, latest, mask, self._reach, steps, lo, hi,
            self._cuts, self._bounds, self._counts, self._values, self._weights, self._sums, out,
        )  # fmt: skip
        return out

    def _grow(self, count: int) -> None:
        """Allocate for `count` events: twice as many cuts, each with a polynomial."""
        self._most = count
        bounds = 2 * count + 2
        room = bounds * min(count, MOST_COEFFICIENTS)
        self._cuts, self._bounds, self._counts = (np.empty(bounds, np.int64) for _ in range(3))
        self._values, self._weights = (np.empty(room) for _ in range(2))
        self._sums = np.empty(count + 1)
        self._chain = tuple(np.empty(count, np.int64) for _ in range(3))


class GapConfidence:
    """Computes the probability of an order with other events inside or outside of its gaps."""

    def __init__(self) -> None:
        self._most = self._segments = 0

    def of(
        self, columns: Sequence[Numbers], reach: int = INT64_MAX,
        at_ends: Sequence[Numbers] = NO_ENDS,
    ) -> float:  # fmt: skip
        """The probability that events are in order, the last within reach of the first.

        `columns` are the bounds of the events; the bounds of others, whether these are BETWEEN or
        OUTSIDE, and their times outside that are valid in any case; the ends of the others that
        belong to the gap before each event, and to the gap behind the last. `at_ends` are the
        bounds of events negated at an end, and whether that is behind the last event.
        """
        lo, hi, *others, ends = columns
        end_lo, end_hi, behind = at_ends
        asked, room = len(others[0]), np.zeros(len(end_lo), np.int64)
        other_lo, other_hi, kinds, free = (np.append(each, room) for each in others)
        count, segments = len(lo) + len(other_lo), self._segments
        if count > self._most:
            self._grow(count, max(segments, 4 * count))
        while True:
            found = likelihood_by_first_time(
                reach, lo.copy(), hi.copy(), other_lo, other_hi, kinds, free, ends, asked, end_lo,
                end_hi, behind, self._pieces, self._places, self._weights, self._matrix, self._cuts,
                self._starts, self._degrees, self._placed, self._longer, self._table, self._moments,
            )  # fmt: skip
            if found >= 0.0:
                return found
            self._grow(self._most, 2 * self._segments)

    def _grow(self, count: int, segments: int) -> None:
        """Allocate for `count` events, and segments with a polynomial of them each."""
        size = (count // 2 + 2) ** 2
        try:
            self._moments = np.empty(segments * size)
        except MemoryError:
            raise BudgetError(TOO_LONG.format(count)) from None
        self._most, self._segments = count, segments
        nodes = max(FEW, count + 2, (count + 1) ** 2 // 4)
        self._pieces, self._places = np.empty(12 * count, np.int64), np.empty(nodes, np.int64)
        self._weights, self._matrix = np.empty(nodes), np.empty((count + 2, count + 2))
        self._cuts = np.empty(2 * count, np.int64)
        self._starts, self._degrees = np.empty(2 * segments, np.int64), np.empty(segments, np.int64)
        self._placed, self._longer = (np.empty((segments, count + 3)) for _ in range(2))
        self._table = np.empty((size + 2, count + 3))
