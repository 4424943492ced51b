"""Parts of times in the zone of their column, and AT TIME ZONE."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random

import numpy as np
import pyarrow as pa
import pytest

import sase
from sase.base.time_zones import changes, offset_at
from sase.lang.parser import parse_query
from tests import naive
from tests.seeds import draw_numbers, share

# Zones with odd offsets, changes at midnight, changes of the standard time, and none.
ZONES = [
    "Europe/Berlin", "America/New_York", "America/Sao_Paulo", "Asia/Kathmandu", "Asia/Gaza",
    "Australia/Lord_Howe", "Pacific/Apia", "Africa/Casablanca", "Antarctica/Troll", "UTC", "+05:30",
]  # fmt: skip
PARTS = ["year", "quarter", "month", "week", "day", "weekday", "hour", "minute", "second"]
UNITS = ["year", "quarter", "month", "week", "day", "hour", "minute", "second"]
SPAN = range(-2_200_000_000, 7_000_000_000)  # seconds of the years 1900 to 2191


def moments(random: Random, zone: str, count: int) -> list[datetime]:
    """Moments, mostly near a change of the zone's offset, with all digits of a unit."""
    near = [each.second for each in changes(zone) if each.second in SPAN] or [0]
    seconds = [
        random.choice(near) + random.randint(-100_000, 100_000)
        if random.random() < 0.7
        else random.choice(SPAN)
        for _ in range(count)
    ]
    microseconds = [random.choice((0, 1, 999_999)) for _ in seconds]
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    return [
        epoch + timedelta(seconds=whole, microseconds=rest)
        for whole, rest in zip(seconds, microseconds, strict=True)
    ]


def table(times: list[datetime], zone: str, unit: str) -> pa.Table:
    given = pa.array(times, pa.timestamp("us", "UTC")).cast(pa.timestamp(unit, zone), safe=False)
    return pa.table({"ts": range(len(times)), "type": ["A"] * len(times), "t": given})


@pytest.mark.random
@pytest.mark.parametrize("number", draw_numbers(share(30)))
def test_functions_of_times_are_those_of_the_naive_matcher(number: int) -> None:
    random = Random(number)
    own, other = random.choice(ZONES), random.choice(ZONES)
    times = moments(random, random.choice((own, other)), 60)
    events = table(times, own, random.choice(("s", "ms", "us")))
    part, unit = random.choice(PARTS), random.choice(UNITS)
    clock = f"TIME '{random.randrange(24):02}:{random.randrange(60):02}'"
    query = f"""EVENT A x WHERE time_of_day(x.t) {random.choice(("<", ">="))} {clock}
      OR {part}(x.t AT TIME ZONE '{other}') % 2 = 0
      RETURN {part}(x.t) AS p, date_trunc('{unit}', x.t) AS q, x.t AT TIME ZONE '{other}' AS r,
        date_trunc('{unit}', x.t AT TIME ZONE '{other}') AS s, time_of_day(x.t) AS u"""
    expected = [each.values for each in naive.match(parse_query(query), events.to_pylist())]
    found = [
        # Python finds no time equal that clocks of its zone show twice.
        {**{name: row[name] for name in "prsu"}, "q": row["q"].astimezone(UTC)}
        for row in sase.match(query, events).to_pylist()
    ]
    assert found == expected


@pytest.mark.parametrize("zone", [each for each in ZONES if each != "+05:30"])
def test_every_change_of_an_offset_is_known(zone: str) -> None:
    """Hour by hour in years of many changes, and at random."""
    from zoneinfo import ZoneInfo

    own, epoch, random = ZoneInfo(zone), datetime(1970, 1, 1, tzinfo=UTC), Random(7)
    some = [random.randrange(-1_000_000, 3_500_000) for _ in range(1_000)]
    hours = [*range(-300_000, -250_000, 29), *range(330_000, 500_000, 29), *some]
    times = ((epoch + timedelta(hours=hour)).astimezone(own) for hour in hours)
    expected = [(time.replace(tzinfo=UTC) - time) // timedelta(seconds=1) for time in times]
    begins, offsets = np.array(changes(zone)).T
    seconds = np.array(hours) * 3600
    assert offsets[np.searchsorted(begins, seconds, "right") - 1].tolist() == expected
    assert [offset_at(zone, hour * 3600) for hour in some] == expected[-len(some) :]


def test_constants_are_folded_alike() -> None:
    query = """EVENT A x RETURN TIMESTAMP '2024-03-31T01:30:00Z' AT TIME ZONE 'Europe/Berlin' AS p,
      hour(TIMESTAMP '2024-03-31T01:30:00Z' AT TIME ZONE :zone) AS q"""
    (row,) = sase.match(query, [{"ts": 1, "type": "A"}], params={"zone": "-03:00"}).to_pylist()
    assert (row["p"], row["q"]) == (datetime(2024, 3, 31, 3, 30), 22)


def test_a_plan_without_types_must_know_the_zone() -> None:
    query = "EVENT A x WHERE hour(x.t) = 2 RETURN x.t"
    plan = sase.compile(query, sase.Schema())
    times = [datetime(2024, 6, 1, each, tzinfo=UTC) for each in range(4)]
    assert len(plan.run(table(times, "UTC", "us"))) == 1
    with pytest.raises(sase.SchemaError, match="has the time zone Asia/Kathmandu, which `hour`"):
        plan.run(table(times, "Asia/Kathmandu", "us"))
    explicit = "EVENT A x WHERE hour(x.t AT TIME ZONE 'Asia/Kathmandu') = 6 RETURN x.t"
    plan = sase.compile(explicit, sase.Schema())
    assert len(plan.run(table(times, "Europe/Berlin", "us"))) == 1
    naive_times = pa.table({"ts": [1], "type": ["A"], "t": pa.array([datetime(2024, 1, 1)])})
    with pytest.raises(sase.SchemaError, match="`x.t` has no time zone: `AT TIME ZONE` does"):
        plan.run(naive_times)


def one(zone: str | None, value: int = 0, unit: str = "s") -> pa.Table:
    return pa.table({"ts": [1], "type": ["A"], "t": pa.array([value], pa.timestamp(unit, zone))})


OF_COLUMN = "EVENT A x RETURN hour(x.t) AS h, date_trunc('day', x.t) AS d"


def test_a_plan_is_for_the_zone_that_it_was_compiled_for() -> None:
    plan = sase.compile(OF_COLUMN, one("Europe/Berlin").schema)
    (row,) = plan.run(one("Europe/Berlin")).to_pylist()
    assert (row["h"], row["d"].astimezone(UTC)) == (1, datetime(1969, 12, 31, 23, tzinfo=UTC))
    for other in ("Asia/Kathmandu", "UTC"):
        with pytest.raises(sase.SchemaError, match=f"{other}, and the query was compiled for Eu"):
            plan.run(one(other))
    with pytest.raises(sase.SchemaError, match="has no time zone, and the query was compiled for"):
        plan.run(one(None))
    for item in ("date_trunc('day', x.t)", "time_of_day(x.t)", "hour(x.t + 1 hour)"):
        plan = sase.compile(f"EVENT A x RETURN {item} AS p", one("Europe/Berlin").schema)
        with pytest.raises(sase.SchemaError, match="UTC, and the query was compiled for Europe"):
            plan.run(one("UTC"))
    with pytest.raises(sase.SchemaError, match="Europe/Berlin, and the query was compiled for UTC"):
        sase.compile(OF_COLUMN, one("UTC").schema).run(one("Europe/Berlin"))


def test_a_stored_plan_has_the_zone() -> None:
    plan = sase.compile(f"{OF_COLUMN}, time_of_day(x.t) AS u", one("Europe/Berlin").schema)
    again = sase.Plan.from_json(plan.to_json())
    events = one("Europe/Berlin")
    assert again.run(events).to_pylist() == plan.run(events).to_pylist()
    with pytest.raises(sase.SchemaError, match="was compiled for Europe/Berlin"):
        again.run(one("UTC"))


def test_columns_of_several_zones_are_in_utc() -> None:
    tables = {
        name: one(zone).select(["ts", "t"]) for name, zone in (("A", ZONES[0]), ("B", ZONES[1]))
    }
    found = sase.match("EVENT ANY(A, B) x RETURN hour(x.t) AS h", tables).to_pylist()
    assert [row["h"] for row in found] == [0, 0]
    given = one("Asia/Kathmandu").append_column("u", one("Europe/Berlin")["t"])
    query = """EVENT A x RETURN coalesce(x.t, x.u) AS c, hour(coalesce(x.t, x.u)) AS h,
      hour(coalesce(x.u, TIMESTAMP '2000-01-01 00:00:00Z')) AS g"""
    (row,) = sase.match(query, given).to_pylist()
    assert (str(row["c"]), row["h"], row["g"]) == ("1970-01-01 00:00:00+00:00", 0, 1)


def test_times_with_and_without_a_zone_are_a_warning() -> None:
    query = "EVENT A x WHERE x.t AT TIME ZONE 'Europe/Berlin' > x.t"
    (warning,) = sase.match(query, one("Europe/Berlin")).report.warnings
    assert "this has no time zone, and is beside a time that has one" in warning


@pytest.mark.parametrize("part", ["hour", "day", "year"])
@pytest.mark.parametrize("value", [-(2**63) + 10, 2**63 - 10])
def test_a_time_that_leaves_the_range_is_null_with_a_warning(part: str, value: int) -> None:
    query = f"""EVENT A x RETURN date_trunc('{part}', x.t) AS d, x.t AT TIME ZONE '+14:00' AS p,
      x.t AT TIME ZONE '-14:00' AS q, date_trunc('{part}', x.t) <= x.t AS e"""
    found = sase.match(query, one("Pacific/Apia", value, "ns"))
    table = found.to_arrow()
    local = [table[name].cast(pa.int64())[0].as_py() for name in "pq"]
    assert (None in local) and found.report.warnings
    assert all(each is None or abs(each - value) == 14 * 3600 * 10**9 for each in local)
    assert table["e"][0].as_py() is (table["d"][0].as_py() is not None)


def test_the_begin_of_a_day_that_clocks_skip_is_the_change() -> None:
    """In Brazil clocks went from midnight to one."""
    given = table([datetime(2018, 11, 4, 12, tzinfo=UTC)], "America/Sao_Paulo", "us")
    (row,) = sase.match("EVENT A x RETURN date_trunc('day', x.t) AS d", given).to_pylist()
    assert row["d"].astimezone(UTC) == datetime(2018, 11, 4, 3, tzinfo=UTC)
