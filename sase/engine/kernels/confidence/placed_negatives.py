"""Find the events that may forbid candidates of imprecise time: in some world they are in the gap.

The intervals of a candidate's events are narrowed by their order. So whether an event can lie
between two of them depends only on the candidate and that event.
"""

from __future__ import annotations

from typing import NamedTuple

from sase.engine.kernels.jit.compiler import kernel, linked
from sase.engine.kernels.jit.signatures import Ints, OutIntRows, OutInts
from sase.engine.kernels.kleene.residual_checks import MatchArrays, agrees, rebuilt
from sase.engine.kernels.kleene.run_nodes import Machine
from sase.engine.kernels.kleene.transitions import programs_hold
from sase.engine.kernels.sentinels import EARLIEST, LATEST
from sase.engine.kernels.window import window_end, window_start


class IntervalIndex(NamedTuple):
    """Events by key in stream order, with the bounds of their times, and the begin of each key.

    `most` is the latest time among an event and those of its key before it.
    """

    event: OutInts
    lo: OutInts
    hi: OutInts
    most: OutInts
    begins: OutInts


class BoundTimes(NamedTuple):
    """The bounds of events' times by place, and their keys if the index has several."""

    lo: OutInts
    hi: OutInts
    key: OutInts


@kernel
def note_latest(index: IntervalIndex) -> None:
    """Write the latest times of an index."""
    for key in range(index.begins.shape[0] - 1):
        latest = EARLIEST
        for place in range(index.begins[key], index.begins[key + 1]):
            latest = max(latest, index.hi[place])
            index.most[place] = latest


@linked
def earliest_of_last(
    matches: MatchArrays, number: int, levels: int, sets: Ints, times: BoundTimes, mask: int
) -> int:
    """Return the earliest possible end of the first `levels` levels."""
    at = matches.ends[number - 1] if number > 0 else 0
    before = most = EARLIEST
    for level in range(levels):
        for place in range(matches.lengths[level, number]):
            if place == 0 or sets[level] == 0:
                before, most = most, EARLIEST
            most = max(most, times.lo[matches.events[at] & mask], before + 1)
            at += 1
    return int(most)


@linked
def latest_of_first(
    matches: MatchArrays, number: int, level: int, sets: Ints, times: BoundTimes, mask: int
) -> int:
    """Return the latest possible begin of the levels from one on."""
    at = matches.ends[number] - 1
    behind = least = LATEST
    for last in range(matches.lengths.shape[0] - 1, level - 1, -1):
        for place in range(matches.lengths[last, number]):
            if place == 0 or sets[last] == 0:
                behind, least = least, LATEST
            least = min(least, times.hi[matches.events[at] & mask], behind - 1)
            at -= 1
    return int(least)


@linked
def gap_bounds(
    matches: MatchArrays, number: int, split: int, sets: Ints, times: BoundTimes, span: int,
    mask: int,
) -> tuple[int, int]:  # fmt: skip
    """Return the first possible time in the gap behind `split` levels, and its end."""
    bound, events = 0, 0
    for level in range(matches.lengths.shape[0]):
        events += matches.lengths[level, number]
        if level < split:
            bound += matches.lengths[level, number]
    if bound == 0:
        last = earliest_of_last(matches, number, matches.lengths.shape[0], sets, times, mask)
        return window_start(last, span), latest_of_first(matches, number, 0, sets, times, mask)
    if bound == events:
        first = latest_of_first(matches, number, 0, sets, times, mask)
        last = earliest_of_last(matches, number, matches.lengths.shape[0], sets, times, mask)
        return last + 1, min(window_end(first, span), LATEST - 1) + 1
    last = earliest_of_last(matches, number, split, sets, times, mask)
    return last + 1, latest_of_first(matches, number, split, sets, times, mask)


@linked
def sure_bounds(
    matches: MatchArrays, number: int, split: int, times: BoundTimes, span: int, mask: int
) -> tuple[int, int]:
    """Return the first and last time that is in the gap in every world with the order."""
    begin, end = matches.ends[number - 1] if number > 0 else 0, matches.ends[number]
    bound = 0
    for level in range(split):
        bound += matches.lengths[level, number]
    before, after, latest, earliest = EARLIEST, LATEST, EARLIEST, LATEST
    for at in range(begin, end):
        lo, hi = times.lo[matches.events[at] & mask], times.hi[matches.events[at] & mask]
        latest, earliest = max(latest, hi), min(earliest, lo)
        if at < begin + bound:
            before = max(before, hi)
        else:
            after = min(after, lo)
    if bound == 0:
        return window_start(latest, span), earliest - 1
    if begin + bound == end:
        return latest + 1, min(window_end(earliest, span), LATEST - 1)
    return before + 1, after - 1


@linked
def behind(index: IntervalIndex, key: int, bound: int) -> int:
    """Return the end of a key's events that begin before a bound."""
    low, high = index.begins[key], index.begins[key + 1]
    while low < high:
        middle = (low + high) // 2
        if index.lo[middle] < bound:
            low = middle + 1
        else:
            high = middle
    return int(low)


@linked
def is_in(matches: MatchArrays, number: int, event: int) -> bool:
    """Whether a match has an event."""
    at = matches.ends[number] - 1
    begin = matches.ends[number - 1] if number > 0 else 0
    while at >= begin and matches.events[at] != event:
        at -= 1
    return bool(at >= begin)


@kernel
def place_negatives(
    machine: Machine, cells: OutIntRows, matches: MatchArrays, index: IntervalIndex,
    times: BoundTimes, sets: Ints, split: int, span: int, out: OutIntRows, state: OutInts,
) -> bool:  # fmt: skip
    """Write pairs of a match and an event that may forbid it, from a state on; false if full.

    `split` levels are before the gap; `sets` is 1 for levels that are sets. The state is the next
    match, and the number of pairs written.
    """
    mask = machine.mask
    while state[0] < matches.ends.shape[0]:
        number, written = state[0], state[1]
        begin = matches.ends[number - 1] if number > 0 else 0
        lower, upper = gap_bounds(matches, number, split, sets, times, span, mask)
        key = times.key[matches.events[begin] & mask] if times.key.shape[0] > 0 else 0
        if key >= 0 and key + 1 < index.begins.shape[0]:
            node = rebuilt(machine, cells, matches, number)
            place = behind(index, key, upper) - 1
            while place >= index.begins[key] and index.most[place] >= lower:
                event = index.event[place]
                if (
                    index.hi[place] >= lower
                    and not is_in(matches, number, event)
                    and agrees(machine, cells, node, event)
                    and programs_hold(machine, cells, 0, node, event)
                ):
                    if written == out.shape[0]:
                        return False
                    out[written, 0], out[written, 1] = number, event
                    written += 1
                place -= 1
        state[0], state[1] = number + 1, written
    return True
