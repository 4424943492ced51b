"""The table of functions and aggregates, used by binding, folding, the engine and the docs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sase.binding.types import FLOAT, INTEGER, STRING, DataType, Kind, merged


@dataclass(frozen=True)
class Function:
    """A function of values.

    `value` computes it for constants. The engine uses the `operation` of its kernels; a variadic
    function is computed pairwise. Without an operation it takes one text, and `value` is called
    once for each distinct text. NULL propagates, unless it `skips_null`.
    """

    form: str
    says: str
    accepts: Callable[[DataType], bool]
    result: Callable[[list[DataType]], DataType]
    value: Callable[..., Any]
    operation: str | None = None
    most: int | None = 1
    skips_null: bool = False

    @property
    def makes_text(self) -> bool:
        """Whether its result is a text."""
        return self.operation is None and self.result([STRING]) == STRING


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


def _is_whatever(_: DataType) -> bool:
    return True


def _is_any(data_type: DataType) -> bool:
    return data_type.kind is not Kind.OTHER


def _of_text(
    name: str, says: str, value: Callable[[str], str | int], result: DataType = STRING
) -> Function:
    return Function(f"{name}(x.a), of a text", says, _is_string, lambda _: result, value)


def _choice(name: str, form: str, says: str, value: Callable[..., Any]) -> Function:
    form = f"{form}, all of one kind"
    return Function(form, says, _is_any, merged, value, name.upper(), most=None, skips_null=True)


FUNCTIONS = {
    "abs": Function(
        "abs(x.a), of a number",
        "the size of a number or of an interval",
        _has_size,
        lambda types: signed(types[0]),
        abs,
        "ABSOLUTE",
    ),
    "lower": _of_text("lower", "the text in lower case", str.lower),
    "upper": _of_text("upper", "the text in upper case", str.upper),
    "length": _of_text("length", "the number of code points", len, INTEGER),
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
    return name in FUNCTIONS and FUNCTIONS[name].most is None


_BEFORE = "; compute other values before, as a column"
# Functions of other languages, in lower case, and their replacements.
_FAMILIAR = (
    (
        "round floor ceil ceiling trunc truncate sqrt exp log ln power pow sign",
        f"numbers have  + - * / % , abs, least and greatest{_BEFORE}",
    ),
    ("mod", "the remainder is written  x.a % 2"),
    (
        "concat substr substring trim ltrim rtrim replace split left right reverse regexp_replace",
        f"texts have  lower, upper, length and LIKE{_BEFORE}",
    ),
    (
        "contains startswith starts_with endswith ends_with position instr regexp_like regexp"
        " matches regexp_matches",
        "texts are compared with a pattern by  x.a LIKE '%abc%' , in which  %  is any text and  _"
        "  any character",
    ),
    ("char_length", "the length of a text is  length(x.a)"),
    ("ifnull nvl isnull", "in place of NULL a value is  coalesce(x.a, 0)"),
    (
        "if iif nullif decode choose",
        f"conditions are joined by AND and OR, and no value depends on one{_BEFORE}",
    ),
    (
        "now current_timestamp current_date today getdate",
        "a query has no clock: give the time as a parameter, as in  x.ts > :now",
    ),
    ("datediff date_diff timestampdiff age", "times are subtracted:  y.ts - x.ts > 5 minutes"),
    (
        "date_trunc extract year month day hour minute second weekday dayofweek date_part strftime",
        f"times have  + , -  and comparisons{_BEFORE}",
    ),
    (
        "cast convert try_cast to_timestamp to_date to_number int float str",
        "a value has the type of its column; a time is written  TIMESTAMP '2026-01-01 12:00:00'",
    ),
    (
        "lag lead prev previous next",
        "in a series the event before is  a[i-1].x ; other events are components of their own",
    ),
    ("mean average", "of a series there is  avg(a[].x)"),
    (
        "median variance var var_samp percentile quantile mode",
        "of a series there are  avg, sum, min, max, count, first, last  and  stddev",
    ),
)
INSTEAD = {name: hint for names, hint in _FAMILIAR for name in names.split()}


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
