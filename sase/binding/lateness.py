"""Convert durations to raw time units: numbers, timedeltas, or texts."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from fractions import Fraction
from typing import NamedTuple, NoReturn, TypeAlias

from sase.binding.folding import INT64_MAX
from sase.binding.literals import exact
from sase.binding.schema import Schema
from sase.binding.types import DataType, Kind
from sase.errors import BindingError, PlanError, QuerySyntaxError
from sase.lang import ast
from sase.lang.parser import parse_condition
from sase.lang.units import NANOSECONDS, UNITS, unknown_unit
from sase.source import Source

# What the values of integer times say that they count, where there are some.
UnitHint: TypeAlias = Callable[[], str | None]


def no_hint() -> None:
    """Of a schema without events."""


def lateness_in(given: object, schema: Schema, hint: UnitHint = no_hint) -> int:
    """The allowed lateness in raw units of the time column, rounded up where it is not whole."""
    negative = "an event cannot be less than no time late"
    return duration_in("lateness", given, schema, negative, hint=hint)


def with_longest(schema: Schema, given: object, hint: UnitHint = no_hint) -> Schema:
    """A schema with the length that no interval exceeds; without one as it is."""
    if given is None:
        return schema
    if schema.until is None:
        raise PlanError(
            f"longest={given!r} is how long an interval may be, and these events have one time,"
            f' `{schema.time}`: leave it out, or name two columns, as in  time=("lo", "hi")'
        )
    negative = "no interval is shorter than nothing"
    whole = duration_in("longest", given, schema, negative, math.floor, hint)
    if schema.longest not in (None, whole):
        raise PlanError(
            f"longest={given!r} is not what the Schema says, which is longest={schema.longest}:"
            " say it there, and leave it out here"
        )
    return replace(schema, longest=whole)


def duration_in(
    option: str,
    given: object,
    schema: Schema,
    negative: str,
    rounded: Callable[[Fraction], int] = math.ceil,
    hint: UnitHint = no_hint,
) -> int:
    """A duration in raw units of the time column, rounded up.

    `negative` is the message that refuses a negative one.
    """
    reading = _Reading(option, given, negative)
    amount, unit = reading.read()
    if amount < 0:
        reading.refuse_negative()
    if unit is not None:
        if schema.nanoseconds is None:
            reading.refuse_unit(schema, hint)
        amount = amount * NANOSECONDS[unit] / schema.nanoseconds
    elif amount:
        refuse_plain_number(given, schema.time, schema.time_type, option)
    return min(rounded(amount), INT64_MAX)


def refuse_plain_number(
    given: object, column: str, time: DataType, option: str = "lateness"
) -> None:
    """Refuse a duration without a unit unless times are integers, and suggest a unit."""
    if time.usual_unit is not None:
        raise PlanError(
            f"{option}={given!r} counts integer times, and `{column}` is {time.described()}: give a"
            f' unit, such as  "{given} {time.usual_unit}"'
        )


class _Reading(NamedTuple):
    """An option's value, and the message if it is negative."""

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
            such = 'such as  time_unit="ms"  (--time-unit ms)'
            remedy = f"{hint() or f'say what `{schema.time}` counts, {such}'}, or give raw units"
        else:
            remedy = "compile the query with the schema of the events, or give raw units"
        raise PlanError(
            f"{self.option}={self.given!r} has a unit, and what time counts is not known: {remedy}"
        )
