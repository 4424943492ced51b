"""Patterns in SQL: the table function gives the matches of the local engine."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StringType
from pyspark.sql.udtf import AnalyzeArgument

import sase
from sase import spark as on_spark
from sase.errors import DataError, PlanError, SaseError
from sase.spark import table_function
from sase.spark.tasks.errors import translated_errors
from tests.spark.cases import multiset
from tests.spark.known import frame

BEGIN = datetime.fromisoformat("2026-03-28T20:00:00+00:00")
EVENTS = pa.table(
    {
        "ts": pa.array(
            [BEGIN + timedelta(minutes=7 * n, microseconds=n) for n in range(120)],
            pa.timestamp("us", "UTC"),
        ),
        "type": ["A", "B", "C", "X"] * 30,
        "id": [None if n == 50 else n * 7 // 5 % 4 for n in range(120)],
        "v": [(n * 37 % 11) / 4 for n in range(120)],
        "d": [Decimal(n) / 8 for n in range(120)],
        "n": pa.array([BEGIN.replace(tzinfo=None) + timedelta(hours=n) for n in range(120)]),
        "seq": range(120),
    }
)


@pytest.fixture(scope="module", autouse=True)
def _registered(spark: SparkSession) -> None:
    frame(spark, EVENTS).createOrReplaceTempView("events")
    on_spark.register(spark)


@pytest.fixture(autouse=True)
def _in_utc(spark: SparkSession) -> Iterator[None]:
    yield
    spark.conf.set("spark.sql.session.timeZone", "UTC")


def found(spark: SparkSession, query: str, rest: str = "") -> Any:
    text = query.replace("'", "\\'")
    rows = spark.sql(f"SELECT * FROM sase_match(TABLE(events), '{text}'{rest})")
    return multiset(rows.toArrow().to_pylist())


QUERIES = [
    "EVENT SEQ(A a, !(B b), C c) WHERE [id] WITHIN 3 hours",
    "EVENT SEQ(A a, C c) WHERE [id] AND a.v < c.v WITHIN 5 hours RETURN a.id, c.ts - a.ts AS took",
    "EVENT SEQ(A a, C c) WHERE a.v < c.v AND c.type != 'Y' WITHIN 1 hour",
    "EVENT SEQ(A a, C c, !(B b)) WHERE [v] WITHIN 2 days",
    "EVENT A a WHERE a.d > 7 RETURN a.d, a.n, a.ts",
    "EVENT SEQ(A a, (B b OR X+ x[])?, C c) WHERE [id] AND b.v <= c.v WITHIN 3 hours",
    "EVENT (SEQ(A a, !(SEQ(B b, B x)), X d, C? c))+ g[] WHERE b.v > a.v WITHIN 90 minutes",
]


@pytest.mark.parametrize(
    ("query", "zone"),
    # The clocks of Berlin change meanwhile. Tests below have the other queries.
    [
        *((QUERIES[number], "UTC") for number in (0, 5, 6)),
        *((QUERIES[number], "Europe/Berlin") for number in (1, 4)),
    ],
)
def test_the_local_answer(spark: SparkSession, query: str, zone: str) -> None:
    spark.conf.set("spark.sql.session.timeZone", zone)
    local = sase.match(query, EVENTS).to_pylist()
    assert len(local) > 0
    assert found(spark, query) == multiset(local)


def test_parts_of_times_are_those_of_the_zone_of_the_session(spark: SparkSession) -> None:
    zone = "Europe/Berlin"
    spark.conf.set("spark.sql.session.timeZone", zone)
    query = (
        "EVENT SEQ(A a, C c) WHERE [id] AND time_of_day(a.ts) < TIME '20:30' WITHIN 5 hours"
        " RETURN CASE WHEN hour(c.ts) < 9 THEN day(c.ts) ELSE 0 END AS d, hour(a.ts) AS h,"
        " a.ts AT TIME ZONE 'Asia/Kathmandu' AS t, date_trunc('week', c.ts) AS w, a.v > 1 AS b"
    )
    place = EVENTS.schema.get_field_index("ts")
    moments = EVENTS["ts"].cast(pa.timestamp("us", zone))
    local = sase.match(query, EVENTS.set_column(place, "ts", moments)).to_pylist()
    assert {each["d"] for each in local} > {0}
    rows = on_spark.match(query, spark.table("events")).toArrow().to_pylist()
    assert multiset(rows) == multiset(local)
    # The function of SQL does not know the session: its times are in UTC.
    assert found(spark, query) == multiset(sase.match(query, EVENTS).to_pylist())


def test_rows_are_searched_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_function, "BLOCK", 3)
    # Of the same moment are 8 events, so that one is in several blocks.
    ts = EVENTS["ts"].cast(pa.int64()).to_numpy() // 3_600_000_000
    table = EVENTS.select(["ts", "type", "id"]).set_column(0, "ts", pa.array(ts))
    query = "EVENT SEQ(A a, !(B b), C c) WHERE [id] WITHIN 3"
    plan = table_function.planned(
        AnalyzeArgument(from_arrow_schema(table.schema), None, True, False),
        AnalyzeArgument(StringType(), query, False, True),
        {},
        4,
    )
    assert [each.alias for each in plan.select] == table.column_names
    matching, rows = table_function._Matching(plan), list[Any]()
    for row in table.to_pylist():
        rows += matching.eval(tuple(row.values()), query)
    assert rows  # before the end
    rows += matching.terminate()
    local = sase.match(query, table).to_pylist()
    assert multiset(dict(zip(local[0], row, strict=True)) for row in rows) == multiset(local)


@pytest.mark.parametrize(
    "query", [f"{QUERIES[0]} LIMIT 5", "EVENT SEQ(A a, C c) WHERE [id] WITHIN 20 EVENTS"]
)
def test_what_depends_on_the_order(spark: SparkSession, query: str) -> None:
    local = sase.match(query, EVENTS, seq="seq").to_pylist()
    assert found(spark, query, ", seq => 'seq'") == multiset(local)


def test_matches_that_do_not_overlap(spark: SparkSession) -> None:
    rest = ", seq => 'seq', output => 'non_overlap'"
    for query in (QUERIES[1], QUERIES[3]):
        local = sase.match(query, EVENTS, seq="seq", output="non_overlap").to_pylist()
        assert found(spark, query, rest) == multiset(local)


def test_named_arguments(spark: SparkSession) -> None:
    rows = spark.sql(
        "SELECT count(*) FROM sase_match(events => TABLE(SELECT ts AS at, id, v FROM events),"
        " query => 'EVENT SEQ(Low a, High b) WHERE [id] WITHIN 2 hours', time => 'at',"
        " type => NULL, types => map('Low', 'v < :least', 'High', 'v >= :least'),"
        " params => map('least', 1.5D), plan => 'basic')"
    )
    table = EVENTS.select(["ts", "id", "v"]).rename_columns(["at", "id", "v"])
    local = sase.match(
        "EVENT SEQ(Low a, High b) WHERE [id] WITHIN 2 hours", table, time="at", type=None,
        types={"Low": "v < :least", "High": "v >= :least"}, params={"least": 1.5},
    )  # fmt: skip
    assert rows.first()[0] == len(local) > 0


def test_results_join_and_filter(spark: SparkSession) -> None:
    row = spark.sql(
        f"SELECT count(*) FROM sase_match(TABLE(SELECT * FROM events WHERE v > 1), '{QUERIES[0]}')"
        " m JOIN events e ON m.c.seq = e.seq WHERE m.a.id = 1"
    ).first()
    kept = EVENTS.filter(pa.compute.greater(EVENTS["v"], 1))
    local = [each for each in sase.match(QUERIES[0], kept) if each["a"]["id"] == 1]
    assert row[0] == len(local) > 0


def test_rows_go_to_the_part_of_their_key(spark: SparkSession) -> None:
    parts = spark.sql(f"EXPLAIN SELECT * FROM sase_match(TABLE(events), '{QUERIES[0]}')").first()[0]
    assert "pmod(xxhash64(id" in parts
    alone = spark.sql(f"EXPLAIN SELECT * FROM sase_match(TABLE(events), '{QUERIES[4]}')").first()[0]
    assert "SinglePartition" in alone


# Each starts a process of Python: two are enough where the suite is run often.
WRONG = [
    ("TABLE(events), 'EVENT A a', speed => 1", PlanError, "has no argument `speed`"),
    ("TABLE(events), 'EVENT A a LIMIT 1'", PlanError, "LIMIT takes the first results"),
    ("TABLE(events), 'EVENT A a', seq => '#row'", PlanError, "that Spark reads have no order"),
    ("TABLE(events), 7", PlanError, "the query is a text"),
    ("TABLE(events), 'EVENT A a', output => 'count'", PlanError, "output='count': it is \"all\""),
    ("TABLE(events), 'EVENT A a', output => 'non_overlap'", PlanError, "the first of matches"),
]


@pytest.mark.parametrize(
    ("call", "kind", "outcome"),
    [
        ("TABLE(events), 'EVENT SEQ(A a'", SaseError, "error["),
        ("TABLE(events), 'EVENT A a WHERE a.x = 1'", SaseError, "no column `x`"),
        *(pytest.param(*values, marks=pytest.mark.heavy) for values in WRONG),
    ],
)
def test_what_is_wrong_is_said_before_any_job(
    spark: SparkSession, call: str, kind: type[Exception], outcome: str
) -> None:
    with pytest.raises(kind) as caught, translated_errors():
        spark.sql(f"SELECT * FROM sase_match({call})")
    assert outcome in str(caught.value)
    assert "Traceback" not in str(caught.value)
    with pytest.raises(AnalysisException) as given:
        spark.sql(f"SELECT * FROM sase_match({call})")
    assert "Traceback" not in str(given.value)


def test_a_bad_row_is_an_error(spark: SparkSession) -> None:
    spark.sql("SELECT * FROM events UNION ALL SELECT NULL, 'A', 1, 1, 1, NULL, 120").createTempView(
        "bad"
    )
    df = spark.sql(f"SELECT * FROM sase_match(TABLE(bad), '{QUERIES[0]}')")
    with pytest.raises(DataError, match="a row is bad, {'ts': None"), translated_errors():
        df.collect()
    with pytest.raises(DataError, match="a row is bad, {'ts': None"):
        on_spark.match(QUERIES[0], spark.table("bad"), output="count")
    for found in (df, on_spark.match(QUERIES[0], spark.table("bad"))):
        with pytest.raises(PySparkException, match="a row is bad, {'ts': None") as caught:
            found.collect()
        assert "Traceback" not in str(caught.value)


def test_a_pattern_transforms_a_data_frame(spark: SparkSession) -> None:
    rows = spark.table("events").transform(on_spark.pattern(QUERIES[0], slices=3)).toArrow()
    assert multiset(rows.to_pylist()) == multiset(sase.match(QUERIES[0], EVENTS).to_pylist())


def test_a_result_under_a_name(spark: SparkSession) -> None:
    on_spark.match(QUERIES[2], spark.table("events")).createOrReplaceTempView("found")
    count = spark.sql("SELECT count(*) FROM found").first()[0]
    assert count == len(sase.match(QUERIES[2], EVENTS))
