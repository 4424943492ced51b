"""Matches: row numbers at once, everything else when it is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sase.binding import Schema
from sase.binding.bound import BoundComponent, BoundWindow, Column, Expression
from sase.engine.expressions import Interner, columns_needed
from sase.engine.history import History
from sase.engine.operators.negation import detected
from sase.engine.operators.transformation import Results
from sase.engine.report import Report
from sase.engine.returned import arrow_column, is_zoned, time_array

Numbers = NDArray[np.int64]
SHOWN = 10


@dataclass(frozen=True, eq=False)
class Shape:
    """What results look like: the components or the columns of RETURN; when they are known."""

    components: tuple[BoundComponent, ...]
    columns: tuple[Column, ...] | None
    type_name: str | None
    postponed: BoundWindow | None
    schema: Schema
    texts: Interner


class Matches(Sequence[dict[str, Any]]):
    """The matches of a query, in order.

    `rows` are row numbers of the input; `to_arrow` and its kin the results themselves: a struct for
    each variable or the columns of RETURN, `ts_start`, `ts_end` and `detected_at`.
    """

    def __init__(
        self, shape: Shape, history: History, results: Sequence[Results], report: Report
    ) -> None:
        self._shape, self._history, self._results = shape, history, list(results)
        self.report = report

    def __len__(self) -> int:
        return sum(map(len, self._results))

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return self.to_arrow()[index].to_pylist()
        place = range(len(self))[index]
        return self._between(place, place + 1).to_arrow().to_pylist()[0]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for results in self._results:
            yield from self._of([results]).to_arrow().to_pylist()

    @property
    def schema(self) -> Schema:
        """What was known of the events."""
        return self._shape.schema

    @property
    def type_name(self) -> str | None:
        """The type of the results as events, if RETURN names one."""
        return self._shape.type_name

    @property
    def names(self) -> list[str]:
        """The names of the positive components."""
        return [component.variable for component in self._shape.components]

    @cached_property
    def rows(self) -> pa.Table:
        """The input row of every event, a column for each positive component."""
        columns = [
            pa.chunked_array(
                [
                    pa.array(self._history.rows(results.positions[level]))
                    for results in self._results
                ],
                pa.int64(),
            )
            for level in range(len(self.names))
        ]
        return pa.table(columns, self.names)

    def to_arrow(self) -> pa.Table:
        """The results as a table."""
        return self._table

    def to_pandas(self) -> Any:
        """The results as a data frame of pandas."""
        return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        """The results as a data frame of polars."""
        import polars  # type: ignore[import-not-found, unused-ignore]

        return polars.from_arrow(self.to_arrow())

    def to_pylist(self) -> list[dict[str, Any]]:
        """The results as dicts."""
        rows: list[dict[str, Any]] = self.to_arrow().to_pylist()
        return rows

    def to_reader(self) -> pa.RecordBatchReader:
        """The results batch by batch, each made when it is read."""
        schema = self._of([]).to_arrow().schema if not self._results else None
        if schema is None:
            schema = self._of(self._results[:1]).to_arrow().schema
        batches = (
            batch
            for results in self._results
            for batch in self._of([results]).to_arrow().cast(schema).to_batches()
        )
        return pa.RecordBatchReader.from_batches(schema, batches)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.to_reader().__arrow_c_stream__(requested_schema)

    def head(self, count: int = SHOWN) -> Matches:
        """The first matches."""
        return self._between(0, count)

    def __repr__(self) -> str:
        from sase.engine.showing import as_text

        return as_text(self)

    def _repr_html_(self) -> str:
        from sase.engine.showing import as_html

        return as_html(self)

    # ------------------------------------------------------------ parts

    def _of(self, results: Sequence[Results]) -> Matches:
        return Matches(self._shape, self._history, results, self.report)

    def _between(self, start: int, end: int) -> Matches:
        """The matches from one place to another."""
        found, begin = [], 0
        for results in self._results:
            if begin < end and begin + len(results) > start:
                cut = slice(max(start - begin, 0), end - begin)
                values = tuple(value[cut] for value in results.values)
                found.append(Results(np.ascontiguousarray(results.positions[:, cut]), values))
            begin += len(results)
        return self._of(found)

    # ------------------------------------------------------------ columns

    @cached_property
    def _positions(self) -> Numbers:
        empty = np.empty((len(self.names), 0), np.int64)
        return np.concatenate([empty, *(results.positions for results in self._results)], axis=1)

    @cached_property
    def _table(self) -> pa.Table:
        columns = self._structs() if self._shape.columns is None else self._returned()
        return pa.table({**columns, **self._times()})

    def _times(self) -> dict[str, pa.Array]:
        """When each match begins, ends, and is known."""
        first = self._history.times(self._positions[0])
        last = self._history.times(self._positions[-1])
        postponed = self._shape.postponed
        known = last if postponed is None else detected(first, postponed)
        schema = self._shape.schema
        given = self._history.type_of(schema.time, None)
        return {
            name: time_array(times, schema.time_type, given)
            for name, times in (("ts_start", first), ("ts_end", last), ("detected_at", known))
        }

    def _returned(self) -> dict[str, pa.Array]:
        """The columns of RETURN."""
        assert self._shape.columns is not None
        found = {}
        for number, column in enumerate(self._shape.columns):
            parts = [results.values[number] for results in self._results]
            values = np.concatenate([np.empty((0, 2), np.int64), *parts])
            zone = self._zone(column.value)
            found[column.name] = arrow_column(values, column.value.type, self._shape.texts, zone)
        return found

    def _zone(self, value: Expression) -> str | None:
        """The time zone of the first attribute that has one."""
        kinds = (self._history.type_of(name, None) for _, name in columns_needed([value]))
        return next((kind.tz for kind in kinds if kind is not None and is_zoned(kind)), None)

    def _structs(self) -> dict[str, pa.Array]:
        """All attributes of the events, under their variables."""
        return {
            component.variable: self._struct(component, self._positions[level])
            for level, component in enumerate(self._shape.components)
        }

    def _struct(self, component: BoundComponent, positions: Numbers) -> pa.Array:
        places = self._history.places(positions)
        names = [
            name for name in self._history.names(component.types) if self._shows(component, name)
        ]
        values = [self._attribute(component, name, positions, places) for name in names]
        if not names:
            return pa.array([{}] * len(positions), pa.struct([]))
        return pa.StructArray.from_arrays([value.combine_chunks() for value in values], names)

    def _shows(self, component: BoundComponent, name: str) -> bool:
        """Whether some type that the component admits declares an attribute."""
        return bool(self._declaring(component, name) or component.types is None)

    def _declaring(self, component: BoundComponent, name: str) -> frozenset[str]:
        schema = self._shape.schema
        found = []
        for type_name in component.types or schema.type_names or ():
            declared = schema.attributes(type_name)
            if declared is None or name in declared:
                found.append(type_name)
        return frozenset(found)

    def _attribute(
        self, component: BoundComponent, name: str, positions: Numbers, places: Numbers
    ) -> pa.ChunkedArray:
        """An attribute of events, NULL where their type does not declare it."""
        values = self._history.column(name, places, component.types)
        declaring = self._declaring(component, name)
        admitted = component.types or self._shape.schema.type_names
        if admitted is None or declaring == frozenset(admitted):
            return values
        is_declared = self._history.is_type(positions, declaring)
        return pc.if_else(pa.array(is_declared), values, pa.nulls(len(places), values.type))
