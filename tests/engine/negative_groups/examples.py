"""A query with negative groups and a stream for it, small enough for the naive matcher."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

from tests.engine.matching.streams import settings_of_streams, streams
from tests.engine.negative_groups.queries import GroupsQuery, every_part, queries
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


@dataclass(frozen=True, repr=False)
class GroupsExample(SeriesExample):
    """A query with negative groups, a stream, and the output format."""

    query: GroupsQuery  # type: ignore[assignment]


@st.composite
def examples(draw: st.DrawFn) -> GroupsExample:
    setting = draw(settings_of_streams())
    query = draw(queries(setting))
    kinds = list[tuple[str, ...]]()
    for _ in range(2):  # once with what forbids, and once without
        with_negatives = draw(st.sampled_from([True, False, True]))
        for part in every_part(draw(st.sampled_from(query.ways))):
            if with_negatives or not part.negated:
                kinds += [part.types] * draw(st.sampled_from(usual(part)))
    negative = [part.types[0] for part in query.components if part.negated]
    rows = list(inexact(draw(streams(setting, kinds, negative, query.text, MOST_EVENTS))))
    while sum(runs(_positive(way), setting, rows) for way in query.branches) > MOST_RUNS:
        rows.remove(max(rows, key=setting.key))
    output = draw(st.sampled_from(["all", "all", "all", "non_overlap"]))
    example = GroupsExample(query, setting, rows, output)
    if example.is_refused or draw(st.integers(0, 9)) < 5:
        return example
    return with_matches(example)  # type: ignore[return-value]


def _positive(way: list[Part]) -> list[Part]:
    return [part for part in way if not part.negated]
