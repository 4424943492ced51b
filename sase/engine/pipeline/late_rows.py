"""The side output of a stream: rows that came too late to be in a match."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sase.engine.columns import Inputs
from sase.engine.columns.gather import alike
from sase.engine.columns.slice import SavedTable, taken, tidied
from sase.engine.snapshots.layout import Array, Count, Declared, Many, Nullable, Row, Text

ROW, TYPE = "#row", "#type"
# With more parts than these, small ones are made one.
FEW = 8


class _LateBatch(NamedTuple):
    """Rows as they were given, the type of a table that has one, and the numbers of the rows."""

    table: pa.Table
    type_name: str | None
    rows: NDArray[np.int64]


class LateRows(Declared):
    """Count late rows, and keep them until they are taken."""

    layout = dict(
        count=Count(path="count"),
        parts=Many(
            Row(SavedTable("rows"), Nullable(Text()), Array("rows", low=0), into=_LateBatch)
        ),
    )

    def __init__(self) -> None:
        self.count = 0
        self._parts: list[_LateBatch] = []

    def add(self, inputs: Inputs, rows: NDArray[np.int64], numbers: NDArray[np.int64]) -> None:
        """Add rows of an input, which have these numbers in the stream."""
        self.count += len(rows)
        start = 0
        for each in taken(inputs, rows).tables:
            end = start + each.source.num_rows
            if end > start:
                part = _LateBatch(tidied(each.source), each.type_name, numbers[rows[start:end]])
                self._parts.append(part)
            start = end
        while len(self._parts) > FEW and self._unite():
            pass

    def table(self) -> pa.Table:
        """The rows as they were given; `#row` is the number of each among all rows pushed.

        Where a dict gave each type a table `#type` says which it was. If there is a column of one
        of these names, there is another `#` before ours.
        """
        parts = self._parts
        names = list(dict.fromkeys(name for part in parts for name in part.table.schema.names))
        columns = {_free(ROW, names): pa.chunked_array([part.rows for part in parts], pa.int64())}
        if any(part.type_name is not None for part in parts):
            types = [pa.array([part.type_name] * len(part.rows), pa.string()) for part in parts]
            columns[_free(TYPE, names)] = pa.chunked_array(types)
        for name in names:
            chunks = [chunk for part in parts for chunk in _chunks(part.table, name)]
            columns[name] = pa.chunked_array(alike(chunks))
        return pa.table(columns)

    def clear(self) -> None:
        """Drop the rows, not their count."""
        self._parts = []

    def _unite(self) -> bool:
        """Make the last two parts one if they are alike and the first is not much larger."""
        one, two = self._parts[-2:]
        is_like = one.type_name == two.type_name and one.table.schema.equals(two.table.schema)
        if not is_like or len(one.rows) > 2 * len(two.rows):
            return False
        table = tidied(pa.concat_tables([one.table, two.table]))
        self._parts[-2:] = [_LateBatch(table, one.type_name, np.append(one.rows, two.rows))]
        return len(self._parts) > 1


def _free(name: str, taken_names: list[str]) -> str:
    while name in taken_names:
        name = f"#{name}"
    return name


def _chunks(table: pa.Table, name: str) -> Iterator[pa.Array]:
    index = table.schema.get_field_index(name)
    yield from table.column(index).chunks if index >= 0 else [pa.nulls(table.num_rows)]
