"""(SASE++) Scan whole loaded events, and walk back through series, by stacks of rows.

Instances have the layout of `batch_scan`. From an event of a series, a walk leads to the events
below it on the stack of its level, and to those that are before the series, from its RIP down. Both
stacks are in the order of the events, so the later of their two next events is the next choice:

    level 0   a1 ◄──── a3               walks from c6: b5 b4 a3, b5 b4 b2 a1, b5 b4 a1, b5 a3,
    level 1      b2 ◄──── b4 ◄ b5                      b5 b2 a1, b5 a1, b4 a3, …

If the last component may be absent, walks also begin at the instances of the level before it.
Simultaneous events never follow each other. RIP leads to none, but BELOW may, so such an event is
passed over.
"""

from __future__ import annotations

from sase.engine.kernels.jit.compiler import inlined, kernel
from sase.engine.kernels.jit.signatures import Ints, OutIntRows
from sase.engine.kernels.kleene.match_buffer import MatchBuffer
from sase.engine.kernels.kleene.run_nodes import CROWDED, DONE, FULL, PATIENCE, PAUSED, Pattern
from sase.engine.kernels.scan.batch_scan import (
    BEFORE,
    BELOW,
    FINALS,
    FRESH,
    LEVEL,
    REACH,
    RIP,
    ROW,
    VISITED,
    WALKED,
    BatchRange,
    BatchStacks,
    is_in,
    push_step,
    window_of_final,
)
from sase.engine.kernels.scan.fused_scan import NOTHING_LACKS, ScanInput
from sase.engine.kernels.sentinels import NOTHING

# The fields of a step of a walk: the row and the level of its event, the number of chosen events of
# this level, and the next instance of the same level and of the level before it, or `NOTHING`.
AT_ROW, AT_LEVEL, LENGTH, SAME, LOWER = range(5)
STEP = 5
# The counter that the scan uses for a level is the number of steps of the walk here.
DEPTH = LEVEL


@inlined
def write_walk(
    steps: OutIntRows, depth: int, position: int, row: int, written: MatchBuffer
) -> bool:
    """Write the match of a first event and the steps behind it, if there is room."""
    count, at = written.sizes[0], written.sizes[1]
    if count >= written.ends.shape[0] or at + depth + 1 > written.events.shape[0]:
        return False
    for level in range(written.lengths.shape[0]):
        written.lengths[level, count] = 0
    written.events[at], written.lengths[0, count] = position + row, 1
    for place in range(depth - 1, -1, -1):
        at += 1
        step = steps[place]
        written.events[at] = position + step[AT_ROW]
        written.lengths[step[AT_LEVEL], count] += 1
    written.ends[count] = at + 1
    written.sizes[0], written.sizes[1] = count + 1, at + 1
    return True


@inlined
def push_step_back(
    pattern: Pattern, steps: OutIntRows, depth: int, row: int, level: int, length: int, below: int,
    rip: int,
) -> bool:  # fmt: skip
    """Push a step to an event, from which `below` and `rip` lead on; return whether any may."""
    most = pattern.most[level]
    is_longer = pattern.kleene[level] == 1 and (most < 0 or length < most)
    same = below if is_longer else NOTHING
    lower = rip if level > 0 and length >= pattern.least[level] else NOTHING
    if max(same, lower) < 0:
        return False
    step = steps[depth]
    step[AT_ROW], step[AT_LEVEL], step[LENGTH], step[SAME], step[LOWER] = (
        row, level, length, same, lower,
    )  # fmt: skip
    return True


@inlined
def walk_series(
    pattern: Pattern, ties: Ints, sought: BatchRange, stacks: BatchStacks, steps: OutIntRows,
    written: MatchBuffer,
) -> int:  # fmt: skip
    """Write the matches that end in the final events; return why it stops."""
    cells, at, last = stacks.cells, stacks.at, pattern.least.shape[0] - 1
    mask, visited, patience = cells.shape[0] - 1, stacks.counts[VISITED], PATIENCE
    while at[WALKED] < at[FINALS]:
        final = stacks.finals[at[WALKED]]
        window = window_of_final(sought, at, final[ROW])
        if at[DEPTH] == FRESH:
            level, below, rip = last, NOTHING, final[BEFORE]
            cell = cells[final[BEFORE] & mask]
            if cell[ROW] == final[ROW]:  # without the last component
                level, below, rip = last - 1, cell[BELOW], cell[RIP]
            at[DEPTH] = int(push_step_back(pattern, steps, 0, final[ROW], level, 1, below, rip))
        while at[DEPTH] > 0:
            depth = at[DEPTH]
            step = steps[depth - 1]
            number = max(step[SAME], step[LOWER])
            if not is_in(cells, window, number):
                at[DEPTH] = depth - 1
                continue
            if patience == 0:
                return PAUSED
            patience -= 1
            is_same = step[SAME] > step[LOWER]
            level, length = step[AT_LEVEL] - 1, 1
            if is_same:
                level, length = level + 1, step[LENGTH] + 1
            cell = cells[number & mask]
            row, leads = cell[ROW], is_in(cells, window, cell[REACH])
            if is_same and ties.shape[0] > 0:
                leads &= ties[row] != ties[step[AT_ROW]]
            if leads:
                if depth == steps.shape[0]:
                    return CROWDED
                is_first = level == 0 and length >= pattern.least[0]
                if is_first and not write_walk(steps, depth, sought.position, row, written):
                    return FULL
            step[SAME if is_same else LOWER] = cell[BELOW]
            visited[level] += 1
            if leads and push_step_back(
                pattern, steps, depth, row, level, length, cell[BELOW], cell[RIP]
            ):
                at[DEPTH] = depth + 1
        at[WALKED] += 1
        at[DEPTH] = FRESH
    return DONE


@kernel
def batch_walk(
    reading: ScanInput, sought: BatchRange, stacks: BatchStacks, pattern: Pattern, room: OutIntRows,
    steps: OutIntRows, written: MatchBuffer,
) -> tuple[int, int, int, int]:  # fmt: skip
    """Push events onto the stacks, and write the matches that they complete.

    Return the row reached, the events admitted, why walks stopped, and the room that lacks.
    """
    begin, total, why, lacks = sought.begin, 0, DONE, NOTHING_LACKS
    while lacks == NOTHING_LACKS:
        why = walk_series(pattern, reading.ties, sought, stacks, steps, written)
        if begin == sought.end or why != DONE:
            break
        length, count, lacks = push_step(reading, sought, stacks, None, begin, room)
        begin, total = begin + length, total + count
    return int(begin), int(total), int(why), int(lacks)
