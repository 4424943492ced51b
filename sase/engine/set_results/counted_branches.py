"""The number of matches of several branches, each counted by its own graph of events."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from sase.engine.pipeline.batch import RowsInMemory
from sase.engine.pipeline.limits import RunGuard
from sase.engine.plan import EnginePlan
from sase.engine.report import Report
from sase.engine.set_results.counted import CountedMatches
from sase.engine.set_results.counted_states import CountedStates
from sase.planning.nodes import name_of


class CountedBranches:
    """The matches of the plans of branches, no two of which have one in common."""

    reasons: tuple[str, ...] = ()

    def __init__(
        self, plans: Iterable[EnginePlan], rows: RowsInMemory, guard: RunGuard | None = None
    ) -> None:
        self._counts, self._reports = list[int](), list[Report]()
        for plan in plans:
            # One graph after the other, so that there is never more than one.
            how = CountedStates if CountedStates.is_of(plan) else CountedMatches
            found = how(plan, *rows.load(plan), guard=guard)
            self._counts.append(found.count(0))
            self._reports.append(found.report)

    def count(self) -> int:
        """The exact number."""
        return sum(self._counts)

    @property
    def report(self) -> Report:
        """The report of the run, with the operators of each branch."""
        warnings = dict.fromkeys(each for report in self._reports for each in report.warnings)
        counters = tuple(
            (name_of(name, branch), counted)
            for branch, report in enumerate(self._reports, 1)
            for name, counted in report.counters
        )
        return replace(self._reports[0], warnings=tuple(warnings), counters=counters)
