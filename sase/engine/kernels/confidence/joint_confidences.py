"""The probability of candidates that events may forbid jointly: sums of sweeps.

A window, or a negation at an end, depends on the time of the first event, the last, or both. The
probability is summed over these times; each piece between two bounds needs only as many times as
the degree of its polynomial. All weights are positive.
"""

from __future__ import annotations

from typing import NamedTuple

from sase.engine.kernels.confidence.bernstein import OutFloatRows, OutFloats
from sase.engine.kernels.confidence.first_times import insert, nodes_of
from sase.engine.kernels.confidence.joint_candidates import (
    GAP,
    IN_GAP,
    STEPS,
    JointCandidates,
    bounds_of_step,
    candidate_of,
    earlier,
    is_forbidden,
    later,
)
from sase.engine.kernels.confidence.joint_states import (
    DONE,
    FIRST,
    FRESH,
    HAS_FIRST,
    HAS_LAST,
    LAST,
    LAYER,
    POSITION,
    REACH,
    SEGMENT,
    Sweep,
    write_masks,
)
from sase.engine.kernels.confidence.joint_sweep import sweep_time
from sase.engine.kernels.confidence.sweep_states import total_of_states
from sase.engine.kernels.jit.compiler import kernel, linked
from sase.engine.kernels.jit.signatures import OutIntRows
from sase.engine.kernels.sentinels import EARLIEST, LATEST

# Fields of the position: the current candidate, and whether it is begun; whether it has a single
# event; whether the times of the first event are summed over, and those of the last.
NUMBER, IS_BEGUN, IS_ONE, BY_FIRST, BY_LAST = range(POSITION, POSITION + 5)
PLACES = POSITION + 5
# For the times of the first event, and of the last: begin, end, number of pieces, number of times
# in a piece, current piece, current time.
OUTER, INNER = 0, 1
LOW, END, PIECES, NODES, PIECE, NODE = range(6)
TIMES_OF = 6


class TimeSums(NamedTuple):
    """The sums over the times of the first event and of the last, a row for each."""

    at: OutIntRows
    bounds: OutIntRows
    places: OutIntRows
    weights: OutFloatRows
    matrix: OutFloatRows
    # The sum so far.
    total: OutFloats


@linked
def degree_of(one: JointCandidates) -> int:
    """The degree of the probability as a polynomial of an end's time."""
    degree = 0
    for event in range(one.lo.shape[0]):
        degree += one.lo[event] < one.hi[event]
    return degree


@linked
def open_piece(one: JointCandidates, sums: TimeSums, level: int, piece: int) -> None:
    """Begin with the times of a piece."""
    at = sums.at[level]
    start, end = piece_bounds(sums, level, piece)
    at[PIECE], at[NODE] = piece, 0
    at[NODES] = nodes_of(
        end - start, degree_of(one), sums.places[level], sums.weights[level], sums.matrix
    )


@linked
def piece_bounds(sums: TimeSums, level: int, piece: int) -> tuple[int, int]:
    """Return the begin and end of a piece."""
    at = sums.at[level]
    start = at[LOW] if piece == 0 else sums.bounds[level, piece - 1]
    end = at[END] if piece + 1 == at[PIECES] else sums.bounds[level, piece]
    return start, end


@linked
def open_times(
    one: JointCandidates, sums: TimeSums, level: int, low: int, high: int, reach: int,
    first: int, back: bool, on: bool,
) -> None:  # fmt: skip
    """Cut times at the bounds of events, and at those shifted by the reach; begin with the first.

    They are also cut around the time of the first event, unless that is `EARLIEST`.
    """
    at, count, bounds = sums.at[level], 0, sums.bounds[level]
    at[LOW], at[END], at[PIECES] = low, high + 1, 0
    if low > high:
        return
    for event in range(one.lo.shape[0]):
        for side in range(2):
            bound = one.lo[event] if side == 0 else one.hi[event] + 1
            count = insert(bounds, count, bound, low, high + 1)
            if back and bound >= EARLIEST + reach:
                count = insert(bounds, count, bound - reach, low, high + 1)
            if on and bound <= LATEST - reach:
                count = insert(bounds, count, bound + reach, low, high + 1)
    if first > EARLIEST:
        count = insert(bounds, count, first, low, high + 1)
        count = insert(bounds, count, first + 1, low, high + 1)
    at[PIECES] = count + 1
    open_piece(one, sums, level, 0)


@linked
def open_nothing(sums: TimeSums, level: int) -> None:
    """Begin with one dummy time, which fixes nothing."""
    at = sums.at[level]
    at[LOW], at[END], at[PIECES], at[NODES], at[PIECE], at[NODE] = 0, 1, 1, 1, 0, 0
    sums.places[level, 0], sums.weights[level, 0] = 0, 1.0


@linked
def open_first(one: JointCandidates, sweep: Sweep, sums: TimeSums) -> None:
    """Begin with the times of the first event."""
    at = sweep.at
    if not at[BY_FIRST]:
        open_nothing(sums, OUTER)
        return
    low, high, _, _ = bounds_of_step(one, 0)
    by_last = at[BY_LAST] or at[IS_ONE]
    open_times(one, sums, OUTER, low, high, at[REACH], EARLIEST, True, by_last)


@linked
def open_last(one: JointCandidates, sweep: Sweep, sums: TimeSums) -> None:
    """Begin with the times of the last event, those of the first being fixed."""
    at = sweep.at
    if not at[BY_LAST]:
        open_nothing(sums, INNER)
        return
    _, _, low, high = bounds_of_step(one, one.heads[0, STEPS] - 1)
    first = EARLIEST
    if at[BY_FIRST]:
        first = time_of(sums, OUTER)
        low, high = max(low, first), min(high, later(first, at[REACH]))
    open_times(one, sums, INNER, low, high, at[REACH], first, False, True)


@linked
def time_of(sums: TimeSums, level: int) -> int:
    """The current time."""
    start, _ = piece_bounds(sums, level, sums.at[level, PIECE])
    return int(start + sums.places[level, sums.at[level, NODE]])


@linked
def go_on(one: JointCandidates, sweep: Sweep, sums: TimeSums) -> bool:
    """Move to the next pair of times; return whether there is one."""
    level = INNER
    while level >= OUTER:
        at = sums.at[level]
        if at[PIECES] > 0 and at[NODE] + 1 < at[NODES]:
            at[NODE] += 1
        elif at[PIECE] + 1 < at[PIECES]:
            open_piece(one, sums, level, at[PIECE] + 1)
        else:
            level -= 1
            continue
        if level == INNER:
            return True
        open_last(one, sweep, sums)
        if sums.at[INNER, PIECES] > 0:
            return True
    return False


@linked
def begin_candidate(one: JointCandidates, sweep: Sweep, sums: TimeSums) -> bool:
    """Begin with a candidate; return whether there is a time to sum over."""
    at, last = sweep.at, one.heads[0, STEPS] - 1
    write_masks(one, sweep)
    is_before = is_behind = False
    for number in range(one.gaps.shape[0]):
        is_before = is_before or one.gaps[number, IN_GAP] == 0
        is_behind = is_behind or one.gaps[number, IN_GAP] == last + 1
    for number in range(one.orders.shape[0]):
        is_before = is_before or one.orders[number, GAP] == 0
        is_behind = is_behind or one.orders[number, GAP] == last + 1
    begin, _, _, _ = bounds_of_step(one, 0)
    _, _, _, over = bounds_of_step(one, last)
    is_one = last == 0 and (one.lo.shape[0] == 1 or one.step[1] != 0)
    is_near = begin >= earlier(over, at[REACH])
    at[IS_ONE] = is_one
    at[BY_FIRST] = is_behind or (is_before and is_one) or not (is_near or is_before)
    at[BY_LAST] = is_before and not is_one
    sums.total[0] = 0.0
    open_first(one, sweep, sums)
    open_last(one, sweep, sums)
    at[SEGMENT], at[IS_BEGUN] = FRESH, 1
    return bool(sums.at[INNER, PIECES] > 0) or go_on(one, sweep, sums)


@linked
def fix_ends(sweep: Sweep, sums: TimeSums) -> None:
    """Fix the times of the first and last event to the current ones."""
    at = sweep.at
    at[HAS_FIRST], at[HAS_LAST] = at[BY_FIRST], at[BY_LAST]
    at[FIRST], at[LAST] = time_of(sums, OUTER), time_of(sums, INNER)
    if at[IS_ONE]:
        at[HAS_LAST], at[LAST] = at[HAS_FIRST], at[FIRST]


@kernel
def joint_confidences(every: JointCandidates, sweep: Sweep, sums: TimeSums, out: OutFloats) -> int:
    """Write the confidences of candidates, from the last stop on; return why it stops.

    If states need more memory, the current sweep restarts.
    """
    at = sweep.at
    while at[NUMBER] < out.shape[0]:
        one = candidate_of(every, at[NUMBER])
        if not at[IS_BEGUN] and is_forbidden(one, at[REACH]):
            out[at[NUMBER]] = 0.0
            at[NUMBER] += 1
            continue
        is_left = at[IS_BEGUN] or begin_candidate(one, sweep, sums)
        while is_left:
            if at[SEGMENT] == FRESH:
                fix_ends(sweep, sums)
            why = sweep_time(one, sweep)
            if why != DONE:
                return why
            weight = 1.0
            for level in (OUTER, INNER):
                weight *= sums.weights[level, sums.at[level, NODE]]
            sums.total[0] += weight * total_of_states(sweep.sets, at[LAYER])
            at[SEGMENT] = FRESH
            is_left = go_on(one, sweep, sums)
        out[at[NUMBER]] = min(sums.total[0], 1.0)
        at[NUMBER] += 1
        at[IS_BEGUN] = 0
    return DONE
