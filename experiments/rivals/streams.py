"""The cells of the comparison: the throughput table's, and Q5 on the stock stream."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from experiments.cells import CELLS, Q5_S5, WINDOW, Cell
from experiments.rivals.protocol import Task

SHARE = 10  # of which a quick run takes one


@dataclass(frozen=True)
class Contest:
    """A query on a stream, and what is known of its answer on all events."""

    name: str
    text: str
    table: Callable[[], pa.Table]
    matches: int
    check: int
    cell: Cell | None = None

    @property
    def query(self) -> str:
        """As in Q1."""
        return self.name.partition("/")[0]

    @property
    def stream(self) -> str:
        """As in D1."""
        return self.name.partition("/")[2]

    def task(self, data: Path, form: str, threads: int, repeats: int, enough: float) -> Task:
        """What a way is told."""
        query = self.cell.query if self.cell else None
        return Task(
            cell=self.name,
            query=self.query,
            text=self.text,
            data=str(data),
            window=WINDOW if query else 500,
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
    return Contest(cell.name, cell.query.text, cell.stream.table, cell.matches, cell.row_sum, cell)


CONTESTS = (
    *map(contest, CELLS),
    Contest(Q5_S5.name, Q5_S5.text, Q5_S5.table, Q5_S5.matches, Q5_S5.held),
)
