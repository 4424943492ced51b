"""The counts and output of match windows are those of the definitions of the paper, by window."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import accumulate
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sase
from sase.planning.engine_plan import Options

SPAN = 6
# The types that a match must have in order, and those of all components but the first.
SHAPES = {
    "SEQ(A a, B b, C c)": ("ABC", "BC"),
    "SEQ(A a, B+ b[], C c)": ("ABC", "BC"),
    "SEQ(A a, B{2,} b[], B d)": ("ABBB", "B"),
    "SEQ(A a, C? b, A c)": ("AA", "CA"),
    "SEQ(B a, B b)": ("BB", "B"),
}
Row = tuple[int, str, int | None]
# Each with the time since the one before.
rows = st.lists(
    st.tuples(st.integers(0, 2), st.sampled_from("AABBCX"), st.sampled_from([1, 1, 2, None])),
    min_size=1,
    max_size=16,
).map(
    lambda drawn: [
        (at, kind, key)
        for at, (_, kind, key) in zip(accumulate(each[0] for each in drawn), drawn, strict=True)
    ]
)


def judged(rows: list[Row], pattern: str, *, by_key: bool) -> dict[str, int]:
    """The counts of windows, and the events of those that may hold a match."""
    wanted, later = SHAPES[pattern]
    kept = [row for row in rows if row[1] in wanted + later and not (by_key and row[2] is None)]
    found, starts, inside = Counter[str](), set[int](), set[int]()
    for place, (at, kind, key) in enumerate(kept):
        window = [
            n
            for n, row in enumerate(kept)
            if n >= place and row[0] - at <= SPAN and (not by_key or row[2] == key)
        ]
        following = iter([kept[n][1] for n in window])
        if kind != wanted[0]:
            found["not_first"] += 1
        elif not all(each in following for each in wanted):
            found["incomplete"] += 1
        else:
            found.update(windows=1, window_events=len(window))
            starts.add(place)
            inside |= {*window}
    found["out"] = sum(n in starts or kept[n][1] in later for n in inside)
    return {name: found[name] for name in WHAT}


WHAT = ("windows", "window_events", "not_first", "incomplete", "out")


def counted(rows: list[Row], pattern: str, recipe: str, **options: Any) -> dict[str, int]:
    """The counters of the engine."""
    text = f"EVENT {pattern} WHERE skip_till_next_match {{ [id] }} WITHIN {SPAN} INCLUSIVE"
    columns = zip(*rows, strict=True)
    kinds = (pa.int64(), pa.string(), pa.int64())
    table = pa.table(
        [pa.array(column, kind) for column, kind in zip(columns, kinds, strict=True)],
        names=["ts", "type", "id"],
    )
    plan = sase.compile(text, table, plan=recipe)
    plan = replace(plan, options=Options(analyze=True, **options))
    found = dict(plan.run(table).report.counters)["MatchWindow"]
    return {name: found[name] for name in WHAT}


@pytest.mark.parametrize("pattern", SHAPES)
@given(rows, st.booleans())
def test_windows_are_those_of_the_definitions(pattern: str, rows: list[Row], by_key: bool) -> None:
    recipe = "match_window_fpc" if by_key else "match_window_fc"
    assert counted(rows, pattern, recipe) == judged(rows, pattern, by_key=by_key)


@pytest.mark.parametrize("pattern", SHAPES)
@given(rows, st.booleans(), st.integers(1, 4))
def test_in_blocks_no_event_of_a_window_is_dropped(
    pattern: str, rows: list[Row], by_key: bool, block: int
) -> None:
    recipe = "match_window_fpc" if by_key else "match_window_fc"
    found, whole = counted(rows, pattern, recipe, block=block), judged(rows, pattern, by_key=by_key)
    assert found["windows"] >= whole["windows"]
    assert found["out"] >= whole["out"]
    assert found["not_first"] == whole["not_first"]


# The relation Chemo (Figure 1): patient, laboratory event, value, day of July.
CHEMO = (
    (1, "C", 1672.5, 3), (1, "B", 7100.0, 4), (1, "P", 111.5, 5), (2, "B", 10100.0, 6),
    (2, "P", 88.0, 8), (2, "D", 84.0, 9), (2, "C", 1320.0, 10), (2, "P", 98.0, 11),
    (1, "P", 116.5, 12), (2, "P", 88.0, 15), (1, "B", 3400.0, 17), (2, "B", 4000.0, 18),
    (2, "B", 4900.0, 19), (1, "B", 3000.0, 22),
)  # fmt: skip
Q1 = """EVENT SEQ(SET(C c, P+ p[]), B b)
    WHERE earliest_maximal { [pid] AND p[i].v > p[i-1].v } WITHIN 15 INCLUSIVE"""


def of_chemo(recipe: str, patients: tuple[int, ...]) -> tuple[int, dict[str, Any]]:
    """How many matches Q1 has, and the counters of match windows."""
    rows = [row for row in CHEMO if row[0] in patients]
    table = pa.table([*map(pa.array, zip(*rows, strict=True))], names=["pid", "type", "v", "ts"])
    plan = sase.compile(Q1, table, plan=recipe)
    found = replace(plan, options=Options(analyze=True)).run(table)
    return len(found), dict(found.report.counters)["MatchWindow"]


@pytest.mark.parametrize(
    ("recipe", "calls", "handed_over"),
    [
        ("match_window_f", 13, 86),
        ("match_window_fp", 13, 46),
        ("match_window_fc", 4, 38),
        ("match_window_fpc", 3, 16),
    ],
)
def test_windows_of_the_papers_example(recipe: str, calls: int, handed_over: int) -> None:
    matches, found = of_chemo(recipe, (1, 2))
    assert matches == 3
    assert (found["windows"], found["window_events"]) == (calls, handed_over)
    assert found["events"] == 13  # D is of no type of the pattern


def test_windows_of_figure_5() -> None:
    """Of patient 1 that of e1 holds a match; e3 and e9 begin others, and e2, e11, e14 none."""
    matches, found = of_chemo("match_window_fpc", (1,))
    assert matches == 1
    assert {name: found[name] for name in (*WHAT, "too_small")} == {
        "windows": 1, "window_events": 5, "not_first": 3, "incomplete": 2, "too_small": 0, "out": 5,
    }  # fmt: skip


def test_a_stream_goes_on_whose_events_were_all_dropped() -> None:
    rows = [{"ts": 1, "type": "A", "id": 2}]
    text = "EVENT SEQ(!(B b), A+ a[]) WHERE [id = 1] WITHIN 9"
    plan = sase.compile(text, rows, plan="match_window_fc")
    matcher = plan.open()
    matcher.push(rows)
    restored = plan.restore(matcher.snapshot())
    restored.push([{"ts": 2, "type": "A", "id": 1}])
    assert dict(restored.finish().report.counters)["MatchWindow"]["out"] == 1


def test_analyze_shows_what_windows_prune() -> None:
    table = pa.table([*map(pa.array, zip(*CHEMO, strict=True))], names=["pid", "type", "v", "ts"])
    text = str(sase.explain(Q1, table, plan="match_window_fpc", analyze=True))
    _, _, shown = text.partition("MW match windows (fpc)")
    lines = [line.strip() for line in shown.splitlines()]
    assert "partitions: a window for each pid" in lines
    assert "counters: it has c and p, then b" in lines
    for line in ("windows: 3", "not first: 6", "incomplete: 4", "window events: 16"):
        assert line in lines
