"""Timestamps of every kind, and several resolutions together."""

from __future__ import annotations

import datetime as dt
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sase.binding import Schema
from sase.binding.types import FLOAT, INTEGER, TIMESTAMP, DataType, Kind
from sase.engine.columns import Events, describe
from sase.engine.columns.decode.time_column import in_range, microseconds
from sase.errors import DataError, SchemaError
from tests.engine.columns.loading import load

SECONDS = st.one_of(
    st.floats(-9.3e12, 9.3e12),
    # Near the ties: halves of microseconds, and the floats around them.
    st.tuples(st.integers(-(2**54), 2**54), st.sampled_from([-1, 0, 1])).map(
        lambda pair: (
            float(np.nextafter(pair[0] / 2e6, pair[1] * np.inf)) if pair[1] else pair[0] / 2e6
        )
    ),
    st.floats(1.7e9, 1.8e9),
)


def times(values: Any, arrow: pa.DataType | None = None, **options: Any) -> Events:
    table = pa.table({"ts": pa.array(values, arrow)})
    return load(table, describe(table, type=None, types="A", **options), [])


@pytest.mark.parametrize(
    "arrow",
    [
        pa.int8(),
        pa.int16(),
        pa.int32(),
        pa.int64(),
        pa.uint8(),
        pa.uint16(),
        pa.uint32(),
        pa.uint64(),
    ],
)
def test_integers(arrow: pa.DataType) -> None:
    found = times([1, 2, 100], arrow)
    assert found.ts.tolist() == [1, 2, 100]
    assert found.ts.dtype == np.int64
    assert found.resolution_ns is None
    assert times([1], arrow, time_unit="ms").resolution_ns == 1_000_000


@pytest.mark.parametrize(("unit", "size"), [("s", 10**9), ("ms", 10**6), ("us", 1000), ("ns", 1)])
@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
def test_timestamps(unit: str, size: int, zone: str | None) -> None:
    """Zoned ones are instants, which is how Arrow keeps them."""
    found = times([5, 6], pa.timestamp(unit, zone))
    assert (found.ts.tolist(), found.resolution_ns) == ([5, 6], size)


@pytest.mark.parametrize("arrow", [pa.date32(), pa.date64()])
def test_dates(arrow: pa.DataType) -> None:
    found = times([dt.date(1969, 12, 31), dt.date(1970, 1, 2)], arrow)
    assert (found.ts.tolist(), found.resolution_ns) == ([-1, 1], 86_400 * 10**9)


def test_floats_are_seconds() -> None:
    found = times([0.5, 1.25])
    assert (found.ts.tolist(), found.resolution_ns) == ([500_000, 1_250_000], 1000)
    assert times([0.5], pa.float32()).ts.tolist() == [500_000]


@given(st.lists(SECONDS))
def test_floats_are_rounded_by_their_exact_value(seconds: list[float]) -> None:
    """Half-even, as Python rounds a fraction."""
    array = np.array(seconds, np.float64)
    good = array[in_range(array)]
    assert microseconds(good).tolist() == [round(Fraction(x) * 10**6) for x in good.tolist()]


def test_a_float_that_a_product_would_round_wrongly() -> None:
    """The product alone falls on a half, or off one."""
    wrong = [
        x / 2e6
        for x in range(1, 20_001, 2)
        if round(x / 2e6 * 1e6) != round(Fraction(x / 2e6) * 10**6)
    ]
    assert wrong
    exact = [round(Fraction(x) * 10**6) for x in wrong]
    assert microseconds(np.array(wrong)).tolist() == exact


def test_rows_with_dates_and_moments() -> None:
    """A date beside moments is the moment it begins with; Arrow alone would cut the others."""
    rows = [
        {"ts": dt.date(1970, 1, 2), "type": "A"},
        {"ts": dt.datetime(1970, 1, 1, 0, 0, 1), "type": "B"},  # noqa: DTZ001 - without a zone
    ]
    for given_rows in (rows, rows[::-1]):
        found = load(given_rows, describe(given_rows), [])
        assert found.ts.tolist() == [1_000_000, 86_400_000_000]
        assert found.resolution_ns == 1000


def table(values: Any, arrow: pa.DataType | None = None) -> pa.Table:
    return pa.table({"ts": pa.array(values, arrow)})


def test_several_resolutions_are_brought_to_the_finest() -> None:
    events = {
        "A": table([1], pa.timestamp("s")),
        "B": table([1500], pa.timestamp("ms", "UTC")),
        "C": table([dt.date(1970, 1, 2)]),
    }
    schema = describe(events)
    assert schema.time_type == DataType(Kind.TIMESTAMP, "ms")
    found = load(events, schema, [])
    assert found.ts.tolist() == [1000, 1500, 86_400_000]
    assert found.resolution_ns == schema.nanoseconds == 10**6


def test_a_time_that_does_not_fit_the_finest_is_refused() -> None:
    events = {"A": table([1, 2**62], pa.timestamp("s")), "B": table([1], pa.timestamp("ns"))}
    with pytest.raises(DataError, match=r"row 1 \(from 0\) of `A`: `ts` is 4611686018427387904: "):
        load(events, describe(events), [])
    events["A"] = table([-(2**62)], pa.timestamp("s"))
    with pytest.raises(DataError, match="does not fit beside"):
        load(events, describe(events), [])


@pytest.mark.parametrize(
    ("first", "second", "held"),
    [
        (table([1]), table([1], pa.timestamp("s")), "integers and timestamps"),
        (table([1]), table([1.0]), "floats and integers"),
        (table([1.0]), table([1], pa.date32()), "floats and timestamps"),
    ],
)
def test_kinds_of_time_are_not_mixed(first: pa.Table, second: pa.Table, held: str) -> None:
    with pytest.raises(SchemaError, match=f"holds {held}, which count differently"):
        describe({"A": first, "B": second})


MILLISECONDS = DataType(Kind.TIMESTAMP, "ms")


@pytest.mark.parametrize(
    ("compiled", "given_times", "expected"),
    [
        (MILLISECONDS, table([1], pa.timestamp("s")), [1000]),
        (TIMESTAMP, table([1], pa.timestamp("s")), [1]),
        (MILLISECONDS, table([1], pa.timestamp("us")), None),
        (MILLISECONDS, table([1]), None),
        (INTEGER, table([1], pa.timestamp("s")), None),
        (INTEGER, table([1.0]), None),
        (FLOAT, table([1.0]), [1_000_000]),
        (FLOAT, table([1]), None),
    ],
)
def test_times_are_those_for_which_the_query_was_compiled(
    compiled: DataType, given_times: pa.Table, expected: list[int] | None
) -> None:
    """Coarser ones are brought to its unit; in any other its windows would be wrong."""
    schema = Schema(columns=(("ts", compiled),), definitions=(("A", "TRUE"),), type=None)
    if expected is None:
        with pytest.raises(SchemaError, match="the query was compiled for times of the type"):
            load(given_times, schema, [], classify=lambda events: (events.types, ("A",)))
    else:
        found = load(given_times, schema, [], classify=lambda events: (events.types, ("A",)))
        assert found.ts.tolist() == expected
