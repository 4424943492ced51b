"""The random queries with sets, and of earliest_maximal: valid, varied, and with results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from sase.lang.parser import parse_query
from tests.engine.branches.patterns import Choice, Node, leaves
from tests.engine.series.examples import drawn
from tests.engine.sets.examples import SetsExample, examples
from tests.engine.sets.queries import GREEDY
from tests.naive.pattern import written_out
from tests.seeds import draw_numbers, share, tries

# Each must be in an example that has a result, before a test has seen enough.
CONSTRUCTS = {
    "a set alone", "several sets", "a series in a set", "a member that may be empty",
    "a set in a choice", "a negative component", "members in another order than written",
    "members of one time", "a match that waits for its window", "earliest_maximal without a set",
    "skip_till_any_match", "skip_till_next_match", "strict_contiguity", "partition_contiguity",
    "earliest_maximal", "HAVING", "RETURN", "LIMIT", "non_overlap", "ties", "NULL",
    "equivalence test", "EVENTS", "PER PARTITION", "WITHIN", "INCLUSIVE", "several conditions",
}  # fmt: skip
NUMBERS = draw_numbers(share(30))


@pytest.mark.heavy
@pytest.mark.random
def test_the_examples_have_every_construct() -> None:
    seen = set[str]()
    for number in tries(NUMBERS[0]):
        for one in range(60):
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
def test_the_steps_are_those_of_the_pattern(number: int) -> None:
    query = drawn(number, examples()).query
    branches = written_out(parse_query(query.text).pattern).branches
    found = [[(each.of_set, each.component.variable) for each in way.elements] for way in branches]
    wanted = list[list[int]]()
    for way in query.ways:
        wanted.append([len(step) for step in way for _ in step])
    sizes = [[_size(way, of_set) for of_set, _ in way] for way in found]
    assert sizes == wanted


def _size(way: list[tuple[int | None, object]], of_set: int | None) -> int:
    return 1 if of_set is None else sum(each == of_set for each, _ in way)


# ---------------------------------------------------------------- constructs


def constructs(example: SetsExample) -> Iterator[str]:
    """What an example uses, and what its result shows."""
    query, sets = example.query, [*_sets(example.query.tree, False)]
    keys = [example.setting.key(row) for row in example.rows]
    members = {part.variable for each, _ in sets for part in leaves(each) if part.variable}
    there = {
        "a set alone": query.tree.kind == "set",
        "several sets": len(sets) > 1,
        "a series in a set": any(part.is_list for each, _ in sets for part in leaves(each)),
        "a member that may be empty": any(not p.least for each, _ in sets for p in leaves(each)),
        "a set in a choice": any(is_chosen for _, is_chosen in sets),
        "a negative component": any(part.negated for part in leaves(query.tree)),
        "members in another order than written": any(_is_other(each) for each in _rows(example)),
        "members of one time": any(
            keys[row] == keys[other]
            for rows in _rows(example)
            for name, row in rows
            for another, other in rows
            if name != another and {name, another} <= members
        ),
        "a match that waits for its window": query.strategy == GREEDY
        and any(each.detected_at != each.ts_end for each in example.expected),
        "earliest_maximal without a set": query.strategy == GREEDY and not sets,
        "HAVING": bool(query.having),
        "RETURN": bool(query.returned),
        "LIMIT": bool(query.limit),
        "non_overlap": example.output == "non_overlap",
        "ties": len(set(keys)) < len(keys),
        "NULL": any(None in row.values() for row in example.rows),
        "equivalence test": bool(query.tests),
        "EVENTS": "EVENTS" in query.window,
        "PER PARTITION": "PARTITION" in query.window,
        "INCLUSIVE": query.is_inclusive,
        "WITHIN": bool(query.window),
        "several conditions": len(query.conditions) > 1,
        query.strategy: True,
    }
    yield from (name for name, is_there in there.items() if is_there)


def _sets(node: Node, is_chosen: bool) -> Iterator[tuple[Choice, bool]]:
    """The sets of a pattern, and whether they are in a choice."""
    if isinstance(node, Choice):
        if node.kind == "set":
            yield node, is_chosen
        for part in node.parts:
            yield from _sets(part, is_chosen or node.kind in ("or", "?"))


def _rows(example: SetsExample) -> list[list[tuple[str, int]]]:
    """Of each match the variables with their rows, as the pattern has them."""
    return [
        [(name, row) for name, rows in zip(each.names, each.events, strict=True) for row in rows]
        for each in example.expected
    ]


def _is_other(rows: list[tuple[str, int]]) -> bool:
    return [row for _, row in rows] != sorted(row for _, row in rows)
