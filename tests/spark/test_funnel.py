"""A funnel on Spark is that of one process."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import sase
from sase import spark as on_spark
from sase.errors import PlanError
from tests.drawing.draw import Draw
from tests.spark.known import frame

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


def test_a_funnel_of_a_frame(spark: SparkSession) -> None:
    draw = Draw(5)
    ticks = sorted(draw.randrange(300) for _ in range(120))
    events = pa.table({
        "ts": pa.array([BEGIN + timedelta(minutes=n) for n in ticks], pa.timestamp("us", "UTC")),
        "type": [draw.choice("AABBCX") for _ in ticks],
        "user": [{"id": draw.one_of(*range(9), None)} for _ in ticks],
        "seq": range(len(ticks)),
    })  # fmt: skip
    options = {
        "by": "user.id", "within": "2 hours", "without": "X", "seq": "seq",
        "strategies": "skip_till_next_match",
    }  # fmt: skip
    local = sase.funnel(events, ["A", "B"], **options)
    assert [each.keys for each in local.steps] == sorted({each.keys for each in local.steps})[::-1]
    assert on_spark.funnel(frame(spark, events), ["A", "B"], **options) == local
    with pytest.raises(PlanError, match="by='usr'"):
        on_spark.funnel(frame(spark, events), ["A", "B"], by="usr")
