"""From events in memory to the matches of lines that ask little of them, in one step.

Lines are runs that never fork (see `lines`). Where nothing is asked of an event but its type, its
key, conditions on it alone and one comparison with the event before it in its series, a line is
eight numbers, and its events lie in a heap one after the other (see `line_heap`): a match is copied
as it stands. All else is as in `lines`: the order of lines and of matches, and the counts.

Most events do nothing to the lines of their key: what is above the least of all that they are
compared with, or what comes before the first window ends, is told by one comparison.
"""

from __future__ import annotations

from typing import NamedTuple

from sase.engine.kernels.compiling import (
    Bytes,
    Ints,
    OutIntRows,
    OutInts,
    kernel,
    part,
    spliced,
)
from sase.engine.kernels.copying import copy
from sase.engine.kernels.line_heap import (
    AT,
    BAR,
    COUNT,
    EVENT,
    EXPIRED,
    FIRST,
    FREE,
    HAS_BAR,
    HEAD,
    LIVE,
    MADE,
    MET,
    MOST_LIVE,
    NEXT,
    RANK,
    ROOM,
    SIZE,
    SMALLEST,
    SPOT,
    START,
    STEPS,
    TIE,
    USED,
    Swept,
    add,
    has_room,
    lacks,
    let_go,
    taken_place,
    unlink,
)
from sase.engine.kernels.memory import number
from sase.engine.kernels.operations import FLOAT, order_simply
from sase.engine.kernels.pieces import Output
from sase.engine.kernels.runs import DONE, NEXT_MATCH, RANKED, STRICT
from sase.engine.kernels.stacks import NOTHING, oldest
from sase.engine.kernels.sweeping import ADDRESS, FORM

# What windows measure.
BY_TIME, BY_PLACE, BY_RANK = range(3)
# The orders that are accepted, as bits: less, equal, more.
BELOW, NOT_ABOVE, ABOVE, NOT_BELOW = 0b001, 0b011, 0b100, 0b110
LATEST = 2**63 - 1
# What becomes of a line.
STAYS, MOVES, OVER = range(3)


class Asked(NamedTuple):
    """What there is to know of the plan.

    The strategy; what the window spans, and of what; whether events are ranked in their partitions.
    The levels, and of the series its level, the number of them if there is none, and the least and
    the most events. A further event of it is accepted in some orders to another one, as bits, or 0
    if that is not asked, of values of a kind: that before it, if what is met is renewed, or the
    first one.
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
    kind: int
    renews: int


class Stream(NamedTuple):
    """Events: the levels that they may begin, and go on with, as bits; what is compared of them.

    `codes` are those of their keys; `ties` are the ranks of order keys, or nothing where each event
    has its own. The first event has a position and a tie, and is at a row of the times and ties.
    """

    begins: Bytes
    takes: Bytes
    values: Ints
    times: Ints
    ties: Ints
    codes: OutInts
    row: int
    position: int
    tie: int


class Arrived(NamedTuple):
    """An event."""

    number: int
    key: int
    begins: int
    takes: int
    value: int
    tie: int
    spot: int
    bound: int


# ---------------------------------------------------------------- moves


@spliced
def write(asked: Asked, swept: Swept, output: Output, row: int, last: int) -> None:
    """Write a match: the events of a line, and one more unless that is `NOTHING`."""
    line, heap, sizes = swept.lines[row], swept.heap, output.sizes
    count, to, at, size = sizes[0], sizes[1], line[AT], line[SIZE]
    single = min(asked.series, size)
    for level in range(single):
        output.singles[level, count] = heap[at + level]
    copy(heap, at + single, output.events, to, size - single)
    if last != NOTHING:
        output.singles[asked.levels - 1, count] = last
    sizes[0], sizes[1] = count + 1, to + size - single
    output.ends[count] = sizes[1]


@spliced
def is_last(asked: Asked) -> bool:
    """Whether the series is the last component."""
    return asked.series == asked.levels - 1


@spliced
def may_end(asked: Asked, size: int) -> bool:
    """Whether a line of so many events may leave the level that it is at."""
    return size <= asked.series or size - asked.series >= asked.least


@spliced
def may_take(asked: Asked, size: int) -> bool:
    """Whether a line of so many events, in its series, may have one more."""
    return asked.most < 0 or size - asked.series < asked.most


@spliced
def goes_on(asked: Asked, size: int) -> bool:
    """Whether a line of so many events may have more of them."""
    if size > asked.series and is_last(asked):
        return may_take(asked, size)
    return size < asked.levels or size > asked.series


@spliced
def bind(asked: Asked, swept: Swept, output: Output, event: Arrived, row: int) -> bool:
    """Bind an event, and write the match that the line may be then; whether it goes on."""
    line = swept.lines[row]
    add(swept, row, event.number)
    line[TIE], line[SPOT] = event.tie, event.spot
    size = line[SIZE]
    if size == asked.series + 1 or (size > asked.series and asked.renews == 1):
        line[MET] = event.value
    swept.counts[MADE] += 1
    if size > asked.series and is_last(asked) and may_end(asked, size):
        write(asked, swept, output, row, NOTHING)
    return goes_on(asked, size)


@part
def begun(asked: Asked, swept: Swept, output: Output, event: Arrived, measure: int) -> int:
    """The line that begins with an event, if it goes on."""
    counts = swept.counts
    row = counts[FREE]
    if row == NOTHING:
        row = counts[USED]
        counts[USED] += 1
    else:
        counts[FREE] = swept.lines[row, NEXT]
    line = swept.lines[row]
    line[NEXT], line[START], line[SIZE] = NOTHING, measure, 0
    line[AT], line[ROOM] = taken_place(swept, SMALLEST), SMALLEST
    counts[LIVE] += 1
    swept.keys[event.key, COUNT] += 1
    if not bind(asked, swept, output, event, row):
        let_go(swept, event.key, row)
        return NOTHING
    return int(row)


@spliced
def is_accepted(asked: Asked, value: int, other: int) -> bool:
    """Whether a further event of the series may come, as it compares with another one."""
    return asked.accepted == 0 or (asked.accepted >> (side(asked, value, other) + 1)) & 1 == 1


@spliced
def side(asked: Asked, value: int, other: int) -> int:
    """Whether a value is less than another one, equal or more: -1, 0 or 1."""
    if asked.kind == FLOAT:
        return order_simply((FLOAT, value), (FLOAT, other))
    return int(value > other) - int(value < other)


@spliced
def may_change(asked: Asked, known: OutInts, value: int, bound: int) -> int:
    """Whether an event that begins no component may change a line of its key: 1, or 0.

    Without a branch, as no processor foresees it.
    """
    order = side(asked, value, known[BAR]) + 1
    return int(known[FIRST] < bound) | int(known[HAS_BAR]) & (asked.accepted >> order)


@spliced
def is_ordered(asked: Asked) -> bool:
    """Whether a bar tells which events certainly leave all lines of a key alone."""
    is_barred = asked.accepted in (ABOVE, NOT_BELOW, BELOW, NOT_ABOVE)
    return asked.strategy == NEXT_MATCH and is_barred


@spliced
def note(asked: Asked, line: OutInts, known: OutInts) -> None:
    """Know of a key what events have to pass that come to this line of it."""
    known[FIRST] = min(known[FIRST], line[START])
    if line[SIZE] > asked.series:
        # What is to be above one of several need only be above the least of them.
        toward = -1 if asked.accepted in (ABOVE, NOT_BELOW) else 1
        if known[HAS_BAR] == 0 or side(asked, line[MET], known[BAR]) == toward:
            known[BAR], known[HAS_BAR] = line[MET], 1


@spliced
def fate(asked: Asked, swept: Swept, output: Output, event: Arrived, row: int) -> int:
    """What an event does to a line, once the match is written that it completes."""
    line, stays = swept.lines[row], asked.strategy == NEXT_MATCH
    if line[START] < event.bound or (not stays and event.spot != line[SPOT] + 1):
        swept.counts[EXPIRED] += 1
        return OVER
    if line[TIE] == event.tie:
        return STAYS if stays else OVER
    size = line[SIZE]
    inside = size > asked.series
    level = asked.series if inside else size - 1
    goes = False
    if (event.begins >> (level + 1)) & 1 and may_end(asked, size):
        goes = level + 2 < asked.levels or is_last(asked)
        if not goes:
            swept.counts[MADE] += 1
            write(asked, swept, output, row, event.number)
            stays = stays and inside
    if inside and (event.takes >> level) & 1 and may_take(asked, size):
        goes = is_accepted(asked, event.value, line[MET])
    if not goes:
        return STAYS if stays else OVER
    return MOVES if bind(asked, swept, output, event, row) else OVER


@spliced
def step(asked: Asked, swept: Swept, output: Output, event: Arrived, measure: int) -> None:
    """What an event does to each line of its key; the lines that it changes come first."""
    lines, counts, key = swept.lines, swept.counts, event.key
    known = swept.keys[key]
    # Counting ends the loop sooner than the list shows its end, which keeps the processor waiting.
    row, shown = known[HEAD], known[COUNT]
    known[FIRST], known[HAS_BAR] = LATEST, 0
    new = changed = ahead = NOTHING
    stays = False
    if event.begins & 1:
        new = begun(asked, swept, output, event, measure)
        if new != NOTHING:
            note(asked, lines[new], known)
    for _ in range(shown):
        after = lines[row, NEXT]
        what = fate(asked, swept, output, event, row)
        if what == OVER:
            unlink(swept, key, ahead, after)
            let_go(swept, key, row)
        else:
            note(asked, lines[row], known)
            if what == STAYS:
                ahead, stays = row, True
            elif not stays:
                changed = ahead = row  # it is where it belongs
            else:
                unlink(swept, key, ahead, after)
                lines[row, NEXT] = known[HEAD] if changed == NOTHING else lines[changed, NEXT]
                unlink(swept, key, changed, row)
                changed = row
        row = after
    counts[STEPS] += shown
    if new != NOTHING:
        lines[new, NEXT], known[HEAD] = known[HEAD], new
    if new != NOTHING or changed != NOTHING:
        counts[MOST_LIVE] = max(counts[MOST_LIVE], counts[LIVE])


# ---------------------------------------------------------------- the loop


@kernel
def code(columns: OutIntRows, digits: OutIntRows, first: int, codes: OutInts) -> None:
    """Write the codes of the keys of events from a row on, which all have one.

    The columns are the numbers of keys by form and address.
    """
    if columns.shape[0] == 0:
        for place in range(codes.shape[0]):
            codes[place] = 0
    for column in range(columns.shape[0]):
        form, least, shift = columns[column, FORM], digits[column, 0], digits[column, 2]
        address = columns[column, ADDRESS] + (first << (form >> 1))
        if column == 0:
            for place in range(codes.shape[0]):
                codes[place] = (number(address, form, place) - least) << shift
        else:
            for place in range(codes.shape[0]):
                codes[place] |= (number(address, form, place) - least) << shift


@spliced
def tie_of(stream: Stream, i: int) -> int:
    """The rank of the order key of an event."""
    if stream.ties.shape[0] > 0:
        return int(stream.tie + stream.ties[stream.row + i])
    return stream.tie + stream.row + i


@kernel
def sweep_lines(asked: Asked, stream: Stream, swept: Swept, output: Output) -> int:
    """Take in events, on from where it stopped, and write the matches they complete."""
    last, counts, is_barred = asked.levels - 1, swept.counts, is_ordered(asked)
    for i in range(counts[EVENT], stream.begins.shape[0]):
        begins, takes = int(stream.begins[i]), int(stream.takes[i])
        if asked.ranked == 0 and begins | takes == 0:
            continue
        key = stream.codes[i]
        known = swept.keys[key]
        rank = known[RANK]
        known[RANK] = rank + 1
        if begins | takes == 0:
            continue
        place = stream.position + i
        measure = place
        if asked.measure == BY_TIME:
            measure = stream.times[stream.row + i]
        elif asked.measure == BY_RANK:
            measure = rank
        value = stream.values[i] if asked.accepted != 0 else 0
        bound = oldest(measure, asked.span)
        if begins == 0 and is_barred and may_change(asked, known, value, bound) == 0:
            counts[STEPS] += known[COUNT]
            continue
        if begins & 1 == 0 and known[COUNT] == 0:
            continue
        writes = ((begins | takes) >> last) & 1
        if not has_room(swept, output, begins, writes):
            why = lacks(swept, output, key, begins, writes)
            if why != DONE:
                known[RANK], counts[EVENT] = rank, i
                return why
        spot = rank if asked.strategy == RANKED else place
        event = Arrived(place, key, begins, takes, value, tie_of(stream, i), spot, bound)
        step(asked, swept, output, event, measure)
    return DONE


@kernel
def expire_swept(asked: Asked, swept: Swept, bound: int, spot: int) -> None:
    """Let the lines go that a window or contiguity has ended, whatever comes."""
    lines = swept.lines
    for key in range(swept.keys.shape[0]):
        ahead, row = NOTHING, swept.keys[key, HEAD]
        while row != NOTHING:
            after = lines[row, NEXT]
            is_left = asked.strategy == STRICT and lines[row, SPOT] + 1 < spot
            if lines[row, START] < bound or is_left:
                swept.counts[EXPIRED] += 1
                unlink(swept, key, ahead, after)
                let_go(swept, key, row)
            else:
                ahead = row
            row = after
