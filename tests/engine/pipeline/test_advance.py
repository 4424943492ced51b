"""The forms of a time for advance, and the meaning of each."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import sase
from sase.engine.pipeline.matcher import Matcher
from sase.errors import DataError

QUERY = "EVENT SEQ(A a, !(B b)) WITHIN 10 seconds"
RAW = "EVENT SEQ(A a, !(B b)) WITHIN 10"
CET = timezone(timedelta(hours=1))
# The same moment, ten seconds after the event.
DUE: list[Any] = [
    datetime.fromisoformat("2026-01-05T00:00:10"),
    datetime(2026, 1, 5, 1, 0, 10, tzinfo=CET),
    np.datetime64("2026-01-05T00:00:10"),
    np.datetime64("2026-01-05T00:00:10.000000000"),
    pd.Timestamp("2026-01-05 00:00:10"),
    pd.Timestamp("2026-01-05 01:00:10", tz=CET),
    pa.scalar(datetime.fromisoformat("2026-01-05T00:00:10"), pa.timestamp("ms")),
    "2026-01-05T00:00:10",
    "2026-01-05 00:00:10Z",
    "2026-01-05T01:00:10+01:00",
]
ORDERS = [date(2026, 1, 6), np.datetime64("2026-02"), np.datetime64("2026-01-06"), "2026-01-06"]
ORDERS += [pa.scalar(date(2026, 1, 6), kind) for kind in (pa.date32(), pa.date64())]


def of(kind: pa.DataType, query: str = QUERY, first: Any = None, **options: Any) -> Matcher:
    """A matcher that has taken an A, of which it waits to know that no B follows."""
    schema = pa.schema([("ts", kind), ("type", pa.string())])
    matcher = sase.compile(query, schema, **options).open()
    first = datetime(2026, 1, 5) if first is None else first  # noqa: DTZ001 - without a zone
    matcher.push(pa.table({"ts": [first], "type": ["A"]}, schema))
    return matcher


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("to", DUE, ids=repr)
def test_moments_of_every_kind(to: Any, unit: str) -> None:
    matcher = of(pa.timestamp(unit))
    assert len(matcher.advance("2026-01-05T00:00:09")) == 0
    assert len(matcher.advance(to)) == 1


@pytest.mark.parametrize("to", ORDERS, ids=repr)
def test_days_and_months(to: Any) -> None:
    assert len(of(pa.timestamp("us")).advance(to)) == 1
    assert len(of(pa.date32(), "EVENT SEQ(A a, !(B b)) WITHIN 1 day").advance(to)) == 1


def test_what_is_finer_than_the_column_is_rounded_down_and_else_exact() -> None:
    last = "2026-01-05T00:00:09.999999999"
    for to in (last, np.datetime64(last), pd.Timestamp(last)):
        assert len(of(pa.timestamp("s")).advance(to)) == 0
        matcher = of(pa.timestamp("ns"), "EVENT SEQ(A a, !(B b)) WITHIN 9999999999 ns")
        assert len(matcher.advance("2026-01-05T00:00:09.999999998")) == 0
        assert len(matcher.advance(to)) == 1


@pytest.mark.parametrize(
    "to", [11.0, np.float64(11), pa.scalar(11.0), 11_000_000, np.int32(11_000_000)], ids=repr
)
def test_floats_are_seconds_and_integers_microseconds_as_results_have_them(to: Any) -> None:
    matcher = of(pa.float64(), first=1.0)
    assert len(matcher.advance(10.999999)) == 0
    assert len(matcher.advance(to)) == 1


def test_floats_are_seconds_also_where_only_events_say_that_time_is_in_floats() -> None:
    plan = sase.compile("EVENT SEQ(A a, A b)", sase.Schema())
    matcher = plan.open()
    with pytest.raises(DataError, match="11.5 is no time .* compile the query with the schema"):
        matcher.advance(11.5)
    matcher.push([{"ts": 1.5, "type": "A"}])
    matcher = plan.restore(matcher.snapshot())
    matcher.advance(11)
    matcher.advance(11.5)
    matcher.push([{"ts": ts, "type": "A"} for ts in (11.25, 11.5)])
    assert matcher.late["ts"].to_pylist() == [11.25]
    assert matcher.advance(10**9).report.late == 1


@pytest.mark.parametrize("to", [2**63 - 1, 2**63, 2**70, -(2**70)])
@pytest.mark.parametrize("options", [{}, {"lateness": 3}], ids=["", "late"])
def test_times_beyond_64_bits_are_the_last_ones(to: int, options: dict[str, Any]) -> None:
    matcher = of(pa.int64(), RAW, 1, **options)
    assert len(matcher.advance(to)) == (to > 0)
    matcher = sase.compile(
        RAW, pa.schema([("ts", pa.int64()), ("type", pa.string())]), **options
    ).open()
    matcher.advance(to)
    matcher.snapshot()
    matcher.push([{"ts": 5, "type": "A"}])
    assert matcher.late.num_rows == (to > 0)
    assert len(matcher.finish()) == (to < 0)


def test_endless_seconds_and_years_are_the_last_times() -> None:
    assert len(of(pa.float64(), first=1.0).advance(float("inf"))) == 1
    assert len(of(pa.timestamp("ns")).advance(datetime.max.replace(tzinfo=UTC))) == 1


@pytest.mark.parametrize(
    ("kind", "first", "to", "message"),
    [
        (pa.int64(), 1, 11.5, "`ts` counts in integers: give one"),
        (pa.int64(), 1, "2026-01-05", "`ts` counts in integers: give one"),
        (pa.int64(), 1, True, "`ts` counts in integers: give one"),
        (pa.int64(), 1, None, "`ts` counts in integers: give one"),
        (pa.float64(), 1.0, datetime(2026, 1, 5), "holds seconds as floats: give a float"),  # noqa: DTZ001 - without a zone
        (pa.float64(), 1.0, float("nan"), "nan is no time"),
        (pa.timestamp("us"), None, "tomorrow", "'tomorrow' is .* `ts` holds times: give a"),
        (pa.timestamp("us"), None, 1.5, "or its raw units as an integer"),
        (pa.timestamp("us"), None, pd.NaT, "NaT is no time"),
        (pa.timestamp("us"), None, np.datetime64("NaT"), "NaT.* is no time"),
        (pa.timestamp("us"), None, pa.scalar(None, pa.timestamp("us")), "None.* is no time"),
        (pa.timestamp("us"), None, pa.scalar(timedelta(1)), "is no time"),
        (pa.timestamp("us"), None, timedelta(1), "is no time"),
    ],
)  # fmt: skip
def test_what_is_no_time_is_refused_and_changes_nothing(
    kind: pa.DataType, first: Any, to: Any, message: str
) -> None:
    query = RAW if kind == pa.int64() else QUERY
    matcher = of(kind, query, first)
    with pytest.raises(DataError, match=message):
        matcher.advance(to)
    assert len(matcher.finish()) == 1
