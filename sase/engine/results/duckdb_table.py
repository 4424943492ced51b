"""Results as a relation or a table of DuckDB."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from sase.errors import DataError, PlanError


def check_connection(connection: object) -> None:
    """Refuse anything but a connection of DuckDB."""
    if not hasattr(connection, "from_arrow"):
        raise PlanError(
            "results go to a connection of DuckDB, and this is of type"
            f" {type(connection).__name__}: give one, such as  duckdb.connect()"
        )


def table_in(
    connection: Any, name: str, schema: pa.Schema, batches: Iterator[pa.RecordBatch]
) -> Any:
    """Make a table of batches while they are read, and return it; DuckDB makes all of it or none.

    An error of reading is raised as it is, and not as an error of DuckDB.
    """
    from duckdb import Error

    raised = list[BaseException]()

    def read() -> Iterator[pa.RecordBatch]:
        try:
            yield from batches
        except BaseException as problem:
            raised.append(problem)
            raise

    try:
        connection.from_arrow(pa.RecordBatchReader.from_batches(schema, read())).create(name)
    except Error as problem:
        if raised:
            raise raised[0] from None
        raise DataError(
            f"DuckDB cannot make the table `{name}`: {problem}; choose another name, or drop a"
            " table of this name before"
        ) from problem
    return connection.table(name)
