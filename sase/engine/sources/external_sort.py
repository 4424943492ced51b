"""Sort files larger than memory into stream order: merge sorted runs on disk."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.ipc

from sase.binding import Schema
from sase.binding.types import INTEGER
from sase.engine.columns.arrays import Numbers
from sase.engine.columns.arrow.gather import unifiable
from sase.engine.columns.arrow.input import opened
from sase.engine.columns.decode.numbers import number_column
from sase.engine.columns.decode.projection import project
from sase.engine.columns.decode.time_column import read_times, time_type
from sase.engine.columns.order import stream_order
from sase.engine.sources.dataset import Files
from sase.errors import DataError, MemoryLimitError
from sase.planning.engine_plan import Reads

TIME, SEQUENCE, ROW = "\0ts", "\0seq", "\0row"
KEYS = (TIME, SEQUENCE, ROW)
# The fractions of the memory limit for a sorted run, and for the part of a run read at a time; the
# fewest and most rows of such a part.
SHARE, PART, FEWEST, ROWS = 8, 16, 1 << 12, 1 << 16
# The memory of a small sort with libraries and kernels; the copies of a batch held at a time,
# including Python's own memory.
LOADED, HELD = 180_000_000, 8


def is_sorted(files: Files, schema: Schema) -> bool:
    """Whether the rows of files are in the order of time and sequence number."""
    last: tuple[int, int] | None = None
    names = [name for name in (schema.time, schema.seq_column) if name is not None]
    for _, table in files.batches(names, size=ROWS):
        ts, seq = _keys(table, schema)
        if stream_order(ts, seq).rows is not None:
            return False
        first = int(ts[0]), 0 if seq is None else int(seq[0])
        if last is not None and first < last:
            return False
        last = int(ts[-1]), 0 if seq is None else int(seq[-1])
    return True


def in_order(
    files: Files,
    names: list[str],
    plan: Reads,
    *,
    piece: int | None = None,
    rows: int | None = None,
) -> Iterator[tuple[pa.Table, Numbers]]:
    """Yield the rows of files in stream order, in tables of some thousand, with row numbers."""
    most = files.most // SHARE if piece is None else piece
    with tempfile.TemporaryDirectory(prefix="sase-sort-") as folder:
        paths = [
            _written(part, Path(folder) / f"{number}.arrow", rows)
            for number, part in enumerate(_runs(files, names, plan, most))
        ]
        yield from _merged([_SortedRun(path) for path in paths])


@contextmanager
def naming_least(files: Files, names: list[str]) -> Iterator[None]:
    """Add to a memory error of a sort on disk how much memory it needs."""
    try:
        yield
    except MemoryLimitError as problem:
        raise MemoryLimitError(
            f"{problem}; the rows of the files are not in the order of time, and to sort them on"
            f" disk takes about {least_memory(files, names):,} bytes: write them in order, or allow"
            " as much"
        ) from problem


def least_memory(files: Files, names: list[str]) -> int:
    """Estimate the bytes by which a process grows to sort columns of files on disk.

    One batch at a time is read, sorted and written; a part of each written run is merged.
    """
    size = files.weight(names)
    rows = files.rows()
    width = 2 * 8 * len(names) if rows is None else size // max(rows, 1)
    batch = ROWS * (width + 8 * len(KEYS))
    return LOADED + HELD * batch + size // HELD


class _Unsorted(NamedTuple):
    """A table of limited size with its keys, and the order of its rows."""

    table: pa.Table
    order: Numbers | None

    def sorted(self, size: int) -> Iterator[pa.Table]:
        """Yield the rows in order, some at a time, since a step cannot be interrupted."""
        for begin in range(0, self.table.num_rows, size):
            if self.order is None:
                yield self.table.slice(begin, size)
            else:
                yield self.table.take(pa.array(self.order[begin : begin + size]))


def _runs(files: Files, names: list[str], plan: Reads, most: int) -> Iterator[_Unsorted]:
    """Yield tables of limited size to be sorted."""
    parts: list[pa.Table] = []
    begin = 0
    for _, table in files.batches(names, plan.named, size=ROWS):
        parts.append(table)
        if sum(part.nbytes for part in parts) >= most:
            yield _with_order(_joined(parts), begin, plan.schema)
            begin += sum(part.num_rows for part in parts)
            parts = []
    if parts:
        yield _with_order(_joined(parts), begin, plan.schema)


def _joined(parts: list[pa.Table]) -> pa.Table:
    """Concatenate tables, with dictionaries that Arrow can unify."""
    whole = pa.concat_tables(parts)
    columns = [pa.chunked_array(unifiable(each.chunks), each.type) for each in whole.columns]
    return pa.Table.from_arrays(columns, schema=whole.schema)


def _with_order(table: pa.Table, begin: int, schema: Schema) -> _Unsorted:
    ts, seq = _keys(table, schema)
    order = stream_order(ts, seq).rows
    rows = np.arange(begin, begin + len(ts))
    keys = {TIME: ts, SEQUENCE: np.zeros(len(ts), np.int64) if seq is None else seq, ROW: rows}
    for name, values in keys.items():
        table = table.append_column(name, pa.array(values))
    return _Unsorted(table.unify_dictionaries().combine_chunks(), order)


def _keys(table: pa.Table, schema: Schema) -> tuple[Numbers, Numbers | None]:
    """Return the order keys. Bad rows get any place; the matcher reports them."""
    inputs = opened(table)
    seq = schema.seq_column
    named = [name for name in (schema.time, seq) if name is not None]
    reading = project(inputs, [{name: table.schema.get_field_index(name) for name in named}])
    ts = read_times(reading, schema.time, time_type(inputs, schema.time))
    if seq is None:
        return ts, None
    column = number_column(seq, reading.column(seq), INTEGER, reading.faults)
    return ts, column.values


def _written(part: _Unsorted, path: Path, rows: int | None) -> Path:
    if rows is None:
        rows = min(max(part.table.num_rows // PART, FEWEST), ROWS)
    try:
        with pa.ipc.new_file(path, part.table.schema) as writer:
            for table in part.sorted(rows):
                writer.write_table(table.combine_chunks())
    except OSError as problem:
        raise DataError(
            f"events that are sorted on disk cannot be written to {path.parent}: {problem}: TMPDIR"
            " names another place"
        ) from problem
    return path


class _SortKey(NamedTuple):
    ts: int
    sequence: int
    row: int


class _SortedRun:
    """A sorted run on disk with one batch in memory."""

    def __init__(self, path: Path) -> None:
        # A memory-mapped file would count all pages read as the process's memory.
        self._file = pa.ipc.open_file(pa.OSFile(str(path)))
        self._next = 0
        self.table: pa.Table | None = None
        self.advance()

    def advance(self) -> None:
        """Read the next batch; `table` is None after the last."""
        self.table = None
        if self._next < self._file.num_record_batches:
            self.table = pa.Table.from_batches([self._file.get_batch(self._next)])
            self._next += 1
            self._keys = [self.table.column(name).to_numpy() for name in KEYS]

    @property
    def last(self) -> _SortKey:
        """The key of the last row in memory."""
        return _SortKey(*(int(key[-1]) for key in self._keys))

    def up_to(self, bound: _SortKey) -> pa.Table:
        """Take the rows in memory up to a key."""
        assert self.table is not None
        begin, end = 0, self.table.num_rows
        for values, limit in zip(self._keys, bound, strict=True):
            within = values[begin:end]
            begin, end = (
                begin + int(np.searchsorted(within, limit, "left")),
                begin + int(np.searchsorted(within, limit, "right")),
            )
        taken = self.table.slice(0, end)
        self.table = self.table.slice(end)
        self._keys = [key[end:] for key in self._keys]
        return taken


def _merged(runs: list[_SortedRun]) -> Iterator[tuple[pa.Table, Numbers]]:
    """Merge rows up to the least of the runs' last keys: rows on disk are greater."""
    while runs:
        bound = min(run.last for run in runs)
        parts = [run.up_to(bound) for run in runs]
        for run in runs:
            assert run.table is not None
            if not run.table.num_rows:
                run.advance()
        runs = [run for run in runs if run.table is not None]
        yield _in_order(parts)


def _in_order(parts: Iterable[pa.Table]) -> tuple[pa.Table, Numbers]:
    whole = pa.concat_tables([part for part in parts if part.num_rows])
    keys = [whole.column(name).to_numpy() for name in KEYS]
    order = np.lexsort(keys[::-1])
    return whole.drop_columns(list(KEYS)).take(pa.array(order)), keys[-1][order]
