"""Text formats: a row in each line, decoded in one place for reading, salvaging and following.

Arrow reads valid files. If a line is no row, or a value does not fit its column, rows are decoded
one by one: to explain the fault, infer types, put bad rows into quarantine, or follow a growing
file.
"""

from __future__ import annotations

import io
import re
from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import replace
from itertools import islice
from typing import Any, ClassVar, NamedTuple, Self

import pyarrow as pa

from sase.base.interface import option
from sase.engine.columns.arrow.data_types import value_type
from sase.engine.columns.arrow.python_rows import BEYOND, UNREADABLE
from sase.engine.columns.decode.numbers import MOST_EXACT
from sase.engine.columns.decode.strings import is_unicode
from sase.engine.sources.formats.base import (
    BATCH,
    SAMPLE,
    FileFormat,
    Kinds,
    KnownKinds,
    Scan,
    with_given,
)
from sase.engine.sources.formats.opening import is_arrows, marked_encoding, opened
from sase.errors import DataError

Row = dict[str, Any]
# An integer in text; and the remedy for one that floats round.
INTEGER = re.compile(r"\s*[+-]?\d+\s*")
GREAT_AMONG_FLOATS = (
    "no float has this value, and other values of the column are floats: give an identifier as"
    " text, a number that may be rounded with a point, such as 1.0e19"
)


class DecodedRow(NamedTuple):
    """A line of text as a row, or the reason why it is none.

    `line` is the number of its last line, from 1; `text` is the line. Messages on streams use
    `why_in_stream` if present.
    """

    line: int
    text: str
    values: Row | None
    why: str = ""
    why_in_stream: str = ""


class TextFormat(FileFormat):
    """A format that Arrow cannot read: subclasses only need `decode_rows`.

    Bytes that are not UTF-8 become surrogates in decoded text.
    """

    is_text = True
    options: ClassVar[Collection[str]] = (*FileFormat.options, "encoding")
    # Whether it has a row in a line, and so may be followed.
    has_lines: ClassVar[bool] = True
    # Whether the first line names the columns; otherwise rows do, and later rows may add some.
    has_header: ClassVar[bool] = False
    # The end of a line, as for `open`.
    newline: ClassVar[str] = "\n"

    def opened(self, path: str) -> pa.NativeFile:
        """Open a file as text in UTF-8."""
        return opened(path, self.reading.encoding)

    def found_in(self, path: str) -> Self:
        """Return the format with the encoding that a mark at the beginning of a file names."""
        return self if self.reading.encoding else self._with(encoding=marked_encoding(path))

    def _with(self, **options: Any) -> Self:
        found = copy(self)
        found.reading = replace(self.reading, **options)
        return found

    def is_arrows(self, path: str) -> bool:
        """Whether Arrow's dataset reads a file, decompressing it by its suffix."""
        return self.reading.encoding is None and is_arrows(path)

    @abstractmethod
    def decode_rows(self, lines: Iterable[str], kinds: KnownKinds) -> Iterator[DecodedRow]:
        """Decode lines, with line ends and a header if there is one, into rows.

        Text is parsed as the type of its column in `kinds`; text that does not fit stays text.
        Empty lines are skipped.
        """

    def parse(
        self, data: bytes, kinds: KnownKinds, *, skips_odd: bool = False, where: str = ""
    ) -> pa.Table | None:
        """Parse lines in memory by Arrow, or return None; errors begin with `where`.

        With `skips_odd`, lines that are no rows and values that do not fit are skipped.
        """
        return None

    def rows(self, path: str, kinds: KnownKinds) -> Iterator[DecodedRow]:
        """Decode the rows of a file."""
        with self.text(path) as lines:
            yield from self.decode_rows(lines, kinds)

    def text(self, path: str) -> io.TextIOWrapper:
        """Open a file, which may be compressed."""
        return io.TextIOWrapper(self.opened(path), "utf-8-sig", "surrogateescape", self.newline)

    def arrow_format(self, strings: Collection[str] = ()) -> Any:
        """Return a stand-in format, so that a dataset can list files and their folder columns."""
        from pyarrow import dataset  # slow; not needed for tables

        return dataset.JsonFileFormat()

    def count_rows(self, dataset: Any) -> int | None:
        """Return None: lines are not counted."""
        return None

    def infer_schema(self, path: str, *, judges: bool = False) -> pa.Schema:
        """Return the columns of all rows."""
        found = self.types_of_rows([path])
        if not found:
            raise pa.ArrowInvalid("there is no row")
        return pa.schema(found)

    def read(self, scan: Scan, size: int = BATCH) -> Iterator[pa.Table]:
        """Read columns, NULL if a row lacks one, with those from folder names."""
        return with_given(scan, lambda own: self._read_own(scan, own, size))

    def _read_own(self, scan: Scan, own: pa.Schema, size: int) -> Iterator[pa.Table]:
        """Read the columns that are in the file itself, block by block."""
        kinds = {field.name: field.type for field in own}
        rows = self.rows(scan.path, kinds)
        while block := list(islice(rows, size)):
            odd = next((row for row in block if row.values is None), None)
            if odd is not None:
                raise pa.ArrowInvalid(odd.why)
            arrays = [
                _array([row.values.get(name) for row in block if row.values is not None], kind)
                for name, kind in kinds.items()
            ]
            # A dummy column has the number of rows if only folder columns are wanted.
            yield pa.table([*arrays, pa.nulls(len(block))], [*kinds, "\0"])

    def check_floats(self, path: str, name: str) -> None:
        """Refuse the first integer in a float column that floats round."""
        for row in self.rows(path, {name: pa.float64()}):
            value = (row.values or {}).get(name)
            if isinstance(value, int) and abs(value) > MOST_EXACT:
                why = f"{GREAT_AMONG_FLOATS}{self.remedy(name)}"
                message = f"{path}, line {row.line}: `{name}` is {value}: {why}"
                raise DataError(message, row.line - 1 - self.has_header, name, value)

    def remedy(self, name: str) -> str:
        """A format's further remedy for numbers that are too great."""
        return ""

    def sample(self, paths: Sequence[str], dataset: Any, names: Sequence[str]) -> pa.Table:
        """Return the first texts of some columns, even from faulty files."""
        with suppress(pa.ArrowException):
            return super().sample(paths, dataset, names)
        kinds = dict.fromkeys(names, pa.string())
        rows = (row.values for path in paths for row in self.rows(path, kinds))
        first = list(islice((row for row in rows if row is not None), SAMPLE))
        texts = {name: [_text_only(row.get(name)) for row in first] for name in names}
        return pa.table({name: pa.array(values, pa.string()) for name, values in texts.items()})

    def common_kind(self, kinds: Sequence[pa.DataType]) -> pa.DataType | None:
        """Return the first type: values of other types make rows bad."""
        return next(kind for kind in kinds if not pa.types.is_null(kind))

    def types_of_rows(self, paths: Sequence[str], names: Collection[str] | None = None) -> Kinds:
        """Return each column's type by its first value, or floats if it has any."""
        first, floats = dict[str, Any](), set[str]()
        for path in paths:
            for row in self.rows(path, {}):
                for name, value in (row.values or {}).items():
                    if first.get(name) is None:
                        first[name] = value
                    if isinstance(value, float):
                        floats.add(name)
        return {
            name: _type_of(value, has_floats=name in floats)
            for name, value in first.items()
            if names is None or name in names
        }

    def retyped(
        self, paths: Sequence[str], problem: DataError, names: Collection[str], *, judges: bool
    ) -> Kinds:
        """Return the types by all rows; of all columns unless a row is at fault."""
        return self.types_of_rows(paths, names if problem.row is not None else None)

    def _explained(self, path: str, kinds: KnownKinds, message: str) -> DataError:
        """Name the first line that is no row, or has a value that does not fit."""
        known = {name: _python_type(kind) for name, kind in kinds.items()}
        for row in self.rows(path, kinds):
            where, number = f"{path}, line {row.line}", row.line - 1
            if row.values is None:
                return DataError(f"{where}: {row.why}", number)
            for name, value in row.values.items():
                if name in known or not kinds:
                    why, known[name] = _misfit(value, known.get(name))
                    if why is not None:
                        return DataError(f"{where}: `{name}` {why}", number, name, value)
        return DataError(f"{path} cannot be read: {message}")


class DocumentFormat(TextFormat):
    """A format that is read as a whole: subclasses need `rows`, and cannot be followed."""

    has_lines = False

    def decode_rows(self, lines: Iterable[str], kinds: KnownKinds) -> Iterator[DecodedRow]:
        """Refuse lines."""
        raise NotImplementedError(f"files of {self.name} have no lines")


# ---------------------------------------------------------------- values


def text_reader(kind: pa.DataType | None, decimal: str | None = None) -> Callable[[str], Any]:
    """Return a function that parses text as a type, and leaves other text unchanged.

    For an unknown type (NULL) numbers are parsed. Times become Arrow scalars in the unit of the
    type. `decimal` is the sign in numbers, if it is no point.
    """
    kind = pa.null() if kind is None else value_type(kind)
    if decimal == "," and (pa.types.is_floating(kind) or pa.types.is_null(kind)):
        read = text_reader(kind)

        def with_comma(text: str) -> Any:
            value = read(text.replace(",", ".")) if "." not in text else text
            return text if isinstance(value, str) else value

        return with_comma
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return str
    if pa.types.is_boolean(kind):
        return lambda text: {"true": True, "false": False}.get(text.lower(), text)
    if pa.types.is_integer(kind):
        return _tried(int)
    if pa.types.is_floating(kind):
        return _tried(_float_or_great)
    if pa.types.is_null(kind):
        return _tried(int, float)
    return lambda text: _cast(text, kind)


def _float_or_great(text: str) -> int | float:
    """Parse a number as a float, or as an integer if a float would round it."""
    value = float(text)
    if abs(value) >= MOST_EXACT and INTEGER.fullmatch(text) and abs(int(text)) > MOST_EXACT:
        return int(text)
    return value


def _tried(*ways: Callable[[str], Any]) -> Callable[[str], Any]:
    def value(text: str) -> Any:
        if "_" not in text:  # Python alone accepts it in numbers
            for way in ways:
                with suppress(ValueError):
                    return way(text)
        return text

    return value


def _cast(text: str, kind: pa.DataType) -> Any:
    with suppress(*UNREADABLE):
        return pa.scalar(text).cast(kind)
    return text


def fits_kind(text: str, kind: pa.DataType) -> bool:
    """Whether Arrow can parse a text as a type."""
    try:
        pa.scalar(text).cast(kind)
    except UNREADABLE:
        return False
    return True


def _text_only(value: object) -> str | None:
    return value if isinstance(value, str) and is_unicode(value) else None


def _array(values: list[Any], kind: pa.DataType) -> pa.Array:
    """Make a column of decoded values; times may be text."""
    if pa.types.is_temporal(kind):
        with suppress(*UNREADABLE):
            return pa.array(values, pa.string()).cast(kind)
    if pa.types.is_string(kind) or not any(isinstance(value, str) for value in values):
        try:
            return pa.array(values, kind)
        except UNREADABLE as problem:
            raise pa.ArrowInvalid(str(problem)) from problem
    raise pa.ArrowInvalid(f"there is text in a column of type {kind}")


def _type_of(first: object, *, has_floats: bool) -> pa.DataType:
    """Return a column's type by its first value, and whether it has floats."""
    if isinstance(first, str):
        return pa.string()
    if isinstance(first, int | float) and not isinstance(first, bool):
        return pa.float64() if has_floats else pa.int64()
    try:
        return pa.array([first]).type
    except UNREADABLE:
        return pa.string()


def _misfit(value: object, known: type | None) -> tuple[str | None, type | None]:
    """Return why a value does not fit the earlier ones, or None; and the type of these."""
    if value is None:
        return None, known
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    kind = float if is_number else type(value)
    if known not in (None, kind):
        return f"is {value!r}, and was of another kind in the lines before", known
    if isinstance(value, str) and not is_unicode(value):
        return no_unicode(), kind
    if isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
        return f"is {value}: {BEYOND}", kind
    return None, kind


def _python_type(kind: pa.DataType) -> type | None:
    """Return the Python type of a column's decoded values, or None."""
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return float
    if pa.types.is_boolean(kind):
        return bool
    return str if pa.types.is_string(kind) or pa.types.is_timestamp(kind) else None


def no_unicode() -> str:
    """The end of a message on bytes that are not UTF-8."""
    return f"is not UTF-8: say the encoding, such as  {option('encoding', 'cp1252')}"
