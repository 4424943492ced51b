"""Run a compiled query: read the events, plan by their statistics, warn of too many matches."""

from __future__ import annotations

import time as clocks
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from warnings import warn

from sase.api.checks import check_bounds, guard_of
from sase.api.compiled_query import CompiledQuery, statistics_in
from sase.base.log import LOG
from sase.engine.pipeline.limits import UNLIMITED, Limits, RunGuard, working
from sase.engine.resources import available_memory
from sase.errors import BudgetWarning
from sase.planning.cost.preflight import foreseen
from sase.planning.plan.nodes import Operator, chain
from sase.planning.statistics import ALL_EVENTS, Statistics

if TYPE_CHECKING:
    from sase.api.plan import Plan
    from sase.engine.pipeline.batch import RowsInMemory
    from sase.engine.results.matches import Matches
    from sase.engine.sources import Files
    from sase.planning.engine_plan import EnginePlan

# A sample is drawn if it costs at most a tenth of the time of the scan: one event in this number is
# sampled. A sample below the least size says little.
EVENTS_PER_SAMPLED, LEAST_SAMPLE, MOST_SAMPLE = 5_000, 2_000, 20_000
# From this number of events on, a small sample costs little. A tree of joins, or match windows
# below runs, may save most of the time if a component is very rare.
ENOUGH_FOR_RARE = 1_000_000
# The size of the sample for estimates if the run itself takes no sample.
SAMPLE = 100_000
# Without a key, a query may find any number of matches. From this number of events on it is worth
# estimating them. Series of any length reach many matches with far fewer events.
MANY, MANY_IN_SERIES, BY_FAR = 1_000, 24, 1_000


def run(
    compiled: CompiledQuery,
    *,
    stats: object = None,
    threads: int | None = None,
    max_matches: int | None = None,
    limits: Limits = UNLIMITED,
    guard: RunGuard | None = None,
    warns: bool = True,
    watch: Callable[[int], object] = lambda rows: None,
    clock: Callable[[], int] = clocks.perf_counter_ns,
) -> Matches:
    """Run the query by the plan that statistics choose: the given ones, or those of a sample.

    The `guard` has already counted the files that were read to compile the query. `warns` enables
    the warning of too many expected matches.
    """
    from sase.engine.pipeline import batch
    from sase.engine.pipeline.analyze import timed

    check_bounds(threads, max_matches)
    given = statistics_in(stats)
    guard = guard_of(limits, clock) if guard is None else guard
    limits = UNLIMITED if guard is None else guard.limits
    settings: dict[str, Any] = {"threads": threads, "most": max_matches, "watch": watch}

    def start() -> Matches:
        with working(guard):
            rows, plan = planned()
        return batch.searched(plan, rows, guard=guard, **settings)

    def planned() -> tuple[RowsInMemory | Files, EnginePlan]:
        most = batch.most_held(guard)
        rows, statistics = batch.read(compiled.reading, compiled.source.events, most, guard), given
        if statistics is None:
            rows, statistics = sampled(compiled, rows, threads)
        made = compiled.optimized(statistics, loaded=isinstance(rows, batch.RowsInMemory))
        if warns and isinstance(rows, batch.RowsInMemory) and statistics is not None:
            room = available_memory() if limits.memory is None else limits.memory
            _warn_of_too_many(made.plan, statistics, max_matches, room, rows.inputs.num_rows)
        plan = compiled.plan(made)
        _log(plan)
        return rows, plan.engine

    return timed(start, clock)


def _log(plan: Plan) -> None:
    operators = " <- ".join(type(each).__name__ for each in chain(plan.operators))
    LOG.info("plan %s: %s", plan.recipe, operators)
    for step in plan.steps:
        LOG.debug("rewrite %s: %s", step.rewrite, step.declined or "applied")


def _warn_of_too_many(
    plan: Operator, statistics: Statistics, max_matches: int | None, room: int, events: int
) -> None:
    """Warn of a run that is expected to find too many matches."""
    # An estimate from a few events is rough, so only a number far too large is reported.
    margin = 1 if events >= MANY else BY_FAR
    warning = foreseen(plan, statistics, max_matches, room // 2, margin)
    if warning is not None:
        warn(BudgetWarning(warning), stacklevel=8)


def sampled(
    compiled: CompiledQuery, rows: RowsInMemory | Files, threads: int | None = 1
) -> tuple[RowsInMemory | Files, Statistics | None]:
    """Load the rows and take the sample that chooses the plan of a run, if a sample pays."""
    from sase.engine.pipeline.batch import RowsInMemory
    from sase.engine.pipeline.fused.neighbours import has_rare

    if not isinstance(rows, RowsInMemory):
        return rows, None
    sample = sample_that_pays(compiled, rows.inputs.num_rows)
    if not sample and rows.inputs.num_rows < ENOUGH_FOR_RARE:
        return rows, None
    rows, events = rows.load(compiled.reading, threads, compiled.reading.types_needed)
    sample = sample or LEAST_SAMPLE * has_rare(compiled.reading, events)
    return rows, compiled.measured(events, sample) if sample else None


def measured(
    compiled: CompiledQuery,
    given: Statistics | None,
    guard: RunGuard | None = None,
    *,
    samples: bool = True,
) -> tuple[Statistics | None, Statistics | None]:
    """The statistics that choose the plan of a run, and those for estimates.

    Both are the `given` ones. If a run takes no sample, a larger sample serves the estimates, or
    the footers of files if the events do not fit in memory.
    """
    from sase.engine.columns import Inputs
    from sase.engine.pipeline.batch import RowsInMemory, most_held, read
    from sase.engine.statistics import from_footers

    events, choosing = compiled.source.events, given
    if given is not None or events is None:
        return given, given
    if isinstance(events, Inputs) and not events.num_rows:  # of a schema alone
        return None, Statistics(0, source=ALL_EVENTS)
    rows = read(compiled.reading, events, most_held(guard), guard)
    if samples:
        rows, choosing = sampled(compiled, rows)
    if choosing is not None:
        return choosing, choosing
    if not isinstance(rows, RowsInMemory):
        return None, from_footers(rows, compiled.schema)
    loaded = rows.load(compiled.reading)[1] if rows.loaded is None else rows.loaded
    return None, compiled.measured(loaded, SAMPLE)


def sample_that_pays(compiled: CompiledQuery, events: int) -> int:
    """The size of the sample for this number of events; 0 if a sample would not pay.

    For runs, statistics choose only under skip till any match, or if a component is very rare.
    """
    if compiled.has_runs and not compiled.may_explode:
        return 0
    sample = min(events // EVENTS_PER_SAMPLED, MOST_SAMPLE)
    if sample >= LEAST_SAMPLE:
        return sample
    many = MANY_IN_SERIES if compiled.has_runs else MANY
    return LEAST_SAMPLE if events >= many and compiled.may_explode else 0
