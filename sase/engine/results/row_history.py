"""The input rows by stream position, from which results are made."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sase.cached_property import cached_property
from sase.engine.columns import Events, Inputs
from sase.engine.columns.arrays import Mask, Numbers
from sase.engine.columns.arrow.data_types import value_type
from sase.engine.columns.arrow.gather import alike, shown, takeable
from sase.engine.columns.arrow.slice import restored as inputs_restored
from sase.engine.columns.arrow.slice import saved as inputs_saved
from sase.engine.columns.arrow.slice import taken, united
from sase.engine.columns.decode.batch_decoder import UnreadBatch
from sase.engine.kernels.sentinels import NOTHING
from sase.engine.snapshots.saved_state import Saved

# From MANY segments on, runs of RUN segments are merged, up to MOST rows.
MANY, RUN, MOST = 128, 32, 1 << 20


class HistorySegment:
    """Events that arrived together, from a stream position on, and their tables.

    `read` returns both on demand, `none` only their columns, and `events` are at hand if they are
    not None. `rows` are input row numbers, if they
    differ from positions. Bad rows of the tables are not events. `level` counts merges; None
    forbids them.
    """

    def __init__(
        self,
        begin: int,
        count: int,
        read: Callable[[], tuple[Inputs, Events]],
        rows: Numbers | None = None,
        level: int | None = 0,
        none: Callable[[], tuple[Inputs, Events]] | None = None,
        events: Events | None = None,
    ) -> None:
        self.begin, self.end, self._none, self._events = begin, begin + count, none, events
        self.read, self.rows, self.level = read, rows, level

    @classmethod
    def of(
        cls,
        begin: int,
        inputs: Inputs,
        events: Events,
        rows: Numbers | None = None,
        level: int | None = 0,
    ) -> HistorySegment:
        """A segment in memory."""
        return cls(begin, len(events), lambda: (inputs, events), rows, level)

    def __len__(self) -> int:
        return self.end - self.begin

    @property
    def inputs(self) -> Inputs:
        """The tables."""
        return self._both[0]

    @property
    def events(self) -> Events:
        """The events."""
        return self._both[1] if self._events is None else self._events

    @cached_property
    def _both(self) -> tuple[Inputs, Events]:
        return self.read()

    @property
    def is_in_order(self) -> bool:
        """Whether the rows of the tables are in the order of events."""
        return isinstance(self.read, UnreadBatch) or self.events.order is None

    @property
    def schema(self) -> pa.Schema | None:
        """The columns of the table, if its rows are exactly the events; else None."""
        if isinstance(self.read, UnreadBatch):
            return self.read.batch.schema
        first, *others = self.inputs.tables
        is_whole = not others and first.type_name is None and first.source.num_rows == len(self)
        return first.source.schema if is_whole else None

    @property
    def is_plain(self) -> bool:
        """Whether it is one table without further data, and may be merged."""
        if self.level is None or isinstance(self.read, UnreadBatch):
            return self.level is not None
        first, *others = self.inputs.tables
        beside = first.type_name, first.unreadable, first.rows, first.misfits, first.texts
        return not (others or any(beside))

    def proved(self, name: str) -> Inputs:
        """The tables with a proved column; the proof is kept."""
        inputs, events = self._both
        if any(table.unproved for table in inputs.tables):
            self._both = inputs.proved([name]), events
        return self.inputs

    def sealed(self) -> HistorySegment:
        """The segment, excluded from merging."""
        return HistorySegment(self.begin, len(self), lambda: self._both, self.rows, None)

    def emptied(self) -> HistorySegment:
        """An empty segment after this one."""
        if self._none is not None:
            inputs, events = self._none()
            return HistorySegment.of(self.end, inputs, events)
        return HistorySegment.of(self.end, self.inputs.emptied(), self.events.between(0, 0))


class RowHistory:
    """Segments in stream order; results keep those that they use."""

    def __init__(self, pieces: tuple[HistorySegment, ...] = ()) -> None:
        self.pieces = pieces
        self._columns: dict[object, list[pa.Array]] = {}

    def with_piece(self, piece: HistorySegment) -> RowHistory:
        """Append a segment."""
        pieces = (*self.pieces, piece)
        return RowHistory(pieces if len(pieces) <= MANY else _compacted(pieces))

    def since(self, position: int) -> RowHistory:
        """Drop the segments that end before a position; an empty one keeps the columns."""
        if not self.pieces or self.pieces[0].end > position:
            return self
        left = [piece for piece in self.pieces if piece.end > position]
        return RowHistory(tuple(left) or (self.pieces[-1].emptied(),))

    def showing(self, positions: Numbers) -> RowHistory:
        """Only the segments with events at some positions, if all have the same columns.

        To a reader, each column of each segment costs as much as many rows.
        """
        schema = self.pieces[0].schema if len(self.pieces) > 1 else None
        if schema is None or not all(schema.equals(piece.schema) for piece in self.pieces[1:]):
            return self
        used = [self.pieces[number] for number in np.unique(self._numbers(positions)).tolist()]
        return RowHistory(tuple(used) or self.pieces[-1:])

    def checkpoint(self, oldest: int) -> list[dict[str, Any]]:
        """The rows from a position on that results may still need, in few segments."""
        found: list[HistorySegment] = []
        for is_plain, some in groupby(self.since(oldest).pieces, lambda each: each.is_plain):
            run = tuple(some)
            found += _merged(run, 0) if is_plain and len(run) > 1 else run
        return [_saved(piece, max(oldest, piece.begin)) for piece in found]

    def rows(self, positions: Numbers) -> Numbers:
        """The input rows of events by position."""
        places = self.places(positions)
        if all(piece.rows is None for piece in self.pieces):
            return places
        found = places.copy()
        for piece, at in self._shared(positions):
            if piece.rows is not None:
                found[at] = piece.rows[places[at] - piece.begin]
        return found

    def places(self, positions: Numbers) -> Numbers:
        """The places of events in the concatenated tables, by position; for `column`."""
        if all(piece.is_in_order for piece in self.pieces):
            return positions
        found = np.empty(len(positions), np.int64)
        for piece, at in self._shared(positions):
            order = piece.events.order
            local = positions[at] - piece.begin
            found[at] = piece.begin + (local if order is None else order[local])
        return found

    def times(self, positions: Numbers) -> Numbers:
        """The times of events by position; with imprecise time the earliest."""
        return self._gathered(positions, lambda events: events.ts)

    def latest(self, positions: Numbers) -> Numbers:
        """The latest times of events by position, with imprecise time."""
        return self._gathered(positions, _until)

    def _gathered(self, positions: Numbers, of: Callable[[Events], Numbers]) -> Numbers:
        if len(self.pieces) == 1:
            return of(self.pieces[0].events)[positions - self.pieces[0].begin]
        found = np.empty(len(positions), np.int64)
        for piece, at in self._shared(positions):
            found[at] = of(piece.events)[positions[at] - piece.begin]
        return found

    def is_type(
        self, positions: Numbers, wanted: frozenset[str], others: Collection[str] | None = None
    ) -> NDArray[np.bool_]:
        """Whether the type of each event is among `wanted`, or not among `others` if given."""
        found = np.zeros(len(positions), np.bool_)
        for piece, at in self._shared(positions):
            events = piece.events
            names = events.type_names
            is_wanted = [n in wanted or (others is not None and n not in others) for n in names]
            among = np.array([*is_wanted, False])
            found[at] = among[events.types[positions[at] - piece.begin]]
        return found

    def judged(
        self,
        positions: Numbers,
        of: Callable[[Events, Numbers], Mask],
        load: Callable[[Inputs], Events],
    ) -> Mask:
        """Evaluate a predicate on events by ascending position, segment by segment.

        Events of merged segments have no decoded columns, and are loaded again.
        """
        found = np.zeros(len(positions), np.bool_)
        for piece, at in self._shared(positions):
            events, places = piece.events, positions[at] - piece.begin
            if not (events.columns or events.by_type):
                rows = places if events.order is None else events.order[places]
                events, places = load(taken(piece.inputs, rows)), np.arange(len(rows))
            found[at] = of(events, places)
        return found

    def types(self, positions: Numbers) -> tuple[Numbers, tuple[str, ...]]:
        """The type of each event as an index into names, and the names."""
        names, found = dict[str, int](), np.empty(len(positions), np.int64)
        for piece, at in self._shared(positions):
            events = piece.events
            known = [names.setdefault(each, len(names)) for each in events.type_names]
            codes = np.array([*known, NOTHING])
            found[at] = codes[events.types[positions[at] - piece.begin]]
        return found, tuple(names)

    def column(self, name: str, places: Numbers, types: Collection[str] | None) -> pa.ChunkedArray:
        """A column at some places; NULL in tables of other types, or without it."""
        return shown(self._chunks(name, types), self._without_gaps(places), name)

    def _without_gaps(self, places: Numbers) -> Numbers:
        """Places without the gaps between segments."""
        if len(self.pieces) < 2:
            return places - (self.pieces[0].begin if self.pieces else 0)
        left: Numbers = self._begins - np.cumsum([0, *map(len, self.pieces[:-1])])
        within: Numbers = places - left[self._numbers(places)]
        return within

    def _chunks(self, name: str, types: Collection[str] | None) -> list[pa.Array]:
        is_typed = any(piece.inputs.typed for piece in self.pieces)
        key = name, frozenset(types) if is_typed and types is not None else None
        if key not in self._columns:
            inputs = [piece.proved(name) for piece in self.pieces]
            found = [chunk for each in inputs for chunk in _chunks(each, name, types)]
            self._columns[key] = alike(found) or [pa.nulls(0)]
        return self._columns[key]

    def type_of(self, name: str, types: Collection[str] | None) -> pa.DataType | None:
        """The type of the values of a column where it first occurs."""
        for piece in self.pieces:
            for table in piece.inputs.tables:
                found = table.arrow_type(name)
                if found is not None and (types is None or table.type_name in (None, *types)):
                    return value_type(found)
        return None

    def names(self, types: Collection[str] | None) -> list[str]:
        """The names of all columns, in the order of the tables."""
        return list(
            dict.fromkeys(
                name
                for piece in self.pieces
                for table in piece.inputs.tables
                if types is None or table.type_name in (None, *types)
                for name in table.source.schema.names
            )
        )

    def _shared(self, positions: Numbers) -> list[tuple[HistorySegment, Numbers]]:
        """The segments with some of the positions, and the places of these."""
        which = self._numbers(positions)
        return [(self.pieces[n], np.flatnonzero(which == n)) for n in np.unique(which).tolist()]

    @cached_property
    def _begins(self) -> Numbers:
        return np.array([piece.begin for piece in self.pieces])

    def _numbers(self, positions: Numbers) -> Numbers:
        """The numbers of the segments at some positions."""
        return np.searchsorted(self._begins, positions, "right") - 1


# ---------------------------------------------------------------- small pieces


def _compacted(pieces: tuple[HistorySegment, ...]) -> tuple[HistorySegment, ...]:
    """Merge a run of small segments of one level, if possible.

    So a push does not take time in proportion to the number of segments; each row is copied only a
    few times.
    """
    begin = 0
    for level, some in groupby(pieces, key=lambda piece: piece.level):
        same = tuple(some)
        if level is not None and len(same) >= RUN:
            return (*pieces[:begin], *_merged(same[:RUN], level + 1), *pieces[begin + RUN :])
        begin += len(same)
    return pieces


def _merged(run: tuple[HistorySegment, ...], level: int) -> list[HistorySegment]:
    """Merge segments, or seal them if that is impossible."""
    begin, count = run[0].begin, sum(len(piece) for piece in run)
    unread = UnreadBatch.joined([piece.read for piece in run]) if count <= MOST else None
    if unread is not None:
        return [HistorySegment(begin, count, unread, level=level)]
    whole = united([piece.inputs for piece in run]) if count <= MOST else None
    if whole is None or whole.num_rows != count:
        return [piece.sealed() for piece in run]
    rows = order = None
    if any(piece.rows is not None for piece in run):
        rows = np.concatenate([_numbers(piece, piece.rows, piece.begin) for piece in run])
    if any(piece.events.order is not None for piece in run):
        order = np.concatenate([
            _numbers(piece, piece.events.order, 0) + (piece.begin - begin) for piece in run
        ])  # fmt: skip
    events = Events.joined([piece.events for piece in run], order)
    return [HistorySegment.of(begin, whole, events, rows, level)]


def _until(events: Events) -> Numbers:
    assert events.until is not None, "the time of these events is precise"
    return events.until


def _numbers(piece: HistorySegment, given: Numbers | None, first: int) -> Numbers:
    """The given numbers of a segment, or those from the first on."""
    return np.arange(first, first + len(piece)) if given is None else given


def restored(saved: Saved, oldest: int, load: Callable[[Inputs], Events]) -> RowHistory:
    """Restore a history from the oldest needed event on; `load` makes events of good inputs."""
    pieces: list[HistorySegment] = []
    end = saved.live.positions
    for part in saved.parts():
        inputs = inputs_restored(part.part("inputs"))
        events, rows = load(inputs), part.part("rows")
        part.check(inputs.num_rows == len(events), "there is not an event for each row")
        numbers = None if rows.is_none else rows.array(len(events), low=0)
        begin = part.part("begin").number(0, end)
        is_next = not pieces or saved.live.is_done or begin == pieces[-1].end
        part.check(is_next, "rows are missing before these")
        pieces.append(HistorySegment.of(begin, inputs, events, numbers))
    if not saved.live.is_done:  # otherwise results need no rows
        last = pieces[-1].end if pieces else oldest
        saved.check(last == end, "rows are missing at the end")
        saved.check(not pieces or pieces[0].begin <= oldest, "rows are missing at the beginning")
    return RowHistory(tuple(pieces))


def _saved(piece: HistorySegment, begin: int) -> dict[str, Any]:
    """A segment from a position on, so that its rows load in the order of events."""
    order = piece.events.order
    left = np.arange(len(piece)) if order is None else order
    kept = np.sort(left[begin - piece.begin :])
    rows = kept + piece.begin if piece.rows is None else piece.rows[kept]
    is_counted = order is None and piece.rows is None
    return {
        "begin": begin,
        "inputs": inputs_saved(taken(piece.inputs, kept)),
        "rows": None if is_counted else rows,
    }


def _chunks(inputs: Inputs, name: str, types: Collection[str] | None) -> Iterator[pa.Array]:
    for table in inputs.tables:
        index = table.index(name)
        if index is None or (types is not None and table.type_name not in (None, *types)):
            yield pa.nulls(table.source.num_rows)
            continue
        _, read = table.read({name: index})
        yield from map(takeable, read[name] or [pa.nulls(0, table.arrow_type(name))])
