"""Small streams as kernels see them: events with states, keys, measures and ties."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from sase.engine.kernels.expressions.checks import UNDECLARED
from sase.engine.kernels.scan.stacks import Arrivals
from sase.engine.kernels.sentinels import NOTHING

Rows = list[tuple[int, ...]]
EARLIEST, LATEST = -(2**63), 2**63 - 1


class Event(NamedTuple):
    """An event; `states` has a bit for each component that admits it, `others` are more keys."""

    row: int
    states: int
    key: int = 0
    measure: int = 0
    tie: int = 0
    others: tuple[int, ...] = ()

    def has(self, bit: int) -> bool:
        return bool(self.states >> bit & 1)


def arrivals(events: Sequence[Event]) -> Arrivals:
    columns = [[getattr(event, name) for event in events] for name in Event._fields[:5]]
    row, states, key, measure, tie = (np.array(column, np.int64) for column in columns)
    return Arrivals(row, states, key, measure, tie)


class Pushed:
    """A block as stacks see it."""

    def __init__(self, events: Sequence[Event]) -> None:
        self.events = events

    def __len__(self) -> int:
        return len(self.events)

    def codes(self, key: Any) -> NDArray[np.int64]:
        """The keys; with a number for a key the other one of that number."""
        if isinstance(key, int):
            return np.array([event.others[key] for event in self.events], np.int64)
        return arrivals(self.events).keys

    def arrivals(self, states: Any, keys: Any, measures: Any) -> Arrivals:
        return Arrivals(self.numbers, states, keys, measures, arrivals(self.events).ties)

    @property
    def numbers(self) -> NDArray[np.int64]:
        return arrivals(self.events).rows

    @property
    def positions(self) -> NDArray[np.int64]:
        return self.numbers

    @property
    def end(self) -> int:
        return self.events[-1].row + 1 if self.events else 0


def blocks(size: int, cuts: Sequence[int]) -> list[tuple[int, int]]:
    """Where the pieces of a stream begin and end."""
    edges = [0, *sorted(min(cut, size) for cut in cuts), size]
    return list(zip(edges, edges[1:], strict=False))


# A key that is negative is none, of whatever reason.
KEYS = st.sampled_from([0, 0, 0, 0, 1, 1, 1, NOTHING, UNDECLARED])
OTHERS = st.sampled_from([0, 0, 1, 1, 1, 1, NOTHING, UNDECLARED])


@st.composite
def streams(
    draw: st.DrawFn, states: Sequence[int], others: int = 0, most: int = 14, ends: bool = False
) -> list[Event]:
    """Events in two partitions, with ties; measures are times, positions or ranks.

    Some streams are at an end of the range of times.
    """
    size = draw(st.integers(1, most))
    ticks = np.cumsum(draw(st.lists(st.sampled_from([0, 1, 1, 2]), min_size=size, max_size=size)))
    keys = draw(st.lists(KEYS, min_size=size, max_size=size))
    begin = draw(st.sampled_from([0, EARLIEST, LATEST - int(ticks[-1])])) if ends else 0
    measured = draw(st.sampled_from(["times", "times", "positions"]))
    rows, row = list[Event](), draw(st.sampled_from([0, 5]))
    for place, key in enumerate(keys):
        more = tuple(draw(OTHERS) for _ in range(others))
        measure = int(ticks[place]) + begin if measured == "times" else place + min(begin, 0)
        state = draw(st.sampled_from(states))
        rows.append(Event(row, state, key, measure, int(ticks[place]), more))
        row += draw(st.sampled_from([1, 1, 3]))
    return rows


def ranked(events: Sequence[Event]) -> list[Event]:
    """The measure is the rank in the partition."""
    counts: dict[int, int] = {}
    found = []
    for event in events:
        rank = counts.get(event.key, 0)
        counts[event.key] = rank + 1
        found.append(event._replace(measure=NOTHING if event.key < 0 else rank))
    return found
