"""Seconds in floating point as microseconds, half-even, of the exact value."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sase.engine.columns.arrays import Mask, Numbers

END = 2.0**63
PLAIN = 2.0**52  # below, a product has a fraction of a half or finer


def in_range(seconds: NDArray[np.float64]) -> Mask:
    """Which of the seconds are an int64 of microseconds; neither NaN nor an infinity is."""
    with np.errstate(over="ignore", invalid="ignore"):
        good: Mask = np.abs(seconds * 1e6) < END
    return good


def microseconds(seconds: NDArray[np.float64]) -> Numbers:
    """Seconds that are in range as microseconds.

    The product is rounded to a float before it is rounded to an integer, which can make a tie that
    was none, or go the wrong way at one. Dekker's way of computing what the product lost decides.
    """
    product = seconds * 1e6
    whole = np.rint(product)
    away = product - whole
    halves = np.flatnonzero(np.abs(away) == 0.5)
    lost = _lost(seconds[halves], product[halves])
    # `rint` went down from +½ and up from −½; what was lost may say that it should not.
    whole[halves] += (away[halves] > 0) & (lost > 0)
    whole[halves] -= (away[halves] < 0) & (lost < 0)
    result = whole.astype(np.int64)
    for row in np.flatnonzero(np.abs(product) >= PLAIN):  # the year 2112, and what is no date
        result[row] = round(Fraction(seconds[row]) * 10**6)
    return result


def _lost(seconds: NDArray[Any], product: NDArray[Any]) -> NDArray[Any]:
    """What `seconds * 1e6` is more than the rounded product, exactly."""
    spread = seconds * (2.0**27 + 1)
    high = spread - (spread - seconds)
    lost: NDArray[np.float64] = (high * 1e6 - product) + (seconds - high) * 1e6
    return lost
