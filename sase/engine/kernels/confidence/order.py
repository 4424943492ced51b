"""The probability that events are in order, each at a time of its interval, in closed form."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from sase.engine.kernels.jit.compiler import inlined, kernel, linked
from sase.engine.kernels.jit.signatures import Ints, Layout, OutInts

# ---------------------------------------------------------------- bernstein

# With u the number of times of a segment of length L before a time, and v the number after it,
#
#     f = Σ a_j · C(u, j) · C(v, D − j) / C(L − 1, D)        u + v = L − 1
#
# A row holds the coefficients. For L = 1 it is one number; otherwise the degree D is below L.

OutFloats = Annotated[NDArray[np.float64], Layout("float64", 1, writable=True)]
OutFloatRows = Annotated[NDArray[np.float64], Layout("float64", 2, writable=True)]


@linked
def multiply(row: OutFloats, degree: int, length: int, by_u: float, by_v: float, by: float) -> int:
    """Multiply by `by_u · u + by_v · v + by`, and return the new degree."""
    if length == 1:
        row[0] *= by
        return 0
    rest = float(length - 1)
    row[degree + 1] = 0.0
    for place in range(degree, -1, -1):
        value = row[place] / (degree + 1.0)
        below = by_u * place + by_v * (rest - place) + by
        above = by_u * (rest - degree + place) + by_v * (degree - place) + by
        row[place + 1] += value * (place + 1.0) * above
        row[place] = value * (degree + 1.0 - place) * below
    return degree + 1


@linked
def sum_before(row: OutFloats, degree: int, length: int) -> int:
    """Replace the polynomial by its sum over all earlier times; return the new degree."""
    if length == 1:
        row[0] = 0.0
        return 0
    share = (length - 1.0 - degree) / (degree + 1.0)
    before = 0.0
    carried = 0.0
    for place in range(degree + 2):
        value = row[place] if place <= degree else 0.0
        row[place] = carried + before * share
        carried = 0.0
        if place <= degree:
            row[place] += before * (degree + 1.0 - place) / (degree + 1.0)
            carried = before * (place + 1.0) / (degree + 1.0)
        before += value
    return degree + 1


@linked
def total_of(row: OutFloats, degree: int, length: int) -> float:
    """Sum over all times of the segment."""
    found = 0.0
    for place in range(degree + 1):
        found += row[place]
    return found * length / (degree + 1.0)


@linked
def raised(row: OutFloats, degree: int, length: int, wanted: int) -> int:
    """Convert the polynomial to a higher degree."""
    while degree < wanted and length > 1:
        degree = multiply(row, degree, length, 0.0, 0.0, 1.0)
    return degree


@linked
def copied(row: OutFloats, to: OutFloats, degree: int, share: float) -> None:
    """Copy a polynomial, times a factor."""
    for place in range(degree + 1):
        to[place] = row[place] * share


@linked
def add(row: OutFloats, to: OutFloats, degree: int) -> None:
    """Add a polynomial of the same degree."""
    for place in range(degree + 1):
        to[place] += row[place]


# ---------------------------------------------------------------- order

# Time is cut at all bounds. Between two cuts, the number of ways to place the first events with
# the last of them at a time is a polynomial of the time since the cut. It is kept in the basis of
# binomial coefficients: there all coefficients are positive, and summing over earlier times is a
# shift, so nothing cancels. The cost depends on the number of events, not on the length of
# intervals.
#
#     events   a ├───────┤             f of a, b, c on a segment of length L that starts at s:
#              b     ├───────────┤         f(t) = Σ a_j · C(t − s, j) / L^j
#              c         ├───────────┤ f of the next event:
#     cuts     │   │   │ │ │     │   │     a'_0 = all before s / units, a'_(j+1) = a_j · L / units

# C(L, j) / L^j is at most 1 / j!, which underflows to 0 in float64 from here on.
MOST_COEFFICIENTS = 178


@inlined
def units(lo: Ints, hi: Ints, event: int) -> float:
    """The number of times of an event."""
    return float(hi[event] - lo[event]) + 1.0


@inlined
def covers(lo: Ints, hi: Ints, event: int, start: int, end: int) -> bool:
    """Whether an event's interval contains all times from `start` up to before `end`."""
    return bool(lo[event] <= start and end - 1 <= hi[event])


@linked
def is_possible(lo: Ints, hi: Ints, reach: int, earliest: OutInts) -> bool:
    """Whether in some world the events are in order, the last at most `reach` after the first.

    The intervals are narrowed by the events before, then by those behind.
    """
    count = lo.shape[0]
    earliest[0] = lo[0]
    for event in range(1, count):
        earliest[event] = max(lo[event], earliest[event - 1] + 1)
    latest = hi[count - 1]
    for event in range(count - 1, -1, -1):
        latest = min(hi[event], latest if event == count - 1 else latest - 1)
        if latest < earliest[event]:
            return False
    return bool(count - 1 <= reach and earliest[count - 1] - latest <= reach)


@inlined
def insert_cut(cuts: OutInts, count: int, bound: int) -> int:
    """Insert a bound into ascending ones unless present; return their number."""
    place = count
    while place > 0 and cuts[place - 1] > bound:
        place -= 1
    if place > 0 and cuts[place - 1] == bound:
        return count
    for later in range(count, place, -1):
        cuts[later] = cuts[later - 1]
    cuts[place] = bound
    return count + 1


@linked
def cut(lo: Ints, hi: Ints, cuts: OutInts) -> int:
    """Write the bounds of all intervals in order without duplicates; return their number."""
    found = 0
    for event in range(lo.shape[0]):
        for side in range(2):
            found = insert_cut(cuts, found, lo[event] if side == 0 else hi[event] + 1)
    return found


@linked
def place_in_order(
    lo: Ints, hi: Ints, first: int, bounds: OutInts, segments: int, counts: OutInts,
    values: OutFloats, weights: OutFloats, sums: OutFloats,
) -> None:  # fmt: skip
    """Place the events from `first` on between bounds, one strictly after another.

    `sums[n]` is the probability that those before event n are there, in order.
    """
    last = lo.shape[0]
    width = min(last, MOST_COEFFICIENTS)
    for segment in range(segments):
        length = float(bounds[segment + 1] - bounds[segment])
        counts[segment] = 0
        weight = length
        for place in range(width):
            weights[segment * width + place] = weight
            weight *= max(length - place - 1.0, 0.0) / (length * (place + 2.0))
    sums[first] = 1.0
    for event in range(first, last + 1):
        total = 1.0 if event == first else 0.0
        for segment in range(segments):
            base, count, added = segment * width, counts[segment], 0.0
            start, end = bounds[segment], bounds[segment + 1]
            if event < last and covers(lo, hi, event, start, end):
                ratio = float(end - start) / units(lo, hi, event)
                for place in range(count - 1, -1, -1):
                    value = values[base + place]
                    added += value * weights[base + place]
                    if place + 1 < width:
                        values[base + place + 1] = value * ratio
                values[base] = total / units(lo, hi, event)
                counts[segment] = min(count + 1, width)
            else:
                for place in range(count - 1, -1, -1):
                    added += values[base + place] * weights[base + place]
                counts[segment] = 0
            total += added
        if event > first:
            sums[event] = total


@linked
def chosen(lo: Ints, hi: Ints, length: int, head: int, tail: int) -> float:
    """The probability of the first `head` and last `tail` events in windows of one length.

    The first event is anywhere in a stretch, the others of the head behind it, and the tail in the
    stretch one window later, up to the same place: Σ C(L − 1 − x, head − 1) · C(x + 1, tail).
    """
    size = float(length) if tail == 0 else length + 1.0
    found, last = 1.0, lo.shape[0]
    for number in range(head + tail):
        event = number if number < head else last - tail + number - head
        found *= max(size - number, 0.0) / ((number + 1.0) * units(lo, hi, event))
    return found


@linked
def within_one_segment(
    lo: Ints, hi: Ints, starts: int, reach: int, segment_start: int, segment_end: int
) -> float:
    """The probability that all events are in one segment, the first at one of `starts` times."""
    found = float(starts) / units(lo, hi, 0)
    for event in range(lo.shape[0]):
        if not covers(lo, hi, event, segment_start, segment_end):
            return 0.0
        if event > 0:
            found *= max(float(reach) - event + 1.0, 0.0) / (event * units(lo, hi, event))
    return found


@linked
def from_stretch(
    lo: Ints, hi: Ints, reach: int, start: int, end: int, cuts: OutInts, bounds: OutInts,
    counts: OutInts, values: OutFloats, weights: OutFloats, sums: OutFloats,
) -> float:  # fmt: skip
    """The probability that the first event is in a stretch, and all others within its reach.

    Neither the stretch nor the one `reach` later has a cut inside, and they do not overlap.
    """
    last, segments = lo.shape[0], 0
    bounds[0] = end
    for number in range(cuts.shape[0]):
        if cuts[number] > end and cuts[number] < start + reach:
            segments += 1
            bounds[segments] = cuts[number]
    if start + reach > end:
        segments += 1
        bounds[segments] = start + reach
    most = 0
    while most < last - 1 and covers(lo, hi, last - 1 - most, start + reach, end + reach):
        most += 1
    found, head = 0.0, 1
    while head <= last and covers(lo, hi, head - 1, start, end):
        place_in_order(lo, hi, head, bounds, segments, counts, values, weights, sums)
        for tail in range(min(most, last - head) + 1):
            between = sums[last - tail]
            if between > 0.0:
                found += between * chosen(lo, hi, end - start, head, tail)
        head += 1
    return found


def _order_probability(
    lo: Ints, hi: Ints, reach: int, cuts: OutInts, bounds: OutInts, counts: OutInts,
    values: OutFloats, weights: OutFloats, sums: OutFloats,
) -> float:  # fmt: skip
    """The probability that events are in order, the last at most `reach` after the first."""
    last = lo.shape[0]
    if not is_possible(lo, hi, reach, counts):
        return 0.0
    found = cut(lo, hi, cuts)
    if last == 1:
        return 1.0
    if hi[last - 1] - lo[0] <= reach:
        place_in_order(lo, hi, 0, cuts, found - 1, counts, values, weights, sums)
        return min(float(sums[last]), 1.0)
    total, start, segment, later = 0.0, lo[0], 0, 0
    while start <= hi[0]:
        while cuts[segment + 1] <= start:
            segment += 1
        while later < found and cuts[later] - reach <= start:
            later += 1
        end = cuts[segment + 1]
        if later < found:
            end = min(end, cuts[later] - reach)
        if end + reach <= cuts[segment + 1]:
            total += within_one_segment(
                lo, hi, end - start, reach, cuts[segment], cuts[segment + 1]
            )
        else:
            total += from_stretch(
                lo, hi, reach, start, end, cuts[:found], bounds, counts, values, weights, sums
            )
        start = end
    return min(total, 1.0)


order_probability, probability_of_order = kernel(_order_probability), linked(_order_probability)
