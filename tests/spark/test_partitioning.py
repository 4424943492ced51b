"""Hot keys: who they are, and when they are looked for."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

import sase
import sase.spark
from sase.planning.replay import ReplayStrategy
from sase.planning.statistics import AttributeStatistics, Statistics, TypeStatistics
from tests.spark.known import frame

QUERY = "EVENT SEQ(A a, B b) WHERE [id] WITHIN 15"
# Every second event has the key 0; of C, which the query does not name, all have the key 1.
ROWS = [
    {"ts": number, "type": "AB"[number // 2 % 2], "id": 0 if number % 2 else 100 + number}
    for number in range(60)
] + [{"ts": number, "type": "C", "id": 1} for number in range(60)]


@pytest.fixture(scope="module")
def events(spark: SparkSession) -> DataFrame:
    return frame(spark, pa.Table.from_pylist(ROWS))


def statistics(agreement: float, distinct: int) -> Statistics:
    known = AttributeStatistics("id", distinct=distinct, agreement=agreement)
    return Statistics(120, types=(TypeStatistics("A", 30, (known,)), TypeStatistics("B", 30)))


def test_a_key_is_hot_that_holds_more_than_its_share_of_what_is_searched(
    events: DataFrame,
) -> None:
    """Its matches are those of one machine."""
    replay = sase.spark.replay(QUERY, events, strategy="key_and_slice", slices=4)
    assert len(replay.cut.hot) == 1
    assert "1 key holds more than a task should" in replay.cut.notes[0]
    assert replay.cut.parts > replay.cut.whole == 4
    local = sase.match(QUERY, pa.Table.from_pylist(ROWS)).to_pylist()
    assert sorted(map(str, replay.matches.toArrow().to_pylist())) == sorted(map(str, local))
    assert len(local) > 20


def test_without_a_hot_key_all_go_by_key(events: DataFrame) -> None:
    even = events.filter("id > 99")
    replay = sase.spark.replay(QUERY, even, strategy="key_and_slice", slices=4)
    assert (replay.cut.hot, replay.cut.slices, replay.cut.parts) == ((), None, 4)


@pytest.mark.parametrize(
    ("stats", "strategy"),
    [
        (None, ReplayStrategy.KEY),
        (statistics(agreement=0.3, distinct=40), ReplayStrategy.KEY_AND_SLICE),
        (statistics(agreement=1 / 40, distinct=40), ReplayStrategy.KEY),  # even
        (statistics(agreement=0.0001, distinct=100_000), ReplayStrategy.KEY),  # none can be hot
    ],
)
def test_hot_keys_are_looked_for_where_statistics_say_that_keys_are_uneven(
    events: DataFrame, stats: Statistics | None, strategy: ReplayStrategy
) -> None:
    assert sase.spark.replay(QUERY, events, slices=4, stats=stats).cut.choice.strategy is strategy


def test_a_type_without_the_key_that_goes_by_type(spark: SparkSession) -> None:
    """A DataFrame of a type that the query does not name has no attribute of an inferred key."""
    df = {
        "A": spark.createDataFrame([(1, 5)], "ts long, x long"),
        "B": spark.createDataFrame([(2, 5), (3, 6)], "ts long, y long"),
        "C": spark.createDataFrame([(2, 9)], "ts long, z long"),
    }
    replay = sase.spark.replay("EVENT SEQ(A a, B b) WHERE a.x = b.y", df)
    assert replay.cut.choice.strategy == ReplayStrategy.KEY
    assert [(row.a.x, row.b.y) for row in replay.matches.collect()] == [(5, 5)]
