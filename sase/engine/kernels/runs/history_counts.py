"""(NFAb) Count the matches of merged runs without enumerating them.

A run has a table of its histories: for each start, the latest first, the number of histories that
begin there or later. A node that binds an event shares the rows of the node before it. A node into
which others are merged has the sums of all their tables, without starts before the window. So one
search in a table counts the matches that end with a node, and the nodes before it are not kept.

    a1: (a1 1)      z4 after a3: (a3 1, a2 2, a1 3)      three matches end at z4

A row is a start, the least number of a first event there, and the count. The count is written as
digits to the base 2^62, the least digit first.
"""

from __future__ import annotations

from typing import NamedTuple

from sase.engine.kernels.jit.compiler import inlined, kernel, linked
from sase.engine.kernels.jit.signatures import OutIntRows, OutInts
from sase.engine.kernels.kleene import run_nodes as nodes
from sase.engine.kernels.kleene.run_nodes import (
    CROWDED,
    DONE,
    PATIENCE,
    PAUSED,
    WATCHED,
    Incoming,
    Machine,
    Merging,
    Runs,
    free_merged,
    levels_of,
)
from sase.engine.kernels.runs.advance import remove_ended
from sase.engine.kernels.runs.graph import RunGraph, is_whole
from sase.engine.kernels.runs.merged_enumeration import has_room
from sase.engine.kernels.runs.merged_runs import (
    NODE,
    bucket_of,
    is_filled,
    keep,
    note_fresh,
    note_joined,
)
from sase.engine.kernels.runs.step import commit, step
from sase.engine.kernels.sentinels import ANY_SPAN, NOTHING, window_start

# A further reason to stop, after those of runs: a count soon needs one more digit.
WIDER = PAUSED + 1
BITS = 62
DIGIT = 2**BITS - 1
# The last digit must be below this before an event, because one event may add the counts of all
# runs.
SMALL = 2**31
# The columns of `tables`: the first row of a node's table, and the number of its rows.
BEGIN, LENGTH = range(2)
# The columns of a row before the digits.
START, NUMBER = range(2)
DIGITS = 2
# The state: rows in use; during merging, fresh nodes that are examined and that are kept; whether
# merging is under way; whether a count needs one more digit; rows that were added.
TOP, PLACE, KEPT, UNDER_WAY, WIDE, ADDED = range(6)
HISTORIES_STATE = 6


class Histories(NamedTuple):
    """The table of each node, the rows of all tables, and the digits of the number of matches.

    `total` has one digit more than a row.
    """

    tables: OutIntRows
    rows: OutIntRows
    total: OutInts
    state: OutInts


# ---------------------------------------------------------------- tables


@inlined
def write_row(
    histories: Histories, start: int, number: int, one: int, one_at: int, other_at: int
) -> None:
    """Write the row on top: a start, and the sum of `one` and the counts of up to two rows.

    `one_at` and `other_at` are NOTHING where there is no such row.
    """
    rows, state = histories.rows, histories.state
    row, carry = rows[state[TOP]], one
    row[START], row[NUMBER] = start, number
    for digit in range(DIGITS, rows.shape[1]):
        if one_at != NOTHING:
            carry += rows[one_at, digit]
        if other_at != NOTHING:
            carry += rows[other_at, digit]
        row[digit] = carry & DIGIT
        carry >>= BITS
    state[WIDE] |= int(row[rows.shape[1] - 1] >= SMALL)
    state[TOP] += 1


@linked
def add_tables(histories: Histories, node: int, other: int, bound: int) -> None:
    """Add the table of another node to the table of a node, without starts before `bound`."""
    tables, rows, begin = histories.tables, histories.rows, histories.state[TOP]
    one, end = tables[node, BEGIN], tables[node, BEGIN] + tables[node, LENGTH]
    two, stop = tables[other, BEGIN], tables[other, BEGIN] + tables[other, LENGTH]
    one_at = two_at = NOTHING
    while one < end or two < stop:
        is_one = two >= stop or (one < end and rows[one, START] >= rows[two, START])
        is_two = one >= end or (two < stop and rows[two, START] >= rows[one, START])
        start = rows[one, START] if is_one else rows[two, START]
        if start < bound:
            break
        number = rows[one, NUMBER] if is_one else rows[two, NUMBER]
        if is_one:
            one_at, one = one, one + 1
        if is_two:
            number = min(number, rows[two, NUMBER])
            two_at, two = two, two + 1
        write_row(histories, start, number, 0, one_at, two_at)
    tables[node, BEGIN], tables[node, LENGTH] = begin, histories.state[TOP] - begin
    histories.state[ADDED] += tables[node, LENGTH]


@inlined
def begin_tables(runs: Runs, histories: Histories, incoming: Incoming, i: int) -> None:
    """Give each fresh node the table of the node before it, or one row if it is a first node."""
    cells, tables, state = runs.cells, histories.tables, histories.state
    start = 0 if runs.rules.span == ANY_SPAN else incoming.measures[i]
    for place in range(runs.state[nodes.FRESH]):
        node = runs.fresh[place]
        before = cells[node, nodes.PREVIOUS]
        if before == nodes.ROOT:
            tables[node, BEGIN], tables[node, LENGTH] = state[TOP], 1
            write_row(histories, start, incoming.numbers[i], 1, NOTHING, NOTHING)
        else:
            tables[node, BEGIN] = tables[before, BEGIN]
            tables[node, LENGTH] = tables[before, LENGTH]


@inlined
def let_go(runs: Runs, merging: Merging) -> None:
    """Detach the fresh nodes from the nodes before them; free those nodes that are no runs."""
    cells = runs.cells
    for place in range(runs.state[nodes.FRESH]):
        node = runs.fresh[place]
        before = cells[node, nodes.PREVIOUS]
        if before != nodes.ROOT:
            cells[node, nodes.PREVIOUS] = nodes.ROOT
            cells[before, nodes.NEEDED] -= 1
            free_merged(runs, merging, before)


@linked
def merge_tables(
    graph: RunGraph, runs: Runs, merging: Merging, histories: Histories, bound: int
) -> bool:
    """Merge the fresh nodes that are alike, from where the last call stopped, if there is room."""
    cells, tables, state = runs.cells, histories.tables, histories.state
    while state[PLACE] < runs.state[nodes.FRESH]:
        node = runs.fresh[state[PLACE]]
        at = bucket_of(graph, runs, merging, node)
        if is_filled(runs, merging, at):
            kept = merging.buckets[at, NODE]
            needed = tables[kept, LENGTH] + tables[node, LENGTH]
            if needed > histories.rows.shape[0] - state[TOP]:
                return False
            add_tables(histories, kept, node, bound)
            cells[kept, nodes.START] = max(cells[kept, nodes.START], cells[node, nodes.START])
            free_merged(runs, merging, node)
            note_joined(graph, runs, merging, kept)
        else:
            keep(runs, merging, at, node, state[KEPT])
            state[KEPT] += 1
        state[PLACE] += 1
    runs.state[nodes.FRESH] = state[KEPT]
    return True


@inlined
def count_matches(
    machine: Machine, graph: RunGraph, runs: Runs, histories: Histories, bound: int
) -> None:
    """Add the number of matches that end with the fresh nodes to the total."""
    rows, total = histories.rows, histories.total
    for place in range(runs.state[nodes.FRESH]):
        node = runs.fresh[place]
        if not is_whole(machine, graph, None, None, runs.cells, node):
            continue
        # Find the last row that begins within the window.
        begin = histories.tables[node, BEGIN]
        low, high = begin, begin + histories.tables[node, LENGTH]
        while low < high:
            middle = (low + high) // 2
            if rows[middle, START] >= bound:
                low = middle + 1
            else:
                high = middle
        if low == begin:
            continue
        carry = 0
        for digit in range(total.shape[0]):
            carry += total[digit]
            if digit < total.shape[0] - 1:
                carry += rows[low - 1, DIGITS + digit]
            total[digit] = carry & DIGIT
            carry >>= BITS


# ---------------------------------------------------------------- events


@kernel
def count_merged(
    machine: Machine, graph: RunGraph, runs: Runs, merging: Merging, histories: Histories,
    incoming: Incoming,
) -> int:  # fmt: skip
    """Apply events from where the last call stopped, and count the matches that they complete."""
    state, rules, own = runs.state, runs.rules, histories.state
    until, added = state[nodes.STEPS] + PATIENCE, own[ADDED] + PATIENCE
    while state[nodes.AT] < incoming.numbers.shape[0]:
        if own[WIDE] == 1 and own[UNDER_WAY] == 0:
            return WIDER
        if state[nodes.STEPS] >= until or own[ADDED] >= added:
            return PAUSED
        i = state[nodes.AT]
        key, bound = incoming.keys[i], window_start(incoming.measures[i], rules.span)
        is_watched = rules.strategy == WATCHED or (incoming.begins[i] | incoming.takes[i]) != 0
        is_new = own[UNDER_WAY] == 0 and key >= 0 and is_watched
        if is_new and (incoming.begins[i] & rules.first or runs.heads[key] != NOTHING):
            is_tight = histories.rows.shape[0] - own[TOP] < levels_of(machine)
            if is_tight or not has_room(machine, runs, merging, key):
                return CROWDED
            step(machine, graph, None, None, merging, None, runs, incoming, i)
            note_fresh(runs, merging, key)
            begin_tables(runs, histories, incoming, i)
            let_go(runs, merging)
            state[nodes.GROUPS] += 1
            own[UNDER_WAY], own[PLACE], own[KEPT] = 1, 0, 0
        if own[UNDER_WAY] == 1:
            if state[nodes.FRESH] > 1 and not merge_tables(graph, runs, merging, histories, bound):
                return CROWDED
            own[UNDER_WAY] = 0
            count_matches(machine, graph, runs, histories, bound)
            commit(graph, None, None, merging, runs, key)
        state[nodes.AT] += 1
    return DONE


@linked
def move_table(histories: Histories, into: OutIntRows, moved: OutInts, node: int, top: int) -> int:
    """Copy the table of a node if it is not copied yet; return the number of rows in use."""
    tables, begin = histories.tables, histories.tables[node, BEGIN]
    if moved[begin] == NOTHING:
        moved[begin] = top
        for row in range(begin, begin + tables[node, LENGTH]):
            for column in range(into.shape[1]):
                into[top, column] = histories.rows[row, column]
            top += 1
    tables[node, BEGIN] = moved[begin]
    return int(top)


@kernel
def move_tables(runs: Runs, histories: Histories, into: OutIntRows, moved: OutInts) -> None:
    """Copy the tables of runs and fresh nodes into `into`; `moved` has the new place of each."""
    state, top = histories.state, 0
    for key in range(runs.heads.shape[0]):
        node = runs.heads[key]
        while node != NOTHING:
            top = move_table(histories, into, moved, node, top)
            node = runs.cells[node, nodes.NEXT]
    if state[UNDER_WAY] == 1:
        for place in range(runs.state[nodes.FRESH]):
            if place < state[KEPT] or place >= state[PLACE]:
                top = move_table(histories, into, moved, runs.fresh[place], top)
    state[TOP] = top


@kernel
def expire_counted(
    runs: Runs, merging: Merging, histories: Histories, bound: int, spot: int
) -> int:
    """Remove the ended runs; return the first event with which a history begins."""
    first = NOTHING
    remove_ended(runs, merging, bound, spot)
    for key in range(runs.heads.shape[0]):
        node = runs.heads[key]
        while node != NOTHING:
            last = histories.tables[node, BEGIN] + histories.tables[node, LENGTH] - 1
            number = histories.rows[last, NUMBER]
            if first == NOTHING or number < first:
                first = number
            node = runs.cells[node, nodes.NEXT]
    return int(first)
