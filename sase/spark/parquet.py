"""Parquet files in the order of time: tasks read slices of them without a shuffle.

The driver finds the row groups of a slice and its halo from the footers. Row groups that overlap in
time are read and sorted together.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urlparse

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import dataset, fs
from pyspark.sql import DataFrame
from pyspark.sql import types as st

from sase.binding import Schema
from sase.cached_property import cached_property
from sase.engine.columns.arrow.data_types import data_type
from sase.engine.sources.formats.parquet import check_footer
from sase.engine.statistics.footers import groups_of, raw_span
from sase.errors import DataError
from sase.planning.engine_plan import EnginePlan
from sase.spark.reading.slice_bounds import TimeMarks
from sase.spark.reading.source import FrameSource, plan_text
from sase.spark.tasks.search import QuerySearch
from sase.spark.tasks.task import Task

# The approximate rows of a slice, and the most rows of overlapping row groups to sort together.
SLICE_ROWS, MOST_SORTED = 1 << 22, 1 << 23
# The number of footers read in parallel, and the most files for which the driver reads footers.
READERS, MOST_FILES = 16, 20_000
# Spark's text for a plan that is only one relation, with any name. The text is not stable, so
# tests/spark/test_parquet.py checks it.
_PARQUET = re.compile(
    r"^== Analyzed Logical Plan ==\n.*\n(?:[ +-]*SubqueryAlias .*\n)*"
    r"[ +-]*Relation .*\] parquet\n\n== Optimized",
    re.MULTILINE,
)
_TIMES = (st.DateType, st.TimestampType, st.TimestampNTZType, st.IntegerType, st.LongType)


@dataclass(frozen=True, slots=True)
class RowGroup:
    """A row group of a file: its rows, and its first and last time."""

    file: int
    number: int
    rows: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class RowGroupRun:
    """Row groups that overlap in time; they are read and sorted together."""

    groups: tuple[RowGroup, ...]
    first: int
    last: int

    @property
    def rows(self) -> int:
        """The number of rows."""
        return sum(group.rows for group in self.groups)


@dataclass(frozen=True, eq=False)
class Parquet:
    """Files with times in their footers; `folders` are the columns from names of folders."""

    uris: tuple[str, ...]
    groups: tuple[RowGroup, ...]
    folders: pa.Schema

    @cached_property
    def runs(self) -> tuple[RowGroupRun, ...]:
        """The row groups that are read together, in the order of time."""
        return tuple(_runs(self.groups))

    @cached_property
    def declined(self) -> str:
        """The reason why slices of time cannot be read from the files; empty if they can."""
        longest = max(self.runs, key=lambda run: run.rows, default=None)
        if longest is None or longest.rows <= MOST_SORTED:
            return ""
        return (
            f"the times of {len(longest.groups):,} row groups with {longest.rows:,} rows overlap:"
            " the files are not in the order of time"
        )

    @cached_property
    def rows(self) -> int:
        """The number of rows."""
        return sum(group.rows for group in self.groups)

    def times(self, cells: int) -> TimeMarks:
        """Marks of equal parts, if the times of each row group are assumed to be evenly spread."""
        if not self.groups:
            return TimeMarks(0)
        edges = sorted({each for group in self.groups for each in (group.first, group.last)})
        known = np.zeros(len(edges))
        for group in self.groups:
            low, high = bisect_left(edges, group.first), bisect_left(edges, group.last)
            if low == high:
                known[low:] += group.rows
                continue
            inside = np.array(edges[low : high + 1], np.float64) - group.first
            known[low : high + 1] += group.rows * inside / (group.last - group.first)
            known[high + 1 :] += group.rows
        ranks = np.arange(1, max(cells, 2)) * self.rows / cells
        first = edges[0]
        away = np.interp(ranks, known, np.array([each - first for each in edges], np.float64))
        marks = tuple(first + int(each) for each in away)
        return TimeMarks(self.rows, first, edges[-1], marks)

    def bounds(self, parts: int) -> tuple[int, ...]:
        """At most `parts - 1` bounds of slices of about equal size, between runs of row groups."""
        found, seen, size = list[int](), 0, self.rows / parts
        for run in self.runs:
            if seen >= size * (len(found) + 1) and run.first > (found or [self.runs[0].first])[-1]:
                found.append(run.first)
            seen += run.rows
        return tuple(found)


# ---------------------------------------------------------------- the files


def parquet_of(source: FrameSource, plan: EnginePlan) -> Parquet | str:
    """The files of unchanged events, or the reason why tasks cannot read them."""
    if source.is_typed:
        return "each type has a DataFrame of its own"
    (frame,) = source.frames
    if not is_parquet(frame.df):
        return "the events are not just Parquet files as they are"
    if not isinstance(frame.kind(plan.schema.time), _TIMES):
        return f"footers do not say the times in `{plan.schema.time}` exactly"
    uris = tuple(frame.df.inputFiles())
    if len(uris) > MOST_FILES:
        return f"{len(uris):,} files are too many for the driver to read their footers"
    try:
        with ThreadPoolExecutor(READERS) as pool:
            footers = list(pool.map(_footer, uris))
        return _found(source, plan.schema, uris, footers)
    except (OSError, pa.ArrowException) as problem:
        return f"pyarrow cannot read the footers: {problem}"


def is_parquet(df: DataFrame) -> bool:
    """Whether a DataFrame is plain Parquet files, without a filter or another operation."""
    return _PARQUET.search(plan_text(df, "extended")) is not None


def _found(
    source: FrameSource, schema: Schema, uris: tuple[str, ...], footers: Sequence[Any]
) -> Parquet | str:
    """The row groups from the footers, or the reason why the footers are not enough."""
    (frame,) = source.frames
    shown = source.arrow_schema(frame)
    inside = footers[0].schema.to_arrow_schema() if footers else shown
    groups = []
    for number, (uri, footer) in enumerate(zip(uris, footers, strict=True)):
        own = footer.schema.to_arrow_schema()
        if set(own.names) != set(inside.names):
            return "the files have not all the same columns"
        for name in own.names:
            if name in shown.names and not _is_alike(own.field(name).type, shown.field(name).type):
                return f"`{name}` has not the type in {uri} that it has in the DataFrame"
        for group in groups_of(footer, [schema.time]):
            measured = group.columns.get(schema.time)
            span = None
            if measured is not None and measured.has_min_max and measured.null_count == 0:
                span = raw_span(measured, schema)
            if span is None:
                return f"the footer of {uri} does not say that every row has a time, and which"
            groups.append(RowGroup(number, group.number, group.rows, *span))
    return Parquet(uris, tuple(groups), pa.schema([f for f in shown if f.name not in inside.names]))


def _is_alike(stored: pa.DataType, shown: pa.DataType) -> bool:
    """Whether a cast of a stored type to the other type keeps the values."""
    if pa.types.is_timestamp(stored) and stored.unit == "ns":
        return False
    return data_type(stored).kind is data_type(shown).kind


def _footer(uri: str) -> Any:
    from pyarrow import parquet

    system, path = opened(uri)
    with system.open_input_file(path) as file:
        check_footer(file)
        file.seek(0)
        return parquet.ParquetFile(file).metadata


def opened(uri: str) -> tuple[Any, str]:
    """The file system of a file and its path there."""
    parsed = urlparse(uri)
    if parsed.scheme in ("", "file"):
        return fs.LocalFileSystem(), unquote(parsed.path)
    found: tuple[Any, str] = fs.FileSystem.from_uri(uri)
    return found


def _runs(groups: Iterable[RowGroup]) -> Iterator[RowGroupRun]:
    """The row groups in the order of time, overlapping ones together."""
    waiting: list[RowGroup] = []
    last = 0
    for group in sorted(groups, key=lambda group: (group.first, group.last)):
        if waiting and group.first >= last:
            yield RowGroupRun(tuple(waiting), waiting[0].first, last)
            waiting = []
        last = max(last, group.last) if waiting else group.last
        waiting.append(group)
    if waiting:
        yield RowGroupRun(tuple(waiting), waiting[0].first, last)


# ---------------------------------------------------------------- tasks


@dataclass(frozen=True)
class FilesTask:
    """Searches slices in files; `schema` has the columns as in the DataFrame."""

    task: Task
    files: Parquet
    schema: pa.Schema

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The results of each slice, or its counters."""
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from self.task.searched(number, self._blocks(number))

    @property
    def _search(self) -> QuerySearch:
        assert isinstance(self.task.search, QuerySearch), "no script reads files in tasks"
        return self.task.search

    def _blocks(self, number: int) -> Iterator[pa.Table]:
        """The rows of a slice and its halo, run by run."""
        slices, runs = self.task.slices, self.files.runs
        assert slices is not None
        low, high = slices.seen(number)
        begin = bisect_left(runs, low, key=lambda run: run.last)
        end = bisect_right(runs, high, key=lambda run: run.first)
        for run in runs[begin:end]:
            rows = self._rows(run, low, high)
            if rows.num_rows:
                yield rows

    def _rows(self, run: RowGroupRun, low: int, high: int) -> pa.Table:
        """The rows of a run between two times, in order."""
        time, within = dataset.field(self._search.plan.schema.time), None
        if run.first < low:
            within = time >= self._scalar(low)
        if run.last > high:
            until = time <= self._scalar(high)
            within = until if within is None else within & until
        of_file: dict[int, list[int]] = {}
        for group in run.groups:
            of_file.setdefault(group.file, []).append(group.number)
        read = [self._read(file, numbers, within) for file, numbers in of_file.items()]
        return self._sorted(pa.concat_tables(read))

    def _scalar(self, time: int) -> pa.Scalar:
        """A raw time as a value of the time column."""
        kind = self.schema.field(self._search.plan.schema.time).type
        width = pa.int32() if pa.types.is_date32(kind) else pa.int64()
        return pa.scalar(time, width).cast(kind)

    def _read(self, file: int, groups: list[int], within: Any) -> pa.Table:
        uri, folders = self.files.uris[file], self.files.folders
        system, path = opened(uri)
        options = dataset.ParquetReadOptions(dictionary_columns=self._dictionaries)
        form = dataset.ParquetFileFormat(read_options=options)
        given = dataset.partitioning(folders, flavor="hive").parse(path) if folders.names else None
        fragment = form.make_fragment(path, system, given, row_groups=groups)
        known = fragment.physical_schema
        for column in folders:
            known = known.append(column)
        try:
            table = fragment.to_table(schema=known, columns=self.schema.names, filter=within)
            return table.cast(self._as_read)
        except (OSError, pa.ArrowException) as problem:
            raise DataError(f"{uri} cannot be read: {problem}") from problem

    @cached_property
    def _dictionaries(self) -> set[str]:
        """The columns of strings that the query names; they are read as dictionaries."""
        names = self._search.plan.named - set(self.files.folders.names)
        return {
            each.name
            for each in self.schema
            if each.name in names and pa.types.is_string(each.type)
        }

    @property
    def _as_read(self) -> pa.Schema:
        """The types of the columns as they are read."""
        texts = self._dictionaries
        fields = [
            each.with_type(pa.dictionary(pa.int32(), each.type)) if each.name in texts else each
            for each in self.schema
        ]
        return pa.schema(fields)

    def _sorted(self, rows: pa.Table) -> pa.Table:
        """The rows in the order of events."""
        names = self._search.order
        if rows.num_rows < 2 or _ascends([rows.column(name).combine_chunks() for name in names]):
            return rows
        return rows.take(pc.sort_indices(rows, [(name, "ascending") for name in names]))


def _ascends(keys: Sequence[pa.Array]) -> bool:
    """Whether rows are in the order of their keys, if a quick test can see it."""
    compare = pc.less if len(keys) > 1 else pc.less_equal
    steps = compare(keys[0].slice(0, len(keys[0]) - 1), keys[0].slice(1))
    return bool(pc.all(steps, min_count=0).as_py())
