"""Files as one table: its columns are known before any row is read."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import pyarrow as pa

from sase.engine.columns.data_types import value_type
from sase.engine.columns.origin import FilePart
from sase.engine.sources.errors import fault_of
from sase.engine.sources.formats.base import TEXTS
from sase.engine.sources.formats.parquet import PruningPredicate, kept_groups
from sase.engine.sources.schema import described, given_by_folders, json_tables
from sase.engine.sources.timestamps import with_moments
from sase.errors import DataError, SchemaError

# Rows of a batch when files are read piece by piece.
BATCH = 1 << 18
# The bytes of columns that are read as a whole; what is larger goes through in pieces.
MOST_HELD = 1 << 30


@dataclass(eq=False)
class Files:
    """Files of one format and what is known of their columns.

    `schema` has the columns that folders give, such as `day=1/`, behind those of the files. The
    text of `moments` can be parsed: it is where a query names the column, and otherwise left.
    Columns in `conflicts` differ between the files by more than a query could bear that names them.
    """

    paths: tuple[str, ...]
    format: str
    schema: pa.Schema
    dataset: Any
    moments: dict[str, pa.DataType]
    stamps: tuple[tuple[int, int], ...]
    # The folder that was asked for, below which folders give columns.
    base: str | None = None
    # The column that was said to hold the time, or None.
    time: str | None = None
    conflicts: Mapping[str, SchemaError] = field(default_factory=dict)
    # What was read of each file to make sure of the types; whoever runs a query reads no more.
    kept: tuple[pa.Table, ...] | None = None

    @property
    def is_text(self) -> bool:
        """Whether the types of columns are found out from their values."""
        return self.format in TEXTS

    @property
    def given(self) -> Collection[str]:
        """The columns that the names of folders give."""
        return given_by_folders(self.paths, self.base)

    def values_given(self) -> Iterator[dict[str, Any]]:
        """What the names of its folders give for each file."""
        from pyarrow import dataset  # which takes long, and who has tables needs none

        for _, fragment in self._fragments():
            yield dataset.get_partition_keys(fragment.partition_expression)

    def check(self, named: Iterable[str | None]) -> None:
        """Refuse columns to be named that differ between the files."""
        for name in named:
            if name is not None and name in self.conflicts:
                raise self.conflicts[name]

    def retype(self, kinds: Mapping[str, pa.DataType]) -> None:
        """Take columns for others than they seemed by their first values; new ones may come."""
        if not kinds:
            return
        given = self.given
        schema = pa.schema([f.with_type(value_type(f.type)) for f in self.dataset.schema])
        for name, kind in kinds.items():
            index = schema.get_field_index(name)
            if index < 0:
                schema = schema.insert(len(schema) - len(given), pa.field(name, kind))
            else:
                schema = schema.set(index, pa.field(name, kind))
        found = described(self.paths, self.format, self.base, schema, self.time, self.conflicts)
        self.dataset, self.moments, self.schema = found
        self.kept = None

    def keep(self, names: Sequence[str], most: int, *, is_whole: bool = False) -> None:
        """Read some columns to see that they can be; what takes no more bytes is kept.

        Where the schema `is_whole` another column of JSON is an error.
        """
        is_kept, tables = self.weight(names) <= most, []
        for path, fragment in self._fragments():
            with self._watched(path, names):
                if is_kept:
                    tables.append(self._read(path, fragment, names, is_whole=is_whole))
                else:
                    for _ in self._read_in_batches(path, fragment, names, is_whole=is_whole):
                        pass
        self.kept = tuple(tables) if is_kept else None

    @property
    def size(self) -> int:
        """The bytes of all files."""
        return sum(size for size, _ in self.stamps)

    def rows(self) -> int | None:
        """How many rows there are, where that is known without reading them."""
        return self.dataset.count_rows() if self.format in ("parquet", "arrow") else None

    def weight(self, names: Sequence[str]) -> int:
        """The bytes that some columns take in memory, about."""
        rows = self.rows()
        if rows is None:
            return 2 * self.size
        return rows * sum(16 if pa.types.is_string(self.schema.field(n).type) else 8 for n in names)

    def table(
        self,
        names: Iterable[str],
        named: Collection[str] | None = None,
        wanted: PruningPredicate | None = None,
    ) -> tuple[pa.Table, tuple[FilePart, ...]]:
        """Some columns of all files, and which rows of each; `named` ones are parsed.

        Row groups that are proved to hold nothing that is `wanted` are left out.
        """
        columns = list(names)
        tables, parts, number = [self.empty(columns, named)], list[FilePart](), 0
        for at, (path, fragment) in enumerate(self._fragments()):
            first = 0
            with self._watched(path, columns):
                for piece, rows in self._pieces(fragment, wanted):
                    if piece is not None:
                        read = self._kept(at, columns)
                        if read is None:
                            read = self._read(path, piece, columns)
                        rows = read.num_rows
                        tables.append(self._parsed(read, path, named, first))
                        parts.append(FilePart(path, rows, first, number))
                    first, number = first + rows, number + rows
        return pa.concat_tables(tables), tuple(parts)

    def _fragments(self) -> Iterator[tuple[str, Any]]:
        return zip(self.paths, self.dataset.get_fragments(), strict=True)

    def _kept(self, at: int, columns: list[str]) -> pa.Table | None:
        """What has been read of a file, if these columns are among it."""
        if self.kept is None or not set(columns) <= set(self.kept[at].column_names):
            return None
        return self.kept[at].select(columns)

    def _read(
        self, path: str, fragment: Any, columns: Sequence[str], *, is_whole: bool = False
    ) -> pa.Table:
        """Some columns of a file, or of a piece of it."""
        schema = self.dataset.schema
        if self.format != "json":
            return fragment.to_table(schema=schema, columns=list(columns))
        empty = schema.empty_table().select(list(columns))
        read = self._read_in_batches(path, fragment, columns, is_whole=is_whole)
        return pa.concat_tables([empty, *read])

    def _read_in_batches(
        self,
        path: str,
        fragment: Any,
        columns: Sequence[str],
        size: int = BATCH,
        *,
        is_whole: bool = False,
    ) -> Iterator[pa.Table]:
        if self.format == "json":
            schema = self.dataset.schema
            yield from json_tables(path, fragment, schema, columns, is_whole=is_whole)
            return
        scanned = fragment.to_batches(
            schema=self.dataset.schema,
            columns=list(columns),
            batch_size=size,
            batch_readahead=4,
            fragment_readahead=1,
        )
        yield from (pa.Table.from_batches([batch]) for batch in scanned)

    def _pieces(self, fragment: Any, wanted: PruningPredicate | None) -> Iterator[tuple[Any, int]]:
        """What is read of a file, as one or in runs of row groups; the rows of what is not."""
        is_parquet = self.format == "parquet"
        kept = [True] if wanted is None or not is_parquet else kept_groups(fragment, wanted)
        if all(kept):
            yield fragment, 0
            return
        for is_kept, run in groupby(range(len(kept)), key=kept.__getitem__):
            groups = list(run)
            rows = sum(fragment.metadata.row_group(each).num_rows for each in groups)
            yield fragment.subset(row_group_ids=groups) if is_kept else None, rows

    def batches(
        self, names: Iterable[str], named: Collection[str] | None = None, *, size: int = BATCH
    ) -> Iterator[tuple[FilePart, pa.Table]]:
        """Some columns of all files, piece by piece."""
        columns = list(names)
        for path, fragment in self._fragments():
            first = 0
            with self._watched(path, columns):
                for table in self._read_in_batches(path, fragment, columns, size):
                    if table.num_rows:
                        yield (
                            FilePart(path, table.num_rows, first),
                            self._parsed(table, path, named, first),
                        )
                        first += table.num_rows

    @contextmanager
    def _watched(self, path: str, columns: Collection[str]) -> Iterator[None]:
        """What Arrow raises as our error, and another if the file was changed meanwhile."""
        try:
            yield
            now = stamp(path)
        except (OSError, pa.ArrowException) as problem:
            raise fault_of(path, self.format, self.schema, problem, columns) from problem
        if now != self.stamps[self.paths.index(path)]:
            raise DataError(f"{path} was changed while it was read: run it again")

    def empty(self, names: Iterable[str], named: Collection[str] | None = None) -> pa.Table:
        """Some columns without any row."""
        table = self.dataset.schema.empty_table().select(list(names))
        return self._parsed(table, self.paths[0], named)

    def _parsed(
        self, table: pa.Table, path: str, named: Collection[str] | None, first: int = 0
    ) -> pa.Table:
        wanted = {n: kind for n, kind in self.moments.items() if named is None or n in named}
        return with_moments(table, wanted, path, first)


def stamp(path: str) -> tuple[int, int]:
    """What changes when a file does: its size and when it was written."""
    try:
        status = os.stat(path)
    except OSError as problem:
        raise DataError(f"{path} cannot be read: {problem.strerror}") from problem
    return status.st_size, status.st_mtime_ns
