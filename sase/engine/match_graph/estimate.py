"""An estimated number of matches, with bounds."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, sqrt

# The normal quantile of a 95 % interval.
QUANTILE = 1.96


@dataclass(frozen=True)
class Estimate:
    """The number of matches, from the share of samples that are accepted.

    `low` and `high` bound it with a confidence of 95 % (Wilson's interval); `most` is certain: the
    matches before the test. All that was tried and accepted is `samples` and `accepted`.
    """

    count: int
    low: int
    high: int
    most: int
    samples: int
    accepted: int


def exactly(count: int) -> Estimate:
    """A number that is known."""
    return Estimate(count, count, count, count, 0, 0)


def estimated(most: int, samples: int, accepted: int) -> Estimate:
    """What so many accepted ones among so many samples of `most` matches say."""
    low, high = (most * Fraction(bound) for bound in wilson(samples, accepted))
    return Estimate(most * accepted // samples, floor(low), ceil(high), most, samples, accepted)


def wilson(samples: int, accepted: int) -> tuple[float, float]:
    """Wilson's interval of a share; rounding does not push it past the share."""
    share, square = accepted / samples, QUANTILE**2
    middle = share + square / (2 * samples)
    radius = QUANTILE * sqrt(share * (1 - share) / samples + square / (4 * samples**2))
    scale = 1 + square / samples
    low, high = (middle - radius) / scale, (middle + radius) / scale
    return min(max(low, 0.0), share), max(min(high, 1.0), share)
