"""The index of a negative component's events, partitioned by key and searched by time (3.3).

The events of a key form a list from the last back to the first. Each has beside the one `below` a
`jump` that leads further back, so placed that any place in the list is reached in a number of steps
that grows with the logarithm of its length: a binary search on a list that only grows at its top.

    depth    0 ◄── 1 ◄── 2 ◄── 3 ◄── 4 ◄── 5 ◄── 6       below
             0 ◄── 0 ◄── 1     0     3     4     3       the depth to which the jump leads
"""

from __future__ import annotations

from typing import NamedTuple

from sase.engine.kernels.expressions.checks import UNDECLARED, Checks, Tally, holds
from sase.engine.kernels.jit.compiler import kernel, linked
from sase.engine.kernels.jit.signatures import OutFlags, OutIntRows, OutInts
from sase.engine.kernels.scan.stacks import Arrivals
from sase.engine.kernels.sentinels import EARLIEST, NOTHING
from sase.engine.kernels.window import window_start

LATEST = 2**63 - 1


class NegativeIndex(NamedTuple):
    """The events by place, as in `Stacks`; the top of each key's list; [count, tail]."""

    row: OutInts
    tie: OutInts
    measure: OutInts
    below: OutInts
    jump: OutInts
    depth: OutInts
    heads: OutInts
    sizes: OutInts


@kernel
def insert(arrivals: Arrivals, bit: int, index: NegativeIndex) -> None:
    """Add the arrivals whose state has a bit."""
    mask = index.row.shape[0] - 1
    for i in range(arrivals.rows.shape[0]):
        key = arrivals.keys[i]
        if key < 0 or not (arrivals.states[i] >> bit) & 1:
            continue
        number = index.sizes[0]
        place, top = number & mask, index.heads[key]
        index.row[place], index.tie[place] = arrivals.rows[i], arrivals.ties[i]
        index.measure[place] = arrivals.measures[i]
        index.below[place], index.jump[place], index.depth[place] = top, top, 0
        if top >= index.sizes[1]:
            index.depth[place] = index.depth[top & mask] + 1
            index.jump[place] = jump_over(index, top)
        index.heads[key] = number
        index.sizes[0] = number + 1


@kernel
def drop(index: NegativeIndex, bound: int) -> None:
    """Give up the first events, up to one whose measure is not before a bound."""
    mask = index.row.shape[0] - 1
    while index.sizes[1] < index.sizes[0] and index.measure[index.sizes[1] & mask] < bound:
        index.sizes[1] += 1


@linked
def jump_over(index: NegativeIndex, top: int) -> int:
    """Where the jump of an event leads that comes on top: over two jumps that are equally long."""
    mask, tail = index.row.shape[0] - 1, index.sizes[1]
    first = index.jump[top & mask]
    if first < tail:
        return top
    second = index.jump[first & mask]
    if second < tail:
        return top
    here, there = index.depth[top & mask], index.depth[first & mask]
    return second if here - there == there - index.depth[second & mask] else top


@linked
def last_with_less(index: NegativeIndex, by: OutInts, key: int, limit: int) -> int:
    """The last event of a key whose tie, or measure, is less than a limit."""
    mask, tail = index.row.shape[0] - 1, index.sizes[1]
    at = index.heads[key]
    while at >= tail and by[at & mask] >= limit:
        jump = index.jump[at & mask]
        far = jump >= tail and by[jump & mask] >= limit
        at = jump if far else index.below[at & mask]
    return int(at)


class Gap(NamedTuple):
    """Where a negative component stands, and what the window says of it.

    `levels` are those after which and before which it stands, `NOTHING` for none. `bounds`: what
    the window of a start spans, the earliest measure in it; the length T of the window, whether
    it is inclusive, and whether measures fall on the way back through a list.
    """

    levels: OutInts
    bounds: OutInts


class Stored(NamedTuple):
    """Of the events in the store by place: ties, measures, and keys of the index."""

    tie: OutInts
    measure: OutInts
    key: OutInts


def _forbidden(
    index: NegativeIndex,
    gap: Gap,
    stored: Stored,
    checks: Checks,
    tally: Tally | None,
    sequences: OutIntRows,
    keep: OutFlags,
) -> None:
    """Clear `keep` for the sequences that some event of the index forbids."""
    after, before = gap.levels[0], gap.levels[1]
    last, mask = sequences.shape[0] - 1, index.row.shape[0] - 1
    for number in range(keep.shape[0]):
        if not keep[number]:
            continue
        for level in range(last + 1):
            checks.rows[level] = sequences[level, number] & checks.mask
        key = stored.key[checks.rows[0]] if stored.key.shape[0] > 0 else 0
        earliest, bound = EARLIEST, EARLIEST
        if before == NOTHING:
            at = last_in_window(index, key, stored.measure[checks.rows[0]], gap)
        else:
            at = last_with_less(index, index.tie, key, stored.tie[checks.rows[before]])
        if after == NOTHING:
            measure = stored.measure[checks.rows[last]]
            bound = max(window_start(measure, gap.bounds[0]), gap.bounds[1])
        else:
            earliest = stored.tie[checks.rows[after]] + 1
        while at >= index.sizes[1] and index.tie[at & mask] >= earliest:
            inside = index.measure[at & mask] >= bound
            if not inside and gap.bounds[4] == 1:
                break
            checks.rows[last + 1] = index.row[at & mask] & checks.mask
            if inside and agrees_with_all(checks, last, tally) and holds(checks, 0, tally):
                keep[number] = False
                break
            at = index.below[at & mask]


forbid = kernel(_forbidden, absent=["tally"])
forbid_counted = kernel(_forbidden)


@linked
def last_in_window(index: NegativeIndex, key: int, measure: int, gap: Gap) -> int:
    """The last event of a key in the window that begins with a measure; its end saturates."""
    length, inclusive = gap.bounds[2], gap.bounds[3] == 1
    if measure < LATEST - length:
        return last_with_less(index, index.measure, key, measure + length + inclusive)
    return index.heads[key] if inclusive else last_with_less(index, index.measure, key, LATEST)


@linked
def agrees_with_all(checks: Checks, last: int, tally: Tally | None) -> bool:
    """Whether the event behind the sequence agrees with each of its events on every test."""
    for test in range(checks.tests.shape[0]):
        codes = checks.codes[checks.tests[test]]
        code = codes[checks.rows[last + 1]]
        if code == UNDECLARED:
            continue
        for level in range(last + 1):
            found = codes[checks.rows[level]]
            if found != UNDECLARED and (found != code or code == NOTHING):
                if tally is not None:
                    tally.disagreed[test, level] += 1
                return False
    return True
