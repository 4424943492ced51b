"""The same matches from DuckDB, as an expert would have it find them.

Time is cut into buckets of the window's width. The events of a match lie in the bucket of the first
or in the next, so that each later event is entered under its own bucket and the one before, and
joined by equality of bucket and keys: a hash join where the plain query compares ranges.
"""

from __future__ import annotations

from itertools import pairwise

import pyarrow as pa

from experiments.cells import WINDOW, Cell, Query

# From here on its choice of the order of joins is five times slower than the order of the sequence.
STEPS_TO_KEEP_IN_ORDER = 4


class Buckets:
    """A cell in a database of its own in memory, with one thread."""

    def __init__(self, cell: Cell, table: pa.Table) -> None:
        import duckdb

        self._sql = negation(cell.query) if cell.query.negated else sequence(cell.query)
        self._connection = duckdb.connect()
        self._connection.execute("SET threads = 1")
        if cell.query.steps >= STEPS_TO_KEEP_IN_ORDER:
            self._connection.execute("SET disabled_optimizers = 'join_order'")
        codes = table["type"].combine_chunks().indices
        source = table.select(["ts", "attr1", "attr2"]).append_column("code", codes)
        self._connection.register("source", source)
        self._connection.execute(
            "CREATE TABLE events AS"
            " SELECT ts, (code + 1)::TINYINT AS type, attr1, attr2 FROM source"
        )
        self._connection.unregister("source")

    def run(self) -> pa.Table:
        """The matches as row numbers, which in these streams are the times."""
        return self._connection.sql(self._sql).to_arrow_table()


def sequence(query: Query) -> str:
    """The join for a sequence of positive components."""
    first, *later = query.variables
    keys = ", ".join(query.keys)
    parts = [
        f"taken AS MATERIALIZED (SELECT ts, type, {keys}, ts // {WINDOW} AS bucket FROM events"
        f" WHERE type <= {query.steps})",
        f"{first} AS (FROM taken WHERE type = 1)",
    ]
    parts += [
        f"{name} AS (SELECT ts, {keys}, bucket - d AS bucket FROM taken, {SHIFTS}"
        f" WHERE type = {number})"
        for number, name in enumerate(later, 2)
    ]
    joins = []
    for before, name in pairwise(query.variables):
        equal = [f"{name}.{column} = {first}.{column}" for column in ("bucket", *query.keys)]
        order = [f"{before}.ts < {name}.ts", f"{name}.ts < {first}.ts + {WINDOW}"]
        joins.append(f"JOIN {name} ON {' AND '.join([*equal, *order])}")
    rows = ", ".join(f"{name}.ts AS {name}" for name in query.variables)
    return "\n".join(["WITH", ",\n".join(parts), f"SELECT {rows} FROM {first}", *joins])


def negation(query: Query) -> str:
    """The join for Q3: an as-of join gives each E3 the last E2 before it, which bounds its E1s."""
    if (query.steps, query.keys, query.negated) != (3, ("attr1",), 1):
        raise NotImplementedError(query.text)
    return f"""
        WITH taken AS MATERIALIZED (SELECT ts, type, attr1 FROM events WHERE type <= 3),
        c AS (
            SELECT c.attr1, c.ts, c.ts // {WINDOW} AS bucket, coalesce(b.ts, -1) AS after
            FROM (FROM taken WHERE type = 3) c
            ASOF LEFT JOIN (FROM taken WHERE type = 2) b ON b.attr1 = c.attr1 AND b.ts < c.ts
        ),
        a AS (SELECT attr1, ts, ts // {WINDOW} + d AS bucket FROM taken, {SHIFTS} WHERE type = 1)
        SELECT a.ts AS a, c.ts AS c FROM c
        JOIN a ON a.bucket = c.bucket AND a.attr1 = c.attr1
            AND a.ts < c.ts AND c.ts < a.ts + {WINDOW} AND a.ts > c.after
    """


SHIFTS = "(VALUES (0), (1)) shift(d)"
