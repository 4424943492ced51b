"""From events in memory to the sequences that they complete, in one step.

For plans that ask nothing of an event but its type and its key. Events come as columns of numbers
of any width, by their addresses. A few thousand are gone through at a time, by the same scan and
the same construction as apart from each other: so much of what is between them stays in the cache.
"""

from __future__ import annotations

from typing import NamedTuple

from sase.engine.kernels.expressions.checks import Tally
from sase.engine.kernels.jit.arrow_memory import between, number
from sase.engine.kernels.jit.compiler import inlined, kernel, linked
from sase.engine.kernels.jit.intrinsics import LANES, NO_CLOCK, low_bit, nanoseconds
from sase.engine.kernels.jit.signatures import Ints, OutIntRows, OutInts
from sase.engine.kernels.scan.admission import PLACE, STATE, TIME
from sase.engine.kernels.scan.construction import Walk, construct_at, construct_tallied_at
from sase.engine.kernels.scan.key_hash import excess
from sase.engine.kernels.scan.stacks import (
    COUNT,
    TAIL,
    Absences,
    Arrivals,
    Stacks,
    evicted,
    scan_at,
    scan_between_at,
)
from sase.engine.kernels.window import window_start

# What is written of each event besides its place, state and time.
KEY, TIE = 3, 4
ROWS = 5
# The columns: times, types, and the numbers of keys. Of each its form and address.
TIMES, TYPES, KEYS = range(3)
FORM, ADDRESS = range(2)
# What is lacking for going on, where it is not room for some number of events.
NOTHING_LACKS, CODES = 0, -1
# Ranges are sought of types of at most two bytes, of so many codes; so many are too many.
MOST_FORM, MOST_CODES, TOO_MANY = 3, 1 << 10, 4
# Of which parts nanoseconds are counted, and behind them up to when.
FRONT, SCAN, CONSTRUCTION, SINCE = range(4)


class Span(NamedTuple):
    """The rows that are to be swept; the position of the first of all, and its tie.

    The window spans `span` of what is written to the row `measure`. Before the first row what is
    before a `bound` can go.
    """

    begin: int
    end: int
    position: int
    tie: int
    measure: int
    span: int
    bound: int


class Calls(NamedTuple):
    """The addresses of the kernels of scan and of construction, which are called and not linked."""

    scan: int
    construct: int


class Reading(NamedTuple):
    """How events are read.

    `states` is by the code of a type plus one; of the numbers of keys `digits` make codes; `ties`
    are the ranks of order keys, or nothing where each event has its own.
    """

    columns: OutIntRows
    states: Ints
    digits: OutIntRows
    ties: Ints


class Ranges(NamedTuple):
    """Codes from the first to the last of up to three ranges, and how many ranges there are."""

    known: int
    least: int
    most: int
    other: int
    end: int
    third: int
    last: int


class Counting(NamedTuple):
    """What is counted for ANALYZE: choices that were ended, instances alive, and nanoseconds.

    Without a `clock` there are none of these.
    """

    tally: Tally
    alive: OutInts
    spent: OutInts
    clock: int


class Swept(NamedTuple):
    """The row that was reached, the events admitted and the sequences written, and what lacks."""

    reached: int
    admitted: int
    written: int
    lacks: int


@inlined
def ranges_of(states: Ints, form: int) -> Ranges:
    """The ranges of codes that have a state, as far as types of a form can have them."""
    known = least = most = other = end = third = last = 0
    if form > MOST_FORM or states.shape[0] > MOST_CODES:
        return Ranges(TOO_MANY, least, most, other, end, third, last)
    is_signed = 1 - (form & 1)
    above = 1 << ((8 << (form >> 1)) - is_signed)
    for code in range(-is_signed, min(states.shape[0] - 1, above)):
        if states[code + 1] != 0:
            if known == 0 or code > most + 1:
                known += 1
                third, last, other, end, least = other, end, least, most, code
            most = code
    return Ranges(known, least, most, other, end, third, last)


@inlined
def admitted(types: int, form: int, states: Ints, room: OutIntRows, size: int) -> int:
    """Write the places of the events whose type has a state; how many they are.

    Of most types there are ranges: many events are looked at side by side, and only those that
    have a state one by one. Else every event is written and most are overwritten: there must be
    room for one more.
    """
    count = done = 0
    ranges = ranges_of(states, form)
    if ranges.known < TOO_MANY:
        done = size - size % LANES
        for first in range(0, done, LANES):
            address, bits = types + (first << (form >> 1)), 0
            if ranges.known > 0:
                bits = between(address, form, ranges.least, ranges.most)
            if ranges.known > 1:
                bits |= between(address, form, ranges.other, ranges.end)
            if ranges.known > 2:
                bits |= between(address, form, ranges.third, ranges.last)
            while bits != 0:
                room[PLACE, count] = first + low_bit(bits)
                bits &= bits - 1
                count += 1
    for place in range(done, size):
        room[PLACE, count] = place
        count += states[number(types, form, place) + 1] != 0
    return count


@inlined
def coded(reading: Reading, begin: int, count: int, room: OutIntRows) -> bool:
    """Write the codes of the keys of events; false if one of these has none."""
    columns, digits, beyond = reading.columns, reading.digits, 0
    for place in range(count):
        room[KEY, place] = 0
    for row in range(columns.shape[0] - KEYS):
        if row == digits.shape[0]:  # nothing is known of keys yet
            return count == 0
        form, address = columns[KEYS + row, FORM], columns[KEYS + row, ADDRESS]
        least, bits, shift = digits[row, 0], digits[row, 1], digits[row, 2]
        address += begin << (form >> 1)
        for place in range(count):
            key = number(address, form, room[PLACE, place])
            beyond |= excess(key, least, bits)
            room[KEY, place] |= (key - least) << shift
    return beyond == 0


@inlined
def described(reading: Reading, sought: Span, begin: int, count: int, room: OutIntRows) -> None:
    """Write what else the stacks want to know of events, and their positions for their places."""
    columns, states, ties = reading.columns, reading.states, reading.ties
    form, address = columns[TIMES, FORM], columns[TIMES, ADDRESS]
    address += begin << (form >> 1)
    for place in range(count):
        room[TIME, place] = number(address, form, room[PLACE, place])
    form, address = columns[TYPES, FORM], columns[TYPES, ADDRESS]
    address += begin << (form >> 1)
    for place in range(count):
        room[STATE, place] = states[number(address, form, room[PLACE, place]) + 1]
    position, tie = sought.position + begin, sought.tie
    if ties.shape[0] > 0:
        for place in range(count):
            room[TIE, place] = tie + ties[begin + room[PLACE, place]]
    else:
        for place in range(count):
            room[TIE, place] = tie + begin + room[PLACE, place]
    for place in range(count):
        room[PLACE, place] += position


@linked
def bound_before(reading: Reading, sought: Span, row: int) -> int:
    """What instances are before that no event from a row on can reach."""
    if row == 0:
        return sought.bound
    if sought.measure == PLACE:
        return window_start(sought.position + row, sought.span)
    times = reading.columns[TIMES]
    return window_start(number(times[ADDRESS], times[FORM], row - 1), sought.span)


@linked
def free_places(stacks: Stacks) -> int:
    """How many more events every level can take for certain."""
    most = 0
    for level in range(stacks.cells.shape[0]):
        most = max(most, stacks.ends[COUNT, level] - stacks.ends[TAIL, level])
    return int(stacks.cells.shape[1] - most)


@linked
def note_time(counting: Counting, which: int) -> None:
    """Count the time since the last note for a part."""
    if counting.clock != NO_CLOCK:
        now = nanoseconds(counting.clock)
        counting.spent[which] += now - counting.spent[SINCE]
        counting.spent[SINCE] = now


@linked
def note_alive(counting: Counting, stacks: Stacks) -> None:
    """Remember the most instances there ever were."""
    for level in range(stacks.cells.shape[0]):
        alive = stacks.ends[COUNT, level] - stacks.ends[TAIL, level]
        counting.alive[level] = max(counting.alive[level], alive)


def _swept(
    reading: Reading, sought: Span, calls: Calls, stacks: Stacks, absences: Absences | None,
    walk: Walk, counting: Counting | None, room: OutIntRows, out: OutIntRows,
) -> tuple[int, int, int, int]:  # fmt: skip
    """Push events onto the stacks, and write what they complete after what was completed before.

    Given back is what makes a `Swept`: where `out` is full nothing lacks for going on.
    """
    begin, total, written, lacks = sought.begin, 0, 0, NOTHING_LACKS
    size, types = room.shape[1] - 1, reading.columns[TYPES]
    if counting is not None and counting.clock != NO_CLOCK:
        counting.spent[SINCE] = nanoseconds(counting.clock)
    while True:
        if counting is None:
            written = construct_at(calls.construct, stacks, walk, None, None, out, written)
        else:
            written = construct_tallied_at(
                calls.construct, stacks, walk, None, counting.tally, out, written
            )
            note_time(counting, CONSTRUCTION)
        if begin == sought.end or written == out.shape[1]:
            break
        length = min(size, sought.end - begin)
        address = types[ADDRESS] + (begin << (types[FORM] >> 1))
        count = admitted(address, types[FORM], reading.states, room, length)
        if not coded(reading, begin, count, room):
            lacks = CODES
            break
        described(reading, sought, begin, count, room)
        if counting is not None:
            note_time(counting, FRONT)
        if counting is not None or count > free_places(stacks):
            evicted(stacks, bound_before(reading, sought, begin))
            if count > free_places(stacks):
                lacks = count
                break
        arrivals = Arrivals(
            room[PLACE, :count], room[STATE, :count], room[KEY, :count],
            room[sought.measure, :count], room[TIE, :count],
        )  # fmt: skip
        if absences is None:
            scan_at(calls.scan, arrivals, stacks, None, sought.span)
        else:
            scan_between_at(calls.scan, arrivals, stacks, absences, sought.span)
        if counting is not None:
            note_time(counting, SCAN)
            note_alive(counting, stacks)
        begin, total = begin + length, total + count
    return int(begin), int(total), int(written), int(lacks)


swept = inlined(_swept)
sweep = kernel(_swept, absent=["absences", "counting"])
sweep_between = kernel(_swept, absent=["counting"])
sweep_counted = kernel(_swept, absent=["absences"])
sweep_between_counted = kernel(_swept)
