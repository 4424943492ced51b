"""Failures, and their messages."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession, functions

import sase
from sase import spark as on_spark
from sase.engine.pipeline.limits import SECOND, Limits
from sase.errors import DataError, PlanError, SaseError, SchemaError, TimeLimitError
from sase.spark.non_overlap import NonOverlap
from sase.spark.replay import OUTPUTS
from sase.spark.tasks.limit import First
from sase.spark.tasks.task import Task
from tests.spark.known import BY_KEY, COUNTED, events, frame

# ---------------------------------------------------------------- before any job


WRONG = {
    "syntax": ("EVENT SEQ(A a, B b", {}, sase.QueryError),
    "an unknown column": ("EVENT A a WHERE a.w = 1", {}, sase.QueryError),
    "a window of a unit": ("EVENT SEQ(A a, B b) WITHIN 3 hours", {}, SaseError),
    "no such time": ("EVENT A a", {"time": "when"}, SaseError),
    "no such strategy": ("EVENT A a", {"strategy": "keys"}, PlanError),
    "a strategy that cannot be": ("EVENT SEQ(A a, B b)", {"strategy": "slice"}, PlanError),
    "order unknown": ("EVENT SEQ(A a, B b) WITHIN 5 EVENTS", {"seq": None}, PlanError),
    "the order of runs": (
        "EVENT SEQ(A a, B+ b[]) WHERE skip_till_next_match WITHIN 5",
        {"seq": None},
        PlanError,
    ),
    "the row as seq": ("EVENT SEQ(A a, B b)", {"seq": "#row"}, PlanError),
    "an output": ("EVENT A a", {"output": "rows"}, SaseError),
    "no slice": ("EVENT SEQ(A a, B b) WITHIN 5", {"slices": 0}, PlanError),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_wrong_with_a_query_is_said_before_any_job(spark: SparkSession, wrong: str) -> None:
    query, keywords, error = WRONG[wrong]
    spark.sparkContext.setJobGroup(f"wrong: {wrong}", wrong)
    df = frame(spark, events(10))
    with pytest.raises(error):
        on_spark.match(query, df, **{"seq": "seq", **keywords})
    assert not spark.sparkContext.statusTracker().getJobIdsForGroup(f"wrong: {wrong}")


def test_a_column_that_arrow_cannot_have_is_refused(spark: SparkSession) -> None:
    df = spark.sql("SELECT 1 AS ts, 'A' AS type, INTERVAL '1' MONTH AS v")
    with pytest.raises(SchemaError, match=r"Spark cannot hand `v`"):
        on_spark.match("EVENT A a", df)


def test_times_that_are_text_are_refused_with_a_remedy_that_works(spark: SparkSession) -> None:
    rows = [("02.03.2026 09:00", "A"), ("02.03.2026 10:00", "B")]
    df = spark.createDataFrame(rows, ["logged at", "type"])
    query = "EVENT SEQ(A a, B b) WITHIN 2 hours"
    with pytest.raises(SchemaError, match="the time column `logged at`.* is text") as caught:
        on_spark.match(query, df, time="logged at")
    call = str(caught.value).split("  ")[1]
    df = eval(call, {"df": df, "to_timestamp": functions.to_timestamp})
    assert on_spark.match(query, df, time="logged at").count() == 1


# ---------------------------------------------------------------- in a task

BAD = {
    "ts": {"ts": None, "type": "A", "seq": 77, "id": 1, "v": 1},
    "type": {"ts": 5, "type": None, "seq": 77, "id": 1, "v": 1},
    "seq": {"ts": 5, "type": "A", "seq": None, "id": 77, "v": 1},
}


@pytest.mark.parametrize(
    ("strategy", "column"),
    [("slice", "ts"), ("key_and_slice", "seq"), ("one_task", "type")],
)
def test_a_bad_row_is_named(spark: SparkSession, strategy: str, column: str) -> None:
    good = events(300)
    df = frame(spark, pa.concat_tables([good, pa.Table.from_pylist([BAD[column]], good.schema)]))
    found = on_spark.match(BY_KEY, df, seq="seq", strategy=strategy, slices=[50, 100])
    with pytest.raises(PySparkException) as caught:
        found.toArrow()
    message = str(caught.value)
    assert DataError.__name__ in message and "a row is bad" in message
    assert "77" in message and f"`{column}`" in message
    assert "\tat org.apache" not in message


def test_of_a_row_of_several_types_the_type_is_named(spark: SparkSession) -> None:
    tables = {
        "A": pa.table(
            {"ts": [1, None], "v": [1, 77]}, pa.schema([("ts", pa.int64()), ("v", pa.int64())])
        ),
        "B": pa.table({"ts": [2, 3], "w": [1, 2]}),
    }
    df = {name: spark.createDataFrame(table) for name, table in tables.items()}
    with pytest.raises(PySparkException, match=r"A\{'ts': None, 'v': 77\}"):
        on_spark.match("EVENT SEQ(A a, B b) WITHIN 5", df).toArrow()


def test_rows_without_seq_in_quarantine_are_in_no_order(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Also where tasks read files, and find the bad rows among the others themselves."""
    good = events(400)
    bad = [{**row, "seq": None} for row in good.to_pylist()[100:300:7] for _ in range(2)]
    table = pa.concat_tables([good, pa.Table.from_pylist(bad, good.schema)]).sort_by("ts")
    path = str(tmp_path / "events.parquet")
    pyarrow.parquet.write_table(table, path, row_group_size=50)
    query = "EVENT SEQ(A a, B b) WHERE strict_contiguity { a.v < b.v } WITHIN 20"
    keywords = {"seq": "seq", "on_bad_row": "quarantine"}
    local = sase.match(query, table, **keywords)
    df = spark.read.parquet(path)
    replay = on_spark.replay(query, df, strategy="files", slices=3, **keywords)
    assert replay.bad_rows.count() == local.report.bad == len(bad)
    assert replay.matches.count() == replay.count() == len(local) > 5


def test_two_events_whose_order_decides_are_named(spark: SparkSession) -> None:
    good = events(40)
    twice = [
        {"ts": 9, "type": kind, "seq": 500, "id": 1, "v": v} for kind, v in (("A", 2), ("B", 7))
    ]
    df = frame(spark, pa.concat_tables([good, pa.Table.from_pylist(twice, good.schema)]))
    with pytest.raises(PySparkException, match=r"two events are equal.*'seq': 500.*'seq': 500"):
        on_spark.match(COUNTED, df, seq="seq", slices=[4, 9]).toArrow()


# ---------------------------------------------------------------- limits of tasks


@pytest.mark.parametrize("output", ["structs", "compressed", "count"])
def test_a_task_that_takes_too_long_is_ended(spark: SparkSession, output: str) -> None:
    df = frame(spark, events(300))
    said = {"seq": "seq", "output": output, "slices": 2}
    with pytest.raises(Exception, match="the task takes longer than its timeout of 1e-06 s") as by:
        found = on_spark.match(BY_KEY, df, timeout=0.000001, **said)
        found.toArrow()
    assert isinstance(by.value, PySparkException if output != "count" else TimeLimitError)


def test_tasks_within_their_limits_find_all(spark: SparkSession) -> None:
    table = events(300)
    options = {"seq": "seq", "output": "non_overlap", "slices": 2}
    limits = {"timeout": "5 min", "max_memory": "2 GB"}
    found = on_spark.replay(BY_KEY, frame(spark, table), **options, **limits)
    assert found.count() == len(sase.match(BY_KEY, table, seq="seq", output="non_overlap")) > 0


def test_tasks_of_each_output_have_the_limits(spark: SparkSession) -> None:
    df, limits = frame(spark, events(300)), {"timeout": "5 min", "max_memory": "2 GB"}
    with patch.object(import_module("sase.spark.job"), "Task", wraps=Task) as task:
        for output in OUTPUTS:
            options = {"seq": "seq", "output": output, "slices": 2}
            on_spark.replay(BY_KEY, df, **options, **limits).searched  # noqa: B018 - the test is of reading it
    wanted = Limits(time=300 * SECOND, memory=2 * 10**9)
    assert [call.args[-1] for call in task.call_args_list] == [wanted] * len(OUTPUTS)


def test_the_second_step_has_the_limits_of_tasks(spark: SparkSession) -> None:
    df, limits = frame(spark, events(300)), Limits(time=300 * SECOND)
    said = {"seq": "seq", "timeout": "5 min"}
    with patch("sase.spark.tasks.limit.First", wraps=First) as first:
        on_spark.match(BY_KEY, df, limit=5, **said)
    with patch("sase.spark.non_overlap.NonOverlap", wraps=NonOverlap) as apart:
        on_spark.match(COUNTED, df, output="non_overlap", slices=[4, 9], **said)
        on_spark.replay(COUNTED, df, output="non_overlap", slices=[4, 9], **said).tallies  # noqa: B018 - the test is of reading it
    calls = first.call_args_list + apart.call_args_list
    assert [call.args[-1] for call in calls] == [limits] * 3
    some = pa.record_batch({"x": [1]})
    for step in (First(1, Limits(time=1)), NonOverlap(("x",), limits=Limits(time=1))):
        with pytest.raises(TimeLimitError, match="the task takes longer than its timeout of 1e-09"):
            list(step([some, some]))


def test_an_explanation_has_limits_where_it_runs_tasks(spark: SparkSession) -> None:
    df = frame(spark, events(300))
    with pytest.raises(PlanError, match="timeout: without analyze=True no task runs"):
        on_spark.explain(BY_KEY, df, timeout=5)
    with pytest.raises(PySparkException, match="the task takes longer than its timeout of 1e-06 s"):
        on_spark.explain(BY_KEY, df, analyze=True, timeout=0.000001)
