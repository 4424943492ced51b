"""The matches of several branches without common matches, as a graph for each."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import replace
from itertools import accumulate, islice
from random import Random
from typing import NamedTuple

import numpy as np

from sase.cached_property import cached_property
from sase.engine.columns import Events
from sase.engine.match_graph import Binding, MatchSet
from sase.engine.match_graph.aggregates import Function, Number, ValuedPaths, aggregated
from sase.engine.match_graph.ranks import Estimate, exactly
from sase.engine.operators.bindings.bindings import Bindings
from sase.engine.operators.bindings.unions import BranchLevels, levels_of
from sase.engine.operators.branches.union import UnionState
from sase.engine.operators.kleene.match_set_evaluation import (
    CollectedMatches,
    MatchSetEvaluationState,
)
from sase.engine.pipeline.batch import RowsInMemory
from sase.engine.pipeline.limits import RunGuard, working
from sase.engine.results.batch import MatchBatch
from sase.engine.set_results.collapsed_table import CollapsedForm, check_size
from sase.engine.set_results.counted import (
    CollectedEvents,
    CountedMatches,
    FormBuilder,
    count_within,
    values_of,
)
from sase.engine.set_results.listed import CollapsedBuilder
from sase.errors import SaseError
from sase.planning.engine_plan import EnginePlan

# Matches of a branch made at once: smaller pieces would need more merging.
AT_ONCE = 1 << 8


class BranchSet(NamedTuple):
    """The matches of a branch, and the whole pattern's variables of its levels."""

    levels: BranchLevels
    found: CollectedMatches

    @property
    def set(self) -> MatchSet:
        """The graph."""
        return self.found.matches

    def united(self, matches: list[Binding]) -> Bindings:
        """Convert matches to the variables of the whole pattern."""
        return self.levels.united(self.found.bindings(matches))

    def parts(self, at_once: int) -> Iterator[Bindings]:
        """All matches in order, made on demand."""
        matches = iter(self.set)
        while some := list(islice(matches, at_once)):
            yield self.united(some)


class CountedUnion(CollectedEvents):
    """The matches of a plan of branches, all of which are paths of graphs."""

    def __init__(
        self, plan: EnginePlan, rows: RowsInMemory, events: Events, guard: RunGuard | None = None
    ) -> None:
        super().__init__(plan, rows, events, guard)
        union = self._pipeline.operators[0]
        assert isinstance(union, UnionState), "each branch is one, and there is no other operator"
        assert plan.union is not None
        self._union = union
        self._evaluations = [_evaluation(scan.states[0]) for scan in union.scans]
        self._levels = levels_of(plan.union)

    @cached_property
    def _branches(self) -> list[BranchSet]:
        found = (each.collected() for each in self._evaluations)
        return [BranchSet(*each) for each in zip(self._levels, found, strict=True)]

    def count(self, most: int) -> int:
        """The exact number; only one graph is in memory at a time."""
        with working(self._guard):
            return sum(each.count() for each in self._evaluations)

    def estimate(self, samples: int, seed: int) -> Estimate:
        """The exact number."""
        return exactly(self.count(0))

    def sample(self, number: int, seed: int, most: int) -> Iterator[MatchBatch]:
        """Draw independent matches: a branch in proportion to its matches, then one of these."""
        random, drawn, branches = Random(seed), list[Bindings](), self._branches
        sums = list(accumulate(each.set.count() for each in branches))
        if number and not sums[-1]:
            raise SaseError("there is no match to sample")
        chosen = [bisect_right(sums, random.randrange(sums[-1])) for _ in range(number)]
        for place, each in enumerate(branches):
            matches = each.set.sample(chosen.count(place), random.getrandbits(63))
            drawn.append(each.united(matches))
        found = Bindings.joined(drawn)
        order = np.argsort(np.argsort(np.array(chosen, np.int64), kind="stable"), kind="stable")
        return self._results_of(self._union.judged(found[:, order]))

    def first(self, number: int) -> Iterator[MatchBatch]:
        """The first matches in order."""
        for part in self._merged(min(number, AT_ONCE) or 1):
            yield part.between(0, number)
            number -= len(part)
            if number <= 0:
                return

    def parts(self) -> Iterator[MatchBatch]:
        """All matches in order, made on demand."""
        yield self.nothing
        yield from self._merged(AT_ONCE)

    def _merged(self, at_once: int) -> Iterator[MatchBatch]:
        found = [each.parts(at_once) for each in self._branches]
        return self._results_of(self._union.merged(found, at_once))

    def _results_of(self, bindings: Iterator[Bindings]) -> Iterator[MatchBatch]:
        for part in bindings:
            yield replace(self.nothing, results=(self._pipeline.top.result(part),))

    def ends(self, most: int) -> CollapsedForm:
        """The collapsed form."""
        return self._form(None).ends()

    def pairs(self, most: int) -> CollapsedForm:
        """The collapsed form by first and final event."""
        return self._form(None, by_first=True).pairs()

    def ends_within(self, within: range) -> Iterator[CollapsedForm]:
        """The collapsed form of final events at positions `within` a range, as one piece."""
        form = self._form(within).ends()
        if len(form.positions):
            yield form

    def _form(self, within: range | None, *, by_first: bool = False) -> CollapsedBuilder:
        whole = CollapsedBuilder(self._levels[0].count, by_first=by_first)
        with working(self._guard):
            for each in self._branches:
                form = (
                    FormBuilder.by_first(each.found).pairs()
                    if by_first
                    else FormBuilder.over(each.found, within).ends()
                )
                whole.add_form(form, each.levels.slots)
                check_size(len(whole))
        return whole

    def count_within(self, within: range) -> int:
        """The number of matches with their final event at a position `within` a range."""
        return sum(count_within(each.found, within) for each in self._branches)

    def aggregate(
        self, function: Function, level: int, name: str | None, most: int
    ) -> Number | None:
        """An aggregate over the events of a component in all matches together."""
        with working(self._guard):
            return aggregated(list(self._valued(level, name)), function)

    def _valued(self, level: int, name: str | None) -> Iterator[ValuedPaths]:
        component = self.nothing.shape.components[level]
        for each in self._branches:
            own = np.flatnonzero(each.levels.slots == level)
            if len(own):
                values = values_of(each.found, self.nothing, component, name)
                yield each.set.valued(int(own[0]), values)


def _evaluation(state: object) -> MatchSetEvaluationState:
    assert isinstance(state, MatchSetEvaluationState)
    return state


def counted_set(
    plan: EnginePlan, rows: RowsInMemory, events: Events, guard: RunGuard | None = None
) -> CountedMatches | CountedUnion:
    """The match set of a plan that collects events."""
    how = CountedMatches if plan.union is None else CountedUnion
    return how(plan, rows, events, guard)
