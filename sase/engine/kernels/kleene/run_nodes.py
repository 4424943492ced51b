"""Series of events that a run has bound, as nodes that share what comes before (SASE+, 4 and 5).

A node is an event in its place: it names the node before it, so that runs which begin alike share
their beginning. Beside the event it holds what later conditions need to know of all up to it: the
events that they name, lengths, and aggregates as far as they have come.

    root ◄── x1 ◄── a2 ◄── a3 ◄── z5          x1 a2 a3 z5  and  x1 a2 z4
                     ▲
                     └───── z4

Node 0 is the root: nothing is bound. Node `n` is row `n` of the cells.
"""

from __future__ import annotations

from typing import NamedTuple

from sase.engine.kernels.expressions.program import Columns, Program, Stack
from sase.engine.kernels.jit.compiler import inlined
from sase.engine.kernels.jit.signatures import ByteRows, IntRows, Ints, OutInts
from sase.engine.kernels.sentinels import NOTHING

# The head of a node: its event, the node before, the level, which event of its component it is and
# of all, the measure and number of the first event, its own order and place, and for runs: the
# events that lead to it, how many nodes and runs need it, the next run of the partition, and the
# last match that was written of what it leads to.
EVENT, PREVIOUS, LEVEL, LENGTH, DEPTH, START, FIRST, TIE, SPOT, GROUP, NEEDED, NEXT, SHOWN = range(
    13
)
HEAD = 13
ROOT, NO_EVENT = 0, NOTHING

# What binding an event changes, and what values are made of that.
FIRST_EVENT, LAST_EVENT, COUNT, NUMBERS, SUM, LEAST, MOST, SPREAD, LACKS = range(9)
AVERAGE, DEVIATION = 9, 10
# The words of each.
WORDS = {
    FIRST_EVENT: 1, LAST_EVENT: 1, COUNT: 1, NUMBERS: 1, SUM: 5, LEAST: 2, MOST: 2, SPREAD: 3,
    LACKS: 1,
}  # fmt: skip
MADE_OF = {AVERAGE: SUM, DEVIATION: SPREAD}
LOW_BITS, LOW_MASK = 32, 2**32 - 1

# Where a program's rows come from: an event or value that the newest node knows; the event of the
# node that a loop is at, or a value as of it; both of the node before; the event to be judged.
KNOWN_EVENT, KNOWN_VALUE, EVENT_AT, VALUE_AT, EVENT_BEFORE, VALUE_BEFORE, JUDGED = range(7)

# When conditions are checked: at the first event of a component, at a further one, at its end.
BEGIN, TAKE, FINISH = range(3)
MOMENTS = 3


class Pattern(NamedTuple):
    """Of each level the least and the most events, NOTHING for any, and whether it is Kleene."""

    least: Ints
    most: Ints
    kleene: Ints


# The parts of the tables of a machine, in whose first row it stands where each begins: the rows of
# `codes` of the equivalence tests that are decided event by event; where the changes of each level
# begin, and the changes (kind, word, column, table, and the address of what they call); where the
# conditions of each moment begin, and the conditions (where the program begins, its loops, its
# fills, and from PLAIN on what a plain comparison accepts, or 0, the column of the new event, of
# the other side where from, word and column, and the address of what compares them); the loops (a
# level, and whether its first event is exempt); the fills (where from, which loop, word, kind, and
# where to).
TESTS, CHANGES_OF, CHANGES, MOMENTS_AT, CHECKS, LOOPS, FILLS = range(7)
PLAIN = 5
TABLE_WIDTH = 11


class Machine(NamedTuple):
    """What binding changes, level by level, the conditions, and what plain comparisons read.

    All that does not change stands in one table, since each array costs at every call. What more
    conditions and changes need is seldom needed: `decide` and `learn` are where it is that does
    it, or 0, and `judge` where that finds what it reads.
    """

    mask: int
    decide: int
    learn: int
    judge: int
    tables: IntRows
    codes: IntRows
    columns: IntRows
    tags: ByteRows


class PredicateArrays(NamedTuple):
    """What conditions and changes read that are more than a plain comparison or a number."""

    mask: int
    tables: IntRows
    lacking: ByteRows
    program: Program
    columns: Columns
    stack: Stack
    rows: OutInts
    cursors: OutInts


@inlined
def entry(machine: Machine | PredicateArrays, table: int, row: int, column: int) -> int:
    """A number of one of the tables."""
    return int(machine.tables[machine.tables[0, table] + row, column])


@inlined
def tests_of(machine: Machine) -> int:
    """How many equivalence tests are decided event by event."""
    return int(machine.tables[0, CHANGES_OF] - machine.tables[0, TESTS])
