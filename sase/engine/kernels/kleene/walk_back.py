"""(SASE++) Walk back from last events through their candidates to matches.

A walk chooses one event after the other, the most recent first. It keeps all ways in which the
chosen events may belong to the levels, in the order of results: the lower level first.

Early conditions are decided when the earliest event that they mention is chosen. The others are
postponed until a walk is at its first event: then the match is bound from there on, as in a run.
"""

from __future__ import annotations

from sase.engine.kernels.jit.compiler import inlined, kernel, linked
from sase.engine.kernels.jit.intrinsics import low_bit
from sase.engine.kernels.jit.signatures import OutIntRows, OutInts
from sase.engine.kernels.kleene import candidates as of
from sase.engine.kernels.kleene.candidates import (
    WalkBack,
    add_instance,
    evicted,
    fetch_key,
    prune,
)
from sase.engine.kernels.kleene.early_filters import (
    ENTER,
    EXTEND,
    OF_EACH,
    PAYS_FROM,
    all_hold,
    allowed,
    discard,
    is_dismissed,
)
from sase.engine.kernels.kleene.match_buffer import MatchBuffer
from sase.engine.kernels.kleene.predicates import (
    bind,
    comparisons_hold,
    fits,
    is_match,
    may_pass,
    may_proceed,
    programs_hold,
)
from sase.engine.kernels.kleene.run_nodes import (
    ALL,
    BEGIN,
    CROWDED,
    DONE,
    FIRST_ALONE,
    FULL,
    LEVEL,
    MOMENTS,
    NO_EVENT,
    PATIENCE,
    PAUSED,
    ROOT,
    TAKE,
    Incoming,
    Machine,
)
from sase.engine.kernels.sentinels import EARLIEST, NOTHING, window_start

# A further reason to stop: a match was written, and no other match of its partition is wanted.
TAKEN = PAUSED + 1

# ---------------------------------------------------------------- the walk


@inlined
def instance_before(walk: WalkBack, levels: int, number: int, wanted: int) -> int:
    """Return the last instance before one that may be of some levels."""
    cell = walk.cells[number & (walk.cells.shape[0] - 1)]
    found = NOTHING
    for level in range(levels):
        if (wanted >> level) & 1:
            found = max(found, cell[of.FIELDS + level])
    return int(found)


@inlined
def levels_before(walk: WalkBack, begins: int, takes: int, level: int, length: int) -> int:
    """Return the levels, as bits, that the event before the first of a way may have."""
    most, found = walk.pattern.most[level], 0
    if (takes >> level) & 1 and (most < 0 or length < most):
        found = 1 << level
    if (begins >> level) & 1 and length >= walk.pattern.least[level]:
        found |= walk.bounds.before[level]
    return int(found)


@inlined
def may_be_last(walk: WalkBack, number: int) -> bool:
    """Whether a match may end with an instance."""
    cell = walk.cells[number & (walk.cells.shape[0] - 1)]
    return bool(walk.bounds.last & (cell[of.BEGINS] | cell[of.TAKES]))


@linked
def begin_walk(early: Machine, walk: WalkBack, number: int) -> bool:
    """Begin a walk at the last instance, if it may be the last event of a match."""
    state, levels = walk.state, walk.pattern.least.shape[0]
    cell = walk.cells[number & (walk.cells.shape[0] - 1)]
    state[of.DEPTH] = state[of.WAYS] = 0
    for level in range(levels):
        if (walk.bounds.last >> level) & 1 and ((cell[of.BEGINS] | cell[of.TAKES]) >> level) & 1:
            way = walk.ways[state[of.WAYS]]
            way[of.WAY_LEVEL], way[of.WAY_LENGTH], way[of.WAY_ON] = level, 1, NOTHING
            way[of.WAY_AT], way[of.WAY_EVENT] = number, cell[of.ROW]
            way[of.WAY + level] = cell[of.ROW]
            if walk.bounds.asks & of.ON_THE_WAY == 0 or allowed(early, walk, state[of.WAYS], ENTER):
                state[of.WAYS] += 1
    if state[of.WAYS] == 0:
        return False
    if walk.bounds.asks & of.OF_CANDIDATES != 0 and is_dismissed(early, walk, number):
        state[of.DISMISSED] += 1
        state[of.WAYS] = 0
        return False
    state[of.WALKS] += 1
    state[of.BOUND_NOW] = state[of.IS_SAFE] = 0
    push_step(walk, number, ROOT)
    return True


@linked
def push_step(walk: WalkBack, number: int, low: int) -> None:
    """Push a step to an instance; its ways are those from `low` on."""
    state, levels = walk.state, walk.pattern.least.shape[0]
    cell = walk.cells[number & (walk.cells.shape[0] - 1)]
    step, wanted = walk.steps[state[of.DEPTH]], 0
    for place in range(low, state[of.WAYS]):
        way = walk.ways[place]
        level, length = way[of.WAY_LEVEL], way[of.WAY_LENGTH]
        wanted |= levels_before(walk, cell[of.BEGINS], cell[of.TAKES], level, length)
    step[of.INSTANCE], step[of.LEVELS] = number, wanted
    step[of.LOW], step[of.HIGH], step[of.LOOKED] = low, state[of.WAYS], low
    step[of.CURSOR] = instance_before(walk, levels, number, wanted)
    state[of.DEPTH] += 1


@linked
def try_earlier(early: Machine, walk: WalkBack, number: int, bound: int) -> None:
    """Extend the ways of the last step by an earlier instance; push a step if there are any."""
    state, levels = walk.state, walk.pattern.least.shape[0]
    step = walk.steps[state[of.DEPTH] - 1]
    mask = walk.cells.shape[0] - 1
    cell, behind = walk.cells[number & mask], walk.cells[step[of.INSTANCE] & mask]
    low = state[of.WAYS]
    for place in range(step[of.LOW], step[of.HIGH]):
        way = walk.ways[place]
        level, length = way[of.WAY_LEVEL], way[of.WAY_LENGTH]
        may = levels_before(walk, behind[of.BEGINS], behind[of.TAKES], level, length)
        may &= cell[of.BEGINS] | cell[of.TAKES]
        while may != 0:
            earlier = low_bit(may)
            may &= may - 1
            if cell[of.FIELDS + levels + earlier] < bound:
                continue
            is_same = earlier == level
            new = walk.ways[state[of.WAYS]]
            new[of.WAY_LEVEL], new[of.WAY_LENGTH] = earlier, length + 1 if is_same else 1
            new[of.WAY_ON], new[of.WAY_AT], new[of.WAY_EVENT] = place, number, cell[of.ROW]
            if walk.bounds.asks & of.ON_THE_WAY != 0:
                for field in range(of.WAY, of.WAY + levels):
                    new[field] = way[field]
                if not is_same:
                    new[of.WAY + earlier] = cell[of.ROW]
                if not allowed(early, walk, state[of.WAYS], EXTEND if is_same else ENTER):
                    continue
            state[of.WAYS] += 1
    if state[of.WAYS] > low:
        push_step(walk, number, low)


# ---------------------------------------------------------------- a whole way


@linked
def are_bound(
    machine: Machine, unsafe: Machine, early: Machine, walk: WalkBack, place: int
) -> bool:
    """Whether the events of a way are a match, by the conditions that are not known to be safe."""
    state, asks = walk.state, walk.bounds.asks
    state[of.BOUND_NOW] += 1
    is_due = asks & of.SAFE != 0 and state[of.BOUND_NOW] == PAYS_FROM
    if is_due and all_hold(early, walk, walk.steps[0, of.INSTANCE], OF_EACH):
        state[of.IS_SAFE] = 1
        state[of.SAFE_WALKS] += 1
    if state[of.IS_SAFE] == 0:
        return is_bound(machine, walk, place)
    return asks & of.UNSAFE == 0 or is_bound(unsafe, walk, place)


@linked
def is_bound(machine: Machine, walk: WalkBack, place: int) -> bool:
    """Whether the events of a way are a match, if they are bound from the first one on."""
    nodes, ways, node = walk.nodes, walk.ways, ROOT
    walk.state[of.BOUND] += 1
    while place != NOTHING:
        level, event = ways[place, of.WAY_LEVEL], ways[place, of.WAY_EVENT]
        known = nodes[node, LEVEL]
        if not fits(machine, nodes, node, event):
            return False
        if level != known:
            if node != ROOT and not may_proceed(machine, nodes, node):
                return False
            for passed in range(known + 1, level):
                if not may_pass(machine, nodes, node, passed):
                    return False
        at = MOMENTS * level + (TAKE if level == known else BEGIN)
        if not comparisons_hold(machine, nodes, at, node, event):
            return False
        bind(machine, nodes, node + 1, node, level, event)
        node += 1
        if not programs_hold(machine, nodes, at, node, NO_EVENT):
            return False
        place = ways[place, of.WAY_ON]
    return is_match(machine, nodes, node)


@inlined
def may_be_first(walk: WalkBack, place: int) -> bool:
    """Whether a match may begin with the event chosen last in a way."""
    way = walk.ways[place]
    level = way[of.WAY_LEVEL]
    cell = walk.cells[way[of.WAY_AT] & (walk.cells.shape[0] - 1)]
    return bool(
        (walk.bounds.first >> level) & 1
        and (cell[of.BEGINS] >> level) & 1
        and way[of.WAY_LENGTH] >= walk.pattern.least[level]
    )


@linked
def write_way(ways: OutIntRows, depth: int, place: int, written: MatchBuffer) -> bool:
    """Write the match of a way, which has `depth` events, if there is room."""
    count, at = written.sizes[0], written.sizes[1]
    if count >= written.ends.shape[0] or at + depth > written.events.shape[0]:
        return False
    for level in range(written.lengths.shape[0]):
        written.lengths[level, count] = 0
    while place != NOTHING:
        way = ways[place]
        written.events[at] = way[of.WAY_EVENT]
        written.lengths[way[of.WAY_LEVEL], count] += 1
        at += 1
        place = way[of.WAY_ON]
    written.ends[count] = at
    written.sizes[0], written.sizes[1] = count + 1, at
    return True


# ---------------------------------------------------------------- event by event


@linked
def continue_walk(
    machine: Machine, unsafe: Machine, early: Machine, walk: WalkBack, written: MatchBuffer
) -> int:
    """Continue a walk, and write the matches that it finds; return why it stops."""
    state, cells, mask = walk.state, walk.cells, walk.cells.shape[0] - 1
    levels = walk.pattern.least.shape[0]
    last = cells[walk.steps[0, of.INSTANCE] & mask, of.MEASURE]
    bound = window_start(last, walk.bounds.span)
    while state[of.DEPTH] > 0:
        step = walk.steps[state[of.DEPTH] - 1]
        while step[of.LOOKED] < step[of.HIGH]:
            place = step[of.LOOKED]
            if may_be_first(walk, place):
                if walk.bounds.binds == 1 and not are_bound(machine, unsafe, early, walk, place):
                    state[of.FAILED] += 1
                elif not write_way(walk.ways, state[of.DEPTH], place, written):
                    return FULL
                elif walk.bounds.apart == FIRST_ALONE:
                    state[of.DEPTH] = state[of.WAYS] = 0
                    return TAKEN
            step[of.LOOKED] += 1
        number = step[of.CURSOR]
        if number < state[of.TAIL] or cells[number & mask, of.MEASURE] < bound:
            state[of.WAYS] = step[of.LOW]
            state[of.DEPTH] -= 1
            continue
        # The check of each candidate needs one more way.
        room = (step[of.HIGH] - step[of.LOW]) * levels + 1
        if (
            state[of.WAYS] + room > walk.ways.shape[0]
            or state[of.DEPTH] + 1 >= walk.steps.shape[0]
            or state[of.DEPTH] + 2 >= walk.nodes.shape[0]
        ):
            return CROWDED
        step[of.CURSOR] = instance_before(walk, levels, number, step[of.LEVELS])
        state[of.VISITED] += 1
        if cells[number & mask, of.ORDER] != cells[step[of.INSTANCE] & mask, of.ORDER]:
            try_earlier(early, walk, number, bound)
        if state[of.VISITED] % PATIENCE == 0:
            return PAUSED
    return DONE


@kernel
def advance_walks(
    machine: Machine,
    unsafe: Machine,
    early: Machine,
    walk: WalkBack,
    incoming: Incoming,
    taken: OutInts,
    written: MatchBuffer,
) -> int:
    """Add events from where the last call stopped, and write the matches that they complete.

    `unsafe` leaves out the conditions that may be safe. `taken` has for each partition the order of
    the last event that was taken, if matches must not overlap.
    """
    state = walk.state
    while state[of.AT] < incoming.numbers.shape[0]:
        i = state[of.AT]
        key, bounds = incoming.keys[i], walk.bounds
        if state[of.DEPTH] == 0:
            fetch_key(walk, incoming, i + of.AHEAD)
            if bounds.prunes == 1 or bounds.apart != ALL:
                measure = incoming.measures[i] if bounds.prunes == 1 else EARLIEST
                evicted(walk.cells, state, window_start(measure, bounds.span))
            if key >= 0 and bounds.asks & of.OF_EARLIER != 0:
                discard(early, walk, incoming, i)
            is_of_any = key >= 0 and (incoming.begins[i] | incoming.takes[i]) != 0
            if is_of_any and bounds.apart != ALL:
                is_of_any = incoming.ties[i] > taken[key]
            if is_of_any and state[of.COUNT] - state[of.TAIL] >= walk.cells.shape[0]:
                return CROWDED
            is_new = is_of_any and add_instance(walk, incoming, i)
            # Most events cannot be last: this is checked without a call.
            may_end = is_new and may_be_last(walk, state[of.COUNT] - 1)
            if not may_end or not begin_walk(early, walk, state[of.COUNT] - 1):
                state[of.AT] += 1
                continue
        why = continue_walk(machine, unsafe, early, walk, written)
        if why == TAKEN:
            prune(walk, key)
            taken[key] = incoming.ties[i]
        elif why != DONE:
            return why
        state[of.AT] += 1
    return DONE
