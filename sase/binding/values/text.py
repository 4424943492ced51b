"""Print bound conditions and values in the syntax of queries."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import cycle

from sase.base.limits import heed
from sase.base.paths import path_of
from sase.binding import bound
from sase.binding.types import DataType, Kind
from sase.binding.values.literals import nearest_float
from sase.lang import ast
from sase.lang.printer import bounds_text, to_text
from sase.lang.units import NANOSECONDS

Names = Mapping[int, str]
_INDEX = {bound.Part.EVENT: "", bound.Part.ALL: "[]"}


def condition_text(condition: bound.Condition, names: Names) -> str:
    """The text of a condition; `names` are the variables by component index."""
    heed()
    match condition:
        case bound.Truth(value=value):
            return str(value).upper()
        case bound.All(operands=operands):
            return " AND ".join(_nested(each, names) for each in operands)
        case bound.Any(operands=operands):
            return " OR ".join(_nested(each, names) for each in operands)
        case bound.Comparison(operator=operator, left=left, right=right):
            return f"{value_text(left, names)} {operator} {value_text(right, names)}"
        case bound.Membership(operand=operand, values=values, negated=negated):
            listed = ", ".join(value_text(each, names) for each in values)
            return f"{value_text(operand, names)} {_not(negated)}IN ({listed})"
        case bound.Between(operand=operand, low=low, high=high, negated=negated):
            bounds = f"{value_text(low, names)} AND {value_text(high, names)}"
            return f"{value_text(operand, names)} {_not(negated)}BETWEEN {bounds}"
        case bound.Like(operand=operand, pattern=pattern, negated=negated):
            return f"{value_text(operand, names)} {_not(negated)}LIKE {value_text(pattern, names)}"
        case bound.NullTest(operand=operand, negated=negated):
            return f"{value_text(operand, names)} IS {_not(negated)}NULL"


def _member_text(member: str) -> str:
    """A literal that is kept as JSON."""
    return to_text(ast.String(json.loads(member))) if member[0] == '"' else member.upper()


def value_text(value: bound.Expression, names: Names) -> str:
    """The text of a value."""
    match value:
        case bound.Constant(value=None):
            return "NULL"
        case bound.Constant(value=bool(truth)):
            return str(truth).upper()
        case bound.Constant(value=str(text)):
            return quoted(text)
        case bound.Constant(interval=int(nanoseconds)):
            return interval_text(nanoseconds)
        case bound.Constant(value=int(nanoseconds), type=DataType(kind=Kind.INTERVAL)):
            return interval_text(nanoseconds)
        case bound.Constant(value=int(nanoseconds), type=DataType(kind=Kind.TIMESTAMP)):
            return _timestamp(nanoseconds)
        case bound.Constant(value=float(number), type=DataType(width=int(width))):
            texts = (str(float(f"{number:.{digits}g}")) for digits in range(1, 18))
            return next(t for t in texts if nearest_float(Decimal(t), width) == number)
        case bound.Constant(value=number):
            return str(number)
        case bound.Placeholder(name=name):
            # The length of a group with `?`, known per branch, has a dot in its name.
            return name if "." in name else f":{name}"
        case bound.Reference(attribute=attribute):
            path = path_of(attribute)
            if path is not None and path.member is not None:
                inner = replace(value, attribute=str(path._replace(member=None)))
                return f"list_contains({value_text(inner, names)}, {_member_text(path.member)})"
            return f"{_events(value, names)}.{attribute}"
        case bound.Aggregate(function=function):
            listed = ", ".join(value.attributes)
            attributes = f".({listed})" if value.others else f".{listed}" if listed else ""
            return f"{function}({_events(value, names)}{attributes})"
        case bound.EventValues(attribute=attribute, form=form, place=place):
            name = names.get(value.component, "?")
            if form == "event" and place is None:
                return f"{name}.{attribute}"
            events = f"{name}[{place or ''}].{attribute}"
            return f"median({events})" if form == "median" else events
        case bound.MatchConfidence():
            return "confidence"
        case bound.ConditionValue(condition=condition):
            return condition_text(condition, names)
        case bound.Operation(name="case", operands=(*pairs, otherwise)):
            words = (
                f"{word} {value_text(each, names)}"
                for word, each in zip(cycle(("WHEN", "THEN")), pairs, strict=False)
            )
            return " ".join(["CASE", *words, f"ELSE {value_text(otherwise, names)} END"])
        case bound.Operation(name="AT TIME ZONE", operands=(zone, operand)):
            return f"{_factor(operand, names)} AT TIME ZONE {value_text(zone, names)}"
        case bound.Operation(name="date_trunc AT TIME ZONE", operands=(unit, zone, operand)):
            listed = ", ".join(value_text(each, names) for each in (unit, operand, zone))
            return f"date_trunc({listed})"
        case bound.Operation(name="neg", operands=(operand,)):
            return f"-{_factor(operand, names)}"
        case bound.Operation(name=name, operands=(left, right)) if not name.isidentifier():
            return f"{_factor(left, names)} {name} {_factor(right, names)}"
        case bound.Operation(name=name, operands=operands):
            return f"{name}({', '.join(value_text(each, names) for each in operands)})"


def test_text(test: bound.EquivalenceTest) -> str:
    """The text of an equivalence test, without brackets."""
    fixed = "" if test.value is None else f" = {value_text(test.value, {})}"
    return f"{test.attribute}{fixed}"


def quantifier_text(component: bound.BoundComponent) -> str:
    """The quantifier of a component; empty for one event."""
    least, most = component.minimum, component.maximum
    if not component.is_series:
        return "" if least else "?"
    if most is None and least < 2:
        return "+" if least else "*"
    return bounds_text(least, most)


def window_text(window: bound.BoundWindow, form: str = ".12g", unit: str = "") -> str:
    """The text of a window; `unit` is that of an amount without one."""
    amount, kind = window.amount, window.kind
    if isinstance(amount, bound.Placeholder):
        number = f":{amount.name}"
    else:
        number = format(float(amount), form)
    kinds = {bound.WindowKind.TIME: window.unit or unit, bound.WindowKind.EVENTS: "EVENTS"}
    unit = kinds.get(kind, "EVENTS PER PARTITION")
    if amount == 1 and kind is bound.WindowKind.TIME:
        unit = unit.removesuffix("s")
    return f"{number} {unit}".strip() + (" INCLUSIVE" if window.inclusive else "")


def quoted(text: str) -> str:
    """A text as a literal."""
    return "'" + text.replace("'", "''") + "'"


def interval_text(nanoseconds: int) -> str:
    """A duration in the greatest unit of which it is a multiple."""
    sizes = reversed(NANOSECONDS.items()) if nanoseconds else [("seconds", 1)]
    unit, size = next((unit, size) for unit, size in sizes if nanoseconds % size == 0)
    return in_units(nanoseconds // size, unit)


def in_units(count: int, unit: str) -> str:
    """A number with its unit, singular for one."""
    return f"{count} {unit.removesuffix('s') if abs(count) == 1 else unit}"


def _timestamp(nanoseconds: int) -> str:
    """A point in time; nanoseconds if no calendar date exists."""
    seconds, rest = divmod(nanoseconds, 10**9)
    try:
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
    except OverflowError:
        return str(nanoseconds)
    fraction = f".{rest:09}".rstrip("0") if rest else ""
    return f"TIMESTAMP '{moment.replace(tzinfo=None).isoformat(' ')}{fraction}'"


def _events(value: bound.Reference | bound.Aggregate, names: Names) -> str:
    """The events of a value, as an indexed variable."""
    series = _series(names.get(value.component, f"#{value.component}"), value.part)
    if value.inner is None:
        return series
    inner = value.inner.name or f"#{value.inner.variable}"
    if value.part is bound.Part.CURRENT:
        return _series(inner, value.inner.part)
    return f"{series}.{inner}"


def _series(name: str, part: bound.Part) -> str:
    if part is bound.Part.LAST:
        return f"{name}[{name}.len]"
    return name + _INDEX.get(part, f"[{part.value[0]}]")


def _nested(condition: bound.Condition, names: Names) -> str:
    text = condition_text(condition, names)
    return f"({text})" if isinstance(condition, bound.All | bound.Any) else text


def _factor(value: bound.Expression, names: Names) -> str:
    text = value_text(value, names)
    is_sum = (
        isinstance(value, bound.Operation)
        and len(value.operands) == 2
        and not value.name.isidentifier()
    )
    return f"({text})" if is_sum else text


def _not(negated: bool) -> str:
    return "NOT " if negated else ""
