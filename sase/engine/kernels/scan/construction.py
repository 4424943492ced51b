"""Sequence construction: the walk back through active instance stacks (SASE 2006, 4.1).

Each final instance is the root of a walk. Its RIP is the first choice for the level before, that
one's RIP for the next, and so on; at each level the stack leads down to the other choices. The most
recent event comes first at each level, so sequences are written in the order of results.

A walk stops when the output is full, and resumes from `Walk`: the number of the final instance, the
level to choose next, and the choice at every level.
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
from sase.engine.kernels.sentinels import EARLIEST, window_start

# `at[1]` when no walk is under way.
FRESH = -1
# Rows of `levels`: the choice at a level, and how many instances were visited there.
CHOICE, VISITED = range(2)
# Choices per call: a walk pauses then, so that an interrupt is handled.
PATIENCE = 1 << 16
# Which negative components are pushed into the stacks: none, some at a start, or only in gaps.
NO_FLOORS, FLOORS, FLOORS_OF_GAPS = range(3)


class Walk(NamedTuple):
    """The position of a walk: [final instance, level], and the choice at every level.

    `bounds`: the span of the window; which negative components are pushed (`FLOORS`); the span of
    the window of a negated start; the earliest measure in that window.
    """

    at: OutInts
    levels: OutIntRows
    bounds: OutInts


@linked
def next_choice(stacks: StackArrays, walk: Walk, level: int) -> int:
    """Move to the next choice at a level; return the level, or past the last one: it has none."""
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
    """Write the sequences with every possible first event, unchecked; return the new count."""
    cells, choice, masks, begin = stacks.cells, walk.levels[CHOICE], stacks.ends[MASK], written
    mask, tail, at = masks[0], stacks.ends[TAIL, 0], choice[0]
    floor = EARLIEST
    if walk.bounds[1] != NO_FLOORS:
        floor = cells[1, choice[1] & masks[1], FLOOR]
    while written < out.shape[1] and at >= tail:
        cell = cells[0, at & mask]
        if cell[REACH] < bound:
            break
        if floor > EARLIEST and cell[TIE] < floor:  # the cells may have no TIE otherwise
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
    """Write the sequences with all possible first two events, unchecked; return count and level."""
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
    """Write the sequences with all possible events of the first one or two levels.

    Return the new count, and the level to choose next.
    """
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
    """Whether no negated start forbids a first event in the window of a final event."""
    if stacks.cells[0, place, RIP] != PRECEDED:
        return True
    measure = stacks.cells[stacks.cells.shape[0] - 1, final, REACH]
    bound = max(window_start(measure, walk.bounds[2]), walk.bounds[3])
    return bool(stacks.cells[0, place, FLOOR] < bound)


def _constructed(
    stacks: StackArrays, walk: Walk, checks: Checks | None, tally: Tally | None, out: OutIntRows,
    written: int,
) -> int:  # fmt: skip
    """Write sequences, a row for each level, after the `written` ones; return the new count.

    Checks run when an event is chosen; a walk pauses if none passes for long. When all are written,
    `walk.at[0]` is the last level's count. The tally counts choices that negations end.
    """
    cells, choice, last = stacks.cells, walk.levels[CHOICE], stacks.cells.shape[0] - 1
    tails, masks = stacks.ends[TAIL], stacks.ends[MASK]
    span, has_floors, count = walk.bounds[0], walk.bounds[1] != NO_FLOORS, stacks.ends[COUNT, last]
    room, asks_first = out.shape[1], checks is not None or walk.bounds[1] == FLOORS
    # The levels below this need no check but the window's.
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
                if level > 0:  # the innermost loop ends soon by itself
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
