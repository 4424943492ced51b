"""Measured runs: counters of the operators for EXPLAIN ANALYZE, and the times of the phases."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import replace

from sase.base.log import LOG
from sase.engine.kernels.jit.compiler import compilations
from sase.engine.pipeline.batch import Overseen, batches_in, push_all, read, run
from sase.engine.pipeline.limits import SECOND, RunGuard, working
from sase.engine.pipeline.matcher import Matcher
from sase.engine.report import Report
from sase.engine.results.batch import ResultBatch
from sase.engine.results.matches import Matches
from sase.engine.sources import MOST_HELD
from sase.engine.stopwatch import Stopwatch
from sase.planning.engine_plan import EnginePlan

READING, SEARCH = "Reading", "Search"
COMPILED = "kernels were compiled in this run, and the times of operators contain that"


def analyzed(
    plan: EnginePlan,
    events: object,
    *,
    clock: Callable[[], int],
    shown: int | None = None,
    pushed: int | None = None,
    watch: Callable[[int], object] = lambda rows: None,
    guard: RunGuard | None = None,
    held: int = MOST_HELD,
) -> tuple[Matches, Report]:
    """Return the matches and the report of a run, and hold only the matches to be `shown`.

    `clock` counts forward, as `time.perf_counter_ns` does. One thread searches. With `pushed` the
    events are a stream, in batches of `pushed` rows. A `guard` ends a run that exceeds its limits.
    Files of more than `held` bytes are read during the search.
    """
    counting, before = counted(plan), compilations()
    if pushed is None:
        matches = run(counting, events, threads=1, watch=watch, held=held, clock=clock, guard=guard)
    else:
        with working(guard):
            rows = read(counting, events, held, guard)
        overseen = Overseen.by(guard, watch, clock)
        matcher = Matcher(counting, watch=overseen.watch, clock=clock, check=overseen.check)
        matches = push_all(matcher, batches_in(rows, counting, pushed), overseen)
    if shown is not None:
        matches = matches.first(shown, lambda count: None)
    report = matches.report
    if compilations() > before:
        report = replace(report, notes=(*report.notes, COMPILED))
    return matches, report


def counted(plan: EnginePlan) -> EnginePlan:
    """The plan with operators that count all that ANALYZE shows."""
    return replace(plan, options=replace(plan.options, analyze=True))


def timed(run: Callable[[], Matches], clock: Callable[[], int]) -> Matches:
    """The matches of a run; its report has the time of each phase.

    All before the search counts as reading: files, sorting, a sample and the choice of the plan.
    Events that come in pieces are read by the search.
    """
    begin = clock()
    matches = run()
    reading, search = clock() - begin, matches.search
    LOG.info("read and planned in %.3f s", reading / SECOND)

    def watched() -> Generator[ResultBatch, None, Report]:
        watch = Stopwatch(clock, 1)
        report: Report = yield from watch.pulled(0, search())
        LOG.info(
            "searched %s rows in %.3f s, %s of them bad",
            f"{report.rows:,}", watch.spent[0] / SECOND, f"{report.bad:,}",
        )  # fmt: skip
        return replace(report, timings=((READING, reading), (SEARCH, watch.spent[0])))

    matches.search = watched
    return matches
