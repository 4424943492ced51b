"""Convert an allowed lateness to raw units: of a number, a timedelta, or a duration as text."""

from __future__ import annotations

import math
from datetime import timedelta
from fractions import Fraction
from typing import NoReturn

from sase.binding.folding import INT64_MAX
from sase.binding.literals import exact
from sase.binding.schema import Schema
from sase.binding.types import DataType, Kind
from sase.errors import BindingError, PlanError, QuerySyntaxError
from sase.lang import ast
from sase.lang.parser import parse_condition
from sase.lang.units import NANOSECONDS, UNITS, unknown_unit
from sase.source import Source


def lateness_in(given: object, schema: Schema) -> int:
    """The allowed lateness in raw units of the time column, rounded up where it is not whole."""
    amount, unit = _read(given)
    if amount < 0:
        raise PlanError(f"lateness={given!r}: an event cannot be less than no time late")
    if unit is not None:
        if schema.nanoseconds is None:
            _refuse_unit(given, schema)
        amount = amount * NANOSECONDS[unit] / schema.nanoseconds
    elif amount:
        refuse_plain_number(given, schema.time, schema.time_type)
    return min(math.ceil(amount), INT64_MAX)


def refuse_plain_number(given: object, column: str, time: DataType) -> None:
    """Refuse a lateness without a unit where times are no integers, and propose one."""
    if time.usual_unit is not None:
        raise PlanError(
            f"lateness={given!r} counts integer times, and `{column}` is {time.described()}: give a"
            f' unit, such as  "{given} {time.usual_unit}"'
        )


def _read(given: object) -> tuple[Fraction, str | None]:
    match given:
        case None:
            return Fraction(0), None
        case timedelta():
            return Fraction(given // timedelta(microseconds=1)), "microseconds"
        case int() if not isinstance(given, bool):
            return Fraction(given), None
        case str():
            return _parsed(given)
    return _refuse(given)


def _parsed(text: str) -> tuple[Fraction, str | None]:
    try:
        node = parse_condition(text, "lateness")
    except QuerySyntaxError:
        _refuse(text)
    match node:
        case ast.Integer() | ast.Float():
            return exact(node), None
        case ast.Negative(ast.Integer() | ast.Float() | ast.Interval()):
            raise PlanError(f"lateness={text!r}: an event cannot be less than no time late")
        case ast.Interval(amount=amount, unit=word):
            unit = UNITS.get(word.text)
            if unit is None:
                raise BindingError([unknown_unit(word.text, word.span, Source(text, "lateness"))])
            return exact(amount), unit
    return _refuse(text)


def _refuse(given: object) -> NoReturn:
    raise PlanError(
        f"lateness={given!r} is no amount of time: give raw units of the time column as an integer,"
        ' a datetime.timedelta, or a duration such as  "5 seconds"'
    )


def _refuse_unit(given: object, schema: Schema) -> NoReturn:
    if schema.time_type.kind is Kind.INTEGER:
        remedy = f'say what `{schema.time}` counts, such as  time_unit="ms"  , or give raw units'
    else:
        remedy = "compile the query with the schema of the events, or give raw units"
    raise PlanError(f"lateness={given!r} has a unit, and what time counts is not known: {remedy}")
