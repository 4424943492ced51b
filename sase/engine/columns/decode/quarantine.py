"""Bad rows: logged while columns are decoded; then an error, or rows of the quarantine table.

The table has each bad row as given, with its number, the column and the reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sase.engine.columns.arrays import Numbers, by_part
from sase.engine.columns.arrow.data_types import common_type, distinct_types
from sase.engine.columns.arrow.gather import takeable, taken_values
from sase.engine.columns.arrow.input import Input, Inputs, Origin
from sase.engine.columns.arrow.slice import by_table
from sase.engine.columns.events import Refused
from sase.errors import DataError

# The table's column that names the column at fault.
COLUMN = "sase_column"
_MARKS = ("sase_row", "sase_type", COLUMN, "sase_reason")
# A name, and the number among columns of this name: a table may have several.
_Key = tuple[str, int]
_Chunks = list[pa.Array]


class BadRows(NamedTuple):
    """Input rows, ascending, that are bad in one column for one reason."""

    column: str
    why: str
    rows: Numbers
    value: object  # value of the first row


class Faults:
    """Collects the bad rows of an input."""

    def __init__(self) -> None:
        self._found: list[BadRows] = []

    def __bool__(self) -> bool:
        return bool(self._found)

    def refuse(self, column: str, rows: NDArray[Any], why: str, value: object = None) -> None:
        """Log input rows as bad; there may be none."""
        if len(rows):
            self._found.append(BadRows(column, why, rows, value))

    def rows_of(self, *columns: str) -> Numbers:
        """Return the rows that are bad in some columns."""
        found = [bad.rows for bad in self._found if bad.column in columns]
        return np.unique(np.concatenate(found)) if found else np.zeros(0, np.int64)

    def error(self, columns: Sequence[str], origin: Origin) -> DataError:
        """Return the error for the first bad row, in the first of its bad columns."""
        bad = min(self._sorted(columns), key=lambda bad: int(bad.rows[0]))
        return origin.error(int(bad.rows[0]), bad.column, bad.value, bad.why)

    def refused(self, columns: Sequence[str], count: int) -> Refused:
        """Return the bad rows among `count`, each with the reason of its first bad column."""
        found = self._sorted(columns)
        reasons = tuple(dict.fromkeys((bad.column, bad.why) for bad in found))
        number = {reason: code for code, reason in enumerate(reasons)}
        first = np.full(count, -1, np.int64)
        for bad in reversed(found):
            first[bad.rows] = number[bad.column, bad.why]
        rows = np.flatnonzero(first >= 0)
        return Refused(rows, first[rows], reasons)

    def _sorted(self, columns: Sequence[str]) -> list[BadRows]:
        """Sort by the order of `columns`, keeping the order of logging within a column."""
        places = {name: place for place, name in reversed(list(enumerate(columns)))}
        return sorted(self._found, key=lambda bad: places[bad.column])


class Quarantine:
    """The bad rows of a matcher's last inputs, and the total number."""

    def __init__(self) -> None:
        self.total = 0
        self._last: list[pa.Table] = []
        # Cache of the empty table: most inputs have no bad row, and equal columns.
        self._columns: list[object] | None = None
        self._nothing: pa.Table | None = None

    def take(self, inputs: Inputs, refused: Refused | None, numbers: Numbers) -> None:
        """Add the bad rows, if any, of an input with these row numbers."""
        if refused is not None:
            self._last.append(quarantined(inputs, refused, numbers))
            self.total += len(refused.rows)
            return
        if self._columns != inputs.columns:
            self._columns, self._nothing = inputs.columns, quarantined(inputs, None, numbers)
        if not self._last:
            assert self._nothing is not None
            self._last.append(self._nothing)

    def news(self) -> tuple[int, int, pa.Table | None]:
        """Return the total, the number since the last call, and the table of these rows."""
        last, self._last = [each for each in self._last if each.num_rows] or self._last[:1], []
        table = joined(last) if len(last) > 1 else next(iter(last), None)
        return self.total, 0 if table is None else table.num_rows, table


def quarantined(inputs: Inputs, refused: Refused | None, numbers: Numbers) -> pa.Table:
    """Return the table of bad rows of an input with these row numbers.

    Besides the columns of all tables it has `sase_row`, `sase_column`, `sase_reason`, and
    `sase_type` for a dict of tables; with underscores appended while an input column has such a
    name.
    """
    rows = np.empty(0, np.int64) if refused is None else refused.rows
    given = _given(inputs, rows)
    marks = _marks(inputs, rows, refused, numbers)
    tail = ""
    while any(mark + tail == name for mark in _MARKS for name, _ in given):
        tail += "_"
    names = [*(mark + tail for mark in marks), *(name for name, _ in given)]
    return pa.table([*marks.values(), *given.values()], names)


def joined(tables: Sequence[pa.Table]) -> pa.Table:
    """Concatenate tables of bad rows; a column of several types gets a common type, or is text."""
    named = [_by_name(table) for table in tables]
    keys = dict.fromkeys(key for columns in named for key in columns)
    found = {
        key: _united(
            [
                columns.get(key) or [pa.nulls(len(table))]
                for columns, table in zip(named, tables, strict=True)
            ]
        )
        for key in keys
    }
    return pa.table([*found.values()], [name for name, _ in found])


def each_once(bad: pa.Table) -> pa.Table:
    """Return bad rows by number, each once per column, though several plans refused it."""
    name = next(name for name in bad.column_names if name.startswith(COLUMN))
    row, by = bad.column(0).to_numpy(), bad.column(name).combine_chunks().dictionary_encode()
    codes = by.indices.to_numpy()
    order = np.lexsort((codes, row))
    row, codes = row[order], codes[order]
    is_first = np.ones(len(order), np.bool_)
    is_first[1:] = (np.diff(row) != 0) | (np.diff(codes) != 0)
    return bad.take(pa.array(order[is_first]))


def _by_name(table: pa.Table) -> dict[_Key, _Chunks]:
    """Return the chunks of each column; columns of one name are numbered."""
    found: dict[_Key, _Chunks] = {}
    seen: Counter[str] = Counter()
    for name, column in zip(table.schema.names, table.columns, strict=True):
        found[name, seen[name]] = column.chunks or [pa.nulls(0, column.type)]
        seen[name] += 1
    return found


def _marks(
    inputs: Inputs, rows: Numbers, refused: Refused | None, numbers: Numbers
) -> dict[str, pa.Array]:
    """Return the columns of row number, type, column and reason."""
    codes = np.empty(0, np.int64) if refused is None else refused.codes
    reasons = () if refused is None else refused.reasons
    row, of_type, column, reason = _MARKS
    found = {row: pa.array(numbers[rows])}
    if inputs.typed:
        counts = [len(local) for _, local in by_table(inputs, rows)]
        places = pa.array(np.repeat(np.arange(len(counts)), counts))
        found[of_type] = pa.array([t.type_name for t in inputs.tables], pa.string()).take(places)
    places = pa.array(codes)
    found[column] = pa.array([name for name, _ in reasons], pa.string()).take(places)
    found[reason] = pa.array([why for _, why in reasons], pa.string()).take(places)
    return found


def _given(inputs: Inputs, rows: Numbers) -> dict[_Key, pa.ChunkedArray]:
    """Select the rows from all tables; NULL in columns that a table lacks."""
    tables = [(_columns(table, local), len(local)) for table, local in by_table(inputs, rows)]
    keys = dict.fromkeys(key for columns, _ in tables for key in columns)
    return {
        key: _united([columns.get(key) or [pa.nulls(count)] for columns, count in tables])
        for key in keys
    }


def _columns(table: Input, rows: Numbers) -> dict[_Key, _Chunks]:
    """Select rows of a table's columns; original values of coerced columns become text."""
    found: dict[_Key, _Chunks] = {}
    seen: Counter[str] = Counter()
    source = table.proved().source if len(rows) else table.source
    for name, column in zip(source.schema.names, source.columns, strict=True):
        if name not in table.texts:
            found[name, seen[name]] = _taken(column, rows)
            seen[name] += 1
    for name, values in table.texts.items():
        found[name, 0] = [pa.array([as_text(values[row]) for row in rows], pa.string())]
    return found


def _taken(column: pa.Array | pa.ChunkedArray, rows: Numbers) -> _Chunks:
    """Select ascending rows chunk by chunk, since dictionaries may differ."""
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    shared = zip(chunks, by_part(rows, map(len, chunks)), strict=True)
    found = [taken_values(takeable(chunk), own) for chunk, own in shared if len(own)]
    return found or [_nothing(column.type)]


def _nothing(kind: pa.DataType) -> pa.Array:
    return takeable(pa.nulls(0, kind.value_type if pa.types.is_run_end_encoded(kind) else kind))


def _united(parts: Sequence[_Chunks]) -> pa.ChunkedArray:
    """Cast chunks of several tables to a common type, or to text."""
    chunks = [chunk for part in parts for chunk in part]
    kinds = [kind for kind in distinct_types(chunks) if kind != pa.null()]
    if len(kinds) <= 1:
        target = kinds[0] if kinds else pa.null()
    else:
        target = common_type(kinds)
        if target is None:
            return _texts(chunks)
    try:
        return pa.chunked_array([chunk.cast(target) for chunk in chunks], target)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return _texts(chunks)


def _texts(chunks: _Chunks) -> pa.ChunkedArray:
    arrays = [
        pa.array([as_text(value) for value in chunk.to_pylist()], pa.string()) for chunk in chunks
    ]
    return pa.chunked_array(arrays, pa.string())


def as_text(value: Any) -> str | None:
    """Convert a value to text that Arrow can store."""
    if isinstance(value, pa.Scalar):
        value = value.cast(pa.string()).as_py()
    return None if value is None else str(value).encode("utf-8", "backslashreplace").decode()
