"""A query of several branches with a stream for it, small enough for the naive matcher."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from hypothesis import strategies as st

from tests.engine.branches.queries import BranchesQuery, queries
from tests.engine.matching.streams import Setting, settings_of_streams, streams
from tests.engine.series.examples import (
    MOST_RUNS,
    SeriesExample,
    inexact,
    runs,
    usual,
    with_matches,
)
from tests.engine.series.writing import Part

MOST_EVENTS = 12
# The queries that streams of a setting are asked.
QueriesOf: TypeAlias = Callable[[Setting], st.SearchStrategy[BranchesQuery]]


@dataclass(frozen=True, repr=False)
class BranchesExample(SeriesExample):
    """A query of several branches, a stream, and the output format."""

    query: BranchesQuery  # type: ignore[assignment]


@st.composite
def examples(draw: st.DrawFn, of: QueriesOf = queries) -> BranchesExample:
    setting = draw(settings_of_streams())
    query = draw(of(setting))
    kinds = list[tuple[str, ...]]()
    for _ in range(2):  # events for two of the branches, one after the other
        for part in draw(st.sampled_from(query.branches)):
            kinds += [part.types] * (0 if part.negated else draw(st.sampled_from(usual(part))))
    negative = [part.types[0] for part in query.components if part.negated]
    rows = list(inexact(draw(streams(setting, kinds, negative, query.text, MOST_EVENTS))))
    while sum(runs(_positive(way), setting, rows) for way in query.branches) > MOST_RUNS:
        rows.remove(max(rows, key=setting.key))
    output = draw(st.sampled_from(["all", "all", "all", "non_overlap"]))
    example = BranchesExample(query, setting, rows, output)
    return with_matches(example) if draw(st.integers(0, 9)) else example  # type: ignore[return-value]


def _positive(way: list[Part]) -> list[Part]:
    return [part for part in way if not part.negated]
