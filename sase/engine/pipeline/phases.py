"""How long the phases of a run take: what is done before matches are asked for, and the search."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import replace

from sase.engine.report import Report
from sase.engine.results.batch import ResultBatch
from sase.engine.results.matches import Matches
from sase.engine.stopwatch import Stopwatch

READING, SEARCH = "Reading", "Search"


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
