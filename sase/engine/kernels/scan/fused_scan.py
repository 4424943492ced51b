"""Fused scan and construction over columns in memory, or over a pushed Arrow batch.

For plans that read only the type and the key of an event. Columns are numbers of any width, read by
address. A few thousand events at a time pass through the kernels of scan and construction that
separate operators use, so that the intermediate arrays stay in the cache.
"""

# long because: it is one loop over columns, of a table or of a pushed batch

from __future__ import annotations

from typing import NamedTuple

from sase.engine.kernels.expressions.checks import Tally
from sase.engine.kernels.jit.arrow_memory import (
    CHILD_COUNT,
    CHILDREN,
    DICTIONARY,
    LENGTH,
    NOWHERE,
    OFFSET,
    between,
    field,
    is_same,
    is_whole,
    number,
    numbers_at,
)
from sase.engine.kernels.jit.compiler import inlined, kernel, linked, tuple_at
from sase.engine.kernels.jit.intrinsics import LANES, NO_CLOCK, low_bit, nanoseconds
from sase.engine.kernels.jit.linking import store_at
from sase.engine.kernels.jit.signatures import Ints, OutIntRows, OutInts
from sase.engine.kernels.scan.admission import PLACE, STATE, TIME
from sase.engine.kernels.scan.construction import Walk, construct_at, construct_tallied_at
from sase.engine.kernels.scan.key_hash import excess
from sase.engine.kernels.scan.stacks import (
    COUNT,
    DROPPED,
    HEAD,
    LATEST_START,
    MASK,
    TAG_AT,
    TAIL,
    Absences,
    Arrivals,
    StackArrays,
    evicted,
    fetch_heads,
    pass_dead,
    scan_at,
    scan_between_at,
)
from sase.engine.kernels.sentinels import window_start

# Rows of `room` behind place, state and time.
KEY, TIE = 3, 4
ROWS = 5
# Rows of `columns`: times, types, then each key attribute; of each column its form and address.
TIMES, TYPES, KEYS = range(3)
FORM, ADDRESS = range(2)
# Why a scan stopped, if negative or 0: nothing lacks; a key is out of the range of the codes. A
# positive number is the number of events that lack room.
NOTHING_LACKS, CODES = 0, -1
# Types are compared as ranges of codes if they have at most two bytes (form 3), at most MOST_CODES
# codes, and fewer than TOO_MANY ranges.
MOST_FORM, MOST_CODES, TOO_MANY = 3, 1 << 10, 4
# The batch needs the general path.
OTHER = CODES
# Rows of `alive`, by level: the most instances alive at a time, and the first one alive.
MOST_ALIVE, ALIVE_FROM = range(2)
# Columns of `spent`: nanoseconds by part, and the time of the last note.
ADMISSION, SCAN, CONSTRUCTION, SINCE = range(4)


class ScanRange(NamedTuple):
    """The rows to scan, and the position and tie of the first event of the input.

    `measure` is the row of `room` that the window measures, `span` its length. Instances below
    `bound` are evictable. Event numbers carry a tag of `tagged` bits, which the state holds from
    `TAG_AT` on.
    """

    begin: int
    end: int
    position: int
    tie: int
    measure: int
    span: int
    bound: int
    tagged: int


class Calls(NamedTuple):
    """The addresses of the kernels of scan and construction, which are called, not linked."""

    scan: int
    construct: int


class ScanInput(NamedTuple):
    """The columns that are scanned.

    `states` is indexed by the code of a type plus one. `digits` (least, bits, shift) make a code of
    the key numbers. `ties` are the ranks of order keys, or empty if no events are simultaneous.
    """

    columns: OutIntRows
    states: Ints
    digits: OutIntRows
    ties: Ints


class Ranges(NamedTuple):
    """Up to three ranges of codes, first to last, and how many there are."""

    known: int
    least: int
    most: int
    other: int
    end: int
    third: int
    last: int


class Counting(NamedTuple):
    """The counters of ANALYZE: choices ended, instances alive, and nanoseconds by `clock`."""

    tally: Tally
    alive: OutIntRows
    spent: OutInts
    clock: int


class ScanResult(NamedTuple):
    """The row reached, events admitted, sequences written, and a need (`NOTHING_LACKS`, …)."""

    reached: int
    admitted: int
    written: int
    lacks: int


@inlined
def ranges_of(states: Ints, form: int) -> Ranges:
    """Return the ranges of the codes that have a state, within the number form of the types."""
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
def admit_types(types: int, form: int, states: Ints, room: OutIntRows, size: int) -> int:
    """Write the places of the events of types with a state, and one more; return how many."""
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
def encode_keys(reading: ScanInput, begin: int, count: int, room: OutIntRows) -> bool:
    """Write the codes of the events' keys; return false if a key is out of range."""
    columns, digits, beyond = reading.columns, reading.digits, 0
    if columns.shape[0] == KEYS:
        for place in range(count):
            room[KEY, place] = 0
    for row in range(columns.shape[0] - KEYS):
        if row == digits.shape[0]:  # no key seen yet
            return count == 0
        form, address = columns[KEYS + row, FORM], columns[KEYS + row, ADDRESS]
        least, bits, shift = digits[row, 0], digits[row, 1], digits[row, 2]
        address += begin << (form >> 1)
        for place in range(count):
            key = number(address, form, room[PLACE, place])
            beyond |= excess(key, least, bits)
            others = room[KEY, place] if row > 0 else 0
            room[KEY, place] = others | (key - least) << shift
    return beyond == 0


@inlined
def describe(reading: ScanInput, begin: int, count: int, room: OutIntRows) -> None:
    """Write the times and states of the admitted events."""
    form, address = reading.columns[TIMES, FORM], reading.columns[TIMES, ADDRESS]
    address += begin << (form >> 1)
    for place in range(count):
        room[TIME, place] = number(address, form, room[PLACE, place])
    write_states(reading, begin, count, room)


@inlined
def write_states(reading: ScanInput, begin: int, count: int, room: OutIntRows) -> None:
    """Write the states of the admitted events."""
    form, address = reading.columns[TYPES, FORM], reading.columns[TYPES, ADDRESS]
    address += begin << (form >> 1)
    for place in range(count):
        room[STATE, place] = reading.states[number(address, form, room[PLACE, place]) + 1]


@inlined
def sift(sought: ScanRange, stacks: StackArrays, begin: int, count: int, room: OutIntRows) -> int:
    """Keep the events that can follow an instance within the window; return how many.

    The scan itself separates simultaneous events. Selection is branchless, since every second
    branch would be mispredicted; LLVM turns a comparison with a single use into a branch.
    """
    heads, dropped, last = stacks.heads, stacks.ends[DROPPED], stacks.heads.shape[1] // HEAD - 1
    bits = (1 << TAG_AT) - 1 if sought.tagged else -1
    position, kept = sought.position + begin, 0
    for place in range(count):
        row, time = room[PLACE, place], room[TIME, place]
        state, key = room[STATE, place], room[KEY, place]
        measure = position + row if sought.measure == PLACE else time
        every = state & bits
        level, passes = low_bit(every), True
        if every & (every - 1) != 0:  # an event of several levels
            while every != 0:
                level = low_bit(every)
                every &= every - 1
                if level <= last:
                    heads[key, level * HEAD + LATEST_START] = measure
        else:
            before, is_first = heads[key, max(level - 1, 0) * HEAD + LATEST_START], level == 0
            passes = is_first | (before >= window_start(measure, sought.span))
            # If it fails, nothing on the stack is in the window. The last level has no head: the
            # value of the level before is written back.
            heads[key, min(level, last) * HEAD + LATEST_START] = measure if is_first else before
            dropped[level] += not passes
        room[PLACE, kept], room[TIME, kept] = row, time
        room[STATE, kept], room[KEY, kept] = state, key
        kept += passes
    return kept


@inlined
def number_events(
    reading: ScanInput, sought: ScanRange, begin: int, count: int, room: OutIntRows
) -> None:
    """Write the ties of events, and replace their places by event numbers with tags."""
    ties, position, tie = reading.ties, sought.position + begin, sought.tie
    if ties.shape[0] > 0:
        for place in range(count):
            room[TIE, place] = tie + ties[begin + room[PLACE, place]]
    else:
        for place in range(count):
            room[TIE, place] = tie + begin + room[PLACE, place]
    bits, tags = sought.tagged, (1 << sought.tagged) - 1
    for place in range(count):
        event = room[PLACE, place] + position
        room[PLACE, place] = event << bits | room[STATE, place] >> TAG_AT & tags


@linked
def bound_before(reading: ScanInput, sought: ScanRange, row: int) -> int:
    """Return the measure below which no instance can match an event from `row` on."""
    if row == 0:
        return sought.bound
    if sought.measure == PLACE:
        return window_start(sought.position + row, sought.span)
    times = reading.columns[TIMES]
    return window_start(number(times[ADDRESS], times[FORM], row - 1), sought.span)


@linked
def free_places(stacks: StackArrays) -> int:
    """Return for how many more events every level has room."""
    free = stacks.cells.shape[1]
    for level in range(stacks.cells.shape[0]):
        alive = stacks.ends[COUNT, level] - stacks.ends[TAIL, level]
        free = min(free, stacks.ends[MASK, level] + 1 - alive)
    return int(free)


@linked
def note_time(counting: Counting, which: int) -> None:
    """Add the time since the last note to a part."""
    if counting.clock != NO_CLOCK:
        now = nanoseconds(counting.clock)
        counting.spent[which] += now - counting.spent[SINCE]
        counting.spent[SINCE] = now


@linked
def note_alive(counting: Counting, stacks: StackArrays) -> None:
    """Update the greatest number of instances alive at a time, by level."""
    most = counting.alive[MOST_ALIVE]
    for level in range(most.shape[0]):
        alive = stacks.ends[COUNT, level] - counting.alive[ALIVE_FROM, level]
        most[level] = max(most[level], alive)


def _fused_scan(
    reading: ScanInput, sought: ScanRange, calls: Calls, stacks: StackArrays,
    absences: Absences | None, walk: Walk, counting: Counting | None, room: OutIntRows,
    out: OutIntRows,
) -> tuple[int, int, int, int]:  # fmt: skip
    """Push events onto the stacks, and write the sequences that they complete: a `ScanResult`."""
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
        count = admit_types(address, types[FORM], reading.states, room, length)
        if not encode_keys(reading, begin, count, room):
            lacks = CODES
            break
        describe(reading, begin, count, room)
        if counting is not None:
            pass_dead(stacks, counting.alive[ALIVE_FROM], bound_before(reading, sought, begin))
        if count > free_places(stacks):
            evicted(stacks, bound_before(reading, sought, begin))
            if count > free_places(stacks):
                lacks = count
                break
        fetch_heads(stacks, room[KEY], 0, count)
        # With absences the scan counts the events that they forbid, so none is sifted out before.
        kept = sift(sought, stacks, begin, count, room) if absences is None else count
        number_events(reading, sought, begin, kept, room)
        if counting is not None:
            note_time(counting, ADMISSION)
        arrivals = Arrivals(
            room[PLACE, :kept], room[STATE, :kept], room[KEY, :kept],
            room[sought.measure, :kept], room[TIE, :kept],
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


scan_rows = inlined(_fused_scan)
fused_scan = kernel(_fused_scan, absent=["absences", "counting"])
fused_scan_between = kernel(_fused_scan, absent=["counting"])
fused_scan_counted = kernel(_fused_scan, absent=["absences"])
fused_scan_between_counted = kernel(_fused_scan)


# ---------------------------------------------------------------- pushed batches

# The types of the batch use another dictionary.
FOREIGN = -2
# Column of `BatchLayout.columns` behind FORM and ADDRESS: the number of the batch's child.
CHILD = 2


class BatchLayout(NamedTuple):
    """How batches of a schema are read.

    `columns` are the times, the types and the key attributes. `dictionary` is that of the types, as
    `is_same` takes it; `states` is indexed by the index into it plus one. `digits` make codes of
    key numbers. `measure`, `span` and `tagged` are those of `ScanRange`.
    """

    columns: OutIntRows
    dictionary: Ints
    states: Ints
    digits: OutIntRows
    measure: int
    span: int
    tagged: int


class PushState(NamedTuple):
    """The arguments of a push that are the same from one batch to the next."""

    layout: BatchLayout
    calls: Calls
    stacks: StackArrays
    walk: Walk
    room: OutIntRows
    out: OutIntRows


@kernel
def store_state(address: int, state: PushState) -> None:
    """Store the state that `push_batch` loads, since passing many arrays in each call is slow."""
    store_at(address, state)


@kernel
def store_absences(address: int, absences: Absences) -> None:
    """Store the negative components that `push_batch_between` loads."""
    store_at(address, absences)


state_at, absences_at = tuple_at(PushState), tuple_at(Absences)


@kernel
def locate(batch: int, columns: OutIntRows, dictionary: Ints) -> int:
    """Find the columns of an exported batch without reading them; return a need.

    `OTHER` if a column does not begin inside its memory; `FOREIGN` if the types have another
    dictionary.
    """
    arrays = field(batch, CHILDREN)
    for child in range(field(batch, CHILD_COUNT)):
        array = field(arrays, child)
        if field(array, OFFSET) < 0 or field(array, LENGTH) != field(batch, LENGTH):
            return OTHER
    for row in range(columns.shape[0]):
        address = numbers_at(field(arrays, columns[row, CHILD]), columns[row, FORM])
        if address == NOWHERE:
            return OTHER
        columns[row, ADDRESS] = address
    if not is_same(field(field(arrays, columns[TYPES, CHILD]), DICTIONARY), dictionary):
        return FOREIGN
    return NOTHING_LACKS


def _push_batch(
    batch: int, state_address: int, absences_address: int | None, counting: Counting | None,
    time: int, position: int, tie: int, bound: int,
) -> tuple[int, int, int, int]:  # fmt: skip
    """Push the events of an exported batch with located columns.

    Write the sequences that they complete; return a `ScanResult`'s fields, with the last time in
    place of the row. If the batch is unfit (`OTHER`), nothing is changed.
    """
    state = state_at(state_address)
    layout, stacks, length = state.layout, state.stacks, field(batch, LENGTH)
    columns, states = layout.columns, layout.states
    last, beyond = time, 0
    for row in range(columns.shape[0]):
        beyond |= not is_whole(field(field(batch, CHILDREN), columns[row, CHILD]))
    form, address = columns[TIMES, FORM], columns[TIMES, ADDRESS]
    for row in range(length):
        now = number(address, form, row)
        beyond |= now <= last
        last = now
    form, address = columns[TYPES, FORM], columns[TYPES, ADDRESS]
    for row in range(length):
        index = number(address, form, row)
        beyond |= index < 0
        beyond |= index >= states.shape[0] - 1
    if beyond != 0:
        return time, 0, 0, OTHER
    reading = ScanInput(columns, states, layout.digits, states[:0])  # no ties
    window = layout.measure, layout.span, bound, layout.tagged
    sought = ScanRange(0, length, position, tie, *window)
    absences = None if absences_address is None else absences_at(absences_address)
    _, count, written, lacks = scan_rows(
        reading, sought, state.calls, stacks, absences, state.walk, counting, state.room, state.out
    )
    return int(last), int(count), int(written), int(lacks)


push_batch = kernel(_push_batch, absent=["absences_address", "counting"])
push_batch_between = kernel(_push_batch, absent=["counting"])
push_batch_counted = kernel(_push_batch, absent=["absences_address"])
push_batch_between_counted = kernel(_push_batch)
