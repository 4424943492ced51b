"""Estimate the runs and matches of a plan of runs, from statistics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import exp, inf, lgamma, log, prod, sqrt
from operator import mul
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
from sase.binding.conditions.parts import references
from sase.cached_property import cached_property
from sase.lang.ast import StrategyName
from sase.planning.cost.selectivity import assumed, selectivity, shape_of, spread
from sase.planning.plan.nodes import Operator, RunEvaluation, require, variables_of
from sase.planning.statistics import Statistics

# ---------------------------------------------------------------- matrix power

# Numbers that grow exponentially are kept divided by a scale, with the logarithm of the scale.

# A step: for each state a row with the shares that move to every state, never to an earlier one.
Matrix: TypeAlias = tuple[tuple[float, ...], ...]
# The number in each state, divided by a scale, and the logarithm of the scale.
Sizes: TypeAlias = tuple[tuple[float, ...], float]


@lru_cache(maxsize=256)  # alternative plans have many steps in common
def power(step: Matrix, times: int) -> Sizes:
    """The numbers in all states after `times` steps, from 1 in the first state."""
    vector, scale = (1.0, *(0.0 for _ in step[1:])), 0.0
    square, square_scale = step, 0.0
    while times:
        if times & 1:
            vector, more = _scaled(after(vector, square))
            scale += square_scale + more
        times >>= 1
        if times:
            square, more = _scaled_matrix(_product(square, square))
            square_scale = 2 * square_scale + more
    return vector, scale


def after(vector: Sequence[float], step: Matrix) -> tuple[float, ...]:
    """The numbers after one more step."""
    return tuple(sum(map(mul, vector, column)) for column in zip(*step, strict=True))


def _product(one: Matrix, other: Matrix) -> Matrix:
    columns = tuple(zip(*other, strict=True))
    return tuple(
        (
            *(0.0 for _ in range(place)),
            *(
                sum(map(mul, row[place : end + 1], columns[end][place : end + 1]))
                for end in range(place, len(row))
            ),
        )
        for place, row in enumerate(one)
    )


def _scaled_matrix(matrix: Matrix) -> tuple[Matrix, float]:
    most = max(map(max, matrix))
    return tuple(tuple(each / most for each in row) for row in matrix), log(most)


def _scaled(vector: tuple[float, ...]) -> Sizes:
    most = max(vector)
    return tuple(each / most for each in vector), log(most)


# ---------------------------------------------------------------- logarithms


def log_of(number: float) -> float:
    """The logarithm of a number; for 0 minus infinity."""
    return log(number) if number > 0 else -inf


def log_mean(logarithms: Sequence[float], weights: Sequence[float]) -> float:
    """The logarithm of the weighted mean of numbers with these logarithms."""
    most = max(logarithms)
    if most == -inf:
        return most
    parts = [exp(each - most) for each in logarithms]
    return most + log(sum(map(mul, parts, weights)) / sum(weights))


# ---------------------------------------------------------------- run cardinality

# The model: each event belongs to a partition and a component with some probability, independent of
# the others. Then each event changes the expected number of runs by state by the same linear step:
#
#     waiting  --begin-->  inside b  --take-->  inside b  --begin-->  …
#
# so after N events they are a power of a small matrix (see `grown`). Under skip till any match
# every run also stays as it is, and series make the number of runs grow exponentially. Conditions
# on whole series count as conditions without statistics.
#
# If the events of a series are compared with one earlier event, as in `b[i].v > a.v`, that event
# makes all of them likely or all unlikely to pass. The number of matches grows with a power of this
# probability, so it is averaged over the possible earlier events, instead of the probability.

# A least or greatest number of events beyond this is ignored, since each count is a state.
MOST_COUNTED = 6
# The relative increase of the moves' probability that is used to measure how matches grow with it.
_LIKELIER = 1e-4
_CONTIGUOUS = (StrategyName.STRICT_CONTIGUITY, StrategyName.PARTITION_CONTIGUITY)
# Quantiles of the earlier event, from those that let others pass least likely, with weights. They
# are Gauss-Legendre points, since matches grow like a power.
_PLACES: tuple[tuple[float | None, float], ...] = (
    (0.1127017, 5 / 18),
    (0.5, 8 / 18),
    (0.8872983, 5 / 18),
)
# Keys count as equally frequent up to this increase of the probability that two events agree.
_EVEN_ENOUGH = 1.1


# The component and count moved to, the probability, and the probability that a match ends there.
_Move: TypeAlias = tuple[tuple[int, int], float, float]


@dataclass(frozen=True, slots=True)
class Expectation:
    """Logarithms of the expected totals: matches, runs made, and runs alive at a time."""

    matches: float
    made: float
    alive: float


@dataclass(frozen=True)
class RunCardinalities:
    """Cardinalities of a plan of runs, over events with known statistics."""

    plan: Operator
    statistics: Statistics
    # Whether this is the walk back of a postponed evaluation, with its early conditions only.
    is_walk: bool = False
    # The quantile of the event with which those of a series are compared; None for the mean.
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
        """The events that a run may meet: all events of the stream."""
        return float(self.statistics.rows)

    @cached_property
    def agreement(self) -> float:
        """How likely two events agree on all tests; for a walk back, on those of the key."""
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
        """The share of a partition that a window spans, for a key with this share of events."""
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
        """The share of these events that a component admits in a given partition."""
        if component.group is not None:
            return self._iterating(component.group)
        rows = self.statistics.rows_of(component.types)
        share = self.statistics.admission(component.variable)
        if share is None:
            own = [c for c in self._conditions if c.kind is ConjunctClass.SINGLE]
            share = prod(assumed(c.condition) for c in own if c.component == component.index)
        return min(rows * share / max(self.events, 1.0), 1.0) * self.agreement

    def _iterating(self, group: RepeatedGroup) -> float:
        """The share of events that may end an iteration: that of its rarest required element."""
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
        """The selectivity of a condition, given the quantile of the event that it compares with."""
        share = selectivity(conjunct, self.names, self.statistics)
        if self.place is None or (side := _side_of_one(conjunct)) is None:
            return share
        place = self.place if side else 1 - self.place
        return 2 * share * place if share < 0.5 else 1 - 2 * (1 - share) * (1 - place)

    def _early(self, component: BoundComponent, when: Sequence[When]) -> list[Conjunct]:
        """The early conditions that an event of a component decides."""
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

        The number of matches is a sum of products with a factor for each move: the probability. So
        its growth with the probability gives the number of moves.
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
        # The share of the most frequent key is at most the root of the probability of agreement.
        most, mean = sqrt(self.agreement), self.agreement
        return [min(mean * each, most) for each in spread(shape_of(unevenness, 1))]

    def grown(self, likelier: float, key: float) -> Expectation:
        """The expectation over all partitions, each with the share `key` of the events."""
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
        """Whether every event that begins a run completes a match."""
        return all(ends == 1.0 for _, _, ends in self._moves[0])

    @cached_property
    def _moves(self) -> list[list[_Move]]:
        """The moves of each state, for a key of mean frequency."""
        return [_moves(self, *state) for state in self._states]

    def _step(self, likelier: float, frequent: float) -> Matrix:
        """The step of an event, with the probability of moves multiplied by two factors.

        `likelier` is for moves themselves, `frequent` for the frequency of the key. Besides the
        states, the step counts the runs made and the matches.
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
            if level >= 0 and moves:  # a complete match is no longer a run
                matrix[place][place] += _stays(self, level, count, moves)
        return tuple(map(tuple, matrix))


def _side_of_one(conjunct: Conjunct) -> bool | None:
    """Whether greater values make it likelier to pass a comparison with one event; else None.

    `b[i].v > a.v` and `b[i].v < a.v` have opposite sides: an event that makes one likely makes the
    other unlikely.
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
    """The number of distinct counts of a component; the last one includes all greater ones."""
    least = max(component.minimum, 1)
    known = least if component.maximum is None else component.maximum
    return min(known, MOST_COUNTED)


def _moves(figures: RunCardinalities, level: int, count: int) -> list[_Move]:
    """The moves of a run by an event: target, probability, and probability of a match then."""
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
    """How likely a run stays as it is: it may not under strategies that limit ignoring."""
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
