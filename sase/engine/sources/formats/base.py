"""The interface of file formats; each has a module here and is listed in `FORMATS`."""

from __future__ import annotations

import csv
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from itertools import islice
from os import path as os_path
from os import sep
from typing import Any, ClassVar, NamedTuple, Self

import pyarrow as pa
import pyarrow.compute as pc

from sase.base.interface import option
from sase.base.texts import number_of
from sase.binding.input_options import Reading
from sase.engine.columns.arrow.gate import Gate
from sase.engine.columns.decode.numbers import MOST_EXACT
from sase.engine.resources import Check, no_check
from sase.engine.sources.file_systems import Stamp, explained, is_remote, stamp
from sase.engine.sources.local_copies import placed
from sase.engine.sources.pruning import PruningPredicate
from sase.errors import BudgetError, DataError, SchemaError, TimeLimitError

Kinds = dict[str, pa.DataType]
KnownKinds = Mapping[str, pa.DataType]
DICTIONARY = pa.dictionary(pa.int32(), pa.string())
# The folder name of rows without a value.
NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
# Errors raised for damaged files, and the remedy.
DAMAGE = (OSError, UnicodeError, csv.Error, pa.ArrowException)
ANEW = "it is damaged: write it anew"
# Arrow's message if it cannot start a thread.
NO_THREAD = "Failed to launch worker thread"
# Rows of a batch; rows sampled to type text.
BATCH, SAMPLE = 1 << 18, 1000


# Which formats have an option of reading, for messages.
_OF_CSV, _OF_TEXT = "only CSV has this option", "only files of text have an encoding"
OF_FORMATS = {
    "null": "only CSV has text in place of a missing value",
    "text": "only columns of CSV are read as text on demand",
    "encoding": _OF_TEXT,
    "table_version": "only tables of Delta Lake and Iceberg have versions",
    **dict.fromkeys(("delimiter", "quote", "decimal"), _OF_CSV),
}


def given_option(name: str, value: object) -> str:
    """An option of reading as the caller gives it."""
    values = value if isinstance(value, tuple) else (value,)
    return option(name, *("tab" if each == "\t" else each for each in values))


class Scan(NamedTuple):
    """The columns to read from a file or a fragment of it; `schema` is that of all files.

    If the schema `is_whole`, further columns are an error, if the format can tell. The fragment
    begins at row `first` of the file.
    """

    path: str
    fragment: Any
    schema: pa.Schema
    columns: Sequence[str]
    is_whole: bool = False
    first: int = 0
    # Called between batches; may end the run.
    between: Check = no_check
    # Whether batches may be read ahead, which takes memory.
    reads_ahead: bool = True


class FileFormat(ABC):
    """A format that a pyarrow dataset reads; `TextFormat` has one row in each line."""

    name: ClassVar[str]
    # Its name in messages, such as "CSV (.csv, .tsv)"; empty if another format's covers it.
    title: ClassVar[str]
    suffixes: ClassVar[tuple[str, ...]]
    # Whether types are inferred from values, so that rows may be bad.
    is_text: ClassVar[bool] = False
    # Whether strings can be read as dictionaries.
    has_dictionaries: ClassVar[bool] = False
    # The options of reading that the format has, and those that were given.
    options: ClassVar[Collection[str]] = ("time_format", "input_format")
    reading: Reading = Reading()
    # Columns that stay text for any values, and those that the caller chose as text.
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
        from pyarrow import dataset  # slow; not needed for tables

        folders = None
        if base is not None:
            given = {
                n: kind if schema is None else schema.field(n).type
                for n, kind in folder_columns(paths, base).items()
            }
            folders = dataset.partitioning(pa.schema(given), flavor="hive")
        system, places, top = placed(paths, base, copied=self.is_text)
        return dataset.dataset(
            places,
            schema,
            self.arrow_format(strings),
            filesystem=system,
            partitioning=folders,
            partition_base_dir=top,
        )

    def infer_schema(self, path: str, *, judges: bool = False) -> pa.Schema:
        """Return the columns of a file, without those of folders.

        With `judges` lines that are no rows are tolerated. Arrow's exceptions pass.
        """
        return self.dataset((path,), None, None).schema

    def only(self, files: Any, number: int) -> Any:
        """Return a dataset of one of the files of another one."""
        from pyarrow import dataset  # slow; not needed for tables

        fragment = list(files.get_fragments())[number]
        return dataset.FileSystemDataset([fragment], files.schema, files.format, files.filesystem)

    def stamp(self, path: str) -> Stamp:
        """Return a mark of the content of a file, to detect changes."""
        return stamp(path)

    def own_columns(self, path: str) -> list[str]:
        """Return a file's columns without those of folders; none if it is unreadable."""
        try:
            return list(self.infer_schema(path).names)
        except DAMAGE:
            return []  # reported by schema inference

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

    def with_reading(self, reading: Reading, known: Collection[str] = ()) -> Self:
        """Return the format with options of reading; `known` columns of text stay text."""
        for name, value in reading.given.items():
            if name not in self.options:
                raise SchemaError(
                    f"{given_option(name, value)}: {OF_FORMATS[name]}, and these files are of"
                    f" {self.name}: leave it out"
                )
        found = copy(self)
        found.reading = reading
        return found

    def is_begun(self, first: str) -> bool:
        """Whether a file that begins with this text is of the format, if its name says none."""
        return False

    def found_in(self, path: str) -> Self:
        """Return the format with the options that the first lines of a file show."""
        return self

    @property
    def notes(self) -> tuple[str, ...]:
        """The options that were found from the lines of files, for the user."""
        return ()

    def odd_texts(self, paths: Sequence[str], name: str) -> list[str]:
        """Return the distinct values of a text column that are no numbers."""
        return []

    def check_floats(self, path: str, name: str) -> None:
        """Refuse the first integer that a float column rounds; only for text formats."""
        return

    def read_all(self, scan: Scan) -> pa.Table:
        """Read columns into memory."""
        empty = pa.Table.from_batches([], scan.schema).select(list(scan.columns))
        return pa.concat_tables([empty, *self.read(scan)])

    def count_rows(self, dataset: Any) -> int | None:
        """Return the number of rows, or None if only reading would tell."""
        count: int = dataset.count_rows()
        return count

    def sample(self, paths: Sequence[str], dataset: Any, names: Sequence[str]) -> pa.Table:
        """Return the first rows of string columns."""
        tables = [pa.Table.from_batches([], pa.schema([dataset.schema.field(n) for n in names]))]
        for path, fragment in zip(paths, dataset.get_fragments(), strict=True):
            tables += islice(self.read(Scan(path, fragment, dataset.schema, names), SAMPLE), 1)
            if sum(table.num_rows for table in tables) >= SAMPLE:
                break
        return pa.concat_tables(tables).slice(0, SAMPLE)

    def parts(
        self, path: str, fragment: Any, predicate: PruningPredicate
    ) -> Iterator[tuple[Any, int]]:
        """Yield the parts of a file to read, and None with the number of rows of one to skip.

        The number of a part to read is not used; most formats read all.
        """
        yield fragment, 0

    def common_kind(self, kinds: Sequence[pa.DataType]) -> pa.DataType | None:
        """Return a common type for a column with conflicting types in several files, or None."""
        return None

    def types_of_rows(self, paths: Sequence[str], names: Collection[str] | None = None) -> Kinds:
        """Return the types of columns by all rows, if the schema does not have them."""
        return {}

    def number_type(self, paths: Sequence[str], name: str) -> pa.DataType | None:
        """Return the number type of a text column that has mostly numbers, or None."""
        return None

    def retyped(
        self, paths: Sequence[str], problem: DataError, names: Collection[str], *, judges: bool
    ) -> Kinds:
        """Return other types for the columns that could not be read, among `names`."""
        return {}

    def explain_fault(
        self,
        path: str,
        schema: pa.Schema | None,
        problem: Exception,
        columns: Collection[str] | None = None,
    ) -> DataError:
        """Return the error for a file with unreadable columns.

        Raise an error if the cause is a limit of the process, not the file.
        """
        if isinstance(problem, MemoryError) or NO_THREAD in str(problem):
            raise BudgetError(
                f"{path} cannot be read with so little memory: {problem}"
            ) from problem
        if is_remote(path) and (found := explained(path, problem)) is not None:
            return found
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
        """Convert exceptions for damaged files to our errors."""
        try:
            yield
        except TimeLimitError:  # also an OSError
            raise
        except DAMAGE as problem:
            raise self.explain_fault(path, None, problem) from problem

    def _explained(self, path: str, kinds: KnownKinds, message: str) -> DataError:
        """Explain an error of Arrow about a file: name the row, the column, and a remedy."""
        if re.match("Integer value .* not in range|Casting from ", message):
            return DataError(
                f"{path} has a value that does not fit the type which all files have together:"
                f" {message}; write the files with one type, or leave the column out of the query"
            )
        return DataError(
            f"{path} cannot be read: it is truncated, or no {self.name} file: {message}: {ANEW}"
        )


def folder_columns(paths: Sequence[str], base: str | None) -> Kinds:
    """Return the columns from folder names such as `day=1` below `base`.

    They are integers if all values are, otherwise text; NULL has a special name.
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
    """Return the narrowest integer type for all values, or text."""
    if not values or not all(value.isdecimal() for value in values):
        return pa.string()
    greatest = max(map(number_of, values))
    kinds = (pa.int32(), pa.int64())
    return next((kind for kind in kinds if greatest < 1 << kind.bit_width - 1), pa.string())


def scanned(scan: Scan) -> pa.Table:
    """Read columns by Arrow batch by batch, since a single call cannot be interrupted."""
    scanner = scan.fragment.scanner(schema=scan.schema, columns=list(scan.columns))
    batches = []
    for batch in scanner.to_batches():
        scan.between(0)
        batches.append(batch)
    return pa.Table.from_batches(batches, scanner.projected_schema)


def great_floats(table: pa.Table) -> list[str]:
    """Return the float columns that may have rounded integers, by their magnitude."""
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
    """Yield a file's columns as read, with those of its folders.

    Missing columns are NULL; values are cast to the types of all files.
    """
    from pyarrow import dataset  # slow; not needed for tables

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
    """Prove the memory of a table read from a file's row `first` on, and return it."""
    gate = Gate("write the file anew")
    for name, column in zip(table.column_names, table.columns, strict=True):
        gate.prove(name, column.chunks, table.num_rows, f"{path}, ", first)
    return table


def is_string(kind: pa.DataType) -> bool:
    """Whether a column holds plain text."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))
