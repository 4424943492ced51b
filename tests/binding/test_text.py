"""Values as text, which reads as it was written."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sase.binding import Schema, bind_text
from sase.binding.bound import Constant
from sase.binding.types import INTERVAL, TIMESTAMP, DataType, Kind
from sase.binding.values.text import condition_text, value_text

COLUMNS = (("ts", DataType(Kind.TIMESTAMP, "ns")),)


def value(text: str) -> Constant:
    columns = bind_text(f"EVENT A a RETURN {text} AS v", Schema(columns=COLUMNS)).columns
    assert columns is not None
    (column,) = columns
    assert isinstance(column.value, Constant)
    return column.value


@pytest.mark.parametrize(
    "text",
    [
        "5 minutes",
        "1 day",
        "-1 hour",
        "1500 milliseconds",
        "2 weeks",
        "0 seconds",
        "TIMESTAMP '2026-01-31 23:59:59.25'",
        "TIMESTAMP '0900-01-01 00:00:00'",
        "TIMESTAMP '1969-12-31 23:59:59.999999999'",
    ],
)
def test_times_are_written_as_in_a_query(text: str) -> None:
    assert value_text(value(text), {}) == text


@pytest.mark.parametrize("unit", ["s", "ms", "us"])
@pytest.mark.parametrize("text", ["500 milliseconds", "2 minutes", "1 second"])
def test_intervals_on_numbers_of_time_are_written_as_such(text: str, unit: str) -> None:
    """Though they are compared as numbers, of raw units."""
    columns = (("ts", DataType(Kind.INTEGER)),)
    schema = Schema(columns=columns, time_unit=unit)
    bound = bind_text(f"EVENT SEQ(A a, B b) WHERE b.ts - a.ts < {text}", schema)
    (conjunct,) = bound.conjuncts
    written = condition_text(conjunct.condition, {0: "a", 1: "b"})
    assert written == f"b.ts - a.ts < {text}"


@given(st.integers(-(2**62), 2**62))
def test_an_interval_is_read_again(nanoseconds: int) -> None:
    given = Constant(INTERVAL, nanoseconds)
    assert value(value_text(given, {})).value == nanoseconds


@given(st.datetimes(), st.integers(0, 999))
def test_a_point_in_time_is_read_again(moment: datetime, rest: int) -> None:
    nanoseconds = (moment - datetime(1970, 1, 1)) // timedelta(microseconds=1) * 1000 + rest  # noqa: DTZ001 - without a zone
    given = Constant(TIMESTAMP, nanoseconds)
    assert value(value_text(given, {})).value == nanoseconds


def test_what_no_calendar_shows_is_its_nanoseconds() -> None:
    assert value_text(Constant(TIMESTAMP, 10**25), {}) == str(10**25)
