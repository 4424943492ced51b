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
    spliced,
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


class Tally(NamedTuple):
    """What is counted where every condition is decided by a program of its own.

    Those of a level are the numbers from `first` of the level up to that of the next, and begin at
    `starts`. `rejected` is how many candidates each test turned away, and behind the tests each
    condition. `levels` has a row for each of the counts below.
    """

    first: Ints
    starts: Ints
    rejected: OutInts
    levels: OutIntRows


# Counted of a level by construction: candidates that passed, and that were out of the question
# before any check; choices that ended, at the bottom or where the window does, or by a negative
# component.
PASSED, UNFIT, ENDED, FORBIDDEN = range(4)
TALLIED = 4


@part
def disagreeing(checks: Checks, level: int, last: int) -> int:
    """The first test on which the event of a level does not agree with those behind it, if any."""
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


@spliced
def holds(checks: Checks, level: int, tally: Tally | None) -> bool:
    """Whether the conditions of a level hold."""
    if tally is not None:
        for number in range(tally.first[level], tally.first[level + 1]):
            start = tally.starts[number]
            if not evaluate_tuple(checks.program, start, checks.columns, checks.rows, checks.stack):
                tally.rejected[checks.tests.shape[0] + number] += 1
                return False
        return True
    if checks.starts.shape[0] == 0 or checks.starts[level] == NOTHING:
        return True
    start = checks.starts[level]
    return evaluate_tuple(checks.program, start, checks.columns, checks.rows, checks.stack)


@part
def satisfied(checks: Checks, level: int, last: int, tally: Tally | None) -> bool:
    """Whether the event in `rows` of a level passes what can be decided when it is chosen."""
    test = disagreeing(checks, level, last)
    if test != NOTHING:
        if tally is not None:
            tally.rejected[test] += 1
        return False
    return holds(checks, level, tally)


def _selected(sequences: OutIntRows, checks: Checks, tally: Tally | None, keep: OutFlags) -> None:
    """Whether each sequence passes; it has a row for each level, and they are checked backwards."""
    last = sequences.shape[0] - 1
    for number in range(keep.shape[0]):
        kept = True
        for level in range(last, -1, -1):
            checks.rows[level] = sequences[level, number] & checks.mask
            kept = kept and satisfied(checks, level, last, tally)
        keep[number] = kept


select = kernel(_selected, absent=["tally"])
select_counted = kernel(_selected)
