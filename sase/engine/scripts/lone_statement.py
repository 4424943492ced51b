"""A statement that alone reads the only input: its own matcher, called as a `ScriptPipeline` is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from sase.binding import Schema
from sase.engine.pipeline.matcher import Matcher
from sase.engine.pipeline.pipeline import Pipeline
from sase.engine.pipeline.timers import due
from sase.engine.report import Report
from sase.engine.results.matches import Matches


class LoneStatement:
    """Orders its events by itself; a push takes less time than with several statements."""

    def __init__(self, matcher: Matcher, name: str = "") -> None:
        self.statements, self._matcher, self._bad = (name,), matcher, None

    def push(
        self, name: str | None, batch: object, *, is_ordered: bool = False
    ) -> dict[str, Matches]:
        """Push rows and return the matches; `is_ordered` if no row has to wait."""
        push = self._matcher.push_ordered if is_ordered else self._matcher.push
        matches = push(batch)
        self._bad = matches.report.quarantined
        return self._found(matches)

    def advance(self, to: object, names: tuple[str | None, ...]) -> dict[str, Matches]:
        """The matches that become certain when time passes without an event."""
        return self._found(self._matcher.advance(to))

    def finish(self) -> dict[str, Matches]:
        """The matches that become certain because no event will come."""
        self._bad = None
        return self._found(self._matcher.finish())

    def _found(self, matches: Matches) -> dict[str, Matches]:
        return {self.statements[0]: matches}

    @property
    def counters(self) -> Iterable[tuple[str, Mapping[str, object]]]:
        """The counters of the operators."""
        return self._matcher.counters

    @property
    def inputs(self) -> Mapping[str | None, Pipeline]:
        """The only input; its pipeline brings it into order."""
        return {None: self._matcher.pipeline}

    def due(self) -> Iterator[tuple[Schema, int]]:
        """The next timer, and the schema by which it is counted."""
        first = due(self._matcher.pipeline)
        if first is not None:
            yield self._matcher.pipeline.plan.schema, first

    def snapshot(self) -> bytes:
        """The state, which is that of the matcher."""
        return self._matcher.snapshot()

    def take_late(self) -> None:
        """Forget the late rows."""
        self._matcher.take_late()

    def take_quarantined(self) -> Mapping[str | None, Any]:
        """The bad rows of the last push."""
        return {None: self._bad}

    @property
    def reports(self) -> dict[str, Report]:
        """The report at the end."""
        warnings = tuple(self._matcher.news(is_end=True))
        return {self.statements[0]: replace(self._matcher.report(), warnings=warnings)}

    @property
    def input_reports(self) -> dict[str | None, Report]:
        """The counts of rows, and of late rows."""
        return {None: self._matcher.report()}
