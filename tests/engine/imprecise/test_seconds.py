"""Imprecise times in seconds as floats: in results they are microseconds, as precise ones are."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import sase

ROWS = [
    {"type": "A", "lo": 1.0, "hi": 2.5},
    {"type": "A", "lo": 1.5, "hi": 2.0},
    {"type": "B", "lo": 2.0, "hi": 3.0},
]
SHAPE = pa.schema([("type", pa.string()), ("lo", pa.float64()), ("hi", pa.float64())])


def found(query: str, is_pushed: bool) -> list[dict[str, Any]]:
    if not is_pushed:
        return list(sase.match(query, ROWS, time=("lo", "hi"), type="type").to_pylist())
    matcher = sase.compile(query, SHAPE, time=("lo", "hi"), type="type").open()
    batches = [*(matcher.push([row]) for row in ROWS), matcher.finish()]
    return [match for batch in batches for match in batch.to_pylist()]


@pytest.mark.parametrize("is_pushed", [False, True])
def test_both_times_of_an_event_count_microseconds(is_pushed: bool) -> None:
    (single,) = found("EVENT B b", is_pushed)
    assert single["b"] == {"type": "B", "lo": 2_000_000, "hi": 3_000_000}
    series = found("EVENT SEQ(A+ a[], B b)", is_pushed)
    both = max((each["a"] for each in series), key=len)
    assert [(each["lo"], each["hi"]) for each in both] == [
        (1_000_000, 2_500_000),
        (1_500_000, 2_000_000),
    ]
