"""Files of text that Arrow cannot read as they are: row by row, with every value that can be read.

A value that does not fit its column stays the text that it is, and a line that cannot be read at
all stands in the time column with the reason: whoever loads the rows says that they are bad.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

from sase.engine.columns.data_types import value_type
from sase.engine.columns.python_rows import Unread
from sase.engine.sources.dataset import Files
from sase.engine.sources.errors import NO_TEXT, no_json, no_object
from sase.engine.sources.formats.base import MISSING, is_text
from sase.engine.sources.formats.csv import records, text_of
from sase.engine.sources.timestamps import why_none

Row = dict[str, Any]
# Where a line stands that could not be read.
LINE = "\0line"


def salvaged(files: Files, time: str) -> list[Row]:
    """All rows of files, with the values of their columns as far as they are that."""
    kinds = {field.name: files.moments.get(field.name, field.type) for field in files.schema}
    rows: list[Row] = []
    for path, given in zip(files.paths, files.values_given(), strict=True):
        with pa.input_stream(path) as file:
            text = text_of(file.read())
        read = _of_json(text) if files.format == "json" else rows_of_csv(text, files.format, kinds)
        rows += (_with_reasons(row) | given for row in read)
    for row in rows:
        if LINE in row:
            row[time] = row.pop(LINE)
    for name, kind in kinds.items():
        if pa.types.is_timestamp(kind):
            parse_moments(rows, name, kind)
            for row in rows:
                if isinstance(row.get(name), str):
                    row[name] = Unread(row[name], why_none(row[name], kind))
    return rows


def _with_reasons(row: Row) -> Row:
    """A row of which those values say what is wrong with them that are no text."""
    for name, value in row.items():
        if isinstance(value, str) and not value.isascii() and not is_text(value):
            row[name] = Unread(value, f"this {NO_TEXT}")
    return row


def rows_of_csv(text: str, format: str, kinds: Mapping[str, pa.DataType]) -> Iterator[Row]:
    """Rows with values of the kinds of their columns, where they are that; others at `LINE`."""
    lines = records(text, format)
    _, names = next(lines, ("", []))
    readers = [_reader(kinds.get(name)) for name in names]
    for raw, values in lines:
        if len(values) == len(names):
            each = zip(names, readers, values, strict=True)
            yield {n: None if value in MISSING else read(value) for n, read, value in each}
        elif values:
            why = f"expected {len(names)} columns, got {len(values)}"
            if raw.count('"') % 2:
                why += ": a quote is opened and never closed"
            line = Unread(raw.rstrip("\r\n"), why, is_line=True)
            yield dict.fromkeys(names) | {LINE: line}


def _of_json(text: str) -> Iterator[Row]:
    for line in text.split("\n"):  # splitlines() would split inside of strings, too
        if line.strip():
            try:
                row = json.loads(line)
            except ValueError as problem:
                yield {LINE: Unread(line, no_json(problem), is_line=True)}
                continue
            is_row = isinstance(row, dict)
            yield row if is_row else {LINE: Unread(line, no_object(row), is_line=True)}


def _reader(kind: pa.DataType | None) -> Callable[[str], Any]:
    """What makes a value of the type of a column of text, and leaves other text as it is."""
    if kind is None:
        return _tried(int, float)
    of_value = value_type(kind)
    if pa.types.is_integer(of_value):
        return _tried(int)
    if pa.types.is_floating(of_value):
        return _tried(float)
    if pa.types.is_boolean(of_value):
        return lambda text: {"true": True, "false": False}.get(text.lower(), text)
    if pa.types.is_temporal(of_value):
        return _tried(lambda text: pa.scalar(text).cast(of_value).as_py())
    return str


def _tried(*ways: Callable[[str], Any]) -> Callable[[str], Any]:
    def value(text: str) -> Any:
        for read in ways:
            with suppress(ValueError, pa.ArrowException):
                return read(text)
        return text

    return value


def _moment(text: str) -> datetime:
    """A moment; without a zone it is in UTC, for all must be of one kind."""
    found = datetime.fromisoformat(text)
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def parse_moments(rows: list[Row], name: str, kind: pa.DataType | None) -> None:
    """Text of moments as moments, each value once."""
    read = _tried(_moment) if kind is None else _reader(kind)
    known: dict[str, Any] = {}
    for row in rows:
        value = row.get(name)
        if isinstance(value, str):
            if value not in known:
                known[value] = read(value)
            row[name] = known[value]
