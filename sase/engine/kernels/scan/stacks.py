"""Active instance stacks, partitioned or not: sequence scan (SASE 2006, 4.1 and 4.2.1).

An instance is stored in the cells of `StackArrays` at the place `number & mask` of its level; each
level has a ring of its own size. Numbers grow for ever: one below the level's tail is dead, and no
pointer is updated when storage is reused.

    level 0     level 1      an arrow is RIP: the most recent instance of the level before, in the
    a1 ◄─────── b3           same partition and strictly earlier, when the event came;
    a4 ◄─────── b6           from b6 a link leads to b3, down the stack of the partition.

LINKS packs two distances: to the instance below, and to the first one below that is not
simultaneous. REACH is the latest first event of a sequence through the instance; at the last level
it is the measure of the event itself. REACH never grows on the way down a partition's stack, so a
walk stops at the first instance that is out of the window. It stops at dead instances, too: these
are out of the window.

Pushed negative components narrow the range of the walk by FLOOR: the tie of the last event that
forbids the gap before an instance; instances of the level before with an earlier tie cannot be
followed. For a first event FLOOR is the measure of the last event before it that forbids a start,
and RIP is `PRECEDED`; that measure must lie outside of the window. Of a negative sequence the
forbidding event is the first event of the ended match that starts last (`chains.py`).
"""

from __future__ import annotations

from typing import NamedTuple

from sase.engine.kernels.jit.compiler import by_address, inlined, kernel
from sase.engine.kernels.jit.intrinsics import prefetch, top_bit
from sase.engine.kernels.jit.signatures import Ints, OutIntCubes, OutIntRows, OutInts
from sase.engine.kernels.scan.chains import GAP, NegativeChains, latest_start, lead_on
from sase.engine.kernels.sentinels import EARLIEST, NOTHING, window_start

PRECEDED = 0

# The fields of an instance; TIE and FLOOR only exist where negative components are pushed.
ROW, RIP, REACH, LINKS, TIE, FLOOR = range(6)
FIELDS, FIELDS_WITH_FLOOR = 4, 6
# The bits of one distance in LINKS. A greater distance leads to a dead instance, since it exceeds
# the room of a level.
LINK = 32
APART, MOST_ROOM = (1 << LINK) - 1, 1 << LINK - 1
# Where one scan serves several branches, an event number carries a tag of its type of TAG_BITS
# bits, which the state of a type holds from bit TAG_AT on, above the components.
TAG_BITS, TAG_AT = 8, 48
# Counters of a level: instances ever, dead ones, events dropped by transition filtering, instances
# before the last tie, the last tie (of the first level only), and the mask that makes a number a
# place.
COUNT, TAIL, DROPPED, BEFORE_TIE, LAST_TIE, MASK = range(6)
# Of a pushed negative component in a partition: the ties of its last event and of the last strictly
# earlier one, and the measures of both.
LAST, EARLIER, MEASURE_AT, ABSENCE = 0, 1, 2, 4
# The head of a level in a partition: the number of the stack's top plus one, or 0; and an upper
# bound of the REACH of its instances.
TOP, LATEST_START, HEAD = 0, 1, 2
# Heads of fewer than MANY partitions stay in the cache; for more, those of PIECE events are
# prefetched at a time.
MANY, PIECE = 1 << 15, 1 << 10


class StackArrays(NamedTuple):
    """Instances by level, place and field; the heads of each partition's stacks; counters by level.

    The `heads` of a partition are adjacent, for all levels but the last, which nothing follows.
    LATEST_START is that of the last instance that was pushed or could have been pushed: no sequence
    through the stack starts later.
    """

    cells: OutIntCubes
    heads: OutIntRows
    ends: OutIntRows


class Absences(NamedTuple):
    """The last events of the pushed negative components, by partition.

    `gaps` is the level behind each component's gap, 0 for a start; `bits` is its bit in a state.
    `last` has by partition and component the fields `LAST` to `ABSENCE`: the values that an event
    reads of its partition are adjacent. `dropped` counts by level the events that no earlier
    instance may be followed by. `chains` are those of negative sequences.
    """

    gaps: Ints
    bits: Ints
    last: OutIntCubes
    dropped: OutInts
    chains: NegativeChains


class Arrivals(NamedTuple):
    """The events of a block that may take part, in stream order.

    `states` has a bit for each level; `keys` is the partition, negative for none; `measures` is the
    quantity that the window measures; equal `ties` mean simultaneous events.
    """

    rows: OutInts
    states: OutInts
    keys: OutInts
    measures: OutInts
    ties: OutInts


@inlined
def top_of(stacks: StackArrays, level: int, key: int) -> int:
    """The number of the last instance on a partition's stack, dead or alive."""
    return int(stacks.heads[key, level * HEAD + TOP] - 1)


@inlined
def below(instance: Ints, number: int) -> int:
    """The number of the next instance down the stack, dead or alive."""
    return int(number - (instance[LINKS] & APART))


@inlined
def earlier(instance: Ints, number: int) -> int:
    """The number of the first instance down the stack that is not simultaneous."""
    return int(number - ((instance[LINKS] >> LINK) & APART))


@inlined
def is_tied(stacks: StackArrays, ties: Ints, i: int) -> bool:
    """Whether an event is simultaneous with the one before it.

    At the first event of a possible group of simultaneous ones, note the counts of all levels.
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
    """Whether an instance is alive and belongs to the last tie."""
    return bool(number >= max(stacks.ends[BEFORE_TIE, level], stacks.ends[TAIL, level]))


@inlined
def latest_before(stacks: StackArrays, level: int, key: int, may_tie: bool) -> int:
    """The latest live instance of a partition's stack that is strictly earlier, or `NOTHING`."""
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
    """Push an instance (row, RIP, measure, reach) onto its partition's stack; return its place.

    An instance of the last level is on no stack. The top of the stack, a random memory access, is
    read only where events may tie.
    """
    mask, last = stacks.ends[MASK, level], stacks.cells.shape[0] - 1
    number = stacks.ends[COUNT, level]
    place = int(number & mask)
    row, rip, measure, reach = instance
    links = 0
    if level < last or last == 0:
        top = top_of(stacks, level, key)
        past = top
        # Skip the whole group of simultaneous events, so that no walk visits them one by one.
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
    """Raise the tail of each level past the instances that no window from `bound` on contains.

    The instances of the last level have all been used. Nothing is erased.
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
    """Evict the instances that no window from `bound` on contains."""
    pass_dead(stacks, stacks.ends[TAIL], bound)


evicted = inlined(_evicted)
evict = kernel(_evicted)


@kernel
def free(stacks: StackArrays, bound: int) -> int:
    """Evict instances; return the oldest event of those left, or `NOTHING`.

    Instances of the last level are used at once, and not considered.
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
    """The last event before `tie` that forbids the gap before a level: PRECEDED, tie or measure."""
    state, found = NOTHING, EARLIEST
    for number in range(absences.gaps.shape[0]):
        if absences.gaps[number] == level:
            known = absences.last[key, number]
            place = EARLIER if known[LAST] == tie else LAST
            if known[place] != EARLIEST:
                last = known[place] if level > 0 else known[MEASURE_AT + place]
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
    """Note an event of negative components as the last one of each."""
    if not is_plain:
        lead_on(absences.chains, states, key, measure, tie)
    for number in range(absences.gaps.shape[0]):
        if (states >> absences.bits[number]) & 1:
            known = absences.last[key, number]
            if known[LAST] != tie:
                known[EARLIER] = known[LAST]
                known[MEASURE_AT + EARLIER] = known[MEASURE_AT + LAST]
            known[LAST], known[MEASURE_AT + LAST] = tie, measure


# ---------------------------------------------------------------- sequence scan


@inlined
def fetch_heads(stacks: StackArrays, keys: OutInts, begin: int, end: int) -> None:
    """Prefetch the heads of the next partitions, if there are too many for the cache."""
    if stacks.heads.shape[0] >= MANY:
        for i in range(begin, end):
            prefetch(stacks.heads, keys[i] * stacks.heads.shape[1])


@inlined
def fetch_stacks(
    arrivals: Arrivals, stacks: StackArrays, absences: Absences | None, begin: int
) -> None:
    """Prefetch the heads and absences that the next events read, and the instances they follow."""
    if stacks.heads.shape[0] < MANY:
        return
    end, levels = min(begin + PIECE, arrivals.rows.shape[0]), stacks.cells.shape[0]
    fetch_heads(stacks, arrivals.keys, begin, end)
    if absences is not None:
        width = absences.last.shape[1] * absences.last.shape[2]
        for i in range(begin, end):
            prefetch(absences.last, arrivals.keys[i] * width)
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

    `is_plain`: no event is simultaneous with the one before it, and there are no chains.
    """
    every = (1 << stacks.cells.shape[0]) - 1
    for i in range(begin, end):
        if i % PIECE == 0:
            fetch_stacks(arrivals, stacks, absences, i)
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
                        # Do not count events that the window excludes, too, whether or not they are
                        # evicted yet.
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
    """Push every arrival; a specialized loop takes blocks without ties and chains."""
    count = arrivals.rows.shape[0]
    is_plain = not has_ties(stacks, arrivals.ties)
    if absences is not None and absences.chains.steps.shape[0] + absences.chains.cuts.shape[0] > 0:
        is_plain = False
    # The next block may begin with an event simultaneous with the last one.
    plain = max(count - 1, 0) if is_plain else 0
    push_all(arrivals, stacks, absences, span, 0, plain, True)
    push_all(arrivals, stacks, absences, span, plain, count, False)


scan = kernel(_scanned, absent=["absences"])
scan_between = kernel(_scanned)
scan_at = by_address(_scanned, absent=["absences"])
scan_between_at = by_address(_scanned)
