"""Skip till any match, postponed: events are remembered, and matches walked back (SASE++).

An instance is an event that may take part, of a partition. Of each level it knows the last instance
before it that may be of that level, and the latest first event from which it can be reached as one
of that level. From each event that may be the last one a walk chooses earlier and earlier events,
the most recent first. It goes from list to list of events; of each list it knows all the ways in
which its events may belong to the levels, in the order of results: the lower level first.

    instances        a1   a2   b3   a4   b5        c6 is the last: walks  c6 b5 a4, c6 b5 b3 a2, …

Conditions that need all events of a match are postponed until a walk is at its first event; then
the match is bound from there on, as a run would.
"""

from __future__ import annotations

from typing import NamedTuple, cast

import numpy as np

from sase.engine.kernels.compiling import OutIntRows, OutInts, kernel, part, spliced
from sase.engine.kernels.program import evaluate_tuple
from sase.engine.kernels.runs import CROWDED, DONE, FULL, Incoming, Written
from sase.engine.kernels.series import (
    BEGIN,
    CHECKS,
    FILLS,
    LEVEL,
    LOOPS,
    MOMENTS,
    MOMENTS_AT,
    NO_EVENT,
    ROOT,
    TAKE,
    ZERO,
    Machine,
    Pattern,
    bind,
    entry,
    fits,
    hold,
    is_match,
    may_pass,
    may_proceed,
)
from sase.engine.kernels.stacks import EARLIEST, NOTHING, oldest

# The fields of an instance: its event, order, measure, and levels as bits. Then by level the last
# instance before it of that level, and the latest first event from which it can be reached.
ROW, ORDER, MEASURE, BEGINS, TAKES = range(5)
FIELDS = 5
# The fields of a step of a walk: the instance, the next one to try before it, its ways, which of
# them is to be looked at for a match, and the levels an earlier event may be of.
INSTANCE, CURSOR, LOW, HIGH, LOOKED, LEVELS = range(6)
STEP = 6
# The fields of a way: the level of its first event, how many events of that there are, the way
# it goes on in, and the instance; then by level the last event.
WAY_LEVEL, WAY_LENGTH, WAY_ON, WAY_AT = range(4)
WAY = 4
# Of the state: the event to go on with, steps of the walk, ways; instances ever, and dead ones;
# walks, instances looked at, matches bound, and those that failed then.
AT, DEPTH, WAYS, COUNT, TAIL, WALKS, VISITED, BOUND, FAILED = range(9)
STATE = 9
# What is known of a level of a partition: the last instance; the latest first events from which one
# of the level can be reached, of all instances and of those before the last order.
TOP, REACHED, REACHED_NOW, NOW = range(4)
KNOWN = 4

# Where an early condition reads from: the event that is chosen, the one behind it, the last one of
# a level, and the one that a loop is at.
CHOSEN, BEHIND, LAST_OF, LOOP = range(4)
# When: as the last event of its level, or as a further one.
ENTER, EXTEND = (cast(int, np.int64(moment)) for moment in range(2))


class Collapsed(NamedTuple):
    """Instances, what is known by partition and level, the walk, and nodes to bind a match in."""

    cells: OutIntRows
    known: OutIntRows
    steps: OutIntRows
    ways: OutIntRows
    nodes: OutIntRows
    state: OutInts


class Bounds(NamedTuple):
    """What the window spans, at which levels a match may begin and end, and if it must be bound.

    `prunes` says whether measures never fall, so that what is too old stays so. `before` are by
    level the levels that may come before it, as bits.
    """

    span: int
    prunes: int
    first: int
    last: int
    binds: int
    before: OutInts


# ---------------------------------------------------------------- instances


@spliced
def reached(collapsed: Collapsed, base: int, level: int, order: int) -> int:
    """The latest first event from which an event of this order can follow one of a level."""
    known = collapsed.known[base + level]
    if known[NOW] == order:
        return int(known[REACHED])
    return int(max(known[REACHED], known[REACHED_NOW]))


@part
def remembered(
    pattern: Pattern, bounds: Bounds, collapsed: Collapsed, incoming: Incoming, i: int
) -> bool:
    """Make an instance of an event, of the levels at which it can be reached within the window."""
    levels, state, cells = pattern.least.shape[0], collapsed.state, collapsed.cells
    base, order = incoming.keys[i] * levels, incoming.ties[i]
    measure, bound = incoming.measures[i], oldest(incoming.measures[i], bounds.span)
    number = state[COUNT]
    cell = cells[number & (cells.shape[0] - 1)]
    begins, takes = incoming.begins[i], incoming.takes[i]
    any_level = False
    for level in range(levels):
        bit, reach = 1 << level, EARLIEST
        if begins & bit:
            # The earliest measure of all stands for none.
            begun = max(measure, EARLIEST + 1) if bounds.first & bit else EARLIEST
            for earlier in range(level):
                if (bounds.before[level] >> earlier) & 1:
                    begun = max(begun, reached(collapsed, base, earlier, order))
            if begun == EARLIEST or begun < bound:
                begins &= ~bit
            else:
                reach = begun
        if takes & bit and pattern.kleene[level] == 1 and pattern.most[level] != 1:
            taken = reached(collapsed, base, level, order)
            if taken == EARLIEST or taken < bound:
                takes &= ~bit
            else:
                reach = max(reach, taken)
        else:
            takes &= ~bit
        cell[FIELDS + level] = collapsed.known[base + level, TOP]
        cell[FIELDS + levels + level] = reach
        any_level = any_level or reach != EARLIEST
    if not any_level:
        return False
    cell[ROW], cell[ORDER], cell[MEASURE] = incoming.numbers[i], order, measure
    cell[BEGINS], cell[TAKES] = begins, takes
    for level in range(levels):
        if ((begins | takes) >> level) & 1:
            known = collapsed.known[base + level]
            known[TOP] = number
            if known[NOW] != order:
                known[REACHED] = max(known[REACHED], known[REACHED_NOW])
                known[REACHED_NOW], known[NOW] = EARLIEST, order
            known[REACHED_NOW] = max(known[REACHED_NOW], cell[FIELDS + levels + level])
    state[COUNT] += 1
    return True


@kernel
def forget(collapsed: Collapsed, bound: int) -> None:
    """Give up the instances before a bound."""
    drop(collapsed, bound)


@part
def drop(collapsed: Collapsed, bound: int) -> None:
    """Give up the instances before a bound."""
    cells, state = collapsed.cells, collapsed.state
    mask = cells.shape[0] - 1
    while state[TAIL] < state[COUNT] and cells[state[TAIL] & mask, MEASURE] < bound:
        state[TAIL] += 1


# ---------------------------------------------------------------- the walk


@spliced
def before(collapsed: Collapsed, levels: int, number: int, wanted: int) -> int:
    """The last instance before one that may be of some levels."""
    cell = collapsed.cells[number & (collapsed.cells.shape[0] - 1)]
    found = NOTHING
    for level in range(levels):
        if (wanted >> level) & 1:
            found = max(found, cell[FIELDS + level])
    return int(found)


@part
def begun(
    early: Machine, pattern: Pattern, bounds: Bounds, collapsed: Collapsed, number: int
) -> bool:
    """Begin a walk at the last instance, if it may be the last event of a match."""
    state, levels = collapsed.state, pattern.least.shape[0]
    cell = collapsed.cells[number & (collapsed.cells.shape[0] - 1)]
    state[DEPTH] = state[WAYS] = 0
    for level in range(levels):
        if (bounds.last >> level) & 1 and ((cell[BEGINS] | cell[TAKES]) >> level) & 1:
            way = collapsed.ways[state[WAYS]]
            way[WAY_LEVEL], way[WAY_LENGTH], way[WAY_ON] = level, 1, NOTHING
            way[WAY_AT] = number
            way[WAY + level] = cell[ROW]
            if allowed(early, collapsed, state[WAYS], ENTER):
                state[WAYS] += 1
    if state[WAYS] == 0:
        return False
    state[WALKS] += 1
    stepped(pattern, bounds, collapsed, number, ROOT)
    return True


@part
def stepped(pattern: Pattern, bounds: Bounds, collapsed: Collapsed, number: int, low: int) -> None:
    """A step to an instance, of which the ways are those from a place on."""
    state, levels = collapsed.state, pattern.least.shape[0]
    cell = collapsed.cells[number & (collapsed.cells.shape[0] - 1)]
    step, wanted = collapsed.steps[state[DEPTH]], 0
    for place in range(low, state[WAYS]):
        way = collapsed.ways[place]
        level, length = way[WAY_LEVEL], way[WAY_LENGTH]
        most = pattern.most[level]
        if (cell[TAKES] >> level) & 1 and (most < 0 or length < most):
            wanted |= 1 << level
        if (cell[BEGINS] >> level) & 1 and length >= pattern.least[level]:
            wanted |= bounds.before[level]
    step[INSTANCE], step[LOW], step[HIGH], step[LOOKED] = number, low, state[WAYS], low
    step[LEVELS] = wanted
    step[CURSOR] = before(collapsed, levels, number, wanted)
    state[DEPTH] += 1


@part
def went_on(
    early: Machine,
    pattern: Pattern,
    bounds: Bounds,
    collapsed: Collapsed,
    number: int,
    bound: int,
) -> None:
    """Try an earlier instance in all ways of the last step, and step to it in those that it may."""
    state, levels = collapsed.state, pattern.least.shape[0]
    step = collapsed.steps[state[DEPTH] - 1]
    mask = collapsed.cells.shape[0] - 1
    cell, behind = collapsed.cells[number & mask], collapsed.cells[step[INSTANCE] & mask]
    low = state[WAYS]
    for place in range(step[LOW], step[HIGH]):
        way = collapsed.ways[place]
        level, length = way[WAY_LEVEL], way[WAY_LENGTH]
        leaves = (behind[BEGINS] >> level) & 1 and length >= pattern.least[level]
        most = pattern.most[level]
        stays = (behind[TAKES] >> level) & 1 and (most < 0 or length < most)
        for earlier in range(level + 1):
            is_same = earlier == level
            if is_same and not stays:
                continue
            if not is_same and not (leaves and (bounds.before[level] >> earlier) & 1):
                continue
            if not ((cell[BEGINS] | cell[TAKES]) >> earlier) & 1:
                continue
            if cell[FIELDS + levels + earlier] < bound:
                continue
            new = collapsed.ways[state[WAYS]]
            for field in range(WAY, WAY + levels):
                new[field] = way[field]
            if not is_same:
                new[WAY + earlier] = cell[ROW]
            new[WAY_LEVEL], new[WAY_LENGTH] = earlier, length + 1 if is_same else 1
            new[WAY_ON], new[WAY_AT] = place, number
            if allowed(early, collapsed, state[WAYS], EXTEND if is_same else ENTER):
                state[WAYS] += 1
    if state[WAYS] > low:
        stepped(pattern, bounds, collapsed, number, low)


# ---------------------------------------------------------------- conditions


@spliced
def allowed(early: Machine, collapsed: Collapsed, place: int, moment: int) -> bool:
    """Whether the early conditions on the event chosen last hold in a way."""
    first = 2 * collapsed.ways[place, WAY_LEVEL] + moment
    for condition in range(
        entry(early, MOMENTS_AT, first, ZERO), entry(early, MOMENTS_AT, first + 1, ZERO)
    ):
        if not allows(early, collapsed, condition, place):
            return False
    return True


@part
def allows(machine: Machine, collapsed: Collapsed, condition: int, place: int) -> bool:
    """Whether a condition holds for every choice of an event of each series it ranges over."""
    cursors, ways = machine.cursors, collapsed.ways
    check = machine.tables[machine.tables[0, CHECKS] + condition]
    start, first, end = check[0], check[1], check[2]
    for loop in range(first, end):
        cursors[loop - first] = on_level(
            collapsed, entry(machine, LOOPS, loop, ZERO), ways[place, WAY_ON]
        )
        if cursors[loop - first] == NOTHING:
            return True
    while True:
        fill_early(machine, collapsed, condition, place)
        if not evaluate_tuple(
            machine.program, start, machine.columns, machine.rows, machine.stack, None
        ):
            return False
        loop = first
        while loop < end:
            level, at = entry(machine, LOOPS, loop, ZERO), loop - first
            following = ways[cursors[at], WAY_ON]
            if following != NOTHING and ways[following, WAY_LEVEL] == level:
                cursors[at] = following
                break
            cursors[at] = on_level(collapsed, level, ways[place, WAY_ON])
            loop += 1
        if loop == end:
            return True


@part
def on_level(collapsed: Collapsed, level: int, place: int) -> int:
    """The first step on along a way that is of a level."""
    while place != NOTHING and collapsed.ways[place, WAY_LEVEL] < level:
        place = collapsed.ways[place, WAY_ON]
    if place != NOTHING and collapsed.ways[place, WAY_LEVEL] != level:
        return NOTHING
    return place


@part
def fill_early(machine: Machine, collapsed: Collapsed, condition: int, place: int) -> None:
    """Put the events that a program reads where it reads them."""
    cells, ways, mask = collapsed.cells, collapsed.ways, collapsed.cells.shape[0] - 1
    chosen = cells[ways[place, WAY_AT] & mask, ROW]
    machine.rows[0] = chosen & machine.mask
    check = machine.tables[machine.tables[0, CHECKS] + condition]
    for number in range(check[3], check[4]):
        row = machine.tables[machine.tables[0, FILLS] + number]
        source, which = row[0], row[1]
        event = chosen
        if source == BEHIND:
            event = cells[ways[ways[place, WAY_ON], WAY_AT] & mask, ROW]
        elif source == LAST_OF:
            event = ways[place, WAY + which]
        elif source == LOOP:
            event = cells[ways[machine.cursors[which], WAY_AT] & mask, ROW]
        machine.rows[row[4]] = event & machine.mask


@part
def is_bound(machine: Machine, pattern: Pattern, collapsed: Collapsed, place: int) -> bool:
    """Whether the events of a way are a match, when they are bound from the first one on."""
    nodes, ways, node = collapsed.nodes, collapsed.ways, ROOT
    cells, mask = collapsed.cells, collapsed.cells.shape[0] - 1
    collapsed.state[BOUND] += 1
    while place != NOTHING:
        level, event = ways[place, WAY_LEVEL], cells[ways[place, WAY_AT] & mask, ROW]
        known = nodes[node, LEVEL]
        if not fits(machine, nodes, node, event):
            return False
        if level != known:
            if node != ROOT and not may_proceed(machine, pattern, nodes, node):
                return False
            for passed in range(known + 1, level):
                if not may_pass(machine, pattern, nodes, node, passed):
                    return False
        bind(machine, nodes, node + 1, node, level, event)
        moment = TAKE if level == known else BEGIN
        node += 1
        if not hold(machine, nodes, MOMENTS * level + moment, node, NO_EVENT):
            return False
        place = ways[place, WAY_ON]
    return is_match(machine, pattern, nodes, node)


@spliced
def may_be_first(pattern: Pattern, bounds: Bounds, collapsed: Collapsed, place: int) -> bool:
    """Whether a match may begin with the event chosen last in a way."""
    way = collapsed.ways[place]
    level = way[WAY_LEVEL]
    cell = collapsed.cells[way[WAY_AT] & (collapsed.cells.shape[0] - 1)]
    return bool(
        (bounds.first >> level) & 1
        and (cell[BEGINS] >> level) & 1
        and way[WAY_LENGTH] >= pattern.least[level]
    )


@part
def wrote(collapsed: Collapsed, place: int, written: Written) -> bool:
    """Write the match of a way, if there is room."""
    count, at = written.sizes[0], written.sizes[1]
    if count >= written.ends.shape[0] or at + collapsed.state[DEPTH] > written.events.shape[0]:
        return False
    for level in range(written.lengths.shape[0]):
        written.lengths[level, count] = 0
    cells, ways, mask = collapsed.cells, collapsed.ways, collapsed.cells.shape[0] - 1
    while place != NOTHING:
        written.events[at] = cells[ways[place, WAY_AT] & mask, ROW]
        written.lengths[ways[place, WAY_LEVEL], count] += 1
        at += 1
        place = ways[place, WAY_ON]
    written.ends[count] = at
    written.sizes[0], written.sizes[1] = count + 1, at
    return True


# ---------------------------------------------------------------- event by event


@part
def walked(
    machine: Machine,
    early: Machine,
    pattern: Pattern,
    bounds: Bounds,
    collapsed: Collapsed,
    written: Written,
) -> int:
    """Go on with a walk, and write the matches that it meets; why it stops."""
    state, cells, mask = collapsed.state, collapsed.cells, collapsed.cells.shape[0] - 1
    levels = pattern.least.shape[0]
    last = cells[collapsed.steps[0, INSTANCE] & mask, MEASURE]
    bound = oldest(last, bounds.span)
    while state[DEPTH] > 0:
        step = collapsed.steps[state[DEPTH] - 1]
        while step[LOOKED] < step[HIGH]:
            place = step[LOOKED]
            if may_be_first(pattern, bounds, collapsed, place):
                if bounds.binds == 1 and not is_bound(machine, pattern, collapsed, place):
                    state[FAILED] += 1
                elif not wrote(collapsed, place, written):
                    return FULL
            step[LOOKED] += 1
        number = step[CURSOR]
        if number < state[TAIL] or cells[number & mask, MEASURE] < bound:
            state[WAYS] = step[LOW]
            state[DEPTH] -= 1
            continue
        room = (step[HIGH] - step[LOW]) * levels
        if (
            state[WAYS] + room > collapsed.ways.shape[0]
            or state[DEPTH] + 1 >= collapsed.steps.shape[0]
            or state[DEPTH] + 2 >= collapsed.nodes.shape[0]
        ):
            return CROWDED
        step[CURSOR] = before(collapsed, levels, number, step[LEVELS])
        state[VISITED] += 1
        if cells[number & mask, ORDER] != cells[step[INSTANCE] & mask, ORDER]:
            went_on(early, pattern, bounds, collapsed, number, bound)
    return DONE


@kernel
def advance_collapsed(
    machine: Machine,
    early: Machine,
    pattern: Pattern,
    bounds: Bounds,
    collapsed: Collapsed,
    incoming: Incoming,
    written: Written,
) -> int:
    """Take in events, on from where it stopped, and write the matches that they complete."""
    state = collapsed.state
    while state[AT] < incoming.numbers.shape[0]:
        i = state[AT]
        if state[DEPTH] == 0:
            if bounds.prunes == 1:
                drop(collapsed, oldest(incoming.measures[i], bounds.span))
            is_of_any = incoming.keys[i] >= 0 and (incoming.begins[i] | incoming.takes[i]) != 0
            if is_of_any and state[COUNT] - state[TAIL] >= collapsed.cells.shape[0]:
                return CROWDED
            is_new = is_of_any and remembered(pattern, bounds, collapsed, incoming, i)
            if not is_new or not begun(early, pattern, bounds, collapsed, state[COUNT] - 1):
                state[AT] += 1
                continue
        why = walked(machine, early, pattern, bounds, collapsed, written)
        if why != DONE:
            return why
        state[AT] += 1
    return DONE
