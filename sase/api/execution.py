"""Run a compiled query: read the events, plan by their statistics, warn of too many matches."""

from __future__ import annotations

import time as clocks
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from warnings import warn

from sase.api.checks import check_bounds
from sase.api.compiled_query import CompiledQuery, statistics_in
from sase.api.limits import guard_of
from sase.engine.pipeline.limits import UNLIMITED, Limits, RunGuard, working
from sase.engine.resources import available_memory
from sase.errors import BudgetWarning
from sase.planning.nodes import Operator
from sase.planning.preflight import foreseen
from sase.planning.statistics import Statistics

if TYPE_CHECKING:
    from sase.engine.plan import EnginePlan
    from sase.engine.results.matches import Matches
    from sase.engine.sources import Files

# A sample is drawn where it costs at most a tenth of what the scan alone takes: it has one of so
# many events, and of fewer than the least a sample says little.
EVENTS_PER_SAMPLED, LEAST_SAMPLE, MOST_SAMPLE = 5_000, 2_000, 20_000
# Of so many events a small one costs little where a component is very rare: joins by a tree, or
# match windows below runs, may then save most.
ENOUGH_FOR_RARE = 1_000_000
# Without a key a query may find any number of matches, which is worth knowing of so many events; of
# series of any length that may be listed much fewer are many.
MANY, MANY_IN_SERIES, BY_FAR = 1_000, 24, 1_000


def run(
    known: CompiledQuery,
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
    """The matches, by a plan that statistics chose: those given, or of a sample if that pays.

    A `guard` has counted already what was read to compile the query. It `warns` where more matches
    are expected than fit.
    """
    from sase.engine.pipeline import batch
    from sase.engine.pipeline.analyze import timed
    from sase.engine.pipeline.fused.neighbours import has_rare

    check_bounds(threads, max_matches)
    given = statistics_in(stats)
    guard = guard_of(limits, clock) if guard is None else guard
    limits = UNLIMITED if guard is None else guard.limits
    settings: dict[str, Any] = {"threads": threads, "most": max_matches, "watch": watch}

    def start() -> Matches:
        with working(guard):
            rows, plan = planned()
        return batch.searched(plan, rows, guard=guard, **settings)

    def planned() -> tuple[batch.RowsInMemory | Files, EnginePlan]:
        most = batch.most_held(guard)
        rows, statistics = batch.read(known.reading, known.source.events, most, guard), given
        if isinstance(rows, batch.RowsInMemory) and statistics is None:
            sample = sample_that_pays(known, rows.inputs.num_rows)
            if sample or rows.inputs.num_rows >= ENOUGH_FOR_RARE:
                rows, events = rows.load(known.reading, threads)
                sample = sample or LEAST_SAMPLE * has_rare(known.reading, events)
                statistics = known.measured(events, sample) if sample else None
        made = known.optimized(statistics, loaded=isinstance(rows, batch.RowsInMemory))
        if warns and isinstance(rows, batch.RowsInMemory) and statistics is not None:
            room = available_memory() if limits.memory is None else limits.memory
            _warn_of_too_many(made.plan, statistics, max_matches, room, rows.inputs.num_rows)
        return rows, known.plan(made).engine

    return timed(start, clock)


def _warn_of_too_many(
    plan: Operator, statistics: Statistics, max_matches: int | None, room: int, events: int
) -> None:
    """Warn the caller of a public function of a run that is expected to find too many matches."""
    # Of a few events little can be foreseen but what is too much by far.
    margin = 1 if events >= MANY else BY_FAR
    warning = foreseen(plan, statistics, max_matches, room // 2, margin)
    if warning is not None:
        warn(BudgetWarning(warning), stacklevel=8)


def sample_that_pays(known: CompiledQuery, events: int) -> int:
    """The size of the sample of so many events; 0 if it would cost more than it can save.

    Of runs nothing is chosen but under skip till any match, and where a component is very rare.
    """
    if known.has_runs and not known.may_explode:
        return 0
    sample = min(events // EVENTS_PER_SAMPLED, MOST_SAMPLE)
    if sample >= LEAST_SAMPLE:
        return sample
    many = MANY_IN_SERIES if known.has_runs else MANY
    return LEAST_SAMPLE if events >= many and known.may_explode else 0
