"""Matches that do not overlap: those of one process, by tasks alone and by a second step."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

import sase
from sase import spark as on_spark
from sase.engine.pipeline.matcher import Matcher
from sase.errors import DataError, PlanError
from sase.lang.parser import parse_query
from sase.spark.tasks.result_order import partitions_of
from tests.drawing.queries import Query
from tests.spark.by_hand import ByHand, check_tasks, tasks_of
from tests.spark.cases import Case, Manner, Row, cases, expected, manners, multiset
from tests.spark.known import BY_KEY, BY_SLICE, COUNTED, events, frame, local, rows_of
from tests.spark.routes import check
from tests.spark.tied import A, B, both_ways, few_rows, patterns, rows_of_keys

ONE, REPEATABLE = settings().max_examples, settings().derandomize
MANY = settings(
    max_examples=max(ONE // (6 if REPEATABLE else 2), 1),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
FEW = settings(MANY, max_examples=max(ONE // 8, 1))
apart = manners.map(
    lambda manner: replace(manner, output="non_overlap", flat=manner.output == "flat")
)
# By these, by one written test or none, and by inferred ones.
ALONE = "EVENT SEQ(A a, B b) WHERE a.id = b.id AND a.v = 2 AND b.v = 3"
STRICT = "EVENT SEQ(A a, B b) WHERE strict_contiguity {[id]} WITHIN 9"
POSTPONED = "EVENT SEQ(A a, B b, !(C x)) WHERE [id] AND x.v > b.v WITHIN 12"
SERIES = "EVENT SEQ(A+ a[], B b) WHERE [id] AND b.v > 6 WITHIN 9 RETURN a.len AS n, b.seq"


@MANY
@given(cases(apart), st.integers(0, 2**32))
def test_tasks_and_a_second_step_take_what_one_process_takes(case: Case, seed: int) -> None:
    if not isinstance(case.local, sase.Matches) or case.on_bad_row == "quarantine":
        return
    case = replace(case, manner=replace(case.manner, flat=False))
    for two_steps in (False, True, True):
        _, found = ByHand(case, Random(seed), two_steps).found()
        assert multiset(found) == expected(case)
        seed += 1


@pytest.mark.heavy
@MANY
@given(cases(apart, repeats=2), st.integers(0, 2**32))
def test_events_in_no_order_are_an_error_or_do_not_matter(case: Case, seed: int) -> None:
    if not isinstance(case.local, sase.Matches) or case.on_bad_row == "quarantine":
        return
    if parse_query(case.query).limit is not None:
        return
    case = replace(case, manner=replace(case.manner, flat=False))
    for two_steps in (False, True, True):
        seed += 1
        found = ByHand(case, Random(seed), two_steps).decided()
        assert found is None or multiset(found) == expected(case)


@MANY
@given(
    st.builds(
        lambda components, tests: Query.of(components, tests=tests, window="2"),
        patterns,
        st.sampled_from([("[id]",), ()]),
    ),
    few_rows,
    st.integers(0, 2**32),
)
@example(
    Query.of((A, B), window="2"),
    rows_of_keys((0, "A", 1, 0), (0, "A", 2, 1), (1, "B", 1, 0), (1, "B", 2, 0)),
    0,
)
def test_of_tied_events_none_is_just_taken(query: Query, rows: list[Row], seed: int) -> None:
    if not query.tests and A in query.components:
        query = replace(query, conditions=("a.id = b.id",))  # a key, but no partition
    one, other = both_ways(query, rows, Manner(output="non_overlap"))
    for two_steps in (False, *[True] * 4):
        seed += 1
        found = ByHand(one, Random(seed), two_steps).decided()
        assert found is None or multiset(found) == expected(one) == expected(other)


@pytest.mark.heavy
@FEW
@given(case=cases(apart))
def test_spark_takes_what_one_process_takes(spark: SparkSession, case: Case) -> None:
    check(spark, case)


# ---------------------------------------------------------------- by each strategy


@pytest.mark.parametrize(
    ("query", "strategy"),
    [
        *((BY_KEY, each) for each in ("key", "key_and_slice", "one_task")),
        *((each, "slice") for each in (BY_SLICE, COUNTED, STRICT)),
        *((each, "key") for each in (POSTPONED, ALONE)),
        *((f"{BY_KEY} LIMIT 9", each) for each in ("key", "slice")),
    ],
)
def test_tasks_by_each_strategy(query: str, strategy: str) -> None:
    check_tasks(query, events(200), strategy, "non_overlap", seq="seq")


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("query", "strategy", "is_second"),
    [
        (BY_KEY, "one_task", False),
        (SERIES, "files", True),
        (POSTPONED, "key", True),
        (f"{BY_KEY} LIMIT 9", "key", False),
        (f"{BY_KEY} LIMIT 9", "slice", True),
    ],
)
def test_by_each_strategy(
    query: str, strategy: str, *, is_second: bool, spark: SparkSession, tmp_path: Path
) -> None:
    table = events(800)
    df = frame(spark, table)
    if strategy == "files":
        path = str(tmp_path / "events.parquet")
        pyarrow.parquet.write_table(table, path, row_group_size=100)
        df = spark.read.parquet(path)
    replay = on_spark.replay(
        query, df, seq="seq", strategy=strategy, slices=3, output="non_overlap"
    )
    wanted = local(query, table, output="non_overlap")
    assert (replay.non_overlapping is not None) == is_second
    assert replay.count() == sum(wanted.values()) > 0
    assert multiset(rows_of(replay.matches)) == wanted
    counted = {(row["operator"], row["counter"]): row["value"] for row in rows_of(replay.metrics())}
    assert counted["Task", "rows"] > 0


def test_keys_that_are_written_are_enough(spark: SparkSession) -> None:
    query = "EVENT SEQ(A a, B b) WHERE [id] AND a.v = b.v WITHIN 20"
    df = frame(spark, events(300))
    assert on_spark.explain(query, df).keys == ("id", "v")
    replay = on_spark.replay(query, df, seq="seq", output="non_overlap")
    assert [test.attribute for test in replay.cut.keys] == ["id"]
    assert replay.non_overlapping is None
    assert multiset(rows_of(replay.matches)) == local(query, events(300), output="non_overlap")


# ---------------------------------------------------------------- keys and ties


def partitions(query: str, table: pa.Table) -> list[str]:
    """The partitions of the matches as texts."""
    plan = sase.compile(query, table)
    made = Matcher(plan.engine).push(table)
    tests = sase.compile(query, table, output="non_overlap").engine.returned.non_overlapping
    assert tests is not None
    return [text for part in made.parts for text in partitions_of(part, tests).to_pylist()]


def test_values_of_several_tests_are_not_run_together() -> None:
    known = {"ts": [1, 2], "type": ["A", "A"], "id": ["as", "a"], "k": ["b", "sb"]}
    one, other = partitions("EVENT A a WHERE [id, k]", pa.table(known))
    assert one != other


def test_equal_keys_are_the_same_text() -> None:
    for value in (7, 2**53, -3, 0):
        kinds = [pa.int64(), pa.float64(), pa.decimal128(20, 2), pa.decimal128(18, 0)]
        tables = [
            pa.table({"ts": [1], "type": ["A"], "id": pa.array([value], kind)}) for kind in kinds
        ]
        (text,) = {text for table in tables for text in partitions("EVENT A a WHERE [id]", table)}
        assert str(value) in text


KEYS: list[tuple[pa.DataType, pa.DataType]] = [
    (pa.int64(), pa.float64()),
    (pa.int32(), pa.decimal128(12, 2)),
    (pa.float32(), pa.int64()),
    (pa.string(), pa.string()),
]


@pytest.mark.parametrize(("first", "second"), KEYS)
def test_keys_of_several_types(first: pa.DataType, second: pa.DataType) -> None:
    table = events(150)
    tables = {
        name: table.filter(pa.compute.equal(table["type"], name)).drop_columns(["type"])
        for name in "AB"
    }
    for name, kind in zip("AB", (first, second), strict=True):
        keys = pa.array(
            [None if k is None else k * 100 for k in tables[name]["id"].to_pylist()], pa.int32()
        )
        tables[name] = tables[name].set_column(2, "id", keys.cast(kind))
    query = "EVENT SEQ(A a, B b) WHERE [id] WITHIN 20"
    check_tasks(query, tables, "slice", "non_overlap", seq="seq")


def row(ts: int, kind: str, seq: int, key: int | None) -> Row:
    return {"ts": ts, "type": kind, "seq": seq, "id": key}


def table_of(*rows: Row) -> pa.Table:
    return pa.Table.from_pylist([*rows])


WRITTEN = "EVENT SEQ(A a, B b) WHERE [id] WITHIN 9"
INFERRED = "EVENT SEQ(A a, B b) WHERE a.id = b.id WITHIN 9"
FREE = "EVENT SEQ(A a, B b) WITHIN 9"
SIMULTANEOUS = table_of(row(1, "A", 1, 1), row(1, "A", 2, 2), row(2, "B", 3, 1), row(2, "B", 3, 2))


@pytest.mark.parametrize(
    ("query", "strategy", "is_decided"),
    [
        (WRITTEN, "key", True),
        (WRITTEN, "slice", True),
        (WRITTEN, "one_task", True),
        (INFERRED, "key", False),
        (INFERRED, "slice", False),
        (FREE, "slice", False),
        (FREE, "one_task", False),
    ],
)
def test_events_that_are_equal_in_time_and_seq(
    query: str, strategy: str, *, is_decided: bool
) -> None:
    if is_decided:
        check_tasks(query, SIMULTANEOUS, strategy, "non_overlap", seq="seq")
        assert len(sase.match(query, SIMULTANEOUS, seq="seq", output="non_overlap")) == 2
        return
    for tasks in tasks_of(query, SIMULTANEOUS, strategy, "non_overlap", seq="seq"):
        with pytest.raises(DataError) as caught:
            tasks.found()
        outcome = str(caught.value)
        assert "equal in" in outcome
        assert "'seq': 3, 'id': 1}" in outcome
        assert "'seq': 3, 'id': 2}" in outcome


def test_rows_that_no_match_can_have_are_not_looked_at() -> None:
    more = [row(3, "C", 1, 1), row(3, "C", 1, 1), row(4, "B", 1, None), row(4, "B", 1, None)]
    table = table_of(*SIMULTANEOUS.to_pylist(), *more)
    for strategy in ("key", "slice", "one_task"):
        check_tasks(WRITTEN, table, strategy, "non_overlap", seq="seq")


END = 2**63 - 1
AT_THE_END = table_of(*(row(END - 39 + 2 * n, "A" if n % 3 else "B", n, 1) for n in range(20)))
KNOWN_AT_THE_END = "EVENT SEQ(A a, B b, !(C x)) WHERE [id] WITHIN 12"


@pytest.mark.parametrize("output", ["all", "non_overlap"])
@pytest.mark.parametrize("limit", ["", " LIMIT 3"])
def test_what_is_known_at_the_end_of_time_only(limit: str, output: str) -> None:
    """One slice owns it, as the order of its last events decides."""
    check_tasks(f"{KNOWN_AT_THE_END}{limit}", AT_THE_END, "slice", output, seq="seq")


def test_files_are_cut_at_the_end_of_time(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "events.parquet")
    pyarrow.parquet.write_table(AT_THE_END, path, row_group_size=1)
    wanted = sase.match(KNOWN_AT_THE_END, AT_THE_END, seq="seq").to_pylist()
    df = spark.read.parquet(path)
    found = on_spark.match(KNOWN_AT_THE_END, df, strategy="files", slices=7, seq="seq")
    assert multiset(rows_of(found)) == multiset(wanted) != multiset([])


# ---------------------------------------------------------------- messages


def test_forms(spark: SparkSession) -> None:
    table = events(200)
    df = frame(spark, table)
    flat = on_spark.match(BY_SLICE, df, seq="seq", output="non_overlap", flat=True)
    assert "a_id" in flat.columns
    assert on_spark.match(BY_SLICE, df, flat=True).columns == flat.columns
    with pytest.raises(PlanError, match='flat=True is of matches that are listed, and output="co'):
        on_spark.match(BY_SLICE, df, output="compressed", flat=True)
    with pytest.raises(PlanError, match="non_overlap takes the first of matches in the order"):
        on_spark.match(BY_SLICE, df, output="non_overlap")
    with pytest.raises(PlanError, match="non_overlap takes some of the matches"):
        on_spark.replay(BY_KEY, df, seq="seq", output="non_overlap").compressed  # noqa: B018 - the test is of reading it


def test_explained(spark: SparkSession) -> None:
    df = frame(spark, events(200))
    outcome = str(on_spark.explain(BY_SLICE, df, seq="seq", slices=3, output="non_overlap"))
    assert "non_overlap: of matches that overlap, the first alone" in outcome
    assert "parallel parts: by slices of time" in outcome
    assert "one Python task: takes of all matches the first, and then the first behind" in outcome
    outcome = str(
        on_spark.explain(BY_KEY, df, seq="seq", slices=3, strategy="slice", output="non_overlap")
    )
    assert "Python tasks: take of all matches of the same id the first" in outcome
    outcome = str(on_spark.explain(BY_KEY, df, seq="seq", output="non_overlap"))
    assert "of all matches" not in outcome
