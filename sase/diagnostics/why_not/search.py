"""Run relaxed queries within a budget; results are counted, not kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from sase.binding import BoundQuery, Schema
from sase.diagnostics.why_not.budget import Budget, BudgetSpent, Count
from sase.diagnostics.why_not.path_count import PathCount, PathCounter, form_of
from sase.diagnostics.why_not.query_parts import QueryPart
from sase.engine.columns import Events
from sase.engine.columns.arrays import Numbers
from sase.engine.operators.transformation import Results
from sase.engine.pipeline.fused.open import open_pipeline
from sase.errors import BudgetError, MemoryLimitError, TimeLimitError
from sase.lang.ast import StrategyName
from sase.planning.engine_plan import EnginePlan, Options
from sase.planning.optimizer import optimized
from sase.planning.plan.basic import basic_plan
from sase.planning.plan.nodes import Operator
from sase.planning.recipes import Recipe

# The clock is read between blocks. A block can take long without partitions; with them, each block
# has a cost per key.
WITH_KEYS, WITHOUT = Options(), Options(block=1 << 14)
# Each event is compared with all live runs.
WITH_RUNS = Options(block=1 << 12)
# The first piece of the events, and the growth of pieces: so the work for a piece is at most in
# proportion to the work before, however it grows with the events.
FIRST, GROWTH = 64, 1.25
UNCOUNTED = PathCount(Count(0, is_exact=False), Count(0, is_exact=False))


class RelaxedSearch:
    """Runs relaxed forms of a query over events, within a budget."""

    def __init__(
        self,
        query: BoundQuery,
        parts: Sequence[QueryPart],
        events: Events,
        schema: Schema,
        recipe: Recipe,
        budget: Budget,
    ) -> None:
        self.query, self.parts = query, parts
        self.events, self.schema, self.recipe = events, schema, recipe
        self.budget, self._pieces = budget, _growing(events)
        # Whether any search was stopped.
        self.is_cut = False
        # Whether the last search was completed.
        self.is_whole = True
        self._counted: dict[BoundQuery, PathCount] = {}
        self._plans: dict[Operator, EnginePlan] = {}
        self._paths = PathCounter(self._pieces, schema, budget)

    def planned(self, query: BoundQuery) -> EnginePlan:
        """Plan a query, once."""
        basic = basic_plan(query)
        if basic not in self._plans:
            options = WITH_KEYS if query.equivalences else WITHOUT
            options = replace(WITH_RUNS if query.level > 1 else options, fused=self.recipe.fused)
            operators = optimized(self.recipe, basic).plan
            self._plans[basic] = EnginePlan(operators, self.schema, query.definitions, options)
        return self._plans[basic]

    def results(self, query: BoundQuery) -> Iterator[Results]:
        """Run a query as far as the budget allows."""
        if self.budget.is_spent:
            self.is_cut, self.is_whole = True, False
            return
        self.is_whole, until = True, None
        share = self.budget.share(len(self.events))
        try:
            if _may_explode(query):
                until = self._paths.affordable(query, share)
            yield from self._listed(query, until, share)
        except (TimeLimitError, MemoryLimitError):
            raise
        except (BudgetSpent, BudgetError):
            self.is_cut, self.is_whole = True, False

    def _listed(
        self, query: BoundQuery, until: int | None, look: Callable[[int], None]
    ) -> Iterator[Results]:
        """Run a query match by match, up to an event's position if given."""
        if until == 0:
            raise BudgetSpent
        pieces = self._pieces if until is None else _growing(self.events.between(0, until))

        def watch(rows: int) -> None:
            """Stop at the position, when time is up, or when too many runs are alive."""
            look(rows)
            if until is not None and rows >= until:
                raise BudgetSpent
            counted = dict(pipeline.counters).get("RunEvaluation", {})
            if "most_alive" in counted and counted["alive"] > self.budget.most:
                raise BudgetSpent

        pipeline = open_pipeline(self.planned(query), watch=watch, check=self.budget.check)
        for results in pipeline.results(*pieces):
            yield results
            if query.level > 1:
                look(0)  # a block may add any number

    def count(self, query: BoundQuery) -> PathCount:
        """Count the matches of a query, once."""
        if query not in self._counted:
            self._counted[query] = self._count(query)
        return self._counted[query]

    def _count(self, query: BoundQuery) -> PathCount:
        if _may_explode(query):
            found, is_all = self._count_paths(query)
            if is_all or found.matches.is_none:
                self.is_whole = found.matches.is_exact
                self.is_cut |= not self.is_whole
                return found
        last, number = np.zeros(len(self.events), np.bool_), 0
        for results in self.results(query):
            number += len(results)
            last[_ends(query, results)] = True
            if self.is_enough(number):
                break
        is_exact = self.is_whole
        return PathCount(Count(number, is_exact), Count(int(last.sum()), is_exact))

    def _count_paths(self, query: BoundQuery) -> tuple[PathCount, bool]:
        """Count the paths of skip till any match; return also whether each is a match."""
        form = form_of(query)
        if self.budget.is_spent:
            return UNCOUNTED, True
        try:
            found = self._paths.counted(query, form, self.budget.share(len(self.events)))
        except (TimeLimitError, MemoryLimitError):
            raise
        except BudgetError:
            found = UNCOUNTED
        return found, not form.reasons

    def is_enough(self, found: int) -> bool:
        """Whether a search has reached the limit of matches; marks it as stopped."""
        if found < self.budget.most:
            return False
        self.is_cut, self.is_whole = True, False
        return True

    def has(self, query: BoundQuery) -> bool | None:
        """Whether a query has a match; None if unknown in time."""
        if _may_explode(query) and not form_of(query).reasons:
            self.count(query)
        if query in self._counted:
            known = self._counted[query].matches
            if known.is_exact or known.number:
                return known.number > 0
        if any(len(results) for results in self.results(query)):
            return True
        return False if self.is_whole else None


def _growing(events: Events) -> list[Events]:
    """Cut events into pieces that grow up to the size of a block, and the rest."""
    ends, size = [0], float(FIRST)
    while ends[-1] + size < len(events) and size < WITH_KEYS.block:
        ends.append(_boundary(events, ends[-1] + int(size)))
        size *= GROWTH
    ends.append(len(events))
    return [events.between(begin, end) for begin, end in zip(ends, ends[1:], strict=False)]


def _boundary(events: Events, place: int) -> int:
    """Return the first place from one on that is not simultaneous with the one before."""
    if events.tie is None:
        return place
    return int(np.searchsorted(events.tie, events.tie[place - 1], "right"))


def _ends(query: BoundQuery, results: Results) -> Numbers:
    """The last event of each match, of its last component if that is a set member."""
    level = len(query.positives) - 1
    if query.positives[level].set_of is None:
        return results.last
    events, ends = results.bindings.of_level(level)
    is_there = np.diff(ends, prepend=0) > 0
    found = results.last.copy()
    found[is_there] = events[ends[is_there] - 1]
    return found


def _may_explode(query: BoundQuery) -> bool:
    """Whether matches may be exponentially many, so that a graph must count them.

    With imprecise time each match has a confidence, so paths are not matches: these are listed.
    """
    if query.confidence is not None:
        return False
    is_any = query.strategy is StrategyName.SKIP_TILL_ANY_MATCH
    return query.level > 1 and is_any and not (query.has_sets or query.has_groups)
