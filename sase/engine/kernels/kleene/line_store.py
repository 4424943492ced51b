"""Where swept lines are kept: eight numbers each, and their events in a heap.

    lines   ‖ … ‖ 16: … SIZE 3, AT 16, ROOM 16 ‖      heap   ‖ … ‖ 16: a40 a43 a47 · · … ‖ 32: … ‖

A line is the place of the first of its numbers, and a key that of the first that are known of it.

A place in the heap has room for 16 events or twice as many, and so on; those that are free are in a
list for each size.
"""

from __future__ import annotations

from typing import NamedTuple

from sase.engine.kernels.jit.arrow_memory import BLOCK, copy_blocks
from sase.engine.kernels.jit.compiler import inlined, linked
from sase.engine.kernels.jit.signatures import OutInts
from sase.engine.kernels.kleene.pieces import Output
from sase.engine.kernels.kleene.runs import DONE, FULL
from sase.engine.kernels.sentinels import NOTHING

# A line: the next of its key, the measure of its first event, how many events it has, the tie and
# the spot of the last one, what a further event of the series is compared with, and where in the
# heap its events begin, with room for how many.
NEXT, START, SIZE, TIE, SPOT, MET, AT, ROOM = range(8)
FIELDS = 8
# What is known of a key: its first line, how many it has and how many events it had; the least
# value that any of them may accept, the last measure within all their windows, and how many of them
# have no event of the series yet.
HEAD, COUNT, RANK, BAR, UNTIL, OUTSIDE = range(6)
KEY_FIELDS = 8
# What is counted: the event to go on with, where the lines used end and the first free one, places
# of the heap used, the events of all lines, and what an evaluation counts.
EVENT, USED, FREE, TOP, HELD, MADE, LIVE, MOST_LIVE, EXPIRED, STEPS = range(10)
COUNTS = 10
# The room of the smallest place in the heap, and how many sizes there are.
SMALLEST, PLACES = BLOCK, 48
# What there is no room for, besides results.
NO_LINE, NO_PLACE = 3, 4


class Swept(NamedTuple):
    """The lines, what is known of each key, the heap with what is free in it, and the counts."""

    lines: OutInts
    keys: OutInts
    heap: OutInts
    free: OutInts
    counts: OutInts


@linked
def taken_place(swept: Swept, room: int) -> int:
    """A place in the heap with some room, which there is for certain."""
    size = place_of(room)
    place = swept.free[size]
    if place == NOTHING:
        place = swept.counts[TOP]
        swept.counts[TOP] += room
    else:
        swept.free[size] = swept.heap[place]
    return int(place)


@inlined
def place_of(room: int) -> int:
    """Which of the sizes of places a room is."""
    size, least = 0, SMALLEST
    while least < room:
        least, size = 2 * least, size + 1
    return size


@inlined
def give_place(swept: Swept, place: int, room: int) -> None:
    """Give a place back."""
    size = place_of(room)
    swept.heap[place], swept.free[size] = swept.free[size], place


@inlined
def add(swept: Swept, line: int, event: int) -> None:
    """An event is the last one of a line."""
    lines = swept.lines
    size = lines[line + SIZE]
    if size == lines[line + ROOM]:
        place = taken_place(swept, 2 * size)
        copy_blocks(swept.heap, lines[line + AT], swept.heap, place, size)
        give_place(swept, lines[line + AT], size)
        lines[line + AT], lines[line + ROOM] = place, 2 * size
    swept.heap[lines[line + AT] + size] = event
    lines[line + SIZE] = size + 1
    swept.counts[HELD] += 1


@inlined
def let_go(swept: Swept, key: int, line: int) -> None:
    """A line is no more."""
    lines, counts = swept.lines, swept.counts
    swept.keys[key + COUNT] -= 1
    give_place(swept, lines[line + AT], lines[line + ROOM])
    counts[HELD] -= lines[line + SIZE]
    counts[LIVE] -= 1
    lines[line + NEXT], counts[FREE] = counts[FREE], line


@inlined
def unlink(swept: Swept, key: int, ahead: int, after: int) -> None:
    """What comes behind a line, or first, is another one."""
    if ahead == NOTHING:
        swept.keys[key + HEAD] = after
    else:
        swept.lines[ahead + NEXT] = after


# ---------------------------------------------------------------- room


@inlined
def free_of_heap(swept: Swept) -> int:
    """How much of the heap was never used; what is copied in blocks is read beyond it."""
    return int(swept.heap.shape[0] - swept.counts[TOP] - BLOCK)


@inlined
def free_for_events(output: Output) -> int:
    """How many more events there is room for; what is copied in blocks is written beyond them."""
    return int(output.events.shape[0] - output.sizes[1] - BLOCK)


@inlined
def has_room(swept: Swept, output: Output, begins: int, writes: int) -> bool:
    """Whether there is room for all that an event may need if all lines are of its key."""
    counts, sizes = swept.counts, output.sizes
    held, live = counts[HELD], counts[LIVE]
    if free_of_heap(swept) < 2 * held + SMALLEST:
        return False
    if begins & 1 and counts[FREE] == NOTHING and counts[USED] == swept.lines.shape[0]:
        return False
    if writes == 0:
        return True
    is_enough = output.ends.shape[0] - sizes[0] > live
    return bool(is_enough and free_for_events(output) > held + live)


@linked
def lacks(swept: Swept, output: Output, key: int, begins: int, writes: int) -> int:
    """What there is no room for that the lines of a key may need by an event, or `DONE`."""
    counts, sizes = swept.counts, output.sizes
    if begins & 1 and counts[FREE] == NOTHING and counts[USED] == swept.lines.shape[0]:
        return NO_LINE
    live, held, grown, line = swept.keys[key + COUNT], 0, SMALLEST, swept.keys[key + HEAD]
    while line != NOTHING:
        size = swept.lines[line + SIZE]
        held += size
        if size == swept.lines[line + ROOM]:
            grown += 2 * size
        line = swept.lines[line + NEXT]
    if free_of_heap(swept) < grown:
        return NO_PLACE
    is_enough = output.ends.shape[0] - sizes[0] > live
    if writes == 0 or (is_enough and free_for_events(output) > held + live):
        return DONE
    return FULL
