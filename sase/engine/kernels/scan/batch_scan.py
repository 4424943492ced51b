"""Scan and construction over whole loaded events with many keys, by stacks of rows.

The stacks of a stream hold times and are rings by level, since a stream never ends. Here all events
are in memory until the end. So one ring of small cells holds the instances of all levels, numbered
in the order of the events, and a key has 4 bytes a level.

    row       7   9  12  15         Two numbers bound the window for some events: `low` and `sure`.
    number    0   1   2   3         Only an instance between them, of which there are few, is in
              a   b   a   b         the window of an event if its measure is

A head is the number of the top of a stack plus one, or 0. A cell has the row of an instance, the
number of the instance below, that of the instance before it (RIP), and REACH: the number of the
latest first event of a sequence through the instance.

Simultaneous events never follow each other. So all events of a group of simultaneous ones read the
heads before any of them is pushed. Each event of a negative component takes a number, too. FLOOR of
an instance is the least number that the instance before it may have. For an instance of the first
level it is the number of the last event that forbids a start, plus one, and the window must not
reach that event.
"""

from __future__ import annotations

from typing import NamedTuple

from sase.engine.kernels.jit.compiler import inlined, kernel
from sase.engine.kernels.jit.intrinsics import prefetch, top_bit
from sase.engine.kernels.jit.signatures import Ints, OutInt32Rows, OutIntRows, OutInts, OutInts32
from sase.engine.kernels.scan.admission import PLACE, STATE
from sase.engine.kernels.scan.fused_scan import (
    ADDRESS,
    FORM,
    KEY,
    NOTHING_LACKS,
    TYPES,
    ScanInput,
    admit_types,
    encode_keys,
    write_states,
)
from sase.engine.kernels.sentinels import LATEST, window_start

# The fields of a cell, and of a final event: its row, the instance before it, and its FLOOR.
ROW, BELOW, RIP, REACH = range(4)
BEFORE, FLOOR = 1, 2
FIELDS = 4
# Counters: numbers given, the bounds `low` and `sure` of the windows of a step, its final events,
# those walked, and the level of the walk that is under way, or FRESH.
COUNT, ALIVE, SURE, FINALS, WALKED, LEVEL = range(6)
FRESH = -1
# Rows of `counts`, by level: instances that were pushed, dropped, and visited by walks.
PUSHED, DROPPED, VISITED = range(3)
# By how many events the fetching of heads is ahead.
AHEAD = 32
# The instances that a bound of the window passes at a time, at most.
STRIDE = 64
# The next group of simultaneous events is larger than the room.
GROUP = -2


class BatchStacks(NamedTuple):
    """The stacks of all keys, and the walk through them.

    `origins` are the key and the level of each number of a group of simultaneous events.
    """

    cells: OutInt32Rows
    heads: OutInt32Rows
    finals: OutInt32Rows
    origins: OutInt32Rows
    at: OutInts
    choices: OutInts
    counts: OutIntRows


class BatchAbsences(NamedTuple):
    """Negative components: the level behind each gap, the bit in a state, the last events by key.

    An event is noted in `last` by the FLOOR that it sets. `floors` are those of the instances.
    """

    gaps: Ints
    bits: Ints
    last: OutInt32Rows
    floors: OutInts32


class BatchRange(NamedTuple):
    """The rows to scan, the position of the first one, and the window.

    `measures` are the times, or no numbers if the window counts events. Levels from `ends` on may
    be last; such an instance is its own BEFORE.
    """

    begin: int
    end: int
    position: int
    span: int
    measures: Ints
    ends: int


class NumberWindow(NamedTuple):
    """The window of the event of a row: `measures` are the times, or none if it counts events.

    All instances before the number `low` are out of it, and none from the number `sure` on.
    """

    measures: Ints
    span: int
    row: int
    low: int
    sure: int


# ---------------------------------------------------------------- windows


@inlined
def is_out(cells: OutInt32Rows, window: NumberWindow, number: int) -> bool:
    """Whether an instance is out of a window, by its measure."""
    row = cells[number & (cells.shape[0] - 1), ROW]
    if window.measures.shape[0] == 0:
        return bool(row < window_start(window.row, window.span))
    start = window_start(window.measures[window.row], window.span)
    return bool(window.measures[row] < start)


@inlined
def is_in(cells: OutInt32Rows, window: NumberWindow, number: int) -> bool:
    """Whether an instance, or `NOTHING`, is in a window."""
    if number >= window.sure:
        return True
    return bool(number >= window.low and not is_out(cells, window, number))


@inlined
def first_in(cells: OutInt32Rows, window: NumberWindow, number: int, behind: int) -> int:
    """Return the first number in a window from one on, or `behind`."""
    stride = STRIDE
    while stride > 0:
        while number + stride <= behind and is_out(cells, window, number + stride - 1):
            number += stride
        stride //= 8
    return number


@inlined
def window_of_events(
    cells: OutInt32Rows, at: OutInts, measures: Ints, span: int, row: int, count: int
) -> NumberWindow:
    """Return the window of events from a row on, of which there are `count`; move `ALIVE` on."""
    behind = at[COUNT]
    last = NumberWindow(measures, span, row + count - 1, 0, 0)
    low = first_in(cells, NumberWindow(measures, span, row, 0, 0), at[ALIVE], behind)
    sure = first_in(cells, last, low, behind)
    at[ALIVE] = low
    return NumberWindow(measures, span, row, low, sure if sure < behind else LATEST)


# ---------------------------------------------------------------- the scan


@inlined
def add(stacks: BatchStacks, number: int, row: int, before: int, reach: int) -> None:
    """Write the cell of a number, which is on no stack yet."""
    cell = stacks.cells[number & (stacks.cells.shape[0] - 1)]
    cell[ROW], cell[BELOW], cell[RIP], cell[REACH] = row, -1, before, reach


@inlined
def put_on_stack(stacks: BatchStacks, number: int, key: int, level: int) -> None:
    """Make an instance the top of its stack."""
    stacks.cells[number & (stacks.cells.shape[0] - 1), BELOW] = stacks.heads[key, level] - 1
    stacks.heads[key, level] = number + 1


@inlined
def floor_of(absences: BatchAbsences | None, key: int, level: int) -> int:
    """The FLOOR of an instance of a level."""
    floor = 0
    if absences is not None:
        for each in range(absences.gaps.shape[0]):
            if absences.gaps[each] == level:
                floor = max(floor, absences.last[key, each])
    return floor


@inlined
def try_level(
    stacks: BatchStacks, absences: BatchAbsences | None, window: NumberWindow, key: int, level: int,
    ends: int,
) -> bool:  # fmt: skip
    """Add an instance or a final event if a sequence leads up to it; return whether it is added."""
    cells, at, last = stacks.cells, stacks.at, stacks.counts.shape[1] - 1
    number, row = at[COUNT], window.row
    before, reach, floor = -1, number, floor_of(absences, key, level)
    if level > 0:
        before = stacks.heads[key, level - 1] - 1
        reach = before
        if level > 1 and before >= window.low:
            reach = cells[before & (cells.shape[0] - 1), REACH]
        if before < floor or not is_in(cells, window, reach):
            stacks.counts[DROPPED, level] += 1
            return False
    stacks.counts[PUSHED, level] += 1
    if level >= ends:
        final = stacks.finals[at[FINALS]]
        final[ROW], final[BEFORE], final[FLOOR] = row, before, floor
        at[FINALS] += 1
        if level == last:
            return False
        final[BEFORE] = number
    add(stacks, number, row, before, reach)
    if absences is not None:
        absences.floors[number & (cells.shape[0] - 1)] = floor
    at[COUNT] = number + 1
    return True


@inlined
def push_apart(
    sought: BatchRange, stacks: BatchStacks, step: NumberWindow, events: int, room: OutIntRows
) -> None:
    """Push the events of a step, of which no two are simultaneous."""
    at, heads, width = stacks.at, stacks.heads, stacks.heads.shape[1]
    every = (1 << stacks.counts.shape[1]) - 1
    alone = 1 if sought.ends > 0 else every + 1  # the state of a first event, as most are
    for i in range(events):
        prefetch(heads, room[KEY, min(i + AHEAD, events - 1)] * width)
        row, key, left = step.row + room[PLACE, i], room[KEY, i], room[STATE, i] & every
        if left == alone:
            number = at[COUNT]
            add(stacks, number, row, -1, number)
            put_on_stack(stacks, number, key, 0)
            at[COUNT] = number + 1
            stacks.counts[PUSHED, 0] += 1
            continue
        window = NumberWindow(step.measures, step.span, row, step.low, step.sure)
        while left != 0:  # from the last level down, since an event never follows itself
            level = top_bit(left)
            left ^= 1 << level
            if try_level(stacks, None, window, key, level, sought.ends):
                put_on_stack(stacks, at[COUNT] - 1, key, level)


@inlined
def push_groups(
    sought: BatchRange, stacks: BatchStacks, absences: BatchAbsences | None, ties: Ints,
    step: NumberWindow, events: int, room: OutIntRows,
) -> None:  # fmt: skip
    """Push the events of a step, group by group of simultaneous ones."""
    at, heads, origins, begin = stacks.at, stacks.heads, stacks.origins, step.row
    levels, width = stacks.counts.shape[1], heads.shape[1]
    i = 0
    while i < events:
        group = at[COUNT]
        begun = i
        while i < events:
            row, key, left = begin + room[PLACE, i], room[KEY, i], room[STATE, i]
            if i > begun and (ties.shape[0] == 0 or ties[row] != ties[begin + room[PLACE, begun]]):
                break
            prefetch(heads, room[KEY, min(i + AHEAD, events - 1)] * width)
            window = NumberWindow(step.measures, step.span, row, step.low, step.sure)
            for level in range(levels):
                if (left >> level) & 1 and try_level(
                    stacks, absences, window, key, level, sought.ends
                ):
                    origin = origins[at[COUNT] - 1 - group]
                    origin[0], origin[1] = key, level
            if absences is not None:
                for each in range(absences.gaps.shape[0]):
                    if (left >> absences.bits[each]) & 1:
                        number = at[COUNT]
                        add(stacks, number, row, -1, number)
                        origin = origins[number - group]
                        origin[0], origin[1] = key, levels + each
                        at[COUNT] = number + 1
            i += 1
        for number in range(group, at[COUNT]):
            key, level = origins[number - group, 0], origins[number - group, 1]
            if level < levels:
                put_on_stack(stacks, number, key, level)
            elif absences is not None:
                each = level - levels
                absences.last[key, each] = number + 1 if absences.gaps[each] == 0 else group


@inlined
def floor_above(stacks: BatchStacks, absences: BatchAbsences | None, level: int) -> int:
    """The FLOOR of the choice, or final event, above a level."""
    floor, last = 0, stacks.counts.shape[1] - 1
    if absences is not None:
        if level == last - 1:
            floor = stacks.finals[stacks.at[WALKED], FLOOR]
        else:
            floor = absences.floors[stacks.choices[level + 1] & (stacks.cells.shape[0] - 1)]
    return floor


@inlined
def window_of_final(sought: BatchRange, at: OutInts, row: int) -> NumberWindow:
    """Return the window of a final event."""
    return NumberWindow(sought.measures, sought.span, row, at[ALIVE], at[SURE])


@inlined
def write_firsts(
    stacks: BatchStacks, absences: BatchAbsences | None, window: NumberWindow, position: int,
    out: OutIntRows, written: int,
) -> tuple[int, bool]:  # fmt: skip
    """Write the sequences with all first events; return the new count, and whether all are written.

    The events of the other levels are chosen.
    """
    cells, choices, last = stacks.cells, stacks.choices, stacks.counts.shape[1] - 1
    mask, room, begin = cells.shape[0] - 1, out.shape[1], written
    floor, choice = floor_above(stacks, absences, 0), choices[0]
    is_more = choice >= floor and is_in(cells, window, choice)
    while is_more and written < room:
        cell = cells[choice & mask]
        out[0, written] = position + cell[ROW]
        stacks.counts[VISITED, 0] += 1
        if absences is None or not is_in(cells, window, absences.floors[choice & mask] - 1):
            written += 1
        choice = cell[BELOW]
        is_more = choice >= floor and is_in(cells, window, choice)
    for level in range(1, last + 1):
        row = window.row if level == last else cells[choices[level] & mask, ROW]
        for place in range(begin, written):
            out[level, place] = position + row
    choices[0] = choice
    return written, not is_more


@inlined
def walk_finals(
    sought: BatchRange, stacks: BatchStacks, absences: BatchAbsences | None, out: OutIntRows,
    written: int,
) -> int:  # fmt: skip
    """Write the sequences that end in the final events, until there is no room."""
    cells, at, choices, last = stacks.cells, stacks.at, stacks.choices, stacks.counts.shape[1] - 1
    mask, room = cells.shape[0] - 1, out.shape[1]
    while at[WALKED] < at[FINALS] and written < room:
        final, level = stacks.finals[at[WALKED]], at[LEVEL]
        window = window_of_final(sought, at, final[ROW])
        if level == FRESH:
            level = last - 1
            choices[level] = final[BEFORE]
        while level < last and written < room:
            choice = choices[level]
            ends = level > 0 and (
                choice < max(window.low, floor_above(stacks, absences, level))
                or not is_in(cells, window, cells[choice & mask, REACH])
            )
            if level == 0:
                written, ends = write_firsts(
                    stacks, absences, window, sought.position, out, written
                )
            if ends:
                level += 1
                choices[level] = cells[choices[level] & mask, BELOW]
            elif level > 0:
                stacks.counts[VISITED, level] += 1
                level -= 1
                choices[level] = cells[choice & mask, RIP]
        at[LEVEL] = level
        if level == last:
            at[WALKED] += 1
            at[LEVEL] = FRESH
    return written


@inlined
def whole_groups(ties: Ints, begin: int, length: int) -> int:
    """How many of some events there are up to the end of the last whole group."""
    while length > 0 and begin + length < ties.shape[0]:
        if ties[begin + length - 1] != ties[begin + length]:
            break
        length -= 1
    return length


@inlined
def push_step(
    reading: ScanInput, sought: BatchRange, stacks: BatchStacks, absences: BatchAbsences | None,
    begin: int, room: OutIntRows,
) -> tuple[int, int, int]:  # fmt: skip
    """Push the events of a step: its length, how many are admitted, and the room that lacks."""
    size, types, at, ties = room.shape[1] - 1, reading.columns[TYPES], stacks.at, reading.ties
    most = stacks.counts.shape[1]  # numbers that an event takes
    if absences is not None:
        most += absences.gaps.shape[0]
    length = whole_groups(ties, begin, min(size, sought.end - begin))
    if length == 0:
        return 0, 0, GROUP
    # Instances out of the window of the next event need no place.
    step = window_of_events(stacks.cells, at, sought.measures, sought.span, begin, length)
    at[SURE] = step.sure
    address = types[ADDRESS] + (begin << (types[FORM] >> 1))
    count = admit_types(address, types[FORM], reading.states, room, length)
    if at[COUNT] - at[ALIVE] + count * most > stacks.cells.shape[0]:
        return 0, 0, count * most
    encode_keys(reading, begin, count, room)
    write_states(reading, begin, count, room)
    at[FINALS] = at[WALKED] = 0
    if absences is None and ties.shape[0] == 0:
        push_apart(sought, stacks, step, count, room)
    else:
        push_groups(sought, stacks, absences, ties, step, count, room)
    return length, count, NOTHING_LACKS


def _batch_scan(
    reading: ScanInput, sought: BatchRange, stacks: BatchStacks, absences: BatchAbsences | None,
    room: OutIntRows, out: OutIntRows,
) -> tuple[int, int, int, int]:  # fmt: skip
    """Push events onto the stacks, and write the sequences that they complete: a `ScanResult`.

    The number of places that lack is positive. All keys have codes.
    """
    begin, total, written, lacks = sought.begin, 0, 0, NOTHING_LACKS
    while lacks == NOTHING_LACKS:
        written = walk_finals(sought, stacks, absences, out, written)
        if begin == sought.end or written == out.shape[1]:
            break
        length, count, lacks = push_step(reading, sought, stacks, absences, begin, room)
        begin, total = begin + length, total + count
    return int(begin), int(total), int(written), int(lacks)


batch_scan = kernel(_batch_scan, absent=["absences"])
batch_scan_between = kernel(_batch_scan)
