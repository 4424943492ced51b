"""Conditions on how many events a component binds, as bounds of that component.

A least number is a bound under every strategy, a greatest one under skip till any match alone.
Under the others a run must take what it can, and may then not be left.

    SEQ(A a, B+ b[], C c) WHERE skip_till_next_match {b.len <= 2}      A B B B C has no match
    SEQ(A a, B{1,2} b[], C c) WHERE skip_till_next_match {a.v = a.v}   A B B B C has one
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from sase.binding.bound import (
    Aggregate,
    All,
    Between,
    BoundComponent,
    BoundQuery,
    Comparison,
    Condition,
    Constant,
    Part,
)
from sase.binding.parts import conjoined
from sase.lang.ast import TURNED, StrategyName

# Greater numbers stay conditions: a graph of matches has a slot for each that a series must reach.
LONGEST = 64


def bounded(query: BoundQuery) -> BoundQuery:
    """Make bounds of conditions on lengths in WHERE and HAVING; drop what these say already."""
    bounds = _Bounds(query.components, query.strategy is StrategyName.SKIP_TILL_ANY_MATCH)
    # What is asked of each iteration holds where there is none, which a bound would exclude.
    conjuncts = tuple(
        each for each in query.conjuncts if each.quantified or not bounds.take(each.condition)
    )
    having = query.having
    # A run of earliest_maximal moves on before HAVING is asked, and ignores less for it.
    if query.strategy is not StrategyName.EARLIEST_MAXIMAL:
        having = _joined(each for each in conjoined(having) if not bounds.take(each))
    return replace(query, components=bounds.components, conjuncts=conjuncts, having=having)


def _joined(conditions: Iterable[Condition]) -> Condition | None:
    found = tuple(conditions)
    if len(found) < 2:
        return found[0] if found else None
    return All(found)


class _Bounds:
    """The components, whose bounds conditions on lengths narrow."""

    def __init__(self, components: tuple[BoundComponent, ...], has_greatest: bool) -> None:
        self.components, self._has_greatest = components, has_greatest

    def take(self, condition: Condition) -> bool:
        """Narrow a bound by a condition, if it is on a length; return whether that is all of it."""
        match condition:
            case Comparison(operator=operator, left=Aggregate() as length, right=Constant() as to):
                return self._narrowed(length, *_limits(operator, to.value))
            case Comparison(operator=operator, left=Constant() as to, right=Aggregate() as length):
                return self._narrowed(length, *_limits(TURNED[operator], to.value))
            case Between(
                operand=Aggregate() as length, low=Constant() as low, high=Constant() as high,
                negated=False,
            ):  # fmt: skip
                least, _ = _limits(">=", low.value)
                _, most = _limits("<=", high.value)
                return (
                    least is not None and most is not None and self._narrowed(length, least, most)
                )
        return False

    def _narrowed(self, length: Aggregate, least: int | None, most: int | None) -> bool:
        is_length = length.function == "count" and length.attribute is None and length.inner is None
        if not is_length or length.part is not Part.ALL or (least, most) == (None, None):
            return False
        place = next(n for n, c in enumerate(self.components) if c.index == length.component)
        old = self.components[place]
        minimum = max(old.minimum, least or 0)
        maximum = old.maximum
        if most is not None and self._has_greatest:
            maximum = most if maximum is None else min(maximum, most)
        if minimum > LONGEST or (maximum is not None and not max(minimum, 1) <= maximum):
            return False
        if maximum != old.maximum and maximum is not None and maximum > LONGEST:
            return False
        # One event that is written with `?` stays a nullable one in results.
        new = replace(
            old, minimum=minimum, maximum=maximum, is_counted=old.is_counted or old.is_optional
        )
        self.components = (*self.components[:place], new, *self.components[place + 1 :])
        return most is None or self._has_greatest


def _limits(operator: str, value: object) -> tuple[int | None, int | None]:
    """The least and the greatest number that a comparison allows, as far as it bounds them."""
    if type(value) is not int:
        return None, None
    least = {">": value + 1, ">=": value, "=": value}.get(operator)
    most = {"<": value - 1, "<=": value, "=": value}.get(operator)
    return least, most
