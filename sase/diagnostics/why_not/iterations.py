"""Explain groups that repeat too rarely: where the next iteration fails."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sase.binding import BoundQuery
from sase.binding.bound import BoundComponent, Condition, IterationBranch
from sase.diagnostics.attributes import Attributes, of_types
from sase.diagnostics.why_not.ablation import greatest_least
from sase.diagnostics.why_not.budget import Budget
from sase.diagnostics.why_not.event_sample import EventSample, sample_events
from sase.diagnostics.why_not.query_parts import shown
from sase.diagnostics.why_not.relaxation import bare
from sase.diagnostics.why_not.search import RelaxedSearch
from sase.engine.columns.arrays import Mask, Numbers
from sase.engine.columns.input import Inputs
from sase.engine.kernels.sentinels import NOTHING
from sase.engine.operators.bindings.bindings import as_bindings
from sase.engine.operators.contract import span_of
from sase.engine.sources import Files
from sase.planning.plan import EnginePlan
from sase.planning.recipes import Recipe

# Matches whose next iteration is examined.
LOOKED_AT = 50
ORDINALS = (
    *("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth"),
    "tenth",
)


@dataclass(frozen=True)
class _Break:
    """Where an iteration fails: the number of elements found, and the missing element."""

    found: int
    after: int
    element: BoundComponent | None

    def text(self, which: str, row: int) -> str:
        """Describe the failure of an iteration after a row."""
        if self.element is None:
            return f"what is there behind row {row:,} is none by the conditions"
        lacking = shown(self.element)
        return f"the {which} breaks at {lacking}, of which there is none behind row {row:,}"


def too_few_iterations(
    query: BoundQuery,
    plan: EnginePlan,
    events: Inputs | Files,
    restrictions: Sequence[Condition],
    *,
    recipe: Recipe,
    budget: Budget,
) -> Iterator[str]:
    """Yield sentences about groups that must repeat more often for a match."""
    short = [each for each in query.positives if each.group is not None and each.minimum > 1]
    if not short:
        return
    query = bare(query)
    sample = sample_events(plan, query, events, restrictions)
    search = RelaxedSearch(query, (), sample.events, plan.schema, recipe, budget)
    if search.has(query) is not False:
        return
    for each in short:
        most = greatest_least(each.index, search)
        if most:
            yield _sentence(each, most, _Continuation(search, sample, each, most).furthest())


def _sentence(group: BoundComponent, most: int, broken: tuple[_Break, int] | None) -> str:
    named = f" of `{group.variable}`" if group.named else ""
    times = f"1 iteration{named} is" if most == 1 else f"{most:,} iterations{named} are"
    told = f"with all else that is said at most {times} there, where {group.minimum:,} are needed"
    if broken is None:
        return told
    which = ORDINALS[most] if most < len(ORDINALS) else f"{most + 1:,}th"
    found, row = broken
    return f"{told}: {found.text(which, row)}"


class _Continuation:
    """Searches, after the last iteration of matches, for the elements of another one."""

    def __init__(
        self, search: RelaxedSearch, sample: EventSample, group: BoundComponent, most: int
    ) -> None:
        query = search.query
        shorter = replace(group, minimum=most)
        components = [shorter if each == group else each for each in query.components]
        self._query = replace(query, components=tuple(components))
        self._level = self._query.positives.index(shorter)
        assert group.group is not None
        self._branches = group.group.branches
        self._search, self._sample = search, sample
        attributes = Attributes(sample.events, search.schema, query.components)
        self._codes = [attributes.codes_of(each) for each in query.equivalences]
        self._reach: int | None = None
        if query.window is not None:
            self._measures = attributes.measures(query.window, query.equivalences)
            self._reach = span_of(query.window)
        tie = sample.events.tie
        self._order = np.arange(len(sample.events)) if tie is None else tie

    def furthest(self) -> tuple[_Break, int] | None:
        """Where the iteration that gets furthest fails, and the row after which it does."""
        found: list[_Break] = []
        for first, last in self._ends():
            found += [self._broken(first, last, branch) for branch in self._branches]
        if not found:
            return None
        best = max(found, key=lambda each: each.found)
        (row,) = self._sample.history.rows(np.array([best.after])).tolist()
        return best, row

    def _ends(self) -> Iterator[tuple[int, int]]:
        """The first event of some matches, and the last event of their group."""
        left = LOOKED_AT
        for results in self._search.results(self._query):
            events, ends = as_bindings(results.positions).of_level(self._level)
            pairs = zip(results.first.tolist(), events[ends - 1].tolist(), strict=True)
            yield from list(pairs)[:left]
            left -= len(results)
            if left <= 0:
                return

    def _broken(self, first: int, last: int, branch: IterationBranch) -> _Break:
        """How many elements of a branch follow an event, taking the earliest event of each."""
        after, elements = last, [each for each in branch.elements if not each.is_absent]
        needed = [each for each in elements if each.minimum > 0]
        for number, element in enumerate(needed):
            for _ in range(element.minimum):
                at = self._passing(element)
                at = at[(self._order[at] > self._order[after]) & self._agree(at, first, last)]
                if self._reach is not None:
                    at = at[self._measures[at] <= self._measures[first] + self._reach]
                if not len(at):
                    return _Break(number, after, element)
                after = int(at[0])
        return _Break(len(needed), last, None)

    def _passing(self, element: BoundComponent) -> Numbers:
        if element.types is None:
            return np.arange(len(self._sample.events))
        return of_types(self._sample.events, element.types)

    def _agree(self, at: Numbers, first: int, last: int) -> Mask:
        """Mark the events that agree with a match on all tests."""
        agree = np.ones(len(at), np.bool_)
        for codes in self._codes:
            wanted = max(int(codes[first]), int(codes[last]))
            agree &= (wanted == NOTHING) | (codes[at] == wanted) | (codes[at] < 0)
        return agree
