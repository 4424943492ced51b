"""Sweep over time through the worlds of a candidate and its joint negations, state by state.

Between two bounds the possible events differ only in their order, and `L` times hold `j` of them in
a given order in C(L, j) ways. The sweep sums the probability of each state: which events have
occurred, and the progress of each sequence that would forbid the match. All terms are positive.

    a  ───────                 segments  │  │    │ │  │
    n     ──────────           states    {} → {a}, {n}, {a, n}, …
    b            ─────
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple, TypeAlias

from sase.engine.operators.imprecise.joint_candidates import JointCandidate
from sase.engine.resources import Check
from sase.errors import BudgetError

# The most states at a time.
MOST_STATES = 1 << 17
# The most simultaneous events outside of the candidate, and in a set: more events would have more
# subsets than the allowed number of states.
MOST_AT_ONCE, MOST_OF_A_SET = 16, 20
# The successors of states are kept for the next sweep: of this many states with few events.
MOST_KEPT, MOST_EVENTS = 1 << 10, 8
# The approximate bytes of a state, of the progress of an order, and of a subset of events.
STATE_BYTES, ORDER_BYTES, SUBSET_BYTES = 320, 8, 128
# The progress of an order that can no longer forbid.
OVER = -1

Progress: TypeAlias = tuple[int, ...]
# The events that have occurred, as bits, and the progress of each order.
State: TypeAlias = tuple[int, Progress]
States: TypeAlias = dict[State, float]
# Whether the gaps before the first step and behind the last are in the window.
Open: TypeAlias = tuple[bool, bool]


class _Order(NamedTuple):
    """A forbidding order, with events as bits.

    `absences` has by progress the events that may not be next.
    """

    gap: int
    events: Progress
    absences: Progress
    every: int

    def after(self, reached: int, placed: int, is_inside: bool) -> int:
        """The progress after a time at which events are placed, inside of the gap or not."""
        hits = placed & self.every
        if hits:
            return reached + 1 if is_inside and hits == self.events[reached] else OVER
        if reached and not (is_inside and placed & self.absences[reached] == 0):
            return OVER
        return reached


class JointSweep:
    """Sums the probability of a candidate's states for a window of a given reach."""

    def __init__(self, candidate: JointCandidate, reach: int, check: Check) -> None:
        self._bounds, self._reach, self._check = candidate.bounds, reach, check
        self._events = [1 << number for number in range(len(self._bounds))]
        bits = iter(self._events)
        self._steps = [_mask(next(bits) for _ in step) for step in candidate.steps]
        others = list(bits)
        self._bound = _mask(self._steps)
        self._forbids = [
            _mask(
                bit for bit, each in zip(others, candidate.others, strict=True) if gap in each.gaps
            )
            for gap in range(len(self._steps) + 1)
        ]
        self._orders = list[_Order]()
        for gap, members, absences in candidate.orders:
            events = tuple(others[event] for event in members)
            absent = (
                _mask(others[event] for at, event in absences if at == place)
                for place in range(len(events))
            )
            self._orders.append(_Order(gap, events, tuple(absent), _mask(events)))
        self._state_bytes = STATE_BYTES + ORDER_BYTES * len(self._orders)
        self._successors = dict[tuple[State, int, Open], list[tuple[State, int]]]()
        self._settled = dict[tuple[State, int], tuple[State, float]]()

    def probability(self, first: int | None, last: int | None) -> float:
        """The probability that nothing forbids the match, with fixed times of its ends if given."""
        low, high = self._within(first, last)
        if any(one > other for one, other in zip(low, high, strict=True)):
            return 0.0
        cuts = {*low, *(each + 1 for each in high)}
        if first is not None:
            cuts |= {first, first + 1, first + self._reach + 1}
        if last is not None:
            cuts |= {last - self._reach, last, last + 1}
        states: States = {(0, (0,) * len(self._orders)): 1.0}
        for begin, end in pairwise(sorted(cuts)):
            if begin == last:  # the last event has this time
                whole = len(self._steps)
                states = {
                    each: value for each, value in states.items() if self._phase(each)[0] < whole
                }
            here = over = 0
            for bit, lo, hi in zip(self._events, low, high, strict=True):
                here |= bit if lo <= begin and end <= hi + 1 else 0
                over |= bit if hi < end else 0
            is_open = (
                last is not None and begin >= last - self._reach,
                first is not None and begin <= first + self._reach,
            )
            total, states = self._grown(states, here, end - begin, is_open), {}
            for state, value in total.items():
                been = state[0]
                if over & ~been == 0 and (begin != first or been & self._steps[0]):
                    settled, share = self._settle(state, end)
                    states[settled] = states.get(settled, 0.0) + value * share
        return sum(states.values())

    def _within(self, first: int | None, last: int | None) -> tuple[list[int], list[int]]:
        """The bounds of all events; those of the steps are in the window of a fixed end."""
        low, high = [each.lo for each in self._bounds], [each.hi for each in self._bounds]
        for event in range(self._bound.bit_length()):
            if first is not None:
                low[event] = max(low[event], first)
                high[event] = min(high[event], first + self._reach)
            if last is not None:
                low[event] = max(low[event], last - self._reach)
                high[event] = min(high[event], last)
        return low, high

    def _phase(self, state: State) -> tuple[int, bool]:
        """Return the step that is next or continues in a state, and whether it continues."""
        for step, events in enumerate(self._steps):
            been = state[0] & events
            if been != events:
                return step, been != 0
        return len(self._steps), False

    def _grown(self, states: States, here: int, length: int, is_open: Open) -> States:
        """The states after a segment in which no time has events, one has, two have, and so on."""
        total, layer, times = dict(states), states, 0
        while layer and times < length:
            following: States = {}
            share = (length - times) / (times + 1)
            for state, value in layer.items():
                self._check((len(total) + len(following)) * self._state_bytes)
                value *= share
                for successor, units in self._following(state, here & ~state[0], is_open):
                    following[successor] = following.get(successor, 0.0) + value / units
                if len(following) > MOST_STATES:
                    raise BudgetError(self._too_many())
            for state, value in following.items():
                total[state] = total.get(state, 0.0) + value
            layer, times = following, times + 1
        return total

    def _following(self, state: State, free: int, is_open: Open) -> Iterable[tuple[State, int]]:
        if free.bit_count() > MOST_EVENTS:
            return self._find_successors(state, free, is_open)
        key = state, free, is_open
        found = self._successors.get(key)
        if found is None:
            found = list(self._find_successors(state, free, is_open))
            if len(self._successors) < MOST_KEPT:
                self._successors[key] = found
        return found

    def _find_successors(
        self, state: State, free: int, is_open: Open
    ) -> Iterator[tuple[State, int]]:
        """Yield the states with some of the free events at one time, and their number of worlds."""
        (step, is_begun), (been, reached) = self._phase(state), state
        in_gap = not is_begun and (0 < step < len(self._steps) or is_open[step > 0])
        own = free & self._steps[step] if step < len(self._steps) else 0
        others = free & ~self._bound
        apart = others & ~self._forbids[step] if in_gap else others
        many = (others if own else apart).bit_count() > MOST_AT_ONCE
        if many or own.bit_count() > MOST_OF_A_SET:
            raise BudgetError(self._too_many())
        alone, beside = self._subsets(apart), self._subsets(others) if own else []
        for taken, units in self._subsets(own):
            self._check(0)
            gap = step if in_gap and not taken else None
            for more, others_units in beside if taken else alone:
                placed = taken | more
                after = self._after(reached, placed, gap) if placed else None
                if after is not None:
                    yield (been | placed, after), units * others_units

    def _subsets(self, events: int) -> list[tuple[int, int]]:
        """Each subset of events, the empty one first, with its number of worlds."""
        self._check(SUBSET_BYTES << events.bit_count())
        found = [(0, 1)]
        while events:
            bit = events & -events
            size = self._bounds[bit.bit_length() - 1].size
            found += [(each | bit, units * size) for each, units in found]
            events ^= bit
        return found

    def _after(self, reached: Progress, placed: int, gap: int | None) -> Progress | None:
        """The progress of each order after a time in a gap; None if one is complete."""
        if not self._orders:
            return reached
        found = []
        for order, at in zip(self._orders, reached, strict=True):
            after = at if at == OVER else order.after(at, placed, order.gap == gap)
            if after == len(order.events):
                return None
            found.append(after)
        return tuple(found)

    def _settle(self, state: State, end: int) -> tuple[State, float]:
        """A state at the end of a segment without irrelevant parts, and the share of it."""
        found = self._settled.get((state, end))
        if found is None:
            found = self._find_settled(state, end)
            if len(self._settled) < MOST_KEPT:
                self._settled[state, end] = found
        return found

    def _find_settled(self, state: State, end: int) -> tuple[State, float]:
        (step, is_begun), (been, reached), share = self._phase(state), state, 1.0
        gap, kept = step + is_begun, list[int]()
        needed = self._bound | _mask(self._forbids[gap:])
        for order, at in zip(self._orders, reached, strict=True):
            kept.append(OVER if order.gap < gap else at)
            if kept[-1] != OVER:
                needed |= _mask(order.events[at:]) | _mask(order.absences[at:])
        for bit, each in zip(self._events, self._bounds, strict=True):
            if not (been | needed) & bit:
                share *= 1.0 if each.lo >= end else (each.hi - end + 1) / each.size
                been |= bit
        return (been, tuple(kept)), share

    def _too_many(self) -> str:
        return (
            f"the confidence of a candidate depends on the order of {len(self._bounds)} events"
            f" of it and of negative parts. More than {MOST_AT_ONCE} of these may be at one time,"
            f" or they have more than {MOST_STATES:,} states then: give the query a smaller"
            " WITHIN, or narrow the conditions of the negative parts"
        )


def _mask(parts: Iterable[int]) -> int:
    found = 0
    for each in parts:
        found |= each
    return found
