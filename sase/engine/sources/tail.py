"""Lines of CSV or JSON as they are written: to a file that grows, or to standard input."""

from __future__ import annotations

import csv
import io
import json
import os
import select
import sys
import time
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from typing import IO, Any

import numpy as np
import pyarrow as pa

from sase.engine.columns.fitting import NOT_UTF8, Known, fitted, is_text, text_reader
from sase.engine.columns.input import Input, Inputs, Misfits
from sase.engine.columns.python_rows import UNREADABLE
from sase.engine.sources.column_roles import may_be_times
from sase.engine.sources.formats.base import MISSING, csv_options
from sase.engine.sources.timestamps import moments_among, with_moments
from sase.errors import DataError

STANDARD_INPUT, NEWLINE, BOM = "-", b"\n", b"\xef\xbb\xbf"
# Seconds between two looks at a file that has not grown, and bytes that are read at once.
PAUSE, SIZE = 0.1, 1 << 20
# How data begins that is no lines of text, what it is, and what makes lines of it.
NO_LINES = {
    b"\x1f\x8b": ("compressed with gzip", "gzip -dc"),
    b"BZh": ("compressed with bzip2", "bzip2 -dc"),
    b"\x28\xb5\x2f\xfd": ("compressed with Zstandard", "zstd -dc"),
    b"PAR1": ("Parquet, which has no lines", "sase run without --follow"),
    b"ARROW1": ("Arrow, which has no lines", "sase run without --follow"),
    b"\xff\xfe": ("UTF-16", "iconv -f UTF-16 -t UTF-8"),
    b"\xfe\xff": ("UTF-16", "iconv -f UTF-16 -t UTF-8"),
}
# What is said of the lines that are none, each with its number among the rows.
Odd = dict[int, tuple[str, str]]


class Following:
    """The rows of a stream of lines, as many at a time as have come; the first give the schema.

    A line counts when its end has come. Text in the form of moments is parsed in the columns where
    the first lines hold it. Of JSON every row may leave out what it does not have. A value that is
    none of its column is a bad row, if the column is read; so is a line that is no row.
    """

    def __init__(self, path: str, *, judges: bool = False, pause: float = PAUSE) -> None:
        self.name = "standard input" if path == STANDARD_INPUT else path
        self._format = "tsv" if path.lower().endswith(".tsv") else "csv"
        self._chunks = _chunks(path, pause)
        self._line, self._header = 0, b""
        self._time: str | None = None
        self._known: dict[str, Known] = {}
        self._first = self._begun()
        self._is_json = self._first.startswith(b"{")
        if not self._is_json:
            self._take_header()
        self._read_from(judges)

    def _begun(self) -> bytes:
        """The first lines, without empty ones."""
        for chunk in self._chunks:
            if self._line == 0:
                self._refuse_no_text(chunk)
                chunk = chunk.removeprefix(BOM)
            lines = chunk.lstrip()
            self._line += chunk[: len(chunk) - len(lines)].count(NEWLINE)
            if lines:
                return lines
        raise DataError(f"{self.name} ended before there was a line")

    def _refuse_no_text(self, chunk: bytes) -> None:
        for mark, (what, way) in NO_LINES.items():
            if chunk.startswith(mark):
                raise DataError(f"{self.name} is {what}: give lines of text, made with  {way}")
        if b"\0" in chunk[: chunk.index(NEWLINE)]:
            raise DataError(f"{self.name} is no text: give lines of CSV or JSON in UTF-8")

    def _take_header(self) -> None:
        header, end, self._first = self._first.partition(NEWLINE)
        self._header = header + end
        self._line += 1
        if not is_text(_text(header)):
            raise DataError(f"{self.name}, line {self._line}: {NOT_UTF8}")
        while not self._first.strip() and (more := next(self._chunks, None)) is not None:
            self._first += more

    def _read_from(self, judges: bool) -> None:
        """Take the schema from the first lines, or from more if none of them is a row."""
        table = self._sample(self._first)
        while self._is_json and not table.num_rows:
            if not judges:
                why, text = self._from_json(self._first)[1][0]
                raise DataError(f"{self.name}, line {self.line_of(0)}: {text}: {why}")
            more = next(self._chunks, None)
            if more is None:
                raise DataError(f"{self.name} ended before there was a row")
            self._first += more
            table = self._sample(self._first)
        texts = [field.name for field in table.schema if pa.types.is_string(field.type)]
        moments = moments_among(table.select(texts), may_be_times(table.column_names))
        for field in table.schema:  # where Arrow found whole seconds in text
            if pa.types.is_timestamp(field.type) and field.type.unit == "s":
                moments[field.name] = pa.timestamp("us", field.type.tz)
        self.schema: pa.Schema = pa.schema(
            [field.with_type(moments.get(field.name, field.type)) for field in table.schema]
        )
        self._known = {
            field.name: Known(field.type, is_moments=field.name in moments) for field in self.schema
        }

    def expect(self, names: Iterable[str]) -> None:
        """Take up columns that the first lines lack, and later ones may have."""
        for name in names:
            self._known[name] = Known()
            self.schema = self.schema.append(pa.field(name, pa.null()))

    def judge(self, time: str, roles: Collection[str], read: Collection[str]) -> None:
        """Say which columns are read, and which have a role; that of the time has bad lines."""
        self._time = time
        self._known = {
            name: known._replace(is_read=name in read, is_fixed=name in roles)
            for name, known in self._known.items()
        }

    @property
    def is_json(self) -> bool:
        """Whether a row says itself which columns it has."""
        return self._is_json

    @property
    def loose(self) -> pa.Schema:
        """The schema, without the kinds of whole numbers: there may be others later."""
        fields = []
        for field in self.schema:
            is_whole = pa.types.is_integer(field.type) and self._known[field.name].is_loose
            fields.append(field.with_type(pa.null()) if is_whole else field)
        return pa.schema(fields)

    def __iter__(self) -> Iterator[pa.Table | Inputs]:
        """All rows, as soon as they have come."""
        if self._first.strip():
            yield self._events(self._first)
        self._line += self._first.count(NEWLINE)
        for chunk in self._chunks:
            if chunk.strip():
                yield self._events(chunk)
            self._line += chunk.count(NEWLINE)

    def fault(self, problem: DataError) -> DataError:
        """What is wrong with a row of those that came last, with its line."""
        if problem.row is None:
            return problem
        said = problem.message.partition(": ")[2]
        where = f"{self.name}, line {self.line_of(problem.row)}"
        return DataError(f"{where}: {said}", problem.row, problem.column, problem.value)

    def line_of(self, row: int) -> int:
        """The number of the line in which one of the rows ends that came last."""
        if self._is_json:
            lines = enumerate(self._last.split(NEWLINE), 1)
            numbers = [number for number, line in lines if line.strip()]
        else:
            numbers = [number - 1 for number, _ in self._rows_of_csv(self._last)]
        return self._line + numbers[row]

    # ------------------------------------------------------------ lines as columns

    def _sample(self, lines: bytes) -> pa.Table:
        """Lines that are rows, as a table of whatever kinds they say."""
        self._last = lines
        if self._is_json:
            rows, odd = self._from_json(lines)
            good = [row for number, row in enumerate(rows) if number not in odd]
            names = dict.fromkeys(name for row in good for name in row)
            columns = {name: fitted([r.get(name) for r in good], Known()).array for name in names}
            return pa.table(columns) if columns else pa.table({"": pa.nulls(len(good))}).select([])
        try:
            return self._from_csv(_text(lines).encode("utf-8", "replace"), sparing=True)
        except UNREADABLE as problem:
            raise DataError(f"{self.name}, line {self._line}: {problem}") from problem

    def _events(self, lines: bytes) -> pa.Table | Inputs:
        """All lines; values that are none of their columns stand beside them."""
        self._last = lines
        table = None if self._is_json else self._quickly(lines)
        if table is not None:
            self._learn(table)
            return table
        columns, odd = self._columns(lines)
        arrays: dict[str, pa.Array] = {}
        misfits: dict[str, Misfits] = {}
        for name, values in columns.items():
            arrays[name], misfits[name] = fitted(values, self._known[name])
        if odd and self._time is not None:
            columns[self._time] = [
                odd[row][1] if row in odd else value
                for row, value in enumerate(columns[self._time])
            ]
            misfits[self._time] = (*_reasons(odd), *misfits[self._time])
        table = pa.table(arrays)
        self._learn(table)
        bad = {name: found for name, found in misfits.items() if found}
        if not bad:
            return table
        texts = {name: [_escaped(value) for value in columns[name]] for name in bad}
        batch = table.combine_chunks().to_batches()[0]
        return Inputs((Input(batch, misfits=bad, texts=texts),))

    def _learn(self, table: pa.Table) -> None:
        """Remember the kinds of the columns that had none."""
        for field in table.schema:
            known = self._known[field.name]
            if pa.types.is_null(known.type):
                self._known[field.name] = known._replace(type=field.type)

    def _columns(self, lines: bytes) -> tuple[dict[str, list[Any]], Odd]:
        """The values of each column, and the lines that are no rows."""
        if self._is_json:
            rows, odd = self._from_json(lines)
            return {name: [row.get(name) for row in rows] for name in self._known}, odd
        readers = [text_reader(self._kind_of_texts(name)) for name in self._known]
        values: list[list[Any]] = []
        odd = {}
        for row, (_, texts) in enumerate(self._rows_of_csv(lines)):
            if len(texts) == len(readers):
                each = zip(readers, texts, strict=True)
                values.append([None if text in MISSING else read(text) for read, text in each])
                continue
            values.append([None] * len(readers))
            why = f"this line has {len(texts)} values, and there are {len(readers)} columns"
            odd[row] = (why, ",".join(texts))
        return dict(zip(self._known, map(list, zip(*values, strict=True)), strict=True)), odd

    def _kind_of_texts(self, name: str) -> pa.DataType:
        """What the text of a column of CSV is to be read as."""
        known = self._known[name]
        return pa.string() if known.is_moments else known.type

    def _rows_of_csv(self, lines: bytes) -> Iterator[tuple[int, list[str]]]:
        """The rows, each with the number of its last line."""
        delimiter = "\t" if self._format == "tsv" else ","
        rows = csv.reader(io.StringIO(_text(self._header + lines), newline=""), delimiter=delimiter)
        next(rows, None)
        for texts in rows:
            if texts:
                yield rows.line_num, texts

    def _quickly(self, lines: bytes) -> pa.Table | None:
        """A table of CSV in which everything is as it should be."""
        with suppress(*UNREADABLE, DataError):
            table = self._from_csv(lines)
            moments = {name: known.type for name, known in self._known.items() if known.is_moments}
            table = with_moments(table, moments, self.name)
            if all(self._known[field.name].takes(field.type) for field in table.schema):
                return table
        return None

    def _from_csv(self, lines: bytes, *, sparing: bool = False) -> pa.Table:
        """A table of lines; `sparing` those that have too few values or too many."""
        from pyarrow import csv

        # The kinds of numbers are found out each time: whole ones lose nothing beside others.
        kinds = {
            name: pa.string() if known.is_moments else known.type
            for name, known in self._known.items()
            if known.is_fixed or not known.is_loose
        }
        options = csv_options(self._format, kinds)
        if sparing:
            options["parse_options"].invalid_row_handler = lambda row: "skip"
        # Neither a file of Python nor its bytes: threads of Arrow that outlive an error hold what
        # they read, and to let go of what is Python's while that ends would end the process.
        memory = pa.BufferOutputStream()
        memory.write(self._header + lines)
        return csv.read_csv(pa.BufferReader(memory.getvalue()), **options)

    def _from_json(self, lines: bytes) -> tuple[list[dict[str, Any]], Odd]:
        """The objects in lines, and which lines are none, with the reason."""
        rows: list[dict[str, Any]] = []
        odd: Odd = {}
        for line in filter(bytes.strip, lines.split(NEWLINE)):
            try:
                rows.append(_object(line))
            except ValueError as problem:
                odd[len(rows)] = (str(problem), _text(line).strip())
                rows.append({})
        return rows, odd


def _object(line: bytes) -> dict[str, Any]:
    """The object in a line of JSON."""
    try:
        row: Any = json.loads(line)
    except UnicodeDecodeError:
        raise ValueError(NOT_UTF8) from None
    except ValueError as problem:
        raise ValueError(f"this line is no JSON: {problem}") from None
    if not isinstance(row, dict):
        raise ValueError("this line is no object")
    return row


def _reasons(odd: Odd) -> Misfits:
    """The lines that are no rows, by the reason."""
    reasons = dict.fromkeys(why for why, _ in odd.values())
    return tuple(
        (reason, np.array([row for row, (why, _) in odd.items() if why == reason], np.int64))
        for reason in reasons
    )


def _text(data: bytes) -> str:
    """What bytes say in UTF-8; those that say nothing stay what they are."""
    return data.decode("utf-8", "surrogateescape")


def _escaped(value: Any) -> Any:
    """A value with the bytes that are no text as numbers."""
    if is_text(value):
        return value
    return value.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _chunks(path: str, pause: float) -> Iterator[bytes]:
    """Whole lines, as many as have come."""
    left = b""
    for data in (
        _from_input(sys.stdin.buffer) if path == STANDARD_INPUT else _from_file(path, pause)
    ):
        whole, end, rest = (left + data).rpartition(b"\n")
        left = rest
        if end:
            yield whole + end
    if left.strip():
        yield left + b"\n"


def _from_input(file: IO[bytes]) -> Iterator[bytes]:
    """What comes, until there is no more."""
    number = file.fileno()
    while True:
        select.select([number], [], [])
        data = os.read(number, SIZE)
        if not data:
            return
        yield data


def _from_file(path: str, pause: float) -> Iterator[bytes]:
    """What a file has, and what is added to it, for ever."""
    try:
        file = open(path, "rb")  # noqa: SIM115 - for as long as it is followed
    except OSError as problem:
        raise DataError(f"{path} cannot be read: {problem.strerror}") from problem
    with file:
        while True:
            data = file.read(SIZE)
            if data:
                yield data
                continue
            if os.fstat(file.fileno()).st_size < file.tell():
                raise DataError(f"{path} has become shorter: follow it anew from its beginning")
            time.sleep(pause)
