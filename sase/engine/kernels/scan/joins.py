"""Joins of a tree plan: buffers of events, of joined sequences, and conjunctions in any order."""

from __future__ import annotations

from typing import NamedTuple

from sase.engine.kernels.expressions.checks import Checks, Tally, disagreeing, holds
from sase.engine.kernels.jit.compiler import inlined, kernel
from sase.engine.kernels.jit.signatures import OutIntRows, OutInts
from sase.engine.kernels.scan.stacks import Absences, Arrivals, last_absence, note_absence
from sase.engine.kernels.sentinels import EARLIEST, NOTHING, window_start

# ---------------------------------------------------------------- joins

# A record is a sequence of events of adjacent levels; in the buffer of a leaf it is one event. It
# is stored in the cells of its buffer at the place `number & mask`; numbers grow for ever, and
# those below the tail are dead. Records are ordered by their last events. A join combines each new
# record on its right with all records on its left that end strictly before it begins, the latest
# first. Those of one key form a chain linked by BELOW; without a key the chain is the buffer,
# searched by bisection. A left record is linked only when a right record begins after its end, so
# no search passes over later ones. Only records that a final event may follow are joined: the next
# final event after a right record is known, and a record that begins before the window of that
# event is in no sequence. A right record without a final event yet waits for the next round.
# Pushed negative components narrow this by FLOOR: the tie of the last event that forbids the gap
# before a record. For the first level it is the measure of that event, and PRECEDED is set.

# The fields of a record; behind them its event numbers by level.
KEY, FIRST_TIE, FIRST, LAST_TIE, LAST, FLOOR, PRECEDED, BELOW = range(8)
FIELDS = 8
# Counters of a buffer: records ever added, dead ones, linked ones, those joined with all on the
# left.
COUNT, TAIL, LINKED, DONE = range(4)
# State of a join: the next record on the left; pairs tried; pairs passed.
AT, TRIED, PASSED = range(3)
FRESH = -2
# Pairs per call: a join pauses then, so that an interrupt is handled.
PATIENCE = 1 << 18


class Buffer(NamedTuple):
    """Records by place and field; the top of each key's chain; the counters."""

    cells: OutIntRows
    heads: OutInts
    ends: OutInts


class Join(NamedTuple):
    """A join of levels `low` to `split` on its left with `split + 1` to `high` on its right.

    Its conditions are the `group` of the checks. `final` is the number of the round's first final
    event, or `NOTHING` if records on the right contain theirs. `compares`: measures of different
    keys are comparable, so the next final event bounds the window. `starts`: a negated start may
    forbid first events, by events from measure `least` on.
    """

    low: int
    split: int
    high: int
    group: int
    span: int
    final: int
    compares: bool
    starts: bool
    least: int


def _filled(arrivals: Arrivals, level: int, absences: Absences | None, leaf: Buffer) -> None:
    """Append the arrivals of a level to its leaf, which has room for them."""
    cells, ends = leaf.cells, leaf.ends
    count, mask = ends[COUNT], cells.shape[0] - 1
    for i in range(arrivals.rows.shape[0]):
        key, state = arrivals.keys[i], arrivals.states[i]
        if key < 0:
            continue
        tie, measure = arrivals.ties[i], arrivals.measures[i]
        if (state >> level) & 1:
            cell = cells[count & mask]
            cell[KEY], cell[FIELDS] = key, arrivals.rows[i]
            cell[FIRST_TIE], cell[LAST_TIE] = tie, tie
            cell[FIRST], cell[LAST] = measure, measure
            cell[PRECEDED], cell[FLOOR] = NOTHING, EARLIEST
            if absences is not None:
                cell[PRECEDED], cell[FLOOR] = last_absence(absences, level, key, tie, False)
            count += 1
        if absences is not None:
            note_absence(absences, state, key, measure, tie, False)
    ends[COUNT] = count


fill = kernel(_filled, absent=["absences"])
fill_between = kernel(_filled)


@inlined
def linked_before(buffer: Buffer, key: int, tie: int) -> int:
    """Link the records that end before a tie; return the latest of them with the key."""
    cells, heads, ends = buffer.cells, buffer.heads, buffer.ends
    mask, tail, count = cells.shape[0] - 1, ends[TAIL], ends[COUNT]
    linked = max(ends[LINKED], tail)
    while linked < count and cells[linked & mask, LAST_TIE] < tie:
        cell = cells[linked & mask]
        cell[BELOW] = heads[cell[KEY]]
        heads[cell[KEY]] = linked
        linked += 1
    ends[LINKED] = linked
    found = heads[key]
    if heads.shape[0] == 1:  # one chain, in order
        low, high = tail, linked
        while low < high:
            middle = (low + high) >> 1
            if cells[middle & mask, LAST_TIE] < tie:
                low = middle + 1
            else:
                high = middle
        found = low - 1
    while found >= tail and cells[found & mask, LAST_TIE] >= tie:
        found = cells[found & mask, BELOW]
    return int(found)


@inlined
def fits(checks: Checks, join: Join, tally: Tally | None) -> bool:
    """Whether the events in `checks.rows` agree on all attributes and meet a join's conditions."""
    if checks.tests.shape[0] > 0:
        for level in range(join.high, join.low - 1, -1):
            test = disagreeing(checks, level, join.high)
            if test != NOTHING:
                if tally is not None:
                    tally.disagreed[test, level] += 1
                return False
    return holds(checks, join.group, tally)


@inlined
def write(left: OutInts, right: OutInts, join: Join, cell: OutInts) -> None:
    """Write two records as one."""
    cell[KEY], cell[FIRST_TIE], cell[FIRST] = left[KEY], left[FIRST_TIE], left[FIRST]
    cell[FLOOR], cell[PRECEDED] = left[FLOOR], left[PRECEDED]
    cell[LAST_TIE], cell[LAST] = right[LAST_TIE], right[LAST]
    before = join.split - join.low + 1
    for level in range(before):
        cell[FIELDS + level] = left[FIELDS + level]
    for level in range(join.high - join.split):
        cell[FIELDS + before + level] = right[FIELDS + level]


def _joined(
    left: Buffer, right: Buffer, finals: Buffer, join: Join, at: OutInts, checks: Checks | None,
    tally: Tally | None, out: Buffer,
) -> bool:  # fmt: skip
    """Join the new records on the right; return False if it pauses or runs out of room."""
    lefts, rights, outs, lasts = left.cells, right.cells, out.cells, finals.cells
    left_mask, right_mask, out_mask = lefts.shape[0] - 1, rights.shape[0] - 1, outs.shape[0] - 1
    tail, until, count = left.ends[TAIL], at[TRIED] + PATIENCE, out.ends[COUNT]
    room, number = out.ends[TAIL] + outs.shape[0], right.ends[DONE]
    final, last_mask = join.final, lasts.shape[0] - 1
    while number < right.ends[COUNT]:
        later = rights[number & right_mask]
        measure = later[LAST]
        if final != NOTHING:
            while final < finals.ends[COUNT]:
                if lasts[final & last_mask, LAST_TIE] > later[LAST_TIE]:
                    break
                final += 1
            if final == finals.ends[COUNT]:
                break
            if join.compares:
                measure = lasts[final & last_mask, LAST]
        bound = window_start(measure, join.span)
        if later[FIRST] < bound:
            at[AT] = NOTHING
        elif at[AT] == FRESH:
            at[AT] = linked_before(left, later[KEY], later[FIRST_TIE])
        if checks is not None:
            for level in range(join.high - join.split):
                row = later[FIELDS + level]
                checks.rows[join.split + 1 + level] = row & checks.mask
        while at[AT] >= tail:
            earlier = lefts[at[AT] & left_mask]
            if earlier[LAST] < bound or earlier[LAST_TIE] < later[FLOOR]:
                break
            if count == room or at[TRIED] >= until:
                right.ends[DONE], out.ends[COUNT] = number, count
                return False
            at[AT] = earlier[BELOW]
            if earlier[FIRST] < bound:
                continue
            at[TRIED] += 1
            passes = True
            if join.starts and earlier[PRECEDED] != NOTHING:
                passes = earlier[FLOOR] < max(bound, join.least)
            if checks is not None and passes:
                for level in range(join.split - join.low + 1):
                    checks.rows[join.low + level] = earlier[FIELDS + level] & checks.mask
                passes = fits(checks, join, tally)
            if passes:
                write(earlier, later, join, outs[count & out_mask])
                count += 1
                at[PASSED] += 1
        at[AT] = FRESH
        number += 1
    right.ends[DONE], out.ends[COUNT] = number, count
    return True


join_records = kernel(_joined, absent=["checks", "tally"])
join_checked = kernel(_joined, absent=["tally"])
join_counted = kernel(_joined)


@kernel
def evict_records(buffer: Buffer, bound: int, is_right: bool) -> None:
    """Drop the records that end before a bound, and on the right of a join those already joined."""
    cells, ends = buffer.cells, buffer.ends
    tail, count, mask = ends[TAIL], ends[COUNT], cells.shape[0] - 1
    if is_right:
        tail = max(tail, ends[DONE])
    while tail < count and cells[tail & mask, LAST] < bound:
        tail += 1
    ends[TAIL], ends[DONE] = tail, max(ends[DONE], tail)


# ---------------------------------------------------------------- conjunctions

# Both sides order their records by last event, and are merged in that order. Each record is joined
# with all records of the other side that came before it, the latest first; those of one key form a
# chain. So every pair is tried once, and results are ordered by last event, too.


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
