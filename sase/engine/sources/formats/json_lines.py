"""Lines of JSON: only the columns that are asked for are looked at."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import pyarrow as pa

from sase.engine.columns.python_rows import UNREADABLE
from sase.engine.sources.formats.base import says

# How Arrow reads a column of text, the strictest way first.
_TEXTS = (pa.timestamp("s"), pa.string())


def tables_of_json(
    path: str,
    schema: pa.Schema,
    names: Sequence[str],
    given: Mapping[str, Any],
    *,
    is_whole: bool = False,
) -> Iterator[pa.Table]:
    """Some columns of a file in pieces; NULL where lines have none. Some are `given` by folders.

    Where the schema `is_whole` another column is an error.
    """
    from pyarrow import json as lines

    wanted = pa.schema([schema.field(name) for name in names if name not in given])
    options = lines.ParseOptions(
        explicit_schema=wanted, unexpected_field_behavior="error" if is_whole else "ignore"
    )
    with pa.input_stream(path) as file:
        for batch in lines.open_json(file, parse_options=options):
            batch.validate(full=True)  # Arrow takes any bytes for text
            columns = {
                name: pa.repeat(pa.scalar(given[name], schema.field(name).type), batch.num_rows)
                if name in given
                else batch.column(name)
                for name in names
            }
            yield pa.table(columns, pa.schema([schema.field(name) for name in names]))


def schema_of_lines(paths: Sequence[str]) -> pa.Schema:
    """The columns of all lines; each of the kind of its first value, and floats if it has any."""
    found: dict[str, _Column] = {}
    for path in paths:
        for row in _objects(path):
            for name, value in row.items():
                if name not in found:
                    found[name] = _Column()
                found[name].add(value)
    return pa.schema([(name, column.kind) for name, column in found.items()])


def sample_of_lines(paths: Sequence[str], names: Sequence[str], most: int) -> pa.Table:
    """The texts in some columns of the first lines, whatever else is wrong with these."""
    rows = islice((row for path in paths for row in _objects(path)), most)
    found: dict[str, list[str | None]] = {name: [] for name in names}
    for row in rows:
        for name, values in found.items():
            value = row.get(name)
            values.append(value if isinstance(value, str) else None)
    return pa.table({name: pa.array(values, pa.string()) for name, values in found.items()})


def _objects(path: str) -> Iterable[dict[str, Any]]:
    with pa.input_stream(path) as file:
        for line in _lines(file):
            try:
                row = json.loads(line)
            except ValueError:
                continue
            if isinstance(row, dict):
                yield row


def _lines(file: Any) -> Iterator[bytes]:
    left = b""
    while data := file.read(1 << 20):
        *whole, left = (left + data).split(b"\n")
        yield from whole
    yield left


class _Column:
    """What is known of the values of a column."""

    def __init__(self) -> None:
        self._first: Any = None
        self._is_float = False
        self._texts = list(_TEXTS)

    def add(self, value: Any) -> None:
        if value is None:
            return
        if self._first is None:
            self._first = value
        if isinstance(value, float):
            self._is_float = True
        elif isinstance(value, str) and len(self._texts) > 1 and not says(value, self._texts[0]):
            del self._texts[0]

    @property
    def kind(self) -> pa.DataType:
        if isinstance(self._first, str):
            return self._texts[0]
        is_number = isinstance(self._first, int | float) and not isinstance(self._first, bool)
        if is_number:
            return pa.float64() if self._is_float else pa.int64()
        try:
            return pa.array([self._first]).type
        except UNREADABLE:
            return pa.string()
