"""Matches of imprecise time: candidates with their times and their confidence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sase.engine.columns.arrays import Numbers
from sase.engine.operators.bindings.bindings import Bindings
from sase.engine.snapshots.saved_state import Saved

# The rows of times.
START, END, DETECTED = range(3)
TIMES = 3


@dataclass(frozen=True, eq=False)
class Likely:
    """Of matches of imprecise time `ts_start`, `ts_end` and `detected_at`, and confidences."""

    times: Numbers
    confidences: NDArray[np.float64]

    def at(self, places: slice | NDArray[np.bool_ | np.int64]) -> Likely:
        """Those of some of the matches."""
        return Likely(self.times[:, places], self.confidences[places])

    @classmethod
    def united(cls, parts: Sequence[Likely]) -> Likely:
        """Concatenate at least one."""
        return cls(
            np.concatenate([part.times for part in parts], axis=1),
            np.concatenate([part.confidences for part in parts]),
        )

    @property
    def nbytes(self) -> int:
        """The bytes of the arrays."""
        return self.times.nbytes + self.confidences.nbytes

    def checkpoint(self) -> dict[str, Numbers]:
        """The arrays, confidences by their bits."""
        bits = np.ascontiguousarray(self.confidences).view(np.int64)
        return {"times": self.times, "confidences": bits}

    @classmethod
    def restored(cls, saved: Saved, count: int) -> Likely:
        """Those of so many matches from a checkpoint."""
        times = saved.part("times").array(TIMES, count)
        confidences = saved.part("confidences").array(count).view(np.float64)
        is_share = (confidences > 0) & (confidences <= 1)
        saved.check(bool(is_share.all()), "a confidence is above 0 and at most 1")
        return cls(times, confidences)


class CandidateBindings(Bindings):
    """Bindings in the order of the pattern, a set's in that of the stream.

    `times` are `ts_start`, `ts_end` and `detected_at` of each, in raw units.
    """

    def __init__(
        self,
        events: Numbers,
        ends: Numbers,
        lengths: Numbers,
        times: Numbers,
        confidences: NDArray[np.float64],
    ) -> None:
        super().__init__(events, ends, lengths)
        self.times, self.confidences = times, confidences

    @classmethod
    def none(cls, levels: int) -> CandidateBindings:
        """No match."""
        plain = Bindings.none(levels)
        times, confidences = np.empty((TIMES, 0), np.int64), np.empty(0, np.float64)
        return cls(plain.events, plain.ends, plain.lengths, times, confidences)

    @classmethod
    def united(cls, parts: Sequence[CandidateBindings], levels: int) -> CandidateBindings:
        """Concatenate."""
        parts, plain = [cls.none(levels), *parts], Bindings.united(parts, levels)
        return cls(
            plain.events,
            plain.ends,
            plain.lengths,
            np.concatenate([part.times for part in parts], axis=1),
            np.concatenate([part.confidences for part in parts]),
        )

    @property
    def likely(self) -> Likely:
        """Times and confidences."""
        return Likely(self.times, self.confidences)

    @property
    def oldest(self) -> Numbers:
        """Events that none of the matches has one before."""
        return self.events

    @property
    def nbytes(self) -> int:
        """The bytes of the arrays."""
        return super().nbytes + self.times.nbytes + self.confidences.nbytes

    def _at(self, places: slice | NDArray[np.bool_ | np.int64]) -> CandidateBindings:
        plain = super()._at(places)
        times, confidences = self.times[:, places], self.confidences[places]
        return CandidateBindings(plain.events, plain.ends, plain.lengths, times, confidences)

    def at(self, places: slice | NDArray[np.bool_ | np.int64]) -> CandidateBindings:
        """Some of the candidates."""
        return self._at(places)

    def mapped(self, change: Callable[[Numbers], Numbers]) -> CandidateBindings:
        """Map the event numbers."""
        return CandidateBindings(
            change(self.events), self.ends, self.lengths, self.times, self.confidences
        )

    def checkpoint(self) -> dict[str, Numbers]:
        """The arrays."""
        return super().checkpoint() | self.likely.checkpoint()


@dataclass(frozen=True)
class CandidateForm:
    """What matches of imprecise time hold."""

    levels: int

    def none(self) -> CandidateBindings:
        """No match."""
        return CandidateBindings.none(self.levels)

    def restored(self, saved: Saved) -> CandidateBindings:
        """Bindings from a checkpoint."""
        plain = Bindings.restored(saved, self.levels)
        likely = Likely.restored(saved, plain.size)
        times, confidences = likely.times, likely.confidences
        return CandidateBindings(plain.events, plain.ends, plain.lengths, times, confidences)
