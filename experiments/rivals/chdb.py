"""ClickHouse in the process (chDB): SQL over a table in memory, answers in another."""

from __future__ import annotations

import chdb
import pyarrow as pa
from chdb.session import Session

from experiments.rivals import columns, sql
from experiments.rivals.protocol import Answer, Task, Way, serve

DIALECT = sql.Dialect(
    quotient="intDiv({}, {})",
    shifts="(SELECT arrayJoin([0, 1]) AS d) shift",
)
TYPES = {pa.int64(): "Int64", pa.int32(): "Int32", pa.int8(): "Int8"}


def prepare(task: Task) -> Way:
    """A session with a default database that holds the columns in memory."""
    session = Session()
    table = columns.table(task)
    named = ", ".join(f"{field.name} {TYPES[field.type]}" for field in table.schema)
    session.query("CREATE DATABASE here ENGINE = Atomic")
    session.query("USE here")
    session.query(f"CREATE TABLE events ({named}) ENGINE = Memory")
    session.query(f"INSERT INTO events SELECT * FROM file('{task.data}', 'Arrow', '{named}')")
    settings = f"max_threads = {task.threads}, query_plan_optimize_join_order_limit = 0"
    text = f"{sql.text(task, DIALECT)} SETTINGS {settings}"

    def run() -> None:
        session.query("DROP TABLE IF EXISTS found")
        session.query(f"CREATE TABLE found ENGINE = Memory AS {text}")

    def count(_: None) -> Answer:
        total = " + ".join(f"sum({name})" for name in task.bound)
        asked = f"SELECT count(), {total}, uniqExact({task.bound[0]}) FROM found"
        told = session.query(asked, "CSV").bytes().decode()
        return Answer(*map(int, told.split(",")))

    return Way(run, count)


if __name__ == "__main__":
    serve(chdb.__version__, prepare)
