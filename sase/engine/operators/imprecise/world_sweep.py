"""Time swept over the worlds of a candidate and of what may forbid it jointly, state by state.

Between two bounds of intervals the events that may be there are all alike but for their order, and
`L` times hold `j` of them in a given order in C(L, j) ways. What is summed up is the probability of
each state: which events have been, and how far each sequence that would forbid the match has come.
All terms are positive.

    a  ───────                 segments  │  │    │ │  │
    n     ──────────           states    {} → {a}, {n}, {a, n}, …
    b            ─────
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from sase.binding.folding import INT64_MAX
from sase.engine.operators.imprecise.candidate_confidence import TimeBounds
from sase.engine.resources import Check
from sase.errors import BudgetError

# The most states that are known at a time.
MOST_STATES = 1 << 17
# The most events beside the candidate's that may be at one time.
MOST_AT_ONCE = 16
OVER = -1


class JointEvent(NamedTuple):
    """An event that is not in the match, and the gaps in which it forbids it by itself.

    A gap is named by the number of steps before it.
    """

    interval: TimeBounds
    gaps: frozenset[int] = frozenset()


class ForbiddingOrder(NamedTuple):
    """Events that forbid a match in this order in a gap, and those that keep them from it.

    Each of `absences` is the number of events before its place, and an event.
    """

    gap: int
    events: tuple[int, ...]
    absences: tuple[tuple[int, int], ...] = ()


class Fixed(NamedTuple):
    """The times of the first and the last event of a match, where they are fixed."""

    first: int | None = None
    last: int | None = None


# Which events have been, and how many of each order; OVER where it cannot forbid any more.
State = tuple[int, tuple[int, ...]]


class Sweep:
    """A candidate and all that may forbid it, swept for one or more times of its ends.

    Events are numbered, those of the candidate first; sets of them are masks.
    """

    def __init__(
        self,
        reach: int,
        steps: Sequence[Sequence[TimeBounds]],
        others: Sequence[JointEvent],
        orders: Sequence[ForbiddingOrder],
        check: Check,
    ) -> None:
        self._reach, self._check, self._last = reach, check, len(steps) - 1
        own = [each for step in steps for each in step]
        self._bounds = [*own, *(each.interval for each in others)]
        self._step_of = [number for number, step in enumerate(steps) for _ in step]
        self._steps = [0] * len(steps)
        for event, step in enumerate(self._step_of):
            self._steps[step] |= 1 << event
        self._own = (1 << len(own)) - 1
        self._forbids = [0] * (len(steps) + 1)
        for event, other in enumerate(others, len(own)):
            for gap in other.gaps:
                self._forbids[gap] |= 1 << event
        self._orders = [_Order.of(each, len(own)) for each in orders]
        self._phases: dict[int, tuple[int, int | None]] = {}
        self._shares: dict[int, float] = {}

    @property
    def degree(self) -> int:
        """The degree of the likelihood, by the times of an end."""
        return sum(each.size > 1 for each in self._bounds)

    def ends(self, step: int) -> tuple[int, int]:
        """The times between which a first or last step begins, or ends."""
        number = range(self._last + 1)[step]
        own = [self._bounds[event] for event in _members(self._steps[number])]
        if step == 0:
            return min(each.lo for each in own), min(each.hi for each in own)
        return max(each.lo for each in own), max(each.hi for each in own)

    def moved(self, *windows: int) -> set[int]:
        """Where events begin and end, by so many windows later."""
        every = [bound for each in self._bounds for bound in (each.lo, each.hi + 1)]
        return {bound + window * self._reach for bound in every for window in windows}

    def likelihood(self, fixed: Fixed) -> float:
        """How likely the candidate is a match, and its ends are at these times."""
        bounds = self._narrowed(fixed)
        if any(each.lo > each.hi for each in bounds):
            return 0.0
        states: dict[State, float] = {(0, (0,) * len(self._orders)): 1.0}
        for begin, end in pairwise(self._cuts(bounds, fixed)):
            states = self._after_segment(states, bounds, begin, end, fixed)
            if not states:
                return 0.0
        return sum(states.values())

    def _narrowed(self, fixed: Fixed) -> list[TimeBounds]:
        """The bounds of all events; those of the candidate, between its ends."""
        low, high = -INT64_MAX, INT64_MAX
        if fixed.first is not None:
            low, high = fixed.first, fixed.first + self._reach
        if fixed.last is not None:
            low, high = max(low, fixed.last - self._reach), min(high, fixed.last)
        own = len(self._step_of)
        return [
            *(TimeBounds(max(each.lo, low), min(each.hi, high)) for each in self._bounds[:own]),
            *self._bounds[own:],
        ]

    def _cuts(self, bounds: Sequence[TimeBounds], fixed: Fixed) -> list[int]:
        found = {bound for each in bounds for bound in (each.lo, each.hi + 1)}
        if fixed.first is not None:
            found |= {fixed.first, fixed.first + 1, fixed.first + self._reach + 1}
        if fixed.last is not None:
            found |= {fixed.last, fixed.last + 1, fixed.last - self._reach}
        return sorted(found)

    def _after_segment(
        self, states: dict[State, float], bounds: Sequence[TimeBounds], begin: int, end: int,
        fixed: Fixed,
    ) -> dict[State, float]:  # fmt: skip
        """The states at the end of a segment, by those at its beginning."""
        here = _mask(n for n, each in enumerate(bounds) if each.lo <= begin and end - 1 <= each.hi)
        over = _mask(n for n, each in enumerate(bounds) if each.hi < end)
        first, last = self._steps[0], self._steps[self._last]
        if begin == fixed.last:
            states = {each: by for each, by in states.items() if each[0] & last != last}
        closed = {gap for gap in (0, self._last + 1) if not self._is_open(gap, begin, fixed)}
        total, layer, count = dict(states), states, 0
        while layer and here and count < end - begin:
            following: dict[State, float] = {}
            share = float(end - begin - count) / (count + 1)
            for state, by in layer.items():
                for placed, found in self._following(state, here, closed):
                    following[found] = following.get(found, 0.0) + by * share * self._share_of(
                        placed
                    )
            for state, by in following.items():
                total[state] = total.get(state, 0.0) + by
            self._check_size(following)
            layer, count = following, count + 1
        if begin == fixed.first:
            total = {each: by for each, by in total.items() if each[0] & first}
        return self._settled(total, over, end)

    def _is_open(self, gap: int, begin: int, fixed: Fixed) -> bool:
        """Whether a gap at an end is within the window in a segment."""
        if gap == 0:
            return fixed.last is not None and begin >= fixed.last - self._reach
        return fixed.first is not None and begin <= fixed.first + self._reach

    def _share_of(self, placed: int) -> float:
        """The probability that these events are at a given time."""
        if placed not in self._shares:
            share = 1.0
            for event in _members(placed):
                share /= float(self._bounds[event].size)
            self._shares[placed] = share
        return self._shares[placed]

    def _phase(self, been: int) -> tuple[int, int | None]:
        """The step that goes on or is next, and in which gap the time is, None within a step."""
        if been not in self._phases:
            step = 0
            while step <= self._last and been & self._steps[step] == self._steps[step]:
                step += 1
            begun = step <= self._last and been & self._steps[step] != 0
            self._phases[been] = step, None if begun else step
        return self._phases[been]

    def _following(self, state: State, here: int, closed: set[int]) -> Iterator[tuple[int, State]]:
        """Which events may be at the next time, and what that makes of a state."""
        been, orders = state
        step, gap = self._phase(been & self._own)
        left = here & ~been
        own = left & self._steps[step] if step <= self._last else 0
        others = left & ~self._own
        # At a time without an event of the candidate some forbid it.
        apart = others
        if gap is not None and gap not in closed:
            apart &= ~self._forbids[gap]
        inside = None if gap in closed else gap
        for taken in _subsets(own):
            free = others if taken else apart
            if free.bit_count() > MOST_AT_ONCE:
                raise BudgetError(self._too_many)
            for placed in _subsets(free):
                if taken | placed:
                    after = self._orders_after(orders, placed, inside, taken)
                    if after is not None:
                        yield taken | placed, (been | taken | placed, after)

    def _orders_after(
        self, orders: tuple[int, ...], placed: int, gap: int | None, taken: int
    ) -> tuple[int, ...] | None:
        """How far each order is after a time; None if one of them is whole."""
        found = orders
        for number, at in enumerate(orders):
            if at == OVER:
                continue
            order = self._orders[number]
            after = order.after(at, placed, is_inside=gap == order.gap and not taken)
            if after == len(order.events):
                return None
            if after != at:
                found = (*found[:number], after, *found[number + 1 :])
        return found

    def _settled(self, states: dict[State, float], over: int, end: int) -> dict[State, float]:
        """Drop states in which an event can have no time any more, and what does not matter."""
        found: dict[State, float] = {}
        for (been, orders), by in states.items():
            if over & ~been:
                continue
            step, gap = self._phase(been & self._own)
            needed = self._own
            for later in range(step if gap is not None else step + 1, self._last + 2):
                needed |= self._forbids[later]
            known = []
            for number, at in enumerate(orders):
                order = self._orders[number]
                is_past = order.gap < step or (order.gap == step and gap is None)
                known.append(OVER if is_past else at)
                if known[-1] != OVER:
                    needed |= order.left(at)
            for event in _members(~(been | needed) & ((1 << len(self._bounds)) - 1)):
                bounds = self._bounds[event]
                by *= float(min(bounds.hi - end + 1, bounds.size)) / float(bounds.size)
                been |= 1 << event
            state = been, tuple(known)
            found[state] = found.get(state, 0.0) + by
        return found

    def _check_size(self, states: dict[State, float]) -> None:
        self._check(0)
        if len(states) > MOST_STATES:
            raise BudgetError(self._too_many)

    @property
    def _too_many(self) -> str:
        return (
            f"the confidence of a candidate goes by the order of {len(self._bounds)} events of it"
            f" and of what may forbid it, of which more than {MOST_AT_ONCE} may be at one time, or"
            f" which have more than {MOST_STATES:,} states then: give the query a smaller WITHIN,"
            " or narrow the conditions of what is negative"
        )


class _Order(NamedTuple):
    """An order of which an event forbids the match, by masks."""

    gap: int
    events: tuple[int, ...]
    every: int
    # Of each number of events those that keep the next one from forbidding.
    absences: tuple[int, ...]

    @classmethod
    def of(cls, order: ForbiddingOrder, own: int) -> _Order:
        """The order, of events that are numbered behind those of the candidate."""
        events = tuple(1 << (own + each) for each in order.events)
        absences = [0] * len(events)
        for place, event in order.absences:
            absences[place] |= 1 << (own + event)
        return cls(order.gap, events, sum(events), tuple(absences))

    def after(self, at: int, placed: int, *, is_inside: bool) -> int:
        """How far it is after a time at which events are placed; OVER if it cannot be any more."""
        hits = placed & self.every
        if not hits:
            is_over = at > 0 and (not is_inside or placed & self.absences[at])
            return OVER if is_over else at
        return at + 1 if is_inside and hits == self.events[at] else OVER

    def left(self, at: int) -> int:
        """The events that matter from here on."""
        found = 0
        for number in range(at, len(self.events)):
            found |= self.events[number] | self.absences[number]
        return found


def _mask(numbers: Iterator[int]) -> int:
    return sum(1 << number for number in numbers)


def _members(mask: int) -> Iterator[int]:
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


def _subsets(mask: int) -> Iterator[int]:
    """All subsets of a set, the empty one too."""
    found = 0
    while True:
        yield found
        if found == mask:
            return
        found = (found - mask) & mask
