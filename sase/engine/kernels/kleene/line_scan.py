"""(NFAb) Fused scan and evaluation of lines, over columns in memory or over blocks.

Columns are decoded piece by piece. Keys become codes. Compared values become integers of which the
greater one passes: floats by their bits, and all are inverted if a series falls.
"""

from __future__ import annotations

from typing import NamedTuple

from sase.engine.kernels.expressions.operations import FLOAT
from sase.engine.kernels.jit.arrow_memory import copy_numbers
from sase.engine.kernels.jit.compiler import inlined, kernel
from sase.engine.kernels.jit.intrinsics import prefetch
from sase.engine.kernels.jit.signatures import Bytes, IntRows, Ints, OutInts
from sase.engine.kernels.kleene import line_store as store
from sase.engine.kernels.kleene.line_store import (
    LineConditions,
    LineEvent,
    LineMatches,
    LineRules,
    Lines,
    drop,
    has_room,
    is_alive,
    lacks,
    link,
    remove,
)
from sase.engine.kernels.kleene.lines import is_simple, sortable, step, step_inside
from sase.engine.kernels.kleene.run_nodes import DONE, RANKED, STRICT, Incoming
from sase.engine.kernels.scan.fused_scan import ADDRESS, FORM
from sase.engine.kernels.sentinels import EARLIEST, LATEST, NOTHING, window_start

# The measures of windows.
BY_TIME, BY_PLACE, BY_RANK = range(3)
# The number of events in a piece. Five arrays of a piece follow one another: the change that an
# event may make, its key, its compared value, its spot or rank, and its measure for the window.
PIECE = 1 << 10
WHAT, CODE, VALUE, RANKS, MEASURE = range(0, 5 * PIECE, PIECE)
READ = 5 * PIECE
# The entries of the ring that are fetched at a time. Fewer than MANY keys stay in the cache.
FETCHED, MANY = 1 << 6, 1 << 13
# The change that an event may make, as a number to compare with the bar of its key. It may begin a
# line, or change any line. Otherwise the number is its compared value, but more than NONE: with
# NONE an event changes no line, for any bar.
BEGINS, ANY, NONE = LATEST, LATEST - 1, EARLIEST


class LineStream(NamedTuple):
    """Events: the levels that they may begin or continue, as bits, and the columns to read.

    `compared` has a row for the compared column, if there is one. `keys` has a row for each number
    of a key, and `digits` make codes of these. A row is a form and an address. The first event has
    a `row` in these columns, in `times` and in `ties`, and has a `position` and a `tie`. `ties` are
    ranks of order keys, or empty if each event has its own order key.
    """

    begins: Bytes
    takes: Bytes
    compared: IntRows
    keys: IntRows
    digits: IntRows
    times: Ints
    ties: Ints
    row: int
    position: int
    tie: int


# ---------------------------------------------------------------- columns in memory


@inlined
def read_columns(
    rules: LineRules, stream: LineStream, lines: Lines, begin: int, count: int, room: OutInts
) -> None:
    """Decode the events of a piece."""
    read_codes(stream, begin, count, store.KEY_FIELDS, room)
    read_values(rules, stream, begin, count, room)
    for place in range(count):
        begins, takes = stream.begins[begin + place], stream.takes[begin + place]
        what = ANY if begins else max(room[VALUE + place], NONE + 1)
        what = BEGINS if begins & 1 else what
        room[WHAT + place] = what if takes else NONE
    if rules.ranked:
        for place in range(count):
            at = room[CODE + place] + store.RANK
            room[RANKS + place] = lines.keys[at]
            lines.keys[at] += 1
    if rules.measure == BY_TIME:
        for place in range(count):
            room[MEASURE + place] = stream.times[stream.row + begin + place]
    elif rules.measure == BY_PLACE:
        for place in range(count):
            room[MEASURE + place] = stream.position + begin + place


@inlined
def read_codes(stream: LineStream, begin: int, count: int, width: int, room: OutInts) -> None:
    """Decode the keys of a piece as places of their fields, which are `width` numbers each."""
    for place in range(count):
        room[CODE + place] = 0
    for column in range(stream.keys.shape[0]):
        form, address = stream.keys[column, FORM], stream.keys[column, ADDRESS]
        least, shift = stream.digits[column, 0], stream.digits[column, 2]
        # The measures of the window are read later, so this may overwrite their array.
        copy_numbers(address + ((stream.row + begin) << (form >> 1)), form, count, room, MEASURE)
        for place in range(count):
            room[CODE + place] |= (room[MEASURE + place] - least) << shift
    for place in range(count):
        room[CODE + place] *= width


@inlined
def read_values(
    rules: LineRules, stream: LineStream, begin: int, count: int, room: OutInts
) -> None:
    """Decode the compared values of a piece, as integers of which the greater one passes."""
    if rules.accepted == 0:
        for place in range(count):
            room[VALUE + place] = 0
        return
    form, address = stream.compared[0, FORM], stream.compared[0, ADDRESS]
    copy_numbers(address + ((stream.row + begin) << (form >> 1)), form, count, room, VALUE)
    if rules.kind == FLOAT:
        for place in range(count):
            room[VALUE + place] = sortable(room[VALUE + place])
    if rules.turned:
        for place in range(count):
            room[VALUE + place] = ~room[VALUE + place]


@inlined
def unread(rules: LineRules, lines: Lines, begin: int, count: int, room: OutInts) -> None:
    """Take back the ranks of the events of a piece that will be read again."""
    if rules.ranked:
        for place in range(begin, count):
            lines.keys[room[CODE + place] + store.RANK] -= 1


@inlined
def next_read(lines: Lines, room: OutInts, place: int, count: int, measures: int) -> int:
    """Find the next event of a piece that may change a line, or the end; count steps of others."""
    keys, steps = lines.keys, 0
    while place < count:
        what, key = room[WHAT + place], room[CODE + place]
        if what != NONE:
            is_passing = int(what >= keys[key + store.BAR])
            if is_passing | int(room[measures + place] > keys[key + store.UNTIL]):
                break
            steps += keys[key + store.COUNT]
        place += 1
    lines.counts[store.STEPS] += steps
    return place


@inlined
def fetch_lines(lines: Lines, codes: Ints, first: int, count: int, scale: int) -> None:
    """Prefetch the lines and keys of the next events, if there are too many keys for the cache.

    No pass waits for its own prefetches: the next pass reads them.
    """
    cells, keys = lines.cells, lines.keys
    if keys.shape[0] < MANY * store.KEY_FIELDS:
        return
    for place in range(first, first + count):
        prefetch(keys, codes[place] * scale)
    for place in range(first, first + count):
        prefetch(cells, keys[max(codes[place] * scale, 0) + store.HEAD])
    for place in range(first, first + count):
        line = max(keys[max(codes[place] * scale, 0) + store.HEAD], 0)
        prefetch(lines.homes, line)
        prefetch(cells, cells[line + store.NEXT])
    for place in range(first, first + count):
        line = max(keys[max(codes[place] * scale, 0) + store.HEAD], 0)
        line = max(cells[line + store.NEXT], 0)
        prefetch(lines.homes, line)
        prefetch(cells, cells[line + store.NEXT])


@inlined
def tie_of(stream: LineStream, i: int) -> int:
    """Return the rank of the order key of an event."""
    if stream.ties.shape[0] > 0:
        return int(stream.tie + stream.ties[stream.row + i])
    return stream.tie + stream.row + i


@inlined
def apply_column(
    rules: LineRules, stream: LineStream, lines: Lines, output: LineMatches, room: OutInts, i: int,
    at: int, measure: int, is_alike: bool,
) -> None:  # fmt: skip
    """Apply an event of columns to the lines of its key; `is_alike` if simple and without ties."""
    key, value, place = room[CODE + at], room[VALUE + at], stream.position + i
    begins, takes = int(stream.begins[i]), int(stream.takes[i])
    is_within = measure <= lines.keys[key + store.UNTIL] and begins & 1 == 0
    if is_alike and is_within and lines.keys[key + store.OUTSIDE] == 0:
        event = LineEvent(place, key, begins, takes, value, 0, 0, measure, 0)
        step_inside(rules, lines, output, event)
    else:
        spot = room[RANKS + at] if rules.strategy == RANKED else place
        bound, tie = window_start(measure, rules.span), tie_of(stream, i)
        event = LineEvent(place, key, begins, takes, value, tie, spot, measure, bound)
        step(rules, None, lines, output, event)


@kernel
def fused_lines(
    rules: LineRules, stream: LineStream, lines: Lines, output: LineMatches, room: OutInts,
    behind: int,
) -> int:  # fmt: skip
    """Apply events of columns from where the last call stopped; write the completed matches."""
    last, counts, first = rules.levels - 1, lines.counts, lines.counts[store.EVENT]
    measures = RANKS if rules.measure == BY_RANK else MEASURE
    is_alike = is_simple(rules) and stream.ties.shape[0] == 0
    while first < behind:
        count = min(PIECE, behind - first)
        read_columns(rules, stream, lines, first, count, room)
        fetch_lines(lines, room, CODE, count, 1)
        at = next_read(lines, room, 0, count, measures)
        while at < count:
            i, key = first + at, room[CODE + at]
            begins, writes = int(stream.begins[i]), (int(stream.takes[i]) >> last) & 1
            if not has_room(lines, output, begins, writes):
                why = lacks(lines, output, key, begins, writes)
                if why != DONE:
                    unread(rules, lines, at, count, room)
                    counts[store.EVENT] = i
                    return why
            apply_column(rules, stream, lines, output, room, i, at, room[measures + at], is_alike)
            at = next_read(lines, room, at + 1, count, measures)
        first += count
    counts[store.EVENT] = behind
    return DONE


# ---------------------------------------------------------------- blocks


@inlined
def value_of(rules: LineRules, conditions: LineConditions, i: int) -> int:
    """Return the compared value of an event, as an integer of which the greater one passes."""
    if conditions.values.shape[0] == 0:
        return 0
    value = conditions.values[i]
    value = sortable(value) if rules.kind == FLOAT else value
    return int(~value if rules.turned else value)


@inlined
def next_incoming(
    rules: LineRules, conditions: LineConditions, incoming: Incoming, lines: Lines, i: int,
    behind: int,
) -> int:  # fmt: skip
    """Find the next event of a block that may change a line, or the end; count steps of others."""
    keys, steps, is_known = lines.keys, 0, conditions.values.shape[0] > 0
    while i < behind:
        if incoming.takes[i] and incoming.keys[i] >= 0:
            begins, key = incoming.begins[i], incoming.keys[i] * store.KEY_FIELDS
            if begins & 1:
                break
            if is_known and begins == 0:
                is_passing = value_of(rules, conditions, i) >= keys[key + store.BAR]
                if is_passing or incoming.measures[i] > keys[key + store.UNTIL]:
                    break
                steps += keys[key + store.COUNT]
            elif keys[key + store.COUNT]:
                break
        i += 1
    lines.counts[store.STEPS] += steps
    return i


@kernel
def advance_lines(
    rules: LineRules, incoming: Incoming, conditions: LineConditions, lines: Lines,
    output: LineMatches, behind: int,
) -> int:  # fmt: skip
    """Apply events of a block from where the last call stopped; write the completed matches."""
    last, counts = rules.levels - 1, lines.counts
    first = counts[store.EVENT]
    while first < behind:
        end = min(first + PIECE, behind)
        fetch_lines(lines, incoming.keys, first, end - first, store.KEY_FIELDS)
        i = next_incoming(rules, conditions, incoming, lines, first, end)
        while i < end:
            begins, takes = incoming.begins[i], incoming.takes[i]
            key = incoming.keys[i] * store.KEY_FIELDS
            writes = (takes >> last) & 1
            if not has_room(lines, output, begins, writes):
                why = lacks(lines, output, key, begins, writes)
                if why != DONE:
                    counts[store.EVENT] = i
                    return why
            measure = incoming.measures[i]
            event = LineEvent(
                incoming.numbers[i], key, begins, takes, value_of(rules, conditions, i),
                incoming.ties[i], incoming.spots[i], measure, window_start(measure, rules.span),
            )  # fmt: skip
            step(rules, conditions, lines, output, event)
            i = next_incoming(rules, conditions, incoming, lines, i + 1, end)
        first = end
    counts[store.EVENT] = behind
    return DONE


@kernel
def end_overlapping_lines(lines: Lines, taken: OutInts, numbers: OutInts, lasts: OutInts) -> None:
    """End the lines that overlap the last taken match of their key; `lasts` are its last events."""
    cells, keys = lines.cells, lines.keys
    for i in range(numbers.shape[0]):
        key, order = numbers[i] * store.KEY_FIELDS, taken[numbers[i]]
        keys[key + store.TAKEN] = order
        ahead, line = NOTHING, keys[key + store.HEAD]
        while line != NOTHING:
            after, begin = cells[line + store.NEXT], lines.homes[line]
            if begin <= lasts[i] or cells[line + store.TIE] <= order:
                lines.counts[store.EXPIRED] += 1
                link(lines, key, ahead, after)
                drop(lines, key, line)
            else:
                ahead = line
            line = after


@inlined
def is_over(rules: LineRules, lines: Lines, line: int, bound: int, spot: int) -> bool:
    """Whether the window or contiguity has ended a line."""
    is_left = rules.strategy == STRICT and lines.cells[line + store.SPOT] + 1 < spot
    return bool(lines.cells[line + store.START] < bound or is_left)


@kernel
def keep_entries(rules: LineRules, lines: Lines, bound: int, spot: int) -> None:
    """Drop the ended lines, and leave the entries of all others in the ring."""
    order, counts = lines.order, lines.counts
    mask, kept = order.shape[0] // 2 - 1, counts[store.OLDEST]
    for number in range(counts[store.OLDEST], counts[store.BEHIND]):
        line, event = order[2 * (number & mask)], order[2 * (number & mask) + 1]
        if not is_alive(lines, line, event):
            continue
        if is_over(rules, lines, line, bound, spot):
            counts[store.EXPIRED] += 1
            remove(lines, line)
        else:
            order[2 * (kept & mask)], order[2 * (kept & mask) + 1] = line, event
            kept += 1
    counts[store.BEHIND] = kept


@inlined
def fetch_entries(lines: Lines, first: int, behind: int) -> None:
    """Prefetch the lines of entries and their keys, if there are too many keys for the cache."""
    order, mask = lines.order, lines.order.shape[0] // 2 - 1
    if lines.keys.shape[0] < MANY * store.KEY_FIELDS:
        return
    for number in range(first, behind):
        prefetch(lines.cells, order[2 * (number & mask)])
        prefetch(lines.homes, order[2 * (number & mask)])
    for number in range(first, behind):
        prefetch(lines.keys, lines.cells[order[2 * (number & mask)] + store.KEY])
    for number in range(first, behind):
        key = lines.cells[order[2 * (number & mask)] + store.KEY]
        prefetch(lines.cells, lines.keys[key + store.HEAD])
    for number in range(first, behind):
        key = lines.cells[order[2 * (number & mask)] + store.KEY]
        prefetch(lines.cells, lines.cells[max(lines.keys[key + store.HEAD], 0) + store.NEXT])


@kernel
def expire_lines(rules: LineRules, lines: Lines, bound: int, spot: int) -> int:
    """Drop the oldest lines while these are ended; return the first event still needed."""
    order, counts = lines.order, lines.counts
    mask, fetched = order.shape[0] // 2 - 1, counts[store.OLDEST]
    while counts[store.OLDEST] < counts[store.BEHIND]:
        if counts[store.OLDEST] == fetched:
            fetched = min(fetched + FETCHED, counts[store.BEHIND])
            fetch_entries(lines, counts[store.OLDEST], fetched)
        at = 2 * (counts[store.OLDEST] & mask)
        line, event = order[at], order[at + 1]
        if is_alive(lines, line, event):
            if not is_over(rules, lines, line, bound, spot):
                return int(event)
            counts[store.EXPIRED] += 1
            remove(lines, line)
        counts[store.OLDEST] += 1
    return NOTHING
