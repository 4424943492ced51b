"""The queries in SQL, as a user writes them first and as an expert does, in several dialects.

In buckets: time is cut into pieces of the window's width. The events of a match lie in the piece of
the first or in the next, so that each later event is entered under its own piece and the one
before, and joined by equality of piece and keys: a hash join where the plain query compares ranges.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from experiments.rivals.protocol import Task


@dataclass(frozen=True)
class Dialect:
    """How a system writes the whole part of a quotient, and the two rows 0 and 1."""

    quotient: str = "({} // {})"
    shifts: str = "(VALUES (0), (1)) shift(d)"
    materialized: str = ""
    suffix: str = ""

    def bucket(self, column: str, window: int) -> str:
        """The number of a piece of time."""
        return self.quotient.format(column, window)


def text(task: Task, dialect: Dialect) -> str:
    """The query in the requested form."""
    return FORMS[task.form](task, dialect) + dialect.suffix


def plain(task: Task, dialect: Dialect) -> str:
    """A self join as one would write it."""
    only(task, "Q1", "Q2", "Q3", "Q4")
    first, last = task.bound[0], task.bound[-1]
    tables = [f"events {name}" for name in task.bound]
    parts = [f"{name}.code = {task.variables.index(name) + 1}" for name in task.bound]
    for before, name in pairwise(task.bound):
        parts += [f"{name}.{key} = {first}.{key}" for key in task.keys]
        parts += [f"{name}.ts > {before}.ts", f"{name}.ts < {first}.ts + {task.window}"]
    if task.negated is not None:
        parts.append(f"NOT EXISTS ({absent(task, first, last)})")
    rows = ", ".join(f"{name}.ts AS {name}" for name in task.bound)
    return f"SELECT {rows} FROM {', '.join(tables)} WHERE {' AND '.join(parts)}"


def absent(task: Task, first: str, last: str) -> str:
    """The events that forbid a match."""
    assert task.negated is not None
    keys = "".join(f" AND n.{key} = {first}.{key}" for key in task.keys)
    return (
        f"SELECT 1 FROM events n WHERE n.code = {task.negated + 1}{keys}"
        f" AND n.ts > {first}.ts AND n.ts < {last}.ts"
    )


def bucketed(task: Task, dialect: Dialect) -> str:
    """A join for a sequence; with a negation the last forbidding event of each final one."""
    only(task, "Q1", "Q2", "Q3", "Q4")
    if task.negated is not None:
        return last_before(task, dialect)
    first, *later = task.bound
    keys = ", ".join(task.keys)
    own = dialect.bucket("ts", task.window)
    parts = [
        f"taken AS {dialect.materialized} (SELECT ts, code, {keys}, {own} AS bucket FROM events"
        f" WHERE code <= {task.steps})",
        f"{first} AS (SELECT * FROM taken WHERE code = 1)",
    ]
    parts += [
        f"{name} AS (SELECT ts, {keys}, bucket - d AS bucket FROM taken CROSS JOIN {dialect.shifts}"
        f" WHERE code = {number})"
        for number, name in enumerate(later, 2)
    ]
    joins = []
    for before, name in pairwise(task.bound):
        equal = [f"{name}.{column} = {first}.{column}" for column in ("bucket", *task.keys)]
        order = [f"{before}.ts < {name}.ts", f"{name}.ts < {first}.ts + {task.window}"]
        joins.append(f"JOIN {name} ON {' AND '.join([*equal, *order])}")
    rows = ", ".join(f"{name}.ts AS {name}" for name in task.bound)
    return "\n".join(["WITH", ",\n".join(parts), f"SELECT {rows} FROM {first}", *joins])


def last_before(task: Task, dialect: Dialect) -> str:
    """Q3 without an as-of join: a window finds the last E2 before each E3, which bounds its E1s."""
    only(task, "Q3")
    return ends_and_starts(
        task,
        dialect,
        f"""SELECT attr1, ts, {dialect.bucket("ts", task.window)} AS bucket, earliest FROM (
            SELECT code, attr1, ts, coalesce(max(CASE WHEN code = 2 THEN ts END) OVER (
                PARTITION BY attr1 ORDER BY ts ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
            ), -1) AS earliest FROM taken) marked WHERE code = 3""",
    )


def as_of(task: Task, dialect: Dialect) -> str:
    """Q3 with an as-of join: it gives each E3 the last E2 before it, which bounds its E1s."""
    only(task, "Q3")
    return ends_and_starts(
        task,
        dialect,
        f"""SELECT c.attr1, c.ts, {dialect.bucket("c.ts", task.window)} AS bucket,
            coalesce(b.ts, -1) AS earliest
            FROM (SELECT * FROM taken WHERE code = 3) c
            ASOF LEFT JOIN (SELECT * FROM taken WHERE code = 2) b
            ON b.attr1 = c.attr1 AND b.ts < c.ts""",
    )


def next_ones(task: Task, dialect: Dialect) -> str:
    """The next event of each later step by windows that look ahead, and a join to go on from it."""
    only(task, "next")
    ahead = "ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING"
    marked = ", ".join(
        f"min(CASE WHEN e.code = {number} THEN e.ts END) OVER"
        f" (PARTITION BY e.user ORDER BY e.ts DESC {ahead}) AS {name}"
        for number, name in enumerate(task.bound[1:], 2)
    )
    return f"""
        WITH marked AS {dialect.materialized} (
            SELECT e.ts AS ts, e.code AS code, {marked} FROM events e)
        SELECT a.ts AS a, b.ts AS b, b.c AS c FROM marked a JOIN marked b ON b.ts = a.b
        WHERE a.code = 1 AND b.code = 2 AND b.c < a.ts + {task.window}
    """


def next_by_as_of(task: Task, dialect: Dialect) -> str:
    """Two as-of joins: the next cart of each view, and the next purchase of that."""
    only(task, "next")
    steps = [
        f"{name} AS (SELECT e.ts AS ts, e.user AS buyer FROM events e WHERE e.code = {number})"
        for number, name in enumerate(task.bound, 1)
    ]
    return f"""
        WITH {", ".join(steps)}
        SELECT a.ts AS a, b.ts AS b, c.ts AS c
        FROM a ASOF JOIN b ON b.buyer = a.buyer AND a.ts < b.ts
        ASOF JOIN c ON c.buyer = b.buyer AND b.ts < c.ts
        WHERE c.ts < a.ts + {task.window}
    """


def lists(task: Task, dialect: Dialect) -> str:
    """The views before each purchase by a join, and the list from each of them on by a window."""
    only(task, "series")
    return f"""
        SELECT array_agg(a.ts) OVER (PARTITION BY b.ts ORDER BY a.ts
            ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS a, b.ts AS b
        FROM events a JOIN events b ON b.user = a.user
        WHERE a.code = 1 AND b.code = 3 AND a.ts < b.ts AND b.ts < a.ts + {task.window}
    """


def ends_and_starts(task: Task, dialect: Dialect, ends: str) -> str:
    """The E1s of each E3 in buckets, no earlier than it allows."""
    own = dialect.bucket("ts", task.window)
    return f"""
        WITH taken AS {dialect.materialized} (SELECT ts, code, attr1 FROM events WHERE code <= 3),
        c AS ({ends}),
        a AS (SELECT attr1, ts, {own} + d AS bucket FROM taken
            CROSS JOIN {dialect.shifts} WHERE code = 1)
        SELECT a.ts AS a, c.ts AS c FROM c
        JOIN a ON a.bucket = c.bucket AND a.attr1 = c.attr1
            AND a.ts < c.ts AND c.ts < a.ts + {task.window} AND a.ts > c.earliest
    """


NUMBERED = """numbered AS {0} (
    SELECT ts, symbol, price, volume,
        row_number() OVER (PARTITION BY symbol ORDER BY ts) AS position FROM events)"""


def running_maximum(task: Task, dialect: Dialect) -> str:
    """Q5 as an expert who sees that a run takes the new maxima after its start writes it.

    The list of a match is the beginning of the list of its start, as long as the number of events
    that the start has taken before the match ends.
    """
    only(task, "Q5")
    return f"""
    WITH {NUMBERED.format(dialect.materialized)},
    seen AS (
        SELECT s.ts AS start, e.ts, e.volume, e.price, s.position < e.position AS later,
            coalesce(max(e.price) OVER (PARTITION BY s.ts ORDER BY e.ts
                ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS highest
        FROM numbered s JOIN numbered e ON e.symbol = s.symbol
            AND e.position >= s.position AND e.position < s.position + {task.window}
        WHERE s.price % 500 = 0),
    counted AS (
        SELECT start, ts, volume, later, price > highest AS taken,
            count(*) FILTER (WHERE price > highest) OVER (PARTITION BY start ORDER BY ts
                ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS length
        FROM seen),
    lists AS (
        SELECT start, array_agg(ts ORDER BY ts) AS taken FROM counted WHERE taken GROUP BY start)
    SELECT array_slice(lists.taken, 1, length) AS a, ts AS b
    FROM counted JOIN lists ON lists.start = counted.start WHERE later AND volume < 150
    """


def recursive(task: Task, dialect: Dialect) -> str:
    """Q5 as a recursive query, which steps from each start through the events of its symbol."""
    only(task, "Q5")
    return f"""
    WITH RECURSIVE {NUMBERED.format(dialect.materialized)},
    run AS (
        SELECT symbol, position AS start, position, price AS last, [ts] AS taken
        FROM numbered WHERE price % 500 = 0
        UNION ALL
        SELECT r.symbol, r.start, e.position, greatest(r.last, e.price),
            CASE WHEN e.price > r.last THEN list_append(r.taken, e.ts) ELSE r.taken END
        FROM run r JOIN numbered e ON e.symbol = r.symbol AND e.position = r.position + 1
        WHERE e.position < r.start + {task.window})
    SELECT r.taken AS a, e.ts AS b
    FROM run r JOIN numbered e ON e.symbol = r.symbol AND e.position = r.position + 1
    WHERE e.volume < 150 AND e.position < r.start + {task.window}
    """


def match_recognize(task: Task, dialect: Dialect) -> str:
    """The clause of the standard: from each start the match that ends first."""
    only(task, "Q1", "Q2", "Q3", "Q4")
    steps = [v.upper() for v in task.bound]
    gaps = [f"X{number}*? {step}" for number, step in enumerate(steps[1:], 1)]
    conditions = [
        f"{v.upper()} AS {v.upper()}.code = {task.variables.index(v) + 1}" for v in task.bound
    ]
    conditions[-1] += f" AND {steps[-1]}.ts < {steps[0]}.ts + {task.window}"
    conditions += [
        f"X{number} AS X{number}.ts < {steps[0]}.ts + {task.window}{forbidden(task, number)}"
        for number in range(1, len(steps))
    ]
    return f"""
    SELECT a FROM (SELECT * FROM events WHERE code <= {task.steps}) MATCH_RECOGNIZE (
        PARTITION BY {", ".join(task.keys)} ORDER BY ts
        MEASURES {steps[0]}.ts AS a
        ONE ROW PER MATCH AFTER MATCH SKIP TO NEXT ROW
        PATTERN ({steps[0]} {" ".join(gaps)})
        DEFINE {", ".join(conditions)})
    """


def forbidden(task: Task, gap: int) -> str:
    """The condition that an event between two steps must not satisfy."""
    return f" AND X{gap}.code <> {task.negated + 1}" if task.negated == gap else ""


def only(task: Task, *queries: str) -> None:
    """Refuse queries for which a form is not written."""
    if task.query not in queries:
        raise NotImplementedError(f"the form {task.form} is written for {', '.join(queries)} only")


FORMS: dict[str, Callable[[Task, Dialect], str]] = {
    "plain": plain,
    "bucketed": bucketed,
    "as-of": as_of,
    "recursive": recursive,
    "running maximum": running_maximum,
    "match_recognize": match_recognize,
    "windows": next_ones,
    "two as-of": next_by_as_of,
    "join and lists": lists,
}
