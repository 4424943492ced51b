"""`sase.interval`: the times that events may be at, from the known facts of their sources."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import sase
from sase.errors import IntervalWarning, PlanError, SaseError, SchemaError

START = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
EVENTS = pa.table({"ts": [100, 115, 130], "type": ["Load", "Task", "Load"]})


def bounds(table: pa.Table) -> list[tuple[Any, Any]]:
    return list(zip(table["lo"].to_pylist(), table["hi"].to_pylist(), strict=True))


def test_all_events_are_widened_without_a_type() -> None:
    found = sase.interval(EVENTS, before=15, after=1)
    assert bounds(found) == [(85, 101), (100, 116), (115, 131)]
    assert found.column_names == ["ts", "type", "lo", "hi"]
    assert found["lo"].type == found["hi"].type == pa.int64()


def test_each_source_has_its_own() -> None:
    once = sase.interval(EVENTS, before=15, type="Load")
    assert bounds(once) == [(85, 100), (115, 115), (115, 130)]
    twice = sase.interval(once, after=2, type=["Task"])
    assert bounds(twice) == [(85, 100), (115, 117), (115, 130)]


def test_a_type_that_no_event_is_of_is_warned_of() -> None:
    """It widened nothing, and said nothing."""
    with pytest.warns(IntervalWarning, match=" occurred") as told:
        found = sase.interval(EVENTS, before=15, type=["Task", "Lod", "Nothing like it"])
    assert bounds(found) == [(100, 100), (100, 115), (130, 130)]
    assert [str(each.message) for each in told] == [
        "no event of type `Lod` occurred; did you mean `Load`?",
        "no event of type `Nothing like it` occurred",
    ]
    assert {each.filename for each in told} == {__file__}


@pytest.mark.filterwarnings("error")
def test_no_events_are_not_warned_of() -> None:
    assert len(sase.interval(EVENTS.slice(0, 0), before=15, type="Load")) == 0


@pytest.mark.parametrize("given", ["15s", "0.25 minutes", dt.timedelta(seconds=15)])
@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_timestamps(given: object, unit: str) -> None:
    times = pa.array([START, None], pa.timestamp(unit, "UTC"))
    found = sase.interval(pa.table({"ts": times}), before=given)
    assert bounds(found) == [(START - dt.timedelta(seconds=15), START), (None, None)]
    assert found["lo"].type == times.type


def test_dates_floats_and_integers_with_a_unit() -> None:
    days = sase.interval([{"day": START.date()}], "day", after="36 hours")
    assert bounds(days) == [(START.date(), START.date() + dt.timedelta(days=2))]
    seconds = sase.interval([{"ts": 0.3}], before="100 ms")
    assert bounds(seconds) == [(0.2, 0.3)]
    ticks = sase.interval([{"ts": 7}], before="2 seconds", time_unit="ms", columns=("from", "to"))
    assert ticks.to_pylist() == [{"ts": 7, "from": -1993, "to": 7}]


def test_times_stop_at_the_ends_of_64_bits() -> None:
    """The greatest number ends no interval."""
    least, most = -(2**63), 2**63 - 2
    found = sase.interval([{"ts": least + 1}, {"ts": most - 1}], before=5, after=5)
    assert bounds(found) == [(least, least + 6), (most - 6, most)]
    whole = sase.interval([{"ts": least}], after=2**62, time="ts")
    assert bounds(whole) == [(least, least + 2**62)]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"before": -1}, PlanError, "less than nothing"),
        ({"after": "-1 s"}, PlanError, "less than nothing"),
        ({"before": 1.5}, PlanError, "no amount of time"),
        ({"before": "soon"}, PlanError, "no amount of time"),
        ({"after": "1 s"}, PlanError, 'time_unit="ms"'),
        ({"after": "1 fortnight"}, SaseError, "fortnight"),
        ({"time": "tz"}, SchemaError, "no time column `tz`"),
        ({"time": "type"}, SchemaError, "type"),
        ({"type": "Load", "type_column": "kind"}, SchemaError, "no type column `kind`"),
        ({"columns": ("lo", "lo")}, PlanError, "two names"),
    ],
)
def test_what_is_an_error(options: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        sase.interval(EVENTS, **options)


def test_a_plain_number_counts_no_timestamps() -> None:
    with pytest.raises(PlanError, match=r"before=5 counts integer times.*5 seconds"):
        sase.interval([{"ts": START}], before=5)


def twice_encoded(column: pa.Array) -> pa.Array:
    """Texts in run ends within a dictionary, others in a dictionary."""
    if not pa.types.is_string(column.type):
        return pc.dictionary_encode(column)
    indexes = pa.array(range(len(column)), pa.int8())
    return pa.DictionaryArray.from_arrays(indexes, pc.run_end_encode(column))


@pytest.mark.parametrize("encode", [pc.dictionary_encode, pc.run_end_encode, twice_encoded])
@pytest.mark.parametrize(
    "times",
    [
        pa.array([0, 1], pa.timestamp("ms", "Europe/Berlin")),
        pa.array([0.5, 1]),
        pa.array([dt.date(2024, 1, 1), dt.date(2024, 1, 2)]),
    ],
)
def test_encoded_columns_are_widened_as_plain_ones(encode: Any, times: pa.Array) -> None:
    plain = pa.table({"ts": times, "type": pa.array(["A", "B"]), "lo": times})
    coded = pa.table([encode(each.chunk(0)) for each in plain.columns], names=plain.column_names)
    wanted, made = (sase.interval(each, before="2 days", type="A") for each in (plain, coded))
    assert made.select(["lo", "hi"]) == wanted.select(["lo", "hi"])
    assert wanted["lo"] != wanted["hi"]
