"""The probability that events come in order, or not at all, within a window.

Keys are taken to be frequent or rare by a Gamma distribution of a `shape`: what is expected of an
event is the mean over the keys that events have.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import exp, sqrt

# Steps of integration, and quantiles of a normal distribution for keys: a rare key hardly forbids.
_STEPS = 16
_MIDDLES = [(step + 0.5) / _STEPS for step in range(_STEPS)]
_NORMAL = (-1.1503, -0.3186, 0.3186, 1.1503)
_WITH_RARE = (-1.5341, -0.8871, -0.4888, -0.1573, 0.1573, 0.4888, 0.8871, 1.5341)
# All keys are alike from this shape on.
EVEN = 1e6


def shape_of(unevenness: float, events: int) -> float:
    """The shape for keys on which so many events agree: more agree on frequent ones.

    Two events are so many times likelier to agree than if all keys were equally frequent.
    """
    return min(1 / max(unevenness - 1, 1 / EVEN) + events, EVEN)


def spread(shape: float, normal: Sequence[float] = _NORMAL) -> list[float]:
    """Frequencies of keys as multiples of the mean, from the rare on (Wilson and Hilferty)."""
    if shape >= EVEN:
        return [1.0]
    width = 1 / (9 * shape)
    found = [max(1 - width + each * sqrt(width), 0.0) ** 3 for each in normal]
    return [each * len(found) / sum(found) for each in found]


@lru_cache(maxsize=1024)  # plans among which is chosen have many in common
def preceded(rates: tuple[float, ...], shape: float, behind: int = 0) -> float:
    """The probability that events of such frequencies come in this order before another.

    All are in a window that ends with that, or `behind` it with the last of so many more events,
    which lie anywhere in the window.
    """
    found = list[float]()
    for times in spread(shape, _WITH_RARE):
        within = _within([rate * times for rate in rates])
        found.append(_mean_before(within, behind) if behind else within[-1])
    return sum(found) / len(found)


def _within(rates: Sequence[float]) -> list[float]:
    """How likely events come in order within each part of a window, by steps of it.

    The wait for each is exponential, so what is not there yet shrinks by a factor with each step.
    """
    found = [1.0] * (_STEPS + 1)
    for rate in rates:
        none, before = exp(-min(rate / _STEPS, 700.0)), found
        found = [0.0]
        for step in range(_STEPS):
            both = (before[step] + before[step + 1]) / 2
            found.append(found[-1] * none + both * (1 - none))
    return found


def _mean_before(within: Sequence[float], behind: int) -> float:
    """The mean over what so many events, the last at its end, leave of the window before them."""
    weights = [behind * middle ** (behind - 1) for middle in _MIDDLES]
    middles = [(one + other) / 2 for one, other in zip(within[1:], within[:-1], strict=True)]
    return sum(w * f for w, f in zip(weights, reversed(middles), strict=True)) / sum(weights)


def clear_since(rate: float, absent: float) -> float:
    """The probability that the last of some events comes after those that forbid it."""
    if not absent:
        return 1.0
    both = 1 - exp(-min(rate + absent, 700.0))
    return ratio(ratio(rate, rate + absent) * both, 1 - exp(-min(rate, 700.0)))


@lru_cache(maxsize=1024)  # plans among which is chosen have many in common
def absence(expected: float, components: int, shape: float, *, varies: bool) -> float:
    """The probability of no event between components, or before or after all, in a window.

    If it `varies`, what a condition lets pass goes by the sequence: from nothing to twice the
    mean.
    """
    sequences = [2 * u for u in _MIDDLES] if varies else [1.0]
    every = [
        _clear(expected * key * each, components) for key in spread(shape) for each in sequences
    ]
    return sum(every) / len(every)


def _clear(expected: float, components: int) -> float:
    """How likely a gap between components is to have no event, of those expected in a window.

    Gaps between m events that lie anywhere in a window have the density (m-1)/T · (1-g/T)^(m-2),
    and so has what the window leaves before the first or after the last. What is integrated over
    that is exp(-expected · g/T); by parts, where it is steep.
    """
    least = exp(-min(expected, 700.0))
    if components == 1:
        return least
    if expected < components:
        gaps = (1 - u ** (1 / (components - 1)) for u in _MIDDLES)
        return sum(exp(-expected * gap) for gap in gaps) / _STEPS
    found = (1 - least) / expected
    for power in range(1, components - 1):
        found = (1 - power * found) / expected
    return (components - 1) * found


def ratio(part: float, whole: float) -> float:
    """A share; 0 of nothing."""
    return part / whole if whole > 0 else 0.0
