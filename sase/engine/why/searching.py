"""Searches of relaxed queries: what they find is counted, and none of it is kept."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sase.binding import BoundQuery, Schema
from sase.engine.events import Events
from sase.engine.matcher import Matcher
from sase.engine.operators.transformation import Results
from sase.engine.options import Options
from sase.engine.plan import EnginePlan
from sase.engine.why.budget import Budget, Count, Ended
from sase.planning.basic import basic_plan
from sase.planning.recipes import cooked, read_recipe

# Small blocks: between two of them the clock is looked at.
OPTIONS = Options(block=1 << 14)


def planned(query: BoundQuery, schema: Schema, recipe: str) -> EnginePlan:
    """How a query is run."""
    operators, _ = cooked(read_recipe(recipe), basic_plan(query))
    return EnginePlan(operators, schema, query.definitions, OPTIONS)


@dataclass(frozen=True, slots=True)
class Found:
    """How many matches, and how many events that are the last of one."""

    matches: Count
    lasts: Count


class Search:
    """Runs queries over some events, within a budget."""

    def __init__(self, events: Events, schema: Schema, recipe: str, budget: Budget) -> None:
        self.events, self.schema, self.recipe = events, schema, recipe
        self.budget = budget
        # Whether some search had to be ended.
        self.is_cut = False
        # Whether the last one came to its end.
        self.is_whole = True
        self._counted: dict[BoundQuery, Found] = {}

    def results(self, query: BoundQuery) -> Iterator[Results]:
        """What a query finds, as far as time allows."""
        self.is_whole = True
        matcher = Matcher(
            planned(query, self.schema, self.recipe),
            streaming=False,
            watch=self.budget.share(),
        )
        try:
            yield from matcher.results(self.events)
        except Ended:
            self.is_cut, self.is_whole = True, False

    def count(self, query: BoundQuery) -> Found:
        """How much a query finds; what was counted once is known."""
        if query not in self._counted:
            self._counted[query] = self._count(query)
        return self._counted[query]

    def _count(self, query: BoundQuery) -> Found:
        last, number = np.zeros(len(self.events), np.bool_), 0
        for results in self.results(query):
            number += len(results)
            last[results.positions[-1]] = True
            if self.is_enough(number):
                break
        is_exact = self.is_whole
        return Found(Count(number, is_exact), Count(int(last.sum()), is_exact))

    def is_enough(self, found: int) -> bool:
        """Whether a search has found as much as it may, and ends with that."""
        if found < self.budget.most:
            return False
        self.is_cut, self.is_whole = True, False
        return True

    def has(self, query: BoundQuery) -> bool | None:
        """Whether a query finds anything; None if that did not come out in time."""
        if query in self._counted and self._counted[query].matches.is_exact:
            return self._counted[query].matches.number > 0
        if any(len(results) for results in self.results(query)):
            return True
        return False if self.is_whole else None
