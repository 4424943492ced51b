"""(NFAb) Lines in stacks that share events: all lines at one level take the same events.

This holds if conditions on several events only require that they have a key in common. Then an
event takes all lines of its key that wait for it at once:

    level 0     level 1      RIP leads to the last of the lines that an event took. BELOW leads
    a1 ◄─┐ ┌─── b4           from one of them to the next. The lines that b4 took have left the
    a2 ◄─┼─┘                 stack of level 0, so a3, which comes next, is alone there.
    a3 ◄─┘

In a series, each event is on the stack of its level. A line in the series has all events from one
event on: the event that took the line, or its first event. Other events of a series have no RIP.

All events are loaded, so instances have the layout of `batch_scan`: one ring of small cells for all
levels, numbered in the order of the events. `first` is the number of the first instance in the
window of the current event. REACH is the number of the latest first event of any line through the
instance. It never grows on the way down. So a walk stops at the first REACH before the window, and
an instance with a lower number is over.

A line cannot take an event that is simultaneous with its last one. So instances of a group of
simultaneous events are put on their stacks behind the group. Until then BELOW names the stack. Only
an instance of the series is put there at once: it is the last event of all lines of its stack, so a
further event of the group takes none of them. If that event begins a line, it is ALONE: no line
below has it.
"""

from __future__ import annotations

from typing import NamedTuple

from sase.engine.kernels.jit.arrow_memory import BLOCK, copy_blocks
from sase.engine.kernels.jit.compiler import inlined, kernel
from sase.engine.kernels.jit.intrinsics import low_bit, prefetch
from sase.engine.kernels.jit.signatures import OutInt32Rows, OutInts, OutInts32
from sase.engine.kernels.kleene.line_scan import (
    BY_TIME,
    CODE,
    MANY,
    PIECE,
    READ,
    LineStream,
    read_codes,
)
from sase.engine.kernels.kleene.line_store import NO_EXTENT, NO_LINE, LineMatches, LineRules
from sase.engine.kernels.kleene.run_nodes import DONE, FULL
from sase.engine.kernels.scan.batch_scan import ALIVE, BELOW, COUNT, REACH, RIP, ROW, moved_on
from sase.engine.kernels.sentinels import NOTHING

# The RIP of the first event of a line. From ALONE down, the RIP of an instance that only its own
# lines have; from LATER down, the BELOW of an instance that is on no stack yet.
FIRST, ALONE, LATER = 0, -2, -2
# Counters behind COUNT and ALIVE: the next event, the lines begun, the first number of a group of
# simultaneous events, the tie of its events, and the position of the event of row 0.
EVENT, BEGUN, GROUP, TIE, OFFSET = range(2, 7)
COUNTERS = 7
# Lines that are put off, at the beginning of `series`: the next of them, the first event of the
# series that they have, and the number of its events that they have.
NEXT, OF_SERIES, SIZE = range(3)
PUT_OFF = 3
# Where a walk stores its choices by level, after the arrays of a piece.
CHOICE, MOST_CHOICES = READ, 8
# By how many events the fetching of instances is ahead; that of heads is by twice as many.
AHEAD = 16


class LineStacks(NamedTuple):
    """Instances by number; by key and level the number of the top of a stack plus one, or 0.

    The last level has no stack. `series` has room for the events of a series, which are written
    from its end backwards, and for lines that are put off.
    """

    cells: OutInt32Rows
    heads: OutInts32
    series: OutInts
    at: OutInts


@inlined
def fetch_tops(
    stream: LineStream, stacks: LineStacks, begin: int, place: int, count: int, last: int,
    room: OutInts,
) -> None:  # fmt: skip
    """Prefetch the heads of a later event, and the instance from which a later walk begins."""
    cells, heads = stacks.cells, stacks.heads
    prefetch(heads, room[CODE + min(place + 2 * AHEAD, count - 1)])
    ahead = min(place + AHEAD, count - 1)
    if stream.takes[begin + ahead] >> last:
        top = heads[room[CODE + ahead] + last - 1] - 1
        prefetch(cells, (top & (cells.shape[0] - 1)) * cells.shape[1])


@inlined
def push_instance(
    stacks: LineStacks, stack: int, row: int, rip: int, reach: int, later: bool
) -> None:
    """Put an instance on top of a stack, or note that it will be put there `later`."""
    number = stacks.at[COUNT]
    cell = stacks.cells[number & (stacks.cells.shape[0] - 1)]
    cell[ROW], cell[RIP], cell[REACH] = row, rip, reach
    if later:
        cell[BELOW] = LATER - stack
    else:
        cell[BELOW] = stacks.heads[stack] - 1
        stacks.heads[stack] = number + 1
    stacks.at[COUNT] = number + 1


@inlined
def begin_group(stream: LineStream, stacks: LineStacks, row: int, first: int) -> None:
    """Put the instances of the group before on their stacks, unless an event is of that group."""
    at, mask = stacks.at, stacks.cells.shape[0] - 1
    if stream.ties[row] != at[TIE]:
        for number in range(max(at[GROUP], first), at[COUNT]):
            cell = stacks.cells[number & mask]
            if cell[BELOW] <= LATER:
                stack = LATER - cell[BELOW]
                cell[BELOW] = stacks.heads[stack] - 1
                stacks.heads[stack] = number + 1
        at[GROUP], at[TIE] = at[COUNT], stream.ties[row]


@inlined
def reach_of(rules: LineRules, stacks: LineStacks, number: int, level: int) -> int:
    """Return the REACH of an instance; a single first event is its own."""
    if level == 0 and rules.series != 0:
        return number
    return int(stacks.cells[number & (stacks.cells.shape[0] - 1), REACH])


# ---------------------------------------------------------------- matches


@inlined
def write_match(
    stacks: LineStacks, output: LineMatches, room: OutInts, depth: int, last: int, event: int,
    size: int,
) -> bool:  # fmt: skip
    """Write the match of the chosen events, `size` events of a series, and the last, if it fits."""
    sizes, series, mask = output.sizes, stacks.series, stacks.cells.shape[0] - 1
    count, to = sizes[0], sizes[1]
    if count == output.ends.shape[0] or to + size + BLOCK > output.events.shape[0]:
        return False
    for level in range(depth):
        row = stacks.cells[room[CHOICE + level] & mask, ROW]
        output.singles[level, count] = stacks.at[OFFSET] + row
    output.singles[last, count] = event
    if size > 0:
        copy_blocks(series, series.shape[0] - BLOCK - size, output.events, to, size)
    sizes[0], sizes[1] = count + 1, to + size
    output.ends[count] = to + size
    return True


@inlined
def write_taken(
    stacks: LineStacks, output: LineMatches, room: OutInts, depth: int, rip: int, first: int,
    behind: int, last: int, event: int, size: int,
) -> bool:  # fmt: skip
    """Write a match for each line of `depth` levels that an instance took, while there is room.

    The lines are those from RIP down to the number `behind`. The choice of the level is the next.
    """
    cells, mask, level = stacks.cells, stacks.cells.shape[0] - 1, depth - 1
    if depth == 0:
        return write_match(stacks, output, room, depth, last, event, size)
    room[CHOICE + level] = rip
    while level < depth:
        number = room[CHOICE + level]
        if number >= (first if level < depth - 1 else max(first, behind + 1)):
            cell = cells[number & mask]
            if cell[REACH] >= first:
                if level > 0:
                    level -= 1
                    room[CHOICE + level] = cell[RIP]
                    continue
                if not write_match(stacks, output, room, depth, last, event, size):
                    return False
                room[CHOICE] = cell[BELOW]
                continue
        level += 1
        if level < depth:
            room[CHOICE + level] = cells[room[CHOICE + level] & mask, BELOW]
    return True


@inlined
def write_put_off(
    rules: LineRules, stacks: LineStacks, output: LineMatches, room: OutInts, top: int, first: int,
    behind: int, event: int,
) -> bool:  # fmt: skip
    """Write the matches of lines that were put off, down to a number, and put off the others."""
    series, most = stacks.series, stacks.series.shape[0] - BLOCK
    size = series[top + SIZE]
    series[most - size] = series[top + OF_SERIES]
    is_written = write_taken(
        stacks, output, room, rules.series, series[top + NEXT], first, behind, rules.levels - 1,
        event, size,
    )  # fmt: skip
    series[top + NEXT] = room[CHOICE + rules.series - 1]
    return is_written


@inlined
def write_series(
    rules: LineRules, stacks: LineStacks, output: LineMatches, room: OutInts, key: int, first: int,
    event: int,
) -> int:  # fmt: skip
    """Write the matches of all lines in their series; return the missing room, or `DONE`.

    A line that waited while an event of its group continued the series may have an earlier row than
    this event. Then it comes behind all lines with this event, and is put off until then.
    """
    level, size, most, top = rules.series, 0, stacks.series.shape[0] - BLOCK, 0
    cells, mask, number = stacks.cells, stacks.cells.shape[0] - 1, stacks.heads[key + level] - 1
    series, last = stacks.series, rules.levels - 1
    if number >= stacks.at[GROUP]:  # the last event of all these lines is simultaneous
        return DONE
    while number >= first:
        cell = cells[number & mask]
        if cell[REACH] < first:
            break
        if size + 1 + top + PUT_OFF > most:
            return NO_EXTENT
        rip, below = cell[RIP], cell[BELOW]
        series[most - size - 1] = stacks.at[OFFSET] + cell[ROW]
        is_alone = rip <= ALONE
        if is_alone:
            rip = ALONE - rip
        if rip != NOTHING and size + 1 >= rules.least:
            behind = NOTHING if is_alone else below
            if not write_taken(
                stacks, output, room, level, rip, first, behind, last, event, size + 1
            ):
                return FULL
            if level > 0 and not is_alone and room[CHOICE + level - 1] >= first:
                series[top + NEXT] = room[CHOICE + level - 1]
                series[top + OF_SERIES] = series[most - size - 1]
                series[top + SIZE] = size + 1
                top += PUT_OFF
        if not is_alone:
            size += 1
        elif (
            top > 0
            and series[top - PUT_OFF + SIZE] == size
            and not write_put_off(rules, stacks, output, room, top - PUT_OFF, first, below, event)
        ):
            return FULL
        number = below
    while top > 0:
        top -= PUT_OFF
        if not write_put_off(rules, stacks, output, room, top, first, NOTHING, event):
            return FULL
    return DONE


@inlined
def complete(
    rules: LineRules, stacks: LineStacks, output: LineMatches, room: OutInts, row: int, key: int,
    first: int,
) -> int:  # fmt: skip
    """Write the matches that an event of the last level completes, or none if there is no room."""
    matches, events, why = output.sizes[0], output.sizes[1], DONE
    level, event = rules.levels - 2, stacks.at[OFFSET] + row
    if rules.series < rules.levels:
        why = write_series(rules, stacks, output, room, key, first, event)
    else:
        rip = stacks.heads[key + level] - 1
        if rip < first or reach_of(rules, stacks, rip, level) < first:
            return DONE
        if write_taken(stacks, output, room, level + 1, rip, first, NOTHING, level + 1, event, 0):
            stacks.heads[key + level] = 0
        else:
            why = FULL
    if why != DONE:
        output.sizes[0], output.sizes[1] = matches, events
    return why


# ---------------------------------------------------------------- the scan


@inlined
def take_event(
    rules: LineRules, stream: LineStream, stacks: LineStacks, row: int, key: int, level: int,
    first: int,
) -> None:  # fmt: skip
    """Let an event take all lines that wait for it, begin a line, or continue a series."""
    heads, stack, is_in_series = stacks.heads, key + level, level == rules.series
    rip, reach = NOTHING, stacks.at[COUNT]
    if (stream.begins[row - stream.row] >> level) & 1:
        if level == 0:
            rip = FIRST
            stacks.at[BEGUN] += 1
        else:
            waiting = heads[stack - 1] - 1
            if waiting >= first:
                reach = reach_of(rules, stacks, waiting, level - 1)
                if reach >= first:
                    rip, heads[stack - 1] = waiting, 0
    if is_in_series:
        top = heads[stack] - 1
        is_tied = top >= stacks.at[GROUP]
        if rip != NOTHING:
            rip = ALONE - rip if is_tied else rip
        else:  # the event continues the lines of the stack
            if is_tied or top < first:
                return
            reach = stacks.cells[top & (stacks.cells.shape[0] - 1), REACH]
            if reach < first:
                return
    elif rip == NOTHING:
        return
    later = stream.ties.shape[0] > 0 and not is_in_series
    push_instance(stacks, stack, row, rip, reach, later)


@kernel
def fused_shared_lines(
    rules: LineRules, stream: LineStream, stacks: LineStacks, output: LineMatches, room: OutInts,
    behind: int,
) -> int:  # fmt: skip
    """Apply events of columns from where the last call stopped; write the completed matches."""
    cells, at, last, begin = stacks.cells, stacks.at, rules.levels - 1, stacks.at[EVENT]
    measures = stream.times if rules.measure == BY_TIME else stream.times[:0]
    span, first, known, oldest = rules.span, at[ALIVE], NOTHING, 0
    is_far = stacks.heads.shape[0] >= MANY * last  # few keys stay in the cache
    at[OFFSET] = stream.position - stream.row
    while begin < behind:
        count = min(PIECE, behind - begin)
        row = stream.row + begin
        first, known, oldest = moved_on(measures, span, cells, at[COUNT], row, first, known, oldest)
        at[ALIVE], at[EVENT] = first, begin
        if at[COUNT] - first + count > cells.shape[0]:
            return NO_LINE
        read_codes(stream, begin, count, last, room)
        for place in range(count):
            row, key = stream.row + begin + place, room[CODE + place]
            if is_far:
                fetch_tops(stream, stacks, begin, place, count, last, room)
            takes = int(stream.takes[begin + place])
            if takes == 0:
                continue
            level = low_bit(takes)
            if stream.ties.shape[0] > 0:
                begin_group(stream, stacks, row, first)
            if level > 0:
                first, known, oldest = moved_on(
                    measures, span, cells, at[COUNT], row, first, known, oldest
                )
            if level < last:
                take_event(rules, stream, stacks, row, key, level, first)
                continue
            why = complete(rules, stacks, output, room, row, key, first)
            if why != DONE:
                at[ALIVE], at[EVENT] = first, begin + place
                return why
        begin += count
    at[ALIVE], at[EVENT] = first, behind
    return DONE
