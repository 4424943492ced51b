"""Files as one table: its columns are known before any row is read."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import pyarrow as pa

from sase.engine.events.origin import FilePart
from sase.engine.files.faults import fault_of, text_fault
from sase.engine.files.finding import FoundFiles, find_files
from sase.engine.files.formats import as_read, reader
from sase.engine.files.moments import moments_among, with_moments
from sase.engine.files.names import may_be_times
from sase.engine.files.skipping import Wanted, kept_groups
from sase.errors import DataError, SchemaError

# What is looked at to find out what strings hold.
SAMPLE = 1000
# Rows of a batch when files are read piece by piece.
BATCH = 1 << 18


@dataclass(frozen=True, eq=False)
class Files:
    """Files of one format and their columns.

    `schema` has the columns that folders give, such as `day=1/`, behind those of the files. The
    text of `moments` can be parsed: it is where a query names the column, and otherwise left.
    """

    paths: tuple[str, ...]
    format: str
    schema: pa.Schema
    dataset: Any
    moments: dict[str, pa.DataType]
    stamps: tuple[tuple[int, int], ...]
    # The folder that was asked for, below which folders give columns.
    base: str | None = None

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
        wanted: Wanted | None = None,
    ) -> tuple[pa.Table, tuple[FilePart, ...]]:
        """Some columns of all files, and which rows of each; `named` ones are parsed.

        Row groups that are proved to hold nothing that is `wanted` are left out.
        """
        columns = list(names)
        tables, parts, number = [self.empty(columns, named)], list[FilePart](), 0
        for path, fragment in zip(self.paths, self.dataset.get_fragments(), strict=True):
            first = 0
            with self._watched(path):
                for piece, rows in self._pieces(fragment, wanted):
                    if piece is not None:
                        read = piece.to_table(schema=self.dataset.schema, columns=columns)
                        rows = read.num_rows
                        tables.append(self._parsed(read, path, named))
                        parts.append(FilePart(path, rows, first, number))
                    first, number = first + rows, number + rows
        return pa.concat_tables(tables), tuple(parts)

    def _pieces(self, fragment: Any, wanted: Wanted | None) -> Iterator[tuple[Any, int]]:
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
        wanted = list(names)
        for path, fragment in zip(self.paths, self.dataset.get_fragments(), strict=True):
            first = 0
            with self._watched(path):
                scanned = fragment.to_batches(
                    schema=self.dataset.schema,
                    columns=wanted,
                    batch_size=size,
                    batch_readahead=4,
                    fragment_readahead=1,
                )
                for batch in scanned:
                    if batch.num_rows:
                        table = self._parsed(pa.Table.from_batches([batch]), path, named)
                        yield FilePart(path, batch.num_rows, first), table
                        first += batch.num_rows

    @contextmanager
    def _watched(self, path: str) -> Iterator[None]:
        """What Arrow raises as our error, and another if the file was changed meanwhile."""
        try:
            yield
            now = stamp(path)
        except (OSError, pa.ArrowException) as problem:
            raise fault_of(path, self.format, self.schema, problem) from problem
        if now != self.stamps[self.paths.index(path)]:
            raise DataError(f"{path} was changed while it was read: run it again")

    def empty(self, names: Iterable[str], named: Collection[str] | None = None) -> pa.Table:
        """Some columns without any row."""
        table = self.dataset.schema.empty_table().select(list(names))
        return self._parsed(table, self.paths[0], named)

    def _parsed(self, table: pa.Table, path: str, named: Collection[str] | None) -> pa.Table:
        wanted = {n: kind for n, kind in self.moments.items() if named is None or n in named}
        return with_moments(table, wanted, path)


def open_files(path: str | os.PathLike[str], time: str | None = None) -> Files:
    """The files that a path means, with the columns of all of them; `time` may be the time's."""
    found = find_files(path)
    stamps = tuple(map(stamp, found.paths))
    empty = [each for each, (size, _) in zip(found.paths, stamps, strict=True) if size == 0]
    if empty:
        raise DataError(f"{empty[0]} is empty: it has no columns")
    schema = _schema(found.paths, found.format, found.base)
    readable, strings = as_read(found.format, schema, _given_by_folders(found))
    dataset = _dataset(found.paths, reader(found.format, strings), found.base, readable)
    times = may_be_times(schema.names, time)
    moments = _moments(dataset, strings or _strings(readable), times, found.paths[0], found.format)
    shown = pa.schema(
        [field.with_type(moments.get(field.name, field.type)) for field in dataset.schema]
    )
    return Files(found.paths, found.format, shown, dataset, moments, stamps, found.base)


def _given_by_folders(found: FoundFiles) -> frozenset[str]:
    """The columns that the names of folders give, such as `day=1`."""
    if found.base is None:
        return frozenset()
    within = (os.path.relpath(path, found.base).split(os.sep)[:-1] for path in found.paths)
    return frozenset(part.partition("=")[0] for parts in within for part in parts if "=" in part)


def _schema(paths: tuple[str, ...], format: str, base: str | None) -> pa.Schema:
    """The columns of all files, of which some may lack a few."""
    schemas = []
    for path in paths:
        try:
            schema = _dataset((path,), reader(format), base, None).schema
        except (OSError, pa.ArrowException) as problem:
            raise fault_of(path, format, None, problem) from problem
        if format in ("csv", "tsv") and any(pa.types.is_binary(kind) for kind in schema.types):
            raise text_fault(path, format, schema)
        schemas.append(schema)
    try:
        return pa.unify_schemas(schemas, promote_options="permissive")
    except pa.ArrowException as problem:
        raise SchemaError(f"the files have columns of different kinds: {problem}") from problem


def _dataset(
    paths: tuple[str, ...], format: Any, base: str | None, schema: pa.Schema | None
) -> Any:
    from pyarrow import dataset  # which takes long, and who has tables needs none

    folders = None if base is None else dataset.partitioning(flavor="hive")
    return dataset.dataset(
        list(paths), schema, format, partitioning=folders, partition_base_dir=base
    )


def _strings(schema: pa.Schema) -> list[str]:
    return [field.name for field in schema if pa.types.is_string(field.type)]


def _moments(
    dataset: Any, strings: Sequence[str], times: Sequence[str], path: str, format: str
) -> dict[str, pa.DataType]:
    """The columns of strings that hold moments, by their first values."""
    if not strings:
        return {}
    try:
        return moments_among(dataset.head(SAMPLE, columns=list(strings)), times)
    except (OSError, pa.ArrowException) as problem:
        raise fault_of(path, format, dataset.schema, problem) from problem


def stamp(path: str) -> tuple[int, int]:
    """What changes when a file does: its size and when it was written."""
    try:
        status = os.stat(path)
    except OSError as problem:
        raise DataError(f"{path} cannot be read: {problem.strerror}") from problem
    return status.st_size, status.st_mtime_ns
