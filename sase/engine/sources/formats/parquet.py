"""Parquet: strings as dictionaries; row groups pruned by statistics that a footer proves."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import Any, NamedTuple

import pyarrow as pa

from sase.engine.columns.arrow.data_types import value_type
from sase.engine.sources.formats.base import (
    BATCH,
    DAMAGE,
    FileFormat,
    Scan,
    proved,
    scanned,
    with_given,
)
from sase.engine.sources.pruning import ColumnBounds, PruningPredicate, plain

# ---------------------------------------------------------------- parquet footer

# Arrow decodes statistics on access, in Python and in dataset filters. If one is truncated, or
# does not have the type of its column, the process crashes. So the footer, a Thrift struct in
# compact encoding, is checked first: the type of each column, the lengths of its least and
# greatest value, and of histograms of levels. https://github.com/apache/parquet-
# format/blob/master/src/main/thrift/parquet.thrift

# The end of a file: the length of the footer, and four letters.
_TAIL = 8
# Bytes of the end of a file that are read at once.
_END = 1 << 16
# Bytes of a value by physical type; texts have any length.
_WIDTHS = {0: 1, 1: 4, 2: 8, 3: 12, 4: 4, 5: 8}
_TEXT, _NONE = 6, -1
# Thrift types, and numbers of struct fields.
_BYTE, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = 3, 7, 8, 9, 10, 11, 12
_SCHEMA, _GROUPS, _CHUNKS, _COLUMN, _PHYSICAL, _STATISTICS, _SIZES = 2, 4, 1, 3, 1, 12, 16
_VALUES = (1, 2, 5, 6)
_TYPE, _REPETITION, _CHILDREN, _OPTIONAL, _REPEATED = 1, 3, 5, 1, 2
_TEXT_BYTES, _REPETITIONS, _DEFINITIONS = 1, 2, 3


class UnsoundFooterError(pa.ArrowInvalid):  # type: ignore[misc]
    """The statistics do not fit their columns, or there is no footer.

    It is a subclass of Arrow's error for damage that Arrow detects.
    """


def check_footer(file: Any) -> None:
    """Check the footer of an open file; raise an error if it is unsound."""
    size = file.size()
    # One request to a server, unless the footer is long.
    end = bytes(file.read_at(min(size, _END), max(size - _END, 0)))
    length = int.from_bytes(end[-_TAIL:-4], "little")
    if size < _TAIL + length:
        raise UnsoundFooterError("the footer is longer than the file")
    if len(end) < _TAIL + length:
        end = bytes(file.read_at(_TAIL + length, size - _TAIL - length))
    try:
        _Footer(end[len(end) - _TAIL - length : len(end) - _TAIL]).check()
    except (IndexError, RecursionError) as problem:
        raise UnsoundFooterError("the footer is cut off") from problem


class _Leaf(NamedTuple):
    """A column of the schema: its type, and its greatest definition and repetition levels."""

    type: int
    definitions: int
    repetitions: int


def _leaves(elements: Sequence[Mapping[int, int]]) -> list[_Leaf]:
    found, open_groups = list[_Leaf](), [[elements[0][_CHILDREN], 0, 0]]
    for element in elements[1:]:
        while not open_groups[-1][0]:
            open_groups.pop()
        open_groups[-1][0] -= 1
        _, definitions, repetitions = open_groups[-1]
        definitions += element[_REPETITION] in (_OPTIONAL, _REPEATED)
        repetitions += element[_REPETITION] == _REPEATED
        if element[_CHILDREN]:
            open_groups.append([element[_CHILDREN], definitions, repetitions])
        else:
            found.append(_Leaf(element[_TYPE], definitions, repetitions))
    return found


# Readers of struct fields by number; each takes the Thrift type.
_Fields = Mapping[int, Callable[[int], object]]


class _Footer:
    """Reads a footer once, from the beginning."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0
        self._type = _NONE
        self._lengths: list[int] = []
        # For each schema element: type, repetition, and number of children.
        self._elements: list[dict[int, int]] = []
        self._leaves: list[_Leaf] = []
        self._number_of_column = 0
        self._sizes: dict[int, int] = {}

    def check(self) -> None:
        """Read everything; compare the lengths of statistics with column types."""
        element: _Fields = {
            number: partial(self._of_element, number) for number in (_TYPE, _REPETITION, _CHILDREN)
        }
        sizes: _Fields = {
            _TEXT_BYTES: self._text_bytes,
            _REPETITIONS: partial(self._histogram, _REPETITIONS),
            _DEFINITIONS: partial(self._histogram, _DEFINITIONS),
        }
        statistics: _Fields = dict.fromkeys(_VALUES, self._value)
        column: _Fields = {
            _PHYSICAL: self._physical,
            _STATISTICS: lambda kind: self._struct(statistics),
            _SIZES: lambda kind: self._struct(sizes),
        }
        chunk: _Fields = {_COLUMN: lambda kind: self._checked(column)}
        group: _Fields = {_CHUNKS: lambda kind: self._chunks(chunk)}
        self._struct(
            {
                _SCHEMA: lambda kind: self._schema(element),
                _GROUPS: lambda kind: self._list(lambda of: self._struct(group)),
            }
        )

    def _schema(self, element: _Fields) -> None:
        self._list(lambda of: self._element(element))
        self._leaves = _leaves(self._elements)

    def _element(self, element: _Fields) -> None:
        self._elements.append({_TYPE: _NONE, _REPETITION: 0, _CHILDREN: 0})
        self._struct(element)

    def _of_element(self, number: int, kind: int) -> None:
        self._elements[-1][number] = self._integer()

    def _chunks(self, chunk: _Fields) -> None:
        self._number_of_column = -1
        self._list(lambda of: self._struct(chunk))

    def _checked(self, column: _Fields) -> None:
        self._type, self._lengths, self._sizes = _NONE, [], {}
        self._number_of_column += 1
        self._struct(column)
        if self._type != self._leaves[self._number_of_column].type:
            raise UnsoundFooterError("a column is not of the type that the schema has")
        width = _WIDTHS.get(self._type)
        if self._type != _TEXT and any(length != width for length in self._lengths):
            raise UnsoundFooterError("a statistic is not as long as its type says")
        if self._sizes:
            self._check_sizes()

    def _check_sizes(self) -> None:
        """Compare the histograms, if present, with the column's levels."""
        _, definitions, repetitions = self._leaves[self._number_of_column]
        found = self._sizes
        if (
            found.get(_DEFINITIONS, 0) not in (0, definitions + 1)
            or found.get(_REPETITIONS, 0) not in (0, repetitions + 1)
            or (_TEXT_BYTES in found and self._type != _TEXT)
        ):
            raise UnsoundFooterError("a statistic of sizes is not one of its column")

    def _text_bytes(self, kind: int) -> None:
        self._pass(kind)
        self._sizes[_TEXT_BYTES] = 1

    def _histogram(self, number: int, kind: int) -> None:
        count = 0

        def one(of: int) -> None:
            nonlocal count
            count += 1
            self._pass(of, is_element=True)

        self._list(one)
        self._sizes[number] = count

    def _physical(self, kind: int) -> None:
        self._type = self._integer()

    def _value(self, kind: int) -> None:
        length = self._number()
        self._at += length
        self._lengths.append(length)

    # ------------------------------------------------------------ Thrift

    def _number(self) -> int:
        """Read a varint: seven bits in each byte."""
        data, at, found, shift = self._data, self._at, 0, 0
        while (byte := data[at]) & 0x80:
            found |= (byte & 0x7F) << shift
            shift += 7
            at += 1
        self._at = at + 1
        return found | byte << shift

    def _integer(self) -> int:
        """Read a zigzag integer."""
        found = self._number()
        return found >> 1 ^ -(found & 1)

    def _struct(self, fields: _Fields) -> None:
        """Read a struct: known fields by their readers; skip the others."""
        data, number = self._data, 0
        while head := data[self._at]:
            self._at += 1
            number = number + (head >> 4) if head >> 4 else self._integer()
            kind, read = head & 15, fields.get(number)
            if read is not None:
                read(kind)
            elif _BYTE < kind < _DOUBLE:  # most fields: skip inline
                at = self._at
                while data[at] & 0x80:
                    at += 1
                self._at = at + 1
            elif kind == _BINARY and (byte := data[self._at]) < 0x80:
                self._at += byte + 1
            else:
                self._pass(kind)
        self._at += 1

    def _list(self, read: Callable[[int], object]) -> None:
        head = self._data[self._at]
        self._at += 1
        for _ in range(self._number() if head >> 4 == 15 else head >> 4):
            read(head & 15)

    def _pass(self, kind: int, *, is_element: bool = False) -> None:
        """Skip a value of a type; a boolean field has no bytes, but an element has one."""
        if kind < _BYTE:
            self._at += is_element
        elif kind == _BYTE:
            self._at += 1
        elif kind < _DOUBLE:
            self._number()
        elif kind == _DOUBLE:
            self._at += 8
        elif kind == _BINARY:
            length = self._number()
            self._at += length
        elif kind in (_LIST, _SET):
            self._list(lambda of: self._pass(of, is_element=True))
        elif kind == _STRUCT:
            self._struct({})
        elif kind == _MAP and (count := self._number()):
            kinds = self._data[self._at]
            self._at += 1
            for _ in range(count):
                self._pass(kinds >> 4, is_element=True)
                self._pass(kinds & 15, is_element=True)


# ---------------------------------------------------------------- parquet

# A row group is pruned if it provably has no event of interest and no bad row; its rows are still
# counted.

# Bytes of a column read at once, if memory is limited.
BUFFER = 1 << 18
# Nanoseconds of the units of times.
_UNITS = {"milliseconds": 10**6, "microseconds": 10**3, "nanoseconds": 1}


class ParquetFormat(FileFormat):
    """Parquet files; a part is a row group."""

    name = "parquet"
    title = "Parquet (.parquet)"
    suffixes = (".parquet", ".pq")
    has_dictionaries = True

    def is_begun(self, first: str) -> bool:
        """Whether the first bytes are those of every file of Parquet."""
        return first.startswith("PAR1")

    def arrow_format(self, strings: Collection[str] = ()) -> Any:
        """Return Arrow's reader of Parquet."""
        from pyarrow import dataset  # slow; not needed for tables

        options = dataset.ParquetReadOptions(dictionary_columns=set(strings))
        return dataset.ParquetFileFormat(read_options=options)

    def read(self, scan: Scan, size: int = BATCH) -> Iterator[pa.Table]:
        """Read columns in batches of at most `size` rows; Arrow does not check UTF-8."""
        from pyarrow import fs  # slow; not needed for tables

        first = scan.first
        # A thread of Arrow that reads a file of Python ahead could abort the end of the process.
        if scan.reads_ahead and not isinstance(scan.fragment.filesystem, fs.PyFileSystem):
            tables = super().read(scan, size)
        else:
            tables = with_given(scan, lambda own: _pages(scan, own, size))
        for table in tables:
            yield proved(table, scan.path, first)
            first += table.num_rows

    def read_all(self, scan: Scan) -> pa.Table:
        """Read columns into memory."""
        return proved(scanned(scan), scan.path, scan.first)

    def parts(
        self, path: str, fragment: Any, predicate: PruningPredicate
    ) -> Iterator[tuple[Any, int]]:
        """Yield runs of row groups to read, and the rows of those to skip."""
        try:
            kept = _kept(fragment, predicate)
        except DAMAGE:  # in statistics, which only save time
            kept = [True]
        if all(kept):
            yield fragment, 0
            return
        for is_kept, run in groupby(range(len(kept)), key=kept.__getitem__):
            groups = list(run)
            rows = sum(fragment.metadata.row_group(each).num_rows for each in groups)
            yield fragment.subset(row_group_ids=groups) if is_kept else None, rows


def _pages(scan: Scan, own: pa.Schema, size: int) -> Iterator[pa.RecordBatch]:
    """Read columns by pages: a dataset would load whole row groups."""
    from pyarrow import parquet  # slow; not needed for tables

    known = scan.fragment.physical_schema.names
    coded = [f.name for f in own if pa.types.is_dictionary(f.type) and f.name in known]
    groups = [group.id for group in scan.fragment.row_groups]
    with (
        scan.fragment.filesystem.open_input_file(scan.fragment.path) as source,
        parquet.ParquetFile(
            source, read_dictionary=coded, buffer_size=BUFFER, pre_buffer=False
        ) as file,
    ):
        # Each thread would keep memory of its own.
        yield from file.iter_batches(size, groups, own.names, use_threads=False)


def footer(fragment: Any) -> Any:
    """Return the checked footer of a file; its statistics are safe to read."""
    with fragment.filesystem.open_input_file(fragment.path) as file:
        check_footer(file)
    return fragment.metadata


def _kept(fragment: Any, predicate: PruningPredicate) -> list[bool]:
    """Return for each row group whether it must be read."""
    from pyarrow import dataset  # slow; not needed for tables

    metadata, schema = footer(fragment), fragment.physical_schema
    places = {metadata.schema.column(n).path: n for n in range(metadata.num_columns)}
    if not cannot_be_bad(schema, predicate):
        return [True] * metadata.num_row_groups
    given = {
        name: ColumnBounds(value, value)
        for name, said in dataset.get_partition_keys(fragment.partition_expression).items()
        if (value := plain(said)) is not None
    }
    found = []
    for number in range(metadata.num_row_groups):
        group, bounds = metadata.row_group(number), dict(given)
        for name in predicate.columns & places.keys():
            known = _bounds(group.column(places[name]).statistics)
            if known is not None:
                bounds[name] = known
        found.append(predicate.may_match(bounds))
    return found


def cannot_be_bad(schema: pa.Schema, predicate: PruningPredicate) -> bool:
    """Whether the named columns have types with only valid values, except NULL in roles."""
    for name in predicate.named:
        index = schema.get_field_index(name)
        if index < 0:
            continue
        kind = value_type(schema.field(index).type)
        is_sound = pa.types.is_integer(kind) and not pa.types.is_uint64(kind)
        is_sound |= pa.types.is_timestamp(kind)
        # A text in the column of the time may be no time.
        is_sound |= pa.types.is_string(kind) and name == predicate.column
        if name not in predicate.roles:
            is_sound |= pa.types.is_string(kind)
            is_sound |= pa.types.is_floating(kind) or pa.types.is_boolean(kind)
            is_sound |= pa.types.is_date(kind)
        if not is_sound:
            return False
    return True


def _bounds(statistics: Any) -> ColumnBounds | None:
    """The bounds of a column of a row group, if its statistics have them."""
    if statistics is None or not (statistics.has_min_max and statistics.has_null_count):
        return None
    kind = json.loads(statistics.logical_type.to_json())
    has_nulls = bool(statistics.null_count)
    unit = 86_400 * 10**9 if kind["Type"] == "Date" else _UNITS.get(kind.get("timeUnit", ""))
    if unit is not None:
        return ColumnBounds(statistics.min_raw * unit, statistics.max_raw * unit, has_nulls)
    try:
        least, greatest = plain(statistics.min), plain(statistics.max)
    except UnicodeError:
        return None
    if least is None or greatest is None:
        return None
    return ColumnBounds(least, greatest, has_nulls)
