"""Open the events that a caller gives, in any form, as Arrow tables."""

from __future__ import annotations

import operator
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sase.base.paths import columns_of, path_of
from sase.binding.types import UNKNOWN, DataType, Kind
from sase.engine.columns.arrow.data_types import data_type
from sase.engine.columns.arrow.gate import Gate, prove_schema
from sase.engine.columns.arrow.gather import names_of_types
from sase.engine.columns.arrow.nested import lacks_field, nested_type, nested_values, type_in
from sase.engine.columns.arrow.python_rows import (
    Row,
    foreign_table,
    is_of_pandas,
    is_of_spark,
    is_relation,
    table_of_frame,
    table_of_relation,
    table_of_rows,
)
from sase.engine.columns.arrow.small_chunks import concatenated, copied
from sase.errors import DataError, SchemaError


class FilePart(NamedTuple):
    """`rows` rows of a file from its row `first` on; `number` is their first row in all files."""

    path: str
    rows: int
    first: int = 0
    number: int = 0


@dataclass(frozen=True)
class Origin:
    """The type names of tables, and the first row and file part of each."""

    names: tuple[str | None, ...]
    starts: tuple[int, ...]
    files: tuple[FilePart | None, ...]

    def error(self, row: int, column: str, value: object, why: str) -> DataError:
        """Return the error for a bad row: where it is, the value, and the reason."""
        written = "NULL" if value is None else str(value)
        return DataError(f"{self._place(row)}: `{column}` is {written}: {why}", row, column, value)

    def _place(self, row: int) -> str:
        at = bisect_right(self.starts, row) - 1
        name = self.names[at]
        of = "" if name is None else f" of `{name}`"
        file = self.files[at]
        if file is not None:
            return f"{file.path}, row {row - self.starts[at] + file.first} (from 0){of}"
        if self.starts[at] == 0:
            return f"row {row} (from 0){of}"
        return f"row {row} (from 0), which is row {row - self.starts[at]}{of}"


Chunks = list[pa.Array]
# The most rows of a small batch.
SMALL = 1 << 14
# More than MANY chunks are joined if they have less than FEW rows on average.
MANY, FEW = 1 << 4, 1 << 13
# Rejected values of a column: reasons, each with the rows of the table.
Misfits = tuple[tuple[str, NDArray[np.int64]], ...]


@dataclass(frozen=True, eq=False)
class Input:
    """One table of events, or a reader of one; `type_name` is set if all have one type."""

    source: Any  # a pyarrow Table, RecordBatch or RecordBatchReader
    type_name: str | None = None
    # Columns that Arrow cannot read: an error only if a query reads them.
    unreadable: Mapping[str, DataError] = field(default_factory=dict)
    # The files of the table.
    files: tuple[FilePart, ...] = ()
    # Whether it comes from dicts, which may omit NULLs.
    is_sparse: bool = False
    # Until columns are coerced: the original dicts, or a frame's unreadable columns. Afterwards:
    # the rows with rejected values, and all values of the columns with such rows.
    rows: Sequence[Row] | None = None
    misfits: Mapping[str, Misfits] = field(default_factory=dict)
    texts: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    # Columns of foreign memory that is not proved yet.
    unproved: frozenset[str] = frozenset()
    # Proved chunks by column index: Arrow makes new objects at each access.
    proved_chunks: dict[int, Chunks] = field(default_factory=dict, init=False, repr=False)

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return [*self.source.schema.names, *self.unreadable]

    @property
    def is_open(self) -> bool:
        """Whether the columns are unknown: an empty list."""
        return not (self.source.schema.names or self.is_lazy or self.source.num_rows)

    @property
    def is_lazy(self) -> bool:
        """Whether it is a reader, so that its rows can be read only once."""
        return isinstance(self.source, pa.RecordBatchReader)

    def index(self, name: str) -> int | None:
        """Return the index of a column, or of the nested column that has a value; or None."""
        index: int = self.source.schema.get_field_index(name)
        if index >= 0:
            return index
        if name in self.source.schema.names:
            raise SchemaError(f"{self.where}there are several columns `{name}`: rename all but one")
        path = path_of(name)
        column = None if path is None else self.index(path.column)
        if path is None or column is None:
            return None
        return None if nested_type(self.source.schema.field(column).type, path) is None else column

    def type_of(self, name: str) -> DataType | None:
        """Return the type of a column or nested value, or None."""
        if self.index(name) is not None:
            return data_type(self.arrow_type(name))
        path = path_of(name)
        column = name if path is None else path.column
        index = self.index(column)
        if column in self.unreadable:
            return DataType(Kind.OTHER)
        if path is not None and index is not None:
            is_absent = lacks_field(self.source.schema.field(index).type, path)
            return None if is_absent else DataType(Kind.OTHER)
        return UNKNOWN if self.is_open else None

    def arrow_type(self, name: str) -> pa.DataType | None:
        """Return Arrow's type of a column or nested value, or None."""
        return type_in(self.source.schema, name)

    def dictionary_of(self, name: str) -> list[str] | None:
        """Return the values of a dictionary-encoded column; None for others."""
        index = self.index(name)
        if index is None or self.is_lazy:
            return None
        if not pa.types.is_dictionary(self.source.schema.field(index).type):
            return None
        if name in self.unproved and self._count_chunks(index) > MANY:
            chunks = self._proved_column(name, index, Gate(), is_decoded=True)
        else:
            chunks = self.chunks(index)
            if name in self.unproved:
                Gate().prove_values(name, chunks, self.where)
        if len(chunks) > MANY:  # most have the same dictionary
            chunks = concatenated(self.source.column(index)).chunks
        values = [n for chunk in chunks for n in names_of_types(chunk).dictionary.to_pylist()]
        return [value for value in dict.fromkeys(values) if value is not None]

    def chunks(self, index: int) -> Chunks:
        """Return the chunks of a column; not for readers."""
        known = self.proved_chunks.get(index)
        if known is not None:
            return known
        column = self.source.column(index)
        return column.chunks if isinstance(column, pa.ChunkedArray) else [column]

    def proved(
        self,
        names: Collection[str] | None = None,
        gate: Gate | None = None,
        *,
        is_decoded: bool = False,
    ) -> Input:
        """Prove the memory of some columns, or of all; raise an error if it is unsound.

        Of columns that are decoded afterwards all chunks are joined, of others many small ones. A
        reader is returned unchanged: its columns are proved when they are read.
        """
        if not self.unproved or self.is_lazy:
            return self
        wanted = None if names is None else columns_of(names, self.source.schema.names)
        asked = self.unproved if wanted is None else self.unproved.intersection(wanted)
        if not asked:
            return self
        gate, source = gate or Gate(), self.source
        for index, name in enumerate(source.schema.names):
            if name in asked:
                chunks = self._proved_column(name, index, gate, is_decoded=is_decoded)
                if self._count_chunks(index) != len(chunks):
                    joined = pa.chunked_array(chunks, source.column(index).type)
                    source = source.set_column(index, source.schema.field(index), joined)
        proved = replace(self, source=source, unproved=self.unproved - asked)
        proved.proved_chunks.update(self.proved_chunks)
        return proved

    def _proved_column(self, name: str, index: int, gate: Gate, *, is_decoded: bool) -> Chunks:
        """Prove a column, once, and join its chunks: all if it is decoded, else many small ones."""
        if index not in self.proved_chunks:
            column, count = self.source.column(index), self._count_chunks(index)
            are_small = count > MANY and self.source.num_rows < FEW * count
            whole = copied(column) if are_small or (is_decoded and count > 1) else None
            chunks = self.chunks(index) if whole is None else [whole]
            gate.prove(name, chunks, self.source.num_rows, self.where)
            if are_small and whole is None:
                chunks = concatenated(column).chunks
            self.proved_chunks[index] = chunks
        return self.proved_chunks[index]

    def _count_chunks(self, index: int) -> int:
        column = self.source.column(index)
        return column.num_chunks if isinstance(column, pa.ChunkedArray) else 1

    def read(self, indexes: Mapping[str, int]) -> tuple[int, dict[str, Chunks]]:
        """Return the number of rows, and by name the chunks of the columns at these indexes.

        For a name within a nested column these are the values in it. The columns of a reader are
        proved.
        """
        source = self.source
        if not self.is_lazy:
            chunks = {name: self.chunks(index) for name, index in indexes.items()}
            return source.num_rows, self._within(chunks, indexes)
        rows, read, gate = 0, {name: Chunks() for name in indexes}, Gate()
        for batch in self._batches():  # one batch in memory at a time
            for name, index in indexes.items():
                read[name].append(batch.column(index))
                gate.prove(name, read[name][-1:], batch.num_rows, self.where, rows)
            rows += batch.num_rows
        return rows, self._within(read, indexes)

    def _within(self, chunks: dict[str, Chunks], indexes: Mapping[str, int]) -> dict[str, Chunks]:
        columns = self.source.schema.names
        nested = {name for name, index in indexes.items() if columns[index] != name}
        return {
            name: [nested_values(chunk, name) for chunk in own] if name in nested else _joined(own)
            for name, own in chunks.items()
        }

    def _batches(self) -> Iterator[pa.RecordBatch]:
        rows = 0
        try:
            for batch in self.source:
                rows += batch.num_rows
                yield batch
        except (OSError, pa.ArrowException) as problem:
            message = f"{self.where}the events cannot be read beyond row {rows}: {problem}"
            raise DataError(message) from problem

    def drained(self) -> Input:
        """Read a reader into memory."""
        if not self.is_lazy:
            return self
        return replace(self, source=pa.Table.from_batches(self._batches(), self.source.schema))

    @property
    def where(self) -> str:
        """The prefix of messages about this input."""
        return f"in the events of type `{self.type_name}` " if self.type_name is not None else ""


def _joined(chunks: Chunks) -> Chunks:
    """Join chunks that can be copied: decoding would copy them, too, and widen their numbers."""
    whole = copied(pa.chunked_array(chunks)) if len(chunks) > 1 else None
    return chunks if whole is None else [whole]


@dataclass(frozen=True, eq=False)
class Inputs:
    """All tables of events; `typed` if each table holds one event type."""

    tables: tuple[Input, ...]
    typed: bool = False

    def drained(self) -> Inputs:
        """Read readers into memory, since they can be read only once."""
        if not any([table.is_lazy for table in self.tables]):
            return self
        return Inputs(tuple([table.drained() for table in self.tables]), self.typed)

    def proved(
        self,
        names: Collection[str] | None = None,
        gate: Gate | None = None,
        *,
        is_decoded: bool = False,
    ) -> Inputs:
        """Prove the memory of some columns of all tables, or of all columns."""
        tables = tuple([table.proved(names, gate, is_decoded=is_decoded) for table in self.tables])
        is_changed = any(map(operator.is_not, tables, self.tables))
        return Inputs(tables, self.typed) if is_changed else self

    @property
    def num_rows(self) -> int:
        """The number of rows; readers must have been drained."""
        return sum(table.source.num_rows for table in self.tables)

    def emptied(self) -> Inputs:
        """Return the same columns without rows."""
        return Inputs(
            tuple(
                Input(
                    pa.Table.from_batches([], table.source.schema),
                    table.type_name,
                    is_sparse=table.is_sparse,
                )
                for table in self.tables
            ),
            self.typed,
        )

    @property
    def numbers(self) -> NDArray[np.int64] | None:
        """The row numbers if files were pruned; None if rows are counted from 0."""
        files = self.tables[0].files if len(self.tables) == 1 else ()
        if not files:
            return None
        ends = accumulate((part.rows for part in files), initial=0)
        if all(part.number == end for part, end in zip(files, ends, strict=False)):
            return None
        ranges = [np.arange(part.number, part.number + part.rows) for part in files]
        return np.concatenate(ranges)

    @property
    def columns(self) -> list[object]:
        """A comparable value, equal for inputs with equal columns."""
        return [
            (t.type_name, t.source.schema, t.is_open, t.is_sparse, t.unreadable)
            for t in self.tables
        ]


def opened(events: object, *, keeps_rows: bool = False) -> Inputs:
    """Open events of any kind; opened ones are returned unchanged.

    With `keeps_rows` columns of dicts can be coerced later.
    """
    if isinstance(events, Inputs):
        return events
    if not isinstance(events, Mapping):
        return Inputs((_input(events, None, keeps_rows),))
    for name in events:
        if not isinstance(name, str):
            raise DataError(f"a dict of events names their types, and {name!r} is no name")
    tables = tuple(_input(table, name, keeps_rows) for name, table in events.items())
    return Inputs(tables, typed=True)


def as_batch(events: Any, known: pa.Schema | None = None) -> Any:
    """Return a small table of one chunk as a batch, for `BatchDecoder`; others unchanged.

    The schema is proved unless it equals the `known` one.
    """
    if isinstance(events, pa.Table) and 0 < events.num_rows <= SMALL:
        if known is None or not events.schema.equals(known):
            prove_schema(events.schema)  # before any column is read
        # Slicing would read chunks that are not proved yet.
        if all(column.num_chunks == 1 for column in events.columns):
            return events.to_batches()[0]
    return events


def _input(events: object, type_name: str | None, keeps_rows: bool) -> Input:
    if isinstance(events, pa.Table | pa.RecordBatch | pa.RecordBatchReader):
        return _foreign(events, type_name)
    if isinstance(events, pa.Schema):
        return _checked(pa.Table.from_batches([], events), type_name)
    if isinstance(events, Input):
        return replace(events, type_name=type_name)
    if isinstance(events, list | tuple) and all(isinstance(row, Mapping) for row in events):
        batch, unreadable = table_of_rows(events, type_name)
        rows = events if keeps_rows else None
        return Input(batch, type_name, unreadable, rows=rows, is_sparse=True)
    if is_relation(events):
        return _foreign(table_of_relation(events), type_name)
    if is_of_spark(events):  # Arrow would collect every row
        raise DataError(_cannot_be(events, type_name))
    try:
        if hasattr(events, "__arrow_c_stream__"):
            # An object with a length is a data frame in memory: its dictionaries are known at once.
            imported = pa.table if hasattr(events, "__len__") else pa.RecordBatchReader.from_stream
            table = imported(events)
            return _foreign(_own(table) if is_of_pandas(events) else table, type_name)
        if hasattr(events, "__arrow_c_array__"):
            return _foreign(pa.record_batch(events), type_name)
    except (pa.ArrowException, ValueError) as problem:
        if foreign_table(events) is not None:
            raise DataError(_cannot_be(events, type_name)) from problem
        if is_of_pandas(events):
            return _of_frame(events, type_name, keeps_rows)
        raise DataError(f"Arrow cannot read these events: {problem}") from problem
    raise DataError(_cannot_be(events, type_name))


def _own(table: pa.Table) -> pa.Table:
    """Copy numbers and indexes, which Arrow leaves in the memory of a frame that may change."""
    columns = [
        pa.chunked_array([pa.concat_arrays([chunk]) for chunk in column.chunks], column.type)
        for column in table.columns
    ]
    return pa.Table.from_arrays(columns, schema=table.schema)


def _foreign(source: Any, type_name: str | None) -> Input:
    """Open a table, batch or reader with memory that is not proved yet."""
    found = _checked(source, type_name)
    batch = as_batch(found.source, found.source.schema)
    return replace(found, source=batch, unproved=frozenset(batch.schema.names))


def _checked(source: Any, type_name: str | None) -> Input:
    """Prove the schema; leave out columns that would crash Arrow's validation."""
    schema = source.schema
    odd = prove_schema(schema)
    if odd:
        kept = [place for place, name in enumerate(schema.names) if name not in odd]
        if isinstance(source, pa.RecordBatchReader):
            batches = (batch.select(kept) for batch in source)
            fields = [schema.field(place) for place in kept]
            source = pa.RecordBatchReader.from_batches(pa.schema(fields), batches)
        else:
            source = source.select(kept)
    return Input(source, type_name, odd)


def _of_frame(frame: object, type_name: str | None, keeps_rows: bool) -> Input:
    where = Input(None, type_name).where
    batch, unreadable, rows = table_of_frame(frame, where, type_name)
    return Input(batch, type_name, unreadable, rows=rows if keeps_rows else None)


def _cannot_be(events: object, type_name: str | None) -> str:
    foreign = foreign_table(events)
    if foreign is not None:
        whose = "these events are" if type_name is None else f"the events of `{type_name}` are"
        return f"{whose} {foreign.what}: {foreign.remedy}"
    given, remedy = f"of type {type(events).__name__}", ""
    if isinstance(events, list | tuple):
        odd = next(row for row in events if not isinstance(row, Mapping))
        given += f", with a member of type {type(odd).__name__}"
        if isinstance(odd, str | PathLike):
            remedy = ": give the folder of these files, or a pattern such as 'logs/*.csv'"
        elif hasattr(odd, "__arrow_c_stream__") or hasattr(odd, "__arrow_c_array__"):
            remedy = ": make one table of them, such as  pyarrow.concat_tables(…)"
    elif isinstance(events, Iterable) and not isinstance(events, bytes):
        remedy = ": if these are dicts, give  list(events)"
    if type_name is not None:
        return (
            f"a dict of events gives each type a table, and `{type_name}` is {given}: if these are"
            " the columns of one table, make one with  pyarrow.table(…)"
        )
    if remedy:
        return f"these events are {given}{remedy}"
    return (
        f"these events are {given}: give the path of files, a pyarrow table, batch or reader, a"
        " data frame, a list of dicts, or a dict of type name → one of these"
    )
