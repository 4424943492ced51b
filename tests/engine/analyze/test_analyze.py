"""With ANALYZE a run finds the same, and its counters come out even."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

import sase
from sase.engine.pipeline import analyze
from sase.engine.pipeline.analyze import analyzed
from sase.engine.pipeline.matcher import Matcher
from sase.planning.engine_plan import Options
from sase.planning.plan.nodes import Selection, chain, find, rebuilt
from tests.drawing.hunt import fault
from tests.drawing.hunt import told as told_case
from tests.drawing.ways import case, plan_of
from tests.engine.analyze.account import check_account
from tests.engine.operators import plans
from tests.engine.operators.plans import QUERIES, told
from tests.seeds import draw_numbers

EVENTS = plans.stream()
TINY = Options(block=7, chunk=2, stack=2)


def counting(plan: sase.Plan) -> sase.Plan:
    return replace(plan, options=replace(plan.options, analyze=True))


def shared(off: Any, on: Any) -> list[tuple[str, dict[str, Any]]]:
    """Of the counters of a run with ANALYZE those that one without it has."""
    return [
        (name, {key: more[key] for key in counted})
        for (name, counted), (_, more) in zip(off.report.counters, on.report.counters, strict=True)
    ]


@pytest.mark.parametrize("options", [Options(), TINY], ids=["usual", "tiny"])
@pytest.mark.parametrize(("query", "recipe"), plans.BY_RECIPE)
def test_every_recipe(query: str, recipe: str, options: Options) -> None:
    plan = plans.plan_of(query, recipe, options)
    off, on = plan.run(EVENTS, threads=1), counting(plan).run(EVENTS, threads=1)
    assert told(on) == told(off) != []
    assert shared(off, on) == [*off.report.counters]
    check_account(plan, on)


@pytest.mark.random
@pytest.mark.parametrize("number", draw_numbers(settings().max_examples))
def test_any_query(number: int) -> None:
    """Check ANALYZE in one batch, and in any way, which returns each match as soon as possible."""
    example, way = case(number, "sequences")
    way = replace(way, options=replace(way.options, analyze=True))
    if example.is_refused:
        return
    plan = plan_of(example, way, example.table)
    on = plan.run(example.table, threads=1)
    off = replace(plan, options=replace(way.options, analyze=False)).run(example.table, threads=1)
    assert on.rows == off.rows
    assert repr(on.to_pylist()) == repr(off.to_pylist())  # NaN is not equal to itself
    counted = [(name, {**each}) for name, each in off.report.counters]
    more = shared(off, on)
    if way.options.many_keys < Options().many_keys:  # the stacks of a whole input are gone then
        for _, counters in (*counted, *more):
            counters.pop("evicted", None)
            counters.pop("alive", None)
    assert more == counted
    check_account(plan, on)
    assert fault(example, way) is None, told_case(number, example, way)


# ---------------------------------------------------------------- rejections

ROWS = [
    {"ts": ts, "type": type, "v": v}
    for ts, type, v in [
        (1, "A", 5), (2, "A", 1), (3, "N", 1), (4, "B", 2), (5, "B", 9), (6, "A", 3), (20, "B", 4),
    ]
]  # fmt: skip
SEVERAL = "EVENT SEQ(A a, B b) WHERE a.v < b.v AND a.v + b.v > 4 AND b.v < 9 WITHIN 10"


def counters(query: str, recipe: str) -> dict[str, dict[str, Any]]:
    plan = counting(sase.compile(query, ROWS, plan=recipe))
    matches = plan.run(ROWS, threads=1)
    check_account(plan, matches)
    return dict(matches.report.counters)


def test_which_condition_rejects() -> None:
    """By hand. Of (5,2) (1,2) (5,9) (1,9) (5,4) (1,4) (3,4), in `optimized` the last three out."""
    first, second = "a.v < b.v", "a.v + b.v > 4"
    found = counters(SEVERAL, "ais")
    assert found["Selection"]["rejected"] == {first: 2, second: 1, "b.v < 9": 2}
    assert found["Window"] == {"in": 2, "out": 0, "rejected": {"window": 2}}
    found = counters(SEVERAL, "optimized")
    assert found["SequenceScan"]["rejected_events"] == {"b.v < 9": 1}
    assert found["SequenceScan"]["filtered"] == [0, 1]  # the last b, when no a is in its window
    built = found["SequenceConstruction"]
    assert built["rejected"] == {first: 1, second: 1}
    assert [built[name] for name in ("walks", "visited", "passed")] == [1, [2, 1], [0, 1]]
    assert built["ended"] == [1, 0]
    found = counters(SEVERAL, "basic")
    # From the b's back: all cells between, and of two b's the a's in the window.
    assert found["SequenceConstruction"]["visited"] == [3 + 4 + 6, 3]
    assert found["SequenceConstruction"]["unfit"] == [1 + 2 + 3, 0]


def test_tests_and_negative_components() -> None:
    found = counters("EVENT SEQ(A a, !(N n), B b) WHERE n.v < a.v WITHIN 100", "basic")["Negation"]
    assert (found["in"], found["probed"], found["hit"], found["out"]) == (7, [7], [3], 4)
    assert found["rejected"] == {"n.v < a.v": 3}  # an n between, and not less than (1, …)
    assert found["most_indexed"] == [1]
    pushed = counters("EVENT SEQ(A a, !(N n), B b) WITHIN 100", "optimized")
    assert pushed["SequenceScan"]["forbidden"] == [0, 2]  # nothing leads to the b's after n
    assert pushed["SequenceConstruction"]["forbidden"] == [1, 0]  # and to the last only one a
    start = counters("EVENT SEQ(!(N n), A a, B b) WITHIN 18", "optimized")
    assert start["SequenceConstruction"]["unfit"] == [1, 0]
    # The b with 9 comes when the window of the first a has just passed.
    end = counters("EVENT SEQ(A a, N m, !(B b)) WHERE b.v > 5 WITHIN 4", "optimized")["Negation"]
    assert (end["in"], end["most_waiting"], end["hit"], end["out"]) == (2, 2, [1], 1)
    assert end["rejected_events"] == {"b.v > 5": 2}
    same = counters("EVENT SEQ(A a, B b) WHERE [v]", "ais")["Selection"]
    assert same["rejected"] == {"[v]": 7}


def test_having_and_limit() -> None:
    query = "EVENT SEQ(A a, B b) HAVING a.v + b.v > 5 AND a.v + b.v < 10 RETURN a.v LIMIT 2"
    found = counters(query, "optimized")["Transformation"]
    assert found == {
        "in": 7,
        "rejected": {"a.v + b.v > 5": 2, "a.v + b.v < 10": 2},
        "beyond_limit": 1,
        "out": 2,
    }


def test_what_a_walk_found_beyond_a_limit_that_is_pushed_down() -> None:
    """Of five events in a row the fourth ends one sequence, and of the next one a walk has two."""
    rows = [{"ts": ts, "type": "A", "id": 1} for ts in range(5)]
    query = "EVENT SEQ(A a, A b, A c, A d) WHERE a.id = b.id AND [id] LIMIT 2"
    plan = counting(sase.compile(query, rows, plan="unfused"))
    plan = replace(plan, options=replace(plan.options, block=1))
    matches = plan.run(rows, threads=1)
    check_account(plan, matches)
    built = dict(matches.report.counters)["SequenceConstruction"]
    assert [built[name] for name in ("visited", "passed")] == [[3, 2, 2, 2]] * 2
    assert (built["sequences"], built["beyond_limit"], sum(built["unfit"])) == (2, 1, 0)


def test_each_condition_rejects_what_those_before_let_pass() -> None:
    """As the plans with the first of the conditions only do."""
    plan = plans.plan_of("conditions", "basic")
    node = find(plan.operators, Selection)
    assert node is not None

    def passed(count: int) -> int:
        shorter = replace(node, conditions=node.conditions[:count])
        operators = [shorter if each is node else each for each in chain(plan.operators)]
        report = replace(plan, operators=rebuilt(operators)).run(EVENTS, threads=1).report
        return int(dict(report.counters)["Selection"]["out"])

    out = [passed(count) for count in range(len(node.conditions) + 1)]
    counted = dict(counting(plan).run(EVENTS, threads=1).report.counters)["Selection"]
    assert len(counted["rejected"]) == 4
    assert [*counted["rejected"].values()] == [a - b for a, b in pairwise(out)]


def test_a_fixed_value_is_a_condition_on_each_event() -> None:
    plan = counting(plans.plan_of("a fixed test", "basic"))
    counted = dict(plan.run(EVENTS, threads=1).report.counters)["Selection"]
    assert list(counted["rejected"]) == ["[id]", "b.v >= a.v", "a.s = 'x'", "b.s = 'x'"]


# ---------------------------------------------------------------- threads, states, time


@pytest.mark.parametrize("query", ["no window", "ranks of two"])
def test_threads_by_key_count_what_one_does(query: str) -> None:
    plan = counting(plans.plan_of(query, "optimized"))
    alone, several = (plan.run(EVENTS, threads=threads) for threads in (1, 3))
    check_account(plan, several)
    sums = [
        [(name, {key: each for key, each in counted.items() if not key.startswith("most_")})
         for name, counted in matches.report.counters]
        for matches in (alone, several)
    ]  # fmt: skip
    assert sums[0] == sums[1]
    most = [matches.report.counters[0][1]["most_alive"] for matches in (alone, several)]
    assert all(a >= b > 0 for a, b in zip(*most, strict=True))


def test_threads_by_slices() -> None:
    plan = counting(plans.plan_of("conditions", "optimized"))
    alone, several = (dict(plan.run(EVENTS, threads=n).report.counters) for n in (1, 4))
    for name, counted in several.items():
        assert counted.keys() == alone[name].keys()
    built = [each["SequenceConstruction"] for each in (alone, several)]
    assert all(count >= built[0]["rejected"][text] for text, count in built[1]["rejected"].items())


def test_a_state_is_of_plans_with_and_without_it() -> None:
    plan = plans.plan_of("all around", "optimized")
    assert counting(plan) == plan
    assert counting(plan).to_json() == plan.to_json()
    matcher = plan.open()
    found = told(matcher.push(EVENTS.slice(0, 20)))
    matcher = counting(plan).restore(matcher.snapshot())
    found += told(matcher.push(EVENTS.slice(20)))
    assert found + told(matcher.finish()) == told(plan.run(EVENTS))


class Ticks:
    """A clock that moves on by one whenever it is read."""

    now = 0

    def __call__(self) -> int:
        self.now += 1
        return self.now


@pytest.mark.parametrize("recipe", ["basic", "optimized"])
def test_times(recipe: str) -> None:
    """Every operator has some, and together they are the time in which any of them ran."""
    plan, ticks = plans.plan_of("all around", recipe, TINY), Ticks()
    matches, report = analyzed(plan.engine, EVENTS, clock=ticks)
    assert [name for name, _ in report.timings[1:]] == [name for name, _ in report.counters]
    assert report.timings[0][0] == "BlockBuilder"
    assert all(spent > 0 for _, spent in report.timings)
    assert sum(spent for _, spent in report.timings) < ticks.now
    assert told(matches) == told(plan.run(EVENTS))
    check_account(plan, matches)
    assert [name for name, _ in plan.run(EVENTS).report.timings] == ["Reading", "Search"]


@pytest.mark.parametrize("threads", [1, 2])
def test_phases(threads: int) -> None:
    """Time that passes between two results is not that of the search."""
    plan, ticks = plans.plan_of("all around", "optimized", TINY), Ticks()
    matches = plan.run(EVENTS, threads=threads, clock=ticks)
    reading, parts = ticks.now - 1, matches.batches()
    for _ in parts:
        ticks.now += 1000
    assert matches.report.timings[0] == ("Reading", reading)
    name, spent = matches.report.timings[1]
    assert name == "Search" and 0 < spent < 1000
    assert matches.report == plan.run(EVENTS, threads=threads).report


def test_phases_of_a_match() -> None:
    spent = dict(sase.match("EVENT SEQ(A x, B y)", EVENTS).report.timings)
    assert set(spent) == {"Reading", "Search"} and all(spent.values())


def test_a_file_in_pieces_and_few_that_are_shown(tmp_path: Any) -> None:
    import pyarrow.parquet

    pyarrow.parquet.write_table(EVENTS, tmp_path / "events.parquet")
    plan = sase.compile(QUERIES["a window"], str(tmp_path))
    whole, _ = analyzed(plan.engine, str(tmp_path), clock=Ticks())
    few, report = analyzed(plan.engine, str(tmp_path), clock=Ticks(), shown=3)
    assert len(few) == 3
    assert dict(report.counters)["Transformation"]["out"] == len(whole) > 3


def test_a_run_that_compiles_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = iter([3, 3, 3, 4])
    monkeypatch.setattr(analyze, "compilations", lambda: next(counts))
    plan = plans.plan_of("a window", "optimized").engine
    assert analyze.COMPILED not in analyzed(plan, EVENTS, clock=Ticks())[1].notes
    assert analyze.COMPILED in analyzed(plan, EVENTS, clock=Ticks())[1].notes


def test_every_key_is_documented() -> None:
    text = (Path(__file__).parents[3] / "docs" / "explain-counters.md").read_text(encoding="utf-8")
    keys = {
        key
        for query in ("all around", "an end with a condition", "conditions")
        for recipe in ("basic", "optimized")
        for _, counted in Matcher(counting(plans.plan_of(query, recipe)).engine).counters
        for key in counted
    }
    assert len(keys) > 20
    assert [key for key in sorted(keys) if f"`{key}`" not in text] == []


def test_without_it_nothing_more_is_counted() -> None:
    matcher = Matcher(plans.plan_of("all around", "basic").engine)
    keys = {key for _, counted in matcher.counters for key in counted}
    assert not any(key.startswith(("most_", "rejected", "probed")) for key in keys)
