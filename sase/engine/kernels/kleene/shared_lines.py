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
levels, numbered in the order of the events. REACH is the number of the latest first event of any
line through the instance. It never grows on the way down. So a walk stops at the first REACH before
the window.

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
    PIECE,
    READ,
    LineStream,
    read_codes,
)
from sase.engine.kernels.kleene.line_store import NO_EXTENT, NO_LINE, LineMatches, LineRules
from sase.engine.kernels.kleene.run_nodes import DONE, FULL
from sase.engine.kernels.scan.batch_scan import (
    AHEAD,
    BELOW,
    COUNT,
    REACH,
    RIP,
    ROW,
    NumberWindow,
    is_in,
    window_of_events,
)
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
    stacks: LineStacks, output: LineMatches, room: OutInts, depth: int, rip: int,
    window: NumberWindow, behind: int, last: int, event: int, size: int,
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
        if is_in(stacks.cells, window, number) and (level < depth - 1 or number > behind):
            cell = cells[number & mask]
            if is_in(stacks.cells, window, cell[REACH]):
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
    rules: LineRules, stacks: LineStacks, output: LineMatches, room: OutInts, top: int,
    window: NumberWindow, behind: int, event: int,
) -> bool:  # fmt: skip
    """Write the matches of lines that were put off, down to a number, and put off the others."""
    series, most = stacks.series, stacks.series.shape[0] - BLOCK
    size = series[top + SIZE]
    series[most - size] = series[top + OF_SERIES]
    is_written = write_taken(
        stacks, output, room, rules.series, series[top + NEXT], window, behind, rules.levels - 1,
        event, size,
    )  # fmt: skip
    series[top + NEXT] = room[CHOICE + rules.series - 1]
    return is_written


@inlined
def write_series(
    rules: LineRules, stacks: LineStacks, output: LineMatches, room: OutInts, key: int,
    window: NumberWindow, event: int,
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
    while is_in(stacks.cells, window, number):
        cell = cells[number & mask]
        if not is_in(stacks.cells, window, cell[REACH]):
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
                stacks, output, room, level, rip, window, behind, last, event, size + 1
            ):
                return FULL
            if level > 0 and not is_alone and is_in(stacks.cells, window, room[CHOICE + level - 1]):
                series[top + NEXT] = room[CHOICE + level - 1]
                series[top + OF_SERIES] = series[most - size - 1]
                series[top + SIZE] = size + 1
                top += PUT_OFF
        if not is_alone:
            size += 1
        elif (
            top > 0
            and series[top - PUT_OFF + SIZE] == size
            and not write_put_off(rules, stacks, output, room, top - PUT_OFF, window, below, event)
        ):
            return FULL
        number = below
    while top > 0:
        top -= PUT_OFF
        if not write_put_off(rules, stacks, output, room, top, window, NOTHING, event):
            return FULL
    return DONE


@inlined
def complete(
    rules: LineRules, stacks: LineStacks, output: LineMatches, room: OutInts, key: int,
    window: NumberWindow,
) -> int:  # fmt: skip
    """Write the matches that an event of the last level completes, or none if there is no room."""
    matches, events, why = output.sizes[0], output.sizes[1], DONE
    level, event = rules.levels - 2, stacks.at[OFFSET] + window.row
    if rules.series < rules.levels:
        why = write_series(rules, stacks, output, room, key, window, event)
    else:
        rip = stacks.heads[key + level] - 1
        if not is_in(stacks.cells, window, reach_of(rules, stacks, rip, level)):
            return DONE
        if write_taken(stacks, output, room, level + 1, rip, window, NOTHING, level + 1, event, 0):
            stacks.heads[key + level] = 0
        else:
            why = FULL
    if why != DONE:
        output.sizes[0], output.sizes[1] = matches, events
    return why


# ---------------------------------------------------------------- the scan


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
def take_event(
    rules: LineRules, stacks: LineStacks, window: NumberWindow, key: int, level: int, begins: bool,
    has_ties: bool,
) -> None:  # fmt: skip
    """Let an event take all lines that wait for it, begin a line, or continue a series."""
    heads, stack, is_in_series = stacks.heads, key + level, level == rules.series
    rip, reach = NOTHING, stacks.at[COUNT]
    if begins or not is_in_series:
        if level == 0:
            rip = FIRST
        else:
            waiting = heads[stack - 1] - 1
            if waiting >= window.low:
                reach = reach_of(rules, stacks, waiting, level - 1)
                if is_in(stacks.cells, window, reach):
                    rip, heads[stack - 1] = waiting, 0
    if is_in_series:
        top = heads[stack] - 1
        is_tied = top >= stacks.at[GROUP]
        if rip != NOTHING:
            rip = ALONE - rip if is_tied else rip
        else:  # the event continues the lines of the stack
            if is_tied or top < window.low:
                return
            reach = int(stacks.cells[top & (stacks.cells.shape[0] - 1), REACH])
            if not is_in(stacks.cells, window, reach):
                return
    elif rip == NOTHING:
        return
    push_instance(stacks, stack, window.row, rip, reach, has_ties and not is_in_series)


@inlined
def count_begun(stream: LineStream, stacks: LineStacks, begin: int, behind: int) -> None:
    """Count the lines that events begin."""
    lines = 0
    for place in range(begin, behind):
        lines += stream.begins[place] & 1
    stacks.at[BEGUN] += lines


@kernel
def fused_shared_lines(
    rules: LineRules, stream: LineStream, stacks: LineStacks, output: LineMatches, room: OutInts,
    behind: int,
) -> int:  # fmt: skip
    """Apply events of columns from where the last call stopped; write the completed matches."""
    heads, at, last, begin = stacks.heads, stacks.at, rules.levels - 1, stacks.at[EVENT]
    measures = stream.times if rules.measure == BY_TIME else stream.times[:0]
    has_ties = stream.ties.shape[0] > 0
    is_plain = rules.series != 0 and not has_ties
    at[OFFSET] = stream.position - stream.row
    while begin < behind:
        count = min(PIECE, behind - begin)
        piece = window_of_events(stacks.cells, at, measures, rules.span, stream.row + begin, count)
        at[EVENT] = begin
        if at[COUNT] - piece.low + count > stacks.cells.shape[0]:
            return NO_LINE
        read_codes(stream, begin, count, last, room)
        for place in range(AHEAD):
            prefetch(heads, room[CODE + place])
        for place in range(count):
            row, key = piece.row + place, room[CODE + place]
            takes = int(stream.takes[begin + place])
            prefetch(heads, room[CODE + place + AHEAD])
            if takes == 1 and is_plain:  # a first event, as most are
                push_instance(stacks, key, row, FIRST, at[COUNT], False)
                continue
            if takes == 0:
                continue
            level = low_bit(takes)
            window = NumberWindow(measures, rules.span, row, piece.low, piece.sure)
            if has_ties:
                begin_group(stream, stacks, row, piece.low)
            if level < last:
                begins = (stream.begins[begin + place] >> level) & 1 == 1
                take_event(rules, stacks, window, key, level, begins, has_ties)
            elif heads[key + last - 1] > piece.low:
                why = complete(rules, stacks, output, room, key, window)
                if why != DONE:
                    count_begun(stream, stacks, begin, begin + place)
                    at[EVENT] = begin + place
                    return why
        count_begun(stream, stacks, begin, begin + count)
        begin += count
    at[EVENT] = behind
    return DONE
