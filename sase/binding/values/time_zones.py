"""Warn of comparisons between timestamps with and without a time zone."""

from __future__ import annotations

from collections.abc import Sequence

from sase.binding.bound import Constant, Expression
from sase.binding.names.scope import Scope
from sase.binding.types import Kind, merged
from sase.binding.values.text import value_text


def warn_of_zones(values: Sequence[Expression], scope: Scope) -> None:
    """Warn of literals with a time zone among values without one, or the reverse."""
    moments = [each for each in values if each.type.kind is Kind.TIMESTAMP]
    computed = [each for each in moments if not isinstance(each, Constant)]
    zones = {each.type.zoned: each for each in computed}
    if True in zones and False in zones:
        scope.problems.warning(
            "timestamp-without-zone",
            "this has no time zone, and is beside a time that has one: it is taken as UTC",
            zones[False].span,
            "AT TIME ZONE makes a time without a zone of one that has one",
        )
    others = merged(each.type for each in computed).zoned
    for each in moments:
        if isinstance(each, Constant) and None not in (others, each.type.zoned):
            if others and not each.type.zoned:
                _warn_without(each, scope)
            elif each.type.zoned and not others:
                _warn_with(each, scope)


def _warn_without(literal: Constant, scope: Scope) -> None:
    scope.problems.warning(
        "timestamp-without-zone",
        "this has no time zone, and is beside a time that has one: it is taken as UTC",
        literal.span,
        f"write  {value_text(literal, {})[:-1]}+00:00' , or the zone that is meant",
    )


def _warn_with(literal: Constant, scope: Scope) -> None:
    scope.problems.warning(
        "timestamp-with-zone",
        "this has a time zone, and is beside a time that has none: it is taken by its instant in"
        " UTC",
        literal.span,
        f"write it without a zone, as the events do; in UTC it is  {value_text(literal, {})}",
    )
