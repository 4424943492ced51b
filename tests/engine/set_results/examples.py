"""Random queries of which all that is asked of several events is asked of neighbours."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from random import Random

from tests.engine.branches.examples import examples as examples_with_branches
from tests.engine.series.examples import MOST_RUNS, SeriesExample, drawn, examples, runs
from tests.engine.series.queries import ANY
from tests.engine.series.writing import Part
from tests.engine.sets.examples import examples as examples_with_sets

OPERATORS = ("<", "<=", ">", ">=", "=", "!=")


def any_example(number: int) -> SeriesExample:
    """A query of any kind, of which all matches are wanted."""
    return replace(drawn(number, examples()), output="all")


def example_with_sets(number: int) -> SeriesExample:
    """A query with sets, or of earliest_maximal, of which all matches are wanted."""
    return replace(drawn(number, examples_with_sets()), output="all")


def countable_with_sets(number: int) -> SeriesExample:
    """A query with sets of which little is asked, so that its matches can mostly be counted."""
    example, random = example_with_sets(number), Random(number)
    query = replace(
        example.query,
        conditions=example.query.conditions[: random.choice([0, 0, 1])],
        having=example.query.having if random.random() < 0.2 else "",
        limit="",
        strategy=ANY,
    )
    return replace(example, query=query)


def countable_with_branches(number: int) -> SeriesExample:
    """A query with choices of which little is asked, so that branches can mostly be counted."""
    example, random = drawn(number, examples_with_branches()), Random(number)
    conditions = example.query.conditions[: random.randrange(2)]
    strategy = random.choice(["", ANY, example.query.strategy])
    listed = example.query.listed if strategy else ""
    query = replace(
        example.query, conditions=conditions, limit="", strategy=strategy, listed=listed
    )
    return replace(example, query=query, output="all")


def countable(number: int) -> SeriesExample:
    """A query that nothing keeps from being counted."""
    example, random = any_example(number), Random(number)
    parts = tuple(part for part in example.query.components if not part.negated)
    conditions = list(_conditions(parts, random))
    chosen = random.sample(conditions, min(len(conditions), random.choice([0, 1, 1, 2])))
    query = replace(
        example.query,
        components=parts,
        strategy=random.choice(["", ANY]),
        listed="",
        conditions=tuple(chosen),
        having=random.choice(["", "", *_lengths(parts, random)]),
        limit="",
    )  # fmt: skip
    rows = list(example.rows)
    while runs(query.positives, example.setting, rows) > MOST_RUNS:
        rows.remove(max(rows, key=example.setting.key))
    return replace(example, query=query, rows=rows)


def _conditions(parts: tuple[Part, ...], random: Random) -> Iterator[str]:
    """Conditions on one event, on neighbours, and on the length of a series."""
    for part in filter(lambda part: part.variable, parts):
        at = f"{part.variable}[i]" if part.is_list else part.variable
        yield f"{at}.{_attribute(random)} {random.choice(OPERATORS)} {random.randrange(-1, 3)}"
        if part.is_list:
            for _ in range(2):
                yield _compared(at, f"{part.variable}[i-1]", random)
    yield from _lengths(parts, random)
    for one, other in pairwise(parts):
        if one.variable and other.variable:
            last = f"{one.variable}[{one.variable}.len]" if one.is_list else one.variable
            first = f"{other.variable}[1]" if other.is_list else other.variable
            if not one.is_list or one.least:
                yield _compared(first, last, random)


def _lengths(parts: tuple[Part, ...], random: Random) -> Iterator[str]:
    for part in parts:
        if part.variable and part.is_list:
            name, number = part.variable, random.randrange(1, 4)
            yield f"{name}.len {random.choice(OPERATORS[:5])} {number}"
            yield f"count({name}[]) BETWEEN {number} AND {number + 1}"


def _compared(one: str, other: str, random: Random) -> str:
    name, operator = _attribute(random), random.choice(OPERATORS)
    more = random.choice(["", "", " + 1", " * 2"]) if name != "s" else ""
    return f"{one}.{name} {operator} {other}.{name}{more}"


def _attribute(random: Random) -> str:
    return random.choice("nnnkf")
