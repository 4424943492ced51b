"""The naive matcher on imprecise time: worked confidences, and equal results of other ways."""

from __future__ import annotations

import re
from fractions import Fraction
from itertools import combinations, permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sase.lang.parser import parse_query
from tests.naive import Match, match
from tests.test_naive import Row

INTERVAL = ("lo", "hi")


def stream(text: str) -> list[Row]:
    """`a1-3:v=6 b4`: the type in capitals, least and greatest time, attributes."""
    return [_event(word) for word in text.split()]


def _event(word: str) -> Row:
    label, _, attributes = word.partition(":")
    low, _, high = label[1:].partition("-")
    values = {n: float(v) for n, v in (pair.split("=") for pair in attributes.split(",") if pair)}
    return {"lo": int(low), "hi": int(high or low), "type": label[0].upper(), **values}


def found(query: str, rows: list[Row], **options: Any) -> list[Match]:
    return match(parse_query(query), rows, time=INTERVAL, **options)


def confidences(query: str, text: str) -> dict[str, str]:
    """Of each match, by its events in the order of the pattern."""
    words = [word.partition(":")[0] for word in text.split()]
    return {
        " ".join(words[row] for rows in each.events for row in rows): str(each.confidence)
        for each in found(query, stream(text))
    }


# The Ganglia-like readings and Q6 of the paper on expensive queries, with intervals of our own.
FIRST_OF_THREE = "a1-4 b2-5 c3-6"
SERIES = "a1-2 b2-5:v=1 b4-7:v=2 c6-9"
Q6 = "a1-3 b3-5:v=6 b4-6:v=7 b5-7:v=9 c6-8"
RISING = "SEQ(A a, B+ b[], C c) WHERE b[i].v >= b[i-1].v"
WORKED = [
    ("SEQ(A a, B b)", "a1-3 b2-4", {"a1-3 b2-4": "2/3"}),
    ("SEQ(A a, B b)", "a10-15 b10-15", {"a10-15 b10-15": "5/12"}),
    ("SEQ(A a, B b)", "a12 b10-15", {"a12 b10-15": "1/2"}),
    ("SEQ(A a, B b)", "a9 b10-15", {"a9 b10-15": "1"}),
    ("SEQ(A a, B b)", "a3 b1-3", {}),
    ("SEQ(A a, B b, C c)", FIRST_OF_THREE, {FIRST_OF_THREE: "5/16"}),
    ("SEQ(A a, B b, C c) WITHIN 4", FIRST_OF_THREE, {FIRST_OF_THREE: "5/32"}),
    ("SEQ(A a, B b, C c) WITHIN 3", FIRST_OF_THREE, {FIRST_OF_THREE: "1/16"}),
    ("SEQ(A a, B b, C c) WITHIN 3 INCLUSIVE", FIRST_OF_THREE, {FIRST_OF_THREE: "5/32"}),
    ("SEQ(A a, B b, C c) WITHIN 2", FIRST_OF_THREE, {}),
    # a series is a set of events, or each order of them
    ("SEQ(A a, B+ b[], C c)", SERIES, {"a1-2 b2-5 c6-9": "7/8", "a1-2 b4-7 c6-9": "13/16",
     "a1-2 b2-5 b4-7 c6-9": "91/128"}),
    ("SEQ(A a, B+ b[], C c) WITHIN 6 HAVING b.len = 2", SERIES,
     {"a1-2 b2-5 b4-7 c6-9": "23/128"}),
    ("SEQ(A a, B+ b[], C c) RETURN first(b[].v)", SERIES, {"a1-2 b2-5 c6-9": "7/8",
     "a1-2 b4-7 c6-9": "13/16", "a1-2 b2-5 b4-7 c6-9": "67/128", "a1-2 b4-7 b2-5 c6-9": "1/16"}),
    (RISING, Q6, {"a1-3 b3-5 c6-8": "8/9", "a1-3 b4-6 c6-8": "8/9", "a1-3 b5-7 c6-8": "2/3",
     "a1-3 b3-5 b4-6 c6-8": "37/81", "a1-3 b3-5 b5-7 c6-8": "13/27",
     "a1-3 b4-6 b5-7 c6-8": "10/27", "a1-3 b3-5 b4-6 b5-7 c6-8": "35/243"}),
    (f"{RISING} WITH CONFIDENCE > 0.5", Q6, {"a1-3 b3-5 c6-8": "8/9", "a1-3 b4-6 c6-8": "8/9",
     "a1-3 b5-7 c6-8": "2/3"}),
    (f"{RISING} WITH CONFIDENCE > 0.7", Q6, {"a1-3 b3-5 c6-8": "8/9", "a1-3 b4-6 c6-8": "8/9"}),
    (f"{RISING} WITH CONFIDENCE >= 0.9", Q6, {}),
    (RISING, "a0 b1-4:v=0.2 b2-5:v=0.15 c7", {"a0 b1-4 c7": "1", "a0 b2-5 c7": "1",
     "a0 b2-5 b1-4 c7": "3/16"}),
    ("SEQ(A a, B+ b[]) WHERE b.len = 2", "a0 b1 b1", {"a0 b1 b1": "1"}),
    ("SEQ(A a, B+ b[]) WHERE b.len = 2 AND b[1].v > 0", "a0 b1:v=1 b1:v=1", {}),
    # negation: between, with a second one, beside a series, at either end
    ("SEQ(A a, !(N n), B b)", "a1-2 b5-6 n3-7", {"a1-2 b5-6": "1/2"}),
    ("SEQ(A a, !(N n), B b)", "a1-2 b5-6 n3-7 n1-2", {"a1-2 b5-6": "3/8"}),
    ("SEQ(A a, B+ b[], !(N n), C c)", "a0 b1 n2 b3 c4", {"a0 b3 c4": "1", "a0 b1 b3 c4": "1"}),
    ("SEQ(!(N n), A a) WITHIN 3", "n1-4 a5-6", {"a5-6": "5/8"}),
    ("SEQ(A a, !(N n)) WITHIN 3", "n5-8 a4-5", {"a4-5": "1/2"}),
    ("SEQ(A a, !(SEQ(N n, M m)), B b)", "a0 n1-3 m2-4 b5", {"a0 b5": "1/3"}),
    ("SEQ(A a, !(SEQ(N n, !(M m), N o)), B b)", "a0 n1 m1-3 n3 b5", {"a0 b5": "1/3"}),
    ("SEQ(A a, !(N n OR M m), B b)", "a0 n1-3 m2-4 b3", {"a0 b3": "2/9"}),
    # a mapping of two branches has the confidence of the first
    ("SEQ(A a, B b) OR SEQ(B b, A a)", "a1-2 b2-3", {"a1-2 b2-3": "3/4"}),
    ("SEQ(B b, A a) OR SEQ(A a, B b)", "a1-2 b2-4", {"b2-4 a1-2": "5/6"}),
    ("SEQ(B b, A a) OR SEQ(A a, B b)", "a2-3 b2-3", {"b2-3 a2-3": "1/4"}),
]  # fmt: skip


@pytest.mark.parametrize(("query", "text", "expected"), WORKED)
def test_worked(query: str, text: str, expected: dict[str, str]) -> None:
    assert confidences(f"EVENT {query}", text) == expected


def test_readings_that_overlap_have_matches_that_precise_times_do_not_have() -> None:
    """One every five seconds, each about the last fifteen."""
    text = "a30 b31-45:v=0.1 b36-50:v=0.2 b41-55:v=0.15 c60"
    assert confidences(f"EVENT {RISING}", text) == {
        "a30 b31-45 c60": "1", "a30 b36-50 c60": "1", "a30 b41-55 c60": "1",
        "a30 b31-45 b36-50 c60": "34/45", "a30 b31-45 b41-55 c60": "14/15",
        "a30 b41-55 b36-50 c60": "1/5", "a30 b31-45 b41-55 b36-50 c60": "112/675",
    }  # fmt: skip


def test_what_a_result_has() -> None:
    """Its times by the bounds, its confidence in HAVING and RETURN, ordered by detected_at."""
    query = "EVENT SEQ(A a, B b) HAVING confidence >= 0.5 RETURN confidence AS c, a.lo + b.hi AS s"
    results = found(query, stream("b2-6 a1-3 b2-4 b1-2"))
    assert [(each.ts_start, each.ts_end, each.detected_at) for each in results] == [
        (1, 4, 4),
        (1, 6, 6),
    ]
    assert [each.values for each in results] == [
        {"c": 2 / 3, "s": 5},
        {"c": 0.8, "s": 7},
    ]
    (negated,) = found("EVENT SEQ(A a, !(N n)) WITHIN 3", stream("a1-3"))
    assert (negated.detected_at, negated.ts_end) == (6, 3)
    (later,) = found("EVENT SEQ(A a, B b, !(N n)) WITHIN 3", stream("a1-3 b2-9"))
    assert later.detected_at == 9


def test_the_order_of_results() -> None:
    """By detected_at, then by the rank of the events in the order of the pattern, back to front."""
    text = "a1-2 b3-9 b4-8 b5-7 c10"
    words = [word.partition("-")[0] for word in text.split()]
    listed = [
        " ".join(words[row] for rows in each.events for row in rows)
        for each in found("EVENT SEQ(A a, B+ b[], C c) WHERE b.len < 3", stream(text))
    ]
    assert listed == [
        "a1 b4 b5 c10", "a1 b3 b5 c10", "a1 b5 c10", "a1 b3 b4 c10", "a1 b4 c10", "a1 b3 c10",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("query", "options"),
    [
        ("EVENT SEQ(A a, B b) WHERE skip_till_next_match", {}),
        ("EVENT SEQ(A a, B b) WHERE strict_contiguity", {}),
        ("EVENT SEQ(A a, B b) WHERE earliest_maximal", {}),
        ("EVENT SEQ(A a, B b) WITHIN 5 EVENTS", {}),
        ("EVENT SEQ(SET(A a, B b), C c)", {}),
        ("EVENT SEQ((SEQ(A a, B b))+ g[], C c)", {}),
        ("EVENT SEQ(A a, B b)", {"seq": "#row"}),
        ("EVENT SEQ(A a, B b)", {"output": "non_overlap"}),
        ("EVENT SEQ(A a, B b) WITH CONFIDENCE >= 0", {}),
        ("EVENT SEQ(A a, B b) WITH CONFIDENCE >= 1.5", {}),
        ("EVENT SEQ(A a, !(N n))", {}),
    ],
)
def test_what_is_an_error(query: str, options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"imprecise|confidence|needs WITHIN"):
        found(query, stream("a1-2 b3"), **options)


def test_a_confidence_where_time_is_precise_is_an_error() -> None:
    with pytest.raises(ValueError, match="precise time"):
        match(parse_query("EVENT A a WITH CONFIDENCE >= 0.5"), [{"ts": 1, "type": "A"}])


@pytest.mark.parametrize("bounds", [(3, 2), (None, 2), (2, None)])
def test_bad_rows(bounds: tuple[Any, Any]) -> None:
    row = {"lo": bounds[0], "hi": bounds[1], "type": "A"}
    with pytest.raises(ValueError, match="bad input"):
        found("EVENT A a", [row])


# ---------------------------------------------------------------- equal results

events = st.tuples(
    st.sampled_from("ABCN"), st.integers(0, 5), st.sampled_from([0, 1, 2, 3]), st.integers(0, 2)
)
imprecise = st.lists(events, min_size=3, max_size=5).map(
    lambda given: [{"type": t, "lo": lo, "hi": lo + u, "v": v} for t, lo, u, v in given]
)
PATTERNS = [
    "SEQ(A a, B b)",
    "SEQ(A a, B+ b[], ANY c)",
    "SEQ(A a, !(N n), B+ b[])",
    "SEQ(!(N n), ANY+ a[])",
    "SEQ(ANY+ a[], !(N n))",
    "SEQ(A? a, !(N n), ANY b)",
    "SEQ(A a, !(SEQ(B b, !(N n), B m)), C c)",
    "SEQ(A a, B b) OR SEQ(B b, A a)",
]
patterns = st.sampled_from(PATTERNS)


def keyed(matches: list[Match]) -> dict[Any, Fraction | None]:
    return {each.events: each.confidence for each in matches}


@given(patterns, st.sampled_from(["", " WHERE a[1].v < 2", " WHERE a[i].v < a[i-1].v"]), imprecise)
def test_precise_intervals_are_precise_time(pattern: str, where: str, rows: list[Row]) -> None:
    """Where no two events are simultaneous, with confidence 1."""
    rows = [{**row, "lo": n, "hi": n} for n, row in enumerate(rows)]
    query = f"EVENT {pattern}{where if 'a[]' in pattern else ''} WITHIN 4"
    precise = match(parse_query(query), rows, time="lo")
    certain = found(query, rows)
    assert [each.events for each in certain] == [each.events for each in precise]
    assert [each.detected_at for each in certain] == [each.detected_at for each in precise]
    assert {each.confidence for each in certain} <= {Fraction(1)}


@given(imprecise, st.sampled_from(["", " WITHIN 3", " WITHIN 5 INCLUSIVE"]))
def test_a_set_is_its_orders_and_the_worlds_with_simultaneous_events(
    rows: list[Row], window: str
) -> None:
    """The worlds of a sequence are among those of the set; without a tie nothing else is."""
    query = "EVENT SEQ(A a, ANY+ b[]) WHERE b.len = 2"
    sets = keyed(found(f"{query}{window}", rows))
    orders = keyed(found(f"{query} AND b[1].v >= 0{window}", rows))
    for (first, series), whole in sets.items():
        parts = sum(orders.get((first, order), Fraction(0)) for order in permutations(series))
        one, other = (set(range(rows[row]["lo"], rows[row]["hi"] + 1)) for row in series)
        assert whole == parts if not one & other else whole is not None and whole >= parts


@given(imprecise)
def test_confidence_never_rises_with_an_event_where_nothing_is_negative(rows: list[Row]) -> None:
    all_of = keyed(found("EVENT SEQ(A a, ANY+ b[]) WITHIN 4", rows))
    for (first, series), likelihood in all_of.items():
        for fewer in combinations(series, len(series) - 1):
            if fewer:
                assert all_of[first, fewer] >= likelihood  # type: ignore[operator]


@given(patterns, imprecise, st.sampled_from([">=", ">"]), st.sampled_from(["0.25", "0.5", "1"]))
def test_a_threshold_keeps_what_reaches_it(
    pattern: str, rows: list[Row], sign: str, threshold: str
) -> None:
    plain = re.sub(r" OR .*", "", pattern)  # of two branches the first that reaches it counts
    every = keyed(found(f"EVENT {plain} WITHIN 4", rows))
    kept = keyed(found(f"EVENT {plain} WITHIN 4 WITH CONFIDENCE {sign} {threshold}", rows))
    least = Fraction(threshold)
    assert kept == {
        events: likelihood
        for events, likelihood in every.items()
        if likelihood is not None and (likelihood > least or (sign == ">=" and likelihood == least))
    }
