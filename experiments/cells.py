"""The cells of the throughput table: a query on a stream, and the expected result."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import pyarrow as pa

from sase.generate import TypeLayout, stock_events, uniform_events

WINDOW = 10_000


@dataclass(frozen=True)
class Stream:
    """A stream of the 2006 paper's experiments: 20 event types, one event per unit of time."""

    name: str
    events: int
    domains: tuple[int, ...]
    seed: int

    def table(self, type_layout: TypeLayout = "int8") -> pa.Table:
        """Its events."""
        return _made(self, type_layout)


@lru_cache(maxsize=1)
def _made(stream: Stream, type_layout: TypeLayout) -> pa.Table:
    """Events, made once for the points one after the other that read them."""
    return uniform_events(
        events=stream.events, domains=stream.domains, seed=stream.seed, type_layout=type_layout
    )


@dataclass(frozen=True)
class Query:
    """A sequence of the types E1, E2, … with equal values of the attributes named."""

    name: str
    steps: int
    keys: tuple[str, ...] = ("attr1",)
    negated: int | None = None

    @property
    def variables(self) -> str:
        """A letter for each step."""
        return "abcdefgh"[: self.steps]

    @property
    def text(self) -> str:
        """The query as the engine reads it."""
        steps = [f"E{number} {name}" for number, name in enumerate(self.variables, 1)]
        if self.negated is not None:
            steps[self.negated] = f"!({steps[self.negated]})"
        return f"EVENT SEQ({', '.join(steps)}) WHERE [{', '.join(self.keys)}] WITHIN {WINDOW}"


@dataclass(frozen=True)
class Cell:
    """A query on a stream, the number of its matches, and the sum of all their row numbers."""

    query: Query
    stream: Stream
    matches: int
    row_sum: int

    @property
    def name(self) -> str:
        """As in Q1/D1."""
        return f"{self.query.name}/{self.stream.name}"


D1 = Stream("D1", 1_000_000, (100, 20, 1000, 1000, 10), 20060601)
D2 = Stream("D2", 1_000_000, (10_000, 20, 1000, 1000, 10), 20060602)
D3 = Stream("D3", 10_000_000, (1000, 20, 1000, 1000, 10), 20060603)

Q1 = Query("Q1", 3)
Q2 = Query("Q2", 3, ("attr1", "attr2"))
Q3 = Query("Q3", 3, negated=1)
Q4 = Query("Q4", 5)

# The counts are those on which other systems agree, a program in C among them; the sums DuckDB's.
Q1_D1 = Cell(Q1, D1, 622_113, 931_234_637_154)
Q1_D2 = Cell(Q1, D2, 67, 91_304_894)
Q1_D3 = Cell(Q1, D3, 62_863, 941_241_372_968)
Q2_D1 = Cell(Q2, D1, 1_595, 2_435_959_529)
Q3_D1 = Cell(Q3, D1, 49_918, 50_244_625_020)
Q4_D2 = Cell(Q4, D2, 0, 0)
Q4_D1 = Cell(Q4, D1, 1_266_182, 3_186_651_809_950)
CELLS = (Q1_D1, Q1_D2, Q1_D3, Q2_D1, Q3_D1, Q4_D2, Q4_D1)


@dataclass(frozen=True)
class Series:
    """Q5 on the stock stream: its matches, and the events in them."""

    name: str = "Q5/S5"
    events: int = 200_000
    matches: int = 27_844
    held: int = 1_848_912
    text: str = (
        "EVENT SEQ(Stock+ a[], Stock b) WHERE skip_till_next_match { [symbol]"
        " AND a[1].price % 500 = 0 AND a[i].price > a[i-1].price AND b.volume < 150 }"
        " WITHIN 500 EVENTS PER PARTITION"
    )

    def table(self) -> pa.Table:
        """The stream: 200,000 events of two symbols."""
        return stock_events(events=self.events, seed=20080601)


Q5_S5 = Series()
