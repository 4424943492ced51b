"""Scripts on Spark over imprecise time: the matches and confidences of one process."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import sase
from sase import spark as on_spark
from sase.errors import DataError, PlanError, ReplayWarning
from sase.spark.script_cut import script_cuts
from tests.spark.cases import multiset
from tests.spark.known import frame
from tests.spark.test_imprecise import TABLE, TIME
from tests.spark.test_streaming import pieces, ran, session, streamed, write

__all__ = ["session"]

LONGEST = 5
KEYED = """EVENT SEQ(A a, B+ b[], C c) WHERE [id] AND b[i].v >= b[i-1].v WITHIN 9;
           CREATE STREAM pairs AS EVENT SEQ(A a, !(C n), B b) WHERE [id] WITHIN 6
             RETURN Pair(a.id AS who, confidence AS sure);
           FROM pairs EVENT SEQ(Pair p, Pair q) WHERE [who] AND p.sure < q.sure WITHIN 5"""
TIMED = """CREATE STREAM pairs AS EVENT SEQ(!(C m), A a, B b, !(C n)) WHERE a.v <= b.v WITHIN 4
             RETURN Pair(a.v AS v, confidence AS sure);
           FROM pairs EVENT SEQ(Pair p, Pair q) WHERE p.sure < q.sure WITHIN 3"""
# The time of a composite event of a single event is its `hi`, which may be far behind its `lo`.
SINGLE = """CREATE STREAM found AS EVENT A a WHERE a.v > 0;
            FROM found EVENT SEQ(found x, found y) WITHIN 3"""
BESIDE = """EVENT SEQ(A a, B b) WHERE a.v < b.v WITHIN 4 WITH CONFIDENCE >= 0.3;
            EVENT C c WHERE c.v = 1"""
TWO = """FROM one, two EVENT SEQ(A a, B b, C c) WHERE [id] WITHIN 9
           RETURN a.n AS a, b.n AS b, c.n AS c, confidence AS sure"""


def told(found: Any) -> Any:
    return {name: multiset(each) for name, each in found.items()}


def alone(text: str, **options: Any) -> Any:
    found = sase.Script(text, TABLE.schema, **options).run(TABLE)
    return told({name: each.to_pylist() for name, each in found.items()})


def on_df(text: str, df: Any, **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ReplayWarning)
        found = on_spark.script(text, df, **options)
    results = {name: each.toArrow().to_pylist() for name, each in found.items()}
    found.unpersist()
    return told(results)


@pytest.mark.parametrize(
    "text", [TIMED, *(pytest.param(t, marks=pytest.mark.heavy) for t in (KEYED, SINGLE, BESIDE))]
)
def test_spark_finds_what_one_process_finds(spark: SparkSession, text: str) -> None:
    wanted = alone(text, time=TIME)
    assert all(wanted.values())
    assert on_df(text, frame(spark, TABLE), time=TIME, longest=LONGEST) == wanted


@pytest.mark.parametrize(
    ("text", "longest", "cut"),
    [
        (KEYED, None, [("id", None)]),
        (TIMED, LONGEST, [(None, 2 * 4 + 2 * LONGEST + 3)]),
        (TIMED, None, [(None, None)]),
        (SINGLE, LONGEST, [(None, LONGEST + 3)]),
        (BESIDE, LONGEST, [(None, 4 + 2 * LONGEST)]),
    ],
)
def test_slices_look_back_by_windows_and_intervals(
    text: str, longest: int | None, cut: list[tuple[str | None, int | None]]
) -> None:
    script = sase.Script(text, TABLE.schema, time=TIME, longest=longest)
    queries = {name: each.bound for name, each in script._compiled.bound.queries.items()}
    cuts = script_cuts(script._compiled.plan.statements, queries)
    assert [(each.key, each.halo) for each in cuts] == cut
    if cut == [(None, None)]:
        assert "say with  longest=…" in cuts[0].reason


@pytest.mark.heavy
def test_without_a_longest_interval_one_task_searches(spark: SparkSession) -> None:
    with pytest.warns(ReplayWarning, match="say with  longest=…"):
        found = on_spark.script(TIMED, frame(spark, TABLE), time=TIME)
    results = {name: each.toArrow().to_pylist() for name, each in found.items()}
    assert told(results) == alone(TIMED, time=TIME)


@pytest.mark.heavy
def test_several_inputs_of_which_one_is_precise(spark: SparkSession) -> None:
    even = [row["n"] % 2 == 0 for row in TABLE.to_pylist()]
    one, two = TABLE.filter(even), TABLE.filter([not each for each in even])
    two = two.drop_columns(["lo"]).rename_columns(
        ["ts" if name == "hi" else name for name in two.column_names if name != "lo"]
    )
    options: dict[str, Any] = {"time": {"one": TIME, "two": "ts"}}
    streams = {"one": one, "two": two}
    found = sase.Script(TWO, streams=streams, **options).run(streams=streams)
    wanted = told({name: each.to_pylist() for name, each in found.items()})
    assert all(wanted.values())
    given = {name: frame(spark, table) for name, table in streams.items()}
    assert on_df(TWO, given, **options) == wanted


@pytest.mark.heavy
def test_events_that_nothing_orders_are_an_error_where_it_matters(spark: SparkSession) -> None:
    twice = frame(spark, pa.concat_tables([TABLE, TABLE.slice(0, 1)]))
    with pytest.raises((DataError, PySparkException), match="of imprecise time both times the"):
        on_df(TIMED, twice, time=TIME, longest=LONGEST)
    with pytest.raises(PlanError, match="seq="):
        on_df(SINGLE, twice, time="lo")


@pytest.mark.heavy
def test_a_longer_interval_is_a_bad_row(spark: SparkSession) -> None:
    row = {**TABLE.slice(0, 1).to_pylist()[0], "lo": 3, "hi": 3 + LONGEST + 1, "n": -1}
    df = frame(spark, pa.concat_tables([TABLE, pa.Table.from_pylist([row], TABLE.schema)]))
    options: dict[str, Any] = {"time": TIME, "longest": LONGEST}
    assert on_df(BESIDE, df, on_bad_row="quarantine", **options) == alone(BESIDE, time=TIME)
    found = on_spark.script(BESIDE, df, on_bad_row="quarantine", **options)
    bad = found.bad_rows[None].select("n", "sase_column").toArrow().to_pylist()
    assert bad == [{"n": -1, "sase_column": "hi"}]
    with pytest.raises((DataError, PySparkException), match="it is more than 5 after `lo`"):
        on_df(BESIDE, df, **options)


@pytest.mark.heavy
@pytest.mark.filterwarnings("ignore::sase.errors.ReplayWarning")
def test_a_stream(session: SparkSession, tmp_path: Path) -> None:
    """The watermark is on `lo`, and each result comes once, over two runs of the queries."""
    end = {"lo": 10**6, "hi": 10**6, "type": "Z", "id": None, "v": None, "n": 10**6}
    table = pa.concat_tables([TABLE.sort_by("n"), pa.Table.from_pylist([end], TABLE.schema)])
    options: dict[str, Any] = {"time": TIME, "time_unit": "ms", "longest": LONGEST}
    parts = pieces(table, 3)
    for number, some in enumerate((parts[:1], parts[1:])):
        write(tmp_path / "in", some, number)
        df = streamed(session, tmp_path / "in")
        found = on_spark.script(KEYED, df, lateness="9 milliseconds", buckets=2, **options)
        ran(found["query_3"], tmp_path)
    results = session.read.parquet(str(tmp_path / "found")).toArrow().to_pylist()
    wanted = alone(KEYED, time=TIME, time_unit="ms")["query_3"]
    assert multiset(results) == wanted != multiset([])
