"""What programs seldom do, as kernels that their loops call by address.

They are large, and no part of the loops: who writes a program puts in where they are, and has those
compiled that it needs.
"""

from __future__ import annotations

from sase.engine.kernels import operations as do
from sase.engine.kernels.compiling import IntRows, address_of, distant, kernel, part
from sase.engine.kernels.operations import LAST_CHANGE, LAST_JOIN, LAST_PUT, Op, Value


@kernel
def ordered(left: Value, right: Value) -> int:
    """The order of two values of any kinds."""
    return int(do.order(left, right))


@kernel
def calculated(operation: int, left: Value, right: Value) -> Value:
    """An operation on two values, or on the left one."""
    if operation <= LAST_JOIN:
        return do.joined(operation, left, right)
    return do.changed(operation, left)


@kernel
def tested(code: IntRows, at: int, values: IntRows, place: int) -> bool:
    """A test of the values from a place of the stack on."""
    wanted, value = bool(code[at, 1] == 1), taken(values, place)
    if code[at, 0] == Op.IN:
        return do.is_in(value, code, code[at, 2], code[at, 3], wanted)
    return do.is_between(value, taken(values, place + 1), taken(values, place + 2), wanted)


@kernel
def rounded(value: Value) -> float:
    """The float64 nearest to a number that is not NULL."""
    return float(do.as_float(value))


order_at, calculate_at, test_at, round_at = (
    distant(each) for each in (ordered, calculated, tested, rounded)
)


# What operations of a program call; comparisons only where scales may differ.
CALLED = {Op.COMPARE: ordered, Op.BETWEEN: tested, Op.IN: tested} | {
    each: calculated for each in Op if LAST_PUT < each <= LAST_CHANGE and each is not Op.LOOKUP
}


def address_for(operation: Op) -> int:
    """Where that is which an operation of a program calls, or 0 if it calls nothing."""
    return address_of(CALLED[operation]) if operation in CALLED else 0


# ---------------------------------------------------------------- with what is done at once


@part
def taken(values: IntRows, place: int) -> Value:
    """A value of the stack."""
    return int(values[place, 0]), int(values[place, 1])


@part
def side_of(address: int, left: Value, right: Value) -> int:
    """The order of two values, which mostly are of one kind and no floats."""
    if left[0] == right[0] and left[0] != do.FLOAT and left[0] != do.NULL:
        return (left[1] > right[1]) - (left[1] < right[1])
    if do.is_simple(left, right):
        return do.order_simply(left, right)
    return int(order_at(address, left, right))


@part
def real_of(address: int, value: Value) -> float:
    """The float64 nearest to a number that is not NULL, which mostly is none that is scaled."""
    if value[0] == do.FLOAT:
        return do.number(value)
    return float(value[1]) if value[0] <= do.EXACT else float(round_at(address, value))
