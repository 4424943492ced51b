"""DataFusion: SQL over record batches in memory."""

from __future__ import annotations

import datafusion
import pyarrow as pa

from experiments.rivals import columns, sql
from experiments.rivals.protocol import Task, Way, serve

DIALECT = sql.Dialect(quotient="({} / {})", shifts="(VALUES (0), (1)) AS shift(d)")
BATCH = 8192  # rows, as it makes them itself


def prepare(task: Task) -> Way:
    """A session with the columns in as many partitions as threads."""
    config = datafusion.SessionConfig().with_target_partitions(task.threads)
    context = datafusion.SessionContext(config)
    batches = columns.table(task).to_batches(max_chunksize=BATCH)
    share = -(-len(batches) // task.threads)
    parts = [batches[at : at + share] for at in range(0, len(batches), share)]
    context.register_record_batches("events", parts)
    text = sql.text(task, DIALECT)
    return Way(
        lambda: context.sql(text).collect(),
        lambda found: columns.answer(task, as_table(task, found)),
    )


def as_table(task: Task, batches: list[pa.RecordBatch]) -> pa.Table:
    """A table, also of no batches."""
    return pa.Table.from_batches(batches) if batches else nothing(task)


def nothing(task: Task) -> pa.Table:
    """No matches."""
    return pa.table({name: pa.array([], pa.int64()) for name in task.bound})


if __name__ == "__main__":
    serve(datafusion.__version__, prepare)
