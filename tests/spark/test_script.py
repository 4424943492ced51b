"""Scripts on Spark: the matches of one process, however their inputs are cut."""

from __future__ import annotations

import json
import warnings
from collections import Counter
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

import sase
from sase import spark as on_spark
from sase.cli.main import main
from sase.errors import ReplayWarning
from sase.spark.script_cut import ScriptCut, script_cuts
from tests.spark.cases import multiset
from tests.spark.known import events, frame

KEYED = """EVENT SEQ(A a, !(B x), C c) WHERE [id] AND a.v < c.v WITHIN 60;
           EVENT SEQ(A a, B+ b[], C c) WHERE [id] AND b[i].v = 3 AND a.v = 1 WITHIN 20;
           EVENT SEQ(D a, C b) WHERE [id] AND a.v = 2 AND b.v = 3;
           EVENT D d WHERE d.v = 1"""
CHAIN = """CREATE STREAM pairs AS EVENT SEQ(A a, B b) WHERE [id] AND a.v < b.v WITHIN 9
             RETURN Pair(a.id AS who, b.v - a.v AS step);
           FROM pairs EVENT SEQ(Pair p, Pair q) WHERE [who] AND p.step < q.step WITHIN 12"""
TIMED = """CREATE STREAM pairs AS EVENT SEQ(A a, B b) WHERE a.v = 1 AND b.v > 5 WITHIN 9
             RETURN Pair(b.v AS v);
           CREATE STREAM twice AS FROM pairs EVENT SEQ(Pair p, Pair q) WHERE p.v < q.v WITHIN 12;
           FROM twice EVENT SEQ(twice a, !(twice b)) WHERE a.p_v = 7 WITHIN 15"""
ALONE = """CREATE STREAM pairs AS EVENT SEQ(A a, B b) WHERE a.v = 1 WITHIN 4 EVENTS;
           FROM pairs EVENT SEQ(pairs p, pairs q) WITHIN 5"""
LIMITED = "EVENT SEQ(A a, B b) WHERE [id] WITHIN 20 LIMIT 9; EVENT SEQ(A a, B b) WITHIN 2"


def cuts(text: str) -> list[ScriptCut]:
    """How Spark cuts the events for a script."""
    script = sase.Script(text, events(1).schema, seq="seq")
    queries = {name: each.bound for name, each in script._compiled.bound.queries.items()}
    return script_cuts(script._compiled.plan.statements, queries)


def found_on(
    text: str, df: DataFrame | Mapping[str, DataFrame], **options: Any
) -> dict[str, Counter[str]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ReplayWarning)
        found = on_spark.script(text, df, **options)
    results = {name: multiset(each.toArrow().to_pylist()) for name, each in found.items()}
    found.unpersist()
    return results


@pytest.mark.slow
def test_spark_finds_what_one_process_finds(spark: SparkSession) -> None:
    """By a job for each cut: by a key, by slices of two halos, and in one task."""
    later = TIMED.replace("pairs", "ones")
    text, table = f"{KEYED}; {CHAIN}; {later}; {LIMITED}", events(1500)
    assert [each.key or each.halo for each in cuts(text)] == ["id", 36, None, 2]
    alone = sase.Script(text, table.schema, seq="seq").run(table)
    wanted = {name: multiset(each.to_arrow().to_pylist()) for name, each in alone.items()}
    assert all(wanted.values()), {name: sum(each.values()) for name, each in wanted.items()}
    assert found_on(text, frame(spark, table), seq="seq") == wanted


@pytest.mark.slow
def test_several_inputs_are_read_as_one(spark: SparkSession) -> None:
    text = (
        "FROM one, two EVENT SEQ(A a, B b) WHERE [id] WITHIN 9 RETURN a.seq AS a, b.seq AS b;"
        "FROM two EVENT B b WHERE b.v = 1"
    )
    table = events(600)
    even = [row["seq"] % 2 == 0 for row in table.to_pylist()]
    one, two = table.filter(even), table.filter([not each for each in even])
    streams = {"one": one, "two": two}
    alone = sase.Script(text, streams=streams, seq="seq").run(streams=streams)
    wanted = {name: multiset(each.to_arrow().to_pylist()) for name, each in alone.items()}
    df = frame(spark, table)
    given = {"one": df.where(df.seq % 2 == 0), "two": df.where(df.seq % 2 == 1)}
    assert found_on(text, given, seq="seq") == wanted


@pytest.mark.slow
def test_statements_of_a_job_are_searched_once(spark: SparkSession) -> None:
    """The second result comes from kept rows: no event is read again."""
    read = spark.sparkContext.accumulator(0)

    def counted(rows: Any) -> Any:
        for each in rows:
            read.add(each.num_rows)
            yield each

    df = frame(spark, events(600))
    found = on_spark.script(KEYED, df.mapInArrow(counted, df.schema), seq="seq")
    results = [each.count() for each in found.values()]
    assert all(results)
    assert read.value == 600
    found.unpersist()


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        (KEYED, [(4, "id", None)]),
        (CHAIN, [(2, "id", None)]),
        (TIMED, [(3, None, 36)]),
        (ALONE, [(2, None, None)]),
        (LIMITED, [(1, None, None), (1, None, 2)]),
        (f"{KEYED}; {TIMED}", [(4, "id", None), (3, None, 36)]),
        (CHAIN.replace("a.id AS who", "a.v AS who"), [(2, None, 21)]),
        (CHAIN.replace("[who] AND ", ""), [(2, None, 21)]),
    ],
)
def test_statements_that_may_be_cut_alike_share_a_job(
    text: str, cut: list[tuple[int, str | None, int | None]]
) -> None:
    assert [(len(each.statements), each.key, each.halo) for each in cuts(text)] == cut


def test_what_keeps_statements_in_one_task() -> None:
    assert [each.reason for each in cuts(ALONE)] == [
        "`pairs` has neither a window in time nor the same key as the statements beside it"
    ]
    assert cuts(LIMITED)[0].reason == (
        "`query_1` stops at LIMIT, and only one task knows which results are first"
    )


@pytest.mark.slow
def test_events_that_nothing_orders_are_an_error(spark: SparkSession) -> None:
    df = frame(spark, events(20)).withColumns({"ts": sf.lit(1), "seq": sf.lit(0)})
    found = on_spark.script(CHAIN, df, seq="seq")
    with pytest.raises(Exception, match="two events have the same time and the same number"):
        found["pairs"].collect()


@pytest.mark.slow
def test_what_spark_does_not_take(spark: SparkSession) -> None:
    df = frame(spark, events(10))
    with pytest.raises(sase.PlanError, match="`query_2`: events of several streams"):
        on_spark.script(CHAIN, df)
    with pytest.raises(sase.PlanError, match="name them in  RETURN"):
        on_spark.script("FROM a, b EVENT A x", {"a": df, "b": df}, seq="seq")
    with pytest.raises(sase.PlanError, match="is for streams"):
        on_spark.script(KEYED, df, seq="seq", lateness="5 s")
    stream = spark.readStream.format("rate").load().withColumn("type", sf.lit("A"))
    with pytest.raises(sase.PlanError, match="some of the DataFrames are streams"):
        on_spark.script("FROM a EVENT A x", {"a": stream, "b": df}, time={"a": "timestamp"})


@pytest.mark.slow
def test_a_replay_from_a_terminal(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Files of each statement, of inputs by name; errors before Spark is called."""
    table = events(600)
    pq.write_table(table, tmp_path / "events.parquet")
    (tmp_path / "rules.sase").write_text(f"{CHAIN}; FROM raw EVENT D d WHERE d.v = 1")
    given = ["replay", str(tmp_path / "rules.sase"), "--input", f"raw={tmp_path}/events.parquet"]
    assert main([*given, "--seq", "seq", "-o", str(tmp_path / "found")]) == 0
    assert "matches of 3 statements in 600 rows" in capsys.readouterr().err
    alone = sase.Script((tmp_path / "rules.sase").read_text(), seq="seq").run(
        streams={"raw": table}
    )
    for name, matches in alone.items():
        found = pq.read_table(tmp_path / "found" / f"{name}.parquet")
        assert multiset(found.to_pylist()) == multiset(matches.to_arrow().to_pylist())
    assert main([*given, "--limit", "3"]) == 2
    assert "--limit" in capsys.readouterr().err
    lines = "ts,type,seq\n1,A,1\n,A,2\n5,B,3\n"
    (tmp_path / "bad.csv").write_text(lines)
    words = ["-q", "EVENT A a; EVENT B b", "--events", str(tmp_path / "bad.csv")]
    aside = str(tmp_path / "aside")
    assert main(["replay", *words, "--format", "jsonl", "--quarantine", aside]) == 0
    told = capsys.readouterr()
    assert "1 row could not be used: " in told.err
    (bad,) = map(json.loads, (tmp_path / "aside" / "events.jsonl").read_text().splitlines())
    assert (bad["sase_column"], bad["seq"]) == ("ts", 2)
    assert len(told.out.splitlines()) == 2


@pytest.mark.slow
def test_bad_rows_go_to_quarantine(spark: SparkSession) -> None:
    """A row without a type is bad for all; one that a statement cannot read is so for that one."""
    rows = [
        {"ts": 1, "type": "A", "seq": 1, "v": Decimal(1)},
        {"ts": None, "type": "A", "seq": 2, "v": Decimal(1)},
        {"ts": 2, "type": None, "seq": 3, "v": Decimal(1)},
        {"ts": 3, "type": "A", "seq": 4, "v": Decimal(10**20)},
        {"ts": 4, "type": "B", "seq": 5, "v": Decimal(1)},
    ]
    df = spark.createDataFrame(rows, "ts long, type string, seq long, v decimal(22, 0)")
    text = "EVENT SEQ(A a, B b) WHERE a.v = b.v RETURN a.seq AS a; EVENT A a RETURN a.seq AS a"
    found = on_spark.script(text, df, seq="seq", on_bad_row="quarantine")
    assert [sorted(row["a"] for row in each.collect()) for each in found.values()] == [[1], [1, 4]]
    bad = found.bad_rows[None].collect()
    assert sorted((row["seq"], row["sase_column"]) for row in bad) == [
        (2, "ts"), (3, "type"), (4, "v"),
    ]  # fmt: skip
    found.unpersist()
