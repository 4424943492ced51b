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
from sase.planning.statistics import ALL_EVENTS, Statistics

if TYPE_CHECKING:
    from sase.engine.pipeline.batch import RowsInMemory
    from sase.engine.results.matches import Matches
    from sase.engine.sources import Files
    from sase.planning.plan import EnginePlan

# A sample is drawn where it costs at most a tenth of what the scan alone takes: it has one of so
# many events, and of fewer than the least a sample says little.
EVENTS_PER_SAMPLED, LEAST_SAMPLE, MOST_SAMPLE = 5_000, 2_000, 20_000
# Of so many events a small one costs little where a component is very rare: joins by a tree, or
# match windows below runs, may then save most.
ENOUGH_FOR_RARE = 1_000_000
# What is sampled to say what is expected where a run takes no sample.
SAMPLE = 100_000
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
        rows, statistics = batch.read(known.reading, known.source.events, most, guard), given
        if statistics is None and known.samples:
            rows, statistics = sampled(known, rows, threads)
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


def sampled(
    known: CompiledQuery, rows: RowsInMemory | Files, threads: int | None = 1
) -> tuple[RowsInMemory | Files, Statistics | None]:
    """Take the sample by which a run over rows chooses its plan, if one pays, of loaded rows."""
    from sase.engine.pipeline.batch import RowsInMemory
    from sase.engine.pipeline.fused.neighbours import has_rare

    if not isinstance(rows, RowsInMemory):
        return rows, None
    sample = sample_that_pays(known, rows.inputs.num_rows)
    if not sample and rows.inputs.num_rows < ENOUGH_FOR_RARE:
        return rows, None
    rows, events = rows.load(known.reading, threads)
    sample = sample or LEAST_SAMPLE * has_rare(known.reading, events)
    return rows, known.measured(events, sample) if sample else None


def measured(
    known: CompiledQuery,
    given: Statistics | None,
    guard: RunGuard | None = None,
    *,
    samples: bool = True,
) -> tuple[Statistics | None, Statistics | None]:
    """The statistics that choose the plan of a run, and those that say what is expected of it.

    Both are those that are `given`. Where a run takes none a larger sample says what is expected,
    or footers where events are too many to be held.
    """
    from sase.engine.columns import Inputs
    from sase.engine.pipeline.batch import RowsInMemory, most_held, read
    from sase.engine.statistics import from_footers

    events, choosing = known.source.events, given
    if given is not None or events is None:
        return given, given
    if isinstance(events, Inputs) and not events.num_rows:  # as of a schema alone
        return None, Statistics(0, source=ALL_EVENTS)
    rows = read(known.reading, events, most_held(guard), guard)
    if samples:
        rows, choosing = sampled(known, rows)
    if choosing is not None:
        return choosing, choosing
    if not isinstance(rows, RowsInMemory):
        return None, from_footers(rows, known.schema)
    loaded = rows.load(known.reading)[1] if rows.loaded is None else rows.loaded
    return None, known.measured(loaded, SAMPLE)


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
