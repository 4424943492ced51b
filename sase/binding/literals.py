"""Convert literals and parameters to typed constants."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction

from sase.binding.bound import Constant, Placeholder, Scalar
from sase.binding.folding import INT64_MAX
from sase.binding.scope import Scope, unknown
from sase.binding.types import (
    BOOLEAN,
    FLOAT,
    INTEGER,
    INTERVAL,
    NULL,
    STRING,
    TIMESTAMP,
    UNKNOWN,
    DataType,
)
from sase.lang import ast
from sase.lang.units import NANOSECONDS, UNITS, unknown_unit
from sase.nearest import did_you_mean

_TIMESTAMP = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d)?)(\.\d{1,9})?\s*(Z|[+-]\d\d:?\d\d)?)?",
    re.IGNORECASE,
)


def bind_literal(node: ast.Expression, scope: Scope) -> Constant | Placeholder | None:
    """The constant of a literal, or None where the node is something else."""
    span = node.span
    match node:
        case ast.Integer(value=value):
            return _integer(node, value, scope)
        case ast.Float(value=number):
            return Constant(FLOAT, number, span=span)
        case ast.Percentage(amount=amount):
            return Constant(FLOAT, amount.value / 100, span=span)
        case ast.String(value=text):
            return Constant(STRING, text, span=span)
        case ast.Boolean(value=truth):
            return Constant(BOOLEAN, truth, span=span)
        case ast.Null():
            return Constant(NULL, None, span=span)
        case ast.Timestamp(text=text) | ast.Date(text=text):
            return _timestamp(node, text, scope)
        case ast.Interval():
            return _interval(node, scope)
        case ast.Parameter():
            return _parameter(node, scope)
    return None


def _integer(node: ast.Integer, value: int, scope: Scope) -> Constant | Placeholder:
    # One more than the largest: the digits of the smallest, which have a minus before them.
    if value <= INT64_MAX + 1:
        return Constant(INTEGER, value, span=node.span)
    return scope.refuse(
        "integer-out-of-range",
        f"{value} is beyond the integers of 64 bits",
        node.span,
        f"integers go from {-INT64_MAX - 1} to {INT64_MAX}; as a float write  {float(value)!r}",
    )


def _timestamp(node: ast.Timestamp | ast.Date, text: str, scope: Scope) -> Constant | Placeholder:
    found = _TIMESTAMP.fullmatch(text.strip())
    word = "DATE" if isinstance(node, ast.Date) else "TIMESTAMP"
    from datetime import UTC, datetime, timedelta

    if found and not (word == "DATE" and found[2]):
        day, clock, fraction, zone = found.groups()
        zone = "+00:00" if not zone or zone in "Zz" else zone
        try:
            moment = datetime.fromisoformat(f"{day}T{clock or '00:00'}{zone}")
        except ValueError:
            pass  # such as the 30th of February: the message below says so
        else:
            seconds = (moment - datetime.fromtimestamp(0, UTC)) // timedelta(seconds=1)
            nanoseconds = int((fraction or ".0")[1:].ljust(9, "0"))
            return Constant(TIMESTAMP, seconds * 10**9 + nanoseconds, span=node.span)
    return scope.refuse(
        "bad-timestamp",
        f"{text!r} is not a {'date' if word == 'DATE' else 'point in time'}",
        node.span,
        "write  DATE '2026-01-31'"
        if word == "DATE"
        else "write  TIMESTAMP '2026-01-31 23:59:59.5' , with a zone  '2026-01-31T23:59:59+01:00'",
    )


def _interval(node: ast.Interval, scope: Scope) -> Constant | Placeholder:
    unit = UNITS.get(node.unit.text)
    if unit is None:
        scope.problems.add(unknown_unit(node.unit.text, node.unit.span, scope.problems.source))
        return unknown(node)
    nanoseconds = exact(node.amount) * NANOSECONDS[unit]
    if abs(nanoseconds) > INT64_MAX * 10**9:
        return scope.refuse(
            "integer-out-of-range",
            "this interval is longer than all of time",
            node.span,
            f"times go up to {INT64_MAX} seconds",
        )
    return Constant(INTERVAL, round(nanoseconds), span=node.span)


def exact(amount: ast.Integer | ast.Float) -> Fraction:
    """A number exactly as it is written."""
    if isinstance(amount, ast.Integer):
        return Fraction(amount.value)
    return Fraction(Decimal(repr(min(amount.value, 1e300))))


def _parameter(node: ast.Parameter, scope: Scope) -> Constant | Placeholder:
    given = scope.parameters
    if given is None:
        return Placeholder(UNKNOWN, node.name, span=node.span)
    if node.name not in given:
        return scope.refuse(
            "missing-parameter",
            f"no value is given for the parameter `:{node.name}`",
            node.span,
            *did_you_mean(node.name, given),
            f'give it with  params={{"{node.name}": …}}',
        )
    found = constant(given[node.name])
    if found is None:
        kind, shown = type(given[node.name]).__name__, repr(given[node.name])[:40]
        return scope.refuse(
            "bad-parameter",
            f"the parameter `:{node.name}` is no literal of the language: a {kind}, {shown}",
            node.span,
            "give a bool, an int of 64 bits, float, str, None, datetime, date or timedelta",
        )
    return Constant(found[0], found[1], span=node.span)


def constant(value: object) -> tuple[DataType, Scalar] | None:
    """A Python value as a literal: its type and its constant; None where there is none."""
    from datetime import UTC, date, datetime, timedelta

    match value:
        case None:
            return NULL, None
        case bool():
            return BOOLEAN, value
        case int() if -INT64_MAX - 1 <= value <= INT64_MAX:
            return INTEGER, value
        case float():
            return FLOAT, None if value != value else value
        case str():
            return STRING, value
        case datetime():
            aware = value if value.tzinfo else value.replace(tzinfo=UTC)
            since = aware - datetime.fromtimestamp(0, UTC)
            return TIMESTAMP, since // timedelta(microseconds=1) * 1000
        case date():
            days = value.toordinal() - date(1970, 1, 1).toordinal()
            return TIMESTAMP, days * NANOSECONDS["days"]
        case timedelta():
            return INTERVAL, value // timedelta(microseconds=1) * 1000
    return None


def constants(given: Mapping[str, object]) -> tuple[tuple[str, Constant], ...]:
    """The values of parameters as constants by name, of those that are literals."""
    found = ((name, constant(value)) for name, value in sorted(given.items()))
    return tuple((name, Constant(*known)) for name, known in found if known is not None)
