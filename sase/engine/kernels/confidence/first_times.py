"""The probability of an order with a window or end negations that depend on the first event.

For a fixed time of the first event the probability is that of gaps; between two bounds it is a
polynomial of that time. So each piece is summed over only as many times as the degree needs, with
quadrature weights; a short piece is summed time by time.
"""

from __future__ import annotations

import numpy as np

from sase.engine.kernels.confidence.gaps import OUTSIDE, likelihood_of_gaps
from sase.engine.kernels.confidence.order import OutFloatRows, OutFloats, insert_cut
from sase.engine.kernels.jit.compiler import kernel, linked
from sase.engine.kernels.jit.signatures import Ints, OutInts
from sase.engine.kernels.sentinels import EARLIEST, LATEST

# Pieces up to this length are summed time by time, as are those too short for the degree: from a
# quarter of its square on all weights are positive, so nothing cancels.
FEW = 16
FULL = -1.0


@linked
def insert(cuts: OutInts, count: int, bound: int, low: int, high: int) -> int:
    """Insert a bound strictly between `low` and `high` into ascending ones; return their number."""
    if bound <= low or bound >= high:
        return count
    return insert_cut(cuts, count, bound)


@linked
def insert_all(
    cuts: OutInts, count: int, lo: Ints, hi: Ints, events: int, reach: int, low: int, high: int,
    behind: Ints,
) -> int:  # fmt: skip
    """Insert the bounds of events, and the times at which these come within reach.

    Negations before the first event are within reach of the last event: they move in the other
    direction.
    """
    is_before = False
    for event in range(behind.shape[0]):
        is_before = is_before or behind[event] == 0
    for event in range(events):
        for side in range(2):
            bound = lo[event] if side == 0 else hi[event] + 1
            for step in range(2):
                count = insert(cuts, count, bound + step, low, high)
                if bound >= EARLIEST + reach and (step == 0 or behind.shape[0] > 0):
                    count = insert(cuts, count, bound - reach + step, low, high)
                if is_before and bound < LATEST - reach:
                    count = insert(cuts, count, bound + reach + step, low, high)
    return count


@linked
def solve(matrix: OutFloatRows, values: OutFloats, size: int) -> None:
    """Solve linear equations in place by elimination with pivoting."""
    for column in range(size):
        best = column
        for row in range(column + 1, size):
            if abs(matrix[row, column]) > abs(matrix[best, column]):
                best = row
        if best != column:
            for each in range(size):
                kept = matrix[column, each]
                matrix[column, each] = matrix[best, each]
                matrix[best, each] = kept
            value = values[column]
            values[column] = values[best]
            values[best] = value
        for row in range(column + 1, size):
            share = matrix[row, column] / matrix[column, column]
            for each in range(column, size):
                matrix[row, each] -= share * matrix[column, each]
            values[row] -= share * values[column]
    for column in range(size - 1, -1, -1):
        for each in range(column + 1, size):
            values[column] -= matrix[column, each] * values[each]
        values[column] /= matrix[column, column]


def _nodes_of(
    length: int, degree: int, places: OutInts, weights: OutFloats, matrix: OutFloatRows
) -> int:
    """Write places below a length, and weights that sum polynomials of a degree exactly.

    In the orthonormal polynomials of the places all sums but the first vanish.
    """
    if length <= max(FEW, degree * degree // 4):
        for place in range(length):
            places[place], weights[place] = place, 1.0
        return length
    size, whole = degree + 1, float(length)
    for place in range(size):
        angle = np.pi * (place + 0.5) / size
        places[place] = int(np.rint((whole - 1.0) * (1.0 - np.cos(angle)) / 2.0))
        weights[place] = 0.0
        matrix[0, place] = 1.0 / np.sqrt(whole)
    weights[0] = np.sqrt(whole)
    norm = 0.0
    for row in range(1, size):
        next_norm = row * np.sqrt((whole**2 - row**2) / (4.0 * row**2 - 1.0)) / 2.0
        for place in range(size):
            before = matrix[row - 2, place] if row > 1 else 0.0
            centred = places[place] - (whole - 1.0) / 2.0
            matrix[row, place] = (centred * matrix[row - 1, place] - norm * before) / next_norm
        norm = next_norm
    solve(matrix, weights, size)
    return size


nodes_of, write_nodes = linked(_nodes_of), kernel(_nodes_of)


@linked
def likelihood_from(
    time: int, reach: int, lo: OutInts, hi: OutInts, last_lo: int, last_hi: int, other_lo: OutInts,
    other_hi: OutInts, kinds: OutInts, free: OutInts, ends: OutInts, asked: int, end_lo: Ints,
    end_hi: Ints, behind: Ints, cuts: OutInts, starts: OutInts, degrees: OutInts,
    placed: OutFloatRows, longer: OutFloatRows, table: OutFloatRows, moments: OutFloats,
) -> float:  # fmt: skip
    """The probability that the order holds and nothing forbids it, given the first event's time."""
    count = lo.shape[0]
    until = LATEST if time > LATEST - reach else time + reach
    lo[0], hi[0] = time, time
    share = 1.0
    if count > 1:
        if until < last_lo:
            return 0.0
        lo[count - 1], hi[count - 1] = last_lo, min(last_hi, until)
        share = (float(hi[count - 1] - last_lo) + 1.0) / (float(last_hi - last_lo) + 1.0)
    found = asked
    for event in range(end_lo.shape[0]):
        # Valid times are not before the first event, or not within reach of the last.
        far = min(end_hi[event], until if behind[event] > 0 else time - 1)
        moved = 0 if behind[event] > 0 else reach + 1
        if end_lo[event] <= far:
            other_lo[found], other_hi[found] = end_lo[event] + moved, far + moved
            kinds[found], free[found] = OUTSIDE, end_hi[event] - far
            found += 1
    ends[count] = found
    likelihood = likelihood_of_gaps(
        lo, hi, other_lo[:found], other_hi[:found], kinds, free, ends, cuts, starts, degrees,
        placed, longer, table, moments,
    )  # fmt: skip
    return FULL if likelihood < 0.0 else likelihood * share


@kernel
def likelihood_by_first_time(
    reach: int, lo: OutInts, hi: OutInts, other_lo: OutInts, other_hi: OutInts, kinds: OutInts,
    free: OutInts, ends: OutInts, asked: int, end_lo: Ints, end_hi: Ints, behind: Ints,
    pieces: OutInts, places: OutInts, weights: OutFloats, matrix: OutFloatRows, cuts: OutInts,
    starts: OutInts, degrees: OutInts, placed: OutFloatRows, longer: OutFloatRows,
    table: OutFloatRows, moments: OutFloats,
) -> float:  # fmt: skip
    """The probability that events are in order, the last within reach of the first.

    The others are as for `likelihood_of_gaps`. After them is memory for the events negated at an
    end: `behind` the last event, or before the first. Returns FULL if the segments do not fit;
    writable bounds are modified.
    """
    if reach == LATEST and end_lo.shape[0] == 0:
        return likelihood_of_gaps(
            lo, hi, other_lo, other_hi, kinds, free, ends, cuts, starts, degrees, placed, longer,
            table, moments,
        )  # fmt: skip
    count, events = lo.shape[0], lo.shape[0] + asked + end_lo.shape[0]
    first_lo, first_hi, last_lo, last_hi = lo[0], hi[0], lo[count - 1], hi[count - 1]
    total, high, ends[count] = 0.0, first_hi + 1, asked
    if end_lo.shape[0] == 0 and last_hi >= EARLIEST + reach and count > 1:
        # From this time on the last event is always within reach.
        level = max(first_lo, last_hi - reach)
        if level <= first_hi:
            lo[0], high = level, level
            total = likelihood_of_gaps(
                lo, hi, other_lo[:asked], other_hi[:asked], kinds, free, ends, cuts, starts,
                degrees, placed, longer, table, moments,
            )  # fmt: skip
            if total < 0.0:
                return FULL
            total *= float(first_hi - level) + 1.0
            lo[0] = first_lo
    parts = insert_all(pieces, 0, lo, hi, count, reach, first_lo, high, behind)
    parts = insert_all(pieces, parts, other_lo, other_hi, asked, reach, first_lo, high, behind)
    parts = insert_all(
        pieces, parts, end_lo, end_hi, end_lo.shape[0], reach, first_lo, high, behind
    )
    for part in range(parts + 1 if high > first_lo else 0):
        start = first_lo if part == 0 else pieces[part - 1]
        length = (high if part == parts else pieces[part]) - start
        of_part = 0.0
        for node in range(nodes_of(length, events + 1, places, weights, matrix)):
            found = likelihood_from(
                start + places[node], reach, lo, hi, last_lo, last_hi, other_lo, other_hi, kinds,
                free, ends, asked, end_lo, end_hi, behind, cuts, starts, degrees, placed, longer,
                table, moments,
            )  # fmt: skip
            if found < 0.0:
                return FULL
            of_part += weights[node] * found
        total += of_part
    return max(total, 0.0) / (float(first_hi - first_lo) + 1.0)
