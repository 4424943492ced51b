"""Matches with components that bind any number of events, in columns that depend on the form."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sase.cached_property import cached_property
from sase.engine.columns.arrays import Floats, Mask, Numbers
from sase.engine.kernels.kleene.match_arrays import (
    MatchArrays,
    gather_level,
    gather_ranges,
)

Places: TypeAlias = slice | NDArray[np.bool_ | np.int64]
# A column that is None in some forms; its readers know the form.
OptionalNumbers: TypeAlias = Numbers | Any
# The rows of `times`.
START, END, DETECTED = range(3)
TIMES = 3
# A column has a value for each event, match or iteration.
EVENT, MATCH, ITERATION = range(3)


class BindingColumn(NamedTuple):
    """The unit with one value in a column, and the axis of the values."""

    per: int
    axis: int = 0


COLUMNS: Mapping[str, BindingColumn] = dict(
    events=BindingColumn(EVENT),
    lengths=BindingColumn(MATCH, axis=1),
    states=BindingColumn(EVENT),
    slots=BindingColumn(EVENT),
    counts=BindingColumn(MATCH, axis=1),
    sizes=BindingColumn(ITERATION),
    kinds=BindingColumn(ITERATION),
    owners=BindingColumn(ITERATION),
    detected=BindingColumn(MATCH),
    times=BindingColumn(MATCH, axis=1),
    confidences=BindingColumn(MATCH),
    branches=BindingColumn(MATCH),
    values=BindingColumn(MATCH, axis=1),
)


@dataclass(frozen=True, eq=False)
class Bindings:
    """The events of all matches, match by match, each in stream order.

    `ends` has the end of each match in `events`, `lengths` the number of events of each component,
    by level. Other columns are None if no match of a form has them.

    Sets: `states` are the levels that bind the events; without them events are in the order of the
    pattern. Repeated groups: `slots` are the numbers of variables in their groups, 0 outside of
    groups. `counts` are the numbers of iterations of each group, in the order of the pattern.
    `sizes` and `kinds` have the number of events and the branch of each iteration, match by match,
    group by group, iteration by iteration. `detected` has the times of detection under
    `earliest_maximal`. Imprecise time: `times` are `ts_start`, `ts_end` and `detected_at` in raw
    units.

    A pattern with choices: `branches` are the branches of the matches. `lengths`, `states` and
    `slots` are by the variables of the whole pattern, `counts` are of all groups together, and
    `owners` are the variables of the groups of iterations. `values` are tags and bits of the
    columns of RETURN, as soon as they are computed.
    """

    events: Numbers
    ends: Numbers
    lengths: Numbers
    states: OptionalNumbers = None
    slots: OptionalNumbers = None
    counts: OptionalNumbers = None
    sizes: OptionalNumbers = None
    kinds: OptionalNumbers = None
    owners: OptionalNumbers = None
    detected: OptionalNumbers = None
    times: OptionalNumbers = None
    confidences: Floats | Any = None
    # There are at most 256 branches, but snapshots store them as int64 like all numbers.
    branches: NDArray[np.int16 | np.int64] | Any = None
    values: OptionalNumbers = None

    @staticmethod
    def joined(parts: Sequence[Bindings]) -> Bindings:
        """Concatenate at least one part."""
        kinds = {type(part) for part in parts}
        if len(parts) == 1:
            return parts[0]
        return (kinds.pop() if len(kinds) == 1 else Bindings).united(parts)

    @classmethod
    def united(cls, parts: Sequence[Any]) -> Bindings:
        """Concatenate parts of one form; a column that a part does not have is 0 there."""
        columns = dict[str, Any]()
        for name, column in COLUMNS.items():
            every = [getattr(part, name) for part in parts]
            known = next((each for each in every if each is not None), None)
            if known is not None:
                pairs = zip(parts, every, strict=True)
                every = [p.without(column, known) if e is None else e for p, e in pairs]
                columns[name] = np.concatenate(every, axis=column.axis)
        before = np.cumsum([0, *(len(part.events) for part in parts[:-1])])
        ends = [part.ends + n for part, n in zip(parts, before, strict=True)]
        return Bindings(ends=np.concatenate(ends), **columns)

    def without(self, column: BindingColumn, other: NDArray[Any]) -> NDArray[Any]:
        """A column of zeros in place of one that these matches do not have."""
        shape = list(other.shape)
        shape[column.axis] = {EVENT: len(self.events), MATCH: self.size, ITERATION: 0}[column.per]
        return np.zeros(shape, other.dtype)

    @property
    def general(self) -> Bindings:
        """The same matches with all columns as arrays."""
        return self

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of levels and matches, as the shape of a matrix of sequences."""
        levels, count = self.lengths.shape
        return levels, count

    @property
    def size(self) -> int:
        """The number of matches."""
        return self.shape[1]

    @property
    def nbytes(self) -> int:
        """The bytes of the arrays."""
        columns = (getattr(self, name) for name in ("ends", *COLUMNS))
        return sum(each.nbytes for each in columns if each is not None)

    @cached_property
    def begins(self) -> Numbers:
        """The begin of each match in `events`."""
        return begins_of(self.ends)

    @property
    def first(self) -> Numbers:
        """The first event of each match."""
        return self.events[self.begins]

    @property
    def oldest(self) -> Numbers:
        """An event with none before it in each match; events of imprecise time have no order."""
        return self.first if self.times is None else self.events

    @property
    def last(self) -> Numbers:
        """The last event of each match."""
        return self.events[self.ends - 1]

    @property
    def matches(self) -> Numbers:
        """The number of the match of each event."""
        return np.repeat(np.arange(self.size), np.diff(self.ends, prepend=0))

    @property
    def known_states(self) -> Numbers:
        """The level that binds each event."""
        if self.states is not None:
            return self.states
        levels = np.tile(np.arange(self.shape[0]), self.size)
        return np.repeat(levels, np.ascontiguousarray(self.lengths.T).reshape(-1))

    @property
    def iterations(self) -> Numbers:
        """The number of iterations of each match."""
        return np.zeros(self.size, np.int64) if self.counts is None else self.counts.sum(axis=0)

    def __getitem__(self, key: tuple[slice, Places]) -> Bindings:
        """Take matches, as columns of a matrix are taken."""
        every, places = key
        assert every == slice(None)
        return self._at(places)

    def _at(self, places: Places) -> Bindings:
        columns = dict[str, Any]()
        for name, column in COLUMNS.items():
            values = getattr(self, name)
            if values is None:
                continue
            if column.per == MATCH:
                taken = np.ascontiguousarray(values[:, places] if column.axis else values[places])
            else:
                ends = self.ends if column.per == EVENT else np.cumsum(self.iterations)
                taken = ranges(values, ends, places)
            columns[name] = taken
        return Bindings(ends=np.cumsum(columns["lengths"].sum(axis=0)), **columns)

    def mapped(self, change: Callable[[Numbers], Numbers]) -> Bindings:
        """Map the event numbers."""
        return replace(self, events=change(self.events))

    def valued(self, values: Numbers) -> Bindings:
        """These matches with the columns of RETURN."""
        return replace(self, values=values)

    @cached_property
    def canonical(self) -> Bindings:
        """These matches with their events by state, in stream order within a state."""
        order, found = np.lexsort((self.known_states, self.matches)), self.general
        columns = {name: getattr(found, name) for name in ("events", "states", "slots")}
        sorted_ = {name: each[order] for name, each in columns.items() if each is not None}
        return replace(found, **sorted_)

    def by_level(self) -> Bindings:
        """These matches with their events by level, in stream order within a level."""
        is_by_level = self.states is None or self.branches is not None
        return self if is_by_level else replace(self.canonical, states=None)

    def of_level(self, level: int) -> tuple[Numbers, Numbers]:
        """The events that a component binds in all matches, and the ends of those of each match."""
        ends = np.cumsum(self.lengths[level])
        if self.states is not None:
            return self.events[self.states == level], ends
        events = np.empty(int(ends[-1]) if len(ends) else 0, np.int64)
        gather_level(self.events, self.ends, self.lengths, level, events)
        return events, ends

    def one_of_level(self, level: int) -> tuple[Numbers, Mask]:
        """The event that a single component binds in each match, and whether there is one."""
        known = self.lengths[level] > 0
        if self.states is not None:
            found = self.first
            found[known] = self.events[self.states == level]
            return found, known
        begins = self.begins + self.lengths[:level].sum(axis=0)
        return self.events[np.where(known, begins, self.begins)], known


def first_of(bindings: Numbers | Bindings) -> Numbers:
    """The first event of each match."""
    return bindings.first if isinstance(bindings, Bindings) else bindings[0]


def last_of(bindings: Numbers | Bindings) -> Numbers:
    """The last event of each match."""
    return bindings.last if isinstance(bindings, Bindings) else bindings[-1]


def as_bindings(bindings: Numbers | Bindings) -> Bindings:
    """Make bindings of sequences."""
    if isinstance(bindings, Bindings):
        return bindings
    levels, count = bindings.shape
    return Bindings(
        np.ascontiguousarray(bindings.T).reshape(-1),
        np.arange(1, count + 1, dtype=np.int64) * levels,
        np.ones((levels, count), np.int64),
    )


def match_arrays(bindings: Bindings) -> MatchArrays:
    """Matches in the form that kernels need."""
    return MatchArrays(bindings.events, bindings.ends, np.ascontiguousarray(bindings.lengths))


def begins_of(ends: Numbers) -> Numbers:
    """The begins of adjacent ranges."""
    return np.append(np.zeros(1, np.int64), ends)[: len(ends)]


def ranges(given: Numbers, ends: Numbers, places: Places) -> Numbers:
    """Take some of adjacent ranges of an array."""
    begins = begins_of(ends)
    if isinstance(places, slice) and places.step is None:
        first, last, _ = places.indices(len(ends))
        return given[begins[first] : ends[last - 1]] if first < last else given[:0]
    sizes = (ends - begins)[places]
    out = np.empty(int(sizes.sum()), np.int64)
    gather_ranges(given, begins[places], sizes, out)
    return out


def lengths_of(bindings: Bindings) -> Numbers:
    """The lengths of matches by the state of each event."""
    lengths = np.zeros_like(bindings.lengths)
    np.add.at(lengths, (bindings.known_states, bindings.matches), 1)
    return lengths


def likely_of(bindings: Numbers | Bindings) -> Bindings | None:
    """Matches of imprecise time; None for others."""
    return bindings if isinstance(bindings, Bindings) and bindings.times is not None else None
