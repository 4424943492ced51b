"""The layout of rows that travel to tasks: plain, or a struct of columns for each event type.

Columns of the same name may have other types in the DataFrames of other event types, so they cannot
be one column; their rows have the time, and `seq`, once more beside the structs to be sorted by.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from sase.binding import Schema
from sase.errors import DataError

# The names of what is added to the columns of events.
PART, TIME, SEQ = "#part", "#time", "#seq"


def packed(number: int) -> str:
    """The name of the struct in which the columns of a DataFrame travel."""
    return f"#{number}"


@dataclass(frozen=True)
class RowLayout:
    """The types whose columns are packed into a struct each; none if there is one DataFrame."""

    types: tuple[str, ...] = ()

    def order(self, schema: Schema) -> tuple[str, ...]:
        """The columns that rows are sorted by."""
        if self.types:
            return (TIME, SEQ) if schema.seq is not None else (TIME,)
        return (schema.time, schema.seq) if schema.seq is not None else (schema.time,)

    def events(self, rows: pa.Table) -> pa.Table | dict[str, pa.Table]:
        """The events as the engine takes them."""
        if not self.types:
            return rows
        found = {}
        for number, name in enumerate(self.types):
            if (index := rows.schema.get_field_index(packed(number))) >= 0:
                column = rows.column(index)
                present = column.filter(column.is_valid()).combine_chunks()
                found[name] = pa.Table.from_struct_array(present)
        return found

    def shown(self, rows: pa.Table) -> Iterator[dict[str, Any]]:
        """Rows as a message shows them."""
        for row in rows.to_pylist():
            if not self.types:
                yield row
                continue
            for number, name in enumerate(self.types):
                if (event := row.get(packed(number))) is not None:
                    yield {"type": name, **event}

    @contextmanager
    def showing(self, rows: pa.Table) -> Iterator[None]:
        """Have an error show which of the rows is bad: its number within a push says nothing."""
        try:
            yield
        except DataError as problem:
            if problem.row is None:
                raise
            reason = re.sub(r"^row [^:]*: ", "", problem.message)
            message = f"a row is bad, {self._row(rows, problem.row)}: {reason}"
            raise DataError(message, None, problem.column, problem.value) from None

    def _row(self, rows: pa.Table, number: int) -> str:
        """The row that the engine gives a number, which counts through the types one by one."""
        events = self.events(rows)
        for name, table in events.items() if isinstance(events, dict) else [("", events)]:
            if number < table.num_rows:
                return f"{name}{table.slice(number, 1).to_pylist()[0]}"
            number -= table.num_rows
        raise IndexError(number)
