"""The naive matcher on sets and earliest_maximal: streams by hand, and equal results."""

from __future__ import annotations

import re
from itertools import accumulate, permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sase.lang.parser import parse_query
from tests.naive import by_formula, by_runs, match, problems
from tests.test_naive import PAPERS, Row, flat, stream

ANY, NEXT, STRICT = "skip_till_any_match", "skip_till_next_match", "strict_contiguity"
GREEDY = "earliest_maximal"


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
