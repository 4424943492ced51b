"""Rare operations of programs, as kernels that the loops call by address.

They are large and not linked into the loops. The writer of a program stores the addresses that it
needs, which compiles those kernels.
"""

from __future__ import annotations

from enum import IntEnum

from sase.engine.kernels.expressions import functions
from sase.engine.kernels.expressions import operations as do
from sase.engine.kernels.expressions.operations import LAST_CHANGE, LAST_JOIN, LAST_PUT, Op, Value
from sase.engine.kernels.jit.compiler import address_of, by_address, kernel, linked
from sase.engine.kernels.jit.signatures import IntRows


@kernel
def ordered(left: Value, right: Value) -> int:
    """The order of two values of any kinds."""
    return int(do.order(left, right))


@kernel
def calculated(operation: int, left: Value, right: Value) -> Value:
    """Apply an operation to two values, or to the left one."""
    if operation <= LAST_JOIN:
        return do.joined(operation, left, right)
    return do.changed(operation, left)


@kernel
def applied(operation: int, left: Value, right: Value) -> Value:
    """Apply a function to two values, or to the left one."""
    if operation <= LAST_JOIN:
        return functions.applied_to_two(operation, left, right)
    return functions.applied(operation, left)


@kernel
def calculated_simply(operation: int, left: Value, right: Value) -> Value:
    """Apply an operation to values without a scale, which takes far less time to compile."""
    if left[0] >= do.EXACT or right[0] >= do.EXACT:
        raise RuntimeError("a value has a scale where none was foreseen")
    if operation <= LAST_JOIN:
        return do.joined_simply(operation, left, right)
    return do.changed_simply(left)


@kernel
def chosen_simply(operation: int, left: Value, right: Value) -> Value:
    """Choose one of two values of one tag, or without a scale."""
    if not do.is_simple(left, right):
        raise RuntimeError("a value has a scale where none was foreseen")
    return do.chosen(operation, left, right, do.order_simply(right, left))


@kernel
def rounded(value: Value) -> float:
    """The float64 nearest to a number that is not NULL."""
    return float(do.as_float(value))


def _interpreted(operation: int, left: Value, right: Value) -> Value:
    """Apply any operation, where the interpreter runs the loops."""
    return (applied if operation in _FUNCTIONS else calculated)(operation, left, right)


order_at, round_at = by_address(ordered), by_address(rounded)
calculate_at = by_address(calculated, interpreted=_interpreted)


class Called(IntEnum):
    """The kernels that an operation of a program may call."""

    NOTHING = 0
    ORDERED = 1
    CALCULATED = 2
    CALCULATED_SIMPLY = 3
    CHOSEN_SIMPLY = 4
    APPLIED = 5


_KERNELS = {
    Called.ORDERED: ordered,
    Called.CALCULATED: calculated,
    Called.CALCULATED_SIMPLY: calculated_simply,
    Called.CHOSEN_SIMPLY: chosen_simply,
    Called.APPLIED: applied,
}

# Operations in `functions`.
_FUNCTIONS = frozenset(
    each for each in Op if Op.POWER <= each < Op.COALESCE or Op.FLOOR <= each <= Op.SIGN
)


def called(operation: Op, *, mixes: bool) -> Called:
    """The kernel that an operation calls; `mixes`: its values may have different scales."""
    if operation in (Op.COMPARE, Op.BETWEEN, Op.IN):
        return Called.ORDERED if mixes else Called.NOTHING
    if operation in (Op.LOOKUP, Op.IN_ZONE) or not LAST_PUT < operation <= LAST_CHANGE:
        return Called.NOTHING
    if operation in _FUNCTIONS:
        return Called.APPLIED
    if mixes:
        return Called.CALCULATED
    is_choice = Op.COALESCE <= operation <= LAST_JOIN
    return Called.CHOSEN_SIMPLY if is_choice else Called.CALCULATED_SIMPLY


def address_for(what: Called) -> int:
    """The address of a kernel; 0 for none."""
    return address_of(_KERNELS[what]) if what in _KERNELS else 0


# ---------------------------------------------------------------- fast paths inside the loops


@linked
def taken(values: IntRows, place: int) -> Value:
    """Read a value of the stack."""
    return int(values[place, 0]), int(values[place, 1])


@linked
def side_of(address: int, left: Value, right: Value) -> int:
    """The order of two values; fast for values of one tag that are not floats."""
    if left[0] == right[0] and left[0] != do.FLOAT and left[0] != do.NULL:
        return (left[1] > right[1]) - (left[1] < right[1])
    if do.is_simple(left, right):
        return do.order_simply(left, right)
    return int(order_at(address, left, right))


@linked
def real_of(address: int, value: Value) -> float:
    """The float64 nearest to a number that is not NULL; fast for one without a scale."""
    if value[0] <= do.EXACT:
        return do.simple_float(value)
    return float(round_at(address, value))
