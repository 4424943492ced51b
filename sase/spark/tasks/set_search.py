"""Search a part for its matches as a set: their number by last event, and their events.

The rows of a part are searched in stretches. A stretch is read with one window around it, and older
rows are dropped. Without a time window, the part is one stretch.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sase.binding.bound import WindowKind
from sase.engine.columns.arrays import Mask
from sase.engine.operators.transformation import Results
from sase.engine.pipeline.batch import RowsInMemory
from sase.engine.pipeline.fused.open import open_pipeline
from sase.engine.pipeline.limits import RunGuard, check_of, watch_of
from sase.engine.pipeline.pipeline import Pipeline
from sase.engine.results.batch import MatchBatch, ResultBatch
from sase.engine.set_results.collapsed_table import CollapsedForm, EventLists, collapsed_events
from sase.engine.set_results.compressed_matches import BUDGET
from sase.engine.set_results.counted_union import counted_set
from sase.engine.set_results.listed import CollapsedBuilder
from sase.errors import BudgetError
from sase.planning.engine_plan import EnginePlan
from sase.planning.replay import EARLIEST, LATEST
from sase.spark.reading.row_layout import RowLayout
from sase.spark.reading.ties import Ties

# The rows of a stretch, unless a window has more.
STRETCH = 1 << 19


@dataclass(frozen=True)
class SetPlan:
    """The `plan` of the set of all matches and its keys; `reasons` why matches are listed."""

    plan: EnginePlan
    keys: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()


def shown_schema(form: SetPlan, empty: object) -> pa.Schema:
    """The columns of the collapsed form, from events without rows."""
    pipeline = Pipeline(form.plan)
    inputs, events = pipeline.load(empty)
    found = MatchBatch(pipeline.shape, pipeline.bind_input(inputs, events))
    none = np.empty(0, np.int64)
    ends = CollapsedForm(none, [], tuple(EventLists(none, none) for _ in form.plan.positives))
    return collapsed_events(ends, found, form.keys).schema


@dataclass(frozen=True, eq=False)
class _Block:
    """Rows of one push, and the times of their first and last event."""

    rows: pa.Table
    first: int
    last: int


class SetSearch:
    """Searches a part for the matches that end in it; collapsed unless it only `counts`."""

    is_done = False

    def __init__(
        self,
        form: SetPlan,
        shape: RowLayout,
        slack: int,
        owned: tuple[int, int] | None,
        *,
        counts: bool,
        guard: RunGuard | None = None,
    ) -> None:
        self._guard = guard
        self._form, self._shape, self._counts = form, shape, counts
        self._low, self._high = owned or (EARLIEST, LATEST)
        self._loader = Pipeline(form.plan)
        self._ties = Ties(form.plan, shape) if form.plan.counts_events else None
        self._blocks: list[_Block] = []
        self._fresh = self._listed_matches = self.results = 0
        split = form.plan.split
        self._before = self._after = None
        if split.before is not None and split.before.kind is WindowKind.TIME:
            reach = (split.before.size or 1) + slack
            self._before, self._after = reach, slack if split.after is None else reach

    def push(self, rows: pa.Table) -> Iterator[pa.Table]:
        """Push more rows, and return the final events that are complete."""
        with self._shape.showing(rows):
            _, events = self._loader.load(self._shape.events(rows))
        if self._ties is not None:
            self._ties.check(rows, self._loader.report().quarantined)
        if len(events):
            self._blocks.append(_Block(rows, int(events.ts[0]), int(events.ts[-1])))
            self._fresh += rows.num_rows
        buffered = sum(block.rows.num_rows for block in self._blocks)
        if self._after is not None and self._fresh >= max(STRETCH, buffered - self._fresh):
            # More events of the last time may follow.
            yield from self._search_until(self._blocks[-1].last - 1 - self._after)

    def finish(self) -> Iterator[pa.Table]:
        """Search the rest, and return its final events."""
        yield from self._search_until(LATEST)

    # ------------------------------------------------------------ a stretch

    def _search_until(self, until: int) -> Iterator[pa.Table]:
        """The matches that end up to this time, without those that were already returned."""
        low, high = self._low, min(until, self._high)
        if low <= high and self._blocks:
            rows = pa.concat_tables([block.rows for block in self._blocks])
            yield from self._searched(rows, low, high)
            self._low = high + 1
        self._fresh = 0
        if self._before is not None:
            oldest = self._low - self._before
            self._blocks = [block for block in self._blocks if block.last >= oldest]

    def _searched(self, rows: pa.Table, low: int, high: int) -> Iterator[pa.Table]:
        guard = self._guard
        pipeline = open_pipeline(self._form.plan, watch=watch_of(guard), check=check_of(guard))
        inputs, events = pipeline.load(self._shape.events(rows))
        within = range(
            int(np.searchsorted(events.ts, low, "left")),
            int(np.searchsorted(events.ts, high, "right")),
        )
        if self._form.reasons:
            found, pieces = self._listed(pipeline.search(inputs, events), within)
        else:
            known = counted_set(self._form.plan, RowsInMemory(inputs), events, guard)
            if self._counts:
                self.results += known.count_within(within)
                return
            found, pieces = known.nothing, known.ends_within(within)
        for ends in pieces:
            self.results += sum(ends.counts)
            yield collapsed_events(ends, found, self._form.keys)

    def _listed(
        self, parts: Iterator[ResultBatch], within: range
    ) -> tuple[MatchBatch, Iterator[CollapsedForm]]:
        """The collapsed form of matches that are enumerated."""
        nothing = next(parts)
        assert isinstance(nothing, MatchBatch), "of events that are held nothing else is found"

        def is_within(results: Results) -> Mask:
            return (results.last >= within.start) & (results.last < within.stop)

        gathered = CollapsedBuilder(len(nothing.shape.components))
        for part in parts:
            assert isinstance(part, MatchBatch)
            self._listed_matches += len(part)
            if self._listed_matches > BUDGET:
                raise BudgetError(
                    f"a task would have to look at more than {BUDGET:,} matches one by one, since"
                    f" not all of the query can be counted with: {self._form.reasons[0]}; narrow"
                    " the query, or cut the events into more parts"
                )
            gathered.add(part.where(is_within))
        return nothing, iter([gathered.ends()])
