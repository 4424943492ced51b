"""Bind WITHIN, and check that a negated start or end has the window that it needs."""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import TypeGuard

from sase.base.interface import parameter, spelled
from sase.binding.bound import (
    BoundComponent,
    BoundNegation,
    BoundWindow,
    Constant,
    Placeholder,
    Scalar,
    WindowKind,
)
from sase.binding.names.scope import Scope, unit_of_integer_time
from sase.binding.pattern.components import BoundBranch
from sase.binding.types import NUMBERS, Kind
from sase.binding.values.folding import INT64_MAX
from sase.binding.values.literals import as_written, bind_literal, exact
from sase.errors import QuerySyntaxError
from sase.lang import ast
from sase.lang.parser import parse_condition
from sase.lang.printer import to_text
from sase.lang.units import NANOSECONDS, UNITS, unknown_unit


def bind_window(window: ast.Window, scope: Scope) -> BoundWindow | None:
    """The window, with its size in raw units if the unit of the time column is known."""
    window = _as_written(window, scope)
    amount = _amount(window, scope)
    unit = _unit(window, scope)
    if amount is None:
        return None
    _check_plain_number(window, scope)
    kind = WindowKind.TIME
    if window.events:
        kind = WindowKind.PARTITION_EVENTS if window.per_partition else WindowKind.EVENTS
    if isinstance(amount, Placeholder):
        return BoundWindow(kind, amount, unit, window.inclusive, None, span=window.span)
    if window.events and amount.denominator != 1:
        scope.problems.error(
            "bad-window",
            "a window in EVENTS is a whole number",
            window.amount.span,
            f"write  {math.ceil(amount)} EVENTS",
        )
    size = _size(amount, unit, window, scope)
    return BoundWindow(kind, amount, unit, window.inclusive, size, span=window.span)


def _as_written(window: ast.Window, scope: Scope) -> ast.Window:
    """A window of which a parameter is an interval, or the text of one, with number and unit."""
    if not isinstance(window.amount, ast.Parameter) or window.unit or window.events:
        return window
    given = bind_literal(window.amount, scope)
    if isinstance(given, Constant) and isinstance(given.value, str):
        return _as_text(window, given.value)
    if not isinstance(given, Constant) or given.type.kind is not Kind.INTERVAL:
        return window
    assert isinstance(given.value, int)
    span, size = window.amount.span, abs(given.value)
    unit = next(u for u in reversed(NANOSECONDS) if size % NANOSECONDS[u] == 0)
    count = ast.Integer(size // NANOSECONDS[unit], span=span)
    amount = count if given.value >= 0 else ast.Negative(count, span=span)
    return replace(window, amount=amount, unit=ast.Name(unit, span=span))


def _as_text(window: ast.Window, text: str) -> ast.Window:
    """A window of which a parameter is a text, such as `5 minutes`; unchanged for other texts."""
    try:
        given = parse_condition(text, "window")
    except QuerySyntaxError:
        return window
    if not isinstance(given, ast.Interval):
        return window
    span = window.amount.span
    return replace(
        window, amount=replace(given.amount, span=span), unit=replace(given.unit, span=span)
    )


def _amount(window: ast.Window, scope: Scope) -> Fraction | Placeholder | None:
    match window.amount:
        case ast.Negative():
            return _positive(Fraction(-1), window, scope)
        case ast.Parameter(name=name, span=span) as given:
            literal = bind_literal(given, scope)
            if isinstance(literal, Placeholder) or literal is None:
                return literal
            if literal.type.kind not in NUMBERS or not _is_number(literal.value):
                scope.problems.error(
                    "bad-parameter",
                    f"a window is a number, and `:{name}` is {literal.type.described()}",
                    span,
                    _valid(name, window),
                )
                return None
            return _positive(as_written(literal.value), window, scope)
        case amount:
            return _positive(exact(amount), window, scope)


def _valid(name: str, window: ast.Window) -> str:
    """The values of the parameter of a window that are valid."""
    number = f"give a number:  {parameter(name, '500')}"
    if window.events:
        return number
    duration = parameter(name, spelled("timedelta(minutes=5)", '"5 minutes"'))
    place = "in place of the number and its unit" if window.unit else "with its unit"
    return f"{number} , or a duration {place}:  {duration}"


def _is_number(value: Scalar) -> TypeGuard[int | float | Decimal]:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return False
    return math.isfinite(value)


def _positive(amount: Fraction, window: ast.Window, scope: Scope) -> Fraction | None:
    if amount > 0:
        return amount
    scope.problems.error(
        "bad-window",
        "a window must be longer than nothing",
        window.amount.span,
        "a match lies in it if its last event comes less than the window after its first",
    )
    return None


def _unit(window: ast.Window, scope: Scope) -> str | None:
    if window.unit is None:
        return None
    unit = UNITS.get(window.unit.text)
    if unit is None:
        scope.problems.add(unknown_unit(window.unit.text, window.unit.span, scope.problems.source))
    elif scope.schema.time_type.kind is Kind.INTEGER and scope.schema.time_unit is None:
        unit_of_integer_time(window.unit.span, scope)
    return unit


def _check_plain_number(window: ast.Window, scope: Scope) -> None:
    """Refuse a window without a unit unless times are integers: only these count raw units."""
    time = scope.schema.time_type
    if window.unit is None and not window.events and time.usual_unit is not None:
        written = to_text(replace(window, unit=ast.Name(time.usual_unit)))
        scope.problems.error(
            "window-without-unit",
            f"a window without a unit counts integer times, and `{scope.schema.time}` is"
            f" {time.described()}",
            window.amount.span,
            f"write  WITHIN {written}",
        )


def _size(amount: Fraction, unit: str | None, window: ast.Window, scope: Scope) -> int | None:
    """The window in raw units, rounded so that comparisons stay exact."""
    if unit is not None:
        if scope.schema.nanoseconds is None:
            return None
        amount = amount * NANOSECONDS[unit] / scope.schema.nanoseconds
    rounded = math.floor(amount) if window.inclusive else math.ceil(amount)
    if rounded < 1:
        scope.problems.error(
            "bad-window",
            "an INCLUSIVE window is rounded down to whole units of time, here to nothing",
            window.amount.span,
            "leave INCLUSIVE out, or make the window longer",
        )
    return min(rounded, INT64_MAX)


def check_negations(branch: BoundBranch, window: ast.Window | None, scope: Scope) -> None:
    """Check that a negated start or end has a window, and a negated end one in time."""
    if all(component.negated for component in branch.components):
        return  # already an error
    for component in branch.components:
        if component.negated:
            _check_place(branch.components, component, component.index, window, scope)
    for negation in branch.negations:
        _check_place(branch.components, negation, negation.position, window, scope)


def _check_place(
    components: tuple[BoundComponent, ...],
    element: BoundComponent | BoundNegation,
    position: int,
    window: ast.Window | None,
    scope: Scope,
) -> None:
    """Check the place of a negative element; `position` is the number of components before it."""
    before = [c for c in components[:position] if not c.negated]
    after = [c for c in components[position:] if not c.negated]
    if all(c.minimum == 0 for c in after):
        _check_edge(element, "end", after, window, scope)
    elif all(c.minimum == 0 for c in before):
        _check_edge(element, "start", before, window, scope)


def _check_edge(
    element: BoundComponent | BoundNegation,
    edge: str,
    passed_over: list[BoundComponent],
    window: ast.Window | None,
    scope: Scope,
) -> None:
    side = {"start": "before", "end": "after"}[edge]
    what, forbidden = "negative component", "the event"
    if isinstance(element, BoundNegation):
        what, forbidden = "negative group", "its events"
    if passed_over:
        names = ", ".join(c.variable for c in passed_over)
        place = f"this {what} can come to the {edge}, when {names} binds nothing"
    else:
        place = f"this {what} is at the {edge} of the pattern"
    if window is None:
        scope.problems.error(
            "unbounded-negation",
            f"{place}: without WITHIN it would forbid {forbidden} for all time {side} the match",
            element.span,
            "add a window, such as  WITHIN 1 hour",
        )
    elif edge == "end" and window.events:
        scope.problems.error(
            "negated-end-in-events",
            f"{place}, and a window in EVENTS does not say until when to wait for the absence",
            element.span,
            "give the window in time, such as  WITHIN 1 hour",
        )
