"""(SASE++, 5.2) What conditions say of all candidates of a series, before a walk chooses some.

The candidates are the instances of a level that the walk can reach. A condition on the greatest
value of a series is asked of each by itself (`planning.extremes`): in place of the event that a way
chose last stands the candidate.
"""

from __future__ import annotations

from sase.engine.kernels.jit.compiler import linked
from sase.engine.kernels.kleene import candidates as of
from sase.engine.kernels.kleene.candidates import WalkBack
from sase.engine.kernels.kleene.early_filters import allow_at
from sase.engine.kernels.kleene.run_nodes import MOMENTS_AT, Incoming, Machine, entry
from sase.engine.kernels.sentinels import NOTHING
from sase.engine.kernels.window import window_start

# Of the conditions on all candidates of a level: what must be true of one of them for a walk, and
# what is safe where it is true of each. They stand behind those of the ways.
OF_ONE, OF_EACH = range(2)
# Of those on each event and the candidates before it: whether the first of a series is exempt. They
# stand behind those. An event is kept that no one of so many candidates decides on.
OF_FURTHER, OF_EVERY = range(2)
FAR = 128
# A walk asks what is safe once so many of its matches were bound: then that is soon paid for.
PAYS_FROM = 8


@linked
def is_dismissed(early: Machine, walk: WalkBack, last: int) -> bool:
    """Whether no match can end with an instance: too few candidates, or none that would do."""
    levels = walk.pattern.least.shape[0]
    for level in range(levels):
        least = walk.pattern.least[level]
        if least > 1 and not has_candidates(walk, last, level, least):
            return True
    return not all_hold(early, walk, last, OF_ONE)


@linked
def all_hold(early: Machine, walk: WalkBack, last: int, kind: int) -> bool:
    """Whether all conditions of a kind are true: of one candidate, or of each."""
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
    """Whether there are so many candidates of a level, of which all but one may be further ones."""
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
    """Whether a condition holds of one candidate of a level, or else of each."""
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
    """Return the last candidate of a level, which the last instance itself may be."""
    cell = walk.cells[last & (walk.cells.shape[0] - 1)]
    if ((cell[of.BEGINS] | cell[of.TAKES]) >> level) & 1:
        return last
    return next_candidate(walk, last, level, last)


@linked
def next_candidate(walk: WalkBack, last: int, level: int, candidate: int) -> int:
    """Return the candidate of a level before another, or `NOTHING`."""
    mask = walk.cells.shape[0] - 1
    bound = window_start(walk.cells[last & mask, of.MEASURE], walk.bounds.span)
    before = walk.cells[candidate & mask, of.FIELDS + level]
    if before < walk.state[of.TAIL] or walk.cells[before & mask, of.MEASURE] < bound:
        return NOTHING
    return int(before)


# ---------------------------------------------------------------- of the candidates before


@linked
def discard(early: Machine, walk: WalkBack, incoming: Incoming, i: int) -> None:
    """Take an event for no level that it is in no match of, by the candidates before it."""
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
