"""Matches of sets are counted through the states of the sets, where no match need be looked at."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import pytest

import sase
from tests.engine.matching.ways import keywords_of
from tests.engine.series.examples import drawn
from tests.engine.sets.examples import SetsExample, examples
from tests.seeds import draw_numbers, tries

TEN = "ABCDEFGHIJ"


def rows(count: int, tied: int = 1, kinds: str = "ABCD") -> list[dict[str, Any]]:
    """A row for each number; so many in a row are simultaneous."""
    return [
        {"type": kinds[n * 7 % 11 % len(kinds)], "ts": n // tied, "k": n % 3, "v": n % 5}
        for n in range(count)
    ]


def explained(query: str, given: list[dict[str, Any]]) -> str:
    """The explanation of a count, in one line."""
    return " ".join(str(sase.explain(query, given, output="count")).split())


@pytest.mark.parametrize("tied", [1, 2, 3])
@pytest.mark.parametrize(
    "query",
    [
        "EVENT SET(A a, B b)",
        "EVENT SEQ(SET(A a, B+ b[]), C c)",
        "EVENT SET(ANY(A, B) a, ANY(A, B, C) b, ANY c) WITHIN 6",
        "EVENT SET(A+ a[], B* b[], C? c) WHERE [k] WITHIN 12",
        "EVENT SEQ(SET(A a, B{2,3} b[]), SET(ANY(A, C){2,} c[], D? d))",
        "EVENT SEQ(ANY(A, B) a, SET(B b, ANY(A, D) c)) WITHIN 9 EVENTS",
        "EVENT SEQ(D? x, SET(A a, ANY(A, B) b), C* c[]) WHERE a.v > 1 AND b.v < 4 WITHIN 6",
        "EVENT SET(A a, B+ b[]) WHERE b.len >= 2 HAVING b.len < 4",
        "EVENT SEQ(SET(A a, B b), D d) OR SEQ(SET(A a, C c), D d)",
    ],
)
def test_what_is_counted(query: str, tied: int) -> None:
    given = rows(24, tied)
    count = sase.match(query, given, output="count")
    assert count == len(sase.match(query, given)) > 0
    assert count.is_counted
    assert "looked at one by one" not in explained(query, given)


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("EVENT SET(A a, B b) WHERE a.v < b.v", "a.v < b.v is no condition on one event"),
        ("EVENT SET(A a, B+ b[]) WHERE b[i].v >= b[i-1].v", "b[i].v >= b[i-1].v is no condition"),
        ("EVENT SET(A a, B b) HAVING a.v < b.v", "HAVING a.v < b.v is on no length alone"),
        ("EVENT SEQ(SET(A a, C b), !(D d), B c)", "a negative component looks at whole matches"),
        ("EVENT SET(A a, B b) LIMIT 3", "LIMIT takes the first matches only"),
        ("EVENT SET(A a, B b) WHERE skip_till_next_match", "under skip_till_next_match runs"),
        ("EVENT SET(A a, B b) WHERE earliest_maximal WITHIN 5", "under earliest_maximal runs"),
        ("EVENT SEQ(SET(A{2,64} a[], B{2,64} b[], C{2,64} c[]))", "it has 2,146,689 states"),
    ],
)
def test_what_is_listed(query: str, reason: str) -> None:
    given = rows(18)
    count = sase.match(query, given, output="count")
    assert count == len(sase.match(query, given)) > 0
    assert not count.is_counted
    for text in (" ".join(count.report.notes), explained(query, given)):
        assert "since the members of a set come in any order" in text
        assert reason in text


def test_no_match_is_counted_too() -> None:
    count = sase.match("EVENT SET(A a, B b)", rows(9, kinds="AC"), output="count")
    assert (count, count.is_counted) == (0, True)


def test_ten_members_and_a_thousand_events() -> None:
    given = [{"type": TEN[n * 7 % 10], "ts": n} for n in range(1000)]
    members = [f"{kind} {kind.lower()}" for kind in TEN]
    assert sase.match(f"EVENT SET({', '.join(members)})", given, output="count") == 100**10
    members = [f"{kind}+ {kind.lower()}[]" for kind in TEN]
    count = sase.match(f"EVENT SET({', '.join(members)})", given, output="count")
    assert count == (2**100 - 1) ** 10


def test_simultaneous_events_beyond_what_an_integer_holds() -> None:
    given = [{"type": kind, "ts": ts} for ts in range(300) for kind in "ABC"]
    count = sase.match("EVENT SET(A+ a[], B+ b[], C c)", given, output="count")
    assert count == (2**300 - 1) ** 2 * 300


def test_an_event_is_bound_once_whichever_member_admits_it() -> None:
    given = [{"type": "A", "ts": 1} for _ in range(6)]
    members = ", ".join(f"A m{n}" for n in range(4))
    assert sase.match(f"EVENT SET({members})", given, output="count") == 6 * 5 * 4 * 3


def test_a_compressed_set_of_sets_is_listed() -> None:
    reasons = sase.match("EVENT SET(A a, B b)", rows(9), output="compressed").reasons
    assert reasons == ("the members of a set come in any order",)


def _countable(number: int) -> SetsExample:
    """An example of which little is asked, so that its matches can mostly be counted."""
    example, random = drawn(number, examples()), Random(number)
    query = replace(
        example.query,
        conditions=example.query.conditions[: random.choice([0, 0, 1])],
        having=example.query.having if random.random() < 0.2 else "",
        limit="",
        strategy="skip_till_any_match",
    )
    return replace(example, query=query, output="all")  # type: ignore[no-any-return]


@pytest.mark.random
def test_counts_are_those_of_the_naive_matcher() -> None:
    counted = 0
    for first in tries(draw_numbers(1)[0]):
        for number in range(first, first + 15):
            example = _countable(number)
            text, keywords = example.query.text, keywords_of(example)
            count = sase.match(text, example.table, **keywords, output="count")
            assert count == len(example.expected), f"{number}: {text}"
            counted += count.is_counted and count > 0
        if counted >= 2:
            break
