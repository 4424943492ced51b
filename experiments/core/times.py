"""Several measurements of one thing."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import NamedTuple


class Times(NamedTuple):
    """The median of some times in seconds, the shortest and the longest."""

    median: float
    low: float
    high: float

    @staticmethod
    def of(seconds: Sequence[float]) -> Times:
        """The three of a list."""
        return Times(statistics.median(seconds), min(seconds), max(seconds))

    @staticmethod
    def together(several: Sequence[Times]) -> Times:
        """Those of several series: the median of their medians."""
        medians, lows, highs = zip(*several, strict=True)
        return Times(statistics.median(medians), min(lows), max(highs))

    @property
    def milliseconds(self) -> str:
        """As a table shows them."""
        median, low, high = (1000 * each for each in self)
        digits = 1 if median >= 10 else 2
        return f"{median:.{digits}f} ({low:.{digits}f}–{high:.{digits}f})"
