"""Walks back from last events, through what is remembered (see `collapsed`), to matches.

A walk goes from list to list of events, the most recent choice first. Of each list it knows all the
ways in which its events may belong to the levels, in the order of results: the lower level first.
Early conditions are decided as soon as the earliest event that they mention is chosen; the others
are postponed until a walk is at its first event: then the match is bound from there on, as a run
would.
"""

from __future__ import annotations

from sase.engine.kernels.jit.compiler import inlined, kernel, linked
from sase.engine.kernels.jit.intrinsics import low_bit
from sase.engine.kernels.kleene.candidates import (
    AT,
    BEGINS,
    BOUND,
    COUNT,
    CURSOR,
    DEPTH,
    FAILED,
    FIELDS,
    HIGH,
    INSTANCE,
    LEVELS,
    LOOKED,
    LOW,
    MEASURE,
    ORDER,
    ROW,
    TAIL,
    TAKES,
    VISITED,
    WALKS,
    WAY,
    WAY_AT,
    WAY_EVENT,
    WAY_LENGTH,
    WAY_LEVEL,
    WAY_ON,
    WAYS,
    Bounds,
    Collapsed,
    drop,
    remembered,
)
from sase.engine.kernels.kleene.comparisons import hold_besides, may_bind
from sase.engine.kernels.kleene.early_filters import ENTER, EXTEND, allowed
from sase.engine.kernels.kleene.match_buffer import MatchBuffer
from sase.engine.kernels.kleene.run_nodes import BEGIN, LEVEL, MOMENTS, ROOT, TAKE, Machine, Pattern
from sase.engine.kernels.kleene.runs import CROWDED, DONE, FULL, PATIENCE, PAUSED, Incoming
from sase.engine.kernels.kleene.transitions import bind, fits, is_match, may_pass, may_proceed
from sase.engine.kernels.sentinels import NOTHING
from sase.engine.kernels.window import window_start

# ---------------------------------------------------------------- the walk


@inlined
def before(collapsed: Collapsed, levels: int, number: int, wanted: int) -> int:
    """The last instance before one that may be of some levels."""
    cell = collapsed.cells[number & (collapsed.cells.shape[0] - 1)]
    found = NOTHING
    for level in range(levels):
        if (wanted >> level) & 1:
            found = max(found, cell[FIELDS + level])
    return int(found)


@linked
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
            way[WAY_AT], way[WAY_EVENT] = number, cell[ROW]
            way[WAY + level] = cell[ROW]
            if bounds.asks == 0 or allowed(early, collapsed, state[WAYS], ENTER):
                state[WAYS] += 1
    if state[WAYS] == 0:
        return False
    state[WALKS] += 1
    stepped(pattern, bounds, collapsed, number, ROOT)
    return True


@linked
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


@linked
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
        most = pattern.most[level]
        may = 0
        if (behind[BEGINS] >> level) & 1 and length >= pattern.least[level]:
            may = bounds.before[level]
        if (behind[TAKES] >> level) & 1 and (most < 0 or length < most):
            may |= 1 << level
        may &= cell[BEGINS] | cell[TAKES]
        while may != 0:
            earlier = low_bit(may)
            may &= may - 1
            if cell[FIELDS + levels + earlier] < bound:
                continue
            is_same = earlier == level
            new = collapsed.ways[state[WAYS]]
            new[WAY_LEVEL], new[WAY_LENGTH] = earlier, length + 1 if is_same else 1
            new[WAY_ON], new[WAY_AT], new[WAY_EVENT] = place, number, cell[ROW]
            if bounds.asks == 1:
                for field in range(WAY, WAY + levels):
                    new[field] = way[field]
                if not is_same:
                    new[WAY + earlier] = cell[ROW]
                if not allowed(early, collapsed, state[WAYS], EXTEND if is_same else ENTER):
                    continue
            state[WAYS] += 1
    if state[WAYS] > low:
        stepped(pattern, bounds, collapsed, number, low)


# ---------------------------------------------------------------- a whole way


@linked
def is_bound(machine: Machine, pattern: Pattern, collapsed: Collapsed, place: int) -> bool:
    """Whether the events of a way are a match, when they are bound from the first one on."""
    nodes, ways, node = collapsed.nodes, collapsed.ways, ROOT
    collapsed.state[BOUND] += 1
    while place != NOTHING:
        level, event = ways[place, WAY_LEVEL], ways[place, WAY_EVENT]
        known = nodes[node, LEVEL]
        if not fits(machine, nodes, node, event):
            return False
        if level != known:
            if node != ROOT and not may_proceed(machine, pattern, nodes, node):
                return False
            for passed in range(known + 1, level):
                if not may_pass(machine, pattern, nodes, node, passed):
                    return False
        at = MOMENTS * level + (TAKE if level == known else BEGIN)
        if not may_bind(machine, nodes, at, node, event):
            return False
        bind(machine, nodes, node + 1, node, level, event)
        node += 1
        if not hold_besides(machine, nodes, at, node):
            return False
        place = ways[place, WAY_ON]
    return is_match(machine, pattern, nodes, node)


@inlined
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


@linked
def wrote(collapsed: Collapsed, place: int, written: MatchBuffer) -> bool:
    """Write the match of a way, if there is room."""
    count, at = written.sizes[0], written.sizes[1]
    if count >= written.ends.shape[0] or at + collapsed.state[DEPTH] > written.events.shape[0]:
        return False
    for level in range(written.lengths.shape[0]):
        written.lengths[level, count] = 0
    ways = collapsed.ways
    while place != NOTHING:
        way = ways[place]
        written.events[at] = way[WAY_EVENT]
        written.lengths[way[WAY_LEVEL], count] += 1
        at += 1
        place = way[WAY_ON]
    written.ends[count] = at
    written.sizes[0], written.sizes[1] = count + 1, at
    return True


# ---------------------------------------------------------------- event by event


@linked
def walked(
    machine: Machine,
    early: Machine,
    pattern: Pattern,
    bounds: Bounds,
    collapsed: Collapsed,
    written: MatchBuffer,
) -> int:
    """Go on with a walk, and write the matches that it meets; why it stops."""
    state, cells, mask = collapsed.state, collapsed.cells, collapsed.cells.shape[0] - 1
    levels = pattern.least.shape[0]
    last = cells[collapsed.steps[0, INSTANCE] & mask, MEASURE]
    bound = window_start(last, bounds.span)
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
        if state[VISITED] % PATIENCE == 0:
            return PAUSED
    return DONE


@kernel
def advance_collapsed(
    machine: Machine,
    early: Machine,
    pattern: Pattern,
    bounds: Bounds,
    collapsed: Collapsed,
    incoming: Incoming,
    written: MatchBuffer,
) -> int:
    """Take in events, on from where it stopped, and write the matches that they complete."""
    state = collapsed.state
    while state[AT] < incoming.numbers.shape[0]:
        i = state[AT]
        if state[DEPTH] == 0:
            if bounds.prunes == 1:
                drop(collapsed, window_start(incoming.measures[i], bounds.span))
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
