"""Explanations of random patterns with choices agree with their matches, and warnings come once."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
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


# ---------------------------------------------------------------- overflow warnings

# A value beyond int64 is reported once, whichever branches compute it, by their variables.


EVENTS = pa.table({
    "ts": range(40), "type": ["ABC"[n % 3] for n in range(40)], "big": [2**62] * 40,
})  # fmt: skip


def warned(condition: str, pattern: str = "SEQ(A a, (B b OR SEQ(C c, B d)))") -> list[str]:
    """The reported expressions, by all ways of running."""
    text = f"EVENT {pattern} WHERE {condition} WITHIN 5"
    script = sase.Script(f"{text}; EVENT A x", EVENTS.schema)
    matcher = script.open()
    matcher.push(None, EVENTS)
    reports = [
        sase.match(text, EVENTS).report,
        script.run(EVENTS)["query_1"].report,
        sase.compile(text, EVENTS.schema).open().push(EVENTS).report,
        matcher.reports["query_1"],
    ]
    told = {tuple(each.split("`")[1] for each in report.warnings) for report in reports}
    (only,) = told
    return list(only)


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("a.big + a.big > 0", ["a.big + a.big"]),
        ("b.big + b.big > 1 AND d.big + d.big > 0", ["b.big + b.big", "d.big + d.big"]),
        ("a.big + b.big > 1 AND a.big + c.big > 0", ["a.big + b.big", "a.big + c.big"]),
    ],
)
def test_each_expression_is_told_once(condition: str, expected: list[str]) -> None:
    assert warned(condition) == expected


def test_branches_of_one_scan_tell_their_own_variables() -> None:
    found = warned("b.big + b.big > 1 AND c.big + c.big > 0", "SEQ(A a, (B b OR C c))")
    assert found == ["b.big + b.big", "c.big + c.big"]


def test_what_branches_count_is_added() -> None:
    def times(pattern: str) -> int:
        text = f"EVENT {pattern} WITHIN 5 RETURN a.big + a.big AS x"
        (warning,) = sase.match(text, EVENTS).report.warnings
        return int(warning.split("integers ")[1].split()[0])

    one, other = times("SEQ(A a, B b)"), times("SEQ(A a, C c, B d)")
    assert times("SEQ(A a, (B b OR SEQ(C c, B d)))") == one + other
