"""The probability of candidates that events may forbid jointly; allocates kernel memory.

An event that may forbid in several gaps, or as part of a sequence, is not independent of the
others, so a sweep over time is needed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sase.binding.folding import INT64_MAX
from sase.engine.columns.arrays import Floats, Numbers
from sase.engine.kernels.confidence import joint_confidences as sums
from sase.engine.kernels.confidence import joint_states as sweep
from sase.engine.kernels.confidence.first_times import FEW
from sase.engine.kernels.confidence.joint_candidates import JointCandidates
from sase.engine.kernels.confidence.sweep_states import WORD, StateSets
from sase.engine.kernels.sentinels import NOTHING
from sase.engine.operators.imprecise.joint_candidates import JointCandidate, arrays_of
from sase.engine.resources import Check, no_check
from sase.errors import BudgetError

# The most states at a time, and the initial capacity.
MOST_STATES, ROOM = 1 << 17, 64
# Candidates written into arrays at once.
AT_ONCE = 1024


class JointConfidence:
    """Computes confidences of candidates for a window of a given reach."""

    def __init__(self, reach: int = INT64_MAX, check: Check = no_check) -> None:
        self._reach, self._check, self._room = reach, check, ROOM

    def of(self, candidates: Sequence[JointCandidate]) -> Floats:
        """The confidences of candidates, independently of each other."""
        found = np.zeros(len(candidates))
        for begin in range(0, len(candidates), AT_ONCE):
            some = candidates[begin : begin + AT_ONCE]
            self._write(some, found[begin : begin + len(some)])
        return found

    def _write(self, candidates: Sequence[JointCandidate], out: Floats) -> None:
        arrays = arrays_of(candidates)
        most = _Most(arrays)
        at = np.zeros(sums.PLACES, np.int64)
        at[sweep.REACH], at[sweep.MOST] = self._reach, MOST_STATES
        position, times = most.sweep(at, self._room), most.sums()
        why = sweep.PAUSED
        while why != sweep.DONE:
            self._check(0)
            at[sweep.TRIED] = 0
            why = sums.joint_confidences(arrays, position, times, out)
            if why == sweep.CROWDED:
                self._room *= 2
                self._check(most.bytes_of(self._room))
                position = position._replace(sets=most.sets(self._room))
                at[sweep.SEGMENT] = sweep.FRESH
            elif why == sweep.TOO_MANY:
                raise BudgetError(_too_many(candidates[int(at[sums.NUMBER])]))


class _Most:
    """The greatest sizes among candidates."""

    def __init__(self, arrays: JointCandidates) -> None:
        counts = np.diff(arrays.heads, axis=0, prepend=0)
        self._steps = int(arrays.heads[:, 0].max())
        self._events, orders = int(counts[:, 1].max()), int(counts[:, 3].max())
        self._orders = orders
        longest = int((arrays.orders[:, 2] - arrays.orders[:, 1]).max(initial=1))
        self._words = -(-self._events // WORD)
        self._key = self._words + -(-orders // (WORD // (longest + 1).bit_length()))

    def sets(self, room: int) -> StateSets:
        """Three sets with `room` states."""
        return StateSets(
            np.empty((3, room, self._key), np.int64), np.empty((3, room)),
            np.full((3, 2 * room), NOTHING), np.empty((3, room), np.int64), np.zeros(3, np.int64),
        )  # fmt: skip

    def bytes_of(self, room: int) -> int:
        """The bytes of the three sets."""
        return 3 * room * 8 * (self._key + 4)

    def sweep(self, at: Numbers, room: int) -> sweep.Sweep:
        """Memory for a sweep at a position."""
        events, words, orders = self._events, self._words, self._orders
        low, high, free, placed = (np.zeros(events, np.int64) for _ in range(4))
        steps, forbids, marks = (
            np.zeros((count, words), np.int64)
            for count in (self._steps, self._steps + 1, sweep.MARKS)
        )
        before, after = (np.zeros(orders, np.int64) for _ in range(2))
        return sweep.Sweep(
            at, low, high, np.zeros(2 * events + 6, np.int64), steps, forbids, marks, free, placed,
            before, after, np.zeros(self._key, np.int64), self.sets(room),
        )  # fmt: skip

    def sums(self) -> sums.TimeSums:
        """Memory for sums over the times of both ends."""
        degree = self._events
        nodes = max(FEW, degree + 1, degree * degree // 4)
        return sums.TimeSums(
            np.zeros((2, sums.TIMES_OF), np.int64), np.zeros((2, 6 * degree + 2), np.int64),
            np.zeros((2, nodes), np.int64), np.zeros((2, nodes)),
            np.zeros((degree + 1, degree + 1)), np.zeros(1),
        )  # fmt: skip


def _too_many(candidate: JointCandidate) -> str:
    return (
        f"the confidence of a candidate goes by the order of {len(candidate.bounds)} events of it"
        f" and of what may forbid it, of which more than {sweep.MOST_AT_ONCE} may be at one time,"
        f" or which have more than {MOST_STATES:,} states then: give the query a smaller WITHIN,"
        " or narrow the conditions of what is negative"
    )
