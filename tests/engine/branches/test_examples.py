"""The random queries of several branches: valid, varied, and what the naive matcher finds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pytest

from sase.lang.parser import parse_query
from tests import naive
from tests.engine.branches.examples import BranchesExample, examples
from tests.engine.branches.patterns import Choice, Node, leaves
from tests.engine.series.examples import drawn
from tests.engine.series.queries import PARTITION, SeriesQuery
from tests.engine.series.writing import Part
from tests.naive.pattern import written_out
from tests.seeds import draw_numbers, share, tries

# Each must be in an example that has a result, before a test has seen enough.
CONSTRUCTS = {
    "OR", "three alternatives", "a group that may be left out", "a choice in a choice",
    "a group with a variable", "a variable in two places", "a series", "a negative component",
    "no variable", "a condition that is absent", "several branches with a match", "no choice taken",
    "skip_till_next_match", "strict_contiguity", "partition_contiguity", "HAVING", "RETURN",
    "LIMIT", "non_overlap", "ties", "NULL", "equivalence test", "EVENTS", "WITHIN",
}  # fmt: skip
NUMBERS = draw_numbers(share(50))


@pytest.mark.heavy
@pytest.mark.random
def test_the_examples_have_every_construct() -> None:
    seen = set[str]()
    for number in tries(NUMBERS[0]):
        for one in range(40):
            example = drawn(number + one, examples())
            seen |= set(constructs(example)) if example.expected else set()
        if seen >= CONSTRUCTS:
            break


@pytest.mark.random
def test_most_examples_have_a_result() -> None:
    counts = Counter[bool]()
    for number in tries(NUMBERS[0]):
        counts.update(bool(drawn(number + one, examples()).expected) for one in range(20))
        if counts[True] >= 0.6 * counts.total():
            break


@pytest.mark.random
@pytest.mark.parametrize("number", NUMBERS)
def test_the_branches_are_those_of_the_choices(number: int) -> None:
    query = drawn(number, examples()).query
    pattern = written_out(parse_query(query.text).pattern)
    assert pattern.columns
    found = [[element.name for element in branch.elements] for branch in pattern.branches]
    places = {id(part): place for place, part in enumerate(leaves(query.tree), start=1)}
    assert found == [[_name(part, places[id(part)]) for part in way] for way in query.branches]


def _name(part: Part, place: int) -> str:
    test = "ANY" if part.test.startswith("ANY") else part.test
    return part.variable or f"{test}_{place}"


@pytest.mark.random
@pytest.mark.parametrize("number", NUMBERS)
def test_the_matches_are_those_of_the_branches(number: int) -> None:
    example = drawn(number, examples())
    query = replace(example.query, conditions=(), having="", returned="", limit="", listed="")
    named = all(part.variable for part in query.components if not part.negated)
    if not named or query.strategy == PARTITION or "PARTITION" in query.window:
        return
    bare = replace(example, query=replace(query, tests=()), output="all")
    alone = [
        replace(bare, query=_alone(bare.query, way))  # type: ignore[arg-type]
        for way in query.branches
    ]
    expected = {mapping(each) for one in alone for each in one.expected}
    found = [mapping(each) for each in bare.expected]
    assert len(found) == len(set(found)) and set(found) == expected


def _alone(query: SeriesQuery, way: list[Part]) -> SeriesQuery:
    """The query of one branch."""
    return SeriesQuery(tuple(way), query.strategy, window=query.window, parameters=query.parameters)


def mapping(match: naive.Match) -> frozenset[tuple[str, tuple[int, ...]]]:
    """What is bound."""
    return frozenset(pair for pair in zip(match.names, match.events, strict=True) if pair[1])


# ---------------------------------------------------------------- constructs


def constructs(example: BranchesExample) -> Iterator[str]:
    """What an example uses, and what its result shows."""
    query, parts = example.query, leaves(example.query.tree)
    yield from _in_tree(query.tree, 0)
    names = [part.variable for part in parts if part.variable]
    keys = [example.setting.key(row) for row in example.rows]
    there = {
        "a variable in two places": len(names) > len(set(names)),
        "a series": any(part.is_list for part in parts),
        "a negative component": any(part.negated for part in parts),
        "no variable": any(part.variable is None for part in parts),
        "a condition that is absent": _is_absent(example),
        "several branches with a match": len({_bound(each) for each in example.expected}) > 1,
        "no choice taken": any(len(_bound(each)) < 2 for each in example.expected),
        "HAVING": bool(query.having),
        "RETURN": bool(query.returned),
        "LIMIT": bool(query.limit),
        "non_overlap": example.output == "non_overlap",
        "ties": len(set(keys)) < len(keys),
        "NULL": any(None in row.values() for row in example.rows),
        "equivalence test": bool(query.tests),
        "EVENTS": "EVENTS" in query.window,
        "WITHIN": bool(query.window),
        query.strategy: True,
    }
    yield from (name for name, is_there in there.items() if is_there)


def _in_tree(node: Node, depth: int) -> Iterator[str]:
    if isinstance(node, Choice):
        is_choice = node.kind != "seq"
        if is_choice:
            yield "OR" if node.kind == "or" else "a group that may be left out"
            yield from ["three alternatives"] * (len(node.parts) > 2)
            yield from ["a group with a variable"] * bool(node.variable)
            yield from ["a choice in a choice"] * (depth > 0)
        for part in node.parts:
            yield from _in_tree(part, depth + is_choice)


def _is_absent(example: BranchesExample) -> bool:
    """Whether some condition mentions a variable that some branch does not have."""
    query = example.query
    every = {part.variable for part in query.components if part.variable}
    lacking = {name for way in query.branches for name in every - {part.variable for part in way}}
    return any(
        f"{name}{sign}" in text for name in lacking for text in query.conditions for sign in ".["
    )


def _bound(match: naive.Match) -> frozenset[str]:
    return frozenset(name for name, _ in mapping(match))
