"""Matches of patterns with sets: of which component each event is, as those of a set interleave."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sase.cached_property import cached_property
from sase.engine.columns.arrays import Numbers
from sase.engine.operators.bindings.bindings import Bindings, lengths_of, ranges
from sase.engine.snapshots.saved_state import Saved


class SetBindings(Bindings):
    """Bindings whose `slots` are the levels that bind the events.

    Under `earliest_maximal` it is known of each match when it was `detected`.
    """

    def __init__(
        self,
        events: Numbers,
        ends: Numbers,
        lengths: Numbers,
        slots: Numbers,
        detected: Numbers | None = None,
    ) -> None:
        super().__init__(events, ends, lengths)
        self.slots, self.detected = slots, detected

    @classmethod
    def united(cls, parts: Sequence[SetBindings], levels: int) -> SetBindings:
        """Concatenate at least one."""
        plain = Bindings.united(parts, levels)
        times = [part.detected for part in parts if part.detected is not None]
        return cls(
            plain.events,
            plain.ends,
            plain.lengths,
            np.concatenate([part.slots for part in parts]),
            np.concatenate(times) if times else None,
        )

    @property
    def nbytes(self) -> int:
        """The bytes of the arrays."""
        times = 0 if self.detected is None else self.detected.nbytes
        return super().nbytes + self.slots.nbytes + times

    def _at(self, places: slice | NDArray[np.bool_ | np.int64]) -> SetBindings:
        plain = super()._at(places)
        return SetBindings(
            plain.events,
            plain.ends,
            plain.lengths,
            ranges(self.slots, self.ends, places),
            None if self.detected is None else self.detected[places],
        )

    def between(self, begin: int, end: int) -> SetBindings:
        """The matches from one place to another."""
        return self._at(slice(begin, end))

    def mapped(self, change: Callable[[Numbers], Numbers]) -> SetBindings:
        """Map the event numbers."""
        return SetBindings(change(self.events), self.ends, self.lengths, self.slots, self.detected)

    def detected_at(self, times: Numbers) -> SetBindings:
        """The same, detected at some times."""
        return SetBindings(self.events, self.ends, self.lengths, self.slots, times)

    def checkpoint(self) -> dict[str, Numbers]:
        """The arrays."""
        times = {} if self.detected is None else {"detected": self.detected}
        return super().checkpoint() | {"slots": self.slots} | times

    def by_level(self) -> Bindings:
        """The events of each match level by level, in stream order within one."""
        return self._by_level

    @cached_property
    def _by_level(self) -> Bindings:
        matches = np.repeat(np.arange(self.size), np.diff(self.ends, prepend=0))
        order = np.lexsort((self.slots, matches))
        return Bindings(self.events[order], self.ends, self.lengths)

    def of_level(self, level: int) -> tuple[Numbers, Numbers]:
        """The events that a component binds in all matches, and where those of each match end."""
        return self.events[self.slots == level], np.cumsum(self.lengths[level])

    def one_of_level(self, level: int) -> tuple[Numbers, NDArray[np.bool_]]:
        """The event of each match that a single component binds, and whether there is one."""
        return self._by_level.one_of_level(level)


@dataclass(frozen=True)
class SetForm:
    """What matches of a pattern with sets, or of `earliest_maximal`, may hold."""

    levels: int
    detects: bool

    def none(self) -> SetBindings:
        """No match."""
        empty = np.empty(0, np.int64)
        lengths = np.empty((self.levels, 0), np.int64)
        return SetBindings(empty, empty, lengths, empty, empty if self.detects else None)

    def restored(self, saved: Saved) -> SetBindings:
        """Bindings from a checkpoint."""
        plain = Bindings.restored(saved, self.levels)
        slots = saved.part("slots").array(len(plain.events), low=0, high=self.levels - 1)
        lengths = lengths_of(slots, plain)
        saved.check((lengths == plain.lengths).all(), "slots are not those of the lengths")
        times = saved.part("detected").array(plain.size) if self.detects else None
        return SetBindings(plain.events, plain.ends, plain.lengths, slots, times)
