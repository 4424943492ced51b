"""The probability of an order with other events inside or outside of its gaps, in closed form.

The events of a set lie between their neighbours; an event that would forbid a match lies outside of
its gap. For neighbours at times s < t the number of valid times of such an event is linear in s and
t, on every pair of segments between two bounds. So the probability of all events up to one is a
polynomial of that event's time on each segment; its degree is the number of events so far. Segments
not longer than that are handled time by time.
"""

from __future__ import annotations

from sase.engine.kernels.confidence.order import (
    OutFloatRows,
    OutFloats,
    add,
    copied,
    insert_cut,
    multiply,
    raised,
    sum_before,
    total_of,
)
from sase.engine.kernels.jit.compiler import inlined, linked
from sase.engine.kernels.jit.signatures import Ints, OutInts

# Where another event of a gap must be: between the neighbours, or outside. The flags allow it at
# the time of the event behind the gap, or before the gap.
BETWEEN, OUTSIDE, OR_WITH_NEXT, OR_WITH_LAST = 0, 1, 2, 4


@inlined
def times_before(lo: int, hi: int, bound: int) -> float:
    """The number of times of an interval before a bound."""
    return float(max(min(bound, hi + 1) - lo, 0))


@linked
def segments_of(
    lo: Ints,
    hi: Ints,
    other_lo: Ints,
    other_hi: Ints,
    cuts: OutInts,
    shortest: int,
    starts: OutInts,
) -> int:
    """Write the segments that an event of the order covers, short ones time by time.

    Return -1 if they do not fit.
    """
    count = 0
    for number in range(lo.shape[0] + other_lo.shape[0]):
        for side in range(2):
            if number < lo.shape[0]:
                bound = lo[number] if side == 0 else hi[number] + 1
            else:
                place = number - lo.shape[0]
                bound = other_lo[place] if side == 0 else other_hi[place] + 1
            count = insert_cut(cuts, count, bound)
    found = 0
    for number in range(count - 1):
        start, end = cuts[number], cuts[number + 1]
        is_covered = False
        for event in range(lo.shape[0]):
            is_covered = is_covered or (lo[event] <= start and end - 1 <= hi[event])
        if is_covered:
            pieces = end - start if end - start <= shortest else 1
            if 2 * (found + pieces) > starts.shape[0]:
                return -1
            for piece in range(pieces):
                starts[2 * found] = start + piece
                starts[2 * found + 1] = start + piece + 1 if pieces > 1 else end
                found += 1
    return found


@inlined
def covers(lo: int, hi: int, start: int, end: int) -> bool:
    """Whether an interval contains all times from `start` up to before `end`."""
    return lo <= start and end - 1 <= hi


@linked
def at_the_end(
    row: OutFloats, degree: int, start: int, end: int, other_lo: Ints, other_hi: Ints,
    kinds: Ints, free: Ints, begin: int, stop: int, is_first: bool,
) -> int:  # fmt: skip
    """Apply the events of the gap before the first event of the order, or behind the last one."""
    length = end - start
    for other in range(begin, stop):
        lo, hi = other_lo[other], other_hi[other]
        size = float(hi - lo) + 1.0 + free[other]
        inside = 1.0 if covers(lo, hi, start, end) else 0.0
        is_outside = kinds[other] & OUTSIDE > 0
        may_tie = is_outside or kinds[other] & (OR_WITH_NEXT if is_first else OR_WITH_LAST) > 0
        by = inside if may_tie else 0.0
        if is_first != is_outside:
            by += times_before(lo, hi, start) + free[other]
            degree = multiply(row, degree, length, inside / size, 0.0, by / size)
        else:
            by += size - times_before(lo, hi, end)
            degree = multiply(row, degree, length, 0.0, inside / size, by / size)
    return degree


@linked
def moments_of(
    row: OutFloats, degree: int, length: int, between: int, outside: int, room: OutFloatRows,
    moments: OutFloats, base: int,
) -> None:  # fmt: skip
    """Sum a polynomial times powers of v and u, up to the number of events of each kind."""
    copied(row, room[0], degree, 1.0)
    first = degree
    for power in range(between + 1):
        copied(room[0], room[1], first, 1.0)
        second = first
        for other in range(outside + 1):
            moments[base + power * (outside + 1) + other] = total_of(room[1], second, length)
            if other < outside:
                second = multiply(room[1], second, length, 1.0, 0.0, 0.0)
        if power < between:
            first = multiply(room[0], first, length, 0.0, 1.0, 0.0)


@linked
def from_an_earlier_segment(
    starts: OutInts, earlier: int, segment: int, other_lo: Ints, other_hi: Ints, kinds: Ints,
    free: Ints, begin: int, stop: int, between: int, outside: int, moments: OutFloats, base: int,
    table: OutFloatRows, spare: OutFloats,
) -> int:  # fmt: skip
    """Write in `table[0]` the probability with the previous event in an earlier segment."""
    start, end = starts[2 * segment], starts[2 * segment + 1]
    before, until = starts[2 * earlier], starts[2 * earlier + 1]
    length, degree, width = end - start, 0, outside + 1
    for place in range((between + 1) * width):
        table[place, 0] = moments[base + place]
    left, right = between, outside
    for other in range(begin, stop):
        lo, hi = other_lo[other], other_hi[other]
        size = float(hi - lo) + 1.0 + free[other]
        here = 1.0 if covers(lo, hi, start, end) else 0.0
        there = 1.0 if covers(lo, hi, before, until) else 0.0
        if kinds[other] & OUTSIDE == 0:
            left -= 1
            step, by_u, by_v = width, here, 0.0
            by = times_before(lo, hi, start) - times_before(lo, hi, until)
            by += here if kinds[other] & OR_WITH_NEXT > 0 else 0.0
            by += there if kinds[other] & OR_WITH_LAST > 0 else 0.0
        else:
            right -= 1
            step, by_u, by_v = 1, 0.0, here
            by = times_before(lo, hi, before) + size - times_before(lo, hi, end) + here + there
        grown = degree
        for power in range(left + 1):
            for second in range(right + 1):
                place = power * width + second
                grown = multiply(table[place], degree, length, by_u / size, by_v / size, by / size)
                if there > 0.0:
                    copied(table[place + step], spare, degree, 1.0 / size)
                    multiply(spare, degree, length, 0.0, 0.0, 1.0)
                    add(spare, table[place], grown)
        degree = grown
    return degree


@linked
def from_the_same_segment(
    row: OutFloats, degree: int, start: int, end: int, other_lo: Ints, other_hi: Ints, kinds: Ints,
    free: Ints, begin: int, stop: int, table: OutFloatRows, spare: OutFloats, powers: OutFloats,
) -> int:  # fmt: skip
    """Write in `table[0]` the probability with the previous event in this segment, or return -1."""
    length, between, outside, share = end - start, 0, 0, 1.0
    powers[0] = 1.0
    for other in range(begin, stop):
        lo, hi = other_lo[other], other_hi[other]
        inside = covers(lo, hi, start, end)
        if kinds[other] & OUTSIDE == 0:
            if not inside:
                return -1
            ties = float((kinds[other] & OR_WITH_NEXT) // 2 + (kinds[other] & OR_WITH_LAST) // 4)
            powers[between + 1] = 0.0
            for place in range(between, -1, -1):
                powers[place + 1] += powers[place] * (place + 1.0)
                powers[place] *= place + ties
            between += 1
            share /= float(hi - lo) + 1.0
        elif inside:
            outside += 1
    for power in range(outside + 1):
        copied(row, spare, degree, share)
        low = degree
        for _ in range(power):
            low = multiply(spare, low, length, 1.0, 0.0, 0.0)
        copied(spare, table[power], low, powers[between])
        high = low
        for place in range(between - 1, -1, -1):
            high = sum_before(table[power], high, length)
            low = multiply(spare, low, length, 0.0, 0.0, 1.0)
            for each in range(high + 1):
                table[power, each] += spare[each] * powers[place]
        sum_before(table[power], high, length)
    grown = degree + between + 1
    for other in range(begin, stop):
        lo, hi = other_lo[other], other_hi[other]
        if kinds[other] & OUTSIDE > 0 and covers(lo, hi, start, end):
            outside -= 1
            size = float(hi - lo) + 1.0 + free[other]
            for power in range(outside + 1):
                by = size - length + 2.0
                multiply(table[power], grown + power, length, 0.0, 1.0 / size, by / size)
                for each in range(grown + power + 2):
                    table[power, each] += table[power + 1, each] / size
            grown += 1
    return grown


@linked
def up_to_a_segment(
    segment: int, starts: OutInts, degrees: OutInts, placed: OutFloatRows, row: OutFloats,
    other_lo: Ints, other_hi: Ints, kinds: Ints, free: Ints, begin: int, stop: int, between: int,
    wanted: int, moments: OutFloats, table: OutFloatRows,
) -> None:  # fmt: skip
    """Write the probability of the events before, for each time of a segment, in a degree."""
    spare, powers = table[table.shape[0] - 1], table[table.shape[0] - 2]
    start, end = starts[2 * segment], starts[2 * segment + 1]
    length, outside = end - start, stop - begin - between
    size = (between + 1) * (outside + 1)
    degree = stop - begin if length > 1 else 0
    for place in range(degree + 1):
        row[place] = 0.0
    for earlier in range(segment):
        if degrees[earlier] >= 0:
            from_an_earlier_segment(
                starts, earlier, segment, other_lo, other_hi, kinds, free, begin, stop, between,
                outside, moments, earlier * size, table, spare,
            )  # fmt: skip
            add(table[0], row, degree)
    degree = raised(row, degree, length, wanted)
    if degrees[segment] >= 0 and length > 1:
        found = from_the_same_segment(
            placed[segment], degrees[segment], start, end, other_lo, other_hi, kinds, free, begin,
            stop, table, spare, powers,
        )  # fmt: skip
        if found >= 0:
            raised(table[0], found, length, wanted)
            add(table[0], row, degree)


@linked
def place_next(
    lo: int, hi: int, segments: int, starts: OutInts, degrees: OutInts, placed: OutFloatRows,
    longer: OutFloatRows, other_lo: Ints, other_hi: Ints, kinds: Ints, free: Ints, begin: int,
    stop: int, wanted: int, moments: OutFloats, table: OutFloatRows,
) -> None:  # fmt: skip
    """Add the next event of the order after those placed."""
    between = 0
    for other in range(begin, stop):
        between += 1 - (kinds[other] & OUTSIDE)
    outside = stop - begin - between
    for segment in range(segments):
        if degrees[segment] >= 0:
            moments_of(
                placed[segment], degrees[segment],
                starts[2 * segment + 1] - starts[2 * segment], between, outside, table, moments,
                segment * (between + 1) * (outside + 1),
            )  # fmt: skip
    for segment in range(segments):
        if covers(lo, hi, starts[2 * segment], starts[2 * segment + 1]):
            up_to_a_segment(
                segment, starts, degrees, placed, longer[segment], other_lo, other_hi, kinds, free,
                begin, stop, between, wanted, moments, table,
            )  # fmt: skip
    for segment in range(segments):
        start, end = starts[2 * segment], starts[2 * segment + 1]
        degrees[segment] = -1
        if covers(lo, hi, start, end):
            degrees[segment] = wanted if end - start > 1 else 0
            share = 1.0 / (float(hi - lo) + 1.0)
            copied(longer[segment], placed[segment], degrees[segment], share)


@linked
def likelihood_of_gaps(
    lo: Ints, hi: Ints, other_lo: Ints, other_hi: Ints, kinds: Ints, free: Ints, ends: Ints,
    cuts: OutInts, starts: OutInts, degrees: OutInts, placed: OutFloatRows, longer: OutFloatRows,
    table: OutFloatRows, moments: OutFloats,
) -> float:  # fmt: skip
    """The probability that events are in order, with others inside or outside of gaps.

    `ends[n]` is the end of the events for the gap before event n; the last gap is behind the last
    event. Returns -1 if the segments do not fit.
    """
    last, others = lo.shape[0], other_lo.shape[0]
    segments = segments_of(lo, hi, other_lo, other_hi, cuts, last + others + 1, starts)
    if segments < 0:
        return -1.0
    for segment in range(segments):
        start, end = starts[2 * segment], starts[2 * segment + 1]
        degrees[segment] = -1
        if covers(lo[0], hi[0], start, end):
            placed[segment, 0] = 1.0 / (float(hi[0] - lo[0]) + 1.0)
            degrees[segment] = at_the_end(
                placed[segment], 0, start, end, other_lo, other_hi, kinds, free, 0, ends[0], True
            )
    for event in range(1, last):
        place_next(
            lo[event], hi[event], segments, starts, degrees, placed, longer, other_lo, other_hi,
            kinds, free, ends[event - 1], ends[event], event + ends[event], moments, table,
        )  # fmt: skip
    total = 0.0
    for segment in range(segments):
        if degrees[segment] >= 0:
            start, end = starts[2 * segment], starts[2 * segment + 1]
            degree = at_the_end(
                placed[segment], degrees[segment], start, end, other_lo, other_hi, kinds, free,
                ends[last - 1], others, False,
            )  # fmt: skip
            total += total_of(placed[segment], degree, end - start)
    return min(total, 1.0)
