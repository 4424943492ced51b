"""Merges several streams for a statement that reads them: in order, as far as it is certain.

Events are ordered by time, imprecise ones by the earliest and then by the latest. At one time
events of inputs precede composite ones; then the streams follow in the order of FROM, and events in
the order of their stream. An event is released as soon as nothing can come before it:

    floor of a: 5      a holds 4, 5        released: both 4, and a's 5
    floor of b: 7      b holds 4, 5, 6     waits: b's 5, since before it another 5 of a may come
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sase.binding import Schema
from sase.binding.schema import MERGED_ORDER, MERGED_TIME, MERGED_TYPE, MERGED_UNTIL
from sase.binding.script.streams import NamedStream, ranked
from sase.binding.types import RESOLUTIONS, UNKNOWN, DataType, Kind
from sase.engine.columns import Events, Inputs
from sase.engine.columns.arrays import Numbers
from sase.engine.columns.arrow.data_types import (
    data_type,
    factor,
    is_zone,
    nanoseconds,
    value_type,
)
from sase.engine.columns.arrow.gather import alike, takeable, taken_rows
from sase.engine.columns.arrow.input import Input, Misfits
from sase.engine.columns.arrow.python_rows import NO_FLOAT
from sase.engine.columns.arrow.slice import SavedTable
from sase.engine.columns.decode.numbers import (
    MOST_DIGITS,
    TOO_GREAT,
    beyond_floats,
    beyond_integers,
    within_integers,
)
from sase.engine.columns.decode.resolve import expected_of_type
from sase.engine.pipeline.stream_state import BEGINNING, END
from sase.engine.results.arrow_columns import is_zoned, time_array
from sase.engine.scripts.plan import StatementPlan, loader_of_types
from sase.engine.scripts.rows import MICROSECONDS, Fed, Piece
from sase.engine.snapshots.layout import (
    Array,
    Count,
    Declared,
    Each,
    Many,
    Nullable,
    Number,
    Own,
    Row,
    Text,
)
from sase.engine.snapshots.saved_state import Saved
from sase.errors import DataError, SchemaError
from sase.planning.engine_plan import EnginePlan

MOST = np.iinfo(np.int64).max
Key = tuple[int, int]


@dataclass(frozen=True, eq=False)
class _OrderedRows:
    """Rows of one stream in its order, and whether each comes strictly after the one before."""

    table: pa.Table
    ts: Numbers
    later: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.ts)

    def between(self, begin: int, end: int | None = None) -> _OrderedRows:
        """Slice the rows."""
        cut = slice(begin, end)
        return _OrderedRows(self.table[cut], self.ts[cut], self.later[cut])


@dataclass(eq=False)
class _HeldStream(Declared):
    """One of the streams: its waiting rows, and the time before which no more rows come."""

    layout = dict(
        floor=Number(path="floor"),
        last=Nullable(Row(Number(), Number()), path="last"),
        held=Many(
            Row(SavedTable("rows"), Array("rows"), Array("rows", dtype="bool"), into=_OrderedRows),
            path=None,
        ),
        loader=Own(path="loader"),
    )

    stream: NamedStream
    typing: EnginePlan | None = None
    # Whether the latest times of events are needed, too.
    is_imprecise: bool = False
    held: list[_OrderedRows] = field(default_factory=list)
    floor: int = BEGINNING
    last: Key | None = None

    def __post_init__(self) -> None:
        schema = self.stream.schema
        self.loader = loader_of_types(schema, self.typing)
        self.is_total = self.stream.is_composite or schema.is_ordered_by_row

    def take(self, piece: Piece, scale: int) -> None:
        """Hold the rows of a piece."""
        inputs = piece.inputs.proved()
        events = self.loader.load(inputs)
        if not len(events):
            return
        table = _table(inputs, events, self.stream.schema)
        if self.is_imprecise:
            until = events.ts if events.until is None else events.until
            until = _scaled(until, scale, self.stream)
            table = table.append_column(MERGED_UNTIL, pa.array(until))
        self.held.append(
            _OrderedRows(table, _scaled(events.ts, scale, self.stream), self._later(events))
        )

    def _later(self, events: Events) -> NDArray[np.bool_]:
        later = np.ones(len(events), np.bool_)
        if self.is_total:
            return later
        if events.tie is not None:
            later[1:] = np.diff(events.tie) > 0
        name = self.stream.schema.seq_column
        seq = None if name is None else events.columns[name].values
        first, last = ((int(events.ts[at]), 0 if seq is None else int(seq[at])) for at in (0, -1))
        later[0] = first != self.last
        self.last = last
        return later

    def _encoded(self) -> dict[str, Any]:
        return {"held": [(each.table, each.ts, each.later) for each in self.held]}

    def _take(self, saved: Saved, values: Any) -> None:
        self.held = values.held
        for rows in self.held:
            is_ordered = bool((np.diff(rows.ts) >= 0).all())
            saved.check(is_ordered, "rows are not in the order of time")
            if self.is_imprecise:
                at = rows.table.schema.get_field_index(MERGED_UNTIL)
                is_there = at >= 0 and rows.table.schema.field(at).type == pa.int64()
                is_there = is_there and not rows.table.column(at).null_count
                saved.check(is_there, "rows have no latest time")
        super()._take(saved, values)

    def released(self, limit: int, *, with_limit: bool) -> Iterator[_OrderedRows]:
        """Release the rows before a time, or up to it."""
        while self.held:
            rows = self.held[0]
            end = int(np.searchsorted(rows.ts, limit, "right" if with_limit else "left"))
            if end:
                yield rows.between(0, end)
            if end < len(rows):
                self.held[0] = rows.between(end)
                return
            del self.held[0]


class StreamMerge(Declared):
    """Merges the streams that a statement reads."""

    layout = dict(
        next=Count(),
        names=Many(Text()),
        clock=Row(Text(), Nullable(Text()), path=None),
        zone=Nullable(Text(), path=None),
        streams=Each(Own(), path="streams"),
    )

    def __init__(self, plan: StatementPlan) -> None:
        self.schema: Schema = plan.plan.schema
        typing, is_imprecise = dict(plan.typing), self.schema.is_imprecise
        self.streams = [
            _HeldStream(each, typing.get(each.name), is_imprecise) for each in ranked(plan.streams)
        ]
        self._names, self._asked = list(_columns_of(plan)), plan.plan.named
        self._clock = self.schema.time_type
        self._zone: pa.DataType | None = None
        self._next = 0

    def take(self, fed: Mapping[str | None, Fed]) -> Fed:
        """Add rows of some of the streams, and release the rows that need not wait."""
        for each in self.streams:
            more = fed.get(each.stream.name)
            if more is None:
                continue
            for piece in more.pieces:
                self._check_readable(piece.inputs)
                each.take(piece, self._scale(each, piece))
            each.floor = max(each.floor, self._floor(each, more.floor))
        released = list(self._released())
        pieces = (self._merged(released),) if released else ()
        return Fed(pieces, min(each.floor for each in self.streams))

    def due(self) -> int | None:
        """The time that streams must reach for the first waiting event."""
        first = [int(each.held[0].ts[0]) for each in self.streams if each.held]
        return min(first) + 1 if first else None

    def _check_readable(self, inputs: Inputs) -> None:
        """Refuse columns that the statement reads, but that Arrow cannot convert."""
        for table in inputs.tables:
            for name in filter(table.unreadable.__contains__, self._asked):
                raise table.unreadable[name]

    def _released(self) -> Iterator[_OrderedRows]:
        """The rows before which nothing can come, stream by stream."""
        limit, first = min((each.floor, rank) for rank, each in enumerate(self.streams))
        for rank, each in enumerate(self.streams):
            # Of one earliest time the least latest time comes first: all of them wait.
            with_limit = limit == END or (rank <= first and not self.schema.is_imprecise)
            yield from each.released(limit, with_limit=with_limit)

    def _merged(self, released: list[_OrderedRows]) -> Piece:
        ts = np.concatenate([rows.ts for rows in released])
        tables = [rows.table for rows in released]
        columns = self._columns(tables)
        until = columns.pop(MERGED_UNTIL).to_numpy() if self.schema.is_imprecise else None
        # Events of one time are in the order of streams.
        order = np.argsort(ts, kind="stable") if until is None else np.lexsort((until, ts))
        table = taken_rows(pa.table(columns), order)
        table = table.append_column(MERGED_TIME, self._times(ts[order]))
        if until is None:
            later = np.concatenate([rows.later for rows in released])
            numbers = self._next + np.cumsum(later[order])
            self._next = int(numbers[-1])
            table = table.append_column(MERGED_ORDER, [numbers])
        else:
            table = table.append_column(MERGED_UNTIL, self._times(until[order]))
        wrong, texts = self._inexact(tables, order)
        return Piece(Inputs((Input(table, misfits=wrong, texts=texts),)))

    def _inexact(
        self, tables: list[pa.Table], order: Numbers
    ) -> tuple[dict[str, Misfits], dict[str, list[Any]]]:
        """The numbers of other streams that do not fit the type of a column; and all values.

        As floats two integers may become equal, and a decimal changes: no float equals 0.1.
        """
        misfits: dict[str, Misfits] = {}
        values: dict[str, list[Any]] = {}
        for name in filter(self._names.__contains__, self._asked):
            chunks = self._all_chunks(tables, name)
            beyond = {NO_FLOAT: beyond_floats(chunks), TOO_GREAT: beyond_integers(chunks)}
            wrong = {why: mask for why, mask in beyond.items() if mask is not None and mask.any()}
            if wrong:
                every = [value for chunk in chunks for value in chunk.to_pylist()]
                misfits[name] = tuple(
                    (why, np.flatnonzero(mask[order])) for why, mask in wrong.items()
                )
                values[name] = [every[place] for place in order]
        return misfits, values

    def _columns(self, tables: list[pa.Table]) -> dict[str, pa.ChunkedArray]:
        """The columns of all tables; NULL where a table does not have a column."""
        come = (name for table in tables for name in table.schema.names)
        self._names = list(dict.fromkeys([*self._names, *come]))
        return {
            name: pa.chunked_array(alike(self._read_chunks(tables, name))) for name in self._names
        }

    def _read_chunks(self, tables: list[pa.Table], name: str) -> list[pa.Array]:
        """A column through tables, without integers that are bad for its reader."""
        chunks = self._all_chunks(tables, name)
        return within_integers(chunks) if name in self._asked else chunks

    def _all_chunks(self, tables: list[pa.Table], name: str) -> list[pa.Array]:
        """A column through tables, with an empty chunk of the type of all streams, if it is one."""
        chunks, expected = _chunks(tables, name), expected_of_type(self.schema, None, name)
        if expected.kind is Kind.FLOAT:
            return [*chunks, pa.nulls(0, pa.float64())]
        if expected.kind is Kind.DECIMAL and expected.scale is not None:
            return [*chunks, pa.nulls(0, pa.decimal128(MOST_DIGITS, expected.scale))]
        return chunks

    # ------------------------------------------------------------ the state

    def _encoded(self) -> dict[str, Any]:
        clock = self._clock.kind.value, self._clock.resolution
        return {"clock": clock, "zone": None if self._zone is None else self._zone.tz}

    def _take(self, saved: Saved, values: Any) -> None:
        super()._take(saved, values)
        kinds, (kind, unit), zone = {e.value: e for e in Kind}, values.clock, values.zone
        is_known = kind in kinds and unit in (None, *RESOLUTIONS)
        saved.part("clock").check(is_known, "there is no such type of time")
        saved.part("zone").check(zone is None or is_zone(zone), "there is no such time zone")
        self._clock = DataType(kinds[kind], unit)
        self._zone = None if zone is None else pa.timestamp("us", zone)

    # ------------------------------------------------------------ one unit of time

    def _times(self, ts: Numbers) -> pa.Array:
        """Times in the form of the streams: those in floats are seconds."""
        if self._clock.kind is Kind.FLOAT:
            return pa.array(ts / MICROSECONDS)
        return time_array(ts, self._clock, self._zone)

    def _scale(self, source: _HeldStream, piece: Piece) -> int:
        """The units of the merged time in a unit of a stream."""
        column = source.stream.schema.time
        tables = [each.source.schema for each in piece.inputs.tables]
        found = (each.field(column).type for each in tables if column in each.names)
        given = next(map(value_type, found), None)
        if given is not None and is_zoned(given) and self._zone is None:
            self._zone = given
        if self._clock == UNKNOWN and given is not None:
            self._clock = data_type(given)
        return self._factor(source, None if given is None else data_type(given))

    def _floor(self, source: _HeldStream, floor: int) -> int:
        if floor in (BEGINNING, END):
            return floor
        scale = self._factor(source, source.loader.time)
        return max(min(floor * scale, END - 1), BEGINNING)

    def _factor(self, source: _HeldStream, given: DataType | None) -> int:
        schema = source.stream.schema
        own = schema.time_type if schema.time_type != UNKNOWN else given or UNKNOWN
        if own.kind is Kind.INTEGER and schema.time_unit and self.schema.time_unit:
            return nanoseconds(schema.time_unit) // nanoseconds(self.schema.time_unit)
        if own.resolution is None or self._clock.resolution is None:
            return 1
        scale = factor(own, self._clock)
        if scale < 1:
            raise SchemaError(
                f"the times of {source.stream.shown} are finer than those of other streams, which"
                " was not known when the script was compiled: compile it with a schema of each"
            )
        return scale


def _scaled(ts: Numbers, scale: int, stream: NamedStream) -> Numbers:
    """Times in a finer unit, exactly, or an error."""
    if scale == 1:
        return ts
    most = MOST // scale
    if int(ts.max()) > most or int(ts.min()) < -most:
        raise DataError(
            f"a time of {stream.shown} does not fit 64 bits in the unit of the streams beside it:"
            " give them times of one unit"
        )
    return ts * scale


def _table(inputs: Inputs, events: Events, schema: Schema) -> pa.Table:
    """The rows in stream order, with the type of each; times in seconds as microseconds."""
    tables = [
        t.source if isinstance(t.source, pa.Table) else pa.Table.from_batches([t.source])
        for t in inputs.tables
    ]
    names = dict.fromkeys(name for table in tables for name in table.schema.names)
    whole = pa.table({n: pa.chunked_array(alike(_chunks(tables, n))) for n in names})
    if events.order is not None:
        whole = taken_rows(whole, events.order)
    if schema.time_type.kind is Kind.FLOAT:
        place = whole.schema.get_field_index(schema.time)
        whole = whole.set_column(place, schema.time, [pa.array(events.ts)])
    codes = pa.array(events.types.astype(np.int32), mask=events.types < 0)
    types = pa.DictionaryArray.from_arrays(codes, pa.array(events.type_names, pa.string()))
    return whole.append_column(MERGED_TYPE, types)


def _chunks(tables: list[pa.Table], name: str) -> list[pa.Array]:
    """A column through tables, in chunks that Arrow can take from; NULL in tables without it."""
    found: list[pa.Array] = []
    for table in tables:
        at = table.schema.get_field_index(name)
        chunks = table.column(at).chunks if at >= 0 else [pa.nulls(table.num_rows)]
        found += map(takeable, chunks)
    return found or [pa.nulls(0)]


def _columns_of(plan: StatementPlan) -> Iterator[str]:
    """The columns that all streams have, and those that the plan reads."""
    for each in plan.streams:
        schema = each.schema
        tables = [schema.columns or (), *(t.attributes or () for t in schema.types or ())]
        yield from dict.fromkeys(name for table in tables for name, _ in table)
    yield MERGED_TYPE
    hidden = (MERGED_TIME, MERGED_ORDER, MERGED_UNTIL)
    yield from (name for name in sorted(plan.plan.named) if name not in hidden)
