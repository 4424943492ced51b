"""EXPLAIN on Spark: it names the steps of the run."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from pyspark.sql import DataFrame, SparkSession

import sase
from sase import spark as on_spark
from sase.engine.pipeline.matcher import Matcher
from sase.engine.pipeline.threads import without_limit
from sase.errors import PlanError
from sase.planning.physical.drive import Feed
from sase.planning.replay import SlicePlan
from sase.spark.explain import estimated
from tests.program import Program

EVENTS = pa.table(
    {
        "ts": range(400),
        "type": ["A", "B", "C", "X"] * 100,
        "id": [number * 7 // 5 % 4 for number in range(400)],
    }
)
KEYED = "EVENT SEQ(A a, !(B b), C c) WHERE [id] WITHIN 20"
FREE = "EVENT SEQ(A a, C c) WHERE a.id < c.id WITHIN 20"
FUSED = "EVENT SEQ(A a, C c) WHERE [id] WITHIN 20"
LINES = "EVENT SEQ(A+ a[], C c) WHERE skip_till_next_match { [id] } WITHIN 20"


@pytest.fixture(scope="module")
def df(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(EVENTS)


@pytest.fixture(scope="module")
def analyzed(df: DataFrame) -> on_spark.SparkExplanation:
    """A query in four slices with tasks that have counted."""
    return on_spark.explain(FREE, df, slices=[100, 200, 300], analyze=True)


def test_by_key(df: DataFrame) -> None:
    found = on_spark.explain(KEYED, df, slices=5)
    assert (found.strategy, found.keys, found.whole, found.slices) == ("key", ("id",), 5, 0)
    text = str(found)
    assert "└─ SC←" in text
    assert "cut by key: all events of a match have the same key" in text
    assert "parts: 5 by the hash of id" in text
    assert "Spark SQL: keeps rows of type A or B or C that have id, and any bad row" in text
    assert "Python tasks: one matcher for each of 5 parts: SequenceScan, Seq" in text
    assert "MapInArrow" in text.partition("the plan of Spark:")[2]
    assert found.counters == ()
    assert found.halo is None


@pytest.mark.parametrize(
    ("query", "output", "paths", "said"),
    [
        (
            FUSED,
            "structs",
            {"fused scan"},
            "driven: loaded events by the fused scan if\n    - keys ",
        ),
        (FREE, "structs", set(), "declined fused scan: the construction tests conditions"),
        (
            f"{FUSED} LIMIT 9",
            "structs",
            {"fused scan"},
            "driven: loaded events by the fused scan if\n    - keys ",
        ),
        (LINES, "structs", set(), "declined shared lines, fused lines: events come in pieces"),
        (FUSED, "compressed", set(), None),
    ],
)
def test_the_paths_that_tasks_take(
    df: DataFrame, query: str, output: str, paths: set[str], said: str | None
) -> None:
    """They are those that events take in the matcher of a task, and none of a stream's."""
    options: Any = {"seq": "ts", "slices": [200] if query == FREE else None}
    found = on_spark.explain(query, df, output=output, **options)
    assert {each.name for each in found.plan.physical if each.declined is None} == paths
    assert {each.feed for each in found.plan.physical} <= {Feed.LOADED}
    assert ("\ndriven: " in str(found)) == (said is not None)
    if said is None:
        assert found.to_dict()["plan"]["physical"] == []
        return
    assert said in str(found)
    matcher = Matcher(without_limit(on_spark.replay(query, df, **options).plan)[0])
    matcher.push_ordered(EVENTS)
    assert {use.path for use in matcher.finish().report.fused if use.events} == paths


def test_by_slice_with_a_halo(df: DataFrame) -> None:
    bounds = [100, 200, 300]
    found = on_spark.explain(FREE, df, slices=bounds)
    assert (found.strategy, found.keys, found.whole, found.slices) == ("slice", (), 0, 4)
    assert ("key", "there is no attribute on which all events of a match agree") in found.declined
    # 20 of the 100 rows before each of three bounds, of 400.
    assert found.halo is not None
    assert found.halo.overhead == pytest.approx(0.15)
    assert "halo: about 15 % more rows, by the bounds and the window" in str(found)


def test_the_halo_is_counted(analyzed: on_spark.SparkExplanation) -> None:
    needed = [n for n in range(400) if EVENTS["type"][n].as_py() in "AC"]
    twice = [n for n in needed if any(bound - 20 <= n < bound for bound in (100, 200, 300))]
    assert analyzed.halo is not None
    assert analyzed.halo.shared == len(twice) / len(needed)
    assert analyzed.halo.overhead == pytest.approx(len(twice) / len(needed))


@pytest.mark.parametrize("query", [KEYED, FREE])
def test_what_tasks_count_adds_up(
    df: DataFrame, analyzed: on_spark.SparkExplanation, query: str
) -> None:
    found = analyzed if query == FREE else on_spark.explain(query, df, slices=4, analyze=True)
    counters = {(each.operator, each.counter): each for each in found.counters}
    results = counters["Task", "results"]
    assert results.total == len(sase.match(query, EVENTS)) > 0
    assert results.total / 4 <= results.most <= results.total
    rows = counters["Task", "rows"]
    assert rows.total >= (300 if query == KEYED else 200)
    assert 0 <= rows.part < 4
    assert ("SequenceScan", "events") in counters
    assert "counted in the tasks" in str(found)
    assert "results: " in str(found)


def test_tasks_count_by_branch(df: DataFrame) -> None:
    """The operators of each branch, in the order of the dataflow; of a shared scan once."""
    query = "EVENT SEQ(A a, (B b OR C c)?, C d) WHERE [id] WITHIN 20"
    found = on_spark.explain(query, df, slices=2, analyze=True)
    names = list(dict.fromkeys(each.operator for each in found.counters))
    assert [name for name in names if "Scan" in name] == [
        "SequenceScan of branch 1",
        "SequenceScan of branch 3",
    ]
    assert names[-2:] == ["Union", "Transformation"]
    out = {each.operator: each.total for each in found.counters if each.counter == "out"}
    of_branches = [out[f"Transformation of branch {number}"] for number in (1, 2, 3)]
    assert sum(of_branches) == len(sase.match(query, EVENTS)) > 0
    assert "  SS→ of branch 3\n" in str(found)


def test_the_form_of_the_result(df: DataFrame) -> None:
    series = "EVENT SEQ(A+ a[], C c) WITHIN 20"
    found = on_spark.explain(series, df, slices=[200], output="compressed")
    assert "output compressed: paths through a graph of events are counted" in str(found)
    assert found.places[-1].what.startswith("a graph of events for each of 2 parts")
    with pytest.raises(PlanError, match="is not analyzed"):
        on_spark.explain(series, df, slices=[200], output="count", analyze=True)
    counted = on_spark.explain(KEYED, df, strategy="key", output="count")
    assert "one by one, since events that agree on a key are few" in str(counted)
    (way,) = counted.to_dict()["plan"]["form"]["ways"]
    assert way["method"] == "listed"


def test_limit_is_a_step_of_its_own(df: DataFrame) -> None:
    found = on_spark.explain(f"{KEYED} LIMIT 3", df, seq="ts")
    assert found.places[-1].where == "one Python task"
    assert found.places[-1].what == "takes the first 3 results of all parts"


def test_as_data(analyzed: on_spark.SparkExplanation) -> None:
    document = json.loads(analyzed.to_json())
    assert document == analyzed.to_dict()
    assert document["plan"]["query"] == FREE
    assert document["cut"]["strategy"] == "slice"
    assert document["cut"]["slices"] == 4
    assert document["counters"][0]["operator"] == "Task"


@pytest.mark.parametrize(
    ("slices", "expected"),
    [
        (SlicePlan((10,), (5,), (10,)), None),
        (SlicePlan((10, 20), (5, 15), (10, 20)), 1 / 3),
        (SlicePlan((10, 20), (5, 15), (15, 25)), 2 / 3),
    ],
)
def test_the_estimate_of_a_halo(slices: SlicePlan, expected: float | None) -> None:
    found = estimated(slices)
    assert (None if found is None else found.overhead) == (
        None if expected is None else pytest.approx(expected)
    )


def test_from_the_command_line(spark: SparkSession, program: Program) -> None:
    words = ["explain", "--spark", "-q", KEYED]
    by_key = [*words, "--strategy", "key", "--slices", "2", "--analyze"]
    code, out, _ = program(*by_key, events=EVENTS)
    assert code == 0
    assert "cut by key: the call names it" in out
    assert "rows: 300 (most " in out
    code, out, _ = program(*words, "--format", "json", events=EVENTS)
    assert code == 0
    assert json.loads(out)["plan"]["query"] == KEYED
    ended = program(*words, "--format", "dot", events=EVENTS)
    refused = {
        "--format dot does not go with --spark": ended,
        "give the events once": program(*words),
        "--strategy is for --spark": program("explain", "--strategy", "key", "-q", KEYED),
    }
    for why, (code, _, said) in refused.items():
        assert code == 2
        assert why in said


@pytest.mark.parametrize("recipe", ["optimized", "unfused"])
def test_metrics_are_counted_by_the_paths_of_the_recipe(df: DataFrame, recipe: str) -> None:
    options = on_spark.replay(KEYED, df, plan=recipe).counting_plan.options
    assert (options.analyze, options.fused) == (True, recipe == "optimized")
