"""All matches as a graph of events: counted, sampled and walked, and never listed."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np

from sase.engine.compressed import Binding, MatchSet
from sase.engine.compressed.aggregates import Function, Number
from sase.engine.events import Events
from sase.engine.events.inputs import Inputs
from sase.engine.forms.collapsed_table import Ends, Lists, check_size
from sase.engine.found import Found
from sase.engine.matcher import Matcher
from sase.engine.operators.collapsed_evaluation import CollapsedEvaluationState, Collected
from sase.engine.plan import EnginePlan
from sase.engine.report import Report

# Matches of which results are made at once: one at first, so that the first comes soon.
LARGEST_PIECE = 4096


class _Collector(Matcher):
    """A matcher that finds no match: what it has collected is asked for at the end."""

    def __init__(self, plan: EnginePlan) -> None:
        super().__init__(plan, streaming=False)
        self._evaluation.list_nothing()

    @property
    def _evaluation(self) -> CollapsedEvaluationState:
        evaluation = self._operators[0]
        assert isinstance(evaluation, CollapsedEvaluationState)
        return evaluation

    def collected(self) -> Collected:
        """The match set of all events that were searched."""
        return self._evaluation.collected()

    def found(self, collected: Collected, matches: list[Binding]) -> Found:
        """Some matches as the results that the plan makes of them."""
        results = self._top.result(collected.bindings(matches))
        return Found(self.shape, self._history, (results,))

    def nothing(self) -> Found:
        """No match, of all events."""
        return Found(self.shape, self._history)

    def told(self) -> Report:
        """The report; also where arithmetic of conditions on neighbours left int64."""
        store = self._context.store
        for overflows in self._context.overflows:
            overflows.collect(lambda place: int(store.numbers("position")[place]))
        if self._context.overflows:
            self._notes.note_rows(self._history)
        return self.report()


class Counted:
    """The matches of a plan whose evaluation is collapsed and whose matches are all paths."""

    reasons: tuple[str, ...] = ()

    def __init__(self, plan: EnginePlan, inputs: Inputs, events: Events) -> None:
        self._matcher = _Collector(plan)
        self._matcher.take(inputs, events)
        for _ in self._matcher.results(events):
            raise AssertionError("a collapsed evaluation lists no match")
        self._collected = self._matcher.collected()

    @property
    def set(self) -> MatchSet:
        """The graph."""
        return self._collected.matches

    @property
    def report(self) -> Report:
        """What there is to say of the run."""
        return self._matcher.told()

    @property
    def nothing(self) -> Found:
        """No match, of all events."""
        return self._matcher.nothing()

    def count(self, most: int) -> int:
        """The exact number; `most` is for those that must be looked at one by one."""
        return self.set.count()

    def sample(self, number: int, seed: int, most: int) -> Iterator[Found]:
        """Independent matches."""
        return iter([self._found(self.set.sample(number, seed))])

    def first(self, number: int) -> Iterator[Found]:
        """The first ones in order."""
        return iter([self._found(self.set.first(number))])

    def parts(self) -> Iterator[Found]:
        """All in order, made as they are asked for."""
        matches, size = iter(self.set), 1
        yield self.nothing
        while some := list(islice(matches, size)):
            yield self._found(some)
            size = min(2 * size, LARGEST_PIECE)

    def ends(self, most: int) -> Ends:
        """The collapsed form."""
        found, positions, counts, entries = self._collected, [], [], 0
        lists: list[list[np.ndarray]] = [[] for _ in range(found.levels)]
        both = zip(self.set.counts_by_end(), self.set.collapsed(), strict=True)
        for count, held in both:
            positions.append(count.position)
            counts.append(count.count)
            for level, places in zip(lists, held.places, strict=True):
                level.append(found.positions[held.partition][places])
                entries += len(places)
            check_size(entries)
        return Ends(np.array(positions, np.int64), counts, tuple(map(_joined, lists)))

    def aggregate(
        self, function: Function, level: int, name: str | None, most: int
    ) -> Number | None:
        """An aggregate over the events of a component in all matches together."""
        component, found = self.nothing.shape.components[level], self.nothing
        of_each = (
            [1] * len(positions)
            if name is None
            else found.attribute(component, name, positions).to_pylist()
            for positions in self._collected.positions
        )
        return self.set.aggregate(function, level, list(of_each))

    def _found(self, matches: list[Binding]) -> Found:
        return self._matcher.found(self._collected, matches)


def _joined(places: list[np.ndarray]) -> Lists:
    sizes = np.array([len(each) for each in places], np.int64)
    return Lists(np.concatenate([np.empty(0, np.int64), *places]), sizes)
