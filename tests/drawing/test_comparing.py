"""The comparison passes the matches of the naive matcher, and notices every change of them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from tests.drawing.comparing import Found, differences
from tests.drawing.examples import Example
from tests.drawing.patterns import Part
from tests.drawing.queries import Query
from tests.drawing.streams import CLOCKS, FLOAT, INTEGER, WIDE, Setting

COLUMNS = {"n": INTEGER, "f": FLOAT}
KEYWORDS = {"time": "ts", "type": "type", "seq": None, "types": None, "time_unit": None}
SETTING = Setting(WIDE, CLOCKS["raw"], COLUMNS, dict.fromkeys("ABC", ("n", "f")), KEYWORDS)
EVENTS = [
    {"ts": 1, "type": "A", "n": 1, "f": 0.1},
    {"ts": 2, "type": "A", "n": 2, "f": None},
    {"ts": 3, "type": "B", "n": None, "f": -0.0},
]
PARTS = (
    Part("A", ("A",), "a", False, "{2}", 2, 2, "[]"),
    Part("C", ("C",), "c", False, "?", 0, 1),
    Part("B", ("B",), "b"),
)
TYPES = [pa.list_(pa.int64()), pa.int64(), pa.int64()]
TIMES = {"ts_start": 1, "ts_end": 3, "detected_at": 3}
VALUES = {"x": 0.1, "y": None, "z": -0.0, "w": 3}
RETURNING = Example(
    Query.of(PARTS, returned="RETURN avg(a[].f) AS x, c.n AS y, b.f AS z, sum(a[].n) AS w"),
    SETTING,
    EVENTS,
)
SHOWING = Example(Query.of(PARTS), SETTING, EVENTS)
NAMES, ROWS = ["a", "c", "b"], ([0, 1], None, 2)
EVENTS_OF = {"a": EVENTS[:2], "c": None, "b": EVENTS[2]}


def got(example: Example, values: dict[str, Any], **changed: Any) -> list[str]:
    found = Found(NAMES, TYPES, [ROWS], [{**values, **TIMES}])
    return [*differences(example, found._replace(**changed))]


def test_what_is_right_passes() -> None:
    assert got(RETURNING, VALUES) == got(SHOWING, EVENTS_OF) == []


@pytest.mark.parametrize(
    "changed",
    [
        {"names": ["a", "c", "d"]},
        {"types": [pa.list_(pa.int64()), pa.int64(), pa.int32()]},
        {"types": [pa.list_(pa.int64()), pa.list_(pa.int64()), pa.int64()]},
        {"rows": []},
        {"rows": [ROWS, ROWS]},
        {"rows": [([1, 0], None, 2)]},
        {"rows": [([0, 1], 2, None)]},
    ],
)
def test_other_rows_are_noticed(changed: dict[str, Any]) -> None:
    assert got(RETURNING, VALUES, **changed) != []


@pytest.mark.parametrize(
    "changed",
    [{"x": 0.1 + 2**-56}, {"x": None}, {"y": 0}, {"z": 0.0}, {"w": 4}, {"v": 1}, {"ts_end": 2}],
)
def test_other_values_are_noticed(changed: dict[str, Any]) -> None:
    result = {**VALUES, **TIMES, **changed}
    assert got(RETURNING, VALUES, results=[result]) != []


@pytest.mark.parametrize(
    "changed", [{"a": EVENTS[:1]}, {"a": EVENTS[1::-1]}, {"c": EVENTS[2]}, {"b": None}, {"a": None}]
)
def test_other_events_are_noticed(changed: dict[str, Any]) -> None:
    result = {**EVENTS_OF, **TIMES, **changed}
    assert got(SHOWING, EVENTS_OF, results=[result]) != []
