"""The cells of the comparison: the throughput table's, Q5 on the stock stream, and many keys."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from experiments.cells import CELLS, Q5_S5, WINDOW, Cell, Query
from experiments.many_keys import DAY, EVENTS, HOUR, SHAPES, Users
from experiments.rivals.protocol import Task

USERS = {"K100k": 100_000, "K1M": 1_000_000, "K5M": 5_000_000}
# Which of the shapes of `many_keys` a query is.
OF_USERS = {"Q1": "all", "next": "next", "series": "series"}
SHARE = 10  # of which a quick run takes one


@dataclass(frozen=True)
class Contest:
    """A query on a stream, and the known figures of its answer on all events."""

    name: str
    text: str
    table: Callable[[], pa.Table]
    matches: int
    check: int
    asked: Query | None = None
    window: int = WINDOW

    @property
    def query(self) -> str:
        """As in Q1."""
        return self.name.partition("/")[0]

    @property
    def stream(self) -> str:
        """As in D1."""
        return self.name.partition("/")[2]

    def task(self, data: Path, form: str, threads: int, repeats: int, enough: float) -> Task:
        """The task of a way."""
        query = self.asked
        return Task(
            cell=self.name,
            query=self.query,
            text=self.text,
            data=str(data),
            window=self.window,
            steps=query.steps if query else 0,
            keys=query.keys if query else (),
            negated=query.negated if query else None,
            form=form,
            threads=threads,
            repeats=repeats,
            enough=enough,
        )

    def write(self, folder: Path, share: int = 1) -> Path:
        """The file with the events, made if it is not there; `share` 10 takes the first tenth."""
        path = folder / f"{self.stream}{'' if share == 1 else f'-{share}'}.arrow"
        if not path.exists():
            folder.mkdir(parents=True, exist_ok=True)
            table = with_codes(self.table())
            partial = path.with_suffix(".partial")
            with pa.OSFile(str(partial), "wb") as sink, pa.ipc.new_file(sink, table.schema) as file:
                file.write_table(table.slice(0, len(table) // share).combine_chunks())
            partial.rename(path)
        return path


def with_codes(table: pa.Table) -> pa.Table:
    """The events with their types as small integers from 1 beside the dictionary."""
    codes = table["type"].combine_chunks().indices.cast(pa.int8())
    return table.append_column("code", pc.add(codes, pa.scalar(1, pa.int8())))


def contest(cell: Cell) -> Contest:
    """A cell of the throughput table."""
    asked = cell.query
    return Contest(cell.name, asked.text, cell.stream.table, cell.matches, cell.row_sum, asked)


def users(keys: int, events: int = EVENTS) -> pa.Table:
    """Views, carts and purchases of some users; the time of each is the number of its row."""
    table = Users.drawn(events, keys).table("dense")
    return table.set_column(0, "ts", pa.array(range(events), pa.int64()))


def of_users(name: str, matches: int, check: int) -> Contest:
    """Views, carts and purchases of one of many users, within the events of an hour.

    As Q1 in all ways; the `next` cart of each view and the next purchase of that; or each `series`
    of views up to any purchase, of which the events of all lists are known.
    """
    query, _, stream = name.partition("/")
    window = EVENTS * HOUR // DAY
    text = f"EVENT {SHAPES[OF_USERS[query]]} WITHIN {window}"
    asked = Query(query, 3, ("user",))
    return Contest(name, text, partial(users, USERS[stream]), matches, check, asked, window)


CONTESTS = (
    *map(contest, CELLS),
    Contest(Q5_S5.name, Q5_S5.text, Q5_S5.table, Q5_S5.matches, Q5_S5.held, window=500),
    of_users("Q1/K100k", 1_179_877, 17_698_447_285_518),
    of_users("Q1/K1M", 11_871, 177_039_447_229),
    of_users("Q1/K5M", 458, 6_993_443_456),
    of_users("next/K100k", 791_459, 11_872_541_147_116),
    of_users("next/K1M", 11_400, 170_141_775_578),
    of_users("next/K5M", 458, 6_993_443_456),
    of_users("series/K100k", 2_858_674, 6_996_617),
    of_users("series/K1M", 285_122, 326_188),
    of_users("series/K5M", 56_927, 58_527),
)
