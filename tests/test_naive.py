"""The naive matcher: the worked figures of the papers, hand-worked streams, and its two paths."""

# long because: each table is a list of small worked streams, best read in one place.

from __future__ import annotations

import functools
import json
import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sase.lang import ast
from sase.lang.parser import parse_query
from tests.naive import Match, by_formula, by_runs, match, problems

Row = dict[str, Any]

# ---------------------------------------------------------------- the papers

PAPERS = json.loads((Path(__file__).parent / "data" / "paper_cases.json").read_text())["cases"]
LEVELS_1_AND_2 = [case for case in PAPERS if case["level"] <= 2]


@pytest.mark.parametrize("case", LEVELS_1_AND_2, ids=lambda case: case["id"])
def test_the_papers(case: Row) -> None:
    query = parse_query(case["query"])
    if query.strategy is None:
        query = replace(query, strategy=ast.Strategy(ast.StrategyName(case["strategy"])))
    options = {name: case[name] for name in ("types", "time_unit") if name in case}
    matches = [flat(each) for each in match(query, case["events"], **options)]
    if "partial" in case:
        assert case["partial"] == "matches that end at position 8"
        matches = [each for each in matches if each[-1] == 8]
    assert sorted(matches) == case["expected"]


def test_every_paper_case_of_levels_1_and_2_is_run() -> None:
    assert [case["id"] for case in LEVELS_1_AND_2] == [
        *(f"S{number:03}" for number in range(1, 22)),
        "S028",
    ]
    assert {case["level"] for case in PAPERS} == {1, 2, 3}


def flat(found: Match) -> list[int]:
    return [row for rows in found.events for row in rows]


# ---------------------------------------------------------------- streams by hand


def stream(text: str) -> list[Row]:
    """`a1:v=3,k=x b2`: the type in capitals, the timestamp, attributes; `-` is NULL."""
    return [_event(word) for word in text.split()]


def _event(word: str) -> Row:
    label, _, attributes = word.partition(":")
    pairs = [pair.split("=") for pair in attributes.split(",") if pair]
    values: Row = {name: _value(value) for name, value in pairs}
    return {"ts": int(label[1:].strip("'")), "type": label[0].upper(), **values}


def _value(text: str) -> object:
    if text == "-":
        return None
    try:
        return float(text) if "." in text else int(text)
    except ValueError:
        return text


def found(query: str, text: str, **options: Any) -> list[str]:
    """The matches as `a1 [b2 b3] -`."""
    labels = [word.partition(":")[0] for word in text.split()]
    parsed = parse_query(query)
    parts = parsed.pattern.parts if isinstance(parsed.pattern, ast.Sequence) else (parsed.pattern,)
    lists = [
        part.quantifier is not None and part.quantifier.symbol != "?"
        for part in parts
        if isinstance(part, ast.Component) and not part.negated
    ]
    return [
        " ".join(
            f"[{' '.join(labels[row] for row in rows)}]"
            if is_list
            else "".join(labels[row] for row in rows) or "-"
            for rows, is_list in zip(each.events, lists, strict=True)
        )
        for each in match(parsed, stream(text), **options)
    ]


AGGREGATES = [
    ("sum(a[].v)", [1, 2, 3], 6),
    ("sum(a[].v)", [2**63 - 1, 1, -1], 2**63 - 1),
    ("sum(a[].v)", [2**63 - 1, 1, 0], None),
    ("sum(a[].v)", [0.1, 0.2, 0.3], 0.6000000000000001),
    ("sum(a[].v)", [0.3, 0.2, 0.1], 0.6),
    ("sum(a[].v)", [math.inf, -math.inf, 1.0], None),
    ("sum(a[].v)", [None, None, None], None),
    ("avg(a[].v)", [1, 2, 4], 7.0 / 3),
    ("avg(a[].v)", [1, None, 4], 2.5),
    ("avg(a[].v)", [0.1, 0.2, 0.3], 0.6000000000000001 / 3),
    ("avg(a[].v)", [2**63 - 1, 2**63 - 1, 0], None),
    ("min(a[].v)", [3, None, 1.5], 1.5),
    ("max(a[].v)", ["a", "b", "Z"], "b"),
    ("count(a[].v)", [1, None, math.nan], 1),
    ("count(a[])", [1, None, 3], 3),
    ("a.len", [1, None, 3], 3),
    ("first(a[].v)", [None, 2, 3], None),
    ("last(a[].v)", [1, 2, 3], 3),
    ("a[1].v", [1, 2, 3], 1),
    ("a[a.len].v", [1, 2, None], None),
    ("stddev(a[].v)", [1, 2, 4], 1.5275252316519465),
    ("stddev(a[].v)", [1, None, None], None),
    ("stddev(a[].v)", [5, 5, None], 0.0),
    ("2 * max(a[].v) - a[1].v", [1, 2, 3], 5),
]


@pytest.mark.parametrize(("text", "values", "expected"), AGGREGATES)
def test_aggregates(text: str, values: list[object], expected: object) -> None:
    rows = [{"ts": n, "type": "A", "v": value} for n, value in enumerate(values)]
    (only,) = match(parse_query(f"EVENT A{{3}} a[] RETURN {text} AS r"), rows)
    assert only.values == {"r": expected}


def test_aggregates_over_an_empty_series() -> None:
    query = "EVENT SEQ(A* a[], B b) RETURN sum(a[].v), count(a[].v), a.len, first(a[].v), a[1].v"
    (only,) = match(parse_query(query), stream("b1:v=1"))
    assert only.values == {
        "sum_a_v": None, "count_a_v": 0, "a_len": 0, "first_a_v": None, "a_1_v": None,
    }  # fmt: skip


# ---------------------------------------------------------------- types


def test_any_and_an_attribute_that_the_type_does_not_declare() -> None:
    rows = stream("a1:v=1 b2:w=5 c3:v=9")
    types = {"A": ["v"], "B": ["w"], "C": ["v"]}

    def events(where: str, pattern: str = "EVENT ANY x") -> list[list[int]]:
        return [flat(each) for each in match(parse_query(pattern + where), rows, types=types)]

    assert events(" WHERE x.v = 9") == [[1], [2]]
    assert events(" WHERE NOT x.v = 1") == [[1], [2]]
    assert events(" WHERE x.v IS NULL") == [[1]]
    assert events(" WHERE coalesce(x.v, 0) = 7") == [[1]]
    assert events(" WHERE x.v = 9 OR x.ts < 1") == [[1], [2]]
    assert events(" HAVING x.v = 9") == [[1], [2]]
    assert events(" WHERE max(x[].v) > 9", "EVENT ANY{2} x[]") == [[0, 1], [1, 2]]
    assert events(" WHERE [v]", "EVENT SEQ(ANY x, ANY y)") == [[0, 1], [1, 2]]
    assert events("", "EVENT ANY(A, C) x") == [[0], [2]]
    (row, *_) = match(parse_query("EVENT ANY(B) x RETURN x.v"), rows, types=types)
    assert row.values == {"x_v": None}


def test_a_fixed_value_in_a_negative_component_alone() -> None:
    types = {"A": ["v"], "N": ["k"]}
    query = "EVENT SEQ(A a, !(N n), A b) WHERE [k = 1]"
    assert found(query, "a1 n2:k=2 a3", types=types) == ["a1 a3"]
    assert found(query, "a1 n2:k=1 a3", types=types) == []


def test_no_events() -> None:
    assert match(parse_query("EVENT A a WITHIN 5 minutes"), []) == []


def test_with_one_wide_table_every_type_declares_every_column() -> None:
    assert found("EVENT ANY x WHERE x.v = 9", "a1:v=1 b2:w=5 c3:v=9") == ["c3"]
    assert found("EVENT ANY x WHERE x.v IS NULL", "a1:v=1 b2:w=5 c3:v=9") == ["b2"]


def test_types_by_condition() -> None:
    rows = [{"ts": n, "reader": reader} for n, reader in enumerate(["S1", "Q", None, "X1", "XS"])]
    types = {
        "Shelf": "reader LIKE 'S%'",
        "Exit": "reader LIKE 'X%' AND NOT ts = 9",
        "Odd": "ts = 3",
    }
    options: Any = {"type": None, "types": types}
    assert [flat(m) for m in match(parse_query("EVENT ANY x"), rows, **options)] == [[0], [3], [4]]
    exits = match(parse_query("EVENT SEQ(Shelf, Exit) WITHIN 4 EVENTS"), rows, **options)
    assert [flat(each) for each in exits] == [[0, 3]]  # an event without a type keeps its position
    assert exits[0].names == ("Shelf_1", "Exit_2")
    assert match(parse_query("EVENT Odd"), rows, **options) == []  # the first condition wins


def test_a_table_of_one_type() -> None:
    rows = [{"ts": 1, "v": 1}, {"ts": 2, "v": 2}]
    for types in ({"Tick": ["v"]}, ["Tick"]):
        only = match(parse_query("EVENT Tick WHERE v > 1"), rows, type=None, types=types)
        assert [flat(each) for each in only] == [[1]]


# ---------------------------------------------------------------- time


def test_rows_are_sorted_and_keep_their_numbers() -> None:
    rows = [
        {"ts": 3, "type": "B", "n": 1},
        {"ts": 1, "type": "A", "n": 2},
        {"ts": 1, "type": "B", "n": 3},
    ]
    query = parse_query("EVENT SEQ(A a, B b)")
    assert [flat(each) for each in match(query, rows)] == [[1, 0]]
    assert [flat(each) for each in match(query, rows, seq="n")] == [[1, 2], [1, 0]]


@pytest.mark.parametrize(
    ("times", "window", "time_unit", "matches"),
    [
        ([0, 89, 90], "1.5 minutes", "s", 1),
        ([0, 1, 2], "61 seconds", "minutes", 1),  # rounded up to 2 minutes
        ([0, 1, 2], "61 seconds INCLUSIVE", "minutes", 1),  # rounded down to 1
        ([0, 99, 100], "0.1 seconds", "ms", 1),
        ([0.0, 0.999999, 1.0], "1 second", None, 1),
        ([0.0, 0.0000004, 0.000001], "1 us", None, 0),  # the second is simultaneous
        ([date(2020, 1, 1), date(2020, 1, 2), date(2020, 1, 3)], "36 hours", None, 1),
        ([date(2020, 1, 1), date(2020, 1, 2), date(2020, 1, 3)], "2 days", None, 1),
        (["2020-01-01T00:00", "2020-01-01T00:00:00.999999", "2020-01-01T00:00:01"], "1 s", None, 1),
        (["2020-01-01T00:00Z", "2020-01-01T02:00+01:00", "2020-01-01T02:00Z"], "2 h", None, 1),
    ],
)
def test_columns_of_time(
    times: list[Any], window: str, time_unit: str | None, matches: int
) -> None:
    times = [datetime.fromisoformat(time) if isinstance(time, str) else time for time in times]
    rows = [{"ts": time, "type": kind} for time, kind in zip(times, "ABB", strict=True)]
    query = parse_query(f"EVENT SEQ(A a, B b) WITHIN {window}")
    assert len(match(query, rows, time_unit=time_unit)) == matches


@pytest.mark.parametrize(
    ("first", "window", "start", "detected"),
    [
        (1, "5", 1, 6),
        (2**63 - 3, "5", 2**63 - 3, 2**63 - 1),
        (1.5, "5 s", 1_500_000, 6_500_000),
        (date(2020, 2, 28), "2 days", date(2020, 2, 28), date(2020, 3, 1)),
        (
            datetime(2020, 1, 1, tzinfo=UTC),
            "1 hour",
            datetime(2020, 1, 1, tzinfo=UTC),
            datetime(2020, 1, 1, 1, tzinfo=UTC),
        ),
    ],
)
def test_a_negated_end_is_detected_when_the_window_has_passed(
    first: object, window: str, start: object, detected: object
) -> None:
    query = parse_query(f"EVENT SEQ(A a, !(N n)) WITHIN {window}")
    (only,) = match(query, [{"ts": first, "type": "A"}])
    assert (only.ts_start, only.ts_end, only.detected_at) == (start, start, detected)


def test_an_optional_component_decides_on_the_time_of_detection() -> None:
    query = parse_query("EVENT SEQ(A a, !(N n), B? b) WITHIN 5")
    matches = match(query, stream("a1 b2"))
    assert [(each.events, each.detected_at) for each in matches] == [
        (((0,), (1,)), 2),
        (((0,), ()), 6),
    ]


def test_a_negated_end_orders_by_detection() -> None:
    expected = ["a1 b3", "a1 b4", "a2 b3", "a2 b4"]
    assert found("EVENT SEQ(A a, B b, !(N n)) WITHIN 5", "a1 a2 b3 b4") == expected


def test_saturation() -> None:
    query = "EVENT SEQ(!(N n), A a) WITHIN 9223372036854775807"
    rows = [{"ts": -(2**63), "type": "N"}, {"ts": -9, "type": "A"}]
    # ts(a) - T saturates at the least int64, which is not below itself
    assert len(match(parse_query(query), rows)) == 1
    assert match(parse_query(query + " INCLUSIVE"), rows) == []


# ---------------------------------------------------------------- the other clauses


def test_return() -> None:
    query = "EVENT SEQ(A x, B? y) RETURN x.id, x.id + 1, y.id AS other, x.at"
    rows = [{"ts": 1, "type": "A", "id": 7, "at": datetime(2020, 1, 1, tzinfo=UTC)}]
    (only,) = match(parse_query(query), rows)
    assert only.values == {
        "x_id": 7,
        "column_2": 8,
        "other": None,
        "x_at": datetime(2020, 1, 1, tzinfo=UTC),
    }
    (single,) = match(parse_query("EVENT A RETURN id, at - at AS d"), rows)
    assert single.values == {"id": 7, "d": timedelta(0)}


def test_names() -> None:
    query = "EVENT SEQ(A, !(B), `C-D`, ANY, ANY(A, B) z) WITHIN 99"
    rows = [{"ts": n, "type": kind} for n, kind in enumerate(["A", "C-D", "E", "A"])]
    (only,) = match(parse_query(query), rows)
    assert only.names == ("A_1", "C-D_3", "ANY_4", "z")
    assert only.values is None


def test_having() -> None:
    text = "a1:v=1 a2:v=5 b3"
    query = "EVENT SEQ(A+ a[], B b) HAVING sum(a[].v) > 1 AND NOT a.len = 2"
    assert found(query, text) == ["[a2] b3"]
    with pytest.raises(NotImplementedError):
        found("EVENT SEQ(A+ a[], B b) HAVING a[i].v > 1", text)


def test_limit_comes_last() -> None:
    query = "EVENT SEQ(A a, B b) HAVING a.ts != 2 LIMIT {}"
    assert found(query.format(0), "a1 a2 b3 b4") == []
    assert found(query.format(1), "a1 a2 b3 b4") == ["a1 b3"]
    assert found(query.format(":n"), "a1 a2 b3 b4", params={"n": 9}) == ["a1 b3", "a1 b4"]


@pytest.mark.parametrize(
    "query",
    [
        "EVENT SEQ(A a, (SEQ(B b, (SEQ(C c, D d))+ h[]))+ g[])",
        "FROM s, t EVENT A a",
        "EVENT A+ a[] WHERE a[2].v = 1",
        "EVENT A+ a[] WHERE a.v = 1",
        "EVENT A+ a[] RETURN a[i].v",
        "EVENT A a WHERE cbrt(a.v) = 1",
        "EVENT SEQ(A a, B b) WHERE NOT [v]",
        "EVENT A a WITHIN 5 fortnights",
    ],
)
def test_what_is_not_implemented_says_so(query: str) -> None:
    with pytest.raises(NotImplementedError):
        match(parse_query(query), stream("a1:v=1 b2:v=1"), time_unit="s")


@pytest.mark.parametrize(
    "rows",
    [
        [{"ts": None, "type": "A"}],
        [{"type": "A"}],
        [{"ts": 1, "type": None}],
        [{"ts": math.nan, "type": "A"}],
        [{"ts": 1, "type": "A"}, {"ts": date(2020, 1, 1), "type": "A"}],
        [{"ts": 2**63, "type": "A"}],
    ],
)
def test_bad_rows(rows: list[Row]) -> None:
    with pytest.raises(ValueError, match="bad input"):
        match(parse_query("EVENT A"), rows)


# ---------------------------------------------------------------- the two paths, and the order

attributes = st.fixed_dictionaries(
    {
        "v": st.sampled_from([1, 2, 0, 2.5, 3, None]),
        "k": st.sampled_from([1, 1, 1, 1, 2, None]),
    }
)


@st.composite
def streams(draw: st.DrawFn) -> list[Row]:
    types = draw(st.permutations("AABBCABA"))
    rows = draw(st.lists(attributes, min_size=6, max_size=len(types)))
    times = accumulate(draw(st.sampled_from([1, 1, 0, 2])) for _ in rows)
    parts = zip(types, times, rows, strict=False)
    return [{"ts": ts, "type": type, **row} for type, ts, row in parts]


hits: Counter[bool] = Counter()
schemas: st.SearchStrategy[Any] = st.sampled_from([None, {"A": ["v", "k"], "B": ["k"], "C": ["v"]}])
windows = st.sampled_from(
    [
        "",
        " WITHIN 7",
        " WITHIN 6 INCLUSIVE",
        " WITHIN 7 EVENTS",
        " WITHIN 5 EVENTS PER PARTITION",
    ]
)
LEVEL_1 = {
    "A x": ["x.v >= 0", "x.v IS NOT NULL", "[k]"],
    "SEQ(A x, B y)": ["x.v < y.v", "(x.v = y.v OR y.k = 1)", "NOT (x.v > 1 AND y.v > 1)", "[k]"],
    "SEQ(ANY x, ANY(A, B) y)": ["x.v <= y.v", "y.v > 1", "x.v + y.v < 3", "[k, v]", "[v = 1]"],
    "SEQ(A x, A y, ANY z)": ["x.v < y.v", "z.v != x.v", "z.k = 1", "[k]", "2 > 1"],
    "SEQ(ANY x, B y, ANY z, ANY u)": ["x.v < u.v", "z.v IS NOT NULL", "[k]"],
}
KLEENE_PATTERNS = {
    "A+ x[]": ["x[i].v > x[i-1].v", "x.len < 3", "sum(x[].v) > 2", "[k]"],
    "SEQ(A x, ANY* y[], B z)": ["y[i].v >= x.v", "y[1].v > 0", "y[y.len].v < z.v", "[k]"],
    "SEQ(A? x, B{1,2} y[], C? z)": ["x.v < y[i].v", "y[1].v > z.v", "count(y[].v) = 1", "[k]"],
    "SEQ(ANY{2} x[], ANY? y)": ["x[i].v < y.v", "x[i].v > avg(x[..i-1].v)", "y.v > 1"],
    "SEQ(A* x[], A* y[], B z)": ["x[i].v < y[i].v", "x[1].v = y[1].v", "x.len = y.len", "[k]"],
}


@st.composite
def queries(draw: st.DrawFn, patterns: dict[str, list[str]], strategies: list[str]) -> str:
    pattern = draw(st.sampled_from(sorted(patterns)))
    parts = draw(st.lists(st.sampled_from(patterns[pattern]), max_size=2, unique=True))
    strategy, window = draw(st.sampled_from(strategies)), draw(windows)
    if ("PARTITION" in window or "partition" in strategy) and not any("[k" in p for p in parts):
        parts.append("[k]")
    where = f"{strategy} {{ {' AND '.join(parts)} }}" if strategy else " AND ".join(parts)
    return f"EVENT {pattern}{' WHERE ' * bool(where)}{where}{window}"


def both(query: str, rows: list[Row], types: Any) -> tuple[Any, Any]:
    (stated,) = problems(parse_query(query), rows, types=types)
    formula, runs = by_formula(stated), by_runs(stated)
    hits[bool(runs)] += 1
    assert len(set(formula)) == len(formula) and len(set(runs)) == len(runs)
    return set(formula), set(runs)


@given(queries(LEVEL_1, [""]), streams(), schemas)
def test_runs_find_what_the_formula_says(query: str, rows: list[Row], types: Any) -> None:
    formula, runs = both(query, rows, types)
    assert formula == runs


@given(queries(KLEENE_PATTERNS, [""]), streams(), schemas)
def test_runs_find_every_series_of_the_formula(query: str, rows: list[Row], types: Any) -> None:
    formula, runs = both(query, rows, types)
    assert formula == runs


SELECTIVE = ["strict_contiguity", "partition_contiguity", "skip_till_next_match"]


@given(queries({**LEVEL_1, **KLEENE_PATTERNS}, SELECTIVE), streams(), schemas)
def test_other_strategies_find_a_part(query: str, rows: list[Row], types: Any) -> None:
    formula, runs = both(query, rows, types)
    assert runs <= formula


# Of each: conditions in which the series is called y, which is also written as a group of one.
GROUPS = {
    "A+ y[]": ["y[i].v > y[i-1].v", "y.len < 3", "sum(y[].v) > 2", "y[i].v >= y[1].v", "[k]"],
    "SEQ(ANY x, A+ y[], B z)": ["y[i].v >= x.v", "y[1].v > 0", "y[y.len].v < z.v", "[k]"],
    "SEQ(ANY x, B{1,2} y[], C? z)": ["x.v < y[i].v", "y[1].v > z.v", "count(y[].v) = 1", "[k]"],
    "SEQ(ANY* y[], B z)": ["y[i].v > avg(y[..i-1].v)", "max(y[..i].v) < 3", "y[i].v < z.v", "[k]"],
}


def of_group(query: str) -> str:
    """The same with a group of one component in the place of the series y."""
    grouped = re.sub(r"(\w+)([+*]|\{1,2\}) y\[\]", r"(\1 y)\2 g[]", query)
    lengths = re.sub(r"\by\.len\b", "g.len", grouped)
    return re.sub(r"\by\[(.*?)\]", r"g[\1].y", lengths)


@given(queries(GROUPS, ["", *SELECTIVE]), streams(), schemas)
def test_a_group_of_one_component_is_a_series(query: str, rows: list[Row], types: Any) -> None:
    series = match(parse_query(query), rows, types=types)
    grouped = match(parse_query(of_group(query)), rows, types=types)
    assert of_group(query) != query
    assert [list(_all_rows(each.events)) for each in grouped] == [flat(each) for each in series]


def _all_rows(events: Any) -> Iterator[int]:
    """The rows, however deep they stand."""
    for each in events:
        yield from [each] if isinstance(each, int) else _all_rows(each)


def test_most_random_queries_find_something() -> None:
    assert hits[True] >= 0.6 * hits.total(), hits


@given(queries({**LEVEL_1, **KLEENE_PATTERNS}, [""]), streams())
def test_results_are_in_order(query: str, rows: list[Row]) -> None:
    matches = match(parse_query(query), rows)
    ranks = {
        row: rank for rank, row in enumerate(sorted(range(len(rows)), key=lambda r: rows[r]["ts"]))
    }

    def comes_first(one: Match, other: Match) -> int:
        """docs/semantics.md, Order of results, read aloud: negative for `one` before `other`."""
        a, b = ([ranks[row] for row in flat(each)] for each in (one, other))
        if a[-1] != b[-1]:
            return a[-1] - b[-1]
        for x, y in zip(a[-2::-1], b[-2::-1], strict=False):
            if x != y:
                return y - x
        if len(a) != len(b):
            return len(a) - len(b)
        for k, m in zip(reversed(one.events), reversed(other.events), strict=True):
            if len(k) != len(m):
                return len(k) - len(m)
        return 0

    assert matches == sorted(matches, key=functools.cmp_to_key(comes_first))
    assert all(comes_first(one, two) < 0 for one, two in zip(matches, matches[1:], strict=False))
