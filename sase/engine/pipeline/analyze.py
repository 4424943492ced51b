"""A run that counts what every operator does and how long it takes, for EXPLAIN ANALYZE."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from sase.engine.kernels.jit.compiler import compilations
from sase.engine.pipeline.batch import run
from sase.engine.plan import EnginePlan
from sase.engine.report import Report
from sase.engine.results.matches import Matches

COMPILED = "kernels were compiled in this run, and the times of operators contain that"


def analyzed(
    plan: EnginePlan,
    events: object,
    *,
    clock: Callable[[], int],
    shown: int | None = None,
    watch: Callable[[int], object] = lambda rows: None,
) -> tuple[Matches, Report]:
    """The matches, of which only so many are held as are to be `shown`, and the report of the run.

    `clock` counts forward, as `time.perf_counter_ns` does; one thread searches.
    """
    counting = replace(plan, options=replace(plan.options, analyze=True))
    before = compilations()
    matches = run(counting, events, threads=1, watch=watch, clock=clock)
    if shown is not None:
        matches = matches.first(shown, lambda count: None)
    report = matches.report
    if compilations() > before:
        report = replace(report, notes=(*report.notes, COMPILED))
    return matches, report
