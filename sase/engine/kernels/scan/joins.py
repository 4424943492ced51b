"""Joins of a tree plan: buffers of the events of each component, and of joined sequences.

A record is a sequence of events of adjacent levels, one event in the buffer of a leaf. It stands in
the cells of its buffer at the place `number & mask`; numbers grow for ever, and one below the tail
is dead. Records come in the order of their last events.

A join gives each new record on its right all records on its left that end strictly before it
begins, the latest first: those of the same key are a chain, which BELOW leads down. Only what ends
before the right record begins is linked into it, so that no search passes over what comes later.
Without a key the chain is the buffer, which is searched by halves.

Only what a final event may follow is joined: of a record on the right the next final event is
known, and what begins before the window of that one is in no sequence. Others wait for a round.

Negative components that are pushed down narrow that: FLOOR is the tie of the last event that
forbids the gap before a record; before the first level the measure of the last one, if PRECEDED.
"""

from __future__ import annotations

from typing import NamedTuple

from sase.engine.kernels.expressions.checks import Checks, Tally, disagreeing, holds
from sase.engine.kernels.jit.compiler import inlined, kernel
from sase.engine.kernels.jit.signatures import OutIntRows, OutInts
from sase.engine.kernels.scan.stacks import Absences, Arrivals, last_absence, note_absence
from sase.engine.kernels.sentinels import EARLIEST, NOTHING
from sase.engine.kernels.window import window_start

# The fields of a record, and behind them its event numbers by level.
KEY, FIRST_TIE, FIRST, LAST_TIE, LAST, FLOOR, PRECEDED, BELOW = range(8)
FIELDS = 8
# Counted of a buffer: records ever, dead ones, those in chains, those joined with all on the left.
COUNT, TAIL, LINKED, DONE = range(4)
# Where a join stands: the next record on the left, and the pairs that were tried and passed.
AT, TRIED, PASSED = range(3)
FRESH = -2
# After so many pairs a join pauses, though there is room: an interrupt is heard then.
PATIENCE = 1 << 18


class Buffer(NamedTuple):
    """Records by place and field; the top of each key's chain; counts."""

    cells: OutIntRows
    heads: OutInts
    ends: OutInts


class Join(NamedTuple):
    """What a join asks: its first level, the last one on its left, and its last one.

    Its conditions are a `group` of the checks. `final` is the first final event of the round, -1
    if records on the right have one. Where measures `compare`, those of all keys do. Where
    `starts`, the first events may be forbidden by what is after `least` in the window.
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
    """The latest record of a key that ends before a tie; those that do are linked."""
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
    if heads.shape[0] == 1:  # all are in one chain, and ordered
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
    """Whether the events in `rows` agree, and the conditions of a join hold."""
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
    """Join the new records on the right; False if it pauses before, or for want of room."""
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
    """Give up the records that end before a bound, and on the right of a join those joined."""
    cells, ends = buffer.cells, buffer.ends
    tail, count, mask = ends[TAIL], ends[COUNT], cells.shape[0] - 1
    if is_right:
        tail = max(tail, ends[DONE])
    while tail < count and cells[tail & mask, LAST] < bound:
        tail += 1
    ends[TAIL], ends[DONE] = tail, max(ends[DONE], tail)
