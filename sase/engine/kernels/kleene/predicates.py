"""Conditions and aggregates of the events of a run, and the words that a new event changes."""

from __future__ import annotations

import math

import numpy as np

from sase.engine.kernels.expressions import operations as do
from sase.engine.kernels.expressions.checks import UNDECLARED
from sase.engine.kernels.expressions.operations import NULL, Value
from sase.engine.kernels.expressions.program import RAISED_AT, RAISED_WORDS, evaluate_tuple
from sase.engine.kernels.expressions.slow_paths import real_of, side_of
from sase.engine.kernels.jit.compiler import by_address, inlined, kernel, linked, tuple_at
from sase.engine.kernels.jit.linking import store_at
from sase.engine.kernels.jit.signatures import Ints, OutIntRows, OutInts
from sase.engine.kernels.kleene import run_nodes as nodes
from sase.engine.kernels.kleene.run_nodes import (
    Machine,
    PredicateArrays,
    entry,
    least_of,
    levels_of,
    tests_of,
)
from sase.engine.kernels.kleene.user_aggregates import KNOWN, step_at, value_at
from sase.engine.kernels.sentinels import NOTHING

# ---------------------------------------------------------------- predicates

# These kernels are called by address: they are large, and only compiled for queries that need them.
# Plain comparisons do not need them (see "transitions").


@kernel
def store_predicates(address: int, arrays: PredicateArrays) -> None:
    """Store the arrays that `update_aggregate` and `evaluate_condition` load."""
    store_at(address, arrays)


predicates_at = tuple_at(PredicateArrays)

# ---------------------------------------------------------------- aggregates


@kernel
def update_aggregate(address: int, number: int, cells: OutIntRows, node: int, place: int) -> None:
    """Update an aggregate of a new node by its own event."""
    arrays = predicates_at(address)
    row, words = arrays.tables[arrays.tables[0, nodes.CHANGES] + number], cells[node]
    kind, word, column, called = row[0], nodes.HEAD + row[1], row[2], row[4]
    if kind == nodes.LACKS:
        words[word] |= arrays.lacking[column, arrays.columns.types[place]]
        return
    if kind >= nodes.DEFINED:
        advance(arrays, row, words, place)
        return
    tag = int(arrays.columns.tags[column, place])
    if tag == do.NULL:
        return
    value = tag, int(arrays.columns.cells[column, place])
    if kind == nodes.NUMBERS:
        words[word] += 1
    elif kind == nodes.SUM:
        add(words, word, value, real_of(called, value))
    elif kind == nodes.SPREAD:
        spread(words, word, real_of(called, value))
    else:
        known = int(words[word]), int(words[word + 1])
        if known[0] == do.NULL or is_better(arrays, row, known, value):
            words[word], words[word + 1] = value


@linked
def is_better(arrays: PredicateArrays, change: Ints, known: do.Value, value: do.Value) -> bool:
    """Whether a value is less, or greater, than the stored one; texts compare by their ranks."""
    kind, table, address = change[0], change[3], change[4]
    if table != NOTHING:
        tables = arrays.columns.tables
        known = known[0], int(tables[table, known[1]])
        value = value[0], int(tables[table, value[1]])
    return side_of(address, value, known) == (-1 if kind == nodes.LEAST else 1)


@linked
def add(words: OutInts, word: int, value: do.Value, real: float) -> None:
    """Add to a sum: the count, high and low bits of integers, a flag for other numbers, a float."""
    words[word] += 1
    if words[word] > 1:
        real = float(np.int64(words[word + 4]).view(np.float64)) + real
    words[word + 4] = int(np.float64(real).view(np.int64))
    if value[0] == do.INTEGER:
        words[word + 1] += value[1] >> nodes.LOW_BITS
        words[word + 2] += value[1] & nodes.LOW_MASK
    else:
        words[word + 3] = 1


@linked
def spread(words: OutInts, word: int, value: float) -> None:
    """Add to a variance by Welford's recurrence: the count, the mean, the squared distances."""
    words[word] += 1
    mean = float(np.int64(words[word + 1]).view(np.float64))
    squares = float(np.int64(words[word + 2]).view(np.float64))
    delta = value - mean
    mean += delta / float(words[word])
    squares += delta * (value - mean)
    words[word + 1] = int(np.float64(mean).view(np.int64))
    words[word + 2] = int(np.float64(squares).view(np.int64))


@linked
def advance(arrays: PredicateArrays, change: Ints, words: OutInts, place: int) -> None:
    """Change the state of a user's aggregate by an event, unless an attribute of it is NULL."""
    tables, tags, cells = arrays.tables, arrays.columns.tags, arrays.columns.cells
    first, number = tables[0, nodes.COLUMNS] + change[2], change[0] - nodes.DEFINED
    for row in range(first, first + change[3]):
        if tags[tables[row, 0], place] == do.NULL:
            return
    word = nodes.HEAD + change[1]
    if step_at(change[4], words, word, tables, first, cells, tags, place):
        note_raised(arrays, number, place)


@linked
def note_raised(arrays: PredicateArrays, number: int, row: int) -> None:
    """Note that a user's function raised, and the row of the first time."""
    notes, at = arrays.stack.notes, RAISED_AT + RAISED_WORDS * number
    if notes[at] == 0:
        notes[at + 2] = row
    notes[at] += 1


# ---------------------------------------------------------------- values


@linked
def value_of_defined(arrays: PredicateArrays, words: OutInts, word: int, number: int) -> do.Value:
    """Return the value of a user's aggregate; NULL without events, or if a function raised."""
    if words[word] != KNOWN:
        return do.NOTHING
    value = value_at(entry(arrays, nodes.VALUES, number, 0), words, word)
    if value[0] == do.OVERFLOW:
        note_raised(arrays, number, arrays.rows[0])
        return do.NOTHING
    return int(value[0]), int(value[1])


@linked
def value_of(words: OutInts, word: int, kind: int) -> do.Value:
    """Return the value of an aggregate."""
    if kind in (nodes.COUNT, nodes.NUMBERS, nodes.LACKS):
        return do.INTEGER, int(words[word])
    if kind in (nodes.LEAST, nodes.MOST):
        return int(words[word]), int(words[word + 1])
    count = words[word]
    if kind == nodes.DEVIATION:
        if count < 2:
            return do.NOTHING
        squares = float(np.int64(words[word + 2]).view(np.float64))
        return do.real(math.sqrt(squares / float(count - 1)) if squares == squares else squares)
    if count == 0:
        return do.NOTHING
    if words[word + 3] == 1:
        total = float(np.int64(words[word + 4]).view(np.float64))
        return do.real(total if kind == nodes.SUM else total / float(count))
    high = words[word + 1] + (words[word + 2] >> nodes.LOW_BITS)
    if not -do.HALF_WORD <= high < do.HALF_WORD:
        return do.NOTHING
    whole = int((high << nodes.LOW_BITS) | (words[word + 2] & nodes.LOW_MASK))
    return (do.INTEGER, whole) if kind == nodes.SUM else do.real(float(whole) / float(count))


@linked
def fill(arrays: PredicateArrays, cells: OutIntRows, condition: int, judged: int) -> None:
    """Fill the rows of a program; a row is `NOTHING` if there is no such event."""
    rows, cursors, mask = arrays.rows, arrays.cursors, arrays.mask
    newest = cells[cursors[0], nodes.EVENT]
    rows[0] = (newest if cursors[0] != nodes.ROOT else max(judged, 0)) & mask
    check = arrays.tables[arrays.tables[0, nodes.CHECKS] + condition]
    for number in range(check[3], check[4]):
        row = arrays.tables[arrays.tables[0, nodes.FILLS] + number]
        source, loop, word, kind, place = row[0], row[1], row[2], row[3], row[4]
        node = cursors[loop]
        if row[5] > 0:  # the value at the end of the iteration before
            node = cells[node, nodes.HEAD + row[5]]
        if source >= nodes.EVENT_BEFORE and source != nodes.JUDGED:
            before = cells[node, nodes.PREVIOUS]
            node = before if cells[before, nodes.LEVEL] == cells[node, nodes.LEVEL] else nodes.ROOT
        if source == nodes.KNOWN_EVENT:
            event = cells[node, nodes.HEAD + word]
        elif source == nodes.JUDGED:
            event = judged
        elif source in (nodes.EVENT_AT, nodes.EVENT_BEFORE):
            event = cells[node, nodes.EVENT] if node != nodes.ROOT else NOTHING
        else:
            word += nodes.HEAD
            if kind >= nodes.DEFINED:
                value = value_of_defined(arrays, cells[node], word, kind - nodes.DEFINED)
            else:
                value = value_of(cells[node], word, kind)
            rows[place], rows[place + 1] = value
            continue
        rows[place] = NOTHING if event == NOTHING else event & mask


# ---------------------------------------------------------------- conditions

# The fields of a loop after its level: whether the first is exempt; its items (the events of a
# series, the iterations of a repeated group, the events of a series in an iteration, or only the
# last cursor, which is given); the number, from 1, of the loop with the node at which it begins, or
# 0 for the newest node; the states as bits; the words of a group: the node before the current
# iteration, and the number of iterations.
EXEMPT, OVER, WITHIN, STATES, BEFORE_AT, COUNT_AT = range(1, 7)
SERIES, ITERATIONS, EVENTS, GIVEN = range(4)


@kernel
def evaluate_condition(
    address: int, cells: OutIntRows, condition: int, node: int, judged: int
) -> bool:
    """Whether a condition holds for every choice of items of its loops, outer loops first."""
    arrays = predicates_at(address)
    cursors, check = arrays.cursors, arrays.tables[arrays.tables[0, nodes.CHECKS] + condition]
    start, begin, end = check[0], check[1], check[2]
    cursors[0] = node
    loop, is_new = begin, True
    while True:
        if loop == end:
            fill(arrays, cells, condition, judged)
            if not evaluate_tuple(
                arrays.program, start, arrays.columns, arrays.rows, arrays.stack, None
            ):
                return False
            is_new = False
        else:
            at = loop - begin + 1
            cursors[at] = (
                first_of(arrays, cells, loop) if is_new else next_of(arrays, cells, loop, at)
            )
            is_new = cursors[at] != NOTHING
        loop += 1 if is_new else -1
        if loop < begin:
            return True


@linked
def first_of(arrays: PredicateArrays, cells: OutIntRows, loop: int) -> int:
    """Return the first node of a loop, which runs backwards, or `NOTHING`."""
    row = arrays.tables[arrays.tables[0, nodes.LOOPS] + loop]
    if row[OVER] == GIVEN:
        return int(arrays.cursors[arrays.cursors.shape[0] - 1])
    node = arrays.cursors[row[WITHIN]]
    if row[OVER] != EVENTS:
        while cells[node, nodes.LEVEL] > row[0]:
            node = cells[node, nodes.PREVIOUS]
    return within(arrays, cells, loop, node)


@linked
def next_of(arrays: PredicateArrays, cells: OutIntRows, loop: int, at: int) -> int:
    """Return the next node of a loop, or `NOTHING`."""
    row = arrays.tables[arrays.tables[0, nodes.LOOPS] + loop]
    if row[OVER] == GIVEN:
        return NOTHING
    step = row[BEFORE_AT] if row[OVER] == ITERATIONS else nodes.PREVIOUS
    return within(arrays, cells, loop, cells[arrays.cursors[at], step])


@linked
def within(arrays: PredicateArrays, cells: OutIntRows, loop: int, node: int) -> int:
    """Return the first node of a loop, from a node on backwards, or `NOTHING`."""
    row = arrays.tables[arrays.tables[0, nodes.LOOPS] + loop]
    if row[OVER] == SERIES:
        inside = cells[node, nodes.LEVEL] == row[0]
        return int(node) if inside and cells[node, nodes.LENGTH] > row[EXEMPT] else NOTHING
    if row[OVER] == ITERATIONS:
        while node != nodes.ROOT and cells[node, row[COUNT_AT]] > row[EXEMPT]:
            if (row[STATES] >> cells[node, nodes.LEVEL]) & 1 == 1:
                return int(node)
            node = cells[node, row[BEFORE_AT]]
        return NOTHING
    end = cells[arrays.cursors[row[WITHIN]], row[BEFORE_AT]]
    while node != end:
        if (row[STATES] >> cells[node, nodes.LEVEL]) & 1 == 1:
            return int(node) if cells[node, nodes.LENGTH] > row[EXEMPT] else NOTHING
        node = cells[node, nodes.PREVIOUS]
    return NOTHING


condition_at, aggregate_at = by_address(evaluate_condition), by_address(update_aggregate)


# ---------------------------------------------------------------- transitions

# Conditions are decided in two ways. A comparison of the new event with a value that a node stores
# is decided here, before the event is bound. Most conditions are of this kind, and a node for an
# event that fails costs more than the comparison. Any other condition is a program (`predicates`),
# which reads a bound event.

# ---------------------------------------------------------------- binding


@inlined
def fits(machine: Machine, cells: OutIntRows, node: int, event: int) -> bool:
    """Whether an event agrees with all bound events, on the tests that are decided here."""
    for test in range(tests_of(machine)):
        code = machine.codes[entry(machine, nodes.TESTS, test, 0), event & machine.mask]
        if code == NOTHING:
            return False
        known = cells[node, nodes.HEAD + test]
        if code != UNDECLARED and known != UNDECLARED and code != known:
            return False
    return True


@linked
def differs(machine: Machine, cells: OutIntRows, node: int, event: int) -> bool:
    """Whether an event is of another partition than the bound events."""
    for test in range(tests_of(machine)):
        code = machine.codes[entry(machine, nodes.TESTS, test, 0), event & machine.mask]
        known = cells[node, nodes.HEAD + test]
        if code in (NOTHING, UNDECLARED) or (known != UNDECLARED and code != known):
            return True
    return False


@inlined
def bind(
    machine: Machine, cells: OutIntRows, node: int, before: int, level: int, event: int
) -> None:
    """Bind an event in a node after another node, or the same; order and place are not set."""
    known = cells[before]
    cells[node, nodes.LENGTH] = known[nodes.LENGTH] + 1 if known[nodes.LEVEL] == level else 1
    place_event(cells, node, before, level, event)
    note_event(machine, cells, node, level, event & machine.mask)


@inlined
def place_event(cells: OutIntRows, node: int, before: int, level: int, event: int) -> None:
    """Put an event into a node, with a copy of the words of the node before it."""
    known, new = cells[before], cells[node]
    for word in range(nodes.HEAD, cells.shape[1]):
        new[word] = known[word]
    new[nodes.EVENT], new[nodes.PREVIOUS], new[nodes.LEVEL] = event, before, level
    new[nodes.DEPTH] = known[nodes.DEPTH] + 1
    new[nodes.FIRST] = known[nodes.FIRST] if before != nodes.ROOT else event


@inlined
def note_codes(machine: Machine, cells: OutIntRows, node: int, place: int) -> None:
    """Write the partition of its own event into a new node."""
    for test in range(tests_of(machine)):
        code = machine.codes[entry(machine, nodes.TESTS, test, 0), place]
        if code != UNDECLARED:
            cells[node, nodes.HEAD + test] = code


@inlined
def note_event(machine: Machine, cells: OutIntRows, node: int, level: int, place: int) -> None:
    """Change all words of a new node that depend on its own event."""
    note_codes(machine, cells, node, place)
    for number in range(
        entry(machine, nodes.CHANGES_OF, level, 0), entry(machine, nodes.CHANGES_OF, level + 1, 0)
    ):
        change(machine, number, cells, node, place)


@inlined
def change(machine: Machine, number: int, cells: OutIntRows, node: int, place: int) -> None:
    """Apply one change by its own event to the words of a new node."""
    words, at = cells[node], machine.tables[0, nodes.CHANGES] + number
    kind, word = machine.tables[at, 0], nodes.HEAD + machine.tables[at, 1]
    if kind > nodes.COUNT:
        aggregate_at(machine.aggregate, machine.arrays, number, cells, node, place)
    elif kind == nodes.COUNT:
        words[word] = words[nodes.LENGTH]
    elif kind == nodes.LAST_EVENT or words[nodes.LENGTH] == 1:
        words[word] = words[nodes.EVENT]


# ---------------------------------------------------------------- conditions


@inlined
def programs_hold(machine: Machine, cells: OutIntRows, moment: int, node: int, judged: int) -> bool:
    """Whether the conditions of a moment that are programs hold at a node."""
    for condition in range(
        entry(machine, nodes.MOMENTS_AT, moment, 0), entry(machine, nodes.MOMENTS_AT, moment + 1, 0)
    ):
        if entry(machine, nodes.CHECKS, condition, nodes.PLAIN) == 0 and not condition_at(
            machine.condition, machine.arrays, cells, condition, node, judged
        ):
            return False
    return True


@inlined
def comparisons_hold(
    machine: Machine, cells: OutIntRows, moment: int, node: int, event: int
) -> bool:
    """Whether the comparisons of a moment accept an event after a node."""
    for condition in range(
        entry(machine, nodes.MOMENTS_AT, moment, 0), entry(machine, nodes.MOMENTS_AT, moment + 1, 0)
    ):
        check = machine.tables[machine.tables[0, nodes.CHECKS] + condition, nodes.PLAIN :]
        if check[0] > 0 and not comparison_holds(machine, cells, check, node, event & machine.mask):
            return False
    return True


@linked
def comparison_holds(
    machine: Machine, cells: OutIntRows, check: Ints, node: int, place: int
) -> bool:
    """Whether a comparison accepts the order of a new event and a value that a node stores."""
    value = int(machine.tags[check[1], place]), int(machine.columns[check[1], place])
    order = side_of(check[5], value, known_side(machine, cells, check, node))
    return bool((check[0] >> (order + 1)) & 1 == 1)


@inlined
def known_side(machine: Machine, cells: OutIntRows, check: Ints, node: int) -> Value:
    """Return the value that a new event is compared with after a node; NULL without an event."""
    source, word = check[2], nodes.HEAD + check[3]
    if source in (nodes.VALUE_BEFORE, nodes.KNOWN_VALUE):
        return int(cells[node, word]), int(cells[node, word + 1])
    event = cells[node, nodes.EVENT] if source == nodes.EVENT_BEFORE else cells[node, word]
    if event == NOTHING:
        return NULL, 0
    at = event & machine.mask
    return int(machine.tags[check[4], at]), int(machine.columns[check[4], at])


# ---------------------------------------------------------------- the moves of a run


@inlined
def may_pass(machine: Machine, cells: OutIntRows, node: int, level: int) -> bool:
    """Whether a level may stay empty after a node."""
    return bool(least_of(machine, level) == 0) and programs_hold(
        machine, cells, nodes.MOMENTS * level + nodes.FINISH, node, nodes.NO_EVENT
    )


@inlined
def may_proceed(machine: Machine, cells: OutIntRows, node: int) -> bool:
    """Whether a run may leave the level of a node."""
    level = cells[node, nodes.LEVEL]
    return bool(cells[node, nodes.LENGTH] >= least_of(machine, level)) and programs_hold(
        machine, cells, nodes.MOMENTS * level + nodes.FINISH, node, nodes.NO_EVENT
    )


@inlined
def is_match(machine: Machine, cells: OutIntRows, node: int) -> bool:
    """Whether the events up to a node are a match."""
    if not may_proceed(machine, cells, node):
        return False
    for level in range(cells[node, nodes.LEVEL] + 1, levels_of(machine)):
        if not may_pass(machine, cells, node, level):
            return False
    return True
