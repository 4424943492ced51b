"""The events near some few: in a range around one of them, and of the same key as that."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from sase.engine.kernels.jit.compiler import kernel
from sase.engine.kernels.jit.signatures import Ints, OutInts


@kernel
def places_of(types: NDArray[Any], states: Ints, level: int, out: OutInts) -> int:
    """Write the places of the events of a level; how many there are, one more than there is room.

    `states` are by the code of a type plus one.
    """
    count = 0
    for row in range(types.shape[0]):
        if (states[types[row] + 1] >> level) & 1:
            if count == out.shape[0]:
                return count + 1
            out[count] = row
            count += 1
    return count


@kernel
def neighbours(
    keys: NDArray[Any], few: Ints, begins: Ints, ends: Ints, alive: OutInts, out: OutInts
) -> int:
    """Write the places of events near one of the few; how many there are, with room for one more.

    The ranges around the few begin and end in order. An event is near if in its place among the
    `alive` there is a key: so those of other keys may be, too, and none of the same is missed.
    """
    entered, left, at, count, mask = 0, 0, 0, 0, alive.shape[0] - 1
    while left < few.shape[0]:
        if entered == left:
            at = max(at, begins[entered])
        while entered < few.shape[0] and begins[entered] <= at:
            alive[keys[few[entered]] & mask] += 1
            entered += 1
        until = ends[left]
        if entered < few.shape[0]:
            until = min(until, begins[entered])
        while at < until:
            out[count] = at
            count += alive[keys[at] & mask] != 0
            at += 1
        while left < entered and ends[left] <= at:
            alive[keys[few[left]] & mask] -= 1
            left += 1
    return count
