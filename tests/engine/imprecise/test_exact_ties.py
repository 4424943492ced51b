"""A confidence that is a threshold reaches it; times in seconds as floats are microseconds."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sase
from sase.engine.operators.imprecise.confidence import tidied

# Intervals of A and B, the most times between them, and the confidence.
TIES = [((3, 7), (5, 14), 8, "0.68"), ((2, 11), (5, 5), 8, "0.3"), ((0, 9), (0, 9), 100, "0.45")]
COLUMNS = {"time": ("lo", "hi"), "type": "type"}


@pytest.mark.parametrize("recipe", ["optimized", "dp", "worlds"])
@pytest.mark.parametrize(("first", "second", "within", "confidence"), TIES)
def test_a_threshold_at_the_very_confidence(
    first: tuple[int, int], second: tuple[int, int], within: int, confidence: str,
    recipe: str,
) -> None:  # fmt: skip
    events = [
        {"type": name, "lo": lo, "hi": hi} for name, (lo, hi) in (("A", first), ("B", second))
    ]
    events.sort(key=lambda each: (each["lo"], each["hi"]))
    query = f"EVENT SEQ(A a, B b) WITHIN {within}"

    def found(clause: str) -> list[float]:
        matches = sase.match(f"{query} {clause}", events, plan=recipe, **COLUMNS)
        plan = sase.compile(f"{query} {clause}", events, plan=recipe, **COLUMNS)
        pushed = plan.open()
        later = [*pushed.push(events[:1]), *pushed.push(events[1:]), *pushed.finish()]
        confidences = [each["confidence"] for each in matches]
        assert [each["confidence"] for each in later] == confidences
        return confidences

    assert found(f"WITH CONFIDENCE >= {confidence}") == [float(confidence)]
    assert found(f"WITH CONFIDENCE > {confidence}") == []
    assert found(f"HAVING confidence = {confidence}") == [float(confidence)]
    assert found(f"HAVING confidence > {confidence}") == []
    assert found(f"WITH CONFIDENCE >= {float(confidence) + 1e-9:.10f}") == []


def test_what_is_no_decimal_is_as_it_was() -> None:
    """Nothing becomes more likely by more than a ten-millionth of a millionth of it."""
    others = [2 / 3, 1 / 3, 0.25 - 1e-12, 1 - 1e-12, 1e-12, 1e-30, 5e-324, float(Fraction(91, 128))]
    assert tidied(np.array(others)).tolist() == others
    decimals = [number / 1000 for number in range(1, 1001)] + [0.123456789, 0.0]
    for by in (0, 1, -1):
        near = np.nextafter(decimals, by) if by else np.array(decimals)
        assert tidied(near)[:-1].tolist() == decimals[:-1]


# ---------------------------------------------------------------- seconds

# Imprecise times in seconds as floats: in results they are microseconds, as precise ones are.


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
