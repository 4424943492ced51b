"""Events with two times: described, loaded in the order of (lo, hi, row), judged row by row."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sase
from sase.binding.lateness import with_longest
from sase.engine.columns import describe
from sase.engine.columns.decode import time_column
from sase.errors import DataError, PlanError, SchemaError
from tests.engine.columns.loading import load

DAY = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)


def moments(*seconds: int | None) -> list[dt.datetime | None]:
    return [None if each is None else DAY + dt.timedelta(seconds=each) for each in seconds]


def table(lo: Any, hi: Any) -> pa.Table:
    return pa.table({"lo": lo, "hi": hi, "type": ["A"] * len(lo)})


def loaded(events: Any, on_bad_row: str = "error") -> Any:
    schema = describe(events, time=("lo", "hi"))
    return load(events, schema, ["lo", "hi"], on_bad_row=on_bad_row)


def test_the_order_is_that_of_both_times_and_of_rows() -> None:
    events = loaded(table([3, 1, 1, 3, 1], [4, 9, 2, 3, 2]))
    assert events.order.tolist() == [2, 4, 1, 3, 0]
    assert events.ts.tolist() == [1, 1, 1, 3, 3]
    assert events.until.tolist() == [2, 2, 9, 3, 4]
    assert events.tie is None
    assert events.columns["lo"].values.tolist() == events.ts.tolist()
    assert events.columns["hi"].values.tolist() == events.until.tolist()
    assert events.between(1, 3).until.tolist() == [2, 9]
    assert events.at(np.array([0, 4])).until.tolist() == [2, 4]


def test_times_are_of_the_finer_resolution_of_the_two() -> None:
    lo = pa.array(moments(0, 1), pa.timestamp("s", "UTC"))
    hi = pa.array(moments(1, 1), pa.timestamp("ms", "UTC"))
    events = loaded(table(lo, hi))
    assert (events.until - events.ts).tolist() == [1000, 0]
    assert events.resolution_ns == 10**6


def test_seconds_as_floats_are_microseconds() -> None:
    events = loaded(table([0.5, 1.0], [0.5, 1.25]))
    assert (events.until - events.ts).tolist() == [0, 250_000]


@pytest.mark.parametrize(
    ("lo", "hi", "message"),
    [
        ([1, 5], [2, 4], "row 1.*`?hi`?.*4.*before `lo`"),
        ([1, None], [2, 4], "row 1.*`?lo`?.*needs a time"),
        ([1, 3], [2, None], "row 1.*`?hi`?.*needs a time"),
        ([1, 5], [2, 2**63 - 1], "row 1.*`?hi`?.*greatest number of 64 bits"),
        ([1, -(2**61)], [2, 2**61 + 2**61], "row 1.*`?hi`?.*2\\^62 units or more after `lo`"),
        (moments(0, 2), moments(1, 1), "row 1.*2026-01-01T00:00:01.*before `lo`"),
    ],
)
def test_a_row_without_an_interval_is_bad(lo: Any, hi: Any, message: str) -> None:
    with pytest.raises(DataError, match=f"(?s){message}"):
        loaded(table(lo, hi))


@pytest.fixture
def _in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compare few rows at once."""
    monkeypatch.setattr(time_column, "PIECE", 1)


@pytest.mark.usefixtures("_in_pieces")
@pytest.mark.parametrize(
    ("longest", "lo", "hi", "most"),
    [
        (3, [1, 5], [4, 9], "3"),
        ("2.5 seconds", moments(0, 1), moments(2, 4), "2500 milliseconds"),
        (dt.timedelta(minutes=1), moments(0, 0), moments(60, 61), "1 minute"),
        ("250 milliseconds", [0.5, 1.0], [0.75, 1.2500005], "250 milliseconds"),
    ],
)
def test_a_row_with_a_longer_interval_than_is_said_is_bad(
    longest: object, lo: Any, hi: Any, most: str
) -> None:
    schema = with_longest(describe(table(lo, hi), time=("lo", "hi")), longest)
    message = f"row 1.*`hi`.*more than {most} after `lo`, and longest=… says that none is"
    with pytest.raises(DataError, match=message):
        load(table(lo, hi), schema, ["lo", "hi"])
    events = load(table(lo, hi), schema, ["lo", "hi"], on_bad_row="quarantine")
    assert events.refused is not None
    assert events.refused.rows.tolist() == [1]
    assert len(load(table(lo[:1], hi[:1]), schema, ["lo", "hi"])) == 1


@pytest.mark.parametrize(
    ("longest", "message"),
    [
        (-1, "no interval is shorter than nothing"),
        ("2 seconds", "the unit of time is not known"),
        ("soon", "no amount of time"),
    ],
)
def test_what_is_no_length_of_an_interval(longest: object, message: str) -> None:
    schema = describe(table([1], [2]), time=("lo", "hi"))
    with pytest.raises(PlanError, match=message):
        with_longest(schema, longest)


def test_a_length_is_of_intervals_and_said_once() -> None:
    precise = describe(table([1], [2]), time="lo")
    with pytest.raises(PlanError, match="these events have one time, `lo`"):
        with_longest(precise, 3)
    with pytest.raises(SchemaError, match="longest=3"):
        replace(precise, longest=3)
    said = replace(describe(table([1], [2]), time=("lo", "hi")), longest=3)
    assert with_longest(said, 3) == with_longest(said, None) == said
    with pytest.raises(PlanError, match="differs from the Schema, which has longest=3"):
        with_longest(said, 4)


def test_what_is_nearly_too_long_is_an_interval() -> None:
    events = loaded(table([0, -(2**63), 2**63 - 2], [2**62 - 1, -(2**62) - 1, 2**63 - 2]))
    assert (events.until - events.ts).tolist() == [2**62 - 1, 2**62 - 1, 0]


@pytest.mark.usefixtures("_in_pieces")
def test_bad_rows_go_into_quarantine_with_one_reason() -> None:
    events = loaded(table([5, 1, None, 2, 7], [4, 2, 3, None, 9]), "quarantine")
    assert events.refused.rows.tolist() == [0, 2, 3]
    reasons = [events.refused.reasons[code] for code in events.refused.codes]
    assert [column for column, _ in reasons] == ["hi", "lo", "hi"]
    assert ["before" in why for _, why in reasons] == [True, False, False]
    assert events.order.tolist() == [1, 4]
    assert events.until.tolist() == [2, 9]


def test_times_of_two_kinds_are_an_error() -> None:
    with pytest.raises(SchemaError, match="`lo` and `hi` hold integers and timestamps"):
        describe(table([1], pa.array(moments(1))), time=("lo", "hi"))


def test_a_second_column_that_there_is_not_is_an_error() -> None:
    with pytest.raises(SchemaError, match=r"time column `high`.*did you mean `hi`"):
        describe(table([1], [2]), time=("lo", "high"))


def test_an_input_of_a_script_says_how_long_its_own_intervals_may_be() -> None:
    script = "FROM one EVENT SEQ(A a, A b) WITHIN 9; FROM one, two EVENT SEQ(A a, B b) WITHIN 9"
    options: Any = {"time": {"one": ("lo", "hi"), "two": "ts"}, "longest": {"one": 3}}
    matcher = sase.Script(script, **options).open()
    matcher.push("one", [{"type": "A", "lo": 1, "hi": 4}])
    with pytest.raises(DataError, match="it is more than 3 after `lo`"):
        matcher.push("one", [{"type": "A", "lo": 2, "hi": 6}])
