"""Check sequences: agreement of their events on attributes, and conditions as programs."""

from __future__ import annotations

from typing import NamedTuple

from sase.engine.kernels.expressions.program import Columns, Program, Stack, evaluate_tuple
from sase.engine.kernels.jit.compiler import inlined, kernel, linked
from sase.engine.kernels.jit.signatures import IntRows, Ints, OutFlags, OutIntRows, OutInts
from sase.engine.kernels.sentinels import NOTHING

# The code of an event of a type without the attribute: it agrees with every other.
UNDECLARED = -2


class Checks(NamedTuple):
    """Equivalence tests as rows of `codes`, and by level the start of its program, or `NOTHING`.

    The slot of an event in the store is its number `& mask`. `rows` are the slots of the events to
    check, in the order of the program's components.
    """

    mask: int
    tests: Ints
    codes: IntRows
    starts: Ints
    program: Program
    columns: Columns
    stack: Stack
    rows: OutInts


class Tally(NamedTuple):
    """How many candidates each test rejected at each level, and how often each condition failed.

    `levels` is a counter by level; the kernels that build sequences define its meaning.
    """

    disagreed: OutIntRows
    failed: OutInts
    levels: OutInts


@linked
def disagreeing(checks: Checks, level: int, last: int) -> int:
    """The first test on which the event of a level disagrees with later ones, or `NOTHING`."""
    for test in range(checks.tests.shape[0]):
        codes = checks.codes[checks.tests[test]]
        code = codes[checks.rows[level]]
        if code == NOTHING:
            return test
        if code == UNDECLARED:
            continue
        for other in range(last, level, -1):
            found = codes[checks.rows[other]]
            if found != UNDECLARED:
                if found != code:
                    return test
                break
    return NOTHING


@inlined
def holds(checks: Checks, level: int, tally: Tally | None) -> bool:
    """Whether the conditions of a level hold."""
    if checks.starts.shape[0] == 0 or checks.starts[level] == NOTHING:
        return True
    program, start = checks.program, checks.starts[level]
    truth = evaluate_tuple(program, start, checks.columns, checks.rows, checks.stack, tally)
    if tally is not None and not truth:
        tally.failed[checks.stack.values[0, 0]] += 1
    return truth


@inlined
def satisfied(checks: Checks, level: int, last: int, tally: Tally | None) -> bool:
    """Whether the event of a level passes every check that can be decided once it is chosen."""
    test = disagreeing(checks, level, last)
    if test != NOTHING:
        if tally is not None:
            tally.disagreed[test, level] += 1
        return False
    return holds(checks, level, tally)


def _selected(sequences: OutIntRows, checks: Checks, tally: Tally | None, keep: OutFlags) -> None:
    """Write whether each sequence passes. It has a row for each level, checked from the last."""
    last = sequences.shape[0] - 1
    for number in range(keep.shape[0]):
        kept = True
        for level in range(last, -1, -1):
            checks.rows[level] = sequences[level, number] & checks.mask
            kept = kept and satisfied(checks, level, last, tally)
        keep[number] = kept


select = kernel(_selected, absent=["tally"])
select_counted = kernel(_selected)
