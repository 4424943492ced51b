"""The table of functions and aggregates, used by binding, folding, the engine and the docs."""

# long because: it is the one list of functions, with the words that the docs have of each.

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, TypeVar

from sase.base import regular_expressions
from sase.base.time_zones import is_known
from sase.binding.types import BOOLEAN, FLOAT, INTEGER, STRING, WILD, DataType, Kind, merged
from sase.binding.values.function_values import (
    MOST_DIGITS,
    PARTS,
    exponential,
    local_time,
    logarithm,
    part_of_time,
    power,
    replaced,
    root,
    rounded,
    split_part,
    substring,
    time_of_day,
    truncated_in_zone,
    truncated_time,
    whole_number,
)
from sase.lang import ast
from sase.source import Span

Operand = TypeVar("Operand")


@dataclass(frozen=True)
class LiteralArgument:
    """An argument after the values, which is a literal: its description and its valid values.

    Kernels take the `default` if it is left out.
    """

    described: str
    accepts: Callable[[Any], bool]
    default: int = 0


@dataclass(frozen=True)
class Function:
    """A function of values.

    It takes a number of `values` (None: any number of them), then literals, the `options`; the
    `optional` last ones may be left out. `value` computes it for constants. The engine uses the
    `operation` of its kernels; a choice among values is computed pairwise. Without an operation it
    takes one text, beside literals, and `value` is called once for each distinct text. NULL
    propagates, unless it `skips_null`. Decimals become float64, unless it `is_exact`.
    """

    form: str
    says: str
    accepts: Callable[[DataType], bool]
    result: Callable[[list[DataType]], DataType]
    value: Callable[..., Any]
    operation: str | None = None
    values: int | None = 1
    skips_null: bool = False
    options: tuple[LiteralArgument, ...] = ()
    optional: int = 0
    is_exact: bool = False
    # The options come before the values.
    options_first: bool = False
    # The last operand of the operation, which is not an argument.
    constant: int | None = None
    # Its operands are pairs of a condition and a value, and a last value; NULL does not propagate.
    is_conditional: bool = False
    # The CASE that a call means.
    as_case: Callable[..., ast.Case] | None = None
    # It is a reference to a value within a nested column.
    is_reference: bool = False
    # The last option is a time zone; the engine has an operation of its own for it.
    is_of_zone: bool = False
    # Computes it for many texts at once.
    vector: Callable[..., list[Any]] | None = None
    # The reason why a combination of options is invalid.
    problem: Callable[..., str | None] | None = None

    @property
    def makes_text(self) -> bool:
        """Whether its result is a text."""
        return self.operation is None and self.result([STRING]) == STRING

    @property
    def is_choice(self) -> bool:
        """Whether it returns one of its arguments."""
        return self.operation is not None and self.values is None

    def values_of(self, operands: Sequence[Operand]) -> Sequence[Operand]:
        """The operands without the options, or without the conditions."""
        if self.is_conditional:
            return (*operands[1::2], operands[-1])
        return operands[len(self.options) :] if self.options_first else operands[: self.values]

    def options_of(self, operands: Sequence[Operand]) -> Sequence[Operand]:
        """The operands that are options."""
        if self.options_first:
            return operands[: len(self.options)]
        return () if self.values is None else operands[self.values :]

    def wrong(self, types: Sequence[DataType]) -> int | None:
        """The place of a value with a type that it does not take; options are not checked."""
        places = self.values_of(range(len(types)))
        return next((place for place in places if not self.accepts(types[place])), None)


def _is_string(data_type: DataType) -> bool:
    return data_type.compares_with(STRING)


def _is_number(data_type: DataType) -> bool:
    return data_type.is_number


def _has_size(data_type: DataType) -> bool:
    return data_type.is_number or data_type.kind is Kind.INTERVAL


def computed(data_type: DataType) -> DataType:
    """The type of an arithmetic result: float64 for decimals and floats."""
    return FLOAT if data_type.kind in (Kind.DECIMAL, Kind.FLOAT) else data_type


def signed(data_type: DataType) -> DataType:
    """The type of a value with its sign changed: a float keeps its width."""
    is_float = data_type.kind is Kind.FLOAT and data_type.scale is None
    return data_type if is_float else computed(data_type)


def _is_time(data_type: DataType) -> bool:
    return data_type.kind in (Kind.TIMESTAMP, *WILD)


def _is_whatever(_: DataType) -> bool:
    return True


def _is_any(data_type: DataType) -> bool:
    return data_type.kind is not Kind.OTHER


def _of_text(
    name: str, says: str, value: Callable[[str], str | int], result: DataType = STRING
) -> Function:
    return Function(f"{name}(x.a), of a text", says, _is_string, lambda _: result, value)


def _with_text(name: str, says: str, value: Callable[[str, str], bool]) -> Function:
    """A test of a text by a literal."""
    form = f"{name}(x.a, 'abc'), of a text"
    return Function(form, says, _is_string, _boolean, value, options=(_TEXT,))


def _is_member(value: object) -> bool:
    if isinstance(value, int | float | Decimal):
        return -math.inf < value < math.inf
    return isinstance(value, str)


def _boolean(_: list[DataType]) -> DataType:
    return BOOLEAN


def _text(_: list[DataType]) -> DataType:
    return STRING


def _choice(name: str, form: str, says: str, value: Callable[..., Any]) -> Function:
    form = f"{form}, all of one kind"
    return Function(form, says, _is_any, merged, value, name.upper(), values=None, skips_null=True)


def _as_case(form: str, says: str, as_case: Callable[..., ast.Case], values: int) -> Function:
    return Function(form, says, _is_any, merged, lambda *_: None, "CASE", values, as_case=as_case)


def _first_that_holds(*operands: Any) -> Any:
    *pairs, otherwise = operands
    chosen = (value for truth, value in zip(pairs[::2], pairs[1::2], strict=True) if truth)
    return next(chosen, otherwise)


def _of_number(
    name: str,
    says: str,
    value: Callable[[Any], Any],
    result: Callable[[list[DataType]], DataType],
    *,
    is_exact: bool = False,
) -> Function:
    form = f"{name}(x.a), of a number"
    return Function(form, says, _is_number, result, value, name.upper(), is_exact=is_exact)


def _float(_: list[DataType]) -> DataType:
    return FLOAT


def _kept(types: list[DataType]) -> DataType:
    """The type of a rounded number: that of the number, but of floats float64."""
    return replace(types[0], width=None)


# Characters of a pattern of LIKE, or of a regular expression.
LONGEST_PATTERN = 4096

# ---------------------------------------------------------------- the table

_DIGITS = LiteralArgument(
    f"a whole number from 0 to {MOST_DIGITS}",
    lambda each: type(each) is int and 0 <= each <= MOST_DIGITS,
)
_TEXT = LiteralArgument("a text", lambda each: isinstance(each, str))
_PART_OF_TEXT = LiteralArgument(
    "a text that is not empty", lambda each: isinstance(each, str) and each != ""
)
_PLACE = LiteralArgument("a whole number from 1 on", lambda each: type(each) is int and each >= 1)
_COUNT = LiteralArgument("a whole number from 0 on", lambda each: type(each) is int and each >= 0)
_PATTERN = LiteralArgument(
    f"a regular expression of at most {LONGEST_PATTERN:,} characters",
    lambda each: isinstance(each, str) and len(each) <= LONGEST_PATTERN,
)
TRUNCATED = tuple(name for name in PARTS if name != "weekday")
_UNIT = LiteralArgument(
    f"one of {', '.join(TRUNCATED)}",
    lambda each: isinstance(each, str) and each.lower() in TRUNCATED,
)
_ZONE = LiteralArgument(
    "a time zone, such as Europe/Berlin", lambda each: isinstance(each, str) and is_known(each)
)
# Names of functions that are not called by a name.
IN_ZONE, TRUNCATED_IN_ZONE = "AT TIME ZONE", "date_trunc AT TIME ZONE"
_GROUP = LiteralArgument(
    f"a whole number from 0 to {regular_expressions.MOST_GROUP}",
    lambda each: type(each) is int and 0 <= each <= regular_expressions.MOST_GROUP,
)


FUNCTIONS = {
    "abs": Function(
        "abs(x.a), of a number",
        "the size of a number or of an interval",
        _has_size,
        lambda types: signed(types[0]),
        abs,
        "ABSOLUTE",
    ),
    "round": Function(
        "round(x.a, 2), of a number",
        "the nearest number with at most 2 digits after the point; without the 2, the nearest whole"
        " number; ties are rounded away from zero",
        _is_number,
        _kept,
        rounded,
        "ROUND",
        options=(_DIGITS,),
        optional=1,
        is_exact=True,
    ),
    "floor": _of_number(
        "floor", "the greatest whole number up to it", whole_number(down=True), _kept, is_exact=True
    ),
    "ceil": _of_number(
        "ceil", "the least whole number from it on", whole_number(down=False), _kept, is_exact=True
    ),
    "sqrt": _of_number("sqrt", "the square root; NULL of a negative number", root, _float),
    "power": Function(
        "power(x.a, y.b), of two numbers",
        "`x.a` to the power of `y.b`; NULL where that divides by zero or is no real number",
        _is_number,
        _float,
        power,
        "POWER",
        values=2,
    ),
    "ln": _of_number(
        "ln", "the natural logarithm; NULL of zero and of a negative number", logarithm, _float
    ),
    "exp": _of_number("exp", "e to the power of it", exponential, _float),
    "sign": _of_number(
        "sign",
        "1, 0 or -1",
        lambda number: (number > 0) - (number < 0),
        lambda _: INTEGER,
        is_exact=True,
    ),
    "lower": _of_text("lower", "the text in lower case", str.lower),
    "upper": _of_text("upper", "the text in upper case", str.upper),
    "length": _of_text("length", "the number of code points", len, INTEGER),
    "trim": _of_text("trim", "the text without white space at both ends", str.strip),
    "concat": Function(
        "concat('abc', x.a, …), of texts",
        "the joined texts; NULLs are skipped, and all but one are literals",
        _is_string,
        _text,
        lambda *texts: "".join(texts),
        values=None,
        skips_null=True,
    ),
    "substring": Function(
        "substring(x.a, 2, 3), of a text",
        "3 characters, beginning with the second; without the 3, all characters from the second to"
        " the end",
        _is_string,
        _text,
        substring,
        options=(_PLACE, _COUNT),
        optional=1,
    ),
    "replace": Function(
        "replace(x.a, 'ab', 'c'), of a text",
        "the text with each `ab` replaced, from the left; NULL if that has more than 1,048,576"
        " characters",
        _is_string,
        _text,
        replaced,
        options=(_PART_OF_TEXT, _TEXT),
    ),
    "split_part": Function(
        "split_part(x.a, ',', 2), of a text",
        "the second part between commas; empty if there are fewer",
        _is_string,
        _text,
        split_part,
        options=(_PART_OF_TEXT, _PLACE),
    ),
    "starts_with": _with_text("starts_with", "whether it begins with `abc`", str.startswith),
    "ends_with": _with_text("ends_with", "whether it ends with `abc`", str.endswith),
    "contains": _with_text("contains", "whether `abc` is a part of it", str.__contains__),
    "regexp_matches": Function(
        "regexp_matches(x.a, '^a+$'), of a text",
        "whether a part of it matches a regular expression of RE2",
        _is_string,
        _boolean,
        lambda text, pattern: regular_expressions.matches([text], pattern)[0],
        options=(_PATTERN,),
        vector=regular_expressions.matches,
        problem=regular_expressions.problem,
    ),
    "regexp_extract": Function(
        "regexp_extract(x.a, 'a(b+)', 1), of a text",
        "the first part that matches, or group 1 of it; NULL without a match",
        _is_string,
        _text,
        lambda text, *how: regular_expressions.extracts([text], *how)[0],
        options=(_PATTERN, _GROUP),
        optional=1,
        vector=regular_expressions.extracts,
        problem=regular_expressions.problem,
    ),
    **{
        name: Function(
            f"{name}(x.ts), of a time",
            says,
            _is_time,
            lambda _: INTEGER,
            part_of_time(name),
            "TIME_PART",
            constant=number,
        )
        for number, (name, (says, _)) in enumerate(PARTS.items())
    },
    "time_of_day": Function(
        "time_of_day(x.ts), of a time",
        "the time since midnight, an interval; `TIME '08:00'` is one",
        _is_time,
        lambda types: replace(types[0], kind=Kind.INTERVAL, zoned=None, zone=None),
        time_of_day,
        "TIME_PART",
        constant=len(PARTS),
    ),
    # As `x.ts AT TIME ZONE 'Europe/Berlin'`.
    IN_ZONE: Function(
        "x.ts AT TIME ZONE 'Europe/Berlin', of a time with a zone",
        "the time that clocks of this zone show, without a zone",
        _is_time,
        lambda types: replace(types[-1], zoned=False, zone=None),
        local_time,
        "IN_ZONE",
        options=(_ZONE,),
        options_first=True,
        is_of_zone=True,
    ),
    TRUNCATED_IN_ZONE: Function(
        "date_trunc('hour', x.ts), of a time with a zone",
        "the begin of the hour in this zone",
        _is_time,
        lambda types: types[-1],
        truncated_in_zone,
        "IN_ZONE",
        options=(_UNIT, _ZONE),
        options_first=True,
        is_of_zone=True,
    ),
    "date_trunc": Function(
        "date_trunc('hour', x.ts), of a time",
        "the begin of the hour, in the zone of the time; also of"
        f" {', '.join(each for each in TRUNCATED if each != 'hour')}",
        _is_time,
        lambda types: types[-1],
        truncated_time,
        "TIME_TRUNCATE",
        options=(_UNIT,),
        options_first=True,
    ),
    "list_contains": Function(
        "list_contains(x.tags, 'a'), of a list",
        "whether a list has the value; NULL of no list",
        lambda data_type: data_type.is_list or data_type.kind is Kind.UNKNOWN,
        _boolean,
        lambda *_: None,
        options=(LiteralArgument("a text, a number or a truth value", _is_member),),
        is_reference=True,
    ),
    "case": Function(
        "CASE WHEN x.a = 'abc' THEN 1 ELSE 2 END, with values of one kind",
        "the value of the first condition that holds, and of ELSE if none does; without ELSE NULL",
        _is_any,
        lambda types: merged([*types[1::2], types[-1]]),
        _first_that_holds,
        "CASE",
        values=None,
        is_conditional=True,
    ),
    "if": _as_case(
        "if(x.a = 'abc', 1, 2), with values of one kind",
        "1 if the condition holds, else 2",
        lambda condition, value, other: ast.Case((condition,), (value,), other),
        values=3,
    ),
    "nullif": _as_case(
        "nullif(x.a, 'abc'), of one kind",
        "the value, or NULL if both are equal",
        lambda value, other: ast.Case(
            (ast.Comparison("=", value, other, span=Span(value.span.start, other.span.end)),),
            (ast.Null(span=value.span),),
            value,
        ),
        values=2,
    ),
    "coalesce": _choice(
        "coalesce",
        "coalesce(x.a, x.b, …)",
        "the first value that is not NULL",
        lambda *values: values[0],
    ),
    "least": _choice(
        "least",
        "least(x.a, y.a, …)",
        "the least value; NULLs are skipped",
        lambda *values: min(values),
    ),
    "greatest": _choice(
        "greatest",
        "greatest(x.a, y.a, …)",
        "the greatest value; NULLs are skipped",
        lambda *values: max(values),
    ),
}


def chooses(name: str) -> bool:
    """Whether an operation is a function that returns one of its arguments."""
    return name in FUNCTIONS and FUNCTIONS[name].is_choice


def is_of_time(name: str) -> bool:
    """Whether an operation is a function of the time that a clock shows."""
    found = FUNCTIONS.get(name)
    return found is not None and found.accepts is _is_time and not found.is_of_zone


def shown(name: str) -> str:
    """The name of a function as it is written."""
    return "CASE" if name == "case" else name.removesuffix(f" {IN_ZONE}")


def is_of_clock(name: str) -> bool:
    """Whether an operation depends on a zone, or must know that a time has none."""
    return is_of_time(name) or (name in FUNCTIONS and FUNCTIONS[name].is_of_zone)


def part_number(name: str) -> int:
    """The number of a part of a time in kernels."""
    return [*PARTS].index(name.lower())


def is_exact(name: str) -> bool:
    """Whether an operation is a function that keeps decimals."""
    return name in FUNCTIONS and FUNCTIONS[name].is_exact


def _same(data_type: DataType) -> DataType:
    return data_type


@dataclass(frozen=True)
class AggregateFunction:
    """A function over a range of a series: the types that it accepts, and its result's type.

    `value` names the statistic that kernels compute over the events of a run: a constant of
    `engine/kernels/kleene/run_nodes.py`. A function without it means one event.
    """

    accepts: Callable[[DataType], bool]
    result: Callable[[DataType], DataType]
    value: str | None = None


AGGREGATES = {
    "avg": AggregateFunction(_is_number, lambda _: FLOAT, "AVERAGE"),
    "sum": AggregateFunction(_is_number, computed, "SUM"),
    "min": AggregateFunction(_is_any, _same, "LEAST"),
    "max": AggregateFunction(_is_any, _same, "MOST"),
    "count": AggregateFunction(_is_whatever, lambda _: INTEGER, "NUMBERS"),
    "first": AggregateFunction(_is_whatever, _same),
    "last": AggregateFunction(_is_whatever, _same),
    "stddev": AggregateFunction(_is_number, lambda _: FLOAT, "DEVIATION"),
}
