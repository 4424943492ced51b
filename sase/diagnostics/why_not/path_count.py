"""Count the matches of skip till any match as paths through a graph of events."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from sase.binding import BoundQuery, Schema
from sase.diagnostics.why_not.budget import Budget, BudgetSpent, Count
from sase.diagnostics.why_not.query_parts import ending, starting
from sase.engine.columns import Events
from sase.engine.match_graph.graph import Graph
from sase.engine.match_graph.totals import totals
from sase.engine.operators.kleene.match_set_evaluation import MatchSetEvaluationState
from sase.engine.pipeline.pipeline import Pipeline
from sase.errors import BudgetError
from sase.planning.counting import Collapsible, collapsible
from sase.planning.engine_plan import EnginePlan, Options
from sase.planning.plan.basic import basic_plan
from sase.planning.plan.nodes import RunEvaluation, require
from sase.planning.reasoning.paths import MOST_SLOTS, slots_of

Look = Callable[[int], None]
# The cost of a graph allowed per partial match of a search; the cost of an event besides the steps
# within its window.
STEPS, EACH = 100, 20
# The cost of a stored run.
KEPT = 500
SMALL = Options(block=1 << 14)


@dataclass(frozen=True)
class PathCount:
    """The number of paths, and of events that end one; of all events, or a prefix."""

    matches: Count
    lasts: Count


def form_of(query: BoundQuery) -> Collapsible:
    """Plan a query for a match graph; without `reasons` against it, all its paths are matches."""
    found = collapsible(basic_plan(query))
    if not keeps_runs(query):
        return found
    return replace(collapsible(basic_plan(replace(query, window=None))), reasons=found.reasons)


def keeps_runs(query: BoundQuery) -> bool:
    """Whether matches are found by runs, not by walking back (see `PostponedWalk`)."""
    runs = require(collapsible(basic_plan(query)).plan, RunEvaluation)
    is_apart = all(test in runs.partitions for test in runs.equivalences)
    return runs.counts_in_partitions and not is_apart


class PathCounter:
    """Counts paths through graphs of events that cost no more than a search may."""

    def __init__(self, pieces: Sequence[Events], schema: Schema, budget: Budget) -> None:
        self._pieces, self._schema = pieces, schema
        self._most, self._check = STEPS * budget.most, budget.check

    def counted(self, query: BoundQuery, form: Collapsible, look: Look) -> PathCount:
        """Count the matches of a query."""
        graph, until = self._graph(query, form, look)
        number, lasts = sum(total.matches for total in totals(graph)), len(graph.ends)
        _charge(look)
        is_exact = until is None
        return PathCount(Count(number, is_exact), Count(lasts, is_exact))

    def affordable(self, query: BoundQuery, look: Look) -> int | None:
        """Find the position up to which matches may be listed one by one; None for all.

        A walk back visits at most the paths that end at an event, and for each the events in the
        window. Runs are as many as the paths from the first event, and all are stored.
        """
        costs: list[tuple[int, int]] = []
        least: list[int] = []
        runs = keeps_runs(query)
        for level in range(len(query.positives)):
            part = starting(query, level) if runs else ending(query, level)
            graph, until = self._graph(part, form_of(part), look)
            least += [] if until is None else [until]
            widths = graph.stream.before - graph.stream.lowest + 1
            costs += (
                (
                    int(graph.positions[total.place]),
                    total.matches * (KEPT if runs else int(widths[total.place])),
                )
                for total in totals(graph)
            )
            _charge(look)
        spent = 0
        for position, cost in sorted(costs):
            spent += cost
            if spent > self._most:
                least.append(position)
                break
        return min(least, default=None)

    def _graph(self, query: BoundQuery, form: Collapsible, look: Look) -> tuple[Graph, int | None]:
        """Build the graph of all events, or of those before a position."""
        runs, events = require(form.plan, RunEvaluation), sum(map(len, self._pieces))
        if slots_of(runs.components, events) > MOST_SLOTS:
            raise BudgetError("the graph would have too many slots")
        plan = EnginePlan(form.plan, self._schema, query.definitions, SMALL)
        pipeline = Pipeline(plan, watch=look, check=self._check)
        (evaluation, *_) = pipeline.operators
        assert isinstance(evaluation, MatchSetEvaluationState)
        until: int | None = None
        try:
            for _ in pipeline.results(*self._pieces):
                raise AssertionError("a collapsible evaluation lists no match")
        except BudgetSpent:
            until = pipeline.at.events
        graph = evaluation.collected().matches.graph
        limit = self._unaffordable(graph, is_linked=evaluation.tests_neighbours)
        if limit is not None:
            until = limit if until is None else min(limit, until)
            graph = evaluation.collected(until).matches.graph
        return graph, until

    def _unaffordable(self, graph: Graph, *, is_linked: bool) -> int | None:
        """Find the position of the event with which a graph becomes too expensive."""
        # Tested neighbours: each event is compared with those before it in the window.
        widths = (graph.stream.before - graph.stream.lowest + 1).astype(np.float64)
        costs = EACH + (widths * np.maximum(widths, 32) if is_linked else widths)
        costs *= len(graph.slots)
        order = np.argsort(graph.positions, kind="stable")
        spent = np.cumsum(costs[order])
        place = int(np.searchsorted(spent, self._most, side="right"))
        return None if place == len(order) else int(graph.positions[order[place]])


def _charge(look: Look) -> None:
    """Charge the budget for counting; the result stays valid if it is used up."""
    with suppress(BudgetSpent):
        look(0)
