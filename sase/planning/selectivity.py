"""The selectivity and the effort of conditions."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from sase.binding import bound
from sase.binding.text import Names, condition_text
from sase.planning.statistics import Statistics

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
    """Conditions decided at one place: first what removes most for its effort."""

    def rank(conjunct: bound.Conjunct) -> float:
        removed = 1 - selectivity(conjunct, names, statistics)
        return -removed / effort(conjunct.condition)

    return tuple(sorted(conjuncts, key=rank))


def _unless(negated: bool, share: float) -> float:
    return 1 - share if negated else share
