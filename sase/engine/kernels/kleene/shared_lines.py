"""(NFAb) Lines in stacks that share events: all lines at one level take the same events.

This holds if conditions on several events only require that they have a key in common. Then an
event takes all lines of its key that wait for it at once:

    level 0     level 1      RIP leads to the last of the lines that an event took. BELOW leads
    a1 ◄─┐ ┌─── b4           from one of them to the next. The lines that b4 took have left the
    a2 ◄─┼─┘                 stack of level 0, so a3, which comes next, is alone there.
    a3 ◄─┘

In a series, each event is on the stack of its level. A line in the series has all events from one
event on: the event that took the line, or its first event. Other events of a series have no RIP.

REACH is the latest first event of any line through an instance. It never grows on the way down. So
a walk stops at the first REACH before the window, and an instance with its own event before the
window is over. Numbers of instances grow without end; each level has a ring of its own size.
"""

from __future__ import annotations

from typing import NamedTuple

from sase.engine.kernels.jit.arrow_memory import BLOCK, copy_blocks
from sase.engine.kernels.jit.compiler import inlined, kernel
from sase.engine.kernels.jit.intrinsics import low_bit, prefetch
from sase.engine.kernels.jit.signatures import OutIntCubes, OutIntRows, OutInts
from sase.engine.kernels.kleene.line_scan import (
    BY_TIME,
    CODE,
    MANY,
    MEASURE,
    PIECE,
    READ,
    WHAT,
    LineStream,
    read_codes,
)
from sase.engine.kernels.kleene.line_store import NO_EXTENT, NO_LINE, LineMatches, LineRules
from sase.engine.kernels.kleene.run_nodes import DONE, FULL
from sase.engine.kernels.sentinels import EARLIEST, NOTHING, window_start

# The fields of an instance, and the RIP of an instance that is the first event of its line.
EVENT, RIP, BELOW, REACH = range(4)
FIELDS, FIRST = 4, 0
# The counters of a level: all instances, and dead ones. A place is a number in the bits of the
# mask.
COUNT, TAIL, MASK = range(3)
# Where a walk stores its choices by level, after the arrays of a piece.
CHOICE, MOST_CHOICES = READ, 8


class LineStacks(NamedTuple):
    """Instances by level, place and field; by key the number after the top of each stack.

    The last level has no stack. `ends` has the counters of levels. `series` has room for the events
    of a series, which are written from its end backwards. `at` has the next event, and the number
    of lines begun.
    """

    cells: OutIntCubes
    heads: OutInts
    ends: OutIntRows
    series: OutInts
    at: OutInts


@inlined
def measure_of(rules: LineRules, stream: LineStream, event: int) -> int:
    """Return the measure of an event for the window."""
    if rules.measure == BY_TIME:
        return int(stream.times[event - stream.position + stream.row])
    return event


@inlined
def evict_before(rules: LineRules, stream: LineStream, stacks: LineStacks, bound: int) -> None:
    """Evict the instances with an event before a bound."""
    for level in range(stacks.cells.shape[0]):
        tail, mask = stacks.ends[TAIL, level], stacks.ends[MASK, level]
        while tail < stacks.ends[COUNT, level]:
            if measure_of(rules, stream, stacks.cells[level, tail & mask, EVENT]) >= bound:
                break
            tail += 1
        stacks.ends[TAIL, level] = tail


@inlined
def lacks_places(stacks: LineStacks, events: int) -> bool:
    """Whether a level has less room than a number of events may need."""
    lacks = False
    for level in range(stacks.cells.shape[0]):
        alive = stacks.ends[COUNT, level] - stacks.ends[TAIL, level]
        lacks = lacks or alive + events > stacks.ends[MASK, level] + 1
    return lacks


@inlined
def fetch_tops(
    stream: LineStream, stacks: LineStacks, first: int, count: int, room: OutInts
) -> None:
    """Prefetch the stacks of the next events, the lines that these take, and lines taken before."""
    cells, levels, later = stacks.cells, stacks.cells.shape[0], 0
    if stacks.heads.shape[0] < MANY * levels:
        return
    # Events that may take lines are chosen without branches, which would be mispredicted.
    for place in range(count):
        prefetch(stacks.heads, room[CODE + place])
        room[WHAT + later] = place
        later += stream.takes[first + place] > 1
    for chosen in range(later):
        place = room[WHAT + chosen]
        level = low_bit(int(stream.takes[first + place])) - 1
        at = (stacks.heads[room[CODE + place] + level] - 1) & stacks.ends[MASK, level]
        prefetch(cells, (level * cells.shape[1] + at) * FIELDS)
    for chosen in range(later):
        place = room[WHAT + chosen]
        level = low_bit(int(stream.takes[first + place])) - 1
        number = stacks.heads[room[CODE + place] + level] - 1
        if level > 0 and number >= stacks.ends[TAIL, level]:
            at = cells[level, number & stacks.ends[MASK, level], RIP]
            at &= stacks.ends[MASK, level - 1]
            prefetch(cells, ((level - 1) * cells.shape[1] + at) * FIELDS)


@inlined
def push_instance(
    stacks: LineStacks, key: int, level: int, event: int, rip: int, reach: int
) -> None:
    """Put an instance on top of the stack of a key."""
    number = stacks.ends[COUNT, level]
    top = stacks.heads[key + level] - 1
    cell = stacks.cells[level, number & stacks.ends[MASK, level]]
    cell[EVENT], cell[RIP], cell[REACH] = event, rip, reach
    cell[BELOW] = top if top >= stacks.ends[TAIL, level] else NOTHING
    stacks.heads[key + level] = number + 1
    stacks.ends[COUNT, level] = number + 1


@inlined
def last_tied(stream: LineStream, stacks: LineStacks, key: int, level: int, i: int) -> int:
    """Return the lowest instance of a stack that is simultaneous with an event, or `NOTHING`."""
    found = NOTHING
    if stream.ties.shape[0] > 0:
        mask, tie = stacks.ends[MASK, level], stream.ties[stream.row + i]
        number = stacks.heads[key + level] - 1
        while number >= stacks.ends[TAIL, level]:
            cell = stacks.cells[level, number & mask]
            if stream.ties[cell[EVENT] - stream.position + stream.row] != tie:
                break
            found, number = number, cell[BELOW]
    return found


@inlined
def waiting(stacks: LineStacks, key: int, level: int, tied: int, bound: int) -> int:
    """Return the last of the lines that an event takes at a level, or `NOTHING`."""
    mask, number = stacks.ends[MASK, level], stacks.heads[key + level] - 1
    if tied != NOTHING:
        number = stacks.cells[level, tied & mask, BELOW]
    is_alive = number >= stacks.ends[TAIL, level]
    return (
        int(number) if is_alive and stacks.cells[level, number & mask, REACH] >= bound else NOTHING
    )


@inlined
def take_waiting(stacks: LineStacks, key: int, level: int, tied: int) -> None:
    """Take the waiting lines from their stack; lines of simultaneous events stay."""
    if tied == NOTHING:
        stacks.heads[key + level] = 0
    else:
        stacks.cells[level, tied & stacks.ends[MASK, level], BELOW] = NOTHING


# ---------------------------------------------------------------- matches


@inlined
def write_match(
    stacks: LineStacks, output: LineMatches, room: OutInts, depth: int, event: int, size: int
) -> bool:
    """Write the match of the chosen events, `size` events of a series, and the last, if it fits."""
    sizes, series = output.sizes, stacks.series
    count, to = sizes[0], sizes[1]
    if count == output.ends.shape[0] or to + size + BLOCK > output.events.shape[0]:
        return False
    for level in range(depth):
        place = room[CHOICE + level] & stacks.ends[MASK, level]
        output.singles[level, count] = stacks.cells[level, place, EVENT]
    output.singles[stacks.cells.shape[0], count] = event
    if size > 0:
        copy_blocks(series, series.shape[0] - BLOCK - size, output.events, to, size)
    sizes[0], sizes[1] = count + 1, to + size
    output.ends[count] = to + size
    return True


@inlined
def write_taken(
    stacks: LineStacks, output: LineMatches, room: OutInts, depth: int, rip: int, bound: int,
    event: int, size: int,
) -> bool:  # fmt: skip
    """Write a match for each line of `depth` levels that an instance took, while there is room."""
    cells, level = stacks.cells, depth - 1
    if depth == 0:
        return write_match(stacks, output, room, depth, event, size)
    room[CHOICE + level] = rip
    while level < depth:
        number, mask = room[CHOICE + level], stacks.ends[MASK, level]
        if number >= stacks.ends[TAIL, level]:
            cell = cells[level, number & mask]
            if cell[REACH] >= bound:
                if level > 0:
                    level -= 1
                    room[CHOICE + level] = cell[RIP]
                    continue
                if not write_match(stacks, output, room, depth, event, size):
                    return False
                room[CHOICE] = cell[BELOW]
                continue
        level += 1
        if level < depth:
            place = room[CHOICE + level] & stacks.ends[MASK, level]
            room[CHOICE + level] = cells[level, place, BELOW]
    return True


@inlined
def write_series(
    rules: LineRules, stacks: LineStacks, output: LineMatches, room: OutInts, key: int, bound: int,
    event: int,
) -> int:  # fmt: skip
    """Write the matches of all lines in their series; return the missing room, or `DONE`."""
    level, size, most = rules.series, 0, stacks.series.shape[0] - BLOCK
    mask, number = stacks.ends[MASK, level], stacks.heads[key + level] - 1
    while number >= stacks.ends[TAIL, level]:
        cell = stacks.cells[level, number & mask]
        if cell[REACH] < bound:
            break
        if size == most:
            return NO_EXTENT
        size += 1
        stacks.series[most - size] = cell[EVENT]
        begins = cell[RIP] != NOTHING and size >= rules.least
        if begins and not write_taken(stacks, output, room, level, cell[RIP], bound, event, size):
            return FULL
        number = cell[BELOW]
    return DONE


@inlined
def complete(
    rules: LineRules, stream: LineStream, stacks: LineStacks, output: LineMatches, room: OutInts,
    i: int, key: int, bound: int,
) -> int:  # fmt: skip
    """Write the matches that an event of the last level completes, or none if there is no room."""
    matches, events, why = output.sizes[0], output.sizes[1], DONE
    level, event = rules.levels - 2, stream.position + i
    if rules.series < rules.levels:
        why = write_series(rules, stacks, output, room, key, bound, event)
    else:
        tied = last_tied(stream, stacks, key, level, i)
        rip = waiting(stacks, key, level, tied, bound)
        if rip == NOTHING:
            return DONE
        if write_taken(stacks, output, room, level + 1, rip, bound, event, 0):
            take_waiting(stacks, key, level, tied)
        else:
            why = FULL
    if why != DONE:
        output.sizes[0], output.sizes[1] = matches, events
    return why


# ---------------------------------------------------------------- the scan


@inlined
def take_event(
    rules: LineRules, stream: LineStream, stacks: LineStacks, i: int, key: int, level: int,
    measure: int, bound: int,
) -> None:  # fmt: skip
    """Let an event take all lines that wait for it, begin a line, or continue a series."""
    rip, reach, event = NOTHING, EARLIEST, stream.position + i
    if (stream.begins[i] >> level) & 1:
        if level == 0:
            rip, reach = FIRST, measure
            stacks.at[1] += 1
        else:
            tied = last_tied(stream, stacks, key, level - 1, i)
            rip = waiting(stacks, key, level - 1, tied, bound)
            if rip != NOTHING:
                reach = stacks.cells[level - 1, rip & stacks.ends[MASK, level - 1], REACH]
                take_waiting(stacks, key, level - 1, tied)
    if rip == NOTHING:
        if level != rules.series:
            return
        # The event continues the lines of the stack.
        last = waiting(stacks, key, level, NOTHING, bound)
        if last == NOTHING:
            return
        reach = stacks.cells[level, last & stacks.ends[MASK, level], REACH]
    push_instance(stacks, key, level, event, rip, reach)


@kernel
def fused_shared_lines(
    rules: LineRules, stream: LineStream, stacks: LineStacks, output: LineMatches, room: OutInts,
    behind: int,
) -> int:  # fmt: skip
    """Apply events of columns from where the last call stopped; write the completed matches."""
    levels, first = stacks.cells.shape[0], stacks.at[0]
    while first < behind:
        count = min(PIECE, behind - first)
        bound = window_start(measure_of(rules, stream, stream.position + first), rules.span)
        evict_before(rules, stream, stacks, bound)
        if lacks_places(stacks, count):
            stacks.at[0] = first
            return NO_LINE
        read_codes(stream, first, count, levels, room)
        fetch_tops(stream, stacks, first, count, room)
        for place in range(count):
            room[MEASURE + place] = measure_of(rules, stream, stream.position + first + place)
        for place in range(count):
            i, key, measure = first + place, room[CODE + place], room[MEASURE + place]
            takes = int(stream.takes[i])
            if takes == 0:
                continue
            level, bound = low_bit(takes), window_start(measure, rules.span)
            if level < levels:
                take_event(rules, stream, stacks, i, key, level, measure, bound)
                continue
            why = complete(rules, stream, stacks, output, room, i, key, bound)
            if why != DONE:
                stacks.at[0] = i
                return why
        first += count
    stacks.at[0] = behind
    return DONE
