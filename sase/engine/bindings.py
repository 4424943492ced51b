"""Matches whose components bind any number of events: their events, and how many each binds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sase.engine.kernels.bindings import gather_level, gather_ranges, scatter_level

Numbers = NDArray[np.int64]


class Bindings:
    """The events of all matches one after the other, each match in the order of its events.

    `ends` is where each match ends; `lengths` how many events each component binds, by level.
    """

    def __init__(self, events: Numbers, ends: Numbers, lengths: Numbers) -> None:
        self._events, self._ends, self.lengths = events, ends, lengths

    @property
    def events(self) -> Numbers:
        """The events of all matches."""
        return self._events

    @property
    def ends(self) -> Numbers:
        """Where each match ends."""
        return self._ends

    @classmethod
    def none(cls, levels: int) -> Bindings:
        """No match."""
        empty = np.empty(0, np.int64)
        return cls(empty, empty, np.empty((levels, 0), np.int64))

    @classmethod
    def joined(cls, parts: Sequence[Bindings], levels: int) -> Bindings:
        """Several as one."""
        if len(parts) == 1:
            return parts[0]
        if parts and all(isinstance(part, Listed) for part in parts):
            return Listed.united([part for part in parts if isinstance(part, Listed)])
        parts = [cls.none(levels), *parts]
        before = np.cumsum([0, *(len(part.events) for part in parts[:-1])])
        return cls(
            np.concatenate([part.events for part in parts]),
            np.concatenate([part.ends + n for part, n in zip(parts, before, strict=True)]),
            np.concatenate([part.lengths for part in parts], axis=1),
        )

    @property
    def shape(self) -> tuple[int, int]:
        """Levels and matches, as a matrix of sequences has them."""
        levels, count = self.lengths.shape
        return levels, count

    @property
    def size(self) -> int:
        """How much there is; 0 if there is no match."""
        return int(self.lengths.shape[1])

    @property
    def nbytes(self) -> int:
        """What it takes."""
        return self.events.nbytes + self.ends.nbytes + self.lengths.nbytes

    @cached_property
    def begins(self) -> Numbers:
        """Where each match begins."""
        return begins_of(self.ends)

    @property
    def first(self) -> Numbers:
        """The first event of each match."""
        return self.events[self.begins]

    @property
    def last(self) -> Numbers:
        """The last event of each match."""
        return self.events[self.ends - 1]

    def __getitem__(self, key: tuple[slice, slice | NDArray[np.bool_ | np.int64]]) -> Bindings:
        """The matches at some places, as columns are taken of a matrix."""
        every, places = key
        assert every == slice(None)
        return self._at(places)

    def _at(self, places: slice | NDArray[np.bool_ | np.int64]) -> Bindings:
        lengths = np.ascontiguousarray(self.lengths[:, places])
        ends = np.cumsum(lengths.sum(axis=0))
        return Bindings(ranges(self.events, self.ends, places), ends, lengths)

    def saved(self) -> dict[str, Numbers]:
        """The arrays."""
        return {"events": self.events, "ends": self.ends, "lengths": self.lengths}

    @classmethod
    def restored(cls, saved: Mapping[str, Numbers]) -> Bindings:
        """What was saved."""
        return cls(*(np.array(saved[name], np.int64) for name in ("events", "ends", "lengths")))

    def mapped(self, change: Callable[[Numbers], Numbers]) -> Bindings:
        """The same with other numbers for the events."""
        return Bindings(change(self.events), self.ends, self.lengths)

    def of_level(self, level: int) -> tuple[Numbers, Numbers]:
        """The events that a component binds in all matches, and how many in each."""
        sizes = self.lengths[level]
        events = np.empty(int(sizes.sum()), np.int64)
        gather_level(self.events, self.ends, self.lengths, level, events)
        return events, sizes

    def one_of_level(self, level: int) -> tuple[Numbers, NDArray[np.bool_]]:
        """Of a component that binds at most one event that event, and whether there is one."""
        known = self.lengths[level] > 0
        begins = self.begins + self.lengths[:level].sum(axis=0)
        return self.events[np.where(known, begins, self.begins)], known


class Listed(Bindings):
    """The same component by component, each of which binds at least one event in every match.

    This is how they are shown; whoever asks for all events of a match has them put together.
    """

    def __init__(self, levels: Sequence[Numbers], lengths: Numbers) -> None:
        self.levels, self.lengths = tuple(levels), lengths

    @classmethod
    def united(cls, parts: Sequence[Listed]) -> Listed:
        """Several as one."""
        levels = zip(*(part.levels for part in parts), strict=True)
        lengths = np.concatenate([part.lengths for part in parts], axis=1)
        return cls([np.concatenate(level) for level in levels], lengths)

    @cached_property
    def events(self) -> Numbers:
        """The events of all matches."""
        events = np.empty(sum(map(len, self.levels)), np.int64)
        for level, bound in enumerate(self.levels):
            scatter_level(bound, self.ends, self.lengths, level, events)
        return events

    @cached_property
    def ends(self) -> Numbers:
        """Where each match ends."""
        return np.cumsum(self.lengths.sum(axis=0))

    @property
    def nbytes(self) -> int:
        """What it takes."""
        return sum(level.nbytes for level in self.levels) + self.lengths.nbytes

    @property
    def first(self) -> Numbers:
        """The first event of each match."""
        begins = np.cumsum(self.lengths[0]) - self.lengths[0]
        return np.asarray(self.levels[0][begins])

    @property
    def last(self) -> Numbers:
        """The last event of each match."""
        return np.asarray(self.levels[-1][np.cumsum(self.lengths[-1]) - 1])

    def _at(self, places: slice | NDArray[np.bool_ | np.int64]) -> Listed:
        levels = zip(self.levels, self.lengths, strict=True)
        taken = [ranges(level, np.cumsum(lengths), places) for level, lengths in levels]
        return Listed(taken, np.ascontiguousarray(self.lengths[:, places]))

    def mapped(self, change: Callable[[Numbers], Numbers]) -> Listed:
        """The same with other numbers for the events."""
        return Listed([change(level) for level in self.levels], self.lengths)

    def of_level(self, level: int) -> tuple[Numbers, Numbers]:
        """The events that a component binds in all matches, and how many in each."""
        return self.levels[level], self.lengths[level]

    def one_of_level(self, level: int) -> tuple[Numbers, NDArray[np.bool_]]:
        """Of a component that binds one event that event, and that there is one."""
        return self.levels[level], np.ones(self.size, np.bool_)


def ends_of(found: Numbers | Bindings) -> tuple[Numbers, Numbers]:
    """The first and the last event of each match."""
    if isinstance(found, Bindings):
        return found.first, found.last
    return found[0], found[-1]


def as_bindings(found: Numbers | Bindings) -> Bindings:
    """Matches of one event a level as those of any number."""
    if isinstance(found, Bindings):
        return found
    levels, count = found.shape
    return Bindings(
        np.ascontiguousarray(found.T).reshape(-1),
        np.arange(1, count + 1, dtype=np.int64) * levels,
        np.ones((levels, count), np.int64),
    )


def begins_of(ends: Numbers) -> Numbers:
    """Where ranges begin that follow each other."""
    return np.append(np.zeros(1, np.int64), ends)[: len(ends)]


def ranges(given: Numbers, ends: Numbers, places: slice | NDArray[np.bool_ | np.int64]) -> Numbers:
    """Numbers of which some are one range, and so on up to the last end: the ranges at places."""
    begins = begins_of(ends)
    if isinstance(places, slice) and places.step is None:
        first, last, _ = places.indices(len(ends))
        return given[begins[first] : ends[last - 1]] if first < last else given[:0]
    sizes = (ends - begins)[places]
    out = np.empty(int(sizes.sum()), np.int64)
    gather_ranges(given, begins[places], sizes, out)
    return out
