"""Conditions on single events as expressions of Spark SQL, to filter rows before a shuffle.

Spark may pass more rows than the engine, but never fewer. A condition that Spark might decide
differently is not pushed.
"""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as sf
from pyspark.sql import types as st

from sase.base.paths import path_of
from sase.binding import bound
from sase.binding.types import Kind
from sase.binding.values.folding import COMPARISONS, INT64_MAX, INT64_MIN
from sase.lang.ast import TURNED
from sase.spark.reading.columns import FLOATS, INTEGERS, all_of, any_of
from sase.spark.reading.source import Frame

# Every integer up to this one is exact in a float64.
_MOST_EXACT = 2**53


def as_column(condition: bound.Condition, frame: Frame) -> Column | None:
    """A condition as an expression of Spark; None if only the engine can decide it."""
    match condition:
        case bound.All(operands):
            known = [each for each in (as_column(o, frame) for o in operands) if each is not None]
            return all_of(known) if known else None
        case bound.Any(operands):
            return _any_pushed([as_column(operand, frame) for operand in operands])
        case bound.Comparison(operator, bound.Constant() as left, right):
            return _compared(TURNED[operator], right, left, frame)
        case bound.Comparison(operator, left, bound.Constant() as right):
            return _compared(operator, left, right, frame)
        case bound.Between(
            operand, bound.Constant() as low, bound.Constant() as high, negated=False
        ):
            above = _compared(">=", operand, low, frame)
            below = _compared("<=", operand, high, frame)
            return None if above is None or below is None else above & below
        case bound.Membership(operand, values, negated=False):
            each_known = [
                _compared("=", operand, value, frame) if isinstance(value, bound.Constant) else None
                for value in values
            ]
            return _any_pushed(each_known)
        case bound.NullTest(bound.Reference() as operand, negated):
            value = _attribute(operand, frame)
            if value is None or isinstance(frame.kind(operand.attribute), FLOATS):
                return None  # to the engine, NaN is NULL
            return value.isNotNull() if negated else value.isNull()
    return None


def _any_pushed(columns: list[Column | None]) -> Column | None:
    """Whether one of several conditions holds; None if Spark cannot decide all of them."""
    known = [each for each in columns if each is not None]
    return any_of(known) if len(known) == len(columns) else None


def _compared(
    operator: str, left: bound.Expression, right: bound.Constant, frame: Frame
) -> Column | None:
    if not isinstance(left, bound.Reference):
        return None
    value, other = _attribute(left, frame), right.value
    if value is None or not _is_exact(frame.kind(left.attribute), other):
        return None
    compared: Column = COMPARISONS[operator](value, sf.lit(other))
    return compared


def _attribute(reference: bound.Reference, frame: Frame) -> Column | None:
    """An attribute that every type declares; else a condition may be true without it."""
    path = path_of(reference.attribute)
    if reference.undeclared_by != frozenset() or reference.attribute not in frame:
        return None
    if path is not None and path.member is not None:
        return None  # Spark compares some numbers otherwise
    is_float = isinstance(frame.kind(reference.attribute), FLOATS)
    if is_float != (reference.type.kind is Kind.FLOAT):
        return None  # conditions read times in seconds as microseconds
    return frame[reference.attribute]


def _is_exact(kind: st.DataType, value: object) -> bool:
    """Whether Spark compares values of a type with a literal as the engine does."""
    match value:
        case bool() | None:
            return False
        case int():
            if isinstance(kind, FLOATS):
                return abs(value) <= _MOST_EXACT
            return isinstance(kind, INTEGERS) and INT64_MIN <= value <= INT64_MAX
        case float():
            return isinstance(kind, FLOATS) and value == value
        case str():
            return isinstance(kind, st.StringType) and kind.isUTF8BinaryCollation()
    return False
