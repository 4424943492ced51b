"""How many runs and matches a plan of runs meets, as statistics let one expect.

Of each event it is taken to be of a partition, and a component's, with some probability, whatever
the others are. Then the expected runs by state grow by the same linear step with every event:

    waiting  --begin-->  inside b  --take-->  inside b  --begin-->  …

so after N events they are a power of a small matrix (see `growth`). Under skip till any match every
run also stays as it is, and series make it grow exponentially. What is said of whole series counts
as conditions of which nothing is known.

Where the events of a series are compared with one event before, as in `b[i].v > a.v`, that one
makes all of them likely to pass or all unlikely. Matches grow with a power of the chance, so the
mean over what that event may be is taken of them, and not of the chance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf, lgamma, log, prod, sqrt
from typing import TypeAlias

from sase.binding.bound import (
    Aggregate,
    BoundComponent,
    Comparison,
    Conjunct,
    ConjunctClass,
    EquivalenceTest,
    Part,
    Reference,
    RepeatedGroup,
    When,
    WindowKind,
    elements_of,
)
from sase.binding.parts import references
from sase.cached_property import cached_property
from sase.lang.ast import StrategyName
from sase.planning.matrix_power import Matrix, after, log_mean, log_of, power
from sase.planning.nodes import Operator, RunEvaluation, require, variables_of
from sase.planning.probabilities import shape_of, spread
from sase.planning.selectivity import assumed, selectivity
from sase.planning.statistics import Statistics

# A least or greatest number of events beyond this counts as none: it would be a state each.
MOST_COUNTED = 6
# By so much moves are made likelier to see by what power of that the matches grow.
_LIKELIER = 1e-4
_CONTIGUOUS = (StrategyName.STRICT_CONTIGUITY, StrategyName.PARTITION_CONTIGUITY)
# Where an event may stand among all, from the least likely to let others pass to the likeliest, and
# its weight: Gauss-Legendre points, since matches grow like a power.
_PLACES: tuple[tuple[float | None, float], ...] = (
    (0.1127017, 5 / 18),
    (0.5, 8 / 18),
    (0.8872983, 5 / 18),
)
# Two events are at most so many times likelier to agree than on equally frequent keys.
_EVEN_ENOUGH = 1.1


# The component and count moved to, the probability, and that of a match then.
_Move: TypeAlias = tuple[tuple[int, int], float, float]


@dataclass(frozen=True, slots=True)
class Expectation:
    """Logarithms of what is expected in all: matches, runs made, and runs at a time."""

    matches: float
    made: float
    alive: float


@dataclass(frozen=True)
class RunCardinalities:
    """Cardinalities of a plan of runs, over events of known statistics."""

    plan: Operator
    statistics: Statistics
    # Whether it is the walk back of a postponed evaluation, under its early conditions alone.
    is_walk: bool = False
    # The quantile of the event that those of a series are compared with; None for the mean.
    place: float | None = None

    @cached_property
    def components(self) -> tuple[BoundComponent, ...]:
        """The components in the order in which their events are chosen."""
        return self.runs.components[::-1] if self.is_walk else self.runs.components

    @cached_property
    def runs(self) -> RunEvaluation:
        """The evaluation."""
        return require(self.plan, RunEvaluation)

    @cached_property
    def names(self) -> dict[int, str]:
        """The variables of components by their index."""
        return variables_of(self.plan)

    # ------------------------------------------------------------ events

    @cached_property
    def events(self) -> float:
        """The events that a run may meet: all, since how many of its types a window has varies."""
        return float(self.statistics.rows)

    @cached_property
    def agreement(self) -> float:
        """How likely two events agree on all tests; walking back, on those of the key."""
        return self.agreement_on(self._agreeing)

    @property
    def _agreeing(self) -> Sequence[EquivalenceTest]:
        return self.runs.partitions if self.is_walk else self.runs.equivalences

    def agreement_on(self, tests: Sequence[EquivalenceTest]) -> float:
        """How likely two events agree on tests."""
        found = 1.0
        for test in tests:
            if test.value is None:
                found *= self.statistics.pair_agreement(test.attribute)
        return max(found, 1e-12)

    @property
    def reach(self) -> float:
        """The share of the stream that a window spans."""
        return self._reach_of(self.agreement)

    def _reach_of(self, key: float) -> float:
        """The same for a partition with such a share of the events."""
        window, rows = self.runs.window, max(self.statistics.rows, 1)
        if window is None or window.size is None:
            return 1.0
        whole = float(rows)
        if window.kind is WindowKind.TIME:
            whole = float(self.statistics.span or rows)
        elif window.kind is WindowKind.PARTITION_EVENTS:
            whole = max(rows * key, 1.0)
        return min(window.size / whole, 1.0)

    def admitted(self, component: BoundComponent) -> float:
        """The share of those events that a component of some partition admits."""
        if component.group is not None:
            return self._iterating(component.group)
        rows = self.statistics.rows_of(component.types)
        share = self.statistics.admission(component.variable)
        if share is None:
            own = [c for c in self._conditions if c.kind is ConjunctClass.SINGLE]
            share = prod(assumed(c.condition) for c in own if c.component == component.index)
        return min(rows * share / max(self.events, 1.0), 1.0) * self.agreement

    def _iterating(self, group: RepeatedGroup) -> float:
        """The share of events that an iteration may end with: as many as its rarest element has."""
        found = 0.0
        for branch in group.branches:
            must = [each for each in branch.elements if not each.negated and each.minimum > 0]
            found += min(map(self.admitted, must))
        return min(found, 1.0)

    # ------------------------------------------------------------ conditions

    @cached_property
    def _conditions(self) -> tuple[Conjunct, ...]:
        runs = self.runs
        return (*runs.simple, *runs.early, *(edge.conjunct for edge in runs.conditions))

    def passing(self, component: BoundComponent, *when: When) -> float:
        """The selectivity of conditions that are decided at some moments."""
        decided = (
            self._early(component, when)
            if self.is_walk
            else [
                each
                for each in self._conditions
                if each.component == component.index
                and each.when in when
                and (each.kind is ConjunctClass.SEVERAL or each.when is When.FIRST)
            ]
        )
        return prod(map(self._share, decided))

    def _share(self, conjunct: Conjunct) -> float:
        """The selectivity of a condition, evenly about the place of an event if it goes by that."""
        share = selectivity(conjunct, self.names, self.statistics)
        if self.place is None or (side := _side_of_one(conjunct)) is None:
            return share
        place = self.place if side else 1 - self.place
        return 2 * share * place if share < 0.5 else 1 - 2 * (1 - share) * (1 - place)

    def _early(self, component: BoundComponent, when: Sequence[When]) -> list[Conjunct]:
        """The early conditions that an event of a component decides, the last or an earlier one."""
        found = []
        for each in self.runs.early:
            own = [r for r in references(each.condition) if r.component == component.index]
            if each.kind is ConjunctClass.SINGLE or min(each.references) != component.index:
                continue
            is_of_each = any(r.part in (Part.CURRENT, Part.PREVIOUS) for r in own)
            is_of_further = any(r.part is Part.PREVIOUS for r in own)
            if (When.FURTHER in when and is_of_each) or (When.FIRST in when and not is_of_further):
                found.append(each)
        return found

    # ------------------------------------------------------------ runs

    @cached_property
    def expected(self) -> Expectation:
        """The expectation over all partitions."""
        return self._expected(1.0)

    @cached_property
    def length(self) -> float:
        """The expected number of events of a match.

        Matches are a sum of products with the chance of a move for each event.
        """
        if self.expected.matches == -inf:
            return 0.0
        grown = self._expected(1 + _LIKELIER).matches - self.expected.matches
        return max(grown / log(1 + _LIKELIER), 1.0)

    def _expected(self, likelier: float) -> Expectation:
        if self.runs.nothing is not None or not self.statistics.rows:
            return Expectation(-inf, -inf, -inf)
        goes_by_one = any(_side_of_one(each) is not None for each in self._conditions)
        places = _PLACES if goes_by_one and not self.is_walk else ((None, 1.0),)
        shares = self._shares_of_keys()
        if len(places) == len(shares) == 1:
            return self.grown(likelier, *shares)
        at_places = [replace(self, place=place) for place, _ in places]
        found = [each.grown(likelier, share) for each in at_places for share in shares]
        weights = [weight for _, weight in places for _ in shares]
        return Expectation(
            log_mean([each.matches for each in found], weights),
            log_mean([each.made for each in found], weights),
            log_mean([each.alive for each in found], weights),
        )

    def _shares_of_keys(self) -> list[float]:
        """The shares of all events that keys have, from the rare on, weighted by their events."""
        tests = [test for test in self._agreeing if test.value is None]
        unevenness = prod(self.statistics.unevenness(test.attribute) for test in tests)
        if unevenness <= _EVEN_ENOUGH:
            return [self.agreement]
        # The square of the share of the most frequent key bounds how likely two agree.
        most, mean = sqrt(self.agreement), self.agreement
        return [min(mean * each, most) for each in spread(shape_of(unevenness, 1))]

    def grown(self, likelier: float, key: float) -> Expectation:
        """The expectation over all partitions if each has such a share of the events."""
        events, step = max(self.events, 1.0), self._step(likelier, key / self.agreement)
        span = max(round(events * self._reach_of(key)), 1)
        grown, scale = power(step, span - 1)
        ramp = after(grown, step)
        *_, more_made, more = after((*grown[:-2], 0.0, 0.0), step)
        left = max(events - span, 0.0)
        scale += self._orders
        return Expectation(
            log_of((ramp[-1] + more * left) / key) + scale,
            log_of((ramp[-2] + more_made * left) / key) + scale,
            log_of(sum(ramp[1:-2]) / key) + scale,
        )

    @cached_property
    def _orders(self) -> float:
        """The logarithm of the number of orders in which the members of sets may be bound."""
        return sum(lgamma(len(each) + 1) for each in elements_of(self.components))

    @cached_property
    def _states(self) -> list[tuple[int, int]]:
        """The start, and runs by component and count."""
        found = [(-1, 0)]
        for level, component in enumerate(self.components):
            found += [(level, count) for count in range(1, _counted(component) + 1)]
        return found

    @property
    def ends_at_once(self) -> bool:
        """Whether every event that begins a run makes a match."""
        return all(ends == 1.0 for _, _, ends in self._moves[0])

    @cached_property
    def _moves(self) -> list[list[_Move]]:
        """The moves of each state, if a key is as frequent as the mean."""
        return [_moves(self, *state) for state in self._states]

    def _step(self, likelier: float, frequent: float) -> Matrix:
        """The step of an event, with moves made likelier by two factors.

        One is of their probability, the other of the frequency of the key. Beside the
        states there are the runs made and matches so far.
        """
        states, size = self._states, len(self._states) + 2
        matrix = [[0.0] * size for _ in range(size)]
        matrix[0][0] = matrix[-1][-1] = matrix[-2][-2] = 1.0
        for place, (level, count) in enumerate(states):
            moves = [(to, share * frequent, ends) for to, share, ends in self._moves[place]]
            for target, share, finished in moves:
                matrix[place][states.index(target)] += share * likelier
                matrix[place][-2] += share * likelier
                matrix[place][-1] += share * likelier * finished
            if level >= 0 and moves:  # what is finished is no run any more
                matrix[place][place] += _stays(self, level, count, moves)
        return tuple(map(tuple, matrix))


def _side_of_one(conjunct: Conjunct) -> bool | None:
    """Whether greater values pass where each event of a series is compared with one; else None.

    `b[i].v > a.v` and `b[i].v < a.v` are of both sides: what makes one likely makes the other
    not.
    """
    condition = conjunct.condition
    if conjunct.when not in (When.EVERY, When.FURTHER) or not isinstance(condition, Comparison):
        return None
    sides = [list(references(each)) for each in (condition.left, condition.right)]
    found = [each for side in sides for each in side]
    if any(isinstance(each, Aggregate) or each.part is Part.PREVIOUS for each in found):
        return None
    of_each = [any(_is_of_each(conjunct, each) for each in side) for side in sides]
    is_with_one = not all(_is_of_each(conjunct, each) for each in found)
    if condition.operator not in ("<", "<=", ">", ">=") or sum(of_each) != 1 or not is_with_one:
        return None
    return of_each[0] == (condition.operator in (">", ">="))


def _is_of_each(conjunct: Conjunct, reference: Reference | Aggregate) -> bool:
    return reference.component == conjunct.component and reference.part is Part.CURRENT


def _counted(component: BoundComponent) -> int:
    """The distinct counts of a component; the last stands for all greater ones."""
    least = max(component.minimum, 1)
    known = least if component.maximum is None else component.maximum
    return min(known, MOST_COUNTED)


def _moves(figures: RunCardinalities, level: int, count: int) -> list[_Move]:
    """The moves of a run with an event, their probability, and that of a match then."""
    components, found = figures.components, []
    if level >= 0 and (components[level].maximum is None or count < _counted(components[level])):
        own = components[level]
        share = figures.admitted(own) * figures.passing(own, When.EVERY, When.FURTHER)
        target = (level, min(count + 1, _counted(own)))
        found.append((target, share, _finished(figures, *target)))
    leaves = _leaves(figures, level, count)
    for further in range(level + 1, len(components)):
        own = components[further]
        share = figures.admitted(own) * leaves
        share *= figures.passing(own, When.EVENT, When.FIRST, When.EVERY)
        found.append(((further, 1), share, _finished(figures, further, 1)))
        if own.minimum:
            break
    return [each for each in found if each[1] > 0]


def _leaves(figures: RunCardinalities, level: int, count: int) -> float:
    """How likely a run may leave a component."""
    if level < 0:
        return 1.0
    own = figures.components[level]
    if count < min(own.minimum, MOST_COUNTED):
        return 0.0
    return figures.passing(own, When.WHOLE)


def _finished(figures: RunCardinalities, level: int, count: int) -> float:
    rest: Sequence[BoundComponent] = figures.components[level + 1 :]
    is_end = all(each.minimum == 0 for each in rest)
    return _leaves(figures, level, count) if is_end else 0.0


def _stays(figures: RunCardinalities, level: int, count: int, moves: Sequence[_Move]) -> float:
    """How likely a run stays as it is: under the strategies it may not ignore all events."""
    strategy = figures.runs.strategy
    if strategy is StrategyName.SKIP_TILL_ANY_MATCH:
        return 1.0
    if strategy in _CONTIGUOUS:
        is_strict = strategy is StrategyName.STRICT_CONTIGUITY
        return 0.0 if is_strict else 1.0 - figures.agreement
    taken = [share for (to, _), share, _ in moves if to == level]
    begins = [share for (to, _), share, _ in moves if to == level + 1]
    waits = taken or begins  # inside a series for its next event, else for the next component
    return max(1.0 - sum(waits), 0.0)
