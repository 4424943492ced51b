"""The index of a negative component's events, partitioned by key and searched by time (3.3).

The events of a key form a skew-binary jump list, newest first. Besides `below` each has a `jump`
further back, so that a search takes logarithmic time in a list that grows only at its head.

    depth    0 ◄── 1 ◄── 2 ◄── 3 ◄── 4 ◄── 5 ◄── 6       below
             0 ◄── 0 ◄── 1     0     3     4     3       the depth to which the jump leads
"""

from __future__ import annotations

from typing import NamedTuple

from sase.engine.kernels.expressions.checks import UNDECLARED, Checks, Tally, holds
from sase.engine.kernels.jit.compiler import kernel, linked
from sase.engine.kernels.jit.signatures import OutFlags, OutIntRows, OutInts
from sase.engine.kernels.scan.stacks import Arrivals
from sase.engine.kernels.sentinels import EARLIEST, LATEST, NOTHING, window_start


class NegativeIndex(NamedTuple):
    """The events in a ring, by number modulo its size; the head of each key's list; counts.

    `sizes` are the number of events ever and the tail: earlier numbers are dead.
    """

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
    """Add the arrivals with a bit in their state."""
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
    """Drop the events with a measure below a bound."""
    mask = index.row.shape[0] - 1
    while index.sizes[1] < index.sizes[0] and index.measure[index.sizes[1] & mask] < bound:
        index.sizes[1] += 1


@linked
def jump_over(index: NegativeIndex, top: int) -> int:
    """Return where the jump of a new head leads: over two jumps of equal length, or to `top`."""
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
    """Return the last event of a key with a tie or measure (`by`) below a limit."""
    mask, tail = index.row.shape[0] - 1, index.sizes[1]
    at = index.heads[key]
    while at >= tail and by[at & mask] >= limit:
        jump = index.jump[at & mask]
        far = jump >= tail and by[jump & mask] >= limit
        at = jump if far else index.below[at & mask]
    return int(at)


class Gap(NamedTuple):
    """The gap of a negative component, and the window's limits on it.

    `levels`: the level before the gap and the one behind it, `NOTHING` for none. `bounds`: the span
    of the window at a start, the earliest measure in it; the length T of the window, whether it is
    inclusive, and whether measures fall along a list.
    """

    levels: OutInts
    bounds: OutInts


class Stored(NamedTuple):
    """Ties, measures and index keys of the events in the store, by slot."""

    tie: OutInts
    measure: OutInts
    key: OutInts


@linked
def gap_of(
    index: NegativeIndex, gap: Gap, stored: Stored, first: int, last: int, after: int, before: int
) -> tuple[int, int, int]:
    """Return the last event of the index in a gap, and the least tie and measure in the gap.

    `first` and `last` are the slots of a match's first and last events; `after` and `before` those
    of the events around the gap, or `NOTHING`.
    """
    key = stored.key[first] if stored.key.shape[0] > 0 else 0
    earliest, bound = EARLIEST, EARLIEST
    if before == NOTHING:
        at = last_in_window(index, key, stored.measure[first], gap)
    else:
        at = last_with_less(index, index.tie, key, stored.tie[before])
    if after == NOTHING:
        bound = max(window_start(stored.measure[last], gap.bounds[0]), gap.bounds[1])
    else:
        earliest = stored.tie[after] + 1
    return at, earliest, bound


def _forbidden(
    index: NegativeIndex, gap: Gap, stored: Stored, checks: Checks, tally: Tally | None,
    sequences: OutIntRows, keep: OutFlags,
) -> None:  # fmt: skip
    """Clear `keep` for the sequences that some event of the index forbids."""
    after, before = gap.levels[0], gap.levels[1]
    last, mask = sequences.shape[0] - 1, index.row.shape[0] - 1
    for number in range(keep.shape[0]):
        if not keep[number]:
            continue
        for level in range(last + 1):
            checks.rows[level] = sequences[level, number] & checks.mask
        at, earliest, bound = gap_of(
            index, gap, stored, checks.rows[0], checks.rows[last],
            checks.rows[after] if after != NOTHING else NOTHING,
            checks.rows[before] if before != NOTHING else NOTHING,
        )  # fmt: skip
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
    """Return the last event of a key in the window that begins at a measure; its end saturates."""
    length, inclusive = gap.bounds[2], gap.bounds[3] == 1
    if measure < LATEST - length:
        return last_with_less(index, index.measure, key, measure + length + inclusive)
    return index.heads[key] if inclusive else last_with_less(index, index.measure, key, LATEST)


@linked
def agrees_with_all(checks: Checks, last: int, tally: Tally | None) -> bool:
    """Whether the negative event agrees with every event of the sequence on every test."""
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
