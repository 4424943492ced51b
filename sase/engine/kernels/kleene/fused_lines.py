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

from sase.engine.kernels.jit.arrow_memory import copy_numbers
from sase.engine.kernels.jit.compiler import inlined, kernel
from sase.engine.kernels.jit.signatures import Bytes, IntRows, Ints, OutInts
from sase.engine.kernels.kleene.line_steps import Arrived, Asked, is_simple, step, step_inside
from sase.engine.kernels.kleene.line_store import (
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
from sase.engine.kernels.kleene.pieces import Output
from sase.engine.kernels.kleene.runs import DONE, RANKED, STRICT
from sase.engine.kernels.scan.fused_scan import ADDRESS, FORM
from sase.engine.kernels.sentinels import EARLIEST, LATEST, NOTHING
from sase.engine.kernels.window import window_start

# What windows measure.
BY_TIME, BY_PLACE, BY_RANK = range(3)
# So many events are read at a time. Of each stand one behind the other what it may change, its key,
# what is compared, how many its key had before, and what the window measures.
PIECE = 1 << 10
WHAT, CODE, VALUE, RANKS, MEASURE = range(0, 5 * PIECE, PIECE)
READ = 5 * PIECE
# What an event may change: nothing, lines in their series, also others, or it may begin one.
NONE, INSIDE, ANY, BEGINS = range(4)


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


@inlined
def read(asked: Asked, stream: Stream, swept: Swept, begin: int, count: int, room: OutInts) -> None:
    """Read where it stands what is to know of events from one on."""
    for place in range(count):
        begins, takes = stream.begins[begin + place], stream.takes[begin + place]
        what = BEGINS if begins & 1 else ANY if begins else INSIDE
        room[WHAT + place] = what if takes else NONE
    read_codes(stream, begin, count, room)
    read_values(asked, stream, begin, count, room)
    if asked.ranked:
        for place in range(count):
            at = room[CODE + place] + RANK
            room[RANKS + place] = swept.keys[at]
            swept.keys[at] += 1
    if asked.measure == BY_TIME:
        for place in range(count):
            room[MEASURE + place] = stream.times[stream.row + begin + place]
    elif asked.measure == BY_PLACE:
        for place in range(count):
            room[MEASURE + place] = stream.position + begin + place


@inlined
def read_codes(stream: Stream, begin: int, count: int, room: OutInts) -> None:
    """Read what is known of the keys of events from one on."""
    for place in range(count):
        room[CODE + place] = 0
    for column in range(stream.keys.shape[0]):
        form, address = stream.keys[column, FORM], stream.keys[column, ADDRESS]
        least, shift = stream.digits[column, 0], stream.digits[column, 2]
        # What the window measures is read behind this, and may be written over.
        copy_numbers(address + ((stream.row + begin) << (form >> 1)), form, count, room, MEASURE)
        for place in range(count):
            room[CODE + place] |= (room[MEASURE + place] - least) << shift
    for place in range(count):
        room[CODE + place] *= KEY_FIELDS


@inlined
def read_values(asked: Asked, stream: Stream, begin: int, count: int, room: OutInts) -> None:
    """Read what is compared of events from one on, as integers of which the greater one passes."""
    if asked.accepted == 0:
        for place in range(count):
            room[VALUE + place] = 0
        return
    form, address = stream.compared[0, FORM], stream.compared[0, ADDRESS]
    copy_numbers(address + ((stream.row + begin) << (form >> 1)), form, count, room, VALUE)
    if asked.floats:
        for place in range(count):
            bits = room[VALUE + place]
            bits = 0 if bits == EARLIEST else bits  # which is -0.0
            room[VALUE + place] = bits ^ ((bits >> 63) & LATEST)
    if asked.turned:
        for place in range(count):
            room[VALUE + place] = ~room[VALUE + place]


@inlined
def not_read(asked: Asked, swept: Swept, begin: int, count: int, room: OutInts) -> None:
    """Events of a piece are read once more: they are not counted among those of their keys."""
    if asked.ranked:
        for place in range(begin, count):
            swept.keys[room[CODE + place] + RANK] -= 1


@inlined
def tie_of(stream: Stream, i: int) -> int:
    """The rank of the order key of an event."""
    if stream.ties.shape[0] > 0:
        return int(stream.tie + stream.ties[stream.row + i])
    return stream.tie + stream.row + i


@inlined
def next_one(swept: Swept, room: OutInts, place: int, count: int, measures: int) -> int:
    """The next event of a piece that may change a line, or the end: others are counted as seen."""
    keys, steps = swept.keys, 0
    while place < count:
        what = room[WHAT + place]
        key = room[CODE + place]
        if what == INSIDE:
            is_passing = room[VALUE + place] >= keys[key + BAR]
            if is_passing or room[measures + place] > keys[key + UNTIL]:
                break
            steps += keys[key + COUNT]
        elif what == BEGINS or (what == ANY and keys[key + COUNT]):
            break
        place += 1
    swept.counts[STEPS] += steps
    return place


@kernel
def sweep_lines(
    asked: Asked, stream: Stream, swept: Swept, output: Output, room: OutInts, behind: int
) -> int:
    """Take in events, on from where it stopped up to one, and write the matches they complete."""
    last, counts, first = asked.levels - 1, swept.counts, swept.counts[EVENT]
    is_alike = is_simple(asked) and stream.ties.shape[0] == 0
    measures = RANKS if asked.measure == BY_RANK else MEASURE
    while first < behind:
        count = min(PIECE, behind - first)
        read(asked, stream, swept, first, count, room)
        at = next_one(swept, room, 0, count, measures)
        while at < count:
            i, key, measure = first + at, room[CODE + at], room[measures + at]
            begins, takes = int(stream.begins[i]), int(stream.takes[i])
            writes = (takes >> last) & 1
            if not has_room(swept, output, begins, writes):
                why = lacks(swept, output, key, begins, writes)
                if why != DONE:
                    not_read(asked, swept, at, count, room)
                    counts[EVENT] = i
                    return why
            value, place = room[VALUE + at], stream.position + i
            is_within = measure <= swept.keys[key + UNTIL] and begins & 1 == 0
            if is_alike and is_within and swept.keys[key + OUTSIDE] == 0:
                event = Arrived(place, key, begins, takes, value, NOTHING, NOTHING, NOTHING)
                step_inside(asked, swept, output, event)
            else:
                spot = room[RANKS + at] if asked.strategy == RANKED else place
                bound, tie = window_start(measure, asked.span), tie_of(stream, i)
                event = Arrived(place, key, begins, takes, value, tie, spot, bound)
                step(asked, swept, output, event, measure)
            at = next_one(swept, room, at + 1, count, measures)
        first += count
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
