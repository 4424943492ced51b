"""The gain of dynamic programming over the enumeration of worlds, over the length of series."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyarrow as pa

from experiments.core.checks import CPU_RATE, ahead
from experiments.core.experiment import Experiment, Finding, Plot, Point, Size
from experiments.core.ways import listed
from experiments.figures.imprecise import SOURCE, TIME

DP, WORLDS = "dp", "worlds"
# The units of an interval, each of which overlaps the next ones, and how many series there are.
LENGTH, SERIES = 4, 2


def chain(count: int) -> Callable[[], pa.Table]:
    """Series of a number of readings with rising values, each between an A and a C."""

    def rows() -> pa.Table:
        kinds = ["A", *("B" for _ in range(count)), "C"] * SERIES
        size = count + 2
        begins = [place + 10 * size * (place // size) for place in range(len(kinds))]
        return pa.table({
            "type": kinds,
            "lo": pa.array(begins, pa.int64()),
            "hi": pa.array([begin + LENGTH - 1 for begin in begins], pa.int64()),
            "v": pa.array([place % size for place in range(len(kinds))], pa.int64()),
        })  # fmt: skip

    return rows


def query(count: int) -> str:
    """A correlated series of a number of events."""
    window = 2 * (count + LENGTH)
    return f"EVENT SEQ(A a, B{{{count}}} b[], C c) WHERE b[i].v >= b[i-1].v WITHIN {window}"


def points(size: Size) -> Iterator[Point]:
    """Short series first; a world is one time for each event of a match."""
    for count in size.of((4, 6, 8, 10, 12), (4, 8, 12), (4,)):
        ways = {name: listed(query(count), name, time=TIME) for name in (DP, WORLDS)}
        yield Point(count, ways, chain(count), SERIES * (count + 2), known=SERIES)


EXPERIMENT = Experiment(
    "ip_series",
    "Ours: imprecise time, over the length of a series",
    f"{SOURCE}, 5.3",
    "The paper enumerates worlds, as many as the power of an interval's length by the number of"
    " events, and saves some of them by thresholds. (Time of the processor for the whole query.)",
    points,
    (Plot(CPU_RATE, "events/s of the processor", "events of the series", log_y=True),),
    (
        Finding(
            "dynamic programming is at least 100 times as fast from 12 events on",
            ahead(DP, WORLDS, 100, y=CPU_RATE, when=lambda count: count >= 12),
        ),
    ),
)
