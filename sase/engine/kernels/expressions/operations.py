"""The meaning of each operation on values: the one table behind every way of evaluating.

A value is a tag and 64 bits: NULL, an int64, the bits of a float64, or from EXACT on an int64 that
counts units of 10 to the minus (tag - EXACT). Such exact values are decimals, and times in seconds
or fractions of seconds.

A literal with a decimal point has its own tags, from LITERAL, ABOVE or BELOW on. Compared with a
float, it is the nearest float64; otherwise it is exactly the units, or strictly above or below
them.
"""

from __future__ import annotations

import math
from enum import IntEnum
from typing import TypeAlias

import numpy as np

from sase.engine.kernels.jit.compiler import linked

Value: TypeAlias = tuple[int, int]

NULL, INTEGER, FLOAT, EXACT = 0, 1, 2, 3
SCALES = 32  # the distance of the tags of two kinds of exact values
LITERAL, ABOVE, BELOW = EXACT + SCALES, EXACT + 2 * SCALES, EXACT + 3 * SCALES
# The tag of a result that overflows int64: the loop notes it, and continues with NULL.
OVERFLOW = 255
NOTHING: Value = (NULL, 0)
LEAVES: Value = (OVERFLOW, 0)
# The order of two values if one is NULL.
UNKNOWN = 2

LEAST, MOST = -(2**63), 2**63 - 1
HALF_WORD = 2**31
MOST_SCALE = 18
POWERS = tuple(10**exponent for exponent in range(MOST_SCALE + 1))
BITS_OF_FLOAT = 53
TWO_TO_53, TWO_TO_60, TWO_TO_63 = 2.0**53, 2.0**60, 2.0**63
# All integers up to this are exact as floats.
MOST_EXACT = 2**53
LIMB, LIMB_MASK = 30, 2**30 - 1
WIDE, WIDE_MASK = 60, 2**60 - 1


class Op(IntEnum):
    """The operations, with their arguments.

    Argument 2 of arithmetic is a component: its row is noted if the result overflows int64.
    """

    # Control flow.
    END = 0
    JUMP_IF_FALSE = 1  # target
    JUMP_IF_TRUE = 2  # target
    UNDECLARED = 3  # target if TRUE, component, first word of the set of types
    LACKING = 4  # target if TRUE, place of a flag among the rows
    # Push a value.
    CELL = 10  # component, column
    CONSTANT = 11  # tag, bits
    CELL_IF_ANY = 12  # component that may have no event, column
    VALUE = 13  # place of tag and bits among the rows
    # Pop two values, push one. From TIME on the result has the finer unit of two times.
    ADD = 20
    SUBTRACT = 21
    MULTIPLY = 22
    DIVIDE = 23
    REMAINDER = 24
    TIME_ADD = 25
    TIME_SUBTRACT = 26
    POWER = 27
    ROUND = 28  # the right value is the number of digits
    TIME_PART = 29  # the right value is a `TimePart`
    TIME_TRUNCATE = 30  # the right value is a `TimePart`
    # Keep the left value if it is not NULL, lesser, or greater.
    COALESCE = 31
    LEAST = 32
    GREATEST = 33
    # Change the value on top.
    LOOKUP = 40  # table; a negative entry is NULL
    ABSOLUTE = 41
    TIME_ABSOLUTE = 42
    FLOOR = 43
    CEIL = 44
    SQRT = 45
    LN = 46
    EXP = 47
    SIGN = 48
    IN_ZONE = 49  # a `TimePart`, or LOCAL; the rows with the changes of the zone: first, end
    # Pop values and set the truth.
    COMPARE = 60  # accepted orders: bit 0 less, 1 equal, 2 greater
    BETWEEN = 61  # wanted
    IN = 62  # wanted, first constant, end of the constants
    IS_NULL = 63  # wanted
    HOLDS = 64  # wanted
    TRUTH = 65  # wanted


LAST_FLOW, LAST_PUT, LAST_JOIN, LAST_CHANGE = 9, 19, 39, 59
TIME = Op.TIME_ADD - Op.ADD
MULTIPLY = int(Op.MULTIPLY)


@linked
def number(value: Value) -> float:
    """The float of a value with the tag FLOAT."""
    return float(np.int64(value[1]).view(np.float64))


@linked
def real(result: float) -> Value:
    """The value of a float; NaN is NULL."""
    return (FLOAT, int(np.float64(result).view(np.int64))) if result == result else NOTHING


# ---------------------------------------------------------------- comparison, exactly


@linked
def is_simple(left: Value, right: Value) -> bool:
    """Whether two values have one tag, neither is exact, or one is NULL."""
    few, many = min(left[0], right[0]), max(left[0], right[0])
    return few in (NULL, many) or many < EXACT


@linked
def order_simply(left: Value, right: Value) -> int:
    """The order (-1, 0, 1) of two simple values by exact number, or UNKNOWN if one is NULL."""
    if left[0] == NULL or right[0] == NULL:
        return UNKNOWN
    if left[0] == FLOAT and right[0] == FLOAT:
        return (number(left) > number(right)) - (number(left) < number(right))
    if left[0] == right[0]:
        return (left[1] > right[1]) - (left[1] < right[1])
    if left[0] == INTEGER:
        return order_with_float(left[1], number(right))
    return -order_with_float(right[1], number(left))


@linked
def order(left: Value, right: Value) -> int:
    """The order (-1, 0, 1) of any two values by exact number, or UNKNOWN if one is NULL."""
    if is_simple(left, right):
        return order_simply(left, right)
    # Sorted by tag: integer, float, exact value, literal.
    turned = left[0] > right[0]
    simple, other = (right, left) if turned else (left, right)
    if other[0] >= LITERAL:
        side = order_with_literal(simple, other)
    elif simple[0] == FLOAT:
        side = -order_of_scaled(other[1], other[0] - EXACT, number(simple))
    else:
        side = order_of_multiple(simple[1], other[0] - max(simple[0], EXACT), other[1])
    return -side if turned else side


@linked
def order_with_literal(value: Value, literal: Value) -> int:
    """The order of a value, or of a literal with a lower tag, and a literal with a point."""
    if value[0] == FLOAT:
        near = as_float(literal)
        return (number(value) > near) - (number(value) < near)
    scale, own = scale_of(literal[0]), scale_of(value[0])
    if own > scale:
        side = -order_of_multiple(literal[1], own - scale, value[1])
    else:
        side = order_of_multiple(value[1], scale - own, literal[1])
    if side == 0 and literal[0] >= ABOVE:
        return 1 if literal[0] >= BELOW else -1
    return side


@linked
def scale_of(tag: int) -> int:
    """The decimal places of an exact value's unit."""
    return (tag - EXACT) % SCALES if tag >= EXACT else 0


@linked
def order_with_float(whole: int, other: float) -> int:
    """The order of an integer and a float."""
    if not -TWO_TO_63 <= other < TWO_TO_63:
        return -1 if other > 0.0 else 1
    truncated = int(other)
    if whole != truncated:
        return 1 if whole > truncated else -1
    return (other < float(truncated)) - (other > float(truncated))


@linked
def order_of_scaled(units: int, scale: int, other: float) -> int:
    """The order of `units / 10**scale`, with scale at most 18, and a float."""
    side, other_side = (units > 0) - (units < 0), (other > 0.0) - (other < 0.0)
    if side != other_side or side == 0:
        return (side > other_side) - (side < other_side)
    if abs(other) >= TWO_TO_60:
        return -side
    mantissa, exponent = math.frexp(abs(other))
    whole, shift = int(mantissa * TWO_TO_53), BITS_OF_FLOAT - exponent
    return side * order_of_products(abs(units), shift, whole, POWERS[scale])


@linked
def order_of_multiple(units: int, scale: int, other: int) -> int:
    """The order of `units * 10**scale` and `other`; the least int64 counts as its neighbour."""
    side, other_side = (units > 0) - (units < 0), (other > 0) - (other < 0)
    if side != other_side or side == 0:
        return (side > other_side) - (side < other_side)
    size, other_size = abs(max(units, -MOST)), abs(max(other, -MOST))
    return -side * order_of_products(other_size, 0, size, POWERS[scale])


@linked
def order_of_products(units: int, shift: int, whole: int, power: int) -> int:
    """The order of `units << shift` and `whole * power`, computed in two digits of 60 bits."""
    whole, shift = whole << int(max(-shift, 0)), int(max(shift, 0))
    if shift >= 2 * WIDE or (shift > WIDE and units >> (2 * WIDE - shift) > 0):
        return 1
    middle = (whole >> LIMB) * (power & LIMB_MASK) + (whole & LIMB_MASK) * (power >> LIMB)
    low = (whole & LIMB_MASK) * (power & LIMB_MASK) + ((middle & LIMB_MASK) << LIMB)
    high = (whole >> LIMB) * (power >> LIMB) + (middle >> LIMB) + (low >> WIDE)
    low &= WIDE_MASK
    if shift >= WIDE:
        shifted_high, shifted_low = units << (shift - WIDE), 0
    else:
        shifted_high = units >> (WIDE - shift)
        shifted_low = (units & ((1 << (WIDE - shift)) - 1)) << shift
    if shifted_high != high:
        return 1 if shifted_high > high else -1
    return (shifted_low > low) - (shifted_low < low)


# ---------------------------------------------------------------- operations on two values


@linked
def joined(operation: int, left: Value, right: Value) -> Value:
    """The result of arithmetic on two values, or of a choice between them."""
    if operation >= Op.COALESCE:
        return chosen(operation, left, right, order(right, left))
    if max(left[0], right[0]) < EXACT or left[0] == NULL or right[0] == NULL:
        return joined_simply(operation, left, right)
    if operation >= Op.TIME_ADD:
        return joined_times(operation - TIME, left, right)
    return real(joined_reals(operation, as_float(left), as_float(right)))


@linked
def joined_simply(operation: int, left: Value, right: Value) -> Value:
    """Arithmetic on values without a scale."""
    if left[0] == NULL or right[0] == NULL:
        return NOTHING
    if left[0] == INTEGER and right[0] == INTEGER and operation != Op.DIVIDE:
        return joined_wholes(operation, left[1], right[1])
    return real(joined_reals(operation, simple_float(left), simple_float(right)))


@linked
def chosen(operation: int, left: Value, right: Value, side: int) -> Value:
    """Choose one of two values, not NULL; `side` is the order of the right and the left one."""
    if left[0] == NULL:
        return right
    if operation == Op.COALESCE:
        return left
    return right if side == (1 if operation == Op.GREATEST else -1) else left


@linked
def joined_wholes(operation: int, left: int, right: int) -> Value:
    """Arithmetic on integers; LEAVES if the result overflows int64."""
    if operation == Op.ADD:
        leaves = left > MOST - right if right > 0 else left < LEAST - right
        return LEAVES if leaves else (INTEGER, left + right)
    if operation == Op.SUBTRACT:
        leaves = left > MOST + right if right < 0 else left < LEAST + right
        return LEAVES if leaves else (INTEGER, left - right)
    if operation == Op.MULTIPLY:
        return LEAVES if product_leaves(left, right) else (INTEGER, left * right)
    if right == 0:
        return NOTHING
    if right == -1:  # the quotient of the least integer would overflow int64
        return INTEGER, 0
    rest = left % right  # Python's remainder has the sign of the divisor
    return INTEGER, rest - right if rest != 0 and (rest < 0) != (left < 0) else rest


@linked
def product_leaves(left: int, right: int) -> bool:
    """Whether a product overflows int64."""
    if -HALF_WORD <= left < HALF_WORD and -HALF_WORD <= right < HALF_WORD:
        return False
    if left == LEAST or right == LEAST:
        return not (left == 0 or right == 0 or left == 1 or right == 1)
    few, many = min(abs(left), abs(right)), max(abs(left), abs(right))
    if few == 0 or many <= MOST // few:
        return False
    is_least = many == MOST // few + 1 and MOST % few == few - 1
    return not (is_least and (left < 0) != (right < 0))


@linked
def joined_reals(operation: int, left: float, right: float) -> float:
    """Arithmetic on floats; NaN means NULL."""
    if operation == Op.ADD:
        return left + right
    if operation == Op.SUBTRACT:
        return left - right
    if operation == Op.MULTIPLY:
        return left * right
    if right == 0.0:
        return math.nan
    if operation == Op.DIVIDE:
        return left / right
    return math.nan if math.isinf(left) else float(np.fmod(left, right))


@linked
def joined_times(operation: int, left: Value, right: Value) -> Value:
    """The sum or difference of two times."""
    tag = max(left[0], right[0])
    first = joined_wholes(MULTIPLY, left[1], POWERS[tag - left[0]])
    second = joined_wholes(MULTIPLY, right[1], POWERS[tag - right[0]])
    if first[0] == OVERFLOW or second[0] == OVERFLOW:
        return LEAVES
    result = joined_wholes(operation, first[1], second[1])
    return LEAVES if result[0] == OVERFLOW else (tag, result[1])


@linked
def as_float(value: Value) -> float:
    """The float64 nearest to a number that is not NULL."""
    if value[0] <= EXACT:
        return simple_float(value)
    units, power = value[1], POWERS[scale_of(value[0])]
    near = float(units) / float(power)
    if abs(units) <= MOST_EXACT or power == 1:
        return near
    # Two roundings can miss the nearest float by one. In quarters of the last bit, the midpoints to
    # both neighbours are integers.
    mantissa, exponent = math.frexp(abs(near))
    whole, shift = int(mantissa * TWO_TO_53), BITS_OF_FLOAT - exponent
    above = order_of_products(abs(units), shift + 2, 4 * whole + 2, power)
    below = order_of_products(abs(units), shift + 2, 4 * whole - 2, power)
    step = (above + whole % 2 > 0) - (below - whole % 2 < 0)
    nearest = math.ldexp(float(whole + step), -shift)
    return nearest if units > 0 else -nearest


@linked
def simple_float(value: Value) -> float:
    """The float64 of a number without a scale."""
    return number(value) if value[0] == FLOAT else float(value[1])


@linked
def changed(operation: int, value: Value) -> Value:
    """The absolute value of a number or of an interval."""
    if value[0] < EXACT or operation == Op.TIME_ABSOLUTE:
        return changed_simply(value)
    return real(abs(as_float(value)))


@linked
def changed_simply(value: Value) -> Value:
    """The absolute value of a float, an integer, or an interval in its own units."""
    if value[0] == FLOAT:
        return real(abs(number(value)))
    if value[0] == NULL or value[1] >= 0:
        return value
    return LEAVES if value[1] == LEAST else (value[0], -value[1])
