"""DuckDB: SQL over a table in memory."""

from __future__ import annotations

from collections.abc import Callable

import duckdb
import pyarrow as pa

from experiments.rivals import columns, sql
from experiments.rivals.protocol import Task, Way, serve

DIALECT = sql.Dialect(materialized="MATERIALIZED")
# From here on its choice of the order of joins is worse than the order of the sequence.
STEPS_TO_KEEP_IN_ORDER = 4


def prepare(task: Task) -> Way:
    """With the columns of the task's file."""
    return Way(asked(task, columns.table(task)), lambda rows: columns.answer(task, rows))


def asked(task: Task, source: pa.Table) -> Callable[[], pa.Table]:
    """The query as a function, of a database in memory with the columns."""
    connection = duckdb.connect()
    connection.execute(f"SET threads = {task.threads}")
    if task.form == "bucketed" and task.steps >= STEPS_TO_KEEP_IN_ORDER:
        connection.execute("SET disabled_optimizers = 'join_order'")
    connection.register("source", source)
    connection.execute("CREATE TABLE events AS SELECT * FROM source")
    connection.unregister("source")
    text = sql.text(task, DIALECT)
    return lambda: connection.sql(text).to_arrow_table()


if __name__ == "__main__":
    serve(duckdb.__version__, prepare)
