"""Lines of CSV or JSON as they are written: to a file that grows, or to standard input."""

from __future__ import annotations

import json
import os
import select
import sys
import time
from collections.abc import Iterator
from typing import IO, Any

import pyarrow as pa

from sase.engine.events.rows import UNREADABLE, array_of
from sase.engine.files.formats import csv_options
from sase.engine.files.moments import moments_among, with_moments
from sase.engine.files.names import may_be_times
from sase.engine.files.salvage import parse_moments, rows_of_csv, text_of
from sase.errors import DataError

STANDARD_INPUT, NEWLINE = "-", b"\n"
# Seconds between two looks at a file that has not grown, and bytes that are read at once.
PAUSE, SIZE = 0.1, 1 << 20


class Following:
    """The rows of a stream of lines, as many at a time as have come; the first give the schema.

    A line counts when its end has come. Text in the form of moments is parsed in the columns where
    the first lines hold it. Of JSON every row may leave out what it does not have, and rows with
    values that are none of their column come as they are: whether they matter is for others to say.
    Where a run `judges` bad rows that goes for CSV and for lines, too, that cannot be read.
    """

    def __init__(self, path: str, *, judges: bool = False, pause: float = PAUSE) -> None:
        self._judges = judges
        self.name = "standard input" if path == STANDARD_INPUT else path
        self._chunks = _chunks(path, pause)
        self._line, self._header = 0, b""
        first = next(self._chunks, b"")
        if not first.strip():
            raise DataError(f"{self.name} ended before there was a line")
        self._is_json = first.lstrip().startswith(b"{")
        if not self._is_json:
            self._header, _, first = first.partition(b"\n")
            self._header += b"\n"
            self._line = 1
            while not first.strip():
                more = next(self._chunks, None)
                if more is None:
                    break
                first += more
        self._kinds: dict[str, pa.DataType] = {}
        is_whole = True
        try:
            table = self._read(first)
        except DataError:
            if not judges:
                raise
            is_whole, table = False, self._read(first, sparing=True)
        texts = [field.name for field in table.schema if pa.types.is_string(field.type)]
        self._moments = moments_among(table.select(texts), may_be_times(table.column_names))
        table = with_moments(table, self._moments, self.name)
        self.schema: pa.Schema = table.schema
        # How many rows it is taken from.
        self.known: int = table.num_rows
        self._kinds = {
            field.name: pa.string() if field.name in self._moments else field.type
            for field in self.schema
        }
        self._first = table if is_whole else self._next(first)
        self._line += first.count(NEWLINE)

    def __iter__(self) -> Iterator[pa.Table | list[dict[str, Any]]]:
        """All rows, as soon as they have come."""
        yield self._first
        for chunk in self._chunks:
            if chunk.strip():
                yield self._next(chunk)
            self._line += chunk.count(NEWLINE)

    def _next(self, lines: bytes) -> pa.Table | list[dict[str, Any]]:
        try:
            return with_moments(self._read(lines), self._moments, self.name)
        except _OtherKind:
            pass
        except DataError:
            if not self._judges:
                raise
        if self._is_json:
            given = _rows(lines, may_lack=True)
        else:
            given = list(rows_of_csv(text_of(self._header + lines), "csv", self._kinds))
        rows = [{name: row.get(name) for name in self._kinds} for row in given]
        for name, kind in self._moments.items():
            parse_moments(rows, name, kind)
        return rows

    def _read(self, lines: bytes, *, sparing: bool = False) -> pa.Table:
        """A table of lines; `sparing` those that cannot be read."""
        try:
            if self._is_json:
                return self._from_json(lines, sparing)
            return self._from_csv(lines, sparing)
        except UNREADABLE as problem:
            where = f"{self.name}, in lines {self._line + 1} to {self._line + lines.count(NEWLINE)}"
            raise DataError(f"{where}: {problem}") from problem

    def _from_csv(self, lines: bytes, sparing: bool) -> pa.Table:
        from pyarrow import csv

        options = csv_options("csv", self._kinds)
        if sparing:
            options["parse_options"].invalid_row_handler = lambda row: "skip"
        # Not a file of Python, which threads of Arrow that outlive an error would hold to the end.
        source = pa.BufferReader(self._header + lines)
        return csv.read_csv(source, **options)

    def _from_json(self, lines: bytes, sparing: bool) -> pa.Table:
        rows = _rows(lines, may_lack=sparing)
        if sparing:
            rows = [row for row in rows if row]
        names = self._kinds or dict.fromkeys(name for row in rows for name in row)
        return pa.table({name: self._column(name, rows) for name in names})

    def _column(self, name: str, rows: list[dict[str, Any]]) -> pa.Array:
        """A column of JSON lines, of the kind of the first ones."""
        values, kind = [row.get(name) for row in rows], self._kinds.get(name, pa.null())
        try:
            array = array_of(values)
        except UNREADABLE as problem:
            if not self._kinds:
                raise ValueError(f"`{name}`: {problem}") from problem
            raise _OtherKind from problem
        if pa.types.is_null(kind):
            return array
        is_whole = pa.types.is_integer(array.type) and pa.types.is_floating(kind)
        if pa.types.is_null(array.type) or is_whole:
            return array.cast(kind)
        if array.type != kind and name not in self._moments:
            raise _OtherKind
        return array


class _OtherKind(Exception):
    """A column holds what is of no kind, or of another one than that of the first lines."""


def _rows(lines: bytes, *, may_lack: bool = False) -> list[dict[str, Any]]:
    """The objects in lines of JSON; of a line that is none an empty one, or an error."""
    rows = []
    for number, line in enumerate(lines.splitlines()):
        if line.strip():
            try:
                rows.append(_row(line))
            except ValueError as problem:
                if not may_lack:
                    raise ValueError(f"line {number + 1} of these is {problem}") from None
                rows.append({})
    return rows


def _row(line: bytes) -> dict[str, Any]:
    try:
        row: Any = json.loads(line)
    except ValueError as problem:
        raise ValueError(f"no JSON: {problem}") from None
    if not isinstance(row, dict):
        raise ValueError(f"no object: {row!r}")
    return row


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
