"""(SASE++) Skip till any match, postponed: the events that may take part, as instances.

An instance is an event of a partition. Of each level it knows the last instance before it that may
be of that level, and the latest first event from which it can be reached as one of that level. That
is all there is of the runs of the paper's intermediate match: `walk_back` goes back through it.

    instances        a1   a2   b3   a4   b5        c6 is the last: walks  c6 b5 a4, c6 b5 b3 a2, …
"""

from __future__ import annotations

from typing import NamedTuple

from sase.engine.kernels.jit.compiler import inlined, kernel, linked
from sase.engine.kernels.jit.signatures import OutIntRows, OutInts
from sase.engine.kernels.kleene.run_nodes import Incoming, Pattern
from sase.engine.kernels.sentinels import EARLIEST, NOTHING
from sase.engine.kernels.window import window_start

# The fields of an instance: its event, order, measure, and levels as bits. Then by level the last
# instance before it of that level, and the latest first event from which it can be reached.
ROW, ORDER, MEASURE, BEGINS, TAKES = range(5)
FIELDS = 5
# The fields of a step of a walk: the instance, the next one to try before it, its ways, which of
# them is to be looked at for a match, and the levels an earlier event may be of.
INSTANCE, CURSOR, LOW, HIGH, LOOKED, LEVELS = range(6)
STEP = 6
# The fields of a way: the level of its first event, how many events of that there are, the way
# it goes on in, the instance and its event; then, for early conditions, by level the last event.
WAY_LEVEL, WAY_LENGTH, WAY_ON, WAY_AT, WAY_EVENT = range(5)
WAY = 5
# Of the state: the event to go on with, steps of the walk, ways; instances ever, and dead ones;
# walks, instances looked at, matches bound, and those that failed then; last events without a walk
# by conditions on all candidates, walks in which some were safe; of this walk the matches bound,
# and whether they are.
AT, DEPTH, WAYS, COUNT, TAIL, WALKS, VISITED, BOUND, FAILED = range(9)
DISMISSED, SAFE_WALKS, BOUND_NOW, IS_SAFE = range(9, 13)
STATE = 13
# What is known of a level of a partition: the last instance; the latest first events from which one
# of the level can be reached, of all instances and of those before the last order.
TOP, REACHED, REACHED_NOW, NOW = range(4)
KNOWN = 4


# Of `asks`: conditions that are decided on the way, on all candidates or their number, some that
# may be safe, and others that are left then; on an event and the candidates before it.
ON_THE_WAY, OF_CANDIDATES, SAFE, UNSAFE, OF_EARLIER = 1, 2, 4, 8, 16


class Bounds(NamedTuple):
    """What the window spans, at which levels a match may begin and end, and if it must be bound.

    `prunes` says whether measures never fall, so that what is too old stays so; `asks` as bits what
    conditions there are; `apart` which matches are wanted of those that overlap. `before` are by
    level the levels that may come before it, as bits.
    """

    span: int
    prunes: int
    first: int
    last: int
    binds: int
    asks: int
    apart: int
    before: OutInts


class WalkBack(NamedTuple):
    """The plan, instances, what is known by partition and level, the walk, and nodes to bind in.

    It goes with every call, so that each array costs.
    """

    pattern: Pattern
    bounds: Bounds
    cells: OutIntRows
    known: OutIntRows
    steps: OutIntRows
    ways: OutIntRows
    nodes: OutIntRows
    state: OutInts


# ---------------------------------------------------------------- instances


@inlined
def reach_of(walk: WalkBack, base: int, level: int, order: int) -> int:
    """Return the latest first event from which an event of this order can follow one of a level."""
    known = walk.known[base + level]
    if known[NOW] == order:
        return int(known[REACHED])
    return int(max(known[REACHED], known[REACHED_NOW]))


@linked
def add_instance(walk: WalkBack, incoming: Incoming, i: int) -> bool:
    """Add an event as an instance of the levels that it reaches within the window, if any."""
    levels, state, cells = walk.pattern.least.shape[0], walk.state, walk.cells
    base, order = incoming.keys[i] * levels, incoming.ties[i]
    measure, bound = incoming.measures[i], window_start(incoming.measures[i], walk.bounds.span)
    number = state[COUNT]
    cell = cells[number & (cells.shape[0] - 1)]
    begins, takes = incoming.begins[i], incoming.takes[i]
    any_level = False
    for level in range(levels):
        bit, reach = 1 << level, EARLIEST
        if begins & bit:
            # The earliest measure of all stands for none.
            begun = max(measure, EARLIEST + 1) if walk.bounds.first & bit else EARLIEST
            for earlier in range(level):
                if (walk.bounds.before[level] >> earlier) & 1:
                    begun = max(begun, reach_of(walk, base, earlier, order))
            if begun == EARLIEST or begun < bound:
                begins &= ~bit
            else:
                reach = begun
        if takes & bit and walk.pattern.kleene[level] == 1 and walk.pattern.most[level] != 1:
            taken = reach_of(walk, base, level, order)
            if taken == EARLIEST or taken < bound:
                takes &= ~bit
            else:
                reach = max(reach, taken)
        else:
            takes &= ~bit
        cell[FIELDS + level] = walk.known[base + level, TOP]
        cell[FIELDS + levels + level] = reach
        any_level = any_level or reach != EARLIEST
    if not any_level:
        return False
    cell[ROW], cell[ORDER], cell[MEASURE] = incoming.numbers[i], order, measure
    cell[BEGINS], cell[TAKES] = begins, takes
    for level in range(levels):
        if ((begins | takes) >> level) & 1:
            known = walk.known[base + level]
            known[TOP] = number
            if known[NOW] != order:
                known[REACHED] = max(known[REACHED], known[REACHED_NOW])
                known[REACHED_NOW], known[NOW] = EARLIEST, order
            known[REACHED_NOW] = max(known[REACHED_NOW], cell[FIELDS + levels + level])
    state[COUNT] += 1
    return True


@linked
def prune(walk: WalkBack, key: int) -> None:
    """End the instances of a partition, which are of no level then; note where others begin."""
    levels, mask = walk.pattern.least.shape[0], walk.cells.shape[0] - 1
    number = NOTHING
    for level in range(levels):
        known = walk.known[key * levels + level]
        number = max(number, known[TOP])
        known[TOP] = known[NOW] = NOTHING
        known[REACHED] = known[REACHED_NOW] = EARLIEST
    while number >= walk.state[TAIL]:
        cell = walk.cells[number & mask]
        cell[BEGINS] = cell[TAKES] = 0
        number = NOTHING
        for level in range(levels):
            number = max(number, cell[FIELDS + level])


@kernel
def end_overlapping(walk: WalkBack, taken: OutInts, keys: OutInts, walked: int) -> None:
    """End the instances of partitions up to the order of the last event that was taken.

    The walk under way, if any, is in the partition that is `walked`.
    """
    cells, state, mask = walk.cells, walk.state, walk.cells.shape[0] - 1
    levels = walk.pattern.least.shape[0]
    for i in range(keys.shape[0]):
        key, order, number = keys[i], taken[keys[i]], NOTHING
        if key == walked and state[DEPTH] > 0:
            for depth in range(state[DEPTH]):
                if cells[walk.steps[depth, INSTANCE] & mask, ORDER] <= order:
                    state[DEPTH], state[WAYS] = depth, walk.steps[depth, LOW]
                    break
            state[AT] += state[DEPTH] == 0
        for level in range(levels):
            number = max(number, walk.known[key * levels + level, TOP])
        if number >= state[TAIL] and cells[number & mask, ORDER] <= order:
            prune(walk, key)
            continue
        while number >= state[TAIL]:
            cell = cells[number & mask]
            if cell[ORDER] <= order:
                if cell[BEGINS] | cell[TAKES] == 0:
                    break
                cell[BEGINS], cell[TAKES] = 0, 0
            number = NOTHING
            for level in range(levels):
                number = max(number, cell[FIELDS + level])


def _evicted(cells: OutIntRows, state: OutInts, bound: int) -> None:
    """Evict the instances before a bound, and those that are ended."""
    mask = cells.shape[0] - 1
    while state[TAIL] < state[COUNT]:
        cell = cells[state[TAIL] & mask]
        if cell[MEASURE] >= bound and (cell[BEGINS] | cell[TAKES]) != 0:
            break
        state[TAIL] += 1


evicted, evict = linked(_evicted), kernel(_evicted)
