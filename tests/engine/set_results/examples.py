"""Random queries in which all conditions on several events are on neighbours."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from random import Random

from tests.drawing.examples import MOST_RUNS, Example, example, shortened
from tests.drawing.forms_of_patterns import ANY
from tests.drawing.patterns import Part

OPERATORS = ("<", "<=", ">", ">=", "=", "!=")


def any_example(number: int) -> Example:
    """A query of any kind, of which all matches are wanted."""
    return replace(example(number, "series"), output="all")


def example_with_sets(number: int) -> Example:
    """A query with sets, or of earliest_maximal, of which all matches are wanted."""
    return replace(example(number, "sets"), output="all")


def countable_with_sets(number: int) -> Example:
    """A query with sets and few conditions, so that its matches can mostly be counted."""
    drawn, random = example_with_sets(number), Random(number)
    query = replace(
        drawn.query,
        conditions=drawn.query.conditions[: random.choice([0, 0, 1])],
        having=drawn.query.having if random.random() < 0.2 else "",
        limit="",
        strategy=ANY,
    )
    return replace(drawn, query=query)


def countable_with_branches(number: int) -> Example:
    """A query with choices and few conditions, so that branches can mostly be counted."""
    drawn, random = example(number, "choices"), Random(number)
    conditions = drawn.query.conditions[: random.randrange(2)]
    strategy = random.choice(["", ANY, drawn.query.strategy])
    listed = drawn.query.listed if strategy else ""
    query = replace(drawn.query, conditions=conditions, limit="", strategy=strategy, listed=listed)
    return replace(drawn, query=query, output="all")


def countable(number: int) -> Example:
    """A query that nothing keeps from being counted."""
    drawn, random = any_example(number), Random(number)
    parts = tuple(part for part in drawn.query.components if not part.negated)
    conditions = list(_conditions(parts, random))
    chosen = random.sample(conditions, min(len(conditions), random.choice([0, 1, 1, 2])))
    query = replace(
        drawn.query.with_parts(parts),
        strategy=random.choice(["", ANY]),
        listed="",
        conditions=tuple(chosen),
        having=random.choice(["", "", *_lengths(parts, random)]),
        limit="",
    )  # fmt: skip
    rows = shortened(query, drawn.setting, drawn.rows, MOST_RUNS)
    return replace(drawn, query=query, rows=rows)


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
