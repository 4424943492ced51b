"""Estimate the selectivity and effort of conditions, and the probability of orders of events."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import exp, prod, sqrt

from sase.binding import bound
from sase.binding.values.text import Names, condition_text
from sase.planning.statistics import Statistics

# ---------------------------------------------------------------- selectivity

# Assumed without statistics, as relational optimizers do.
_EQUAL, _LESS, _BETWEEN, _LIKE, _NULL = 0.1, 1 / 3, 0.25, 0.1, 0.05


def selectivity(conjunct: bound.Conjunct, names: Names, statistics: Statistics | None) -> float:
    """The share of events, or of tuples of them, that pass a condition."""
    if statistics is not None:
        known = statistics.selectivity(condition_text(conjunct.condition, names))
        if known is not None:
            return known
    return assumed(conjunct.condition)


def assumed(condition: bound.Condition) -> float:
    """The selectivity without statistics."""
    match condition:
        case bound.Truth(value=value):
            return float(value)
        case bound.All(operands=operands):
            return prod(map(assumed, operands))
        case bound.Any(operands=operands):
            return 1 - prod(1 - assumed(each) for each in operands)
        case bound.Comparison(operator=operator):
            return {"=": _EQUAL, "!=": 1 - _EQUAL}.get(str(operator), _LESS)
        case bound.Membership(values=values, negated=negated):
            return _unless(negated, min(len(values) * _EQUAL, 0.5))
        case bound.Between(negated=negated):
            return _unless(negated, _BETWEEN)
        case bound.Like(negated=negated):
            return _unless(negated, _LIKE)
        case bound.NullTest(negated=negated):
            return _unless(negated, _NULL)


def effort(condition: bound.Condition | bound.Expression) -> int:
    """The operations that decide a condition; a function counts for several."""
    match condition:
        case bound.All(operands=parts) | bound.Any(operands=parts):
            return sum(map(effort, parts))
        case bound.Comparison(left=left, right=right):
            return 1 + effort(left) + effort(right)
        case bound.Membership(operand=operand, values=values):
            return 1 + len(values) + effort(operand)
        case bound.Between(operand=operand, low=low, high=high):
            return 2 + effort(operand) + effort(low) + effort(high)
        case bound.Like(operand=operand):
            return 5 + effort(operand)
        case bound.NullTest(operand=operand):
            return 1 + effort(operand)
        case bound.ConditionValue(condition=inner):
            return effort(inner)
        case bound.Operation(operands=operands):
            return 2 + sum(map(effort, operands))
    return 1


def conjunction(conjuncts: Sequence[bound.Conjunct], names: Names) -> list[bound.Conjunct]:
    """Several conditions as one, in a canonical order."""
    if len(conjuncts) < 2:
        return []
    parts = sorted(
        {each.condition: None for each in conjuncts}, key=lambda c: condition_text(c, names)
    )
    references = {reference for each in conjuncts for reference in each.references}
    kind = bound.ConjunctClass.SEVERAL
    return [bound.Conjunct(bound.All(tuple(parts)), kind, tuple(sorted(references)))]


def in_order(
    conjuncts: tuple[bound.Conjunct, ...], names: Names, statistics: Statistics | None
) -> tuple[bound.Conjunct, ...]:
    """Order conditions decided at one place: first the one that removes most for its effort."""

    def rank(conjunct: bound.Conjunct) -> float:
        removed = 1 - selectivity(conjunct, names, statistics)
        return -removed / effort(conjunct.condition)

    return tuple(sorted(conjuncts, key=rank))


def _unless(negated: bool, share: float) -> float:
    return 1 - share if negated else share


# ---------------------------------------------------------------- probabilities

# The frequencies of keys follow a Gamma distribution with a `shape`. An expectation for an event is
# the mean over the keys of events.

# Steps of integration. Quantiles of a normal distribution for keys; more where rare keys matter.
_STEPS = 16
_MIDDLES = [(step + 0.5) / _STEPS for step in range(_STEPS)]
_NORMAL = (-1.1503, -0.3186, 0.3186, 1.1503)
_WITH_RARE = (-1.5341, -0.8871, -0.4888, -0.1573, 0.1573, 0.4888, 0.8871, 1.5341)
# From this shape on all keys are equally frequent.
EVEN = 1e6


def shape_of(unevenness: float, events: int) -> float:
    """The shape for the keys on which `events` agree: more agree on frequent keys.

    `unevenness` is how much more likely two events agree than if all keys were equally frequent.
    """
    return min(1 / max(unevenness - 1, 1 / EVEN) + events, EVEN)


def spread(shape: float, normal: Sequence[float] = _NORMAL) -> list[float]:
    """Frequencies of keys as multiples of the mean, from the rare on (Wilson and Hilferty)."""
    if shape >= EVEN:
        return [1.0]
    width = 1 / (9 * shape)
    found = [max(1 - width + each * sqrt(width), 0.0) ** 3 for each in normal]
    return [each * len(found) / sum(found) for each in found]


@lru_cache(maxsize=1024)  # alternative plans have many in common
def preceded(rates: tuple[float, ...], shape: float, behind: int = 0) -> float:
    """The probability that events with these frequencies come in this order before another.

    All are in a window that ends with that event, or with the last of `behind` more events after
    it, which may be anywhere in the window.
    """
    found = list[float]()
    for times in spread(shape, _WITH_RARE):
        within = _within([rate * times for rate in rates])
        found.append(_mean_before(within, behind) if behind else within[-1])
    return sum(found) / len(found)


def _within(rates: Sequence[float]) -> list[float]:
    """How likely events come in order within each part of a window, by steps of it.

    The wait for each event is exponential, so the probability that it is missing shrinks by a
    constant factor with each step.
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
    """The mean of `within` over the rest of the window before `behind` events at its end."""
    weights = [behind * middle ** (behind - 1) for middle in _MIDDLES]
    middles = [(one + other) / 2 for one, other in zip(within[1:], within[:-1], strict=True)]
    return sum(w * f for w, f in zip(weights, reversed(middles), strict=True)) / sum(weights)


def clear_since(rate: float, absent: float) -> float:
    """The probability that the last of some events comes after those that forbid it."""
    if not absent:
        return 1.0
    both = 1 - exp(-min(rate + absent, 700.0))
    return ratio(ratio(rate, rate + absent) * both, 1 - exp(-min(rate, 700.0)))


@lru_cache(maxsize=1024)  # alternative plans have many in common
def absence(expected: float, components: int, shape: float, *, varies: bool) -> float:
    """The probability of no event between components, or before or after all, in a window.

    If it `varies`, the selectivity of a condition depends on the sequence: from 0 to twice the
    mean.
    """
    sequences = [2 * u for u in _MIDDLES] if varies else [1.0]
    every = [
        _clear(expected * key * each, components) for key in spread(shape) for each in sequences
    ]
    return sum(every) / len(every)


def _clear(expected: float, components: int) -> float:
    """How likely a gap between components has no event, of those expected in a window.

    Gaps between m events anywhere in a window have the density (m-1)/T · (1-g/T)^(m-2), and so has
    the rest of the window before the first or after the last. The integral over it is of
    exp(-expected · g/T); integration is by parts where that is steep.
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
    """A share; 0 if the whole is 0."""
    return part / whole if whole > 0 else 0.0
