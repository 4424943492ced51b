"""Runs that are measured: what operators do, for EXPLAIN ANALYZE, and how long phases take."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import replace

from sase.engine.kernels.jit.compiler import compilations
from sase.engine.pipeline.batch import batches_in, push_all, read, run
from sase.engine.pipeline.matcher import Matcher
from sase.engine.plan import EnginePlan
from sase.engine.report import Report
from sase.engine.results.batch import ResultBatch
from sase.engine.results.matches import Matches
from sase.engine.stopwatch import Stopwatch

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
) -> tuple[Matches, Report]:
    """The matches, of which only so many are held as are to be `shown`, and the report of the run.

    `clock` counts forward, as `time.perf_counter_ns` does; one thread searches. With `pushed` the
    events are a stream, pushed in batches of so many rows.
    """
    counting = replace(plan, options=replace(plan.options, analyze=True))
    before = compilations()
    if pushed is None:
        matches = run(counting, events, threads=1, watch=watch, clock=clock)
    else:
        batches = batches_in(read(counting, events), counting, pushed)
        matches = push_all(Matcher(counting, watch=watch, clock=clock), batches)
    if shown is not None:
        matches = matches.first(shown, lambda count: None)
    report = matches.report
    if compilations() > before:
        report = replace(report, notes=(*report.notes, COMPILED))
    return matches, report


def timed(run: Callable[[], Matches], clock: Callable[[], int]) -> Matches:
    """The matches of a run, whose report has what the clock counted in each phase.

    Reading is all up to the search: files, sorting, a sample, the choice of the plan. Events that
    come in pieces are read by the search.
    """
    begin = clock()
    matches = run()
    reading, search = clock() - begin, matches.search

    def watched() -> Generator[ResultBatch, None, Report]:
        watch = Stopwatch(clock, 1)
        report: Report = yield from watch.pulled(0, search())
        return replace(report, timings=((READING, reading), (SEARCH, watch.spent[0])))

    matches.search = watched
    return matches
