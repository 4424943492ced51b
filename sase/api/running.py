"""Running a compiled query: the optimizer chooses by the events, and warns of what is too much."""

from __future__ import annotations

import time as clocks
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from warnings import warn

from sase.api.checks import check_bounds
from sase.api.compiling import Compiled, statistics_in
from sase.errors import BudgetWarning
from sase.planning.preflight import foreseen

if TYPE_CHECKING:
    from sase.engine.columns import Events
    from sase.engine.plan import EnginePlan
    from sase.engine.results.matches import Matches
    from sase.engine.sources import Files

# A sample is drawn where it costs at most a tenth of what the scan alone takes: it has one of so
# many events, and of fewer than the least a sample says little.
EVENTS_PER_SAMPLED, LEAST_SAMPLE, MOST_SAMPLE = 5_000, 2_000, 20_000
# Without a key a query may find any number of matches, which is worth knowing of so many events; of
# series of any length that may be listed much fewer are many.
MANY, MANY_IN_SERIES, BY_FAR = 1_000, 24, 1_000


def run(
    known: Compiled,
    events: object | Files,
    *,
    stats: object = None,
    threads: int | None = None,
    max_matches: int | None = None,
    watch: Callable[[int], object] = lambda rows: None,
    clock: Callable[[], int] = clocks.perf_counter_ns,
) -> Matches:
    """The matches, by a plan that statistics chose: those given, or of a sample if that pays."""
    from sase.engine.pipeline import batch
    from sase.engine.pipeline.phases import timed
    from sase.engine.resources import available_memory

    check_bounds(threads, max_matches)
    given = statistics_in(stats)
    made = known.optimized(given)

    def choose(plan: EnginePlan, loaded: Events) -> EnginePlan:
        statistics, best = given, made
        if statistics is None:
            sample = sample_that_pays(known, len(loaded))
            if not sample:
                return plan
            statistics = known.measured(loaded, sample)
            best = known.optimized(statistics)
        # Of a few events little can be foreseen but what is too much by far.
        margin = 1 if len(loaded) >= MANY else BY_FAR
        memory = available_memory() // 2
        warning = foreseen(best.plan, statistics, max_matches, memory, margin)
        if warning is not None:
            warn(BudgetWarning(warning), stacklevel=6)
        return plan if best is made else known.plan(best).engine

    plan = known.plan(made).engine
    settings: dict[str, Any] = {"threads": threads, "most": max_matches, "watch": watch}
    return timed(lambda: batch.run(plan, events, choose=choose, **settings), clock)


def sample_that_pays(known: Compiled, events: int) -> int:
    """How many of so many events to sample; 0 if that would cost more than it can save.

    Of runs nothing is chosen but under skip till any match.
    """
    if known.has_runs and not known.may_explode:
        return 0
    sample = min(events // EVENTS_PER_SAMPLED, MOST_SAMPLE)
    if sample >= LEAST_SAMPLE:
        return sample
    many = MANY_IN_SERIES if known.has_runs else MANY
    return LEAST_SAMPLE if events >= many and known.may_explode else 0
