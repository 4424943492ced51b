"""CSV and TSV: types are inferred from all values if the first block is not enough.

Arrow infers types from the first block of a file. A column with other values later is read again
with one type after another, as Arrow does within a block.
"""

# long because: it is the one format with inferred types, and all that inference needs.

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, Self

import pyarrow as pa
import pyarrow.compute as pc

from sase.base.interface import option
from sase.binding.input_options import READING_OPTIONS, Reading
from sase.engine.columns.arrow.gate import prove_distinct
from sase.engine.columns.arrow.python_rows import BEYOND
from sase.engine.columns.decode.numbers import MOST_EXACT
from sase.engine.columns.decode.strings import is_unicode
from sase.engine.sources.formats.base import (
    BATCH,
    DICTIONARY,
    FileFormat,
    Kinds,
    KnownKinds,
    Scan,
    great_floats,
    scanned,
)
from sase.engine.sources.formats.dialect import dialect_of, lines_in, may_be_table
from sase.engine.sources.formats.text import (
    GREAT_AMONG_FLOATS,
    INTEGER,
    DecodedRow,
    TextFormat,
    fits_kind,
    no_unicode,
    text_reader,
)
from sase.engine.sources.unify import unified
from sase.errors import DataError

# Unquoted texts that mean a missing value.
MISSING = ["", "NULL", "null"]
_SAMPLED = 1 << 16
_NO_KINDS: KnownKinds = MappingProxyType({})
# In the order in which Arrow tries them.
_KINDS = (
    pa.null(),
    pa.int64(),
    pa.bool_(),
    pa.date32(),
    pa.time32("s"),
    pa.timestamp("us"),
    pa.timestamp("us", "UTC"),
    pa.timestamp("ns"),
    pa.timestamp("ns", "UTC"),
    pa.float64(),
)
NUMBERS = (pa.int64(), pa.float64())
# Patterns of Arrow's messages. The longest row that Arrow reads, and the message for longer ones.
BLOCK = 1 << 20
_TOO_LONG = ("straddling object", "Empty CSV file or block")
_ROW = re.compile(r"Row #(\d+): ")
_COLUMN = re.compile(r"In CSV column #(\d+): ")
_VALUE = re.compile(r"invalid value '(.*)'", re.DOTALL)
_NOT_UTF8 = "invalid UTF8 data"


class CsvFormat(TextFormat):
    """Comma-separated values; the first line names the columns."""

    name: ClassVar[str] = "csv"
    title: ClassVar[str] = "CSV (.csv, .tsv)"
    suffixes: ClassVar[tuple[str, ...]] = (".csv",)
    has_dictionaries = True
    has_header = True
    newline = ""
    # The delimiter of files in which no other one is found.
    usual: ClassVar[str] = ","
    options: ClassVar[Collection[str]] = tuple(
        name for name in READING_OPTIONS if name != "table_version"
    )

    def __init__(self) -> None:
        self.missing = MISSING
        # Whether the first lines have bytes that are not UTF-8.
        self.has_odd_bytes = False

    def with_reading(self, reading: Reading, known: Collection[str] = ()) -> Self:
        """Return the format with options; null texts are missing values, quoted or not."""
        found = super().with_reading(reading, known)
        found.missing = [*MISSING, *reading.null]
        found.texts, found.asked = {*known, *reading.text}, {*reading.text}
        return found

    def is_begun(self, first: str) -> bool:
        """Whether the first lines have as many columns each, two at least."""
        return "\0" not in first and may_be_table(lines_in(first))

    def found_in(self, path: str) -> Self:
        """Return the format with the encoding and the dialect of a file."""
        found = super().found_in(path)
        with found.text(path) as lines:
            first = lines.read(_SAMPLED)
        found = found.found_among(lines_in(first))
        found.has_odd_bytes = not is_unicode(first)
        return found

    def found_among(self, lines: Sequence[str]) -> Self:
        """Return the format with the dialect that the first lines have."""
        given = self.reading
        own = dialect_of(lines, self.usual, given.delimiter, given.quote, given.decimal)
        return self._with(**own._asdict())

    @property
    def notes(self) -> tuple[str, ...]:
        """The delimiter, quote and decimal sign, if they are not the usual ones."""
        own, found = self.reading, list[str]()
        if self.delimiter != self.usual:
            found.append(f"columns are divided by {own.delimiter!r}")
        if own.quote == "'":
            found.append("values are quoted by an apostrophe")
        if own.decimal == ",":
            found.append("numbers have a decimal comma")
        if self.has_odd_bytes:
            such = option("encoding", "cp1252")
            found.append(f"some text is not UTF-8: say its encoding, such as  {such}")
        return (f"in the events {', '.join(found)}",) if found else ()

    @property
    def delimiter(self) -> str:
        """The character between two columns."""
        return self.reading.delimiter or self.usual

    @property
    def quote(self) -> str:
        """The character around a value."""
        return self.reading.quote or '"'

    def arrow_options(self, kinds: KnownKinds, columns: Sequence[str] = ()) -> dict[str, Any]:
        """Return Arrow's options with the types of some columns; reads `columns`, or all."""
        from pyarrow import csv as arrow_csv

        return {
            "parse_options": arrow_csv.ParseOptions(
                delimiter=self.delimiter, quote_char=self.quote, newlines_in_values=True
            ),
            "convert_options": arrow_csv.ConvertOptions(
                decimal_point=self.reading.decimal or ".",
                column_types=dict.fromkeys(self.texts, pa.string()) | dict(kinds),
                include_columns=list(columns),
                null_values=self.missing,
                strings_can_be_null=True,
                quoted_strings_can_be_null=len(self.missing) > len(MISSING),
            ),
        }

    def arrow_format(self, strings: Collection[str] = ()) -> Any:
        """Return Arrow's reader of CSV."""
        from pyarrow import dataset  # slow; not needed for tables

        return dataset.CsvFileFormat(**self.arrow_options(dict.fromkeys(strings, DICTIONARY)))

    def decode_rows(self, lines: Iterable[str], kinds: KnownKinds) -> Iterator[DecodedRow]:
        """Decode the lines after the header; too few or too many values are no row."""
        records = self._records(lines)
        _, _, names = next(records, (0, "", []))
        texts_only = dict.fromkeys(self.texts, pa.string())
        decimal = self.reading.decimal
        readers = [text_reader(texts_only.get(n, kinds.get(n)), decimal) for n in names]
        for number, raw, texts in records:
            text = raw.rstrip("\r\n")
            if len(texts) == len(names):
                each = zip(names, readers, texts, strict=True)
                values = {n: None if t in self.missing else read(t) for n, read, t in each}
                yield DecodedRow(number, text, values)
            elif texts:
                why = f"expected {len(names)} columns, got {len(texts)}"
                if raw.count(self.quote) % 2:
                    why += ": a quote is opened and never closed"
                stream = f"this line has {len(texts)} values, and there are {len(names)} columns"
                yield DecodedRow(number, text, None, why, stream)

    def _records(self, lines: Iterable[str]) -> Iterator[tuple[int, str, list[str]]]:
        """Split lines into records: number of the last line, text, and values."""
        taken: list[str] = []

        def watched() -> Iterator[str]:
            for line in lines:
                taken.append(line)
                yield line

        csv.field_size_limit(2**31 - 1)  # a quote may never be closed
        reader = csv.reader(watched(), delimiter=self.delimiter, quotechar=self.quote)
        for values in reader:
            yield reader.line_num, "".join(taken), values
            taken.clear()

    def parse(
        self, data: bytes, kinds: KnownKinds, *, skips_odd: bool = False, where: str = ""
    ) -> pa.Table:
        """Parse lines in memory, header first."""
        from pyarrow import csv as arrow_csv

        options = self.arrow_options(kinds)
        if skips_odd:
            options["parse_options"].invalid_row_handler = lambda row: "skip"
        # Use Arrow's memory, not Python objects: after an error Arrow's threads may still hold the
        # input, and freeing a Python object then crashes the process.
        memory = pa.BufferOutputStream()
        memory.write(data)
        buffer = memory.getvalue()
        table = arrow_csv.read_csv(pa.BufferReader(buffer), **options)
        prove_distinct(table.schema.names, where)
        for name in great_floats(table):
            options["convert_options"].column_types = dict.fromkeys(table.schema.names, pa.string())
            texts = arrow_csv.read_csv(pa.BufferReader(buffer), **options).column(name)
            great = _great(texts)
            if great and not skips_odd:
                raise pa.ArrowInvalid(f"{great[0]}: {GREAT_AMONG_FLOATS}")
            if great and _are_integers(texts):
                at = table.schema.get_field_index(name)
                table = table.set_column(at, name, pa.nulls(table.num_rows, pa.int64()))
        return table

    # ------------------------------------------------------------ columns and types

    def own_columns(self, path: str) -> list[str]:
        """Return the names in the first line of a file."""
        with self.text(path) as lines:
            return next((values for _, _, values in self._records(lines)), [])

    def read(self, scan: Scan, size: int = BATCH) -> Iterator[pa.Table]:
        """Read columns by Arrow's dataset, or by its CSV reader for other compressions."""
        return (FileFormat if self.is_arrows(scan.path) else TextFormat).read(self, scan, size)

    def read_all(self, scan: Scan) -> pa.Table:
        """Read columns into memory."""
        return scanned(scan) if self.is_arrows(scan.path) else super().read_all(scan)

    def _read_own(self, scan: Scan, own: pa.Schema, size: int) -> Iterator[pa.Table]:
        from pyarrow import csv as arrow_csv

        # If only folder columns are wanted, one column is read to count rows.
        names = own.names or self.own_columns(scan.path)[:1]
        kinds = dict.fromkeys(names, pa.string()) | {field.name: field.type for field in own}
        options = self.arrow_options(kinds, names)
        options["convert_options"].include_missing_columns = True
        with self.opened(scan.path) as file:
            yield from arrow_csv.open_csv(file, **options)

    def infer_schema(self, path: str, *, judges: bool = False) -> pa.Schema:
        """Return the columns by the first block, or with `judges` by its good lines."""
        try:
            schema = self._first_block(path)
        except pa.ArrowException as problem:
            if not judges or self.explain_fault(path, None, problem).row is None:
                raise
            schema = self._good_lines(path).schema
        return pa.schema([field.with_type(_first_kind(field.type)) for field in schema])

    def _first_block(self, path: str) -> pa.Schema:
        """Return the columns by the first block; their names must be UTF-8."""
        names = self.own_columns(path)
        if not all(map(is_unicode, names)):
            raise DataError(f"{path}, line 1: the header {no_unicode()}")
        prove_distinct(names, f"{path}, line 1: ")
        if self.is_arrows(path):
            return FileFormat.infer_schema(self, path)
        from pyarrow import csv as arrow_csv

        with self.opened(path) as file:
            return arrow_csv.open_csv(file, **self.arrow_options({})).schema

    def common_kind(self, kinds: Sequence[pa.DataType]) -> pa.DataType | None:
        """Return text, which fits every value."""
        return pa.string()

    def types_of_rows(self, paths: Sequence[str], names: Collection[str] | None = None) -> Kinds:
        """Return no types: the header names all columns, and `retyped` types them."""
        return {}

    def retyped(
        self, paths: Sequence[str], problem: DataError, names: Collection[str], *, judges: bool
    ) -> Kinds:
        """Return the type of the column at fault, or of all columns by their good lines."""
        name = problem.column
        if name is None:
            if not judges:
                return {}
            schemas = [self._good_lines(path).schema for path in paths]
            found, _ = unified(schemas, paths, self.common_kind)
            known = {field.name: _first_kind(field.type) for field in found}
            return {name: known[name] for name in names if name in known}
        if name in self.texts:
            return {name: pa.string()}
        having = self._having(paths, name)
        kind = next(
            (each for each in _KINDS if all(self._has_type(path, name, each) for path in having)),
            pa.string(),
        )
        if pa.types.is_floating(kind) and all(_are_integers(self._texts(p, name)) for p in having):
            kind = pa.int64()  # some values exceed 64 bits
        return {name: kind}

    def number_type(self, paths: Sequence[str], name: str) -> pa.DataType | None:
        """Return the number type of a column if most of its distinct values are numbers."""
        having = self._having(paths, name)
        # Most text columns have no numbers, which a sample shows.
        for path in having[:1]:
            first = self._good_lines(path, {name: pa.string()}, most=_SAMPLED).column(name)
            first = self._with_points(first)
            if first.null_count < len(first) and type_of_numbers(first) is None:
                return None
        texts = [chunk for path in having for chunk in self._texts(path, name).chunks]
        return type_of_numbers(self._with_points(pa.chunked_array(texts, pa.string())))

    def _with_points(self, texts: pa.ChunkedArray) -> pa.ChunkedArray:
        """Texts of numbers with a point in place of a decimal comma."""
        return pc.replace_substring(texts, ",", ".") if self.reading.decimal == "," else texts

    def check_floats(self, path: str, name: str) -> None:
        """Refuse the first integer that floats round, if Arrow finds any."""
        if _great(self._texts(path, name)):
            super().check_floats(path, name)

    def remedy(self, name: str) -> str:
        """Explain how to read a column as text."""
        return f", or read the column as text with  {option('text', name)}"

    def odd_texts(self, paths: Sequence[str], name: str) -> list[str]:
        """Return the distinct values of a text column that are no numbers."""
        texts = [chunk for p in self._having(paths, name) for chunk in self._texts(p, name).chunks]
        values = pc.unique(pa.chunked_array(texts, pa.string())).drop_null()
        found = zip(values.to_pylist(), self._with_points(values).to_pylist(), strict=True)
        return [value for value, pointed in found if not fits_kind(pointed, NUMBERS[1])]

    def _having(self, paths: Sequence[str], name: str) -> list[str]:
        return [path for path in paths if name in self.own_columns(path)]

    def _has_type(self, path: str, name: str, kind: pa.DataType) -> bool:
        from pyarrow import csv as arrow_csv

        try:
            with self.opened(path) as file:
                for _ in arrow_csv.open_csv(file, **self.arrow_options({name: kind}, [name])):
                    pass
        except pa.ArrowException:
            return False
        return True

    def _texts(self, path: str, name: str) -> pa.ChunkedArray:
        """Return the readable values of a column as text."""
        from pyarrow import csv as arrow_csv

        kinds = {name: pa.string()}
        try:
            with self.opened(path) as file:
                return arrow_csv.read_csv(file, **self.arrow_options(kinds, [name])).column(0)
        except pa.ArrowException:
            return self._good_lines(path, kinds).column(name)

    def _good_lines(
        self, path: str, kinds: KnownKinds = _NO_KINDS, most: int | None = None
    ) -> pa.Table:
        """Parse the lines that are rows, of a file or its first `most` characters."""
        good, count, size = list[str](), 0, 0
        with self.text(path) as lines:
            for _, raw, values in self._records(lines):
                size += len(raw)
                if good and most is not None and size > most:
                    break
                count = count or len(values)
                if len(values) == count and is_unicode(raw) and not _is_long(raw):
                    good.append(raw)
        return self.parse("".join(good).encode(), kinds, skips_odd=True, where=f"{path}: ")

    # ------------------------------------------------------------ faults

    def _explained(self, path: str, kinds: KnownKinds, message: str) -> DataError:
        """Read again in one thread, in which Arrow counts the rows, and word its message."""
        if any(words in message for words in _TOO_LONG):
            with self.text(path) as lines:
                for place, (last, raw, _) in enumerate(self._records(lines)):
                    if _is_long(raw):
                        return _of_long_row(path, place, last, raw)
        header = self.own_columns(path)
        if _ROW.search(message) is None:
            message = self._said_in_one_thread(path, kinds, header) or message
        row, column, value = (each.search(message) for each in (_ROW, _COLUMN, _VALUE))
        where = path if row is None else f"{path}, line {row[1]}"
        number = None if row is None else int(row[1]) - 2
        # Arrow ends a line at `\r`, too, and so may see other columns.
        at = len(header) if column is None else int(column[1])
        name = header[at] if at < len(header) else None
        if _NOT_UTF8 in message:
            of = "this" if name is None else f"`{name}`"
            return DataError(f"{where}: {of} {no_unicode()}", number, name)
        if value is not None and name is not None and name in kinds:
            why = f"{value[1]!r}: the values before are of the type {kinds[name]}"
            why += "; correct the row, or leave it out"
            if pa.types.is_integer(kinds[name]) and INTEGER.fullmatch(value[1]):
                why = f"{value[1]}: {BEYOND}{self.remedy(name)}"
            return DataError(f"{where}: `{name}` is {why}", number, name, value[1])
        said = _ROW.sub("", message.rsplit("error: ", 1)[-1])
        return DataError(f"{where}: {said[:1].lower()}{said[1:]}", number)

    def _said_in_one_thread(
        self, path: str, kinds: KnownKinds, header: Sequence[str]
    ) -> str | None:
        from pyarrow import csv as arrow_csv

        in_one_thread = arrow_csv.ReadOptions(use_threads=False)
        columns = [name for name in header if name in kinds]
        try:
            with self.opened(path) as file:
                options = self.arrow_options(kinds, columns)
                arrow_csv.read_csv(file, read_options=in_one_thread, **options)
        except (OSError, pa.ArrowException) as problem:
            return str(problem)
        return None


class TsvFormat(CsvFormat):
    """CSV with tabs."""

    name = "tsv"
    title = ""
    suffixes = (".tsv",)
    usual = "\t"

    def is_begun(self, first: str) -> bool:
        """Return False: CSV has any delimiter."""
        return False


def _of_long_row(path: str, number: int, last: int, raw: str) -> DataError:
    """Return the error for a row, 0 for the header, that ends in a line and is too long."""
    more = raw.rstrip("\r\n").count("\n")
    why = f"{'this row' if number else 'the header'} has {len(raw):,} characters"
    if more:
        why += f" and ends in line {last} (is a quote never closed?)"
    why += f", and rows of CSV are read up to {BLOCK:,} bytes; "
    why += f"{'leave it out, or ' if number else ''}give the events as .parquet, .arrow or .jsonl"
    return DataError(f"{path}, line {last - more}: {why}", number - 1 if number else None)


def _is_long(row: str) -> bool:
    """Whether Arrow reads no row as long."""
    return 4 * len(row) > BLOCK and len(row.encode(errors="surrogatepass")) > BLOCK


def _first_kind(kind: pa.DataType) -> pa.DataType:
    """Return the type with which to read a column first, given the type that Arrow infers."""
    if pa.types.is_binary(kind):
        return pa.string()  # only a reader of the column needs UTF-8
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", kind.tz)  # fractions mostly have six digits
    return kind


def no_numbers(values: Iterable[str]) -> list[str]:
    """Return the texts that are no numbers."""
    return [value for value in values if not fits_kind(value, NUMBERS[1])]


def type_of_numbers(texts: pa.ChunkedArray) -> pa.DataType | None:
    """Return the number type of texts, if at least half of the distinct ones are numbers."""
    values = pc.unique(texts).drop_null().to_pylist()
    numbers = [value for value in values if fits_kind(value, NUMBERS[1])]
    if not values or 2 * len(numbers) < len(values):
        return None
    return NUMBERS[not all(map(INTEGER.fullmatch, numbers))]


def _great(texts: pa.ChunkedArray) -> list[str]:
    """Return the integers in text that floats cannot represent."""
    digits = len(str(MOST_EXACT))
    long = pc.match_substring_regex(texts, rf"^\s*[+-]?0*[1-9]\d{{{digits - 1},}}\s*$")
    values = pc.unique(texts.filter(long)).to_pylist()
    read = text_reader(pa.float64())
    return [value for value in values if not isinstance(read(value), float)]


def _are_integers(texts: pa.ChunkedArray) -> bool:
    """Whether all texts are integers, of any size."""
    return pc.all(pc.match_substring_regex(texts, r"^\s*[+-]?\d+\s*$")).as_py() is not False
