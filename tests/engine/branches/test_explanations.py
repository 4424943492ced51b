"""Explanations of random patterns with choices agree with their matches."""

from __future__ import annotations

from typing import Any

import pytest

import sase
from sase.errors import QueryError
from tests.diagnostics.why_not.explaining import explained
from tests.drawing.examples import Example
from tests.drawing.examples import example as drawn
from tests.seeds import draw_numbers, share

NUMBERS = draw_numbers(share(20))
pytestmark = pytest.mark.random


def asked(function: Any, example: Example, **more: Any) -> Any:
    """The result of a public function for an example; None where the query is refused."""
    try:
        return function(example.query.text, example.table, **example.given_keywords, **more)
    except QueryError:
        return None


@pytest.mark.parametrize("number", NUMBERS)
def test_analyze_counts_what_each_branch_gives(number: int) -> None:
    example = drawn(number, "choices")
    matches, run = asked(sase.match, example), asked(sase.explain, example, analyze=True)
    if run is None:
        return
    assert run.results == len(matches)
    assert all(each.measured is not None for each in run.operators)
    if run.branches:
        counted = dict(matches.report.counters)
        # Of branches that share a scan EXPLAIN has one part, and each has a count of its own.
        of_branches = [
            count["out"]
            for name, count in counted.items()
            if name.startswith("Transformation of branch ")
        ]
        assert len(of_branches) >= max(len(run.branches), 2)
        assert sum(of_branches) == counted["Union"]["out"]


@pytest.mark.parametrize("number", NUMBERS)
def test_why_counts_what_there_is(number: int) -> None:
    """LIMIT is not looked at."""
    example = drawn(number, "choices")
    found, matches = explained(example, near=1), asked(sase.match, example)
    if found is None or "LIMIT" in example.query.text:
        return
    assert found.matches.number <= len(matches)
    if found.matches.is_exact:
        assert found.matches.number == len(matches)
    for each in found.branches:
        assert each.matches.number <= len(matches)


@pytest.mark.parametrize("number", NUMBERS)
def test_what_a_strategy_lacks_has_a_reason(number: int) -> None:
    compared = asked(sase.compare, drawn(number, "choices"), show=50)
    if compared is not None:
        assert all(match.reasons for each in compared.differences for match in each.matches)
