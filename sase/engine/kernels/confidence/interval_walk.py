"""Walk back from possible last events over all events that may precede them, by intervals.

An instance is an event of a partition with the bounds of its time. A possible last event waits in a
heap until an event comes that is later in every world: then all events that may precede it are
present. A walk chooses one event after another, from the last component back; of a set the most
recent in the stream first, of a sequence in any order. Each chosen event limits the latest time of
those before. With a threshold, a walk stops once its order is too unlikely.

    a ├───────┤                     walk from c:   c, b2, a    c, b1, a    c, b2, b1, a
       b1 ├───────────┤             of a sequence also c, b1, b2, a
            b2 ├────────┤
                 c ├──────┤
"""

from __future__ import annotations

from typing import NamedTuple

from sase.engine.kernels.confidence.order import OutFloats, probability_of_order
from sase.engine.kernels.jit.compiler import inlined, kernel, linked
from sase.engine.kernels.jit.intrinsics import low_bit
from sase.engine.kernels.jit.signatures import Ints, OutIntRows, OutInts
from sase.engine.kernels.kleene import candidates as of
from sase.engine.kernels.kleene.candidates import WalkBack
from sase.engine.kernels.kleene.early_filters import ENTER, EXTEND, allowed
from sase.engine.kernels.kleene.match_buffer import MatchBuffer
from sase.engine.kernels.kleene.run_nodes import (
    CROWDED,
    DONE,
    FULL,
    PATIENCE,
    PAUSED,
    Incoming,
    Machine,
)
from sase.engine.kernels.kleene.walk_back import is_bound, levels_before, write_way
from sase.engine.kernels.sentinels import ANY_SPAN, EARLIEST, LATEST, NOTHING, window_start

# The fields of an instance: event, bounds of its time, partition, levels as bits, and whether the
# walk has chosen it. Then by level: the last earlier instance of the level, and the latest time of
# the level so far.
ROW, LO, HI, KEY, BEGINS, TAKES, IS_CHOSEN = range(7)
FIELDS = 7
# The fields of a step of a walk: the levels to try, the current one, and the next instance to try;
# the latest time of simultaneous events, of all, and the earliest in the window; whether it was
# tested as a candidate; whether it is one of the last events.
LEVELS, AT_LEVEL, CURSOR, UPPER, UNTIL, FLOOR, LOOKED, IN_LAST = range(8)
STEP = 8
# Behind the state of a walk back: the number of waiting events; choices that were too unlikely.
WAITING, UNLIKELY = of.STATE, of.STATE + 1
STATE = of.STATE + 2
# By level of a partition: the last instance, and the latest time of all.
TOP, MOST = range(2)
# Kinds of series; 0 for a single component.
SET, SEQUENCE = 1, 2
# The tolerance of confidences.
EXACT = 1e-9


class Likelihood(NamedTuple):
    """By step the probability of the order chosen so far, its minimum, and memory to compute it.

    For a set only the event chosen last counts, which gives an upper bound.
    """

    least: float
    known: OutFloats
    lo: OutInts
    hi: OutInts
    cuts: OutInts
    bounds: OutInts
    counts: OutInts
    values: OutFloats
    weights: OutFloats
    sums: OutFloats


# ---------------------------------------------------------------- instances


@linked
def add_instance(walk: WalkBack, incoming: Incoming, until: Ints, due: OutIntRows, i: int) -> None:
    """Add an event of some levels; queue it if it may be last."""
    levels, state = walk.pattern.least.shape[0], walk.state
    number, base = state[of.COUNT], incoming.keys[i] * levels
    cell = walk.cells[number & (walk.cells.shape[0] - 1)]
    cell[ROW], cell[LO], cell[HI] = incoming.numbers[i], incoming.measures[i], until[i]
    cell[KEY], cell[IS_CHOSEN] = incoming.keys[i], 0
    cell[BEGINS], cell[TAKES] = incoming.begins[i], incoming.takes[i]
    for level in range(levels):
        if walk.pattern.kleene[level] == 0 or walk.pattern.most[level] == 1:
            cell[TAKES] &= ~(1 << level)
    either = cell[BEGINS] | cell[TAKES]
    for level in range(levels):
        known = walk.known[base + level]
        cell[FIELDS + level] = known[TOP]
        if (either >> level) & 1:
            known[MOST] = max(known[MOST], until[i]) if known[TOP] >= state[of.TAIL] else until[i]
            known[TOP] = number
            if (walk.bounds.last >> level) & 1:
                wait(due, state[WAITING], until[i], number * levels + level)
                state[WAITING] += 1
        cell[FIELDS + levels + level] = known[MOST]
    state[of.COUNT] += 1


@linked
def wait(due: OutIntRows, count: int, time: int, which: int) -> None:
    """Insert into a heap with `count` entries."""
    place = count
    while place > 0:
        above = (place - 1) // 2
        if due[above, 0] <= time:
            break
        due[place, 0], due[place, 1] = due[above, 0], due[above, 1]
        place = above
    due[place, 0], due[place, 1] = time, which


@linked
def first_due(due: OutIntRows, count: int) -> int:
    """Remove the first entry of a heap with `count` entries."""
    found, last = due[0, 1], count - 1
    time, which, place = due[last, 0], due[last, 1], 0
    while 2 * place + 1 < last:
        below = 2 * place + 1
        if below + 1 < last and due[below + 1, 0] < due[below, 0]:
            below += 1
        if due[below, 0] >= time:
            break
        due[place, 0], due[place, 1] = due[below, 0], due[below, 1]
        place = below
    due[place, 0], due[place, 1] = time, which
    return int(found)


# ---------------------------------------------------------------- the walk


@inlined
def is_of_set(walk: WalkBack, level: int) -> bool:
    """Whether the events of a level are unordered."""
    return bool(walk.pattern.kleene[level] == SET)


@linked
def is_likely(walk: WalkBack, likely: Likelihood, depth: int) -> bool:
    """Whether the order chosen so far is likely enough.

    It is computed for the events that overlap in turn, from the last chosen on, times the known
    probability of the rest.
    """
    mask, count, place = walk.cells.shape[0] - 1, 0, depth
    rest, bound = 1.0, EARLIEST
    while place != NOTHING:
        way = walk.ways[place]
        cell = walk.cells[way[of.WAY_AT] & mask]
        if count > 0 and bound < cell[LO]:
            rest = likely.known[place]
            break
        likely.lo[count], likely.hi[count], bound = cell[LO], cell[HI], cell[HI]
        count += 1
        level, place = way[of.WAY_LEVEL], way[of.WAY_ON]
        while (
            is_of_set(walk, level) and place != NOTHING and walk.ways[place, of.WAY_LEVEL] == level
        ):
            place = walk.ways[place, of.WAY_ON]
    if count > 1:
        rest *= probability_of_order(
            likely.lo[:count], likely.hi[:count], LATEST, likely.cuts, likely.bounds,
            likely.counts, likely.values, likely.weights, likely.sums,
        )  # fmt: skip
    likely.known[depth] = rest
    return bool(rest >= likely.least - EXACT)


@linked
def begin_walk(early: Machine, walk: WalkBack, likely: Likelihood, number: int, level: int) -> None:
    """Begin a walk at a last event."""
    likely.known[0] = 1.0
    state, way, step = walk.state, walk.ways[0], walk.steps[0]
    cell = walk.cells[number & (walk.cells.shape[0] - 1)]
    way[of.WAY_LEVEL], way[of.WAY_LENGTH], way[of.WAY_ON] = level, 1, NOTHING
    way[of.WAY_AT], way[of.WAY_EVENT], way[of.WAY + level] = number, cell[ROW], cell[ROW]
    if walk.bounds.asks & of.ON_THE_WAY != 0 and not allowed(early, walk, 0, ENTER):
        return
    state[of.WALKS] += 1
    step[LEVELS] = levels_before(walk, cell[BEGINS], cell[TAKES], level, 1)
    step[CURSOR], step[UPPER], step[UNTIL] = NOTHING, LATEST, cell[HI]
    step[FLOOR] = window_start(cell[LO], walk.bounds.span)
    step[LOOKED], step[IN_LAST] = 0, 1
    cell[IS_CHOSEN] = 1
    state[of.DEPTH] = 1


@linked
def next_instance(walk: WalkBack, depth: int) -> int:
    """Return the next instance that may precede the last chosen one, or `NOTHING`."""
    levels, mask = walk.pattern.least.shape[0], walk.cells.shape[0] - 1
    step, way = walk.steps[depth], walk.ways[depth]
    own = walk.cells[way[of.WAY_AT] & mask]
    while True:
        number, level = step[CURSOR], step[AT_LEVEL]
        if number < walk.state[of.TAIL]:
            left = step[LEVELS]
            if left == 0:
                return NOTHING
            level = low_bit(left)
            step[LEVELS], step[AT_LEVEL] = left & (left - 1), level
            step[CURSOR] = walk.known[own[KEY] * levels + level, TOP]
            if level == way[of.WAY_LEVEL] and is_of_set(walk, level):
                step[CURSOR] = own[FIELDS + level]
            continue
        cell = walk.cells[number & mask]
        if cell[FIELDS + levels + level] < step[FLOOR]:
            step[CURSOR] = NOTHING
            continue
        step[CURSOR] = cell[FIELDS + level]
        if cell[IS_CHOSEN] == 0:
            return int(number)


@linked
def choose(early: Machine, walk: WalkBack, likely: Likelihood, depth: int, number: int) -> None:
    """Choose an instance before the last chosen one, if it can be there."""
    step, way, new, state = walk.steps[depth], walk.ways[depth], walk.ways[depth + 1], walk.state
    cell, level = walk.cells[number & (walk.cells.shape[0] - 1)], step[AT_LEVEL]
    is_same = level == way[of.WAY_LEVEL]
    is_beside = is_same and is_of_set(walk, level)
    upper = step[UPPER] if is_beside else step[UNTIL] - 1
    until, floor = min(cell[HI], upper), step[FLOOR]
    if until < cell[LO]:
        return
    if is_beside:
        until = min(until, step[UNTIL])
        if step[IN_LAST] == 1:
            floor = max(floor, window_start(cell[LO], walk.bounds.span))
    if until < floor:
        return
    new[of.WAY_LEVEL] = level
    new[of.WAY_LENGTH] = way[of.WAY_LENGTH] + 1 if is_same else 1
    new[of.WAY_ON], new[of.WAY_AT], new[of.WAY_EVENT] = depth, number, cell[ROW]
    if walk.bounds.asks & of.ON_THE_WAY != 0:
        for field in range(of.WAY, new.shape[0]):
            new[field] = way[field]
        if not is_same:
            new[of.WAY + level] = cell[ROW]
        if not allowed(early, walk, depth + 1, EXTEND if is_same else ENTER):
            return
    if likely.least > 0.0 and not is_likely(walk, likely, depth + 1):
        state[UNLIKELY] += 1
        return
    after = walk.steps[depth + 1]
    after[LEVELS] = levels_before(walk, cell[BEGINS], cell[TAKES], level, new[of.WAY_LENGTH])
    after[CURSOR], after[UPPER], after[UNTIL], after[FLOOR] = NOTHING, upper, until, floor
    after[LOOKED], after[IN_LAST] = 0, 1 if is_beside and step[IN_LAST] == 1 else 0
    cell[IS_CHOSEN] = 1
    state[of.DEPTH] += 1


@linked
def fits_window(walk: WalkBack, depth: int) -> bool:
    """Whether the last events can be in the window of the first ones, at their earliest."""
    place, mask, level = depth, walk.cells.shape[0] - 1, NOTHING
    before = most = EARLIEST
    while place != NOTHING:
        way = walk.ways[place]
        if way[of.WAY_LEVEL] != level or not is_of_set(walk, level):
            before, most = most, EARLIEST
        level = way[of.WAY_LEVEL]
        most = max(most, walk.cells[way[of.WAY_AT] & mask, LO], before + 1)
        place = way[of.WAY_ON]
    return bool(walk.steps[depth, UNTIL] >= window_start(most, walk.bounds.span))


@linked
def is_candidate(machine: Machine, walk: WalkBack, depth: int) -> bool:
    """Whether the chosen events are a candidate."""
    way = walk.ways[depth]
    level = way[of.WAY_LEVEL]
    cell = walk.cells[way[of.WAY_AT] & (walk.cells.shape[0] - 1)]
    may_be_first = (walk.bounds.first >> level) & (cell[BEGINS] >> level) & 1
    if may_be_first == 0 or way[of.WAY_LENGTH] < walk.pattern.least[level]:
        return False
    if walk.bounds.span != ANY_SPAN and not fits_window(walk, depth):
        return False
    if walk.bounds.binds == 1 and not is_bound(machine, walk, depth):
        walk.state[of.FAILED] += 1
        return False
    return True


@linked
def continue_walk(
    machine: Machine, early: Machine, walk: WalkBack, likely: Likelihood, written: MatchBuffer
) -> int:
    """Continue a walk and write its candidates; return why it stops."""
    state = walk.state
    while state[of.DEPTH] > 0:
        depth = state[of.DEPTH] - 1
        step = walk.steps[depth]
        # A candidate is bound in nodes behind the root, and one more event may be chosen.
        if depth + 2 >= walk.steps.shape[0] or depth + 3 >= walk.nodes.shape[0]:
            return CROWDED
        if step[LOOKED] == 0:
            if is_candidate(machine, walk, depth) and not write_way(
                walk.ways, state[of.DEPTH], depth, written
            ):
                return FULL
            step[LOOKED] = 1
        number = next_instance(walk, depth)
        if number == NOTHING:
            at = walk.ways[depth, of.WAY_AT]
            walk.cells[at & (walk.cells.shape[0] - 1), IS_CHOSEN] = 0
            state[of.DEPTH] -= 1
            continue
        state[of.VISITED] += 1
        choose(early, walk, likely, depth, number)
        if state[of.VISITED] % PATIENCE == 0:
            return PAUSED
    return DONE


# ---------------------------------------------------------------- event by event


@linked
def finish_walks(
    machine: Machine, early: Machine, walk: WalkBack, likely: Likelihood, due: OutIntRows,
    before: int, written: MatchBuffer,
) -> int:  # fmt: skip
    """Walk from all last events that are over before a time."""
    state, levels = walk.state, walk.pattern.least.shape[0]
    while True:
        if state[of.DEPTH] == 0:
            if state[WAITING] == 0 or due[0, 0] >= before:
                return DONE
            which = first_due(due, state[WAITING])
            state[WAITING] -= 1
            begin_walk(early, walk, likely, which // levels, which % levels)
        why = continue_walk(machine, early, walk, likely, written)
        if why != DONE:
            return why


@kernel
def advance_intervals(
    machine: Machine, early: Machine, walk: WalkBack, likely: Likelihood, incoming: Incoming,
    until: Ints, due: OutIntRows, before: int, written: MatchBuffer,
) -> int:  # fmt: skip
    """Add events from the stop on, and write the candidates with a last event that is over.

    After all of them the time is `before`.
    """
    state, levels = walk.state, walk.pattern.least.shape[0]
    while state[of.AT] < incoming.numbers.shape[0]:
        i = state[of.AT]
        why = finish_walks(machine, early, walk, likely, due, incoming.measures[i], written)
        if why != DONE:
            return why
        if incoming.keys[i] >= 0 and (incoming.begins[i] | incoming.takes[i]) != 0:
            is_full = state[of.COUNT] - state[of.TAIL] >= walk.cells.shape[0]
            if is_full or state[WAITING] + levels > due.shape[0]:
                return CROWDED
            add_instance(walk, incoming, until, due, i)
        state[of.AT] += 1
    return finish_walks(machine, early, walk, likely, due, before, written)


@kernel
def evict_instances(walk: WalkBack, due: OutIntRows, before: int) -> None:
    """Evict the instances that neither later events, from a time on, nor waiting ones can reach."""
    state, levels, mask = walk.state, walk.pattern.least.shape[0], walk.cells.shape[0] - 1
    earliest = before
    for place in range(state[WAITING]):
        earliest = min(earliest, walk.cells[(due[place, 1] // levels) & mask, LO])
    bound = window_start(earliest, walk.bounds.span)
    while state[of.TAIL] < state[of.COUNT] and walk.cells[state[of.TAIL] & mask, HI] < bound:
        state[of.TAIL] += 1
