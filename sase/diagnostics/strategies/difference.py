"""Compare the matches of neighbouring strategies, and give the reason for each that one lacks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise

import numpy as np

from sase.binding import BoundQuery
from sase.diagnostics.strategies.comparison import Difference, ExplainedMatch
from sase.diagnostics.strategies.strategy_rules import Run, StrategyRules
from sase.engine.pipeline.batch import held
from sase.engine.plan import EnginePlan
from sase.engine.results.matches import Matches
from sase.engine.results.row_history import HistorySegment, RowHistory
from sase.lang.ast import StrategyName

# The matches of each strategy, by input rows; the strictest strategy first.
Sets = Sequence[tuple[StrategyName, Sequence[Run]]]


def runs_of(matches: Matches) -> list[Run]:
    """Return the input rows of each match, a series for each component."""
    columns = [column.to_pylist() for column in matches.rows.columns]
    return [tuple(map(_series, match)) for match in zip(*columns, strict=True)]


def _series(rows: int | list[int] | None) -> tuple[int, ...]:
    if rows is None:
        return ()
    return (rows,) if isinstance(rows, int) else tuple(rows)


class Differences:
    """Compares the matches of strategies; `plan` is one that reads every event."""

    def __init__(self, query: BoundQuery, plan: EnginePlan, inputs: object, show: int) -> None:
        loaded = held(plan, inputs)
        self.query, self.show, self.is_known = query, show, loaded is not None
        if loaded is not None:
            read, events = loaded
            self.rules = StrategyRules(query, events, plan.schema)
            self._history = RowHistory((HistorySegment.of(0, read, events, read.numbers),))
            self._count = len(events)

    def between(self, found: Sets) -> Iterator[Difference]:
        """Yield what each strategy finds beyond the stricter one before it, and what it lacks."""
        for (stricter, few), (looser, many) in pairwise(found):
            yield self._difference(looser, many, stricter, few)
            if not set(few) <= set(many):
                yield self._difference(stricter, few, looser, many)

    def _difference(
        self, name: StrategyName, runs: Sequence[Run], other: StrategyName, others: Sequence[Run]
    ) -> Difference:
        known = set(others)
        more = [run for run in runs if run not in known]
        shown = tuple(self._explained(run, other) for run in more[: self.show])
        return Difference(name.value, other.value, len(more), shown)

    def _explained(self, run: Run, other: StrategyName) -> ExplainedMatch:
        at = tuple(tuple(self._positions[row] for row in series) for series in run)
        said = self.rules.reasons(other, self.rules.forbidden(other, at), self._rows.__getitem__)
        names = [each.variable for each in self.query.positives]
        return ExplainedMatch(tuple(zip(names, run, strict=True)), said)

    @cached_property
    def _rows(self) -> list[int]:
        """The input row of each position."""
        rows: list[int] = self._history.rows(np.arange(self._count)).tolist()
        return rows

    @cached_property
    def _positions(self) -> dict[int, int]:
        return {row: position for position, row in enumerate(self._rows)}
