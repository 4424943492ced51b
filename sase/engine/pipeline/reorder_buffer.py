"""The reorder buffer brings rows into the order of the stream; late rows are a side output."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sase.binding import Schema
from sase.engine.columns import Events, Inputs
from sase.engine.columns.arrays import Mask, Numbers
from sase.engine.columns.arrow.gather import alike
from sase.engine.columns.arrow.slice import SavedTable, joined, restored, saved, taken, tidied
from sase.engine.snapshots.layout import (
    Array,
    By,
    Count,
    Declared,
    Many,
    Nullable,
    Number,
    Own,
    Row,
    Text,
)
from sase.engine.snapshots.saved_state import Saved

# ---------------------------------------------------------------- late rows

ROW, TYPE = "#row", "#type"
# More parts than this are merged if they are small.
FEW = 8


class _LateBatch(NamedTuple):
    """Late rows as given, the type if its table has one, and the row numbers."""

    table: pa.Table
    type_name: str | None
    rows: NDArray[np.int64]


class LateRows(Declared):
    """Count late rows, and keep them until they are taken."""

    layout = dict(
        count=Count(path="count"),
        parts=Many(
            Row(SavedTable("rows"), Nullable(Text()), Array("rows", low=0), into=_LateBatch)
        ),
    )

    def __init__(self) -> None:
        self.count = 0
        self._parts: list[_LateBatch] = []

    def add(self, inputs: Inputs, rows: NDArray[np.int64], numbers: NDArray[np.int64]) -> None:
        """Add rows of an input, with their numbers in the stream."""
        self.count += len(rows)
        start = 0
        for each in taken(inputs, rows).tables:
            end = start + each.source.num_rows
            if end > start:
                part = _LateBatch(tidied(each.source), each.type_name, numbers[rows[start:end]])
                self._parts.append(part)
            start = end
        while len(self._parts) > FEW and self._unite():
            pass

    def table(self) -> pa.Table:
        """The rows as given; `#row` is the number of each among all rows pushed.

        If each type had its own table in a dict, `#type` has the type. A further `#` is put before
        these names if the rows have a column with that name.
        """
        parts = self._parts
        names = list(dict.fromkeys(name for part in parts for name in part.table.schema.names))
        columns = {_free(ROW, names): pa.chunked_array([part.rows for part in parts], pa.int64())}
        if any(part.type_name is not None for part in parts):
            types = [pa.array([part.type_name] * len(part.rows), pa.string()) for part in parts]
            columns[_free(TYPE, names)] = pa.chunked_array(types)
        for name in names:
            chunks = [chunk for part in parts for chunk in _chunks(part.table, name)]
            columns[name] = pa.chunked_array(alike(chunks))
        return pa.table(columns)

    def clear(self) -> None:
        """Drop the rows, not their count."""
        self._parts = []

    def _unite(self) -> bool:
        """Merge the last two parts if their columns agree and the first is not much larger."""
        one, two = self._parts[-2:]
        is_like = one.type_name == two.type_name and one.table.schema.equals(two.table.schema)
        if not is_like or len(one.rows) > 2 * len(two.rows):
            return False
        table = tidied(pa.concat_tables([one.table, two.table]))
        self._parts[-2:] = [_LateBatch(table, one.type_name, np.append(one.rows, two.rows))]
        return len(self._parts) > 1


def _free(name: str, taken_names: list[str]) -> str:
    while name in taken_names:
        name = f"#{name}"
    return name


def _chunks(table: pa.Table, name: str) -> Iterator[pa.Array]:
    index = table.schema.get_field_index(name)
    yield from table.column(index).chunks if index >= 0 else [pa.nulls(table.num_rows)]


# ---------------------------------------------------------------- reorder buffer

# A row is late if its time is below the greatest time of all rows before it, less the allowed
# lateness, or below a time to which the stream was advanced. This bound is the `floor`. Late rows
# are set aside, and the others wait until nothing can come before them any more:
#
#     lateness 3          arrives   5  6  3  9  2  7        floor   2  3  3  6  6  6
#                         released           3  5,6   7 waits with 9;  2 is late
#
# Without a stated lateness nothing waits: a row that is not late is released at once. Then the
# sequence numbers count like time: a row is also late if it has the time of an earlier row and a
# lesser number. With a lateness, even 0, rows at the floor wait for each other, since a lesser
# number may still come. Of imprecise time only the earliest time makes a row late, so rows at the
# floor always wait: a row with a lesser latest time may still come, and precedes them.

LEAST = -(2**63)
NONE_LATE = np.zeros(0, np.bool_)
# More pieces than this are merged if they are small.
MOST_PIECES = 32


class Arrived(NamedTuple):
    """Events that follow all before: the row number of the first, or of each."""

    inputs: Inputs
    events: Events
    first: int = 0
    rows: Numbers | None = None


class ReorderBuffer(Declared):
    """Set late rows aside, and hold the others back as long as they have to wait.

    `load` makes events of an input with good values only.
    """

    layout = dict(
        arrived=Count(path="arrived"),
        floor=Number(path="floor"),
        greatest=Row(Number(), Number()),
        waiting=By("_restored", path=None),
        late=Own(path="late"),
    )

    def __init__(
        self, lateness: int | None, schema: Schema, load: Callable[[Inputs], Events]
    ) -> None:
        self._lateness, self._seq, self._load = lateness or 0, schema.seq_column, load
        # Whether a column or the latest time orders rows of one time.
        self._has_ranks = self._seq is not None or schema.is_imprecise
        is_stated = lateness is not None or schema.is_imprecise
        self._holds = bool(lateness) or (is_stated and self._has_ranks)
        self.arrived = 0
        # Rows before this time are late; if no rows wait, also those before this order key.
        self.floor = LEAST
        self._greatest = (LEAST, LEAST)
        self._waiting: list[_SortedBatch] = []
        self.late = LateRows()

    def push(
        self, inputs: Inputs, events: Events, arrived: int, rows: Numbers | None = None
    ) -> list[Arrived]:
        """Add rows, and release the rows of the buffer that need not wait.

        Some of the `arrived` rows may have been bad: then `rows` are the numbers of the good ones.
        """
        first, count = self.arrived, len(events.ts)
        late = self._late(events) if count and self._may_be_late(events) else NONE_LATE
        any_late = late is not NONE_LATE and late.any()
        if self._holds or any_late:
            inputs = inputs.proved()  # coerce and copy all columns, before any row is taken
        self.arrived += arrived
        if not count:
            return [Arrived(inputs, events, first)]
        if any_late:
            numbers = np.arange(first, first + count) if rows is None else rows
            self.late.add(inputs, np.flatnonzero(late), numbers)
            kept = np.flatnonzero(~late)
            inputs, rows = taken(inputs, kept), numbers[kept]
            events = self._load(inputs)
            if not len(events):
                return []
        last = self._key(events, -1)
        if last > self._greatest:
            self._greatest = last
            self.floor = max(self.floor, last[0] - self._lateness, LEAST)
        if not self._holds:
            return [Arrived(inputs, events, first, rows)]
        self._wait(inputs, events, np.arange(first, first + count) if rows is None else rows)
        return list(self._released())

    def passed(self, arrived: int, last: int) -> None:
        """Count rows that bypassed the buffer, up to a time that is greater than all before."""
        self.arrived += arrived
        self.floor, self._greatest = last, (last, LEAST)

    def advance(self, to: int) -> list[Arrived]:
        """Release the rows that wait for a time; no row before it will come."""
        self.floor = max(self.floor, to)
        return list(self._released())

    def finish(self) -> list[Arrived]:
        """Release all waiting rows."""
        return list(self._released(everything=True))

    @property
    def latest(self) -> int | None:
        """The greatest time so far."""
        return None if self._greatest[0] == LEAST else self._greatest[0]

    def due(self) -> int | None:
        """The next timer: the time for which the first row waits."""
        first = min((each.first for each in self._waiting), default=None)
        return first if first is None or not self._has_ranks else first + 1

    # ------------------------------------------------------------ late rows

    @property
    def _lowest(self) -> int:
        """The least sequence number that a row at the floor may have."""
        is_exact = not self._holds and self._greatest[0] == self.floor
        return self._greatest[1] if is_exact else LEAST

    def _may_be_late(self, events: Events) -> bool:
        """Whether a row is earlier than a row before it."""
        return events.order is not None or self._key(events, 0) < (self.floor, self._lowest)

    def _key(self, events: Events, place: int) -> tuple[int, int]:
        """The order key of an event; without sequence numbers the least number replaces them."""
        time = int(events.ts[place])
        return (time, LEAST if self._seq is None else int(_seq(events, self._seq)[place]))

    def _late(self, events: Events) -> Mask:
        """Mask the late rows, by the rows before each."""
        ts = _as_given(events.ts, events.order)
        greatest = np.maximum.accumulate(np.append(LEAST, ts[:-1]))
        floor = np.where(greatest < LEAST + self._lateness, LEAST, greatest - self._lateness)
        late: Mask = ts < np.maximum(floor, self.floor)
        if self._seq is not None and not self._holds:
            ranks = np.arange(len(ts)) if events.tie is None else events.tie
            ranks = _as_given(ranks, events.order)
            late |= ranks < np.maximum.accumulate(np.append(0, ranks[:-1]))
            seq = _as_given(_seq(events, self._seq), events.order)
            late |= (ts == self.floor) & (seq < self._lowest)
        return late

    # ------------------------------------------------------------ waiting rows

    def _wait(self, inputs: Inputs, events: Events, rows: Numbers) -> None:
        ranks = events.until if self._seq is None else _seq(events, self._seq)
        ranks = None if ranks is None else _as_given(ranks, events.order)
        order = np.arange(len(rows)) if events.order is None else events.order
        self._waiting.append(_SortedBatch(inputs, rows, ranks, events.ts, order))
        if len(self._waiting) > MOST_PIECES:
            self._unite()

    def _unite(self) -> None:
        """Merge some of the last pieces, so that each piece is much larger than those after it."""
        begin, size = len(self._waiting) - 1, len(self._waiting[-1])
        while begin > 0:
            before = self._waiting[begin - 1]
            if len(before) > 2 * size or not before.is_like(self._waiting[begin]):
                break
            begin, size = begin - 1, size + len(before)
        if begin < len(self._waiting) - 1:
            self._waiting[begin:] = [_united(self._waiting[begin:])]

    def _released(self, *, everything: bool = False) -> Iterator[Arrived]:
        """Release the rows before the floor, in as few inputs as possible."""
        if not self._waiting:
            return
        # A lesser rank than those at the floor may still come.
        side = "left" if self._has_ranks else "right"
        parts: list[tuple[_SortedBatch, Numbers]] = []
        for piece in self._waiting:
            if everything or piece.first <= self.floor:
                rows = piece.released(None if everything else self.floor, side)
                if len(rows):
                    parts.append((piece, rows))
        if not parts:
            return
        self._waiting = [
            piece.trimmed() if piece.start > len(piece) else piece
            for piece in self._waiting
            if len(piece)
        ]
        for run in _runs(parts):
            inputs = joined([taken(piece.inputs, np.sort(rows)) for piece, rows in run])
            numbers = np.concatenate([piece.rows[np.sort(rows)] for piece, rows in run])
            yield Arrived(inputs, self._load(inputs), rows=numbers)

    # ------------------------------------------------------------ the state

    def _encoded(self) -> dict[str, Any]:
        if self._waiting:  # few pieces, as each names its columns
            self._unite()
        waiting = [piece.trimmed() for piece in self._waiting]
        return {"waiting": [{"inputs": saved(each.inputs), "rows": each.rows} for each in waiting]}

    def _restored(self, saved: Saved) -> None:
        """Restore the waiting rows of a state."""
        waiting = saved.parts()
        saved.check(self._holds or not waiting, "rows wait, and the plan has none wait")
        every = [part.part("rows").array(None, low=0) for part in waiting]
        ordered = np.sort(np.concatenate([np.zeros(0, np.int64), *every]))
        saved.check(bool((np.diff(ordered) > 0).all()), "a row waits twice")
        for part, rows in zip(waiting, every, strict=True):
            inputs = restored(part.part("inputs"))
            events = self._load(inputs)
            is_each = inputs.num_rows == len(events) == len(rows) > 0
            part.check(is_each, "there is not an event for each row")
            self._wait(inputs, events, rows)


@dataclass(eq=False)
class _SortedBatch:
    """Rows that arrived together.

    `times` and `order` are in the order of time, and entries before `start` were released. The
    other arrays are by row of the inputs. Rows of one time are ordered on release by their `ranks`:
    sequence numbers or latest times.
    """

    inputs: Inputs
    rows: Numbers
    ranks: Numbers | None
    times: Numbers
    order: Numbers
    start: int = 0

    def __len__(self) -> int:
        return len(self.order) - self.start

    def is_like(self, other: _SortedBatch) -> bool:
        """Whether the rows of both fit in one table."""
        if self is other or self.inputs.typed or other.inputs.typed:
            return self is other
        return self.inputs.columns == other.inputs.columns

    @property
    def first(self) -> int:
        """The time of the first waiting row."""
        return int(self.times[self.start])

    def released(self, floor: int | None, side: Any) -> Numbers:
        """Release the rows up to a time."""
        begin, end = self.start, len(self.order)
        if floor is not None:
            end = int(np.searchsorted(self.times, floor, side=side))
        self.start = max(begin, end)
        return self.order[begin : self.start]

    def trimmed(self) -> _SortedBatch:
        """Drop the released rows."""
        if not self.start:
            return self
        left = self.order[self.start :]
        kept = np.sort(left)
        return _SortedBatch(
            taken(self.inputs, kept),
            self.rows[kept],
            None if self.ranks is None else self.ranks[kept],
            self.times[self.start :],
            np.searchsorted(kept, left),
        )


def _united(pieces: Sequence[_SortedBatch]) -> _SortedBatch:
    """The rows of several pieces in the order in which they arrived."""
    pieces = [each.trimmed() for each in pieces]
    begins = accumulate(map(len, pieces[:-1]), initial=0)
    times = np.concatenate([each.times for each in pieces])
    order = np.concatenate([each.order + at for each, at in zip(pieces, begins, strict=True)])
    ranks = [each.ranks for each in pieces if each.ranks is not None]
    ordered = np.argsort(times, kind="stable")
    return _SortedBatch(
        joined([each.inputs for each in pieces], tidy=True),
        np.concatenate([each.rows for each in pieces]),
        np.concatenate(ranks) if len(ranks) == len(pieces) else None,
        times[ordered],
        order[ordered],
    )


def _runs(
    parts: list[tuple[_SortedBatch, Numbers]],
) -> Iterator[list[tuple[_SortedBatch, Numbers]]]:
    """The released rows in stream order, cut where the columns of the inputs change."""
    if not parts or all(piece.is_like(parts[0][0]) for piece, _ in parts):
        yield from [parts] if parts else []
        return
    kinds = [
        next(n for n, (other, _) in enumerate(parts) if piece.is_like(other)) for piece, _ in parts
    ]
    every = [
        (piece.times[piece.start - len(rows) : piece.start], piece.rows[rows], number)
        for number, (piece, rows) in enumerate(parts)
    ]
    ranks = [rows if piece.ranks is None else piece.ranks[rows] for piece, rows in parts]
    of_part = np.concatenate([np.full(len(rows), number) for _, rows, number in every])
    local = np.concatenate([rows for _, rows in parts])
    keys = [np.concatenate([rows for _, rows, _ in every])]
    if parts[0][0].ranks is not None:
        keys.append(np.concatenate(ranks))
    keys.append(np.concatenate([times for times, _, _ in every]))
    order = np.lexsort(keys)
    changes = np.flatnonzero(np.diff(np.array(kinds)[of_part[order]])) + 1
    for run in np.split(order, changes):
        chosen = [(piece, local[run[of_part[run] == n]]) for n, (piece, _) in enumerate(parts)]
        yield [(piece, rows) for piece, rows in chosen if len(rows)]


def _seq(events: Events, name: str) -> Numbers:
    return events.columns[name].values


def _as_given(values: Numbers, order: Numbers | None) -> Numbers:
    """Convert values from stream order to the rows of the input."""
    if order is None:
        return values
    found = np.empty_like(values)
    found[order] = values
    return found
