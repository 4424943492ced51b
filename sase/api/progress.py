"""Calls of a caller's function with the progress of a run."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from time import perf_counter
from typing import TYPE_CHECKING, Any, TypeAlias

from sase.errors import PlanError

if TYPE_CHECKING:
    from sase.engine.report import Report
    from sase.engine.results.batch import ResultBatch
    from sase.engine.results.matches import Matches

# Receives the rows that were searched, and all rows, or None if they are not known.
Progress: TypeAlias = Callable[[int, int | None], object]
# The least seconds between two calls.
INTERVAL = 0.1


class ProgressCalls:
    """Calls a function at a bounded rate, and once at the end of a search."""

    def __init__(self, call: Progress, total: int | None) -> None:
        self._call, self._total, self._last = call, total, perf_counter()
        self._rows = 0

    def __call__(self, rows: int, *_: object) -> None:
        """Note the rows that were searched so far."""
        self._rows = rows
        if (now := perf_counter()) - self._last >= INTERVAL:
            self._last = now
            self._call(rows, self._total)

    def end(self) -> None:
        """Call at the end of a search that is over."""
        self._call(self._rows, self._total)

    def until_end(self, matches: Matches) -> Matches:
        """Call at the end of the search of matches, too."""
        search = matches.search

        def ended() -> Generator[ResultBatch, None, Report]:
            report = yield from search()
            # Rows that need not be read are done, too.
            self._call(report.rows if self._total is None else self._total, self._total)
            return report

        matches.search = ended
        return matches


def check_progress(progress: object, *, is_listed: bool) -> None:
    """Refuse a value that is no function, and a form of results without progress."""
    if progress is None:
        return
    check_call(progress, "rows")
    if not is_listed:
        raise PlanError('progress= is for output="all" or "non_overlap": leave it out')


def check_call(progress: object, things: str) -> None:
    """Refuse a value that is no function of the things done, such as rows."""
    if not callable(progress):
        raise PlanError(
            f"progress={progress!r}: give a function of the {things} done and of all {things}, such"
            " as  progress=lambda done, total: print(done, total)"
        )


def rows_of(events: Any) -> int | None:
    """The number of rows of a table, a frame or a list; None if reading would be needed."""
    known = getattr(events, "num_rows", None)
    if isinstance(known, int):
        return known
    return len(events) if isinstance(events, list) or hasattr(events, "__dataframe__") else None


def total_of(rows: Iterable[int | None]) -> int | None:
    """The sum of the rows of inputs; None if those of one are not known."""
    known = [*rows]
    return None if None in known else sum(filter(None, known))
