"""Sequence construction: the walk back through active instance stacks (SASE 2006, 4.1).

Each final instance is the root of a walk: its `rip` is the first choice for the level before, that
one's `rip` for the next, and from each the own stack leads down to the other choices. Visited in
this order, the most recent event first at each level, the sequences come in the order of results.

A walk stops when the output is full and goes on where it stopped: `Walk` holds the number of the
final instance, the level that is being chosen, and the choice at every level.
"""

from __future__ import annotations

from typing import NamedTuple

from sase.engine.kernels.checks import Checks, satisfied
from sase.engine.kernels.compiling import OutIntRows, OutInts, kernel, part
from sase.engine.kernels.stacks import PRECEDED, Stacks, oldest

# What the second field of `at` says when no walk is under way.
FRESH = -1


class Walk(NamedTuple):
    """Where a walk stands: [final instance, level], and the choice at every level.

    `bounds` are what the window spans, what that of a negated start spans, and the earliest
    measure in that one; `visited` counts by level the instances that were looked at.
    """

    at: OutInts
    choice: OutInts
    bounds: OutInts
    visited: OutInts


@kernel
def construct(stacks: Stacks, walk: Walk, checks: Checks, out: OutIntRows) -> int:
    """Write sequences from the final instances on, a row for each level; how many were written.

    `walk.at[0]` reaches `counts` of the last level when all is written.
    """
    last = stacks.row.shape[0] - 1
    mask = stacks.row.shape[1] - 1
    span, has_floors = walk.bounds[0], stacks.floor.shape[1] > 1
    has_checks = checks.tests.shape[0] > 0 or checks.starts.shape[0] > 0
    written, room = 0, out.shape[1]
    number, level = walk.at[0], walk.at[1]
    while number < stacks.counts[last] and written < room:
        final = number & mask
        bound = oldest(stacks.measure[last, final], span)
        if level == FRESH:
            level = begin(stacks, walk, checks, number)
            if has_checks and not satisfied(checks, last, last):
                level = last
            elif last == 0 and (not has_floors or may_be_first(stacks, walk, final, final)):
                out[0, written] = stacks.row[0, final]
                written += 1
        while level < last and written < room:
            instance = walk.choice[level]
            place = instance & mask
            ends = instance < stacks.tails[level] or stacks.reach[level, place] < bound
            if has_floors and not ends:
                behind = walk.choice[level + 1] & mask
                ends = stacks.tie[level, place] < stacks.floor[level + 1, behind]
            if ends:
                level += 1
                if level < last:
                    walk.choice[level] = stacks.below[level, walk.choice[level] & mask]
                continue
            walk.visited[level] += 1
            passes = True
            if has_checks:
                checks.rows[level] = stacks.row[level, place] & checks.mask
                passes = satisfied(checks, level, last)
            if has_floors and level == 0 and not may_be_first(stacks, walk, final, place):
                passes = False
            if not passes:
                walk.choice[level] = stacks.below[level, place]
                continue
            if level > 0:
                level -= 1
                walk.choice[level] = stacks.rip[level + 1, place]
                continue
            for other in range(last + 1):
                out[other, written] = stacks.row[other, walk.choice[other] & mask]
            written += 1
            walk.choice[0] = stacks.below[0, place]
        if level == last:
            number, level = number + 1, FRESH
    walk.at[0], walk.at[1] = number, level
    return written


@part
def begin(stacks: Stacks, walk: Walk, checks: Checks, number: int) -> int:
    """Choose a final instance; the level that is to be chosen next."""
    last, mask = stacks.row.shape[0] - 1, stacks.row.shape[1] - 1
    walk.choice[last] = number
    checks.rows[last] = stacks.row[last, number & mask] & checks.mask
    if last == 0:
        return 0
    walk.choice[last - 1] = stacks.rip[last, number & mask]
    return last - 1


@part
def may_be_first(stacks: Stacks, walk: Walk, final: int, place: int) -> bool:
    """Whether no event of a negated start lies before a first event, in the window of the final."""
    if stacks.rip[0, place] != PRECEDED:
        return True
    measure = stacks.measure[stacks.row.shape[0] - 1, final]
    return stacks.floor[0, place] < max(oldest(measure, walk.bounds[1]), walk.bounds[2])
