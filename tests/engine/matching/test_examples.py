"""The random queries are worth running: leaving a clause out often changes what is found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from tests.engine.matching.examples import Example, examples
from tests.engine.matching.queries import Query

# Of the examples that have such a clause.
LEAST = {"negation": 0.2, "window": 0.15, "equivalence tests": 0.3, "conditions": 0.25}


@pytest.mark.heavy
def test_every_clause_decides() -> None:
    there: Counter[str] = Counter()
    decides: Counter[str] = Counter()

    @settings(
        max_examples=150, derandomize=True, database=None, phases=[Phase.generate],
        suppress_health_check=[HealthCheck.too_slow],
    )  # fmt: skip
    @given(examples())
    def collect(example: Example) -> None:
        unlimited = replace(example, query=replace(example.query, limit=""))
        for clause, query in without(unlimited.query):
            there[clause] += 1
            decides[clause] += rows(unlimited) != rows(replace(example, query=query))

    collect()
    shares = {name: decides[name] / there[name] for name in LEAST}
    assert {name: share for name, share in shares.items() if share < LEAST[name]} == {}


def without(query: Query) -> Iterator[tuple[str, Query]]:
    """The query without one of its clauses, if it has that and can do without it."""
    if any(component.negated for component in query.components):
        yield "negation", query.without_negation()
    if query.window and not (query.negated_start or query.negated_end):
        yield "window", replace(query, window="")
    if query.tests and "PARTITION" not in query.window:
        yield "equivalence tests", replace(query, tests=())
    if query.conditions:
        yield "conditions", replace(query, conditions=())


def rows(example: Example) -> list[object]:
    return [match.events for match in example.expected]
