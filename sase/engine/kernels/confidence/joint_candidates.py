"""Arrays of candidates of imprecise time with the events that may forbid them jointly.

Events of a candidate are numbered, the bound ones first, step by step. A gap is identified by the
number of steps before it.
"""

from __future__ import annotations

from typing import NamedTuple

from sase.engine.kernels.jit.compiler import inlined, linked
from sase.engine.kernels.jit.signatures import OutIntRows, OutInts
from sase.engine.kernels.sentinels import EARLIEST, LATEST

# Fields of a candidate: the number of steps, and the ends of its events, gaps, orders, members and
# absences in the arrays of all.
STEPS, EVENTS_END, GAPS_END, ORDERS_END, MEMBERS_END, ABSENCES_END = range(6)
HEAD = 6
# Fields of an event that forbids alone: its number, and its gap.
WHICH, IN_GAP = range(2)
# Fields of an order: its gap, and the ranges of its members and absences in the candidate's.
GAP, FIRST_MEMBER, LAST_MEMBER, FIRST_ABSENCE, LAST_ABSENCE = range(5)
ORDER = 5
# Fields of an absence: the number of members before it, and the event.
PLACE, ABSENT = range(2)
# The step of an event that is not bound.
UNBOUND = -1


class JointCandidates(NamedTuple):
    """Several candidates in shared arrays; a single one needs no heads."""

    heads: OutIntRows
    lo: OutInts
    hi: OutInts
    step: OutInts
    gaps: OutIntRows
    orders: OutIntRows
    members: OutInts
    absences: OutIntRows


@linked
def candidate_of(every: JointCandidates, number: int) -> JointCandidates:
    """Return one of many candidates."""
    events = gaps = orders = members = absences = 0
    if number > 0:
        before = every.heads[number - 1]
        events, gaps, orders = before[EVENTS_END], before[GAPS_END], before[ORDERS_END]
        members, absences = before[MEMBERS_END], before[ABSENCES_END]
    head = every.heads[number]
    return JointCandidates(
        every.heads[number : number + 1],
        every.lo[events : head[EVENTS_END]],
        every.hi[events : head[EVENTS_END]],
        every.step[events : head[EVENTS_END]],
        every.gaps[gaps : head[GAPS_END]],
        every.orders[orders : head[ORDERS_END]],
        every.members[members : head[MEMBERS_END]],
        every.absences[absences : head[ABSENCES_END]],
    )


@inlined
def later(time: int, by: int) -> int:
    """A time plus a distance, saturated."""
    return LATEST if time > LATEST - by else time + by


@inlined
def earlier(time: int, by: int) -> int:
    """A time minus a distance, saturated."""
    return EARLIEST if time < EARLIEST + by else time - by


@linked
def bounds_of_step(one: JointCandidates, step: int) -> tuple[int, int, int, int]:
    """Return the first and last begin, and the first and last end, of a step's events."""
    first, first_over, last_begin, last = LATEST, LATEST, EARLIEST, EARLIEST
    for event in range(one.step.shape[0]):
        if one.step[event] == step:
            first, first_over = min(first, one.lo[event]), min(first_over, one.hi[event])
            last_begin, last = max(last_begin, one.lo[event]), max(last, one.hi[event])
    return first, first_over, last_begin, last


@linked
def bounds_of_gap(one: JointCandidates, gap: int, reach: int) -> tuple[int, int]:
    """Return the first and last time that is in a gap in every world."""
    steps = one.heads[0, STEPS]
    _, _, _, over = bounds_of_step(one, gap - 1 if gap > 0 else steps - 1)
    begin, _, _, _ = bounds_of_step(one, gap if gap < steps else 0)
    low = over + 1 if gap > 0 else earlier(over, reach)
    high = begin - 1 if gap < steps else later(begin, reach)
    return low, high


@linked
def is_forbidden(one: JointCandidates, reach: int) -> bool:
    """Whether an event, or an order without absences, lies in its gap in every world."""
    for place in range(one.gaps.shape[0]):
        event = one.gaps[place, WHICH]
        low, high = bounds_of_gap(one, one.gaps[place, IN_GAP], reach)
        if low <= one.lo[event] and one.hi[event] <= high:
            return True
    for number in range(one.orders.shape[0]):
        order = one.orders[number]
        if order[FIRST_ABSENCE] < order[LAST_ABSENCE]:
            continue
        low, high = bounds_of_gap(one, order[GAP], reach)
        is_sure = True
        for place in range(order[FIRST_MEMBER], order[LAST_MEMBER]):
            event = one.members[place]
            is_sure = is_sure and low <= one.lo[event]
            low = one.hi[event] + 1
        if is_sure and low - 1 <= high:
            return True
    return False
