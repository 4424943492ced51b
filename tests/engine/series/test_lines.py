"""Runs that never fork: the matches, their order and the counts of runs that may."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import sase
from sase.engine.operators.kleene.line_store import LineStore
from sase.engine.operators.kleene.run_operator import NodeStore
from sase.planning.engine_plan import Options
from sase.planning.plan.nodes import Transformation, require
from tests.engine.series.test_merging import OPTIONS

RANDOM = Random(7)
EVENTS = [
    {
        "ts": place // 2,
        "type": RANDOM.choice("AABBC"),
        "k": RANDOM.choice([1, 1, 2, None]),
        "v": RANDOM.choice([*range(9), None]),
        "f": RANDOM.choice([0.5, 1.5, 2.0, float("nan"), None]),
    }
    for place in range(300)
]
PATTERNS = {
    "series then one": "A+ a[], B z",
    "series at the end": "B z, A+ a[]",
    "one, series, one": "C x, A+ a[], B z",
    "bounded series": "A{2,3} a[], B z",
    "bounded series at the end": "B z, A{2,4} a[]",
    "series alone": "A+ a[]",
    "no series": "A a, B z",
    "three": "C x, A a, B z",
    "of any type": "ANY+ a[], B z",
}
CONDITIONS = {
    "none": "",
    "rising": "AND a[i].v > a[i-1].v",
    "real": "AND a[i].f >= a[i-1].f",
    "real and whole": "AND a[i].f < a[i-1].v",
    "first": "AND a[i].v != a[1].v",
    "least": "AND a[i].v > min(a[..i-1].v)",
    "sum": "AND a[i].v < sum(a[..i-1].v)",
    "two": "AND a[i].v >= a[i-1].v AND a[i].v * 2 < 3 + a[1].v * 3",
    "length": "AND a.len > 2",
    "at the end": "AND z.v > a[a.len].v",
}
WINDOWS = ["WITHIN 20", "WITHIN 15 EVENTS", "WITHIN 12 EVENTS PER PARTITION", ""]
STRATEGIES = ["skip_till_next_match", "strict_contiguity", "partition_contiguity"]


def queries(strategy: str) -> list[str]:
    """Every pattern with every condition that is about its components, and a window in turn."""
    found = []
    for pattern in PATTERNS.values():
        for number, condition in enumerate(CONDITIONS.values()):
            is_series, has_end = "a[]" in pattern, "B z" in pattern
            if "a[" in condition and not is_series or "a.len" in condition and not is_series:
                continue
            if "z." in condition and not (has_end and pattern.endswith("B z")):
                continue
            window = WINDOWS[number % len(WINDOWS)]
            found.append(f"EVENT SEQ({pattern}) WHERE {strategy} {{[k] {condition}}} {window}")
    return found


def in_runs(plan: sase.Plan) -> sase.Plan:
    """The plan with runs that share their beginnings, also where they never fork."""
    return replace(plan, options=replace(plan.options, lines=False))


def kept_in(matcher: Any) -> type:
    """The class of the store of runs of a matcher."""
    return type(matcher.pipeline.operators[0].store)


def ran(query: str, kind: type, options: Options) -> tuple[list[Any], list[Any], Any]:
    """The rows of a batch, those of a stream that is cut and taken up again, and the counts."""
    plan = replace(sase.compile(query, EVENTS, plan="nfab"), options=options)
    matches = plan.run(EVENTS, threads=1)
    rows = matches.rows.to_pylist()
    matcher, parts = plan.open(), []
    assert kept_in(matcher) is kind
    for begin in range(0, len(EVENTS), 97):
        parts += matcher.push(EVENTS[begin : begin + 97]).rows.to_pylist()
        matcher = plan.restore(matcher.snapshot())
    parts += matcher.finish().rows.to_pylist()
    return rows, parts, dict(matches.report.counters)["RunEvaluation"]


@pytest.mark.parametrize("step", [13, pytest.param(1, marks=pytest.mark.heavy)])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_they_are_runs(strategy: str, step: int) -> None:
    """By every condition and window: the matches, their order, and the counters."""
    some = queries(strategy)[::step]
    results, found = 0, {query: ran(query, LineStore, OPTIONS) for query in some}
    for query, (rows, parts, counted) in found.items():
        shared = replace(OPTIONS, lines=False)
        known, _, expected = ran(query, NodeStore, shared)
        assert rows == parts == known, query
        assert counted == expected, query
        results += bool(known)
    assert results > (0.9 if strategy == STRATEGIES[0] else 0.5) * len(found)


@pytest.mark.parametrize(
    "query",
    [
        "EVENT SEQ(C x, A+ a[], B z) WHERE skip_till_next_match {[k]} WITHIN 20"
        " HAVING sum(a[].v) > 9",
        "EVENT SEQ(C x, A+ a[], B z) WHERE skip_till_next_match {[k]} WITHIN 20 LIMIT 7",
        "EVENT SEQ(C x, A a, B z) WHERE skip_till_next_match {[k]} WITHIN 20",
        "EVENT SEQ(A+ a[], !(C c), B z) WHERE skip_till_next_match {[k]} WITHIN 20",
        "EVENT SEQ(A+ a[], B z, !(C c)) WHERE skip_till_next_match {[k]} WITHIN 20",
        "EVENT SEQ(A+ a[], B z) WHERE skip_till_next_match {[k]} WITHIN 20"
        " RETURN sum(a[].v) AS s, z.v AS v",
    ],
)
def test_what_is_asked_of_their_matches(query: str) -> None:
    plan = replace(sase.compile(query, EVENTS, plan="nfab"), options=OPTIONS)
    found, known = (each.run(EVENTS, threads=1) for each in (plan, in_runs(plan)))
    assert len(found) > 5 and repr(found.to_pylist()) == repr(known.to_pylist())
    assert found.rows == known.rows


@pytest.mark.parametrize(
    "query",
    [
        "EVENT SEQ(A+ a[], B+ b[]) WHERE skip_till_next_match {[k]} WITHIN 9",
        "EVENT SEQ(A+ a[], B b, C c) WHERE skip_till_next_match {[k]} WITHIN 9",
        "EVENT SEQ(A* a[], B b) WHERE skip_till_next_match {[k]} WITHIN 9",
        "EVENT SEQ(A? a, B b) WHERE skip_till_next_match {[k]} WITHIN 9",
        "EVENT SEQ(A+ a[], B b) WHERE [k] WITHIN 9",
        "EVENT SEQ(A+ a[], B b) WHERE skip_till_next_match {[k] AND a[i].v < b.v} WITHIN 9",
    ],
)
def test_runs_that_may_fork_are_none(query: str) -> None:
    matcher = sase.compile(query, EVENTS, plan="nfab").open()
    assert kept_in(matcher) is NodeStore


@pytest.mark.parametrize("condition", ["a[i].v > a[i-1].v", "a[i].v <= a[1].v"])
@pytest.mark.parametrize(
    "values",
    [[range(9), [None, 3, 4], [-4, 2**40]], [[0.5, 2.5, 7.25], [None, 3.5], [-0.0, 0.0, -1.0]]],
)
def test_some_blocks_have_nulls(condition: str, values: list[Any]) -> None:
    """The bar for a further event is known in the other blocks, from those before too."""
    random = Random(3)
    events = [
        {"ts": n, "type": random.choice("AAAB"), "k": 1, "v": random.choice([*values[n // 20 % 3]])}
        for n in range(300)
    ]
    query = f"EVENT SEQ(A+ a[], B z) WHERE skip_till_next_match {{[k] AND {condition}}} WITHIN 40"
    plan = replace(sase.compile(query, events, plan="nfab"), options=replace(OPTIONS, block=20))

    def pushed(plan: sase.Plan) -> list[Any]:
        matcher, found = plan.open(), list[Any]()
        for begin in range(0, len(events), 20):
            found += matcher.push(events[begin : begin + 20]).rows.to_pylist()
            matcher = plan.restore(matcher.snapshot())
        return found + matcher.finish().rows.to_pylist()

    found = pushed(plan)
    assert found == pushed(in_runs(plan)) and len(found) > 50


def test_long_lines_and_many() -> None:
    """Pieces and rows are used again, and become more as there is need."""
    events = [{"ts": n, "type": "A", "k": n % 7, "v": n} for n in range(5_000)]
    events.append({"ts": 5_000, "type": "B", "k": 3, "v": 0})
    query = "EVENT SEQ(A+ a[], B z) WHERE skip_till_next_match {[k]} WITHIN 700"
    found = sase.compile(query, events, plan="nfab").run(events, threads=1)
    rows = [row["a"] for row in found.rows.to_pylist()]
    assert rows == [list(range(begin, 5_000, 7)) for begin in range(4_994, 4_300, -7)]


def test_more_components_than_a_piece_has_room_for() -> None:
    events = [{"ts": n, "type": "AB"[n == 59], "k": 1, "v": n} for n in range(60)]
    components = ", ".join(f"A e{n}" for n in range(40))
    query = f"EVENT SEQ({components}, A+ a[], B z) WHERE skip_till_next_match {{[k]}} WITHIN 90"
    plan = sase.compile(query, events, plan="nfab")
    found = plan.run(events).rows
    assert found == in_runs(plan).run(events).rows and len(found) == 19


def apart(
    found: list[dict[str, Any]], rows: list[dict[str, Any]], *, keyed: bool
) -> list[dict[str, Any]]:
    """Of matches in order the first of a key, and then the first that begins behind it."""
    ends, taken = dict[Any, Any](), []
    for match in found:
        every = [
            row
            for bound in match.values()
            for row in (bound if isinstance(bound, list) else [bound])
        ]
        key = rows[every[0]]["k"] if keyed else None
        if rows[min(every)]["ts"] > ends.get(key, -1):
            ends[key] = rows[max(every)]["ts"]
            taken.append(match)
    return taken


def steps_of(plan: sase.Plan, events: list[dict[str, Any]]) -> int:
    """How many steps the lines of a plan take, where none are kept together."""
    analyzed = replace(plan, options=replace(plan.options, analyze=True))
    matches = analyzed.run(events, threads=1)
    list(matches)  # which is when the events are searched
    return int(dict(matches.report.counters)["RunEvaluation"]["steps"])


@pytest.mark.heavy
@pytest.mark.parametrize("having", ["", " HAVING a.len >= 2"])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_first_match_of_a_key_ends_its_lines(strategy: str, having: str) -> None:
    """Fused, block by block and in pieces: the events taken of all matches, in fewer steps."""
    events, key = [each for each in EVENTS if each["k"] is not None], "[k] AND"
    if strategy == "strict_contiguity":  # of which partitions are no parts
        key = ""
    patterns = [each for each in PATTERNS.values() if "a[]" in each or not having]
    seen = fewer = 0
    for pattern in patterns:
        for condition in ("1 = 1", "a[i].v > a[i-1].v", "z.v > a[a.len].v"):
            has_end = "B z" in pattern and not pattern.startswith("B z")
            if condition != "1 = 1" and ("a[]" not in pattern or "z." in condition and not has_end):
                continue
            where = f"{strategy} {{ {key} {condition} }}"
            query = f"EVENT SEQ({pattern}) WHERE {where} WITHIN 30{having}"
            whole = sase.compile(query, events, plan="nfab")
            every = whole.run(events, threads=1)
            expected = apart(every.rows.to_pylist(), events, keyed=bool(key))
            plan = sase.compile(query, events, plan="nfab", output="non_overlap")
            assert require(plan.operators, Transformation).prunes
            for options in (plan.options, replace(plan.options, fused=False), OPTIONS):
                each = replace(plan, options=options)
                matches = each.run(events, threads=1)
                assert matches.rows.to_pylist() == expected, query
                matcher, parts = each.open(), list[Any]()
                assert kept_in(matcher) is LineStore
                for begin in range(0, len(events), 61):
                    parts += matcher.push(events[begin : begin + 61]).rows.to_pylist()
                    matcher = each.restore(matcher.snapshot())
                assert parts + matcher.finish().rows.to_pylist() == expected, query
            steps = [steps_of(whole, events), steps_of(replace(plan, options=OPTIONS), events)]
            seen, fewer = seen + 1, fewer + (steps[1] < steps[0])
    assert fewer > seen // 5


@pytest.mark.parametrize("window", ["", " WITHIN 5"])
@pytest.mark.parametrize(
    "query",
    [
        "EVENT C{2,} a[] WHERE strict_contiguity",
        "EVENT C{2,} a[] WHERE skip_till_next_match",
        "EVENT C{2,} a[] WHERE partition_contiguity { [k] }",
        "EVENT SEQ(C a, C b, C c) WHERE skip_till_next_match",
        "EVENT SEQ(C{2,} a[], C b) WHERE skip_till_next_match { a[i].k >= a[i-1].k }",
    ],
)
def test_a_line_at_the_end_of_time_is_one_like_others(query: str, window: str) -> None:
    """Its first measure is the greatest there is; it is saved with its events, and continues."""
    schema = {"ts": "int64", "type": "string", "k": "int64"}
    plan = sase.compile(query + window, schema=pa.schema(list(schema.items())))
    last = 2**63 - 1
    numbers = []
    for times in ([last], [5, last], [last - 1, last], [last - 2, last - 1], [last, last]):
        first = [{"ts": ts, "type": "C", "k": 1} for ts in times]
        more = [{"ts": last, "type": "C", "k": 1}]
        matcher = plan.open()
        found = list(matcher.push(first))
        matcher = plan.restore(matcher.snapshot())
        found += [*matcher.push(more), *matcher.finish()]
        whole = sase.match(query + window, [*first, *more])
        assert found == [*whole]
        numbers.append(len(found))
    assert any(numbers)
