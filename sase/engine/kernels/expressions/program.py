"""Conditions and values as programs in postfix form, and the loops that run them."""

from __future__ import annotations

from typing import NamedTuple

from sase.engine.kernels.expressions import operations as do
from sase.engine.kernels.expressions.functions import in_zone
from sase.engine.kernels.expressions.operations import (
    LAST_CHANGE,
    LAST_FLOW,
    LAST_JOIN,
    LAST_PUT,
    Op,
    Value,
)
from sase.engine.kernels.expressions.slow_paths import calculate_at, side_of, taken
from sase.engine.kernels.jit.compiler import inlined, kernel, linked
from sase.engine.kernels.jit.signatures import (
    ByteRows,
    Codes,
    IntRows,
    OutFlags,
    OutIntRows,
    OutInts,
)

ARGUMENTS = 3  # the most arguments of an operation
ADDRESS = 1 + ARGUMENTS  # column with the address of the kernel that an operation calls
WORD = 63  # types in one word of a type set


class Program(NamedTuple):
    """Rows of `code`: operation, arguments, address of the called kernel. Lists follow END."""

    code: IntRows


class Columns(NamedTuple):
    """Attributes of events by column and row, with tags; the types; tables over string codes."""

    cells: IntRows
    tags: ByteRows
    types: Codes
    tables: IntRows


class Stack(NamedTuple):
    """Memory for the values of an evaluation, and notes on overflows of int64.

    `notes`: the number of overflows; the place in the code and the row of the first one; the row
    that `evaluate_rows` evaluates. From `RAISED_AT` on there are three words for each user
    aggregate that raised, without a place.
    """

    values: OutIntRows
    notes: OutInts


RAISED_AT, RAISED_WORDS = 4, 3


# ---------------------------------------------------------------- the loops


@inlined
def evaluate_tuple(
    program: Program, start: int, columns: Columns, rows: OutInts, stack: Stack, numbered: object
) -> bool:
    """Evaluate a condition on one row for each component; its value stays on the stack.

    If `numbered` is not None, the number of the reached END replaces the value.
    """
    code, values = program.code, stack.values
    truth, at, top = True, start, -1
    while True:
        operation, first, second = code[at, 0], code[at, 1], code[at, 2]
        if operation <= LAST_FLOW:
            if operation == Op.END:
                if numbered is not None:
                    values[0, 0] = first
                return truth
            jumps = truth == (operation == Op.JUMP_IF_TRUE)
            if operation >= Op.UNDECLARED:
                jumps = is_lacking(code, at, columns, rows[second])
                truth = truth or jumps
            at = first if jumps else at + 1
            continue
        if operation == Op.CELL:
            top += 1
            values[top, 0] = columns.tags[second, rows[first]]
            values[top, 1] = columns.cells[second, rows[first]]
        elif operation == Op.CONSTANT:
            top += 1
            values[top, 0], values[top, 1] = first, second
        elif operation <= LAST_PUT:
            top += 1
            values[top, 0], values[top, 1] = of_series(code, at, columns, rows)
        elif operation == Op.COMPARE:
            top -= 2
            side = side_of(code[at, ADDRESS], taken(values, top + 1), taken(values, top + 2))
            truth = (first >> (side + 1)) & 1 == 1
        elif operation <= LAST_CHANGE:
            top -= operation <= LAST_JOIN
            value = taken(values, top)
            if operation == Op.LOOKUP:
                entry = columns.tables[first, value[1] if value[0] else 0]
                value = (value[0] if entry >= 0 else do.NULL), entry
            elif operation == Op.IN_ZONE:
                value = in_zone(value, first, code, second, int(code[at, 3]))
                if value[0] == do.OVERFLOW:
                    value = noted(stack.notes, at, rows[0])
            else:
                other = taken(values, top + (operation <= LAST_JOIN))
                value = calculate_at(code[at, ADDRESS], operation, value, other)
                if value[0] == do.OVERFLOW:
                    value = noted(stack.notes, at, rows[second])
            values[top, 0], values[top, 1] = value
        else:
            top -= 3 if operation == Op.BETWEEN else operation != Op.TRUTH
            truth = tested(code, at, values, top + 1)
        at += 1


@kernel
def evaluate_rows(program: Program, columns: Columns, stack: Stack, out: OutFlags) -> None:
    """Evaluate a condition on one event, for every row."""
    rows = stack.notes[3:]
    for row in range(out.shape[0]):
        rows[0] = row
        out[row] = evaluate_tuple(program, 0, columns, rows, stack, None)


@kernel
def evaluate_values(
    program: Program, columns: Columns, rows: OutIntRows, stack: Stack, out: OutIntRows
) -> None:
    """Write the tag and bits of a value, for every tuple of rows."""
    for place in range(out.shape[0]):
        evaluate_tuple(program, 0, columns, rows[place], stack, None)
        out[place, 0], out[place, 1] = stack.values[0, 0], stack.values[0, 1]


# ---------------------------------------------------------------- one step


@linked
def is_lacking(code: IntRows, at: int, columns: Columns, row: int) -> bool:
    """Whether an event exists and its type is in a set; for LACKING, whether a flag is set."""
    if code[at, 0] == Op.LACKING:
        return row != 0
    return row >= 0 and is_among(code, code[at, 3], columns.types[row])


@linked
def of_series(code: IntRows, at: int, columns: Columns, rows: OutInts) -> Value:
    """Read a value among the rows, or an attribute of an event, NULL without an event."""
    first, second = code[at, 1], code[at, 2]
    if code[at, 0] == Op.VALUE:
        return int(rows[first]), int(rows[first + 1])
    if rows[first] < 0:
        return do.NOTHING
    return int(columns.tags[second, rows[first]]), int(columns.cells[second, rows[first]])


@linked
def tested(code: IntRows, at: int, values: IntRows, place: int) -> bool:
    """Evaluate a test of the values from a place of the stack on."""
    operation, wanted, address = code[at, 0], bool(code[at, 1] == 1), code[at, ADDRESS]
    if operation == Op.TRUTH:
        return wanted
    value = taken(values, place)
    if operation == Op.IS_NULL:
        return (value[0] == do.NULL) == wanted
    if operation == Op.BETWEEN:
        low, high = taken(values, place + 1), taken(values, place + 2)
        return is_between(side_of(address, low, value), side_of(address, value, high), wanted)
    if value[0] == do.NULL:
        return False
    found = is_in(address, value, code, at) if operation == Op.IN else value[1] != 0
    return found == wanted


@linked
def is_between(below: int, above: int, wanted: bool) -> bool:
    """Evaluate BETWEEN by the orders of low side and value, and of value and high side."""
    if below == do.UNKNOWN or above == do.UNKNOWN:
        return False  # a NULL decides
    return (below <= 0 and above <= 0) == wanted


@linked
def is_in(address: int, value: Value, code: IntRows, at: int) -> bool:
    """Whether a value is in a list of constants in ascending order, by bisection."""
    start, stop = code[at, 2], code[at, 3]
    while start < stop:
        middle = (start + stop) // 2
        side = side_of(address, value, (int(code[middle, 0]), int(code[middle, 1])))
        if side == 0:
            return True
        if side > 0:
            start = middle + 1
        else:
            stop = middle
    return False


@linked
def is_among(code: IntRows, place: int, kind: int) -> bool:
    """Whether a type's code is in a set: a bit in the words of `code` from a place on."""
    return kind >= 0 and bool((code[place + kind // WORD, 0] >> (kind % WORD)) & 1 == 1)


@linked
def noted(notes: OutInts, at: int, row: int) -> Value:
    """Count an overflow of int64, note the first one, and return NULL."""
    if notes[0] == 0:
        notes[1], notes[2] = at, row
    notes[0] += 1
    return do.NOTHING
