"""Matches held level by level; the columns match by match are computed on demand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sase.cached_property import cached_property
from sase.engine.columns.arrays import Mask, Numbers
from sase.engine.kernels.kleene.match_arrays import scatter_level
from sase.engine.operators.bindings.bindings import COLUMNS, Bindings, Places, begins_of, ranges


class ColumnarBindings(Bindings):
    """Bindings by level, none of them empty in any match: the form in which results show them.

    `stops` has the ends of the matches in the events of each level; None for a level with one event
    in each match. For branches with the same number of levels, `table` has by branch and level the
    variable of the whole pattern. The pattern has `count` variables, and each match has one event
    for a level.
    """

    by_levels: tuple[Numbers, ...]
    stops: tuple[Numbers | None, ...]
    table: Numbers | Any
    count: int

    def __init__(
        self,
        by_levels: Sequence[Numbers],
        stops: Sequence[Numbers | None],
        table: Numbers | None = None,
        count: int = 0,
        **columns: Any,
    ) -> None:
        # The rows of a matrix of which some matches were taken lie apart in memory.
        by_levels = tuple(map(np.ascontiguousarray, by_levels))
        given = {"by_levels": by_levels, "stops": tuple(stops)}
        vars(self).update(given, table=table, count=count or len(stops), **columns)

    @classmethod
    def united(cls, parts: Sequence[ColumnarBindings]) -> Bindings:
        """Concatenate."""
        first, by_levels, ends = parts[0], list[Numbers](), list[Numbers | None]()
        if any(part.table is not first.table for part in parts):
            return Bindings.united(parts)
        for level in range(len(first.stops)):
            bound, stops = [p.by_levels[level] for p in parts], [p.stops[level] for p in parts]
            before = np.cumsum([0, *map(len, bound)])
            known = [each + n for each, n in zip(stops, before, strict=False) if each is not None]
            by_levels.append(np.concatenate(bound))
            ends.append(np.concatenate(known) if known else None)
        columns = {}
        for name in ("branches", "values"):
            if getattr(first, name) is not None:
                every = [getattr(part, name) for part in parts]
                columns[name] = np.concatenate(every, axis=COLUMNS[name].axis)
        return first.changed(by_levels, ends, **columns)

    def changed(
        self, by_levels: Sequence[Numbers], stops: Sequence[Numbers | None], **columns: Any
    ) -> ColumnarBindings:
        """Other events of the same levels."""
        columns = {"branches": self.branches, "values": self.values} | columns
        return ColumnarBindings(by_levels, stops, self.table, self.count, **columns)

    @property
    def general(self) -> Bindings:
        """The same matches with all columns as arrays."""
        found = Bindings(self.events, self.ends, self.lengths, self.states)
        return replace(found, branches=self.branches, values=self.values)

    @cached_property
    def states(self) -> Numbers | Any:
        """The variable of each event."""
        return None if self.table is None else self.table[self.branches].reshape(-1)

    @cached_property
    def lengths(self) -> Numbers:
        """The number of events that each component binds, by level or variable."""
        if self.table is not None:
            lengths = np.zeros(self.shape, np.int64)
            for variables in self.table.T:
                lengths[variables[self.branches], np.arange(self.size)] = 1
            return lengths
        lengths = np.ones(self.shape, np.int64)
        for level, stops in enumerate(self.stops):
            if stops is not None:
                lengths[level] = stops - begins_of(stops)
        return lengths

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of levels or variables and of matches, as of a matrix of sequences."""
        stops = self.stops[0]
        return self.count, len(self.by_levels[0] if stops is None else stops)

    @cached_property
    def events(self) -> Numbers:
        """The events of all matches."""
        if not any(stops is not None for stops in self.stops):
            return np.stack(self.by_levels, axis=1).reshape(-1)
        events = np.empty(sum(map(len, self.by_levels)), np.int64)
        for level, bound in enumerate(self.by_levels):
            scatter_level(bound, self.ends, self.lengths, level, events)
        return events

    @cached_property
    def ends(self) -> Numbers:
        """The end of each match in `events`."""
        known = [stops for stops in self.stops if stops is not None]
        singles = len(self.stops) - len(known)
        return singles * np.arange(1, self.size + 1, dtype=np.int64) + sum(known)

    @property
    def nbytes(self) -> int:
        """The bytes of the arrays."""
        arrays = (*self.by_levels, *self.stops, self.branches, self.values)
        return sum(each.nbytes for each in arrays if each is not None)

    @property
    def first(self) -> Numbers:
        """The first event of each match."""
        bound, stops = self.by_levels[0], self.stops[0]
        return bound if stops is None else bound[begins_of(stops)]

    @property
    def last(self) -> Numbers:
        """The last event of each match."""
        bound, stops = self.by_levels[-1], self.stops[-1]
        return bound if stops is None else bound[stops - 1]

    def _at(self, places: Places) -> ColumnarBindings:
        by_levels, ends = list[Numbers](), list[Numbers | None]()
        for bound, stops in zip(self.by_levels, self.stops, strict=True):
            by_levels.append(bound[places] if stops is None else ranges(bound, stops, places))
            sizes = None if stops is None else (stops - begins_of(stops))[places]
            ends.append(None if sizes is None else np.cumsum(sizes))
        branches = None if self.branches is None else self.branches[places]
        values = None if self.values is None else self.values[:, places]
        return self.changed(by_levels, ends, branches=branches, values=values)

    def mapped(self, change: Callable[[Numbers], Numbers]) -> ColumnarBindings:
        """Map the event numbers."""
        return self.changed([change(bound) for bound in self.by_levels], self.stops)

    def valued(self, values: Numbers) -> ColumnarBindings:
        """These matches with the columns of RETURN."""
        return self.changed(self.by_levels, self.stops, values=values)

    def of_level(self, level: int) -> tuple[Numbers, Numbers]:
        """The events that a component binds in all matches, and the ends of those of each match."""
        if self.table is not None:
            events, known = self.one_of_level(level)
            return events[known], np.cumsum(known)
        stops = self.stops[level]
        return self.by_levels[level], np.arange(1, self.size + 1) if stops is None else stops

    def one_of_level(self, level: int) -> tuple[Numbers, Mask]:
        """The event that a single component binds in each match, and whether there is one."""
        if self.table is None:
            return self.by_levels[level], np.ones(self.size, np.bool_)
        events, known = self.first.copy(), np.zeros(self.size, np.bool_)
        for bound, variables in zip(self.by_levels, self.table.T, strict=True):
            is_own = variables == level
            if is_own.any():
                np.copyto(events, bound, where=is_own[self.branches])
                known |= is_own[self.branches]
        return events, known
