"""What a sequence is checked for: agreement of its events, and conditions as programs."""

from __future__ import annotations

from typing import NamedTuple

from sase.engine.kernels.compiling import (
    IntRows,
    Ints,
    OutFlags,
    OutIntRows,
    OutInts,
    kernel,
    part,
)
from sase.engine.kernels.program import Columns, Program, Stack, evaluate_tuple
from sase.engine.kernels.stacks import NOTHING

# The code of an event whose type does not declare the attribute: it agrees with every other.
UNDECLARED = -2


class Checks(NamedTuple):
    """Equivalence tests as rows of `codes`, and where the program of each level begins.

    An event's place in the store is its number `& mask`; `rows` are the places of the events that
    are checked, in the order of the program's components.
    """

    mask: int
    tests: Ints
    codes: IntRows
    starts: Ints
    program: Program
    columns: Columns
    stack: Stack
    rows: OutInts


@part
def agrees(checks: Checks, level: int, last: int) -> bool:
    """Whether the event of a level agrees with those behind it on every test."""
    for test in range(checks.tests.shape[0]):
        codes = checks.codes[checks.tests[test]]
        code = codes[checks.rows[level]]
        if code == NOTHING:
            return False
        if code == UNDECLARED:
            continue
        for other in range(last, level, -1):
            found = codes[checks.rows[other]]
            if found != UNDECLARED:
                if found != code:
                    return False
                break
    return True


@part
def satisfied(checks: Checks, level: int, last: int) -> bool:
    """Whether the event in `rows` of a level passes what can be decided when it is chosen."""
    if not agrees(checks, level, last):
        return False
    if checks.starts.shape[0] == 0 or checks.starts[level] == NOTHING:
        return True
    start = checks.starts[level]
    return evaluate_tuple(checks.program, start, checks.columns, checks.rows, checks.stack)


@kernel
def select(sequences: OutIntRows, checks: Checks, keep: OutFlags) -> None:
    """Whether each sequence passes; it has a row for each level, and they are checked backwards."""
    last = sequences.shape[0] - 1
    for number in range(keep.shape[0]):
        kept = True
        for level in range(last, -1, -1):
            checks.rows[level] = sequences[level, number] & checks.mask
            kept = kept and satisfied(checks, level, last)
        keep[number] = kept
