"""The probability that candidates have their order and window, if one order of events decides.

If the window holds in every world, events that surely lie between their neighbours are dropped:
they are in order anyway. So a set is dropped if its events do not overlap with those around it; or
it is a single event. Otherwise the general algorithm is needed, marked by a negative number.
"""

from __future__ import annotations

from sase.engine.kernels.confidence.order import OutFloats, probability_of_order
from sase.engine.kernels.jit.compiler import kernel, linked
from sase.engine.kernels.jit.signatures import Ints, OutInts
from sase.engine.kernels.kleene.match_arrays import MatchArrays
from sase.engine.kernels.sentinels import EARLIEST, LATEST

SEVERAL = -1.0


@linked
def write_steps(matches: MatchArrays, number: int, sets: Ints, steps: OutInts) -> int:
    """Write the ends of a match's steps (a set is one step); return their number."""
    count, at = 0, matches.ends[number - 1] if number > 0 else 0
    for level in range(matches.lengths.shape[0]):
        length = matches.lengths[level, number]
        if sets[level] == 1 and length > 0:
            steps[count] = at + length
            count += 1
        else:
            for place in range(length):
                steps[count] = at + place + 1
                count += 1
        at += length
    return count


@linked
def write_order(
    events: OutInts, begin: int, steps: OutInts, count: int, earliest: OutInts, latest: OutInts,
    mask: int, reach: int, lo: OutInts, hi: OutInts,
) -> int:  # fmt: skip
    """Write the bounds of the events in uncertain order; return -1 if a step has several."""
    first, last = LATEST, EARLIEST
    for at in range(begin, steps[0]):
        first = min(first, earliest[events[at] & mask])
    for at in range(steps[count - 2] if count > 1 else begin, steps[count - 1]):
        last = max(last, latest[events[at] & mask])
    is_near = last - first <= reach
    written, before, start = 0, EARLIEST, begin
    for step in range(count):
        behind, over = LATEST, EARLIEST
        if step + 1 < count:
            for at in range(steps[step], steps[step + 1]):
                behind = min(behind, earliest[events[at] & mask])
        known = written
        for at in range(start, steps[step]):
            own, until = earliest[events[at] & mask], latest[events[at] & mask]
            over = max(over, until)
            if is_near and before < own and until < behind:
                continue
            if written > known:
                return -1
            lo[written], hi[written] = own, until
            written += 1
        before, start = over, steps[step]
    return written


@kernel
def order_confidences(
    matches: MatchArrays, sets: Ints, earliest: OutInts, latest: OutInts, mask: int, reach: int,
    steps: OutInts, lo: OutInts, hi: OutInts, cuts: OutInts, bounds: OutInts, counts: OutInts,
    values: OutFloats, weights: OutFloats, sums: OutFloats, out: OutFloats,
) -> None:  # fmt: skip
    """Write the probability of each candidate's order and window, or `SEVERAL`."""
    for number in range(out.shape[0]):
        begin = matches.ends[number - 1] if number > 0 else 0
        count = write_steps(matches, number, sets, steps)
        found = write_order(
            matches.events, begin, steps, count, earliest, latest, mask, reach, lo, hi
        )
        if found < 0:
            out[number] = SEVERAL
        elif found == 0:
            out[number] = 1.0
        else:
            out[number] = probability_of_order(
                lo[:found], hi[:found], reach, cuts, bounds, counts, values, weights, sums
            )
