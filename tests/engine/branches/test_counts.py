"""Matches of branches are counted branch by branch where no two branches can give the same one."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random
from typing import Any

import pytest

import sase
from tests.engine.branches.examples import examples
from tests.engine.matching.ways import keywords_of
from tests.engine.series.examples import SeriesExample, drawn
from tests.seeds import draw_numbers, tries

SAME = "several branches of the pattern may give the same match"


def rows(count: int) -> list[dict[str, Any]]:
    return [{"type": "ABCD"[n * 7 % 11 % 4], "ts": n, "k": n % 3, "v": n % 5} for n in range(count)]


def explained(query: str, given: list[dict[str, Any]]) -> str:
    """The explanation of a count, in one line."""
    return " ".join(str(sase.explain(query, given, output="count")).split())


@pytest.mark.parametrize(
    "query",
    [
        "EVENT SEQ(A a, B b) OR SEQ(A a, C c)",
        "EVENT SEQ(A a, B b, D d) OR SEQ(A a, C b, D d) WHERE b.v < d.v",
        "EVENT SEQ(A a, B+ b[]) OR SEQ(A a, C+ c[]) WHERE [k] WITHIN 20",
        "EVENT SEQ(A a, B b) OR SEQ(A a, C+ c[]) HAVING c.len < 3",
        "EVENT SEQ(A a, (B b OR C+ c[] OR SEQ(D? d, A e)))",
    ],
)
def test_what_is_counted(query: str) -> None:
    given = rows(30)
    count = sase.match(query, given, output="count")
    assert count == len(sase.match(query, given)) > 0
    assert count.is_counted
    assert "no two branches have a match in common" in explained(query, given)


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("EVENT SEQ(A a, B b) OR SEQ(A a, B b, D? d)", SAME),
        ("EVENT SEQ(A a, ANY(B, C) b) OR SEQ(A a, ANY(C, D) b)", SAME),
        ("EVENT SEQ(A a, B+ b[]) OR SEQ(A a, C* c[])", ""),
        ("EVENT SEQ(A a, B* b[]) OR SEQ(A a, C* c[])", SAME),
        ("EVENT SEQ(A a, B b, A d) OR SEQ(A a, C c) WHERE a.v < d.v", "branch 1: a.v < d.v is no"),
        ("EVENT SEQ(A a, B b) OR SEQ(A a, C c) LIMIT 3", "LIMIT takes the first matches only"),
        ("EVENT SEQ(A a, B b) OR SEQ(A a, !(D d), C c)", "branch 2: a negative component"),
    ],
)
def test_what_is_listed(query: str, reason: str) -> None:
    given = rows(30)
    count = sase.match(query, given, output="count")
    assert count == len(sase.match(query, given)) > 0
    assert count.is_counted is not bool(reason)
    if reason:
        assert any(reason in note for note in count.report.notes)
        assert reason in explained(query, given)


def test_more_than_can_be_listed() -> None:
    given = [{"type": "ABC"[n % 3], "ts": n} for n in range(300)]
    query = "EVENT SEQ(A a, B+ b[]) OR SEQ(A a, C+ c[])"
    count = sase.match(query, given, output="count")
    assert count == 2 * sum(2 ** (100 - n) - 1 for n in range(100))
    names = [name for name, _ in count.report.counters]
    assert "RunEvaluation of branch 2" in names


def test_a_set_of_several_branches_is_listed() -> None:
    query = "EVENT SEQ(A a, B b) OR SEQ(A a, C c)"
    reasons = sase.match(query, rows(30), output="compressed").reasons
    assert reasons == ("a set is of one pattern, and this has several branches",)


def _countable(number: int) -> SeriesExample:
    """An example of which little is asked, so that branches can mostly be counted."""
    example, random = drawn(number, examples()), Random(number)
    conditions = example.query.conditions[: random.randrange(2)]
    strategy = random.choice(["", "skip_till_any_match", example.query.strategy])
    listed = example.query.listed if strategy else ""
    query = replace(
        example.query, conditions=conditions, limit="", strategy=strategy, listed=listed
    )
    return replace(example, query=query, output="all")


@pytest.mark.random
def test_counts_are_those_of_the_naive_matcher() -> None:
    seen = Counter[bool]()
    for first in tries(draw_numbers(1)[0]):
        for number in range(first, first + 20):
            example = _countable(number)
            text, keywords = example.query.text, keywords_of(example)
            count = sase.match(text, example.table, **keywords, output="count")
            assert count == len(example.expected), f"{number}: {text}"
            seen[count.is_counted] += bool(count)
        if seen[True] >= 3 and seen[False] >= 3:
            break
