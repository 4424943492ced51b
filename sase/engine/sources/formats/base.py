"""The contract of file formats: one module here for each, listed in `FORMATS`."""

from __future__ import annotations

import csv
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from os import path as os_path
from os import sep
from typing import Any, ClassVar, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from sase.digits import number_of
from sase.engine.columns.gate import Gate
from sase.engine.columns.numbers import MOST_EXACT
from sase.engine.resources import Check, no_check
from sase.errors import BudgetError, DataError, SchemaError, TimeLimitError

Kinds = dict[str, pa.DataType]
KnownKinds = Mapping[str, pa.DataType]
DICTIONARY = pa.dictionary(pa.int32(), pa.string())
# What folders are called that hold the rows without a value.
NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
# What is raised for bytes that are none of a format, and what to do.
DAMAGE = (OSError, UnicodeError, csv.Error, pa.ArrowException)
ANEW = "it is damaged: write it anew"
# What Arrow says where the system refuses it another thread.
NO_THREAD = "Failed to launch worker thread"
# Rows of a batch when files are read piece by piece, and rows by which text is judged.
BATCH, SAMPLE = 1 << 18, 1000


@dataclass(frozen=True)
class PruningPredicate:
    """The types of events that matter, the column that holds them, and all columns named."""

    types: frozenset[str]
    column: str
    named: frozenset[str]


class Scan(NamedTuple):
    """Columns to be read of a file, or of a fragment of it; `schema` is that of all files.

    Where the schema `is_whole` another column is an error, if the format can tell. The fragment
    begins at row `first` of the file.
    """

    path: str
    fragment: Any
    schema: pa.Schema
    columns: Sequence[str]
    is_whole: bool = False
    first: int = 0
    # Called between batches, when what ends a run may come.
    between: Check = no_check
    # Whether some batches may be read ahead, which takes memory.
    reads_ahead: bool = True


class FileFormat(ABC):
    """A format that a pyarrow dataset reads; `TextFormat` is one of rows in lines of text."""

    name: ClassVar[str]
    # What messages call it, such as "CSV (.csv, .tsv)"; empty if another one's title names it, too.
    title: ClassVar[str]
    suffixes: ClassVar[tuple[str, ...]]
    # Whether types are inferred from values, so that rows may be bad by them.
    is_text: ClassVar[bool] = False
    # Whether strings can be read as dictionaries.
    has_dictionaries: ClassVar[bool] = False
    # Columns that are text whatever their values are, and those of them that a caller asked for.
    texts: Collection[str] = ()
    asked: Collection[str] = ()

    @abstractmethod
    def arrow_format(self, strings: Collection[str] = ()) -> Any:
        """Return Arrow's reader of the format, with some columns of strings as dictionaries."""

    def dataset(
        self,
        paths: Sequence[str],
        base: str | None,
        schema: pa.Schema | None,
        strings: Collection[str] = (),
    ) -> Any:
        """Return files as an Arrow dataset; folders below `base` give columns."""
        from pyarrow import dataset  # which takes long, and who has tables needs none

        folders = None
        if base is not None:
            given = {
                n: kind if schema is None else schema.field(n).type
                for n, kind in folder_columns(paths, base).items()
            }
            folders = dataset.partitioning(pa.schema(given), flavor="hive")
        return dataset.dataset(
            list(paths),
            schema,
            self.arrow_format(strings),
            partitioning=folders,
            partition_base_dir=base,
        )

    def infer_schema(self, path: str, *, judges: bool = False) -> pa.Schema:
        """Return the columns of a file, without those that folders give.

        Whoever `judges` rows can do with lines that are none. Arrow's exceptions pass.
        """
        return self.dataset((path,), None, None).schema

    def own_columns(self, path: str) -> list[str]:
        """Return the columns of a file without those of folders; none if it cannot be read."""
        try:
            return list(self.infer_schema(path).names)
        except DAMAGE:
            return []  # reported when the schema is inferred

    def read(self, scan: Scan, size: int = BATCH) -> Iterator[pa.Table]:
        """Read columns in batches of at most `size` rows."""
        batches = scan.fragment.to_batches(
            schema=scan.schema,
            columns=list(scan.columns),
            batch_size=size,
            batch_readahead=4 if scan.reads_ahead else 0,
            fragment_readahead=1 if scan.reads_ahead else 0,
        )
        for batch in batches:
            scan.between(0)
            yield pa.Table.from_batches([batch])

    def with_null(self, null: Sequence[str]) -> FileFormat:
        """Return the format with some more texts that stand for a missing value."""
        if null:
            raise SchemaError(
                f"null={list(null)!r}: only CSV has text in place of a missing value, and these"
                f" files are of {self.name}: leave it out"
            )
        return self

    def with_text(self, names: Collection[str]) -> FileFormat:
        """Return the format with columns that a caller asks for as text."""
        if names:
            raise SchemaError(
                f"text={list(names)!r}: only columns of CSV are read as text on demand, and files"
                f" of {self.name} say themselves what is text: leave it out"
            )
        return self

    def with_texts(self, names: Collection[str]) -> FileFormat:
        """Return the format with columns that are text, if it does not say itself which are."""
        return self

    def odd_texts(self, paths: Sequence[str], name: str) -> list[str]:
        """Return the distinct values of a column of text that are no numbers."""
        return []

    def check_floats(self, path: str, name: str) -> None:
        """Refuse the first integer that is rounded in a column of floats, which only text has."""
        return

    def read_all(self, scan: Scan) -> pa.Table:
        """Read columns to hold them."""
        empty = pa.Table.from_batches([], scan.schema).select(list(scan.columns))
        return pa.concat_tables([empty, *self.read(scan)])

    def count_rows(self, dataset: Any) -> int | None:
        """Return the number of rows, None where it is not known without reading them."""
        count: int = dataset.count_rows()
        return count

    def sample(self, paths: Sequence[str], dataset: Any, names: Sequence[str]) -> pa.Table:
        """Return the first rows of some columns of strings."""
        tables = [pa.Table.from_batches([], pa.schema([dataset.schema.field(n) for n in names]))]
        for path, fragment in zip(paths, dataset.get_fragments(), strict=True):
            tables += islice(self.read(Scan(path, fragment, dataset.schema, names), SAMPLE), 1)
            if sum(table.num_rows for table in tables) >= SAMPLE:
                break
        return pa.concat_tables(tables).slice(0, SAMPLE)

    def prune(self, fragment: Any, predicate: PruningPredicate) -> list[bool]:
        """Return for each part of a file whether it must be read; most formats have one."""
        return [True]

    def common_kind(self, kinds: Sequence[pa.DataType]) -> pa.DataType | None:
        """Return the type of a column whose types in several files have none in common, if any."""
        return None

    def types_of_rows(self, paths: Sequence[str], names: Collection[str] | None = None) -> Kinds:
        """Return the types of (some) columns by all rows, where the schema does not say them."""
        return {}

    def number_type(self, paths: Sequence[str], name: str) -> pa.DataType | None:
        """Return the type of the numbers in a column of text that holds mostly such."""
        return None

    def retyped(
        self, paths: Sequence[str], problem: DataError, names: Collection[str], *, judges: bool
    ) -> Kinds:
        """Return the types with which columns may be read that could not be, of those `names`."""
        return {}

    def explain_fault(
        self,
        path: str,
        schema: pa.Schema | None,
        problem: Exception,
        columns: Collection[str] | None = None,
    ) -> DataError:
        """Return the error for a file of which some columns, or all, cannot be read.

        Raise one if it is not the file that is to blame, but what the process may take.
        """
        if isinstance(problem, MemoryError) or NO_THREAD in str(problem):
            raise BudgetError(
                f"{path} cannot be read with so little memory: {problem}"
            ) from problem
        if isinstance(problem, FileNotFoundError):
            return DataError(f"{path} is not there any more")
        message = str(problem)
        if isinstance(problem, OSError) and problem.errno is not None:
            return DataError(f"{path} cannot be read: {message}")
        if isinstance(problem, OSError | UnicodeError | csv.Error):
            return DataError(f"{path} cannot be read: {message}: {ANEW}")
        kinds = {}
        if schema is not None:
            wanted = schema.names if columns is None else columns
            kinds = {field.name: field.type for field in schema if field.name in wanted}
        try:
            return self._explained(path, kinds, message)
        except DAMAGE:
            return DataError(f"{path} cannot be read: {message}: {ANEW}")

    @contextmanager
    def watched(self, path: str) -> Iterator[None]:
        """Turn whatever is raised for the bytes of files into an error of ours."""
        try:
            yield
        except TimeLimitError:  # which is an OSError, too
            raise
        except DAMAGE as problem:
            raise self.explain_fault(path, None, problem) from problem

    def _explained(self, path: str, kinds: KnownKinds, message: str) -> DataError:
        """Explain what Arrow says of a file: name the row, the column, and what to do."""
        if re.match("Integer value .* not in range|Casting from ", message):
            return DataError(
                f"{path} has a value that does not fit the type which all files have together:"
                f" {message}; write the files with one type, or leave the column out of the query"
            )
        return DataError(
            f"{path} cannot be read: it is truncated, or no {self.name} file: {message}: {ANEW}"
        )


def folder_columns(paths: Sequence[str], base: str | None) -> Kinds:
    """Return the columns that folders such as `day=1` below `base` give.

    They are integers, or text unless all are integers; NULL has a name of its own.
    """
    if base is None:
        return {}
    within = (os_path.relpath(path, base).split(sep)[:-1] for path in paths)
    named = [part.partition("=") for parts in within for part in parts if "=" in part]
    values: dict[str, list[str]] = {name: [] for name, _, _ in named}
    for name, _, value in named:
        if value != NO_VALUE:
            values[name].append(value)
    return {name: _folder_type(found) for name, found in values.items()}


def _folder_type(values: Sequence[str]) -> pa.DataType:
    """Return the narrowest integers that have all values, or text."""
    if not values or not all(value.isdecimal() for value in values):
        return pa.string()
    greatest = max(map(number_of, values))
    kinds = (pa.int32(), pa.int64())
    return next((kind for kind in kinds if greatest < 1 << kind.bit_width - 1), pa.string())


def scanned(scan: Scan) -> pa.Table:
    """Read columns of what Arrow scans: batch by batch, since it hears no signal within a call."""
    scanner = scan.fragment.scanner(schema=scan.schema, columns=list(scan.columns))
    batches = []
    for batch in scanner.to_batches():
        scan.between(0)
        batches.append(batch)
    return pa.Table.from_batches(batches, scanner.projected_schema)


def great_floats(table: pa.Table) -> list[str]:
    """Return the columns of floats that are great enough to stand for integers they do not hold."""
    found = []
    for name, column in zip(table.schema.names, table.columns, strict=True):
        if pa.types.is_floating(column.type):
            bounds = pc.min_max(column).as_py().values()
            if any(bound is not None and abs(bound) >= MOST_EXACT for bound in bounds):
                found.append(name)
    return found


def with_given(
    scan: Scan, read: Callable[[pa.Schema], Iterator[pa.Table | pa.RecordBatch]]
) -> Iterator[pa.Table]:
    """Yield columns that are read of a file itself, with those that folders give beside them.

    NULL is in columns that the file has not, and values are cast to the types of all files.
    """
    from pyarrow import dataset  # which takes long, and who has tables needs none

    given = dataset.get_partition_keys(scan.fragment.partition_expression)
    wanted = pa.schema([scan.schema.field(name) for name in scan.columns])
    for part in read(pa.schema([field for field in wanted if field.name not in given])):
        scan.between(0)
        arrays = []
        for field in wanted:
            if field.name in given:
                value = pa.scalar(given[field.name], field.type)
                arrays.append(pa.repeat(value, part.num_rows))
            elif field.name in part.schema.names:
                column = part.column(field.name)
                arrays.append(column if column.type == field.type else column.cast(field.type))
            else:
                arrays.append(pa.nulls(part.num_rows, field.type))
        yield pa.table(arrays, schema=wanted)


def proved(table: pa.Table, path: str, first: int = 0) -> pa.Table:
    """Return what was read of a file from a row on, or raise what is wrong with its memory."""
    gate = Gate("write the file anew")
    for name, column in zip(table.column_names, table.columns, strict=True):
        gate.prove(name, column.chunks, table.num_rows, f"{path}, ", first)
    return table


def is_string(kind: pa.DataType) -> bool:
    """Whether a column holds plain text."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))
