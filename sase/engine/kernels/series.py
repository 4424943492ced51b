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

import math
from typing import NamedTuple

import numpy as np

from sase.engine.kernels import operations as do
from sase.engine.kernels.checks import UNDECLARED
from sase.engine.kernels.compiling import (
    ByteRows,
    IntRows,
    Ints,
    OutIntRows,
    OutInts,
    part,
    spliced,
)
from sase.engine.kernels.program import Columns, Program, Stack, evaluate_tuple
from sase.engine.kernels.seldom import real_of, side_of
from sase.engine.kernels.stacks import NOTHING

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
    """What binding changes, level by level, and the conditions with what they read.

    All that does not change stands in one table, since each array costs at every call.
    """

    mask: int
    tables: IntRows
    codes: IntRows
    lacking: ByteRows
    program: Program
    columns: Columns
    stack: Stack
    rows: OutInts
    cursors: OutInts


@spliced
def entry(machine: Machine, table: int, row: int, column: int) -> int:
    """A number of one of the tables."""
    return int(machine.tables[machine.tables[0, table] + row, column])


@spliced
def tests_of(machine: Machine) -> int:
    """How many equivalence tests are decided event by event."""
    return int(machine.tables[0, CHANGES_OF] - machine.tables[0, TESTS])


# ---------------------------------------------------------------- binding


@spliced
def fits(machine: Machine, cells: OutIntRows, node: int, event: int) -> bool:
    """Whether an event agrees with all that are bound, on the tests that are decided here."""
    for test in range(tests_of(machine)):
        code = machine.codes[entry(machine, TESTS, test, 0), event & machine.mask]
        if code == NOTHING:
            return False
        known = cells[node, HEAD + test]
        if code != UNDECLARED and known != UNDECLARED and code != known:
            return False
    return True


@part
def differs(machine: Machine, cells: OutIntRows, node: int, event: int) -> bool:
    """Whether an event is of another partition than all that are bound."""
    for test in range(tests_of(machine)):
        code = machine.codes[entry(machine, TESTS, test, 0), event & machine.mask]
        known = cells[node, HEAD + test]
        if code in (NOTHING, UNDECLARED) or (known != UNDECLARED and code != known):
            return True
    return False


@spliced
def bind(
    machine: Machine, cells: OutIntRows, node: int, before: int, level: int, event: int
) -> None:
    """Make a node of an event that comes after another node; its order and place are not set."""
    known, new = cells[before], cells[node]
    for word in range(HEAD, cells.shape[1]):
        new[word] = known[word]
    new[EVENT], new[PREVIOUS], new[LEVEL] = event, before, level
    new[LENGTH] = known[LENGTH] + 1 if known[LEVEL] == level else 1
    new[DEPTH] = known[DEPTH] + 1
    new[FIRST] = known[FIRST] if before != ROOT else event
    place = event & machine.mask
    for test in range(tests_of(machine)):
        code = machine.codes[entry(machine, TESTS, test, 0), place]
        if code != UNDECLARED:
            new[HEAD + test] = code
    for number in range(
        entry(machine, CHANGES_OF, level, 0), entry(machine, CHANGES_OF, level + 1, 0)
    ):
        change(machine, number, cells, node, place)


@part
def change(machine: Machine, number: int, cells: OutIntRows, node: int, place: int) -> None:
    """Let a new node know of its own event."""
    row, words = machine.tables[machine.tables[0, CHANGES] + number], cells[node]
    kind, word, column, address = row[0], HEAD + row[1], row[2], row[4]
    if kind <= COUNT:
        if kind == FIRST_EVENT:
            if words[LENGTH] == 1:
                words[word] = words[EVENT]
        elif kind == LAST_EVENT:
            words[word] = words[EVENT]
        else:
            words[word] = words[LENGTH]
        return
    if kind == LACKS:
        words[word] |= machine.lacking[column, machine.columns.types[place]]
        return
    tag = int(machine.columns.tags[column, place])
    if tag == do.NULL:
        return
    value = tag, int(machine.columns.cells[column, place])
    if kind == NUMBERS:
        words[word] += 1
    elif kind == SUM:
        add(words, word, value, real_of(address, value))
    elif kind == SPREAD:
        spread(words, word, real_of(address, value))
    else:
        known = int(words[word]), int(words[word + 1])
        if known[0] == do.NULL or is_better(machine, row, known, value):
            words[word], words[word + 1] = value


@part
def is_better(machine: Machine, change: Ints, known: do.Value, value: do.Value) -> bool:
    """Whether a value is less, or greater, than the one known; texts go by the table."""
    kind, table, address = change[0], change[3], change[4]
    if table != NOTHING:
        tables = machine.columns.tables
        known = known[0], int(tables[table, known[1]])
        value = value[0], int(tables[table, value[1]])
    return side_of(address, value, known) == (-1 if kind == LEAST else 1)


@part
def add(words: OutInts, word: int, value: do.Value, real: float) -> None:
    """Add to a sum: how many, high and low bits of integers, whether all are, and as floats."""
    words[word] += 1
    if words[word] > 1:
        real = float(np.int64(words[word + 4]).view(np.float64)) + real
    words[word + 4] = int(np.float64(real).view(np.int64))
    if value[0] == do.INTEGER:
        words[word + 1] += value[1] >> LOW_BITS
        words[word + 2] += value[1] & LOW_MASK
    else:
        words[word + 3] = 1


@part
def spread(words: OutInts, word: int, value: float) -> None:
    """Welford's recurrence: how many, the mean, and the squares of the distances from it."""
    words[word] += 1
    mean = float(np.int64(words[word + 1]).view(np.float64))
    squares = float(np.int64(words[word + 2]).view(np.float64))
    delta = value - mean
    mean += delta / float(words[word])
    squares += delta * (value - mean)
    words[word + 1] = int(np.float64(mean).view(np.int64))
    words[word + 2] = int(np.float64(squares).view(np.int64))


# ---------------------------------------------------------------- values


@part
def value_of(words: OutInts, word: int, kind: int) -> do.Value:
    """What a node knows, as a value."""
    if kind in (COUNT, NUMBERS, LACKS):
        return do.INTEGER, int(words[word])
    if kind in (LEAST, MOST):
        return int(words[word]), int(words[word + 1])
    count = words[word]
    if kind == DEVIATION:
        if count < 2:
            return do.NOTHING
        squares = float(np.int64(words[word + 2]).view(np.float64))
        return do.real(math.sqrt(squares / float(count - 1)) if squares == squares else squares)
    if count == 0:
        return do.NOTHING
    if words[word + 3] == 1:
        total = float(np.int64(words[word + 4]).view(np.float64))
        return do.real(total if kind == SUM else total / float(count))
    high = words[word + 1] + (words[word + 2] >> LOW_BITS)
    if not -do.HALF_WORD <= high < do.HALF_WORD:
        return do.NOTHING
    whole = int((high << LOW_BITS) | (words[word + 2] & LOW_MASK))
    return (do.INTEGER, whole) if kind == SUM else do.real(float(whole) / float(count))


@part
def fill(machine: Machine, cells: OutIntRows, condition: int, judged: int) -> None:
    """Put what a program reads where it reads it; NOTHING for an event that there is not."""
    rows, cursors, mask = machine.rows, machine.cursors, machine.mask
    newest = cells[cursors[0], EVENT]
    rows[0] = (newest if cursors[0] != ROOT else max(judged, 0)) & mask
    check = machine.tables[machine.tables[0, CHECKS] + condition]
    for number in range(check[3], check[4]):
        row = machine.tables[machine.tables[0, FILLS] + number]
        source, loop, word, kind, place = row[0], row[1], row[2], row[3], row[4]
        node = cursors[loop]
        if source >= EVENT_BEFORE and source != JUDGED:
            before = cells[node, PREVIOUS]
            node = before if cells[before, LEVEL] == cells[node, LEVEL] else ROOT
        if source == KNOWN_EVENT:
            event = cells[node, HEAD + word]
        elif source == JUDGED:
            event = judged
        elif source in (EVENT_AT, EVENT_BEFORE):
            event = cells[node, EVENT] if node != ROOT else NOTHING
        else:
            rows[place], rows[place + 1] = value_of(cells[node], HEAD + word, kind)
            continue
        rows[place] = NOTHING if event == NOTHING else event & mask


# ---------------------------------------------------------------- conditions


@spliced
def hold(machine: Machine, cells: OutIntRows, moment: int, node: int, judged: int) -> bool:
    """Whether all conditions of a moment hold at a node, for each event that they range over."""
    for condition in range(
        entry(machine, MOMENTS_AT, moment, 0), entry(machine, MOMENTS_AT, moment + 1, 0)
    ):
        if not holds(machine, cells, condition, node, judged):
            return False
    return True


@part
def holds(machine: Machine, cells: OutIntRows, condition: int, node: int, judged: int) -> bool:
    """Whether a condition holds, for every choice of an event of each series it ranges over."""
    cursors, check = machine.cursors, machine.tables[machine.tables[0, CHECKS] + condition]
    start, begin, end = check[0], check[1], check[2]
    cursors[0] = node
    for loop in range(begin, end):
        cursors[1 + loop - begin] = last_of(machine, cells, loop, node)
        if cursors[1 + loop - begin] == NOTHING:
            return True
    while True:
        fill(machine, cells, condition, judged)
        if not evaluate_tuple(
            machine.program, start, machine.columns, machine.rows, machine.stack, None
        ):
            return False
        loop = begin
        while loop < end:
            at = loop - begin + 1
            cursors[at] = within(machine, cells, loop, cells[cursors[at], PREVIOUS])
            if cursors[at] != NOTHING:
                break
            cursors[at] = last_of(machine, cells, loop, node)
            loop += 1
        if loop == end:
            return True


@part
def last_of(machine: Machine, cells: OutIntRows, loop: int, node: int) -> int:
    """The last node over which a loop ranges, at or before a node."""
    level = entry(machine, LOOPS, loop, 0)
    while cells[node, LEVEL] > level:
        node = cells[node, PREVIOUS]
    return within(machine, cells, loop, node)


@part
def within(machine: Machine, cells: OutIntRows, loop: int, node: int) -> int:
    """The node, if the loop ranges over it."""
    is_exempt = entry(machine, LOOPS, loop, 1) == 1 and cells[node, LENGTH] == 1
    inside = cells[node, LEVEL] == entry(machine, LOOPS, loop, 0)
    return int(node) if inside and not is_exempt else NOTHING


# ---------------------------------------------------------------- where a run may go


@spliced
def may_pass(machine: Machine, pattern: Pattern, cells: OutIntRows, node: int, level: int) -> bool:
    """Whether a level may stay empty after a node."""
    return bool(pattern.least[level] == 0) and hold(
        machine, cells, MOMENTS * level + FINISH, node, NO_EVENT
    )


@spliced
def may_proceed(machine: Machine, pattern: Pattern, cells: OutIntRows, node: int) -> bool:
    """Whether the level of a node may be left."""
    level = cells[node, LEVEL]
    return bool(cells[node, LENGTH] >= pattern.least[level]) and hold(
        machine, cells, MOMENTS * level + FINISH, node, NO_EVENT
    )


@spliced
def is_match(machine: Machine, pattern: Pattern, cells: OutIntRows, node: int) -> bool:
    """Whether all that is bound up to a node is a match."""
    if not may_proceed(machine, pattern, cells, node):
        return False
    for level in range(cells[node, LEVEL] + 1, pattern.least.shape[0]):
        if not may_pass(machine, pattern, cells, node, level):
            return False
    return True
