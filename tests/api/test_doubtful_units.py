"""Times thousands of years from now are reported, with the unit that is likely meant."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest

import sase

QUERY = "EVENT SEQ(A a, B b) WITHIN 5 seconds"
MS = 1_760_000_000_000  # in October 2025


def events(times: list[Any], kind: pa.DataType | None = None) -> pa.Table:
    return pa.table({"ts": pa.array(times, kind), "type": ["A", "B"]})


@pytest.mark.parametrize(
    ("times", "kind", "unit", "told"),
    [
        (
            [MS, MS + 1],
            None,
            "s",
            r"`ts` counts s, .* the year 57,\d\d\d: if it counts ms, say",
        ),
        (
            [MS * 1000, MS * 1000 + 1],
            None,
            "ms",
            r'if it counts us, say  time_unit="us"$',
        ),
        ([MS * 10**6, MS * 10**6 + 1], None, "ms", 'if it counts ns, say  time_unit="ns"'),
        ([float(MS), MS + 1.0], None, None, "in floats, which are seconds, .* give integers with"),
        ([MS, MS + 1], pa.timestamp("s"), None, r"has the type timestamp.*if it counts ms"),
        ([9 * 10**18, 9 * 10**18 + 1], None, "ms", r"is that the unit\?"),
    ],
)
def test_a_unit_that_is_too_coarse(
    times: list[Any], kind: pa.DataType | None, unit: str | None, told: str
) -> None:
    table = events(times, kind)
    keywords = {"time_unit": unit}
    (warning,) = sase.match(QUERY, table, **keywords).report.warnings
    matcher = sase.compile(QUERY, table, **keywords).open()
    pushed = [matcher.push(table.slice(row, 1)).report.warnings for row in range(2)]
    assert pushed == [(warning,), ()]
    assert matcher.finish().report.warnings == (warning,)
    assert re.search(told, warning)
    assert sase.why(QUERY, table, **keywords).words[1] == warning
    assert warning in sase.compare(QUERY, table, **keywords).notes
    assert warning in str(sase.explain(QUERY, table, analyze=True, **keywords))


@pytest.mark.parametrize(
    ("times", "unit"),
    [
        ([MS, MS + 1], "ms"),
        ([1, 2], "weeks"),
        ([-MS, 0], "s"),
        ([datetime(2400, 1, 1, tzinfo=UTC), datetime(4999, 1, 1, tzinfo=UTC)], None),
    ],
)
def test_other_units(times: list[Any], unit: str | None) -> None:
    assert sase.match(QUERY, events(times), time_unit=unit).report.warnings == ()


def test_raw_units_may_be_anything() -> None:
    table = events([1 << 61, (1 << 61) + 1])
    assert sase.match("EVENT SEQ(A a, B b) WITHIN 5", table).report.warnings == ()
