"""Lines: runs that share nothing, eight numbers each, and their events.

    lines   ‖ … ‖ 16: … SIZE 3, … KEY 40 ‖ 24: … ‖     homes   ‖ … ‖ 16: a40 a43 a47 · · … ‖ 24: … ‖

The first eight events of a line have a home beside it, at the same index. All events of a longer
line are also in a heap, in an extent that begins AT. A line is the index of the first of its
numbers, and a key is the index of the first of its fields. An extent of the heap has room for 16
events, or twice as many, and so on. The free extents of each size are a list.

The node of a line (see `run_nodes`), in the row `line >> NODE_SHIFT`, has the values that
conditions read.

Lines are in a ring in the order in which they began. So the lines that a window has ended are found
without a search of all keys. An entry is a line and its first event. It is over if the line has
another first event, or none. Rows before the first line are zeros.
"""

from __future__ import annotations

from typing import NamedTuple

from sase.engine.kernels.jit.arrow_memory import BLOCK, copy_blocks
from sase.engine.kernels.jit.compiler import inlined, linked
from sase.engine.kernels.jit.intrinsics import prefetch
from sase.engine.kernels.jit.signatures import Ints, OutIntRows, OutInts
from sase.engine.kernels.kleene.run_nodes import DONE, FULL, Machine
from sase.engine.kernels.sentinels import LATEST, NOTHING

# The fields of a line: the next line of its key; the measure of its first event; its number of
# events (0 if it is free); the tie and the spot of its last event; the value to compare with a
# further event of the series; the start of its events in the heap, if they are there; its key.
NEXT, START, SIZE, TIE, SPOT, MET, AT, KEY = range(8)
FIELDS, NODE_SHIFT = 8, 3
# The node that binds an event on trial, and the first line: the nodes before it are no lines.
TRIAL, FIRST_LINE = 1, 2 * FIELDS
# The fields of a key: its first line, the number of its lines, and the number of its events so far;
# the least value that any of its lines may accept, which is LATEST only if there is no line; the
# last measure within all their windows; the number of lines without an event of the series; the tie
# of the last event of the last match, if matches must not overlap.
HEAD, COUNT, RANK, BAR, UNTIL, OUTSIDE, TAKEN = range(7)
KEY_FIELDS = 8
# The counters: the next event; the end of the used lines; free lines; used words of the heap; the
# events of all lines; from MADE to SPLIT the counters of an evaluation. The rest is not saved: the
# oldest entry of the ring, the place after the youngest entry, and the events of lines with no more
# room beside them.
EVENT, USED, FREE, TOP, HELD, MADE, LIVE, MOST_LIVE, EXPIRED, STEPS, INITIATED, SPLIT = range(12)
OLDEST, BEHIND, LONG = 12, 13, 14
COUNTS = 15
# The room for events beside a line; the room of the smallest extent of the heap, and the number of
# sizes.
HOME, SMALLEST, SIZES = FIELDS, BLOCK, 48
# The words after homes and extents: copies in blocks read beyond the last event.
SLACK = BLOCK
# The reasons why a kernel stops for lack of room, except for results.
NO_LINE, NO_EXTENT, NO_ENTRY = 3, 4, 5
# Lines that will be reused are prefetched this number before.
FETCHED = 16
# The initial number of entries of the ring.
FEWEST_ENTRIES = 1 << 9
# The conditions on bound events: none, plain comparisons, or programs as well.
NO_QUESTION, COMPARISONS, PROGRAMS = range(3)
# The accepted orders, as bits: less, equal, more.
BELOW, NOT_ABOVE, ABOVE, NOT_BELOW = 0b001, 0b011, 0b100, 0b110


class LineRules(NamedTuple):
    """The plan: strategy, window, levels, and the comparison for a further event of the series.

    The window spans `span` of a measure. If `ranked`, events are ranked in partitions. `series` is
    its level, or the number of levels if there is none; `least` and `most` limit its events.
    `accepted` has the orders, as bits, in which a further event of the series may compare with
    another event, or 0 without a comparison. The other event is the one before it if `renews`, else
    the first one. The values are of a `kind`; they are `turned` if the lesser value passes. `apart`
    is the choice among the overlapping matches of a key.
    """

    strategy: int
    span: int
    measure: int
    ranked: int
    levels: int
    series: int
    least: int
    most: int
    accepted: int
    renews: int
    kind: int
    turned: int
    apart: int


class LineConditions(NamedTuple):
    """The other conditions on an event, and the nodes of lines, which these read.

    `gate` is the row of the comparison for a further event of the series, or `NOTHING`. `values`
    are its values for the events of a block, or empty if they are of several kinds. Nodes are only
    updated if a condition `asks` for bound events.
    """

    machine: Machine
    nodes: OutIntRows
    gate: int
    asks: int
    values: Ints


class LineEvent(NamedTuple):
    """An event; `bound` is the least measure of the first event of a match with it."""

    number: int
    key: int
    begins: int
    takes: int
    value: int
    tie: int
    spot: int
    measure: int
    bound: int


class Lines(NamedTuple):
    """Lines and their first events, the fields of keys, the heap, the ring, and the counters.

    `spare` are the free lines, the next one last.
    """

    cells: OutInts
    homes: OutInts
    spare: OutInts
    keys: OutInts
    heap: OutInts
    free: OutInts
    order: OutInts
    counts: OutInts


class LineMatches(NamedTuple):
    """Matches: the event of each level that binds one, and the other events one after the other.

    `ends` is where the other events of each match end. `sizes` are the numbers of matches and of
    other events.
    """

    singles: OutIntRows
    events: OutInts
    ends: OutInts
    sizes: OutInts


@linked
def allocate(lines: Lines, room: int) -> int:
    """Take an extent of the heap, which must have room."""
    size = size_class(room)
    extent = lines.free[size]
    if extent == NOTHING:
        extent = lines.counts[TOP]
        lines.counts[TOP] += room
    else:
        lines.free[size] = lines.heap[extent]
    return int(extent)


@inlined
def size_class(room: int) -> int:
    """Return the number of the extent size for a room."""
    size, least = 0, SMALLEST
    while least < room:
        least, size = 2 * least, size + 1
    return size


@inlined
def release(lines: Lines, extent: int, events: int) -> None:
    """Free an extent of the heap, which has the least room for a number of events."""
    size = size_class(events)
    lines.heap[extent], lines.free[size] = lines.free[size], extent


@inlined
def is_full(size: int) -> bool:
    """Whether the room for a number of events is full."""
    return size >= HOME and size & (size - 1) == 0


@inlined
def append(lines: Lines, line: int, event: int) -> None:
    """Append an event to the events of a line."""
    cells = lines.cells
    size = cells[line + SIZE]
    if is_full(size):
        extent = allocate(lines, 2 * size)
        if size == HOME:
            copy_blocks(lines.homes, line, lines.heap, extent, size)
        else:
            copy_blocks(lines.heap, cells[line + AT], lines.heap, extent, size)
            release(lines, cells[line + AT], size)
        cells[line + AT] = extent
    if size < HOME:
        lines.homes[line + size] = event
    else:
        lines.heap[cells[line + AT] + size] = event
    cells[line + SIZE] = size + 1
    lines.counts[HELD] += 1
    if size + 1 >= HOME:
        lines.counts[LONG] += HOME if size + 1 == HOME else 1


@inlined
def new_line(lines: Lines, key: int, measure: int, event: int) -> int:
    """Make a line that begins with an event; it has no event yet, and is in no list yet."""
    counts, cells = lines.counts, lines.cells
    if counts[FREE] == 0:
        line = counts[USED]
        counts[USED] += FIELDS
    else:
        counts[FREE] -= 1
        line = lines.spare[counts[FREE]]
        later = lines.spare[max(counts[FREE] - FETCHED, 0)]
        prefetch(cells, later)
        prefetch(lines.homes, later)
    cells[line + NEXT], cells[line + START], cells[line + SIZE] = NOTHING, measure, 0
    cells[line + KEY] = key
    entry = 2 * (counts[BEHIND] & (lines.order.shape[0] // 2 - 1))
    lines.order[entry], lines.order[entry + 1] = line, event
    counts[BEHIND] += 1
    counts[LIVE] += 1
    lines.keys[key + COUNT] += 1
    return int(line)


@inlined
def drop(lines: Lines, key: int, line: int) -> None:
    """Free a line that is in no list any more."""
    cells, counts = lines.cells, lines.counts
    lines.keys[key + COUNT] -= 1
    if cells[line + SIZE] >= HOME:
        counts[LONG] -= cells[line + SIZE]
    if cells[line + SIZE] > HOME:
        release(lines, cells[line + AT], cells[line + SIZE])
    counts[HELD] -= cells[line + SIZE]
    counts[LIVE] -= 1
    lines.spare[counts[FREE]] = line
    counts[FREE] += 1
    cells[line + SIZE] = 0


@inlined
def link(lines: Lines, key: int, ahead: int, line: int) -> None:
    """Put a line after another one in the list of its key, or first."""
    if ahead == NOTHING:
        lines.keys[key + HEAD] = line
    else:
        lines.cells[ahead + NEXT] = line


@inlined
def is_alive(lines: Lines, line: int, event: int) -> bool:
    """Whether a line begins with an event; no other line does."""
    return bool(lines.cells[line + SIZE] and lines.homes[line] == event)


@linked
def remove(lines: Lines, line: int) -> None:
    """Take a line out of the list of its key, and free it."""
    key, ahead = lines.cells[line + KEY], NOTHING
    other = lines.keys[key + HEAD]
    while other != line:
        ahead, other = other, lines.cells[other + NEXT]
    link(lines, key, ahead, lines.cells[line + NEXT])
    drop(lines, key, line)


@inlined
def end_lines(lines: Lines, event: LineEvent, new: int) -> None:
    """End the lines of a key, and a `new` line; the next match begins after the event."""
    keys, key = lines.keys, event.key
    if new != NOTHING:
        drop(lines, key, new)
        lines.counts[EXPIRED] += 1
    line = keys[key + HEAD]
    while line != NOTHING:
        after = lines.cells[line + NEXT]
        drop(lines, key, line)
        lines.counts[EXPIRED] += 1
        line = after
    keys[key + HEAD], keys[key + OUTSIDE] = NOTHING, 0
    keys[key + BAR] = keys[key + UNTIL] = LATEST
    keys[key + TAKEN] = event.tie


@inlined
def event_of(lines: Lines, line: int, place: int, size: int) -> int:
    """Return one of the `size` events of a line."""
    if size <= HOME:
        return int(lines.homes[line + place])
    return int(lines.heap[lines.cells[line + AT] + place])


@inlined
def write_line(rules: LineRules, lines: Lines, output: LineMatches, line: int, last: int) -> None:
    """Write a match: the events of a line, and `last` unless it is `NOTHING`."""
    sizes, size = output.sizes, lines.cells[line + SIZE]
    count, to = sizes[0], sizes[1]
    single = min(rules.series, size)
    for level in range(single):
        output.singles[level, count] = event_of(lines, line, level, size)
    if size <= HOME:
        copy_blocks(lines.homes, line + single, output.events, to, size - single)
    else:
        copy_blocks(lines.heap, lines.cells[line + AT] + single, output.events, to, size - single)
    to += size - single
    if last != NOTHING:
        output.singles[rules.levels - 1, count] = last
    sizes[0], sizes[1] = count + 1, to
    output.ends[count] = to


# ---------------------------------------------------------------- room


@inlined
def free_words(lines: Lines) -> int:
    """Count the unused words of the heap, without those that copies in blocks may read."""
    return int(lines.heap.shape[0] - lines.counts[TOP] - BLOCK)


@inlined
def free_events(output: LineMatches) -> int:
    """Count the places for events, without those that copies in blocks write beyond the end."""
    return int(output.events.shape[0] - output.sizes[1] - BLOCK)


@inlined
def lacks_line(lines: Lines, begins: int) -> bool:
    """Whether an event may begin a line, and there is no room for a line."""
    is_full = lines.counts[FREE] == 0 and lines.counts[USED] == lines.cells.shape[0]
    return bool(begins & 1 and is_full)


@inlined
def lacks_entry(lines: Lines, begins: int) -> bool:
    """Whether an event may begin a line, and there is no room in the ring."""
    counts = lines.counts
    is_full = counts[BEHIND] - counts[OLDEST] == lines.order.shape[0] // 2
    return bool(begins & 1 and is_full)


@inlined
def has_room(lines: Lines, output: LineMatches, begins: int, writes: int) -> bool:
    """Whether there is room for an event even if all lines are of its key."""
    held, live = lines.counts[HELD], lines.counts[LIVE]
    if free_words(lines) < 2 * lines.counts[LONG] or lacks_line(lines, begins):
        return False
    if lacks_entry(lines, begins):
        return False
    if writes == 0:
        return True
    is_enough = output.ends.shape[0] - output.sizes[0] > live
    return bool(is_enough and free_events(output) > held + live)


@linked
def lacks(lines: Lines, output: LineMatches, key: int, begins: int, writes: int) -> int:
    """Return the room that the lines of a key miss for an event, or `DONE`."""
    if lacks_line(lines, begins):
        return NO_LINE
    if lacks_entry(lines, begins):
        return NO_ENTRY
    cells, live = lines.cells, lines.keys[key + COUNT]
    held, grown, line = 0, 0, lines.keys[key + HEAD]
    while line != NOTHING:
        size = cells[line + SIZE]
        held += size
        if is_full(size):
            grown += 2 * size
        line = cells[line + NEXT]
    if free_words(lines) < grown:
        return NO_EXTENT
    is_enough = output.ends.shape[0] - output.sizes[0] > live
    if writes == 0 or (is_enough and free_events(output) > held + live):
        return DONE
    return FULL
