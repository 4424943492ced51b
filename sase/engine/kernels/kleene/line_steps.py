"""What an event does to swept lines: which of them end, take it, or begin, and what they match.

All is as in `lines`: the order of lines and of matches, and the counts. With each key stands what
tells most of its events that they change nothing: the bar, which is the least value that any of its
lines may accept, and the end of their first window. What is compared are integers of which the
greater one passes.
"""

from __future__ import annotations

from typing import NamedTuple

from sase.engine.kernels.jit.arrow_memory import copy_blocks
from sase.engine.kernels.jit.compiler import inlined, linked
from sase.engine.kernels.jit.signatures import OutInts
from sase.engine.kernels.kleene.line_store import (
    AT,
    BAR,
    COUNT,
    EXPIRED,
    FIELDS,
    FREE,
    HEAD,
    LIVE,
    MADE,
    MET,
    MOST_LIVE,
    NEXT,
    OUTSIDE,
    ROOM,
    SIZE,
    SMALLEST,
    SPOT,
    START,
    STEPS,
    TIE,
    UNTIL,
    USED,
    Swept,
    add,
    let_go,
    taken_place,
    unlink,
)
from sase.engine.kernels.kleene.pieces import Output
from sase.engine.kernels.kleene.runs import NEXT_MATCH
from sase.engine.kernels.sentinels import EARLIEST, LATEST, NOTHING
from sase.engine.kernels.window import window_end

# The orders that are accepted, as bits: less, equal, more.
BELOW, NOT_ABOVE, ABOVE, NOT_BELOW = 0b001, 0b011, 0b100, 0b110
# What becomes of a line.
STAYS, MOVES, OVER = range(3)


class Asked(NamedTuple):
    """What there is to know of the plan.

    The strategy; what the window spans, and of what; whether events are ranked in their partitions.
    The levels, and of the series its level, the number of them if there is none, and the least and
    the most events. A further event of it is accepted in some orders to another one, as bits, or 0
    if that is not asked: to that before it, if what is met is renewed, or to the first one. What is
    compared are floats, or it is turned about, so that the lesser one is more.
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
    floats: int
    turned: int


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


@inlined
def write(asked: Asked, swept: Swept, output: Output, line: int, last: int) -> None:
    """Write a match: the events of a line, and one more unless that is `NOTHING`."""
    heap, sizes = swept.heap, output.sizes
    count, to, at, size = sizes[0], sizes[1], swept.lines[line + AT], swept.lines[line + SIZE]
    single = min(asked.series, size)
    for level in range(single):
        output.singles[level, count] = heap[at + level]
    copy_blocks(heap, at + single, output.events, to, size - single)
    if last != NOTHING:
        output.singles[asked.levels - 1, count] = last
    sizes[0], sizes[1] = count + 1, to + size - single
    output.ends[count] = sizes[1]


@inlined
def is_last(asked: Asked) -> bool:
    """Whether the series is the last component."""
    return asked.series == asked.levels - 1


@inlined
def may_end(asked: Asked, size: int) -> bool:
    """Whether a line of so many events may leave the level that it is at."""
    return size <= asked.series or size - asked.series >= asked.least


@inlined
def may_take(asked: Asked, size: int) -> bool:
    """Whether a line of so many events, in its series, may have one more."""
    return asked.most < 0 or size - asked.series < asked.most


@inlined
def goes_on(asked: Asked, size: int) -> bool:
    """Whether a line of so many events may have more of them."""
    if size > asked.series and is_last(asked):
        return may_take(asked, size)
    return size < asked.levels or size > asked.series


@inlined
def bind(asked: Asked, swept: Swept, output: Output, event: Arrived, line: int) -> bool:
    """Bind an event, and write the match that the line may be then; whether it goes on."""
    lines = swept.lines
    add(swept, line, event.number)
    lines[line + TIE], lines[line + SPOT] = event.tie, event.spot
    size = lines[line + SIZE]
    if size == asked.series + 1 or (size > asked.series and asked.renews == 1):
        lines[line + MET] = event.value
    swept.counts[MADE] += 1
    if size > asked.series and is_last(asked) and may_end(asked, size):
        write(asked, swept, output, line, NOTHING)
    return goes_on(asked, size)


@linked
def begun(asked: Asked, swept: Swept, output: Output, event: Arrived, measure: int) -> int:
    """The line that begins with an event, if it goes on."""
    counts, lines = swept.counts, swept.lines
    line = counts[FREE]
    if line == NOTHING:
        line = counts[USED]
        counts[USED] += FIELDS
    else:
        counts[FREE] = lines[line + NEXT]
    lines[line + NEXT], lines[line + START], lines[line + SIZE] = NOTHING, measure, 0
    lines[line + AT], lines[line + ROOM] = taken_place(swept, SMALLEST), SMALLEST
    counts[LIVE] += 1
    swept.keys[event.key + COUNT] += 1
    if not bind(asked, swept, output, event, line):
        let_go(swept, event.key, line)
        return NOTHING
    return int(line)


@inlined
def is_accepted(asked: Asked, value: int, other: int) -> bool:
    """Whether a further event of the series may come, as it compares with another one."""
    if value > other:
        return asked.accepted == 0 or asked.accepted & ABOVE != 0
    side = int(value == other)
    return asked.accepted == 0 or (asked.accepted >> side) & 1 == 1


@inlined
def is_ordered(asked: Asked) -> bool:
    """Whether a bar tells which events certainly leave all lines of a key alone."""
    return asked.strategy == NEXT_MATCH and asked.accepted in (ABOVE, NOT_BELOW)


@inlined
def passing(asked: Asked, met: int) -> int:
    """The least value that is accepted after another one; of the greatest one that one itself."""
    return met + int(asked.accepted == ABOVE and met < LATEST)


@inlined
def lowered(asked: Asked, lines: OutInts, line: int, bar: int) -> int:
    """The bar where there is a line more: the least value that further events of a series have.

    It is lower than all where anything may change a line.
    """
    if not is_ordered(asked):
        return EARLIEST
    if lines[line + SIZE] <= asked.series:
        return bar
    return min(bar, passing(asked, lines[line + MET]))


@inlined
def fate(asked: Asked, swept: Swept, output: Output, event: Arrived, line: int) -> int:
    """What an event does to a line, once the match is written that it completes."""
    lines, stays = swept.lines, asked.strategy == NEXT_MATCH
    is_behind = stays or event.spot == lines[line + SPOT] + 1
    if lines[line + START] < event.bound or not is_behind:
        swept.counts[EXPIRED] += 1
        return OVER
    if lines[line + TIE] == event.tie:
        return STAYS if stays else OVER
    size = lines[line + SIZE]
    inside = size > asked.series
    level = asked.series if inside else size - 1
    goes = False
    if (event.begins >> (level + 1)) & 1 and may_end(asked, size):
        goes = level + 2 < asked.levels or is_last(asked)
        if not goes:
            swept.counts[MADE] += 1
            write(asked, swept, output, line, event.number)
            stays = stays and inside
    if inside and (event.takes >> level) & 1 and may_take(asked, size):
        goes = is_accepted(asked, event.value, lines[line + MET])
    if not goes:
        return STAYS if stays else OVER
    return MOVES if bind(asked, swept, output, event, line) else OVER


@inlined
def moved(swept: Swept, key: int, line: int, ahead: int, changed: int) -> None:
    """Have a line come behind the last one that was changed, or first, of a key."""
    lines = swept.lines
    unlink(swept, key, ahead, lines[line + NEXT])
    lines[line + NEXT] = swept.keys[key + HEAD] if changed == NOTHING else lines[changed + NEXT]
    unlink(swept, key, changed, line)


@inlined
def step(asked: Asked, swept: Swept, output: Output, event: Arrived, measure: int) -> None:
    """What an event does to each line of its key; the lines that it changes come first."""
    lines, keys, counts, key = swept.lines, swept.keys, swept.counts, event.key
    # Counting ends the loop sooner than the list shows its end, which keeps the processor waiting.
    line, shown, bar, first = keys[key + HEAD], keys[key + COUNT], LATEST, LATEST
    new = changed = ahead = NOTHING
    outside, stays = 0, False
    if event.begins & 1:
        new = begun(asked, swept, output, event, measure)
        if new != NOTHING:
            bar, first = lowered(asked, lines, new, bar), measure
            outside += int(lines[new + SIZE] <= asked.series)
    for _ in range(shown):
        after = lines[line + NEXT]
        what = fate(asked, swept, output, event, line)
        if what == OVER:
            unlink(swept, key, ahead, after)
            let_go(swept, key, line)
        else:
            bar, first = lowered(asked, lines, line, bar), min(first, lines[line + START])
            outside += int(lines[line + SIZE] <= asked.series)
            if what == STAYS:
                ahead, stays = line, True
            elif not stays:
                changed = ahead = line  # it is where it belongs
            else:
                moved(swept, key, line, ahead, changed)
                changed = line
        line = after
    keys[key + BAR], keys[key + UNTIL] = bar, window_end(first, asked.span)
    keys[key + OUTSIDE] = outside
    counts[STEPS] += shown
    if new != NOTHING:
        lines[new + NEXT], keys[key + HEAD] = keys[key + HEAD], new
    if new != NOTHING or changed != NOTHING:
        counts[MOST_LIVE] = max(counts[MOST_LIVE], counts[LIVE])


@inlined
def is_simple(asked: Asked) -> bool:
    """Whether lines in their series only wait for one more event of it, or for the last one."""
    is_second_last = asked.series == asked.levels - 2
    return asked.strategy == NEXT_MATCH and is_second_last and asked.most < 0


@inlined
def step_inside(asked: Asked, swept: Swept, output: Output, event: Arrived) -> None:
    """The same where no line begins or ends, all are in their series and no two events are at once.

    Most that `step` asks of each line is known then, which takes a fifth of the time of all.
    """
    lines, keys, key = swept.lines, swept.keys, event.key
    completes = (event.begins >> (asked.levels - 1)) & 1
    goes_on, enough = (event.takes >> asked.series) & 1, asked.series + asked.least
    line, shown, bar = keys[key + HEAD], keys[key + COUNT], LATEST
    changed = ahead = NOTHING
    made, stays = 0, False
    for _ in range(shown):
        after, met = lines[line + NEXT], lines[line + MET]
        if completes and lines[line + SIZE] >= enough:
            made += 1
            write(asked, swept, output, line, event.number)
        if goes_on and is_accepted(asked, event.value, met):
            made += 1
            add(swept, line, event.number)
            if asked.renews == 1:
                lines[line + MET] = met = event.value
            if stays:
                moved(swept, key, line, ahead, changed)
            else:
                ahead = line
            changed = line
        else:
            ahead, stays = line, True
        bar = min(bar, met)
        line = after
    keys[key + BAR] = passing(asked, bar) if is_ordered(asked) or shown == 0 else EARLIEST
    swept.counts[STEPS] += shown
    swept.counts[MADE] += made
