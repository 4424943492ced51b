"""Measure statistics on a sample of a query's input."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sase.binding.bound import EquivalenceTest
from sase.binding.parts import references
from sase.engine.columns import Events
from sase.engine.statistics.agreements import agreements
from sase.engine.statistics.attributes import by_type
from sase.engine.statistics.population import Population, conjuncts
from sase.engine.statistics.sampling import draw_sample
from sase.engine.statistics.selectivities import selectivities
from sase.planning.plan import EnginePlan
from sase.planning.split import window_of
from sase.planning.statistics import ALL_EVENTS, Admission, Statistics

SAMPLE = 20_000


def measured(
    plan: EnginePlan,
    events: Events,
    *,
    tests: Sequence[EquivalenceTest] | None = None,
    sample: int = SAMPLE,
    seed: int = 0,
) -> Statistics:
    """Measure statistics of loaded events, for a query by its basic plan.

    About `sample` rows are drawn, or all if there are no more. The cost depends on the sample, not
    on the number of events, except for rare types, which are counted among all. `tests` are the
    scan's unless others are given.
    """
    if not len(events):
        return Statistics(0, source=ALL_EVENTS)
    rng = np.random.default_rng(seed)
    tests = plan.scan.tests if tests is None else tuple(tests)
    named = (each.attribute for c in conjuncts(plan) for each in references(c.condition))
    texts = {name for name in named if name is not None}
    rows = draw_sample(events, window_of(plan.operators), sample, rng, texts)
    population = Population(plan, rows, tests)
    return Statistics(
        rows=len(events),
        first=int(events.ts[0]),
        last=int(events.ts[-1]),
        types=by_type(population, tests, events),
        admissions=tuple(
            Admission(component.variable, share)
            for component in population.components
            if (share := population.admission(component)) is not None
        ),
        agreements=tuple(agreements(population, tests, rng)),
        selectivities=tuple(selectivities(population, tests, rng)),
        source=ALL_EVENTS if rows.is_all else "a sample",
        sampled=len(events) if rows.is_all else len(rows.events),
    )
