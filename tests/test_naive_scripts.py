"""The naive way of scripts, against results written by hand from docs/semantics.md, Scripts."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import pytest

from sase.lang.parser import parse_script
from tests.naive.scripts import Input, ScriptMatch, run_script

Rows = list[dict[str, Any]]


def events(text: str) -> Rows:
    """`A1 B2x` is a row of type A at time 1 and one of type B at time 2 with `v` "x"."""
    return [{"type": word[0], "ts": int(word[1]), "v": word[2:] or None} for word in text.split()]


def run(script: str, **inputs: Rows | Input) -> dict[str, list[ScriptMatch]]:
    named = {
        None if name == "unnamed" else name: each if isinstance(each, Input) else Input(each)
        for name, each in inputs.items()
    }
    return run_script(parse_script(script), named)


def found(script: str, **inputs: Rows | Input) -> dict[str, list[str]]:
    """Matches as `a/0 a/2`: rows of streams."""
    return {
        name: [_line(each.match.events) for each in results]
        for name, results in run(script, **inputs).items()
    }


def _line(bound: Any) -> str:
    pairs = [pair for series in bound for pair in series]
    return " ".join(f"{stream or ''}/{row}" for stream, row in pairs)


def test_statements_have_the_names_of_their_streams_or_their_numbers() -> None:
    script = "EVENT A a; CREATE STREAM s AS EVENT B b; EVENT B b"
    expected = {"query_1": ["/0"], "s": ["/1"], "query_3": ["/1"]}
    assert found(script, unnamed=events("A1 B2")) == expected


def test_a_statement_reads_what_another_found_wherever_it_stands() -> None:
    script = """FROM pairs EVENT SEQ(Pair p, Pair q) WHERE p.v = q.v;
                CREATE STREAM pairs AS EVENT SEQ(A a, B b) WITHIN 2
                RETURN Pair(a.ts AS at, b.v AS v)"""
    expected = {"query_1": ["pairs/0 pairs/1"], "pairs": ["/0 /1", "/2 /3"]}
    assert found(script, unnamed=events("A1 B2x A5 B6x")) == expected


def test_the_time_of_a_composite_event_is_when_it_is_detected() -> None:
    script = """CREATE STREAM alone AS EVENT SEQ(A a, !(B b)) WITHIN 3;
                FROM alone EVENT alone x RETURN x.ts AS at, x.a_ts AS begun"""
    results = run(script, unnamed=events("A1 B2 A5"))["query_2"]
    assert [each.match.values for each in results] == [{"at": 8, "begun": 5}]


def test_primitive_events_come_before_composite_ones_of_the_same_time() -> None:
    script = """CREATE STREAM s AS EVENT A a;
                FROM s, raw EVENT SEQ(s x, A y); FROM s, raw EVENT SEQ(A y, s x)"""
    expected = {"s": ["raw/0"], "query_2": [], "query_3": ["raw/0 s/0"]}
    assert found(script, raw=events("A1")) == expected


def test_from_keeps_its_order_at_the_same_time() -> None:
    script = "FROM p, q EVENT SEQ(A a, B b); FROM q, p EVENT SEQ(A a, B b)"
    expected = {"query_1": ["p/0 q/0"], "query_2": []}
    assert found(script, p=events("A1"), q=events("B1")) == expected


def test_events_of_one_input_stay_simultaneous() -> None:
    script = "FROM p, q EVENT SEQ(A a, B b)"
    assert found(script, p=events("A1 B1"), q=events("C1")) == {"query_1": []}


def test_composite_events_of_one_time_are_in_the_order_of_results() -> None:
    script = "CREATE STREAM s AS EVENT SEQ(A a, B b); FROM s EVENT SEQ(s x, s y)"
    expected = {"s": ["/1 /2", "/0 /2"], "query_2": ["s/0 s/1"]}
    assert found(script, unnamed=events("A1 A2 B3")) == expected


def test_without_return_attributes_are_those_of_the_variables() -> None:
    script = "CREATE STREAM s AS EVENT SEQ(A, B? b)"
    (only,) = run(script, unnamed=events("A1x"))["s"]
    assert only.attributes == {"A_1_ts": 1, "A_1_type": "A", "A_1_v": "x"}
    assert only.type == "s"


def test_a_type_that_does_not_declare_an_attribute_makes_conditions_on_any_true() -> None:
    script = """CREATE STREAM s AS EVENT B b RETURN Found(b.v AS w);
                FROM s, raw EVENT ANY(Found, A) x WHERE x.w = 'y'"""
    assert found(script, raw=events("A1 B2 B3y"))["query_2"] == ["raw/0", "s/1"]


def test_diamonds_and_limits() -> None:
    script = """CREATE STREAM a AS EVENT A x LIMIT 2; CREATE STREAM l AS FROM a EVENT a x;
                CREATE STREAM r AS FROM a EVENT a x RETURN R(x.x_v AS v);
                FROM r, l EVENT SEQ(R x, l y)"""
    expected = ["r/0 l/0", "r/0 l/1", "r/1 l/1"]
    assert sorted(found(script, unnamed=events("A1 A2 A3"))["query_4"]) == expected


def test_inputs_are_brought_to_the_finest_unit() -> None:
    days = Input([{"type": "A", "day": date(2024, 1, 1)}], time="day")
    moments = Input([{"type": "B", "at": datetime(2024, 1, 1, 5, tzinfo=UTC)}], time="at")
    script = "FROM days, moments EVENT SEQ(A a, B b) WITHIN 5 hours INCLUSIVE"
    assert found(script, days=days, moments=moments) == {"query_1": ["days/0 moments/0"]}
    assert found(script.replace(" INCLUSIVE", ""), days=days, moments=moments) == {"query_1": []}


@pytest.mark.parametrize(
    ("script", "inputs", "problem"),
    [
        ("CREATE STREAM a AS FROM b EVENT b x; CREATE STREAM b AS FROM a EVENT a x", "raw",
         "a cycle: a → b → a"),
        ("CREATE STREAM a AS FROM a EVENT a x", "raw", "a cycle: a → a"),
        ("FROM b EVENT A x", "raw", "an unknown stream: b"),
        ("EVENT A x; FROM query_1 EVENT A x", "raw", "an unknown stream: query_1"),
        ("CREATE STREAM a AS EVENT A x; CREATE STREAM a AS EVENT A x", "raw",
         "two streams are called a"),
        ("CREATE STREAM raw AS EVENT A x", "raw", "two streams are called raw"),
        ("EVENT A x; CREATE STREAM query_1 AS EVENT A x", "raw", "two streams are called query_1"),
        ("EVENT A x", "p q", "several inputs"),
        ("FROM p, p EVENT A x", "p", "a stream is named twice"),
        ("CREATE STREAM s AS EVENT A x RETURN x.v AS ts; FROM s EVENT s x", "raw",
         "a column is called ts"),
    ],
)  # fmt: skip
def test_what_is_refused(script: str, inputs: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        run(script, **{name: events("A1") for name in inputs.split()})
