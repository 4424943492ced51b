"""The counts of an explanation are the matches of the naive matcher in the relaxed query."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import settings

from tests.diagnostics.why_not.explaining import explained, small_pieces, twice
from tests.drawing.examples import Example
from tests.drawing.examples import example as drawn
from tests.drawing.queries import Query
from tests.drawing.streams import TABLES
from tests.seeds import draw_numbers

NUMBERS = draw_numbers(2 * settings().max_examples)
hits: Counter[str] = Counter()
pytestmark = pytest.mark.usefixtures(small_pieces.__name__)


def found(example: Example, query: Query) -> list[tuple[int, ...]]:
    """The rows of the naive matches of another query on the same stream, LIMIT left out."""
    matches = replace(example, query=replace(query, limit="", returned="")).expected
    return [tuple(row for (row,) in match.events) for match in matches]


def relaxed(query: Query) -> Iterator[tuple[str, Query]]:
    """The query without each of its parts, under the text of the part where that is as written."""
    for text in query.tests:
        others = tuple(each for each in query.tests if each != text)
        if "," not in text and (others or "PARTITION" not in query.window):
            yield text, replace(query, tests=others)
    for number, text in enumerate(query.conditions):
        kept = query.conditions[:number] + query.conditions[number + 1 :]
        yield text, replace(query, conditions=kept)
    components = query.components
    for place, component in enumerate(components):
        if component.negated:
            kept = tuple(t for t in query.conditions if f"{component.variable}." not in t)
            others = query.with_parts(components[:place] + components[place + 1 :])
            yield f"!({component.text})", replace(others, conditions=kept)
    if query.window and not (query.negated_start or query.negated_end):
        yield "WITHIN", replace(query, window="")


def part_of(text: str) -> str:
    """The text of a part, but for the length of a window, which may be a parameter."""
    return "WITHIN" if text.startswith("WITHIN") else text


@pytest.mark.random
@pytest.mark.parametrize("number", NUMBERS)
def test_counts_are_those_of_the_naive_matcher(number: int) -> None:
    """The matches, those without each part, and near misses that miss by that part alone."""
    example = drawn(number, "sequences")
    why = explained(example, near=5)
    if why is None:
        return
    every = found(example, example.query)
    assert (why.matches.number, why.is_complete) == (len(every), True)
    counted = [(part_of(each.parts[0].text), each.matches.number) for each in why.left_out]
    cases = list(relaxed(example.query))
    doubtful = twice([name for name, _ in cases]) | twice([name for name, _ in counted])
    without: dict[str, list[tuple[int, ...]]] = {}
    for name, query in cases:
        if name in dict(counted) and name not in doubtful:
            without[name] = found(example, query)
            hits["left out"] += 1
            hits["that helps"] += len(without[name]) > len(every)
            assert dict(counted)[name] == len(without[name]), name
    _check_near_misses(example, why, every, without)


def _check_near_misses(example: Example, why: Any, every: Any, without: Any) -> None:
    parts = why.near_misses.column("stopped_by").to_pylist()
    shares = why.near_misses.column("distance").to_pylist()
    ranks = [
        share if share is not None else 2.0 if part[0] == "[" else 1.0
        for part, share in zip(parts, shares, strict=True)
    ]
    assert ranks == sorted(ranks)
    if example.setting.layout == TABLES:
        return  # in which the naive matcher numbers rows as one table
    names = [level.candidates.component.variable for level in why.levels]
    for miss in why.near_misses.to_pylist():
        part = part_of(miss["stopped_by"])
        rows = tuple(miss["rows"][name] for name in names)
        assert rows not in every
        if part in without:
            hits["near misses"] += 1
            assert rows in without[part], part


def beginning(query: Query, levels: int) -> Query | None:
    """The query of the first components; None if the components of a condition are not known."""
    kept = [c for c in query.components if not c.negated][:levels]
    names = {c.variable for c in kept}
    conditions = []
    for text in query.conditions:
        read = set(re.findall(r"\b([a-z])\.", text))
        if re.search(r"\b(AND|OR|NOT|TRUE|FALSE)\b", text) or not read:
            return None
        if read <= names:
            conditions.append(text)
    return replace(query.with_parts(kept), conditions=tuple(conditions))


@pytest.mark.random
@pytest.mark.parametrize("number", NUMBERS)
def test_the_funnel_is_that_of_the_naive_matcher(number: int) -> None:
    """At each level the partial matches, and the distinct events with which they end."""
    example = drawn(number, "sequences")
    why = explained(example, near=0)
    if why is None:
        return
    for number, level in enumerate(why.levels, start=1):
        is_last = number == len(why.levels)
        query = example.query if is_last else beginning(example.query, number)
        if query is None:
            continue
        partial = found(example, query)
        hits["levels"] += not is_last
        assert level.partial.number == len(partial)
        assert level.reached.number == len({rows[-1] for rows in partial})
        assert level.in_order >= level.reached.number
        if level.steps:
            assert level.steps[-1].left == level.reached


@pytest.mark.random
@pytest.mark.parametrize("number", NUMBERS)
def test_what_is_cut_is_said_and_no_more_than_there_is(number: int) -> None:
    """If a search may find a few only, exact counts are right, and others are lower bounds."""
    example, most = drawn(number, "sequences"), 1 + number % 5
    why = explained(example, most=most, near=3)
    if why is None:
        return
    every = len(found(example, example.query))
    counts = [why.matches, *(level.partial for level in why.levels)]
    assert why.matches.number == every if why.matches.is_exact else most <= every
    assert why.matches.number <= every
    assert not why.is_complete or all(count.is_exact for count in counts)
    hits["cut"] += not why.is_complete


def test_the_examples_show_something() -> None:
    """Those that were run just now."""
    if hits["levels"] < 50:
        pytest.skip("too few examples ran before this test")
    assert set(hits) == {"left out", "that helps", "near misses", "levels", "cut"}
    assert {name: count for name, count in hits.items() if count < 10} == {}
