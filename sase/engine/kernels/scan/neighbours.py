"""Find the events near some few events: in a range around one of these, and of its key."""

from __future__ import annotations

from sase.engine.kernels.jit.compiler import inlined, kernel
from sase.engine.kernels.jit.signatures import AnyInts, FewCodes, Ints, OutIntRows, OutInts

# Types compared at once; keys looked up at once; events copied at once near a hit, most of them
# without use.
LINE, STEP, STRETCH = 128, 8, 64


@kernel
def places_of(types: FewCodes, codes: FewCodes, out: OutInts) -> int:
    """Write the places of events of some types; return how many, or one more than there is room.

    `types` and `codes` have one number type, so that a line of types is compared by few
    instructions.
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
    """Write the places of events with a state, and that state; return how many."""
    count = 0
    for i in range(places.shape[0]):
        state = states[types[places[i]] + 1]
        out[0, count], out[1, count] = places[i], state
        count += state != 0
    return count


@kernel
def search_rising(numbers: Ints, bounds: Ints, near: Ints, out: OutInts) -> None:
    """Write how many of the rising `numbers` are less than each bound.

    The search begins as far from `near` as the last result was, with steps that double.
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
    """Whether one of the next `STEP` keys is alive."""
    found = 0
    for i in range(STEP):
        found |= alive[keys[at + i] & mask]
    return found != 0


@kernel
def neighbours(
    keys: AnyInts, few: Ints, begins: Ints, ends: Ints, alive: OutInts, out: OutInts
) -> int:
    """Write the places of the events near one of the few; return how many. Needs room for one more.

    The ranges around the few begin and end in order. `alive` counts the open ranges by key modulo
    its size, so an event of another key may be written, too; none of the same key is missed.
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
