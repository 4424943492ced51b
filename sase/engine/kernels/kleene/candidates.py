"""(SASE++) Skip till any match, postponed: the events that may take part, as instances.

An instance is an event of a partition. For each level it stores the last instance before it that
may be of that level, and the latest first event from which it can be reached at that level. Nothing
else is kept of the runs of the paper's intermediate match: `walk_back` leads back through it.

    instances        a1   a2   b3   a4   b5        c6 is the last: walks  c6 b5 a4, c6 b5 b3 a2, …
"""

from __future__ import annotations

from typing import NamedTuple

from sase.engine.kernels.jit.compiler import inlined, kernel, linked
from sase.engine.kernels.jit.intrinsics import prefetch
from sase.engine.kernels.jit.signatures import OutIntRows, OutInts
from sase.engine.kernels.kleene.run_nodes import Incoming, Pattern
from sase.engine.kernels.sentinels import EARLIEST, NOTHING, window_start

# The fields of an instance: its event, order, measure, and levels as bits. Then, by level, the last
# instance before it of that level, and the latest first event from which it can be reached.
ROW, ORDER, MEASURE, BEGINS, TAKES = range(5)
FIELDS = 5
# The fields of a step of a walk: the instance, the next one to try before it, the start and the end
# of its ways, the next way that may be a match, and the levels that an earlier event may have.
INSTANCE, CURSOR, LOW, HIGH, LOOKED, LEVELS = range(6)
STEP = 6
# The fields of a way: the level of its first event; the number of events of that level; the way of
# the events after it; the instance and its event; then, for early conditions, the last event by
# level.
WAY_LEVEL, WAY_LENGTH, WAY_ON, WAY_AT, WAY_EVENT = range(5)
WAY = 5
# The state: the next event; steps of the walk, and ways; all instances, and dead ones; walks;
# visited instances; bound matches, and those that failed; last events without a walk, due to
# conditions on all candidates; walks with a safe condition. Then, of the current walk, the bound
# matches, and whether they are safe.
AT, DEPTH, WAYS, COUNT, TAIL, WALKS, VISITED, BOUND, FAILED = range(9)
DISMISSED, SAFE_WALKS, BOUND_NOW, IS_SAFE = range(9, 13)
STATE = 13
# The fields of a level of a partition: the last instance; the latest first event from which the
# level is reached before the last order; the same at the last order; the last order.
TOP, REACHED, REACHED_NOW, NOW = range(4)
KNOWN = 4
# The fields of a partition are prefetched this number of events before they are read.
AHEAD = 16


# The bits of `asks`: there are conditions that are decided on the way; conditions on all candidates
# or on their number; conditions that may be safe; conditions that are left if those are safe;
# conditions on an event and the candidates before it.
ON_THE_WAY, OF_CANDIDATES, SAFE, UNSAFE, OF_EARLIER = 1, 2, 4, 8, 16


class Bounds(NamedTuple):
    """The window, the levels at which a match may begin and end, and whether it must be bound.

    If `prunes`, measures never fall, so an event that is too old stays so. `asks` are the kinds of
    conditions as bits. `apart` is the choice among overlapping matches. `before` has for each level
    the levels that may come before it, as bits.
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
    """The plan, instances, the fields of partitions by level, the walk, and nodes to bind in.

    Every call passes it, so each array costs time.
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
def fetch_key(walk: WalkBack, incoming: Incoming, i: int) -> None:
    """Prefetch the fields of the partition of a later event."""
    levels, width = walk.pattern.least.shape[0], walk.known.shape[1]
    if i < incoming.keys.shape[0]:
        place = max(incoming.keys[i], 0) * levels * width
        prefetch(walk.known, place)
        prefetch(walk.known, place + (levels - 1) * width)


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
            # EARLIEST means none, so no event has it as its measure.
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
    """End the instances of a partition: clear their levels, and the fields of the partition."""
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

    The current walk, if any, is in the partition `walked`.
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
    """Evict the oldest instances: those before a bound, and those that are ended."""
    mask = cells.shape[0] - 1
    while state[TAIL] < state[COUNT]:
        cell = cells[state[TAIL] & mask]
        if cell[MEASURE] >= bound and (cell[BEGINS] | cell[TAKES]) != 0:
            break
        state[TAIL] += 1


evicted, evict = linked(_evicted), kernel(_evicted)
