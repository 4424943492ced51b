"""Rows between inputs and statements: events as rows of numbers, and results as events."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sase.binding import Schema
from sase.binding.types import Kind
from sase.engine.columns import Events, Inputs
from sase.engine.columns.arrays import Numbers
from sase.engine.columns.arrow.input import Input, opened
from sase.engine.columns.events import EventColumn
from sase.engine.pipeline.batch import NumberedRows, pieces_as_read, pieces_sorted, read_whole
from sase.engine.pipeline.stream_state import BEGINNING
from sase.engine.results.batch import MatchBatch
from sase.engine.scripts.plan import CompositeType
from sase.engine.sources import Files
from sase.engine.sources.external_sort import is_sorted

# ---------------------------------------------------------------- pieces


class Piece(NamedTuple):
    """Rows of which none comes before one of an earlier piece; their numbers if not counted."""

    inputs: Inputs
    rows: Numbers | None = None


class Fed(NamedTuple):
    """Pieces, and the time before which no event will come any more."""

    pieces: tuple[Piece, ...] = ()
    floor: int = BEGINNING


# ---------------------------------------------------------------- composite events

# Columns of every result that are no attributes of events. Results of imprecise time have a
# confidence, too.
MOMENTS = ("ts_start", "ts_end", "detected_at")
CONFIDENCE = "confidence"
MICROSECONDS = 1e6


def composite_events(matches: MatchBatch, composite: CompositeType) -> Inputs:
    """Make events of matches: the columns of RETURN or the flat form, and the time.

    An event has the time of its detection, in the form of times in the input: floats are seconds.
    """
    table = matches.table()
    time = table["detected_at"]
    if matches.shape.schema.time_type.kind is Kind.FLOAT:
        time = pc.divide(time, MICROSECONDS)
    if matches.shape.schema.is_imprecise:
        table = table.drop_columns([CONFIDENCE])
    columns = dict(_columns(table, is_flat=matches.shape.columns is None))
    source = pa.table({**columns, composite.time: time})
    return Inputs((Input(source, composite.name),), typed=True)


def together(parts: Sequence[Inputs]) -> Inputs:
    """Join inputs of one table each to one input with all columns."""
    if not parts:
        return opened([])
    (table,) = parts[0].tables
    every = [
        pa.table(dict(zip(each.tables[0].names, each.tables[0].source.columns, strict=True)))
        for each in parts
    ]
    whole = pa.concat_tables(every, promote_options="permissive")
    return replace(parts[0], tables=(replace(table, source=whole),))


def _columns(table: pa.Table, *, is_flat: bool) -> Iterator[tuple[str, pa.ChunkedArray]]:
    for name, column in zip(table.column_names, table.columns, strict=True):
        if name in MOMENTS:
            continue
        if not (is_flat and pa.types.is_struct(column.type)):
            yield name, column
            continue
        names = [field.name for field in column.type]
        for part, values in zip(names, column.flatten(), strict=True):
            yield f"{name}_{part}", values


# ---------------------------------------------------------------- event rows


class EventRows:
    """Events as rows of numbers, and events made of such rows again.

    The rows are times, types, the order of ties, and each column with its validity.
    """

    def __init__(self, events: Events, step: int) -> None:
        self._given = events
        self._arrays: list[NDArray[Any]] = [events.ts, events.types]
        self._arrays += [each for each in (events.until, events.tie) if each is not None]
        self._columns = _columns_of(events)
        for column in self._columns:
            values = column.values
            self._arrays.append(values.view(np.int64) if values.dtype.kind == "f" else values)
            if column.valid is not None:
                self._arrays.append(column.valid)
        self.count = len(self._arrays)
        self._buffer = np.empty((self.count, min(step, len(events))), np.int64)

    def between(self, begin: int, end: int) -> Numbers:
        """The rows of some events, valid until the next call."""
        for row, values in zip(self._buffer, self._arrays, strict=True):
            row[: end - begin] = values[begin:end]
        return self._buffer

    def events(self, rows: Numbers) -> Events:
        """Make events of some of the rows."""
        given, left = self._given, iter(rows)
        ts, types = next(left), next(left).astype(np.int16)
        until = None if given.until is None else next(left)
        tie = None if given.tie is None else next(left)
        if tie is not None and len(tie):
            tie = tie - tie[0]
        taken = dict[EventColumn, EventColumn]()
        for column in self._columns:
            values, valid = next(left), None
            if column.values.dtype.kind == "f":
                values = values.view(np.float64)
            if column.valid is not None:
                valid = next(left).astype(np.bool_)
            taken[column] = EventColumn(column.type, values, valid, column.dictionary)
        return Events(
            ts,
            given.resolution_ns,
            types,
            given.type_names,
            {name: taken[column] for name, column in given.columns.items()},
            {key: taken[column] for key, column in given.by_type.items()},
            tie=tie,
            until=until,
        )

    def at(self, places: Numbers) -> Events:
        """Select the events at rising places."""
        events = replace(self._given.at(places), order=None)
        return events if events.tie is None else replace(events, tie=events.tie - events.tie[:1])


def _columns_of(events: Events) -> tuple[EventColumn, ...]:
    """Every column once, even if several types share it."""
    return tuple(dict.fromkeys((*events.columns.values(), *events.by_type.values())))


# ---------------------------------------------------------------- input rows


@dataclass(frozen=True, eq=False)
class InputRows:
    """The columns of an input that statements read: those they name, or all if results show them.

    Files of more bytes than may be held are read in pieces, and sorted on disk if they are
    unsorted.
    """

    schema: Schema
    events: Files | Inputs
    named: frozenset[str]
    shows_all: bool
    on_bad_row: str
    types_wanted: None = None

    @property
    def come_in_pieces(self) -> bool:
        """Whether the rows are too many to be held."""
        return isinstance(self.events, Files) and (
            self.events.weight(self._columns) > self.events.most
        )

    def pieces(self) -> Iterator[NumberedRows]:
        """The rows, all at once or piece by piece in the order of time."""
        files = self.events
        if not isinstance(files, Files):
            yield files, None
        elif not self.come_in_pieces:
            yield read_whole(self, files, self._columns).inputs, None
        else:
            read = pieces_as_read if is_sorted(files, self.schema) else pieces_sorted
            yield from read(files, self._columns, self)

    @property
    def _columns(self) -> list[str]:
        assert isinstance(self.events, Files)
        names: list[str] = self.events.schema.names
        return names if self.shows_all else [name for name in names if name in self.named]
