"""Files of text that Arrow cannot read as they are: row by row, with every value that can be read.

A value that does not fit its column stays the text that it is, and a line that cannot be read at
all stands in the time column: whoever loads the rows says that they are bad, and why.
"""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

from sase.engine.events.data_types import value_type
from sase.engine.files.finding import find_files
from sase.engine.files.formats import MISSING
from sase.engine.files.names import usual_time
from sase.engine.files.reading import Files

Row = dict[str, Any]
TEXTS = ("csv", "tsv", "json")


def salvaged(files: Files, time: str) -> list[Row]:
    """All rows of files whose columns are known."""
    kinds = {field.name: files.moments.get(field.name, field.type) for field in files.schema}
    return _salvaged(files.paths, files.format, kinds, time)


def salvaged_from(path: str | os.PathLike[str], time: str) -> list[Row] | None:
    """All rows of the files of text that a path means, the columns of which cannot be found out."""
    found = find_files(path)
    return _salvaged(found.paths, found.format, {}, time) if found.format in TEXTS else None


def _salvaged(
    paths: Sequence[str], format: str, kinds: Mapping[str, pa.DataType], time: str
) -> list[Row]:
    rows: list[Row] = []
    for path in paths:
        with pa.input_stream(path) as file:
            text = text_of(file.read())
        rows += _of_json(text) if format == "json" else rows_of_csv(text, format, kinds)
    names = list(dict.fromkeys(name for row in rows for name in row if name != LINE))
    time = time if time in names else usual_time(names) or time
    for row in rows:
        if LINE in row:
            row[time] = row.pop(LINE)
    for name, kind in kinds.items():
        if pa.types.is_timestamp(kind):
            parse_moments(rows, name, kind)
    if time not in kinds:
        parse_moments(rows, time, None)
    return rows


# Where a line stands that could not be read.
LINE = "\0line"


def text_of(data: bytes) -> str:
    """What bytes say in UTF-8; those that say nothing stay what they are."""
    return data.decode("utf-8", "surrogateescape").removeprefix("\ufeff")


def rows_of_csv(text: str, format: str, kinds: Mapping[str, pa.DataType]) -> Iterator[Row]:
    """Rows with values of the kinds of their columns, where they are that; others at `LINE`."""
    delimiter = "\t" if format == "tsv" else ","
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    names = next(lines, [])
    readers = [_reader(kinds.get(name)) for name in names]
    for values in lines:
        if len(values) == len(names):
            each = zip(names, readers, values, strict=True)
            yield {n: None if value in MISSING else read(value) for n, read, value in each}
        elif values:
            yield dict.fromkeys(names) | {LINE: delimiter.join(values)}


def _of_json(text: str) -> Iterator[Row]:
    for line in text.split("\n"):  # splitlines() would split inside of strings, too
        if line.strip():
            try:
                row = json.loads(line)
            except ValueError:
                row = None
            yield row if isinstance(row, dict) else {LINE: line}


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
