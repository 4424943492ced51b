"""The columns of a task from its file, and answers of Arrow tables, for ways that have pyarrow."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from experiments.rivals.protocol import LISTS, Answer, Task


def table(task: Task, columns: list[str] | None = None) -> pa.Table:
    """The columns that the query reads, copied into memory."""
    with pa.OSFile(task.data, "rb") as file:
        whole = pa.ipc.open_file(file).read_all()
    return whole.select(columns or task.columns).combine_chunks()


def answer(task: Task, rows: pa.Table) -> Answer:
    """Of a table with a row for each match: row numbers, or a list of them in the column `a`."""
    first = rows.column(0)
    if task.query in LISTS:
        return Answer(len(rows), pc.sum(pc.list_value_length(rows["a"])).as_py() or 0)
    total = sum(pc.sum(column).as_py() or 0 for column in rows.columns)
    return Answer(len(rows), total, pc.count_distinct(first).as_py())


def starts(rows: pa.Table) -> Answer:
    """Of a table with a row for each first event, in the column `a`."""
    return Answer(len(rows), None, pc.count_distinct(rows["a"]).as_py())
