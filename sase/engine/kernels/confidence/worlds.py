"""The confidence of a candidate by enumeration of its worlds, one time for each of its events.

Events that may forbid it are not enumerated: in each world, the share of their harmless times is
used.
"""

from __future__ import annotations

from sase.engine.kernels.confidence.order import OutFloats
from sase.engine.kernels.jit.compiler import kernel, linked
from sase.engine.kernels.jit.signatures import Ints, OutInts
from sase.engine.kernels.sentinels import EARLIEST, LATEST


@linked
def is_in_order(times: OutInts, steps: Ints, reach: int) -> bool:
    """Whether the steps are in order, and the last within reach of the first."""
    before, most, first = EARLIEST, EARLIEST, LATEST
    for event in range(times.shape[0]):
        if event > 0 and steps[event] != steps[event - 1]:
            before, most = most, EARLIEST
        if times[event] <= before:
            return False
        most = max(most, times[event])
        if steps[event] == 0:
            first = min(first, times[event])
    return bool(most - first <= reach)


@linked
def bound_of_step(times: OutInts, steps: Ints, step: int, sign: int) -> int:
    """Return the latest time of a step; with sign -1 the earliest."""
    found = EARLIEST
    for event in range(times.shape[0]):
        if steps[event] == step:
            found = max(found, sign * times[event])
    return int(sign * found)


@linked
def share_outside(times: OutInts, steps: Ints, reach: int, lo: int, hi: int, place: int) -> float:
    """The probability that an event is outside of the gap before a step, in a world."""
    last = steps[steps.shape[0] - 1]
    low, high = lo, hi
    if place > 0:
        low = max(low, bound_of_step(times, steps, place - 1, 1) + 1)
    else:
        bound = bound_of_step(times, steps, last, 1)
        low = max(low, bound - reach if bound >= EARLIEST + reach else EARLIEST)
    if place <= last:
        high = min(high, bound_of_step(times, steps, place, -1) - 1)
    else:
        bound = bound_of_step(times, steps, 0, -1)
        high = min(high, bound + reach if bound <= LATEST - reach else LATEST)
    size = float(hi - lo) + 1.0
    return (size - float(max(high - low + 1, 0))) / size


@kernel
def enumerate_worlds(
    lo: Ints, hi: Ints, steps: Ints, reach: int, other_lo: Ints, other_hi: Ints, places: Ints,
    times: OutInts, found: OutFloats, most: int,
) -> bool:  # fmt: skip
    """Add up to `most` worlds to the sum, from given times on; return whether all are done."""
    for _ in range(most):
        if is_in_order(times, steps, reach):
            share = 1.0
            for other in range(places.shape[0]):
                share *= share_outside(
                    times, steps, reach, other_lo[other], other_hi[other], places[other]
                )
            found[0] += share
        event = times.shape[0] - 1
        while event >= 0 and times[event] == hi[event]:
            times[event] = lo[event]
            event -= 1
        if event < 0:
            return True
        times[event] += 1
    return False
