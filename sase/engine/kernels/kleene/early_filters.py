"""Conditions that a walk back decides early, on chosen events and on all candidates of a series."""

from __future__ import annotations

from sase.engine.kernels.expressions.program import evaluate_tuple
from sase.engine.kernels.jit.compiler import by_address, inlined, kernel, linked
from sase.engine.kernels.jit.signatures import OutIntRows
from sase.engine.kernels.kleene import candidates as of
from sase.engine.kernels.kleene.candidates import WAY, WAY_EVENT, WAY_LEVEL, WAY_ON, WalkBack
from sase.engine.kernels.kleene.predicates import predicates_at
from sase.engine.kernels.kleene.run_nodes import (
    CHECKS,
    FILLS,
    LOOPS,
    MOMENTS_AT,
    Incoming,
    Machine,
    PredicateArrays,
    entry,
)
from sase.engine.kernels.sentinels import NOTHING, window_start

# ---------------------------------------------------------------- early filters

# These loops differ from those of `predicates`: a way leads to later events and only has the last
# event of each level, while a node leads back to all events before it.

# The source of an event that an early condition reads: the chosen event, the event after it, the
# last event of a level, or the event of a loop.
CHOSEN, BEHIND, LAST_OF, LOOP = range(4)
# The moment: an event is chosen as the last event of its level, or as a further one.
ENTER, EXTEND = range(2)


@kernel
def allow(address: int, ways: OutIntRows, condition: int, place: int) -> bool:
    """Whether a condition holds for every choice of an event of each series that it ranges over."""
    arrays = predicates_at(address)
    cursors, check = arrays.cursors, arrays.tables[arrays.tables[0, CHECKS] + condition]
    start, first, end = check[0], check[1], check[2]
    for loop in range(first, end):
        cursors[loop - first] = on_level(ways, entry(arrays, LOOPS, loop, 0), ways[place, WAY_ON])
        if cursors[loop - first] == NOTHING:
            return True
    while True:
        fill_early(arrays, ways, condition, place)
        if not evaluate_tuple(
            arrays.program, start, arrays.columns, arrays.rows, arrays.stack, None
        ):
            return False
        loop = first
        while loop < end:
            level, at = entry(arrays, LOOPS, loop, 0), loop - first
            following = ways[cursors[at], WAY_ON]
            if following != NOTHING and ways[following, WAY_LEVEL] == level:
                cursors[at] = following
                break
            cursors[at] = on_level(ways, level, ways[place, WAY_ON])
            loop += 1
        if loop == end:
            return True


@linked
def on_level(ways: OutIntRows, level: int, place: int) -> int:
    """Return the first way of a level, among a way and the ways after it."""
    while place != NOTHING and ways[place, WAY_LEVEL] < level:
        place = ways[place, WAY_ON]
    if place != NOTHING and ways[place, WAY_LEVEL] != level:
        return NOTHING
    return place


@linked
def fill_early(arrays: PredicateArrays, ways: OutIntRows, condition: int, place: int) -> None:
    """Fill the rows of a program."""
    chosen = ways[place, WAY_EVENT]
    arrays.rows[0] = chosen & arrays.mask
    check = arrays.tables[arrays.tables[0, CHECKS] + condition]
    for number in range(check[3], check[4]):
        row = arrays.tables[arrays.tables[0, FILLS] + number]
        source, which = row[0], row[1]
        event = chosen
        if source == BEHIND:
            event = ways[ways[place, WAY_ON], WAY_EVENT]
        elif source == LAST_OF:
            event = ways[place, WAY + which]
        elif source == LOOP:
            event = ways[arrays.cursors[which], WAY_EVENT]
        arrays.rows[row[4]] = event & arrays.mask


allow_at = by_address(allow)


@inlined
def allowed(early: Machine, walk: WalkBack, place: int, moment: int) -> bool:
    """Whether the early conditions on the event that a way chose last hold."""
    first = 2 * walk.ways[place, WAY_LEVEL] + moment
    for condition in range(
        entry(early, MOMENTS_AT, first, 0), entry(early, MOMENTS_AT, first + 1, 0)
    ):
        if not allow_at(early.condition, early.arrays, walk.ways, condition, place):
            return False
    return True


# ---------------------------------------------------------------- candidate filters

# The candidates are the instances of a level that the walk can reach. A condition on the greatest
# value of a series is checked for each candidate by itself: the candidate takes the place of the
# event that a way chose last.

# The conditions on all candidates of a level: one candidate must satisfy it for a walk; or it is
# safe if each candidate satisfies it. Their moments follow those of the ways.
OF_ONE, OF_EACH = range(2)
# The conditions on each event and the candidates before it: the first event of a series is exempt,
# or it is not. Their moments follow. An event is kept if this number of candidates does not decide.
OF_FURTHER, OF_EVERY = range(2)
FAR = 128
# A walk checks for safe conditions after it has bound this number of matches: then it soon pays.
PAYS_FROM = 8


@linked
def is_dismissed(early: Machine, walk: WalkBack, last: int) -> bool:
    """Whether no match can end with an instance: too few candidates, or none that fits."""
    levels = walk.pattern.least.shape[0]
    for level in range(levels):
        least = walk.pattern.least[level]
        if least > 1 and not has_candidates(walk, last, level, least):
            return True
    return not all_hold(early, walk, last, OF_ONE)


@linked
def all_hold(early: Machine, walk: WalkBack, last: int, kind: int) -> bool:
    """Whether all conditions of a kind hold: for one candidate, or for each."""
    levels = walk.pattern.least.shape[0]
    for level in range(levels):
        first = 2 * levels + 2 * level + kind
        for condition in range(
            entry(early, MOMENTS_AT, first, 0), entry(early, MOMENTS_AT, first + 1, 0)
        ):
            if not holds_of(early, walk, last, level, condition, kind == OF_ONE):
                return False
    return True


@linked
def has_candidates(walk: WalkBack, last: int, level: int, least: int) -> bool:
    """Whether a level has `least` candidates, of which all but one may be further events."""
    count, further, mask = 0, 0, walk.cells.shape[0] - 1
    candidate = first_candidate(walk, last, level)
    while candidate != NOTHING:
        count += 1
        further += (walk.cells[candidate & mask, of.TAKES] >> level) & 1
        if count >= least and further >= least - 1:
            return True
        candidate = next_candidate(walk, last, level, candidate)
    return False


@linked
def holds_of(
    early: Machine, walk: WalkBack, last: int, level: int, condition: int, of_one: bool
) -> bool:
    """Whether a condition holds for one candidate of a level, or for each if not `of_one`."""
    mask, levels = walk.cells.shape[0] - 1, walk.pattern.least.shape[0]
    place = walk.state[of.WAYS]
    way = walk.ways[place]
    way[of.WAY_LEVEL], way[of.WAY_ON] = level, NOTHING
    for other in range(levels):
        way[of.WAY + other] = walk.cells[last & mask, of.ROW]
    candidate = first_candidate(walk, last, level)
    while candidate != NOTHING:
        way[of.WAY_EVENT] = walk.cells[candidate & mask, of.ROW]
        if allow_at(early.condition, early.arrays, walk.ways, condition, place) == of_one:
            return of_one
        candidate = next_candidate(walk, last, level, candidate)
    return not of_one


@linked
def first_candidate(walk: WalkBack, last: int, level: int) -> int:
    """Return the last candidate of a level, which may be the last instance itself."""
    cell = walk.cells[last & (walk.cells.shape[0] - 1)]
    if ((cell[of.BEGINS] | cell[of.TAKES]) >> level) & 1:
        return last
    return next_candidate(walk, last, level, last)


@linked
def next_candidate(walk: WalkBack, last: int, level: int, candidate: int) -> int:
    """Return the candidate of a level before another candidate, or `NOTHING`."""
    mask = walk.cells.shape[0] - 1
    bound = window_start(walk.cells[last & mask, of.MEASURE], walk.bounds.span)
    before = walk.cells[candidate & mask, of.FIELDS + level]
    if before < walk.state[of.TAIL] or walk.cells[before & mask, of.MEASURE] < bound:
        return NOTHING
    return int(before)


# ---------------------------------------------------------------- candidates before an event


@linked
def discard(early: Machine, walk: WalkBack, incoming: Incoming, i: int) -> None:
    """Clear the levels at which an event is in no match, by the candidates before it."""
    levels = walk.pattern.least.shape[0]
    for level in range(levels):
        bit, first = 1 << level, 4 * levels + 2 * level
        if (incoming.begins[i] | incoming.takes[i]) & bit == 0:
            continue
        for condition in range(
            entry(early, MOMENTS_AT, first, 0), entry(early, MOMENTS_AT, first + 2, 0)
        ):
            is_every = condition >= entry(early, MOMENTS_AT, first + OF_EVERY, 0)
            if is_every and holds_with(early, walk, incoming, i, NOTHING, condition):
                continue
            if is_every:
                incoming.begins[i] &= ~bit
            if not holds_with_earlier(early, walk, incoming, i, level, condition):
                incoming.takes[i] &= ~bit


@linked
def holds_with_earlier(
    early: Machine, walk: WalkBack, incoming: Incoming, i: int, level: int, condition: int
) -> bool:
    """Whether a condition on an event holds with a candidate before it, or there are too many."""
    levels, mask = walk.pattern.least.shape[0], walk.cells.shape[0] - 1
    bound = window_start(incoming.measures[i], walk.bounds.span)
    candidate = walk.known[incoming.keys[i] * levels + level, of.TOP]
    for _ in range(FAR):
        if candidate < walk.state[of.TAIL] or walk.cells[candidate & mask, of.MEASURE] < bound:
            return False
        is_before = walk.cells[candidate & mask, of.ORDER] != incoming.ties[i]
        if is_before and holds_with(early, walk, incoming, i, candidate, condition):
            return True
        candidate = walk.cells[candidate & mask, of.FIELDS + level]
    return True


@linked
def holds_with(
    early: Machine, walk: WalkBack, incoming: Incoming, i: int, candidate: int, condition: int
) -> bool:
    """Whether a condition on an event holds with a candidate as the extreme, or with itself."""
    ways, event = walk.ways, incoming.numbers[i]
    ways[0, of.WAY_ON], ways[0, of.WAY_EVENT] = 1, event
    ways[1, of.WAY_ON], ways[1, of.WAY_EVENT] = NOTHING, event
    if candidate != NOTHING:
        ways[0, of.WAY_EVENT] = walk.cells[candidate & (walk.cells.shape[0] - 1), of.ROW]
    return bool(allow_at(early.condition, early.arrays, ways, condition, 0))
