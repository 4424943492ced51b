"""The naive matcher on sets and earliest_maximal: streams by hand, and equal results."""

from __future__ import annotations

import re
from itertools import accumulate, permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sase.lang.parser import parse_query
from tests.naive import by_formula, by_runs, match, problems
from tests.test_naive import PAPERS, Row, flat, stream

ANY, NEXT, STRICT = "skip_till_any_match", "skip_till_next_match", "strict_contiguity"
GREEDY = "earliest_maximal"


def found(query: str, text: str, **options: Any) -> list[str]:
    """The matches, by variable: `a1 b2+b3 -`."""
    labels = [word.partition(":")[0] for word in text.split()]
    return [
        " ".join("+".join(labels[row] for row in rows) or "-" for rows in each.events)
        for each in match(parse_query(query), stream(text), **options)
    ]


SETS = [
    # in any order, strictly after the part before and strictly before the part behind
    ("EVENT SET(A a, B b)", "b1 a2", ["a2 b1"]),
    ("EVENT SET(A a, B b)", "a1 b2 a3", ["a1 b2", "a3 b2"]),
    ("EVENT SEQ(A a, SET(B b, C c), D d)", "a1 c2 b3 d4", ["a1 b3 c2 d4"]),
    ("EVENT SEQ(A a, SET(B b, C c), D d)", "a1 c1 b3 d4", []),
    ("EVENT SEQ(A a, SET(B b, C c), D d)", "a1 c2 b4 d4", []),
    ("EVENT SEQ(A a, SET(B b, C c), D d)", "c1 a2 b3 d4", []),
    ("EVENT SEQ(SET(A a, B b), SET(C c, D d))", "b1 a2 d3 c4", ["a2 b1 c4 d3"]),
    ("EVENT SEQ(SET(A a, B b), SET(C c, D d))", "b1 d2 a3 c4", []),
    # simultaneous events are of different members, not of one series
    ("EVENT SET(A a, B b)", "a1 b1", ["a1 b1"]),
    ("EVENT SET(A+ a[], B b)", "a1 a1' b1", ["a1' b1", "a1 b1"]),
    ("EVENT SET(ANY a, ANY b)", "a1 b1", ["b1 a1", "a1 b1"]),
    # different events for different variables, in both ways
    ("EVENT SET(A a, A b)", "a1", []),
    ("EVENT SET(A a, A b)", "a1 a2", ["a2 a1", "a1 a2"]),
    # first and last event are those of the stream
    ("EVENT SET(A a, B b) WITHIN 3", "b1 a3 a4", ["a3 b1"]),
    ("EVENT SET(A a, B b) WITHIN 3 INCLUSIVE", "b1 a3 a4", ["a3 b1", "a4 b1"]),
    ("EVENT SET(A a, B b) WITHIN 2 EVENTS", "b1 a1 x1 a2", ["a1 b1"]),
    ("EVENT SEQ(SET(A a, B b), !(N n), C c)", "b1 n2 a3 c4", ["a3 b1 c4"]),
    ("EVENT SEQ(SET(A a, B b), !(N n), C c)", "b1 a2 n3 c4", []),
    ("EVENT SEQ(C c, !(N n), SET(A a, B b))", "c1 b2 n3 a4", ["c1 a4 b2"]),
    ("EVENT SEQ(C c, !(N n), SET(A a, B b))", "c1 n2 b3 a4", []),
    ("EVENT SEQ(!(N n), SET(A a, B b)) WITHIN 4", "n1 b3 a4 a5", ["a5 b3"]),
    ("EVENT SEQ(SET(A a, B b), !(N n)) WITHIN 4", "b1 a2 n4 b5 n9", ["a2 b5"]),
    # members that may be empty, and maxima
    ("EVENT SET(A a, B? b)", "b1 a2", ["a2 -", "a2 b1"]),
    ("EVENT SET(A a, B{2} b[])", "b1 a2 b3 b4", ["a2 b1+b3", "a2 b3+b4", "a2 b1+b4"]),
    # conditions: of all pairs, in whichever order they are bound
    ("EVENT SET(A+ a[], B b) WHERE a[i].v < b.v", "a1:v=1 b2:v=2 a3:v=3", ["a1 b2"]),
    ("EVENT SET(A+ a[], B b) WHERE a[1].v < b.v", "b1:v=2 a2:v=1 a3:v=3", None),
    ("EVENT SET(A+ a[], B+ b[]) WHERE a[i].v < b[i].v", "b1:v=2 a2:v=1 b3:v=1", ["a2 b1"]),
    ("EVENT SET(A a, B* b[]) WHERE b.len = 0", "a1 b2", ["a1 -"]),
    # p[1] of a member that stays empty
    ("EVENT SET(A a, B* b[]) WHERE b[1].v > a.v", "a1:v=1", ["a1 -"]),
    ("EVENT SET(A a, B* b[]) WHERE b[1].v > a.v", "a1:v=1 b2:v=0", ["a1 -"]),
    ("EVENT SEQ(SET(A a, B* b[]), C c) WHERE b[1].v > c.v", "a1:v=1 c2:v=0", []),
    ("EVENT SET(A a, B* b[]) WHERE b[1].v > b.len", "a1:v=1", []),
    ("EVENT SET(A+ a[], B* b[]) WHERE b[1].v > a.len", "a1:v=1", []),
    ("EVENT SEQ(SET(A a, B* b[]), C c) WHERE b[1].v > a.v", "a1:v=1 c2:v=0", ["a1 - c2"]),
    # equivalence tests: pairwise, of all members
    ("EVENT SET(A a, B b) WHERE [k]", "b1:k=1 a2:k=2 a3:k=1", ["a3 b1"]),
    ("EVENT SET(A a) WHERE [k]", "a1:k=-", ["a1"]),
    ("EVENT SET(A a, B? b) WHERE [k]", "a1:k=-", []),
    # with equal events the one that binds its last event to the variable written first
    ("EVENT SET(A a, A b) OR SEQ(A b, A a)", "a1 a2", ["a2 a1", "a1 a2"]),
    ("EVENT SET(A+ a[], A+ b[])", "a1 a2", ["a2 a1", "a1 a2"]),
    # in choices
    ("EVENT SEQ(A a, (SET(B b, C c))?)", "a1 c2 b3", ["a1 - -", "a1 b3 c2"]),
    ("EVENT SEQ((SET(A a, B b) OR B b), C c)", "b1 a2 c3", ["a2 b1 c3", "- b1 c3"]),
]


@pytest.mark.parametrize(("query", "text", "expected"), SETS)
def test_sets(query: str, text: str, expected: list[str] | None) -> None:
    assert found(query, text) == (["a2 b1", "a2+a3 b1"] if expected is None else expected)


STRATEGIES = [
    # next: no member can begin or take it
    ("SEQ(SET(A a, B b), C c)", NEXT, "a1 a2 b3 c4 c5", ["a2 b3 c4", "a1 b3 c4"]),
    ("SEQ(SET(A a, B b), C c)", NEXT, "b1 a2 b3 a4 c5", ["a4 b3 c5", "a2 b3 c5", "a2 b1 c5"]),
    ("SEQ(SET(A+ a[], B b), C c)", NEXT, "b1 a2 c3 a4 c5", None),
    # full: it waits for the next component, and is inside until then
    ("SEQ(SET(A a, B? b), C c)", NEXT, "a1 c2 b3 c4", ["a1 - c2", "a1 b3 c4"]),
    ("SEQ(SET(A a, B{1} b[]), C c)", NEXT, "a1 b2 c3 c4", ["a1 b2 c3"]),
    # a condition decides which events can be bound
    ("SET(A a, B b) ; a.v < b.v", NEXT, "a1:v=2 b2:v=1 b3:v=3", ["a1 b3"]),
    ("SET(A a, B b) ; a.v < b.v", NEXT, "b1:v=2 a2:v=3 a3:v=1", ["a3 b1"]),
    # strict: a simultaneous event continues a run as one of another member alone
    ("SET(A a, B b)", STRICT, "a1 b1", ["a1 b1"]),
    ("SEQ(SET(A a, B b), C c)", STRICT, "b1 a2 c3 a4 b5 x6 c7", ["a2 b1 c3"]),
    ("SET(A+ a[], B b)", STRICT, "a1 a1' b2", ["a1' b2"]),
    ("SET(A a, B b) ; [k]", "partition_contiguity", "a1:k=1 x2:k=2 b3:k=1", ["a1 b3"]),
    ("SET(A a, B b) ; [k]", "partition_contiguity", "a1:k=1 x2:k=1 b3:k=1", []),
    # earliest and maximal: it takes whatever it can
    ("SEQ(A a, B+ b[], C c)", GREEDY, "a1 b2 b3 c4 b5 c6", ["a1 b2+b3 c4"]),
    ("SEQ(A+ a[], B b)", GREEDY, "a1 a2 b3 b4", ["a2 b3", "a1+a2 b3"]),
    ("SEQ(A a, B? b, C c)", GREEDY, "a1 c2 b3 c4", ["a1 - c2"]),
    ("SEQ(A a, B? b, C c)", GREEDY, "a1 b2 c3", ["a1 b2 c3"]),
    ("SEQ(A a, B b)", GREEDY, "a1 b2 b3", ["a1 b2"]),
    ("SEQ(A a, B? b)", GREEDY, "a1 b2", ["a1 b2"]),
    ("SEQ(A a, B+ b[]) ; b[i].v > b[i-1].v", GREEDY, "a1 b2:v=5 b3:v=9 b4:v=6", ["a1 b2+b3"]),
    ("SEQ(A a, B+ b[]) ; b.len = 1", GREEDY, "a1 b2 b3", []),
    ("SEQ(A a, B{1,2} b[])", GREEDY, "a1 b2 b3 b4", ["a1 b2+b3"]),
    ("SEQ(A a, !(N n), B+ b[])", GREEDY, "a1 n2 b3 a4 b5", ["a4 b5"]),
    # an event that fits two members is of each of them in a run of its own
    ("SEQ(SET(A a, ANY b), C c)", GREEDY, "a1 a2 c3", ["a2 a1 c3", "a1 a2 c3"]),
]


@pytest.mark.parametrize(("query", "strategy", "text", "expected"), STRATEGIES)
def test_strategies(query: str, strategy: str, text: str, expected: list[str] | None) -> None:
    pattern, _, conditions = query.partition(" ; ")
    where = f"{strategy} {{ {conditions} }}" if conditions else strategy
    wanted = ["a2 b1 c3", "a2+a4 b1 c5"] if expected is None else expected
    assert found(f"EVENT {pattern} WHERE {where}", text) == wanted


FOREVER = 2**63 - 1
DETECTED = [
    ("SEQ(A a, B+ b[])", "WITHIN 10", "a1 b2 b3 a9", [11]),
    ("SEQ(A a, B+ b[])", "WITHIN 10 INCLUSIVE", "a1 b2 b11 b12", [11]),
    ("SEQ(A a, B{1,2} b[])", "WITHIN 10", "a1 b2 b3 b4", [3]),
    ("SEQ(A a, B? b)", "WITHIN 10", "a1 b2", [2]),
    ("SEQ(A a, B? b)", "WITHIN 10", "a1 b12", [11]),
    ("SEQ(A a, B+ b[])", "", "a1 b2 b3", [FOREVER]),
    ("SEQ(A a, B+ b[])", "WITHIN 3 EVENTS", "a1 b2 b3 x7 x9", [7]),
    ("SEQ(A a, B+ b[])", "WITHIN 3 EVENTS INCLUSIVE", "a1 b2 b3 x7 x9", [9]),
    ("SEQ(A a, B+ b[])", "WITHIN 3 EVENTS", "a1 b2 b3", [FOREVER]),
    ("SEQ(A a, SET(B b, C c))", "WITHIN 10", "a1 c2 b3", [3]),
    ("SEQ(A a, SET(B b, C+ c[]))", "WITHIN 10", "a1 c2 b3", [11]),
    ("SEQ(A a, B b, !(N n))", "WITHIN 10", "a1 b3", [11]),
]


@pytest.mark.parametrize(("pattern", "window", "text", "expected"), DETECTED)
def test_a_match_that_could_grow_is_detected_when_its_window_has_passed(
    pattern: str, window: str, text: str, expected: list[int]
) -> None:
    query = parse_query(f"EVENT {pattern} WHERE {GREEDY} {window}")
    assert [each.detected_at for each in match(query, stream(text))] == expected


@pytest.mark.parametrize(
    "query",
    [
        "EVENT SET(A? a, B* b[])",
        "EVENT SET(A a, !B b)",
        "EVENT SET(A a, (B b))",
        "EVENT SET(A a, SET(B b))",
        "EVENT (SET(A a, B b))+ g[]",
        "EVENT SEQ(A a, !(SET(B b, C c)), D d)",
        "EVENT (SEQ(A a, B b))+ g[] WHERE earliest_maximal",
    ],
)
def test_what_is_an_error(query: str) -> None:
    with pytest.raises(ValueError, match="set|member|group"):
        match(parse_query(query), stream("a1 b2"))


MATCH_WINDOWS = [each for each in PAPERS if each["id"] in ("S023", "S024", "S025", "S026")]


@pytest.mark.parametrize("case", MATCH_WINDOWS, ids=lambda case: case["id"])
def test_the_paper_on_match_windows(case: Row) -> None:
    """Of a match window, which Example 7 is about, those that start with its first event."""
    matches = match(parse_query(case["query"]), case["events"], time_unit=case["time_unit"])
    rows = [sorted(flat(each)) for each in matches]
    if "Example 7" in case["source"]:
        rows = [each for each in rows if each[0] == 0]
    assert sorted(rows) == case["expected"]


# ---------------------------------------------------------------- equal results

attributes = st.fixed_dictionaries(
    {"v": st.sampled_from([1, 2, 0, 3, None]), "k": st.sampled_from([1, 1, 1, 2, None])}
)
gaps = st.sampled_from([1, 1, 0, 2])
windows = st.sampled_from(
    ["", "WITHIN 6", "WITHIN 5 INCLUSIVE", "WITHIN 6 EVENTS", "WITHIN 4 EVENTS PER PARTITION"]
)
strategies = st.sampled_from([ANY, NEXT, STRICT, "partition_contiguity", GREEDY])


@st.composite
def streams(draw: st.DrawFn, most: int = 7) -> list[Row]:
    types = draw(st.permutations("AABBCABA"))
    rows = draw(st.lists(attributes, min_size=3, max_size=most))
    times = accumulate(draw(gaps) for _ in rows)
    parts = zip(types, times, rows, strict=False)
    return [{"ts": ts, "type": type, **row} for type, ts, row in parts]


def written(pattern: str, strategy: str, conditions: list[str], window: str) -> str:
    if "PARTITION" in window or "partition" in strategy:
        conditions = [*conditions, "[k]"]
    where = f"{strategy} {{ {' AND '.join(conditions)} }}" if conditions else strategy
    return f"EVENT {pattern} WHERE {where} {window}"


# Of each: conditions that may be on it.
PATTERNS = {
    "SET(A x, ANY y)": ["x.v < y.v", "x.v + y.v > 1", "[k]"],
    "SEQ(SET(A x, ANY+ y[]), ANY z)": ["x.v < y[i].v", "y[1].v < x.v", "y[i].v < y[i-1].v", "[k]"],
    "SET(A+ x[], B* y[])": ["x[i].v < y[i].v", "y[1].v > x[1].v", "x.len > y.len", "[k]"],
    "SEQ(ANY z, SET(A? x, B{1,2} y[]))": ["x.v < y[i].v", "y[1].v > x.v", "z.v < y[y.len].v"],
    "SEQ(SET(A x, B y), SET(ANY z, A? u))": ["x.v < z.v", "u.v > y.v", "u.v < z.v", "[k]"],
}


@st.composite
def queries(draw: st.DrawFn, strategies: st.SearchStrategy[str]) -> str:
    pattern = draw(st.sampled_from(sorted(PATTERNS)))
    conditions = draw(st.lists(st.sampled_from(PATTERNS[pattern]), max_size=2, unique=True))
    return written(pattern, draw(strategies), conditions, draw(windows))


@given(queries(st.just(ANY)), streams())
def test_runs_find_every_set_of_the_formula(query: str, rows: list[Row]) -> None:
    (stated,) = problems(parse_query(query), rows)
    formula, runs = by_formula(stated), by_runs(stated)
    assert len(set(formula)) == len(formula) and len(set(runs)) == len(runs)
    assert set(formula) == set(runs)


@given(queries(strategies), streams())
def test_other_strategies_find_a_part(query: str, rows: list[Row]) -> None:
    (stated,) = problems(parse_query(query), rows)
    assert set(by_runs(stated)) <= set(by_formula(stated))


@given(
    st.sampled_from(["SET(A x, ANY y, B z)", "SEQ(SET(A x, ANY y), B z)", "SET(ANY x, ANY y)"]),
    st.lists(st.sampled_from(["x.v < y.v", "[k]"]), max_size=2, unique=True),
    st.sampled_from([ANY, STRICT]), windows, streams(),
)  # fmt: skip
def test_a_set_is_its_orders_written_out(
    pattern: str, conditions: list[str], strategy: str, window: str, rows: list[Row]
) -> None:
    """Where no two events are simultaneous; in the same order of results."""
    rows = [{**row, "ts": ts} for ts, row in enumerate(rows)]
    members, rest = pattern.removeprefix("SEQ(").removeprefix("SET(").split(")")[:2]
    orders = [f"SEQ({', '.join(each)}{rest})" for each in permutations(members.split(", "))]
    # The written order decides on the order, so the columns are those of the first order.
    one = match(parse_query(written(pattern, strategy, conditions, window)), rows)
    many = match(parse_query(written(" OR ".join(orders), strategy, conditions, window)), rows)
    assert one == many


@given(
    st.sampled_from(["SEQ(A x, ANY+ y[], B z)", "ANY{1,2} y[]", "SEQ(A? x, A+ y[], !B u, ANY z)"]),
    st.lists(st.sampled_from(["y[i].v > y[i-1].v", "y.len < 3", "[k]"]), max_size=2, unique=True),
    strategies, windows, streams(6),
)  # fmt: skip
def test_a_set_of_one_member_is_that_component(
    pattern: str, conditions: list[str], strategy: str, window: str, rows: list[Row]
) -> None:
    in_sets = re.sub(r"(\w+\S* y\[\]|\w+ z)", r"SET(\1)", pattern)
    bare = match(parse_query(written(pattern, strategy, conditions, window)), rows)
    assert match(parse_query(written(in_sets, strategy, conditions, window)), rows) == bare


@given(
    st.sampled_from(["SEQ(A x, ANY y)", "SEQ(ANY x, B y, A z)"]),
    st.lists(st.sampled_from(["x.v < y.v", "[k]"]), max_size=2, unique=True), windows, streams(),
)  # fmt: skip
def test_of_single_components_it_is_skip_till_next_match(
    pattern: str, conditions: list[str], window: str, rows: list[Row]
) -> None:
    greedy = match(parse_query(written(pattern, GREEDY, conditions, window)), rows)
    assert greedy == match(parse_query(written(pattern, NEXT, conditions, window)), rows)
