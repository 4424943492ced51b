"""The runtime stack of the NFA: basic sequence scan and construction (SASE 2006, 3.2, figure 2).

Every event of the stream, of any type, makes a cell of the states that are active after it: those
that were active before, by their loops, and those that it enters from an active one. So a cell's
predecessor pointers lead to the cell before, and a bit tells which of the two ways exist.

    event       a1      c2      b3      d5       state 2 of b3 was entered from state 1 of c2, which
    active      1       1       12      123      is active by its loop: construction moves back cell
    entered     1               2       3        by cell, and takes the event where it was entered
"""

from __future__ import annotations

from typing import NamedTuple

from sase.engine.kernels.expressions.checks import Checks, Tally, satisfied
from sase.engine.kernels.jit.compiler import inlined, kernel, linked
from sase.engine.kernels.jit.signatures import Ints, OutIntRows, OutInts
from sase.engine.kernels.scan.construction import PATIENCE
from sase.engine.kernels.scan.stacks import Arrivals
from sase.engine.kernels.sentinels import NOTHING, window_start


class RuntimeStack(NamedTuple):
    """By cell: states as bits, and the event that a state admits, with its tie and measure."""

    active: OutInts
    entered: OutInts
    row: OutInts
    tie: OutInts
    measure: OutInts
    sizes: OutInts


@kernel
def advance(arrivals: Arrivals, cells: Ints, end: int, levels: int, stack: RuntimeStack) -> None:
    """Make the cells up to an end; `cells` are the cells of the arrivals."""
    mask = stack.active.shape[0] - 1
    at, i = stack.sizes[0], 0
    active = stack.active[(at - 1) & mask] if at > 0 else 0
    while at < end:
        place = at & mask
        stack.entered[place], stack.row[place] = 0, NOTHING
        if i < cells.shape[0] and cells[i] == at:
            entered = arrivals.states[i] & ((active << 1) | 1) & ((1 << levels) - 1)
            stack.entered[place], stack.row[place] = entered, arrivals.rows[i]
            stack.tie[place], stack.measure[place] = arrivals.ties[i], arrivals.measures[i]
            active |= entered
            i += 1
        stack.active[place] = active
        at += 1
    stack.sizes[0] = end


class StackSearch(NamedTuple):
    """The position of a search: [cell of the final state, current level], and its choices.

    `bounds` has the span of the window; `visited` counts the visited cells by level.
    """

    at: OutInts
    choice: OutInts
    bounds: OutInts
    visited: OutInts


@linked
def write(stack: RuntimeStack, walk: StackSearch, out: OutIntRows, written: int) -> None:
    """Write the events of the choices as a sequence."""
    mask = stack.active.shape[0] - 1
    for level in range(out.shape[0]):
        out[level, written] = stack.row[walk.choice[level] & mask]


@inlined
def is_taken(checks: Checks | None, tally: Tally | None, row: int, level: int, last: int) -> bool:
    """Whether an event passes at a level."""
    if checks is not None:
        checks.rows[level] = row & checks.mask
        if not satisfied(checks, level, last, tally):
            return False
    if tally is not None:
        tally.levels[level] += 1
    return True


def _searched(
    stack: RuntimeStack, walk: StackSearch, checks: Checks | None, tally: Tally | None,
    out: OutIntRows, written: int,
) -> int:  # fmt: skip
    """Write sequences, a row for each level, after those written; return the new count.

    Events are checked when they are chosen, and tallied by level. At the end all cells are visited.
    """
    last, mask, room = out.shape[0] - 1, stack.active.shape[0] - 1, out.shape[1]
    until = walk.visited[0] + PATIENCE
    while walk.at[0] < stack.sizes[0] and written < room and walk.visited[0] < until:
        final = walk.at[0]
        if not (stack.entered[final & mask] >> last) & 1:
            walk.at[0] += 1
            continue
        if walk.at[1] == NOTHING:
            walk.at[1] = last
            walk.choice[last] = final
            walk.visited[last] += 1
            passes = is_taken(checks, tally, stack.row[final & mask], last, last)
            if passes and last == 0:
                write(stack, walk, out, written)
                written += 1
            elif passes:
                walk.at[1] = last - 1
                walk.choice[last - 1] = final - 1
        bound = window_start(stack.measure[final & mask], walk.bounds[0])
        while walk.at[1] < last and written < room:
            level = walk.at[1]
            cell = walk.choice[level]
            place = cell & mask
            if cell < 0 or not (stack.active[place] >> level) & 1:
                walk.at[1] = level + 1
                walk.choice[level + 1] -= 1
                continue
            walk.visited[level] += 1
            if level > 0:  # not in the innermost loop, which ends soon
                until -= 1
                if walk.visited[0] >= until:
                    room = written
            if not (stack.entered[place] >> level) & 1:
                walk.choice[level] -= 1
                continue
            if stack.measure[place] < bound:
                walk.choice[level] = NOTHING
                continue
            is_earlier = stack.tie[place] != stack.tie[walk.choice[level + 1] & mask]
            if not is_earlier or not is_taken(checks, tally, stack.row[place], level, last):
                walk.choice[level] -= 1
                continue
            if level > 0:
                walk.at[1] = level - 1
                walk.choice[level - 1] = cell - 1
                continue
            write(stack, walk, out, written)
            written += 1
            walk.choice[0] -= 1
        if walk.at[1] == last:
            walk.at[0], walk.at[1] = final + 1, NOTHING
    return written


search = kernel(_searched, absent=["checks", "tally"])
search_checked = kernel(_searched, absent=["tally"])
search_tallied = kernel(_searched, absent=["checks"])
search_counted = kernel(_searched)
