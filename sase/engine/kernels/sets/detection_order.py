"""Sort matches by the time of detection, and then in the order of results."""

from __future__ import annotations

from sase.engine.kernels.jit.compiler import inlined, kernel, linked
from sase.engine.kernels.jit.signatures import Ints, OutInts


@inlined
def begin_of_match(ends: OutInts, number: int) -> int:
    """The begin of the events of a match."""
    return int(ends[number - 1]) if number > 0 else 0


@linked
def precedes(
    events: OutInts, slots: OutInts, ends: OutInts, due: OutInts, ranks: Ints, one: int, other: int
) -> bool:
    """Whether a match comes before another one: the later of two earlier events comes first."""
    if due[one] != due[other]:
        return bool(due[one] < due[other])
    at, to = ends[one] - 1, ends[other] - 1
    if events[at] != events[to]:
        return bool(events[at] < events[to])
    begin, limit = begin_of_match(ends, one), begin_of_match(ends, other)
    while at > begin and to > limit:
        at, to = at - 1, to - 1
        if events[at] != events[to]:
            return bool(events[at] > events[to])
    if at > begin or to > limit:
        return bool(to > limit)
    at, to = ends[one] - 1, ends[other] - 1
    while at >= begin:
        if ranks[slots[at]] != ranks[slots[to]]:
            return bool(ranks[slots[at]] < ranks[slots[to]])
        at, to = at - 1, to - 1
    return False


@kernel
def sort_detected(
    events: OutInts, slots: OutInts, ends: OutInts, due: OutInts, ranks: Ints, order: OutInts,
    room: OutInts,
) -> None:  # fmt: skip
    """Sort the numbers of matches in `order`, by merging, with `room` of the same size."""
    count, width = order.shape[0], 1
    while width < count:
        for low in range(0, count, 2 * width):
            middle, high = min(low + width, count), min(low + 2 * width, count)
            left, right = low, middle
            for to in range(low, high):
                takes_right = left >= middle or (
                    right < high
                    and precedes(events, slots, ends, due, ranks, order[right], order[left])
                )
                if takes_right:
                    room[to] = order[right]
                    right += 1
                else:
                    room[to] = order[left]
                    left += 1
        for place in range(count):
            order[place] = room[place]
        width *= 2
