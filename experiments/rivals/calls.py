"""The comparisons with other systems that are committed: which take part, and for how long."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from experiments.rivals import results
from experiments.rivals.catalogue import OTHERS, Rival
from experiments.rivals.results import Place
from experiments.rivals.streams import CONTESTS

MANY_KEYS = tuple(each.name for each in CONTESTS if each.stream in OTHERS)
CELLS = tuple(each.name for each in CONTESTS if each.stream not in OTHERS)


@dataclass(frozen=True)
class Call:
    """A file of results: the systems and cells, and the runs of each; `limit` stops a run."""

    name: str
    rivals: tuple[str, ...]
    cells: tuple[str, ...]
    repeats: int
    limit: float
    # Whether the program in C takes part, if it is there.
    by_hand: bool = False

    def path(self, folder: Path) -> Path:
        """Its file in a folder of results."""
        return folder / f"{self.name}.csv"

    def arguments(self, there: Sequence[Rival], path: Path) -> Iterator[str]:
        """The arguments of `run`, with the systems that are installed."""
        yield from ("run", "--csv", str(path), "--cells", *self.cells)
        yield from ("--rivals", *(each.name for each in there), "--rounds", "1")
        yield from ("--repeats", str(self.repeats), "--limit-seconds", f"{self.limit:g}")

    def is_complete(self, there: Sequence[Rival], path: Path, place: Place) -> bool:
        """Whether the file has all cells and systems, of this commit on this machine."""
        lines = results.read(path) if path.exists() else []
        where = {(line.commit, line.machine) for line in lines}
        return (
            where == {(place.commit, place.machine)}
            and {line.cell for line in lines} >= set(self.cells)
            and {line.rival for line in lines} >= {each.name for each in there}
        )


CALLS = (
    Call("rivals", ("duckdb", "polars", "datafusion", "chdb", "rustevex"), CELLS, 3, 3.0, True),
    Call(
        "rivals_slow",
        ("spark", "flink", "pycer", "epigrep", "pandas_match_recognize", "bobocep"),
        CELLS, 2, 12.0,
    ),
    Call("rivals_keys", ("duckdb", "polars", "datafusion", "chdb"), MANY_KEYS, 2, 4.0),
)  # fmt: skip
