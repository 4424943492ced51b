"""The conditions on one event that NumPy evaluates on whole columns."""

from __future__ import annotations

from sase.binding.bound import (
    All,
    Any,
    Between,
    Comparison,
    Condition,
    Constant,
    Expression,
    Like,
    Membership,
    NullTest,
    Operation,
    Reference,
    Truth,
)
from sase.binding.types import Kind


def can_vectorize(condition: Condition) -> bool:
    """Return whether NumPy can evaluate a condition on one event."""
    match condition:
        case Truth():
            return True
        case All(operands=operands) | Any(operands=operands):
            return all(map(can_vectorize, operands))
        case Comparison(left=left, right=right):
            if _is_remainder(left):
                return _is_known(right)
            return (_is_attribute(left) and _is_known(right)) or (
                _is_attribute(right) and _is_known(left)
            )
        case Between(operand=operand, low=low, high=high):
            return _is_attribute(operand) and _is_known(low) and _is_known(high)
        case Membership(operand=operand, values=values):
            return _is_attribute(operand) and all(map(_is_known, values))
        case Like(operand=operand, pattern=pattern):
            return _is_attribute(operand) and _is_known(pattern)
        case NullTest(operand=operand):
            return _is_attribute(operand)


def _is_attribute(value: Expression) -> bool:
    return isinstance(value, Reference) and value.undeclared_by == frozenset()


def _is_remainder(value: Expression) -> bool:
    """Return whether a value is the remainder of an integer by a positive constant."""
    match value:
        case Operation(name="%", operands=(read, Constant(value=int(by)))):
            return _is_attribute(read) and read.type.kind is Kind.INTEGER and by > 0
    return False


def _is_known(value: Expression) -> bool:
    return isinstance(value, Constant) and value.value is not None
