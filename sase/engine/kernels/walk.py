"""Sequence construction: the walk back through active instance stacks (SASE 2006, 4.1).

Each final instance is the root of a walk: its `rip` is the first choice for the level before, that
one's `rip` for the next, and from each the own stack leads down to the other choices. Visited in
this order, the most recent event first at each level, the sequences come in the order of results.

A walk stops when the output is full and goes on where it stopped: `Cursor` holds the number of the
final instance, the level that is being chosen, and the choice at every level.
"""

from __future__ import annotations

from typing import NamedTuple

from sase.engine.kernels.compiling import IntRows, OutIntRows, OutInts, kernel, part
from sase.engine.kernels.stacks import NOTHING, Stacks, oldest

# What a cursor's first field says when no walk is under way.
FRESH = -1


class Walk(NamedTuple):
    """Where a walk stands: [final instance, level, written], and the choice at every level."""

    at: OutInts
    choice: OutInts


@kernel
def construct(stacks: Stacks, walk: Walk, span: int, same: IntRows, out: OutIntRows) -> int:
    """Write sequences from the final instances on; how many were written.

    `same` holds for each test of dynamic filtering the code of every row; `walk.at[0]` reaches
    `counts` of the last level when all is written.
    """
    last = stacks.row.shape[0] - 1
    mask = stacks.row.shape[1] - 1
    written = 0
    while walk.at[0] < stacks.counts[last]:
        final = walk.at[0] & mask
        bound = oldest(stacks.measure[last, final], span)
        if walk.at[1] == FRESH:
            walk.at[1] = last - 1
            walk.choice[last] = walk.at[0]
            if last > 0:
                walk.choice[last - 1] = stacks.rip[last, final]
        if last == 0:
            if written == out.shape[0]:
                return written
            out[written, 0] = stacks.row[0, final]
            written += 1
            walk.at[0], walk.at[1] = walk.at[0] + 1, FRESH
            continue
        level = walk.at[1]
        while level < last:
            number = walk.choice[level]
            place = number & mask
            if number < stacks.tails[level] or stacks.reach[level, place] < bound:
                level += 1
                if level < last:
                    walk.choice[level] = stacks.below[level, walk.choice[level] & mask]
                continue
            if not agrees(stacks.row[level, place], stacks.row[last, final], same):
                walk.choice[level] = stacks.below[level, place]
                continue
            if level > 0:
                level -= 1
                walk.choice[level] = stacks.rip[level + 1, place]
                continue
            if written == out.shape[0]:
                walk.at[1] = level
                return written
            for other in range(last + 1):
                out[written, other] = stacks.row[other, walk.choice[other] & mask]
            written += 1
            walk.choice[0] = stacks.below[0, place]
        walk.at[0], walk.at[1] = walk.at[0] + 1, FRESH
    return written


@part
def agrees(row: int, final: int, same: IntRows) -> bool:
    """Whether an event has the same codes as the final one in every test of dynamic filtering."""
    for test in range(same.shape[0]):
        if same[test, row] != same[test, final] or same[test, row] == NOTHING:
            return False
    return True
