"""Sequence construction: the walk back through active instance stacks (SASE 2006, 4.1).

Each final instance is the root of a walk: its RIP is the first choice for the level before, that
one's RIP for the next, and from each the own stack leads down to the other choices. Visited in
this order, the most recent event first at each level, the sequences come in the order of results.

A walk stops when the output is full and goes on where it stopped: `Walk` holds the number of the
final instance, the level that is being chosen, and the choice at every level.
"""

from __future__ import annotations

from typing import NamedTuple

from sase.engine.kernels.expressions.checks import Checks, Tally, satisfied
from sase.engine.kernels.jit.compiler import by_address, inlined, kernel, linked
from sase.engine.kernels.jit.signatures import OutIntRows, OutInts
from sase.engine.kernels.scan.stacks import (
    COUNT,
    FLOOR,
    MASK,
    PRECEDED,
    REACH,
    RIP,
    ROW,
    TAIL,
    TIE,
    StackArrays,
    below,
)
from sase.engine.kernels.sentinels import EARLIEST
from sase.engine.kernels.window import window_start

# What the second field of `at` says when no walk is under way.
FRESH = -1
# What `levels` holds of each level: its choice, and how many instances were looked at.
CHOICE, VISITED = range(2)
# After so many choices a walk pauses, though the output is not full: an interrupt is heard then.
PATIENCE = 1 << 16
# Which negative components are pushed: none, some that may forbid a start, or those of gaps alone.
NO_FLOORS, FLOORS, FLOORS_OF_GAPS = range(3)


class Walk(NamedTuple):
    """Where a walk stands: [final instance, level], and the choice at every level.

    `bounds` are what the window spans, which negative components are pushed, what the window of a
    negated start spans, and the earliest measure in that one.
    """

    at: OutInts
    levels: OutIntRows
    bounds: OutInts


@linked
def next_choice(stacks: StackArrays, walk: Walk, level: int) -> int:
    """Go down the stack of a level, or past the last level, where there is but one choice."""
    if level == stacks.cells.shape[0] - 1:
        return int(level + 1)
    choice = walk.levels[CHOICE]
    number = choice[level]
    choice[level] = below(stacks.cells[level, number & stacks.ends[MASK, level]], number)
    return level


@inlined
def write_all(
    stacks: StackArrays, walk: Walk, bound: int, tally: Tally | None, out: OutIntRows, written: int
) -> int:
    """Write the sequences that begin with any event that may, unchecked; return the new count."""
    cells, choice, masks, begin = stacks.cells, walk.levels[CHOICE], stacks.ends[MASK], written
    mask, tail, at = masks[0], stacks.ends[TAIL, 0], choice[0]
    floor = EARLIEST
    if walk.bounds[1] != NO_FLOORS:
        floor = cells[1, choice[1] & masks[1], FLOOR]
    while written < out.shape[1] and at >= tail:
        cell = cells[0, at & mask]
        if cell[REACH] < bound:
            break
        if floor > EARLIEST and cell[TIE] < floor:  # else there may be no tie in it
            if tally is not None:
                tally.levels[0] += 1
            break
        out[0, written] = cell[ROW]
        at = below(cell, at)
        written += 1
    for level in range(1, cells.shape[0]):
        row = cells[level, choice[level] & masks[level], ROW]
        for place in range(begin, written):
            out[level, place] = row
    choice[0] = at
    walk.levels[VISITED, 0] += written - begin
    return written


@inlined
def write_pairs(
    stacks: StackArrays, walk: Walk, bound: int, out: OutIntRows, written: int
) -> tuple[int, int]:
    """Write the sequences of any first two events that may be, unchecked; the count and a level."""
    cells, choice, masks, begin = stacks.cells, walk.levels[CHOICE], stacks.ends[MASK], written
    mask, later_mask, room, visited = masks[0], masks[1], out.shape[1], 0
    first, second, tail, level = choice[0], choice[1], stacks.ends[TAIL, 1], 1
    while second >= tail and level > 0:
        cell = cells[1, second & later_mask]
        if cell[REACH] < bound:
            break
        visited += 1
        first, row = cell[RIP], cell[ROW]
        while written < room and first >= stacks.ends[TAIL, 0]:
            other = cells[0, first & mask]
            if other[REACH] < bound:
                break
            out[0, written], out[1, written] = other[ROW], row
            first = below(other, first)
            written += 1
        if written == room:  # whether or not there are more first events
            level = 0
        else:
            second = below(cell, second)
    for above in range(2, cells.shape[0]):
        row = cells[above, choice[above] & masks[above], ROW]
        for place in range(begin, written):
            out[above, place] = row
    choice[0], choice[1] = first, second
    walk.levels[VISITED, 0] += written - begin
    walk.levels[VISITED, 1] += visited
    return written, level


@inlined
def write_on(
    stacks: StackArrays, walk: Walk, level: int, bound: int, tally: Tally | None, out: OutIntRows,
    written: int,
) -> tuple[int, int]:  # fmt: skip
    """Write the sequences of any events of the first levels; the count, and the level after."""
    if level == 0:
        written = write_all(stacks, walk, bound, tally, out, written)
        if written < out.shape[1]:
            level = next_choice(stacks, walk, 1)
    else:
        written, level = write_pairs(stacks, walk, bound, out, written)
        if level > 0:
            level = next_choice(stacks, walk, 2)
    return written, level


@linked
def may_be_first(stacks: StackArrays, walk: Walk, final: int, place: int) -> bool:
    """Whether no event of a negated start lies before a first event, in the window of the final."""
    if stacks.cells[0, place, RIP] != PRECEDED:
        return True
    measure = stacks.cells[stacks.cells.shape[0] - 1, final, REACH]
    bound = max(window_start(measure, walk.bounds[2]), walk.bounds[3])
    return bool(stacks.cells[0, place, FLOOR] < bound)


def _constructed(
    stacks: StackArrays, walk: Walk, checks: Checks | None, tally: Tally | None, out: OutIntRows,
    written: int,
) -> int:  # fmt: skip
    """Write sequences, a row for each level, behind those written; how many are written then.

    Events are checked when they are chosen: where none passes for long a walk pauses. At the end
    `walk.at[0]` is the count of the last level. A tally counts what negative components ended.
    """
    cells, choice, last = stacks.cells, walk.levels[CHOICE], stacks.cells.shape[0] - 1
    tails, masks = stacks.ends[TAIL], stacks.ends[MASK]
    span, has_floors, count = walk.bounds[0], walk.bounds[1] != NO_FLOORS, stacks.ends[COUNT, last]
    room, asks_first = out.shape[1], checks is not None or walk.bounds[1] == FLOORS
    # At the first levels no event is asked for more than its reach.
    unchecked = 0 if asks_first or last == 0 else 1 if has_floors or last == 1 else 2
    number, level, until = walk.at[0], walk.at[1], walk.levels[VISITED, 0] + PATIENCE
    while number < count and written < room:
        final = number & masks[last]
        bound = window_start(cells[last, final, REACH], span)
        if level == FRESH:
            level, choice[last] = last, number
        while level <= last and written < room:
            if level < unchecked:
                written, level = write_on(stacks, walk, level, bound, tally, out, written)
                continue
            place = choice[level] & masks[level]
            cell = cells[level, place]
            if level < last:
                ends = choice[level] < tails[level] or cell[REACH] < bound
                if has_floors and not ends:
                    ends = cell[TIE] < cells[level + 1, choice[level + 1] & masks[level + 1], FLOOR]
                    if tally is not None and ends:
                        tally.levels[level] += 1
                if ends:
                    level = next_choice(stacks, walk, level + 1)
                    continue
                walk.levels[VISITED, level] += 1
            passes = True
            if checks is not None:
                if level > 0:  # not in the innermost loop, which ends soon
                    until -= 1
                    if walk.levels[VISITED, 0] >= until:
                        room = written
                checks.rows[level] = cell[ROW] & checks.mask
                passes = satisfied(checks, level, last, tally)
            if has_floors and level == 0:
                passes = passes and may_be_first(stacks, walk, final, place)
            if passes and level > 0:
                level -= 1
                choice[level] = cell[RIP]
                continue
            if passes:
                for other in range(last + 1):
                    out[other, written] = cells[other, choice[other] & masks[other], ROW]
                written += 1
            level = next_choice(stacks, walk, level)
        if level > last:
            number, level = number + 1, FRESH
    walk.at[0], walk.at[1] = number, level
    return written


construct = kernel(_constructed, absent=["checks", "tally"])
construct_checked = kernel(_constructed, absent=["tally"])
construct_tallied = kernel(_constructed, absent=["checks"])
construct_counted = kernel(_constructed)
construct_at = by_address(_constructed, absent=["checks", "tally"])
construct_tallied_at = by_address(_constructed, absent=["checks"])
