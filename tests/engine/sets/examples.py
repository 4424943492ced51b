"""A query with sets, or of earliest_maximal, with a stream small enough for the naive matcher."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from hypothesis import strategies as st

from tests.engine.matching.streams import Row, Setting, settings_of_streams, streams
from tests.engine.series.examples import (
    SeriesExample,
    admits,
    inexact,
    type_of,
    usual,
    with_matches,
)
from tests.engine.sets.queries import SetsQuery, Steps, queries

MOST_EVENTS = 11
# How many runs the naive matcher may look at, summed over the events.
MOST_RUNS = 2500
# Of a run: the number of its step, and how many events each component of that has bound.
Place = tuple[int, tuple[int, ...]]
# The queries that streams of a setting are asked.
QueriesOf: TypeAlias = Callable[[Setting], st.SearchStrategy[SetsQuery]]


@dataclass(frozen=True, repr=False)
class SetsExample(SeriesExample):
    """A query with sets or of earliest_maximal, a stream, and the output format."""

    query: SetsQuery  # type: ignore[assignment]


@st.composite
def examples(
    draw: st.DrawFn, of: QueriesOf = queries, events: int = MOST_EVENTS, most: int = MOST_RUNS
) -> SetsExample:
    """An example, which mostly has a match."""
    setting = draw(settings_of_streams())
    query = draw(of(setting))
    kinds = list[tuple[str, ...]]()
    for _ in range(2):  # events for two of the branches, one after the other
        for step in draw(st.sampled_from(query.ways)):
            of_step = list[tuple[str, ...]]()
            for part in step:
                of_step += [part.types] * (
                    0 if part.negated else draw(st.sampled_from(usual(part)))
                )
            kinds += draw(st.permutations(of_step))
    negative = [part.types[0] for part in query.components if part.negated]
    rows = list(inexact(draw(streams(setting, kinds, negative, query.text, events))))
    while sum(runs(_positive(way), setting, rows) for way in query.ways) > most:
        rows.remove(max(rows, key=setting.key))
    output = draw(st.sampled_from(["all", "all", "all", "non_overlap"]))
    example = SetsExample(query, setting, rows, output)
    return with_matches(example) if draw(st.integers(0, 9)) else example  # type: ignore[return-value]


def _positive(way: Steps) -> Steps:
    return [step for step in way if not step[0].negated]


def runs(way: Steps, setting: Setting, rows: Sequence[Row]) -> int:
    """Runs under skip till any match, summed over the events, if all conditions held."""
    alive: Counter[Place] = Counter()
    total = 0
    for row in sorted(rows, key=setting.key):
        kind = type_of(row, setting)
        new: Counter[Place] = Counter()
        for (step, bound), number in [*alive.items(), ((-1, ()), 1)]:
            for after in _moves(way, step, bound, kind):
                new[after] += number
        alive += new
        total += alive.total()
    return total


def _moves(way: Steps, step: int, bound: tuple[int, ...], kind: str | None) -> Iterator[Place]:
    """Where a run may go to with an event; of more than three events it is not told how many."""
    while True:
        for place, number in enumerate(bound):
            part = way[step][place]
            if number < (math.inf if part.most is None else part.most) and admits(part, kind):
                yield step, (*bound[:place], min(number + 1, 3), *bound[place + 1 :])
        if any(number < part.least for number, part in zip(bound, way[max(step, 0)], strict=False)):
            return
        step += 1
        if step == len(way):
            return
        bound = (0,) * len(way[step])
