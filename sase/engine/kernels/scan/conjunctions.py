"""Conjunctions of a tree plan: joins of records in any order, such as the members of a set.

Both sides order their records by last event, and are merged in that order. Each record is joined
with all records of the other side that came before it, the latest first; those of one key form a
chain. So every pair is tried once, and results are ordered by last event, too.
"""

from __future__ import annotations

from sase.engine.kernels.expressions.checks import Checks, Tally
from sase.engine.kernels.jit.compiler import inlined, kernel
from sase.engine.kernels.jit.signatures import OutInts
from sase.engine.kernels.scan.joins import (
    AT,
    BELOW,
    COUNT,
    DONE,
    FIELDS,
    FIRST,
    FIRST_TIE,
    FLOOR,
    FRESH,
    KEY,
    LAST,
    LAST_TIE,
    PASSED,
    PATIENCE,
    PRECEDED,
    TAIL,
    TRIED,
    Buffer,
    Join,
    fits,
)
from sase.engine.kernels.sentinels import EARLIEST, NOTHING
from sase.engine.kernels.window import window_start


@inlined
def comes_from_left(left: Buffer, right: Buffer) -> bool:
    """Whether the next record in the merged order is on the left."""
    number, other = left.ends[DONE], right.ends[DONE]
    if number == left.ends[COUNT] or other == right.ends[COUNT]:
        return bool(number < left.ends[COUNT])
    ours = left.cells[number & (left.cells.shape[0] - 1)]
    theirs = right.cells[other & (right.cells.shape[0] - 1)]
    if ours[LAST_TIE] != theirs[LAST_TIE]:
        return bool(ours[LAST_TIE] < theirs[LAST_TIE])
    return bool(ours[LAST] <= theirs[LAST])


@inlined
def shares_event(left: OutInts, right: OutInts, join: Join) -> bool:
    """Whether both records contain a common event."""
    for level in range(FIELDS, FIELDS + join.split - join.low + 1):
        for other in range(FIELDS, FIELDS + join.high - join.split):
            if left[level] == right[other]:
                return True
    return False


@inlined
def put_together(left: OutInts, right: OutInts, join: Join, cell: OutInts) -> None:
    """Write two records as one."""
    cell[KEY], cell[FLOOR], cell[PRECEDED] = left[KEY], EARLIEST, NOTHING
    cell[FIRST_TIE] = min(left[FIRST_TIE], right[FIRST_TIE])
    cell[FIRST] = min(left[FIRST], right[FIRST])
    cell[LAST_TIE] = max(left[LAST_TIE], right[LAST_TIE])
    cell[LAST] = max(left[LAST], right[LAST])
    before = join.split - join.low + 1
    for level in range(before):
        cell[FIELDS + level] = left[FIELDS + level]
    for level in range(join.high - join.split):
        cell[FIELDS + before + level] = right[FIELDS + level]


def _conjoined(
    left: Buffer, right: Buffer, join: Join, at: OutInts, checks: Checks | None,
    tally: Tally | None, out: Buffer,
) -> bool:  # fmt: skip
    """Join the new records of both sides; return False if it pauses or runs out of room."""
    outs, until, count = out.cells, at[TRIED] + PATIENCE, out.ends[COUNT]
    room, out_mask = out.ends[TAIL] + outs.shape[0], outs.shape[0] - 1
    while left.ends[DONE] < left.ends[COUNT] or right.ends[DONE] < right.ends[COUNT]:
        is_left = comes_from_left(left, right)
        own, other = (left, right) if is_left else (right, left)
        number, tail = own.ends[DONE], other.ends[TAIL]
        mask, other_mask = own.cells.shape[0] - 1, other.cells.shape[0] - 1
        later = own.cells[number & mask]
        bound = window_start(later[LAST], join.span)
        if at[AT] == FRESH:
            at[AT] = other.heads[later[KEY]]
        if later[FIRST] < bound:
            at[AT] = NOTHING
        while at[AT] >= tail:
            earlier = other.cells[at[AT] & other_mask]
            if earlier[LAST] < bound:
                break
            if count == room or at[TRIED] >= until:
                out.ends[COUNT] = count
                return False
            at[AT] = earlier[BELOW]
            one, two = (later, earlier) if is_left else (earlier, later)
            # Among simultaneous events the record merged first may be the later row.
            begin = window_start(max(later[LAST], earlier[LAST]), join.span)
            if min(later[FIRST], earlier[FIRST]) < begin or shares_event(one, two, join):
                continue
            at[TRIED] += 1
            passes = True
            if checks is not None:
                for level in range(join.split - join.low + 1):
                    checks.rows[join.low + level] = one[FIELDS + level] & checks.mask
                for level in range(join.high - join.split):
                    checks.rows[join.split + 1 + level] = two[FIELDS + level] & checks.mask
                passes = fits(checks, join, tally)
            if passes:
                put_together(one, two, join, outs[count & out_mask])
                count += 1
                at[PASSED] += 1
        later[BELOW] = own.heads[later[KEY]]
        own.heads[later[KEY]] = number
        own.ends[DONE] = number + 1
        at[AT] = FRESH
    out.ends[COUNT] = count
    return True


conjoin = kernel(_conjoined, absent=["checks", "tally"])
conjoin_checked = kernel(_conjoined, absent=["tally"])
conjoin_counted = kernel(_conjoined)
