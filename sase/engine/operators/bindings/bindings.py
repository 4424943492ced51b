"""Matches whose components bind any number of events."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sase.cached_property import cached_property
from sase.engine.columns.arrays import Numbers
from sase.engine.kernels.kleene.residual_checks import (
    MatchArrays,
    gather_level,
    gather_ranges,
    scatter_level,
)
from sase.engine.snapshots.saved_state import Saved


class Bindings:
    """The events of all matches, match by match, each in stream order.

    `ends` is where each match ends; `lengths` how many events each component binds, by level.
    """

    def __init__(self, events: Numbers, ends: Numbers, lengths: Numbers) -> None:
        self._events, self._ends, self._lengths = events, ends, lengths

    @property
    def events(self) -> Numbers:
        """The events of all matches."""
        return self._events

    @property
    def ends(self) -> Numbers:
        """Where each match ends."""
        return self._ends

    @property
    def lengths(self) -> Numbers:
        """How many events each component binds, by level."""
        return self._lengths

    @classmethod
    def none(cls, levels: int) -> Bindings:
        """No match."""
        empty = np.empty(0, np.int64)
        return cls(empty, empty, np.empty((levels, 0), np.int64))

    @classmethod
    def joined(cls, parts: Sequence[Bindings], levels: int) -> Bindings:
        """Concatenate."""
        if len(parts) == 1:
            return parts[0]
        kinds = {type(part) for part in parts}
        if len(kinds) == 1:
            return kinds.pop().united(parts, levels)
        general = parts[0].general() if parts else Bindings
        return general.united(parts, levels)

    @classmethod
    def general(cls) -> type[Bindings]:
        """What such and others are joined as."""
        return Bindings

    @classmethod
    def united(cls, parts: Sequence[Any], levels: int) -> Bindings:
        """Concatenate some of one kind."""
        parts = [cls.none(levels), *parts]
        before = np.cumsum([0, *(len(part.events) for part in parts[:-1])])
        return cls(
            np.concatenate([part.events for part in parts]),
            np.concatenate([part.ends + n for part, n in zip(parts, before, strict=True)]),
            np.concatenate([part.lengths for part in parts], axis=1),
        )

    @property
    def shape(self) -> tuple[int, int]:
        """Levels and matches, as of a matrix of sequences."""
        levels, count = self.lengths.shape
        return levels, count

    @property
    def size(self) -> int:
        """The number of matches."""
        return self.shape[1]

    @property
    def nbytes(self) -> int:
        """The bytes of the arrays."""
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
    def oldest(self) -> Numbers:
        """Events that none of the matches has one before."""
        return self.first

    @property
    def last(self) -> Numbers:
        """The last event of each match."""
        return self.events[self.ends - 1]

    def __getitem__(self, key: tuple[slice, slice | NDArray[np.bool_ | np.int64]]) -> Bindings:
        """Take matches, as columns are taken of a matrix."""
        every, places = key
        assert every == slice(None)
        return self._at(places)

    def _at(self, places: slice | NDArray[np.bool_ | np.int64]) -> Bindings:
        lengths = np.ascontiguousarray(self.lengths[:, places])
        ends = np.cumsum(lengths.sum(axis=0))
        return Bindings(ranges(self.events, self.ends, places), ends, lengths)

    def checkpoint(self) -> dict[str, Numbers]:
        """The arrays."""
        return {"events": self.events, "ends": self.ends, "lengths": self.lengths}

    @classmethod
    def restored(cls, saved: Saved, levels: int) -> Bindings:
        """Bindings from a checkpoint: every match has events, as many as its lengths say."""
        events = saved.part("events").events(None)
        lengths = saved.part("lengths").array(levels, None, low=0, high=len(events))
        ends = saved.part("ends").array(lengths.shape[1], low=1, high=len(events))
        saved.check(int(lengths.sum()) == len(events), "lengths are not those of the matches")
        whole = lengths.sum(axis=0)
        saved.check(bool((whole > 0).all() and (np.cumsum(whole) == ends).all()), "ends differ")
        return cls(events, ends, lengths)

    def mapped(self, change: Callable[[Numbers], Numbers]) -> Bindings:
        """Map the event numbers."""
        return Bindings(change(self.events), self.ends, self.lengths)

    def by_level(self) -> Bindings:
        """The events of each match level by level, in stream order within one."""
        return self

    def of_level(self, level: int) -> tuple[Numbers, Numbers]:
        """The events that a component binds in all matches, and where those of each match end."""
        ends = np.cumsum(self.lengths[level])
        events = np.empty(int(ends[-1]) if len(ends) else 0, np.int64)
        gather_level(self.events, self.ends, self.lengths, level, events)
        return events, ends

    def one_of_level(self, level: int) -> tuple[Numbers, NDArray[np.bool_]]:
        """The event of each match that a single component binds, and whether there is one."""
        known = self.lengths[level] > 0
        begins = self.begins + self.lengths[:level].sum(axis=0)
        return self.events[np.where(known, begins, self.begins)], known


class ColumnarBindings(Bindings):
    """Bindings by component, none of which is empty in any match.

    `stops` is where the events of each match end, by level; None where each match has one.
    Results show them so; the rows of whole matches are put together on demand.
    """

    def __init__(self, levels: Sequence[Numbers], stops: Sequence[Numbers | None]) -> None:
        self.levels, self.stops = tuple(levels), tuple(stops)

    @classmethod
    def united(cls, parts: Sequence[ColumnarBindings], levels: int) -> ColumnarBindings:
        """Concatenate."""
        bound_levels, found = list[Numbers](), list[Numbers | None]()
        for level in range(levels):
            bound, stops = [p.levels[level] for p in parts], [p.stops[level] for p in parts]
            before = np.cumsum([0, *map(len, bound)])
            known = [each + n for each, n in zip(stops, before, strict=False) if each is not None]
            bound_levels.append(np.concatenate(bound))
            found.append(np.concatenate(known) if known else None)
        return cls(bound_levels, found)

    @cached_property
    def lengths(self) -> Numbers:
        """How many events each component binds, by level."""
        lengths = np.ones((len(self.levels), self.size), np.int64)
        for level, stops in enumerate(self.stops):
            if stops is not None:
                lengths[level] = stops - begins_of(stops)
        return lengths

    @property
    def shape(self) -> tuple[int, int]:
        """Levels and matches, as of a matrix of sequences."""
        stops = self.stops[0]
        return len(self.levels), len(self.levels[0] if stops is None else stops)

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
        known = [stops for stops in self.stops if stops is not None]
        singles = len(self.stops) - len(known)
        return singles * np.arange(1, self.size + 1, dtype=np.int64) + sum(known)

    @property
    def nbytes(self) -> int:
        """The bytes of the arrays."""
        arrays = (*self.levels, *self.stops)
        return sum(each.nbytes for each in arrays if each is not None)

    @property
    def first(self) -> Numbers:
        """The first event of each match."""
        bound, stops = self.levels[0], self.stops[0]
        return bound if stops is None else bound[begins_of(stops)]

    @property
    def last(self) -> Numbers:
        """The last event of each match."""
        bound, stops = self.levels[-1], self.stops[-1]
        return bound if stops is None else bound[stops - 1]

    def _at(self, places: slice | NDArray[np.bool_ | np.int64]) -> ColumnarBindings:
        levels, found = list[Numbers](), list[Numbers | None]()
        for bound, stops in zip(self.levels, self.stops, strict=True):
            levels.append(bound[places] if stops is None else ranges(bound, stops, places))
            sizes = None if stops is None else (stops - begins_of(stops))[places]
            found.append(None if sizes is None else np.cumsum(sizes))
        return ColumnarBindings(levels, found)

    def mapped(self, change: Callable[[Numbers], Numbers]) -> ColumnarBindings:
        """Map the event numbers."""
        return ColumnarBindings([change(level) for level in self.levels], self.stops)

    def of_level(self, level: int) -> tuple[Numbers, Numbers]:
        """The events that a component binds in all matches, and where those of each match end."""
        stops = self.stops[level]
        return self.levels[level], np.arange(1, self.size + 1) if stops is None else stops

    def one_of_level(self, level: int) -> tuple[Numbers, NDArray[np.bool_]]:
        """The event of each match that a single component binds."""
        return self.levels[level], np.ones(self.size, np.bool_)


def first_of(found: Numbers | Bindings) -> Numbers:
    """The first event of each match."""
    return found.first if isinstance(found, Bindings) else found[0]


def last_of(found: Numbers | Bindings) -> Numbers:
    """The last event of each match."""
    return found.last if isinstance(found, Bindings) else found[-1]


def as_bindings(found: Numbers | Bindings) -> Bindings:
    """Sequences as bindings."""
    if isinstance(found, Bindings):
        return found
    levels, count = found.shape
    return Bindings(
        np.ascontiguousarray(found.T).reshape(-1),
        np.arange(1, count + 1, dtype=np.int64) * levels,
        np.ones((levels, count), np.int64),
    )


def match_arrays(found: Bindings) -> MatchArrays:
    """Matches as kernels take them."""
    return MatchArrays(found.events, found.ends, np.ascontiguousarray(found.lengths))


def begins_of(ends: Numbers) -> Numbers:
    """The begins of adjacent ranges."""
    return np.append(np.zeros(1, np.int64), ends)[: len(ends)]


def ranges(given: Numbers, ends: Numbers, places: slice | NDArray[np.bool_ | np.int64]) -> Numbers:
    """Take some of adjacent ranges of an array."""
    begins = begins_of(ends)
    if isinstance(places, slice) and places.step is None:
        first, last, _ = places.indices(len(ends))
        return given[begins[first] : ends[last - 1]] if first < last else given[:0]
    sizes = (ends - begins)[places]
    out = np.empty(int(sizes.sum()), np.int64)
    gather_ranges(given, begins[places], sizes, out)
    return out


def lengths_of(levels: Numbers, found: Bindings) -> Numbers:
    """The lengths of matches by level, by the level of each event."""
    matches = np.repeat(np.arange(found.size), np.diff(found.ends, prepend=0))
    lengths = np.zeros_like(found.lengths)
    np.add.at(lengths, (levels, matches), 1)
    return lengths
