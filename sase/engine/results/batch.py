"""Batches of matches: positions and values, and the tables made from them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, groupby
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sase.binding import Schema
from sase.binding.bound import BoundComponent, Column, EventValues, Expression, Operation
from sase.binding.schema import MERGED, OTHERS
from sase.binding.types import UNKNOWN, DataType, Kind
from sase.binding.values.functions import IN_ZONE
from sase.engine.columns.arrays import Mask, Numbers
from sase.engine.columns.arrow.data_types import data_type
from sase.engine.columns.arrow.nested import element_of
from sase.engine.columns.decode.time_column import microseconds
from sase.engine.expressions import Interner, columns_needed
from sase.engine.operators.bindings.bindings import Bindings, likely_of
from sase.engine.operators.bindings.detection import detection, detection_by_branch
from sase.engine.operators.bindings.forms import opened_form
from sase.engine.operators.bindings.unions import UnionForm, levels_of
from sase.engine.operators.transformation import Results
from sase.engine.results.arrow_columns import (
    arrow_column,
    event_column,
    group_column,
    is_zoned,
    medians,
    row_column,
    row_type,
    rows_of_iterations,
    time_array,
)
from sase.engine.results.row_history import RowHistory
from sase.errors import BudgetError
from sase.planning.engine_plan import EnginePlan
from sase.planning.physical.forms import form_of
from sase.planning.reasoning.late_types import Known

# Matches converted to results at once.
PIECE = 1 << 16
# Up to this number of matches, only the history segments that they use are read.
FEW = 1 << 10


@dataclass(frozen=True, eq=False)
class ResultSchema:
    """The form of a plan's results: the columns of RETURN, and `texts` by code."""

    plan: EnginePlan
    texts: list[str]
    columns: tuple[Column, ...] | None

    def __getstate__(self) -> dict[str, Any]:
        """The state for pickling, without user functions, which may not be picklable."""
        plan = replace(self.plan, aggregates={}) if self.plan.aggregates else self.plan
        return {"plan": plan, "texts": self.texts, "columns": self.columns}

    @classmethod
    def of(cls, plan: EnginePlan, texts: Interner) -> ResultSchema:
        """The schema of a plan's results before events are read."""
        return cls(plan, texts.texts, plan.returned.columns)

    @property
    def components(self) -> tuple[BoundComponent, ...]:
        """The positive components."""
        return self.plan.positives

    @property
    def schema(self) -> Schema:
        """The schema of the events."""
        return self.plan.schema

    def group_number(self, level: int) -> int:
        """The index of a level's group among the repeated groups."""
        return sum(1 for each in self.components[:level] if each.group is not None)

    def with_types(self, known: Known) -> ResultSchema:
        """The schema with types that the events have revealed."""
        if self.columns is None or not self.plan.unsaid.is_any:
            return self
        columns = self.plan.unsaid.columns(known)
        return self if columns == self.columns else replace(self, columns=columns)


@dataclass(eq=False)
class MatchBatch:
    """Matches and the input of their events; attributes are read on demand."""

    shape: ResultSchema
    history: RowHistory
    results: tuple[Results, ...] = ()

    def __len__(self) -> int:
        return sum(map(len, self.results))

    @property
    def names(self) -> list[str]:
        """The names of the positive components."""
        return [component.variable for component in self.shape.components]

    @property
    def nbytes(self) -> int:
        """The bytes of the matches, without results made of them."""
        return sum(each.nbytes for each in self.results)

    def pieces(self, most: int | None = None) -> Iterator[MatchBatch]:
        """Split or join into batches up to a number of matches and of bytes."""
        some: list[Results] = []
        parts = self.results if most is None else _cut(self.results, most)
        for each in parts:
            if some and (
                sum(map(len, some)) + len(each) > PIECE
                or (most is not None and sum(part.nbytes for part in some) + each.nbytes > most)
            ):
                yield replace(self, results=tuple(some))
                some = []
            some.append(each)
        yield replace(self, results=tuple(some))

    def between(self, start: int, end: int) -> MatchBatch:
        """Slice the matches."""
        found, begin = [], 0
        for results in self.results:
            if begin < end and begin + len(results) > start:
                found.append(results.between(max(start - begin, 0), end - begin))
            begin += len(results)
        return replace(self, results=tuple(found))

    def where(self, keeps: Callable[[Results], Mask]) -> MatchBatch:
        """Select the matches that a predicate accepts."""
        masks = [(results, keeps(results)) for results in self.results]
        return replace(self, results=tuple(r if mask.all() else r.at(mask) for r, mask in masks))

    @property
    def positions(self) -> Numbers | Bindings:
        """The positions of all events."""
        if self.shape.plan.has_series:
            return Bindings.joined([each.bindings for each in self.results] or [self._none])
        empty = np.empty((len(self.shape.components), 0), np.int64)
        return np.concatenate([empty, *(each.matrix for each in self.results)], axis=1)

    @property
    def _none(self) -> Bindings:
        """No match of any number of events."""
        plan, components = self.shape.plan, self.shape.components
        if plan.union is not None:
            return UnionForm.of(levels_of(plan.union)).none()
        form = opened_form(form_of(plan.operators), components)
        assert form is not None, "components bind any number of events"
        return form.none()

    def rows(self) -> pa.Table:
        """The input rows of all events, a column for each positive component."""
        levels = enumerate(self.shape.components)
        if self.shape.plan.has_series:
            found = [each.bindings.mapped(self.history.rows) for each in self.results]
            columns = [self._rows(found, *each) for each in levels]
        else:
            columns = [
                pa.chunked_array(
                    [pa.array(self.history.rows(each.matrix[level])) for each in self.results],
                    pa.int64(),
                )
                for level, _ in levels
            ]
        return pa.table(columns, self.names)

    def _rows(
        self, found: Sequence[Bindings], level: int, component: BoundComponent
    ) -> pa.ChunkedArray:
        if component.group is None:
            return row_column(found, level, component)
        number = self.shape.group_number(level)
        made = [rows_of_iterations(each, level, number, component) for each in found]
        return pa.chunked_array(made, row_type(component))

    def table(self) -> pa.Table:
        """The results: structs or the columns of RETURN, and the times."""
        positions = self.positions
        if len(self.history.pieces) > 1 and positions.shape[1] <= FEW:
            bound = positions.events if isinstance(positions, Bindings) else positions.reshape(-1)
            self.history = self.history.showing(bound)
        columns = self._structs(positions) if self.shape.columns is None else self._returned()
        columns |= self._times(positions)
        likely = likely_of(positions)
        if likely is not None:
            columns["confidence"] = pa.array(likely.confidences)
        return pa.table(columns)

    def moments(self, positions: Numbers | Bindings) -> tuple[Numbers, Numbers, Numbers]:
        """The first time, last time, and time of detection of each match, in raw units."""
        likely = likely_of(positions)
        if likely is not None:
            start, end, detected = likely.times
            return start, end, detected
        results = Results(positions)
        first, last = self.history.times(results.first), self.history.times(results.last)
        plan = self.shape.plan
        if not isinstance(positions, Bindings) or plan.union is None:
            return first, last, detection(plan, first, last, positions)
        branches = zip(levels_of(plan.union), plan.branches, strict=True)
        return first, last, detection_by_branch(positions, first, last, branches)

    def _times(self, positions: Numbers | Bindings) -> dict[str, pa.Array]:
        """The columns `ts_start`, `ts_end` and `detected_at`."""
        names = ("ts_start", "ts_end", "detected_at")
        moments = self.moments(positions)
        return {name: self.shown(times) for name, times in zip(names, moments, strict=True)}

    def shown(self, times: Numbers) -> pa.Array:
        """Raw times with the type of the time column."""
        given = self.history.type_of(self.shape.schema.time, None)
        return time_array(times, self._time_type(given), given)

    def _time_type(self, given: pa.DataType | None) -> DataType:
        """The type of times, from the schema or the given column."""
        known = self.shape.schema.time_type
        is_vague = known.kind is Kind.TIMESTAMP and known.resolution is None
        if (known == UNKNOWN or is_vague) and given is not None:
            return data_type(given)
        return known

    def _returned(self) -> dict[str, pa.Array]:
        """The columns of RETURN."""
        assert self.shape.columns is not None
        found = {}
        for number, column in enumerate(self.shape.columns):
            if isinstance(column.value, EventValues):
                found[column.name] = self._event_values(column.value)
                continue
            parts = [results.values[number] for results in self.results]
            values = np.concatenate([np.empty((0, 2), np.int64), *parts])
            zone = self._zone(column.value)
            found[column.name] = arrow_column(values, column.value, self.shape.texts, zone)
        return found

    def _event_values(self, value: EventValues) -> pa.Array:
        """A column with values as the events have them."""
        components = self.shape.components
        level = next(n for n, each in enumerate(components) if each.index == value.component)
        component, positions = components[level], self.positions

        def shown(events: Numbers) -> pa.Array:
            return _whole(self.attribute(component, value.attribute, events))

        if not isinstance(positions, Bindings):
            return shown(positions[level])
        column = event_column(positions, level, component, shown)
        if value.place is not None:
            return element_of(column, value.place)
        return medians(column) if value.form == "median" else column

    def _zone(self, value: Expression) -> str | None:
        """The time zone of the attributes that have one, UTC of several; None for a local time."""
        if _is_local(value):
            return None
        kinds = (self.history.type_of(name, None) for _, name in columns_needed([value]))
        zones = {kind.tz for kind in kinds if kind is not None and is_zoned(kind)}
        return "UTC" if len(zones) > 1 else next(iter(zones), None)

    def _structs(self, positions: Numbers | Bindings) -> dict[str, pa.Array]:
        """A struct of all attributes for each component."""
        if isinstance(positions, Bindings):
            return {
                component.variable: self._events(positions, level, component)
                for level, component in enumerate(self.shape.components)
            }
        return {
            component.variable: self.events_of(component, positions[level])
            for level, component in enumerate(self.shape.components)
        }

    def _events(self, positions: Bindings, level: int, component: BoundComponent) -> pa.Array:
        """The events of a series, or the iterations of a group."""
        if component.group is None:
            return event_column(positions, level, component, partial(self.events_of, component))
        number = self.shape.group_number(level)
        return group_column(positions, level, number, component, self.events_of)

    def events_of(self, component: BoundComponent, positions: Numbers) -> pa.StructArray:
        """Events of a component by position, as structs of the attributes of its types."""
        names = [
            name
            for name in self.history.names(component.types)
            if (component.types is None and name not in self._hidden)
            or self._declaring(component, name)
        ]
        values = [self.attribute(component, name, positions) for name in names]
        if not names:
            return pa.array([{}] * len(positions), pa.struct([]))
        return pa.StructArray.from_arrays([_whole(value) for value in values], names)

    @property
    def _hidden(self) -> tuple[str, ...]:
        """The columns that are not attributes."""
        return MERGED if self.shape.schema.is_merged else ()

    def _declaring(self, component: BoundComponent, name: str) -> frozenset[str]:
        schema = self.shape.schema
        admitted = component.types or schema.type_names or ()
        return frozenset(each for each in admitted if schema.declares(each, name))

    def attribute(
        self, component: BoundComponent, name: str, positions: Numbers
    ) -> pa.ChunkedArray:
        """An attribute of events by position; NULL if their type does not declare it.

        Float seconds are microseconds, as everywhere else.
        """
        schema = self.shape.schema
        given = self.history.type_of(name, component.types) if name in schema.times else None
        is_seconds = given is not None and self._time_type(given).kind is Kind.FLOAT
        if is_seconds and name == schema.time:
            return pa.chunked_array([pa.array(self.history.times(positions))])
        places = self.history.places(positions)
        values = self.history.column(name, places, component.types)
        if is_seconds:
            latest = values.cast(pa.float64()).to_numpy()
            return pa.chunked_array([pa.array(microseconds(latest))])
        declaring = self._declaring(component, name)
        admitted = component.types or self.shape.schema.type_names
        if admitted is None or declaring == frozenset(admitted):
            return values
        others = schema.type_names if OTHERS in declaring and schema.has_others else None
        is_declared = self.history.is_type(positions, declaring, others)
        return pc.if_else(pa.array(is_declared), values, pa.nulls(len(places), values.type))


@dataclass(frozen=True, eq=False)
class MaterializedBatch:
    """Finished results that do not refer to the input."""

    shape: ResultSchema
    names: list[str]
    made: pa.Table
    from_rows: pa.Table

    @classmethod
    def of(cls, matches: MatchBatch) -> MaterializedBatch:
        """Make the results."""
        return cls(matches.shape, matches.names, matches.table(), matches.rows())

    def __len__(self) -> int:
        return int(self.made.num_rows)

    @property
    def nbytes(self) -> int:
        """The bytes of the tables."""
        return int(self.made.nbytes + self.from_rows.nbytes)

    def pieces(self, most: int | None = None) -> Iterator[MaterializedBatch]:
        """The batch itself."""
        return iter([self])

    def between(self, start: int, end: int) -> MaterializedBatch:
        """Slice the results."""
        made, rows = (each.slice(start, end - start) for each in (self.made, self.from_rows))
        return replace(self, made=made, from_rows=rows)

    def rows(self) -> pa.Table:
        """The input rows."""
        return self.from_rows

    def table(self) -> pa.Table:
        """The results."""
        return self.made


def _cut(every: Iterable[Results], most: int) -> Iterator[Results]:
    for results in every:
        step = max(len(results) * most // max(results.nbytes, 1), 1)
        for begin in range(0, len(results), step):
            yield results.between(begin, begin + step)


ResultBatch: TypeAlias = MatchBatch | MaterializedBatch


def gathered(parts: Iterable[ResultBatch], most: int | None = None) -> Iterator[ResultBatch]:
    """Join batches of the same input, up to a number of matches.

    Batches found before a budget error are yielded before the error is raised.
    """
    count = number = 0
    problems: list[BudgetError] = []

    def allowed() -> Iterator[ResultBatch]:
        try:
            yield from parts
        except BudgetError as problem:
            problems.append(problem)

    def key(part: ResultBatch) -> tuple[int, int, int]:
        nonlocal count, number
        count += len(part)
        if most is not None and count > most:
            count, number = len(part), number + 1
        history = part.history if isinstance(part, MatchBatch) else part
        return number, id(part.shape), id(history)

    for _, group in groupby(allowed(), key=key):
        first, *rest = group
        if rest and isinstance(first, MatchBatch):
            found = [part.results for part in rest if isinstance(part, MatchBatch)]
            every = tuple(chain(first.results, *found))
            first = MatchBatch(first.shape, first.history, every)
        yield first
    for problem in problems:
        raise problem


def _whole(column: pa.ChunkedArray) -> pa.Array:
    """The only chunk of a column; not every type can be concatenated."""
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _is_local(value: Expression) -> bool:
    """Whether a value is a time as clocks of a zone show it."""
    if not isinstance(value, Operation) or value.type.kind is not Kind.TIMESTAMP:
        return False
    return value.name == IN_ZONE or any(map(_is_local, value.operands))
