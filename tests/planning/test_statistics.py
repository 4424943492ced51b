"""The figures of pairs of events by the statistics of their types."""

from __future__ import annotations

import pytest

from sase.planning.statistics import (
    UNKNOWN_AGREEMENT,
    AttributeStatistics,
    Statistics,
    TypeStatistics,
)


@pytest.mark.parametrize(
    ("agreements", "expected"),
    [
        ([0.5, 0.25], 0.5),
        ([0.0, 0.0], 0.25),  # each value once in a type, and perhaps once in the other
        ([0.0, None], 0.25),
        ([None, None], UNKNOWN_AGREEMENT),
    ],
)
def test_how_likely_two_events_agree(agreements: list[float | None], expected: float) -> None:
    types = tuple(
        TypeStatistics(name, 4, (AttributeStatistics("k", distinct=4, agreement=share),))
        for name, share in zip("AB", agreements, strict=True)
    )
    assert Statistics(rows=8, types=types).pair_agreement("k", "AB") == expected
