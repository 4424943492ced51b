"""From events in memory to the matches of lines that ask little of them, in one step.

Lines are runs that never fork (see `lines`). Where nothing is asked of an event but its type, its
key, conditions on it alone and one comparison with the event before it in its series, a line is
eight numbers, and its events lie in a heap one after the other (see `line_heap`): a match is copied
as it stands.

Keys and what is compared are read as integers, a piece of events at a time. Those of which the
greater one passes are floats by their bits, and all numbers turned about where a series falls.
"""

from __future__ import annotations

from typing import NamedTuple

from sase.engine.kernels.compiling import Bytes, IntRows, Ints, OutIntRows, kernel, part, spliced
from sase.engine.kernels.line_heap import (
    BAR,
    COUNT,
    EVENT,
    EXPIRED,
    HEAD,
    KEY_FIELDS,
    NEXT,
    OUTSIDE,
    RANK,
    SPOT,
    START,
    STEPS,
    UNTIL,
    Swept,
    has_room,
    lacks,
    let_go,
    unlink,
)
from sase.engine.kernels.line_steps import (
    ABOVE,
    LATEST,
    Arrived,
    Asked,
    is_simple,
    step,
    step_inside,
)
from sase.engine.kernels.memory import number
from sase.engine.kernels.pieces import Output
from sase.engine.kernels.runs import DONE, RANKED, STRICT
from sase.engine.kernels.stacks import EARLIEST, NOTHING, oldest
from sase.engine.kernels.sweeping import ADDRESS, FORM

# What windows measure.
BY_TIME, BY_PLACE, BY_RANK = range(3)
# The rows of the room for what is read of a piece of so many events.
CODE, VALUE = range(2)
PIECE = 1 << 11


class Stream(NamedTuple):
    """Events: the levels that they may begin, and go on with, as bits; what is read of each.

    `compared` has a row for what is compared, if anything is, and `keys` one for each number of a
    key, of which `digits` make codes: forms and addresses, in which the first event is at a row, as
    in the times and in `ties`, which are the ranks of order keys, or nothing where each event has
    its own. The first event has a position and a tie.
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


@spliced
def read_codes(stream: Stream, begin: int, count: int, room: OutIntRows) -> None:
    """Read where it stands what is known of the keys of events from one on."""
    for place in range(count):
        room[CODE, place] = 0
    for column in range(stream.keys.shape[0]):
        form, address = stream.keys[column, FORM], stream.keys[column, ADDRESS]
        least, shift = stream.digits[column, 0], stream.digits[column, 2]
        address += (stream.row + begin) << (form >> 1)
        for place in range(count):
            room[CODE, place] |= (number(address, form, place) - least) << shift
    for place in range(count):
        room[CODE, place] *= KEY_FIELDS


@spliced
def read_values(asked: Asked, stream: Stream, begin: int, count: int, room: OutIntRows) -> None:
    """Read what is compared of events from one on, as integers of which the greater one passes."""
    if asked.accepted == 0:
        for place in range(count):
            room[VALUE, place] = 0
        return
    form, address = stream.compared[0, FORM], stream.compared[0, ADDRESS]
    address += (stream.row + begin) << (form >> 1)
    for place in range(count):
        room[VALUE, place] = number(address, form, place)
    if asked.floats:
        for place in range(count):
            bits = room[VALUE, place]
            bits = 0 if bits == EARLIEST else bits  # which is -0.0
            room[VALUE, place] = bits ^ ((bits >> 63) & LATEST)
    if asked.turned:
        for place in range(count):
            room[VALUE, place] = ~room[VALUE, place]


@spliced
def tie_of(stream: Stream, i: int) -> int:
    """The rank of the order key of an event."""
    if stream.ties.shape[0] > 0:
        return int(stream.tie + stream.ties[stream.row + i])
    return stream.tie + stream.row + i


@spliced
def measured(asked: Asked, stream: Stream, i: int, rank: int) -> int:
    """What the window measures of an event."""
    if asked.measure == BY_TIME:
        return int(stream.times[stream.row + i])
    return rank if asked.measure == BY_RANK else stream.position + i


@part
def next_one(
    asked: Asked, stream: Stream, swept: Swept, room: OutIntRows, span: tuple[int, int, int]
) -> int:
    """The next event that may change a line, or the end: those before it are counted as seen.

    From one event on up to an end, with the first that is in the room. This is a part by itself,
    as what it needs fits into the registers then.
    """
    i, end, first = span
    keys, steps, passes_equal = swept.keys, 0, asked.accepted != ABOVE
    while i < end:
        takes = stream.takes[i]
        if asked.ranked == 0 and takes == 0:
            i += 1
            continue
        key = room[CODE, i - first]
        rank = keys[key + RANK]
        if takes != 0:
            begins, count = stream.begins[i], keys[key + COUNT]
            if begins == 0:
                value, bar = room[VALUE, i - first], keys[key + BAR]
                is_over = measured(asked, stream, i, rank) > keys[key + UNTIL]
                if int(is_over) | int(value > bar) | int(value == bar) & int(passes_equal):
                    break
                steps += count
            elif begins & 1 or count:
                break
        keys[key + RANK] = rank + 1
        i += 1
    swept.counts[STEPS] += steps
    return i


@kernel
def sweep_lines(
    asked: Asked, stream: Stream, swept: Swept, output: Output, room: OutIntRows, behind: int
) -> int:
    """Take in events, on from where it stopped up to one, and write the matches they complete."""
    last, counts, i = asked.levels - 1, swept.counts, swept.counts[EVENT]
    is_alike = is_simple(asked) and stream.ties.shape[0] == 0
    while i < behind:
        first, end = i, min(i + PIECE, behind)
        read_codes(stream, first, end - first, room)
        read_values(asked, stream, first, end - first, room)
        while True:
            i = next_one(asked, stream, swept, room, (i, end, first))
            if i == end:
                break
            key, begins, takes = room[CODE, i - first], int(stream.begins[i]), int(stream.takes[i])
            writes = (takes >> last) & 1
            if not has_room(swept, output, begins, writes):
                why = lacks(swept, output, key, begins, writes)
                if why != DONE:
                    counts[EVENT] = i
                    return why
            rank, place = swept.keys[key + RANK], stream.position + i
            swept.keys[key + RANK] = rank + 1
            value, measure = room[VALUE, i - first], measured(asked, stream, i, rank)
            is_within = measure <= swept.keys[key + UNTIL] and begins & 1 == 0
            if is_alike and is_within and swept.keys[key + OUTSIDE] == 0:
                event = Arrived(place, key, begins, takes, value, NOTHING, NOTHING, NOTHING)
                step_inside(asked, swept, output, event)
            else:
                spot = rank if asked.strategy == RANKED else place
                bound, tie = oldest(measure, asked.span), tie_of(stream, i)
                event = Arrived(place, key, begins, takes, value, tie, spot, bound)
                step(asked, swept, output, event, measure)
            i += 1
    counts[EVENT] = behind
    return DONE


@kernel
def expire_swept(asked: Asked, swept: Swept, bound: int, spot: int) -> None:
    """Let the lines go that a window or contiguity has ended, whatever comes."""
    lines, keys = swept.lines, swept.keys
    for key in range(0, keys.shape[0], KEY_FIELDS):
        ahead, line = NOTHING, keys[key + HEAD]
        while line != NOTHING:
            after = lines[line + NEXT]
            is_left = asked.strategy == STRICT and lines[line + SPOT] + 1 < spot
            if lines[line + START] < bound or is_left:
                swept.counts[EXPIRED] += 1
                unlink(swept, key, ahead, after)
                let_go(swept, key, line)
            else:
                ahead = line
            line = after
