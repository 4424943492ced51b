"""Convert durations to raw time units: numbers, timedeltas, or texts."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from fractions import Fraction
from typing import NamedTuple, NoReturn, TypeAlias

from sase.base.interface import option
from sase.binding.schema import Schema
from sase.binding.types import DataType, Kind
from sase.binding.values.folding import INT64_MAX
from sase.binding.values.literals import exact
from sase.errors import BindingError, PlanError, QuerySyntaxError
from sase.lang import ast
from sase.lang.parser import parse_condition
from sase.lang.units import NANOSECONDS, UNITS, unknown_unit
from sase.source import Source

# Returns a hint that the values of integer times give about their unit, if there are values.
UnitHint: TypeAlias = Callable[[], str | None]


def no_hint() -> None:
    """Give no hint: the schema has no events."""


def lateness_in(value: object, schema: Schema, hint: UnitHint = no_hint) -> int:
    """Return the allowed lateness in raw units of the time column, rounded up."""
    negative = "an event cannot be less than no time late"
    return duration_in("lateness", value, schema, negative, hint=hint)


def with_longest(schema: Schema, value: object, hint: UnitHint = no_hint) -> Schema:
    """Return the schema with the greatest length of an interval; unchanged if none is given."""
    if value is None:
        return schema
    if schema.until is None:
        two = option("time", "lo", "hi")
        raise PlanError(
            f"longest={value!r} is how long an interval may be, and these events have one time,"
            f" `{schema.time}`: leave it out, or name two columns, as in  {two}"
        )
    negative = "no interval is shorter than nothing"
    whole = duration_in("longest", value, schema, negative, math.floor, hint)
    if schema.longest not in (None, whole):
        raise PlanError(
            f"longest={value!r} differs from the Schema, which has longest={schema.longest}:"
            " say it there, and leave it out here"
        )
    return replace(schema, longest=whole)


def duration_in(
    option: str,
    value: object,
    schema: Schema,
    negative: str,
    rounded: Callable[[Fraction], int] = math.ceil,
    hint: UnitHint = no_hint,
) -> int:
    """A duration in raw units of the time column, rounded up.

    `negative` is the message that refuses a negative one.
    """
    reading = _Reading(option, value, negative)
    amount, unit = reading.read()
    if amount < 0:
        reading.refuse_negative()
    if unit is not None:
        if schema.nanoseconds is None:
            reading.refuse_unit(schema, hint)
        amount = amount * NANOSECONDS[unit] / schema.nanoseconds
    elif amount:
        refuse_plain_number(value, schema.time, schema.time_type, option)
    return min(rounded(amount), INT64_MAX)


def refuse_plain_number(
    value: object, column: str, time: DataType, option: str = "lateness"
) -> None:
    """Refuse a duration without a unit unless times are integers, and suggest a unit."""
    if time.usual_unit is not None:
        raise PlanError(
            f"{option}={value!r} counts integer times, and `{column}` is {time.described()}: give a"
            f' unit, such as  "{value} {time.usual_unit}"'
        )


class _Reading(NamedTuple):
    """The value of an option, and the message for a negative one."""

    option: str
    given: object
    negative: str

    def read(self) -> tuple[Fraction, str | None]:
        match self.given:
            case None:
                return Fraction(0), None
            case timedelta():
                return Fraction(self.given // timedelta(microseconds=1)), "microseconds"
            case int() if not isinstance(self.given, bool):
                return Fraction(self.given), None
            case str():
                return self._parsed(self.given)
        return self._refuse()

    def _parsed(self, text: str) -> tuple[Fraction, str | None]:
        try:
            node = parse_condition(text, self.option)
        except QuerySyntaxError:
            self._refuse()
        match node:
            case ast.Integer() | ast.Float():
                return exact(node), None
            case ast.Negative(ast.Integer() | ast.Float() | ast.Interval()):
                self.refuse_negative()
            case ast.Interval(amount=amount, unit=word):
                unit = UNITS.get(word.text)
                if unit is None:
                    source = Source(text, self.option)
                    raise BindingError([unknown_unit(word.text, word.span, source)])
                return exact(amount), unit
        return self._refuse()

    def refuse_negative(self) -> NoReturn:
        raise PlanError(f"{self.option}={self.given!r}: {self.negative}")

    def _refuse(self) -> NoReturn:
        raise PlanError(
            f"{self.option}={self.given!r} is no amount of time: give raw units of the time column"
            ' as an integer, a datetime.timedelta, or a duration such as  "5 seconds"'
        )

    def refuse_unit(self, schema: Schema, hint: UnitHint) -> NoReturn:
        if schema.time_type.kind is Kind.INTEGER:
            such = f"such as  {option('time_unit', 'ms')}"
            remedy = f"{hint() or f'give the unit of `{schema.time}`, {such}'}, or give raw units"
        else:
            remedy = "compile the query with the schema of the events, or give raw units"
        raise PlanError(
            f"{self.option}={self.given!r} has a unit, and the unit of time is not known: {remedy}"
        )
