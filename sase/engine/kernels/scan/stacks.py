"""Active instance stacks, partitioned or not: sequence scan (SASE 2006, 4.1 and 4.2.1).

An instance stands in the cells of `StackArrays` at the place `number & mask` of its level, each of
which has a ring of its own size. Numbers grow for ever: one below the level's tail is dead, and no
pointer is mended when storage is used again.

    level 0     level 1      an arrow is RIP: the most recent instance of the level before, in the
    a1 ◄─────── b3           same partition and strictly earlier, when the event came;
    a4 ◄─────── b6           from b6 a link leads to b3, down the stack of the partition.

LINKS are two, and say how many numbers back they lead: to the instance below, and to the first
below that is not simultaneous. REACH is the latest first event that a sequence through the instance
can have; of the last level it is the measure of the event itself. It never grows on the way down a
partition's stack, so a walk stops at the first instance that reaches too far back. So does what is
dead: none that reaches too far back leads to a sequence.

Negative components that are pushed make the range of the walk narrower by FLOOR: the tie of the
last event that forbids the gap before an instance, which no instance of the level before may
precede; of a first event the measure of the last one before it that forbids a start, which must
lie outside of the window, and then its RIP is `PRECEDED`. Of a negative sequence that event is the
first one of the match that starts last of those that have ended (`chains.py`).
"""

from __future__ import annotations

from typing import NamedTuple

from sase.engine.kernels.jit.compiler import by_address, inlined, kernel
from sase.engine.kernels.jit.intrinsics import prefetch, top_bit
from sase.engine.kernels.jit.signatures import Ints, OutIntCubes, OutIntRows, OutInts
from sase.engine.kernels.scan.chains import GAP, NegativeChains, latest_start, lead_on
from sase.engine.kernels.sentinels import EARLIEST, NOTHING
from sase.engine.kernels.window import window_start

PRECEDED = 0

# The fields of an instance; two are asked for only where negative components are pushed.
ROW, RIP, REACH, LINKS, TIE, FLOOR = range(6)
FIELDS, FIELDS_WITH_FLOOR = 4, 6
# The bits of a link. So far back all is dead: no level has room for so many.
LINK = 32
APART, MOST_ROOM = (1 << LINK) - 1, 1 << LINK - 1
# Where scans of several branches tell these apart, the number of an event has a tag for its type,
# of so many bits; it comes above the components in what is known of a type.
TAG_BITS, TAG_AT = 8, 48
# Counted of a level: instances ever, dead ones, events kept out by transition filtering, and the
# instances before the last tie, which the first level has; of a number the bits of the mask are its
# place.
COUNT, TAIL, DROPPED, BEFORE_TIE, LAST_TIE, MASK = range(6)
# By partition and level one behind the other: the number behind the top of the stack, or 0, and the
# most that the REACH of what is on it can be.
TOP, LATEST_START, HEAD = 0, 1, 2
# Where partitions are fewer they stay in the cache; so many events are fetched for at a time.
MANY, PIECE = 1 << 15, 1 << 10


class StackArrays(NamedTuple):
    """Instances by level, place and field; the heads of each partition's stacks; counts by level.

    A partition has its `heads` side by side, of all levels but the last one, which nothing follows.
    The latest start is that of the last instance that was pushed, or that could have been: no
    sequence through the stack has a later one.
    """

    cells: OutIntCubes
    heads: OutIntRows
    ends: OutIntRows


class Absences(NamedTuple):
    """The last events of the negative components that are pushed, by partition.

    `gaps` is the level behind each, 0 for a start, and `bits` its bit among the states. There are
    two rows for each: of the last event, and of the last one that was strictly earlier. `dropped`
    counts by level the events that would follow others, all of which it forbids. Of negative
    sequences there are `chains`.
    """

    gaps: Ints
    bits: Ints
    tie: OutIntRows
    measure: OutIntRows
    dropped: OutInts
    chains: NegativeChains


class Arrivals(NamedTuple):
    """The events of a block that may take part, in stream order.

    `states` has a bit for each level; `keys` is the partition, or negative for an event that is in
    none; `measures` is what the window measures; equal `ties` mean simultaneous events.
    """

    rows: OutInts
    states: OutInts
    keys: OutInts
    measures: OutInts
    ties: OutInts


@inlined
def top_of(stacks: StackArrays, level: int, key: int) -> int:
    """The last instance of a partition's stack, dead or alive."""
    return int(stacks.heads[key, level * HEAD + TOP] - 1)


@inlined
def below(instance: Ints, number: int) -> int:
    """The instance below one of some number, dead or alive."""
    return int(number - (instance[LINKS] & APART))


@inlined
def earlier(instance: Ints, number: int) -> int:
    """The first one below that is not simultaneous."""
    return int(number - ((instance[LINKS] >> LINK) & APART))


@inlined
def is_tied(stacks: StackArrays, ties: Ints, i: int) -> bool:
    """Whether an event is simultaneous with the one before it.

    Where one is not and may be with the next, the instances up to it are noted.
    """
    ends, tie = stacks.ends, ties[i]
    tied = bool((ties[i - 1] if i > 0 else ends[LAST_TIE, 0]) == tie)
    if not tied and (i + 1 == ties.shape[0] or ties[i + 1] == tie):
        ends[LAST_TIE, 0] = tie
        for level in range(stacks.cells.shape[0]):
            ends[BEFORE_TIE, level] = ends[COUNT, level]
    return tied


@inlined
def has_ties(stacks: StackArrays, ties: Ints) -> bool:
    """Whether an event of a block is simultaneous with the one before it."""
    tied = ties.shape[0] > 0 and stacks.ends[LAST_TIE, 0] == ties[0]
    for i in range(1, ties.shape[0]):
        tied |= ties[i - 1] == ties[i]
    return bool(tied)


@inlined
def is_of_tie(stacks: StackArrays, level: int, number: int) -> bool:
    """Whether an instance is alive and of the last tie."""
    return bool(number >= max(stacks.ends[BEFORE_TIE, level], stacks.ends[TAIL, level]))


@inlined
def latest_before(stacks: StackArrays, level: int, key: int, may_tie: bool) -> int:
    """The most recent live instance of a partition's stack that is strictly earlier."""
    top, tail = top_of(stacks, level, key), stacks.ends[TAIL, level]
    if top < tail:
        return NOTHING
    if may_tie and is_of_tie(stacks, level, top):
        top = earlier(stacks.cells[level, top & stacks.ends[MASK, level]], top)
    return top if top >= tail else NOTHING


@inlined
def push(
    stacks: StackArrays, level: int, key: int, instance: tuple[int, int, int, int], may_tie: bool
) -> int:
    """Put an instance on top of its partition's stack: row, RIP, measure and reach; its place.

    That of the last level is on none. Only where events tie is the top of the stack looked at,
    which lies anywhere.
    """
    mask, last = stacks.ends[MASK, level], stacks.cells.shape[0] - 1
    number = stacks.ends[COUNT, level]
    place = int(number & mask)
    row, rip, measure, reach = instance
    links = 0
    if level < last or last == 0:
        top = top_of(stacks, level, key)
        past = top
        # Past the whole group of simultaneous events, so that no walk goes through it one by one.
        if may_tie and is_of_tie(stacks, level, top):
            past = earlier(stacks.cells[level, top & mask], top)
        links = min(number - past, APART) << LINK | min(number - top, APART)
        stacks.heads[key, level * HEAD + TOP] = number + 1
        stacks.heads[key, level * HEAD + LATEST_START] = reach
    cell = stacks.cells[level, place]
    cell[ROW], cell[RIP], cell[LINKS] = row, rip, links
    cell[REACH] = measure if level == last else reach
    stacks.ends[COUNT, level] = number + 1
    return place


def _passed(stacks: StackArrays, tails: OutInts, bound: int) -> None:
    """Raise the tail of each level beyond those that reach back behind a bound, which stay there.

    Those of the last level have all been used.
    """
    last = stacks.cells.shape[0] - 1
    for level in range(last):
        tail, mask = max(tails[level], stacks.ends[TAIL, level]), stacks.ends[MASK, level]
        while tail < stacks.ends[COUNT, level] and stacks.cells[level, tail & mask, REACH] < bound:
            tail += 1
        tails[level] = tail
    tails[last] = stacks.ends[COUNT, last]


pass_dead = inlined(_passed)
tails_of = kernel(_passed)


def _evicted(stacks: StackArrays, bound: int) -> None:
    """Give up the instances that reach back behind a bound."""
    pass_dead(stacks, stacks.ends[TAIL], bound)


evicted = inlined(_evicted)
evict = kernel(_evicted)


@kernel
def free(stacks: StackArrays, bound: int) -> int:
    """Evict instances, and return the oldest event of those left, `NOTHING` without one.

    Instances of the last level are used up at once.
    """
    evicted(stacks, bound)
    oldest = NOTHING
    for level in range(stacks.cells.shape[0] - 1):
        tail = stacks.ends[TAIL, level]
        if tail < stacks.ends[COUNT, level]:
            row = stacks.cells[level, tail & stacks.ends[MASK, level], ROW]
            oldest = row if oldest == NOTHING else min(row, oldest)
    return int(oldest)


# ---------------------------------------------------------------- negative components


@inlined
def last_absence(
    absences: Absences, level: int, key: int, tie: int, is_plain: bool
) -> tuple[int, int]:
    """The last event before `tie` that forbids what a level follows, if any: its tie or measure."""
    state, found = NOTHING, EARLIEST
    for number in range(absences.gaps.shape[0]):
        if absences.gaps[number] == level:
            row = 2 * number
            if absences.tie[row, key] == tie:
                row += 1
            if absences.tie[row, key] != EARLIEST:
                last = absences.tie[row, key] if level > 0 else absences.measure[row, key]
                state, found = PRECEDED, max(found, last)
    chains = absences.chains
    for step in range(0 if is_plain else chains.steps.shape[0]):
        if chains.steps[step, GAP] == level:
            start, start_measure = latest_start(chains.known[key, step], tie)
            if start != EARLIEST:
                state, found = PRECEDED, max(found, start if level > 0 else start_measure)
    return state, found


@inlined
def note_absence(
    absences: Absences, states: int, key: int, measure: int, tie: int, is_plain: bool
) -> None:
    """Remember an event of the negative components that it belongs to."""
    if not is_plain:
        lead_on(absences.chains, states, key, measure, tie)
    for number in range(absences.gaps.shape[0]):
        if (states >> absences.bits[number]) & 1:
            row = 2 * number
            if absences.tie[row, key] != tie:
                absences.tie[row + 1, key] = absences.tie[row, key]
                absences.measure[row + 1, key] = absences.measure[row, key]
            absences.tie[row, key], absences.measure[row, key] = tie, measure


# ---------------------------------------------------------------- sequence scan


@inlined
def fetch_heads(stacks: StackArrays, keys: OutInts, begin: int, end: int) -> None:
    """Fetch the heads of partitions that come next, where there are so many that they lie far."""
    if stacks.heads.shape[0] >= MANY:
        for i in range(begin, end):
            prefetch(stacks.heads, keys[i] * stacks.heads.shape[1])


@inlined
def fetch_stacks(arrivals: Arrivals, stacks: StackArrays, begin: int) -> None:
    """Fetch the heads that the next events read, and the instances that they follow."""
    if stacks.heads.shape[0] < MANY:
        return
    end, levels = min(begin + PIECE, arrivals.rows.shape[0]), stacks.cells.shape[0]
    fetch_heads(stacks, arrivals.keys, begin, end)
    every = (1 << levels) - 1
    for i in range(begin, end):
        states = arrivals.states[i] & every
        if states > 1:
            level = top_bit(states) - 1
            place = top_of(stacks, level, max(arrivals.keys[i], 0)) & stacks.ends[MASK, level]
            prefetch(stacks.cells, (level * stacks.cells.shape[1] + place) * stacks.cells.shape[2])


@inlined
def push_all(
    arrivals: Arrivals, stacks: StackArrays, absences: Absences | None, span: int,
    begin: int, end: int, is_plain: bool,
) -> None:  # fmt: skip
    """Push arrivals onto the stacks of their levels, where a sequence can lead up to them.

    They are plain if none is simultaneous with the one before it, and there are no chains.
    """
    every = (1 << stacks.cells.shape[0]) - 1
    for i in range(begin, end):
        if i % PIECE == 0:
            fetch_stacks(arrivals, stacks, i)
        may_tie = False if is_plain else is_tied(stacks, arrivals.ties, i)
        key, measure, tie = arrivals.keys[i], arrivals.measures[i], arrivals.ties[i]
        if key < 0:
            continue
        bound = window_start(measure, span)
        # From the last level down, since an event never follows itself.
        left = arrivals.states[i] & every
        while left != 0:
            level = top_bit(left)
            left ^= 1 << level
            rip, reach, floor = NOTHING, measure, EARLIEST
            if absences is not None:
                rip, floor = last_absence(absences, level, key, tie, is_plain)
            if level > 0:
                rip = latest_before(stacks, level - 1, key, may_tie)
                if rip != NOTHING:
                    cell = stacks.cells[level - 1, rip & stacks.ends[MASK, level - 1]]
                    reach = cell[REACH]
                    if absences is not None and cell[TIE] < floor:
                        rip = NOTHING
                        # Not what the window keeps out, too, whether or not it is given up yet.
                        absences.dropped[level] += reach >= bound
                if rip == NOTHING or reach < bound:
                    stacks.ends[DROPPED, level] += 1
                    continue
            instance = arrivals.rows[i], rip, measure, reach
            place = push(stacks, level, key, instance, may_tie)
            if absences is not None:
                stacks.cells[level, place, TIE], stacks.cells[level, place, FLOOR] = tie, floor
        if absences is not None:
            note_absence(absences, arrivals.states[i], key, measure, tie, is_plain)


def _scanned(arrivals: Arrivals, stacks: StackArrays, absences: Absences | None, span: int) -> None:
    """Push every arrival, those that are plain by a loop that knows of no others."""
    count = arrivals.rows.shape[0]
    is_plain = not has_ties(stacks, arrivals.ties)
    if absences is not None and absences.chains.steps.shape[0] + absences.chains.cuts.shape[0] > 0:
        is_plain = False
    # The next block may be simultaneous with the last event.
    plain = max(count - 1, 0) if is_plain else 0
    push_all(arrivals, stacks, absences, span, 0, plain, True)
    push_all(arrivals, stacks, absences, span, plain, count, False)


scan = kernel(_scanned, absent=["absences"])
scan_between = kernel(_scanned)
scan_at = by_address(_scanned, absent=["absences"])
scan_between_at = by_address(_scanned)
