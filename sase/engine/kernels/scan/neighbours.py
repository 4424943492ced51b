"""The events near some few: in a range around one of them, and of the same key as that."""

from __future__ import annotations

from sase.engine.kernels.jit.compiler import inlined, kernel
from sase.engine.kernels.jit.signatures import AnyInts, FewCodes, Ints, OutIntRows, OutInts

# So many types are compared at once, and so many keys looked up: mostly none is wanted.
LINE, STEP, STRETCH = 128, 8, 64


@kernel
def places_of(types: FewCodes, codes: FewCodes, out: OutInts) -> int:
    """Write the places of events of some types; how many there are, one more than there is room.

    Both are of one type of numbers, so that a line of types is compared by a few instructions.
    """
    count = 0
    for begin in range(0, types.shape[0], LINE):
        line = types[begin : begin + LINE]
        found = False
        for code in codes:
            for i in range(line.shape[0]):
                found |= line[i] == code
        if found:
            for i in range(line.shape[0]):
                for code in codes:
                    if line[i] == code:
                        if count == out.shape[0]:
                            return count + 1
                        out[count] = begin + i
                        count += 1
    return count


@kernel
def admit_places(types: FewCodes, states: Ints, places: Ints, out: OutIntRows) -> int:
    """Write the places that are of an admitted event, with its state; how many there are."""
    count = 0
    for i in range(places.shape[0]):
        state = states[types[places[i]] + 1]
        out[0, count], out[1, count] = places[i], state
        count += state != 0
    return count


@kernel
def search_rising(numbers: Ints, bounds: Ints, near: Ints, out: OutInts) -> None:
    """Write how many rising numbers are less than each of some bounds.

    The place is looked for as far from that of `near` as the last one was, by steps that double.
    """
    shift, size = 0, numbers.shape[0]
    for i in range(bounds.shape[0]):
        bound, step = bounds[i], 1
        low = high = min(max(near[i] + shift, 0), size)
        while high < size and numbers[high] < bound:
            low, high, step = high + 1, high + step, step << 1
        high = min(high, size)
        while low > 0 and numbers[low - 1] >= bound:
            low, high, step = max(low - step, 0), low - 1, step << 1
        while low < high:
            middle = (low + high) >> 1
            if numbers[middle] < bound:
                low = middle + 1
            else:
                high = middle
        out[i], shift = low, low - near[i]


@inlined
def any_alive(keys: AnyInts, at: int, alive: OutInts, mask: int) -> bool:
    """Whether one of the next keys is alive."""
    found = 0
    for i in range(STEP):
        found |= alive[keys[at + i] & mask]
    return found != 0


@kernel
def neighbours(
    keys: AnyInts, few: Ints, begins: Ints, ends: Ints, alive: OutInts, out: OutInts
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
            while at + STEP <= until and not any_alive(keys, at, alive, mask):
                at += STEP
            for place in range(at, min(at + STRETCH, until)):
                out[count] = place
                count += alive[keys[place] & mask] != 0
            at = min(at + STRETCH, until)
        while left < entered and ends[left] <= at:
            alive[keys[few[left]] & mask] -= 1
            left += 1
    return count
