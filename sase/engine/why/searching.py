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
from sase.planning.optimizer import optimized
from sase.planning.recipes import Recipe

# Between two blocks the clock is looked at. A block can take long where nothing keeps partitions
# apart; where keys do, they are looked after for each block.
WITH_KEYS, WITHOUT = Options(), Options(block=1 << 14)
# The first piece of the events, and by how much the next one is larger: what a search does for a
# piece is then not much more than what it has done before, whatever goes with the events before.
FIRST, GROWTH = 64, 1.25


def planned(query: BoundQuery, schema: Schema, recipe: Recipe) -> EnginePlan:
    """How a query is run."""
    operators = optimized(recipe, basic_plan(query)).plan
    options = WITH_KEYS if query.equivalences else WITHOUT
    return EnginePlan(operators, schema, query.definitions, options)


@dataclass(frozen=True, slots=True)
class Found:
    """How many matches, and how many events that are the last of one."""

    matches: Count
    lasts: Count


class Search:
    """Runs queries over some events, within a budget."""

    def __init__(self, events: Events, schema: Schema, recipe: Recipe, budget: Budget) -> None:
        self.events, self.schema, self.recipe = events, schema, recipe
        self.budget, self._pieces = budget, _growing(events)
        # Whether some search had to be ended.
        self.is_cut = False
        # Whether the last one came to its end.
        self.is_whole = True
        self._counted: dict[BoundQuery, Found] = {}

    def results(self, query: BoundQuery) -> Iterator[Results]:
        """What a query finds, as far as time allows."""
        if self.budget.is_spent:
            self.is_cut, self.is_whole = True, False
            return
        self.is_whole = True
        matcher = Matcher(
            planned(query, self.schema, self.recipe),
            streaming=False,
            watch=self.budget.share(len(self.events)),
        )
        try:
            yield from matcher.results(*self._pieces)
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
            last[results.last] = True
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


def _growing(events: Events) -> list[Events]:
    """Events in pieces that grow up to the size of a block, and the rest."""
    ends, size = [0], float(FIRST)
    while ends[-1] + size < len(events) and size < WITH_KEYS.block:
        ends.append(_boundary(events, ends[-1] + int(size)))
        size *= GROWTH
    ends.append(len(events))
    return [events.between(begin, end) for begin, end in zip(ends, ends[1:], strict=False)]


def _boundary(events: Events, place: int) -> int:
    """The first place from one on that is not simultaneous with the one before."""
    if events.tie is None:
        return place
    return int(np.searchsorted(events.tie, events.tie[place - 1], "right"))
