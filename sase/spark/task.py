"""Search one part in a worker: one matcher over its rows, block by block, in the order of events.

A part is whole histories of keys, or a slice of time with its halo, which owns some matches.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import Literal, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sase.binding.bound import EquivalenceTest
from sase.engine.columns.arrays import Mask
from sase.engine.operators.transformation import Results
from sase.engine.pipeline.limits import UNLIMITED, Limits, RunGuard, check_of, watch_of
from sase.engine.pipeline.matcher import Matcher
from sase.engine.results.batch import MatchBatch
from sase.errors import SaseError
from sase.planning.plan import EnginePlan
from sase.planning.replay import SlicePlan
from sase.spark.limit import Leading, PartitionHead
from sase.spark.result_order import (
    ORDER,
    PARTITION,
    SPAN,
    heads_of,
    order_of,
    partitions_of,
    span_of,
)
from sase.spark.row_layout import PART, RowLayout, gathered, whole_moments
from sase.spark.set_search import SetPlan, SetSearch
from sase.spark.task_limits import within
from sase.spark.ties import Ties, agreed_by_results

Gives: TypeAlias = Literal["results", "count", "compressed", "metrics"]
# Numbers of any size, as hexadecimal digits: those are quick to write and to read.
COUNT = pa.schema([("matches", pa.string())])
METRICS = pa.schema(
    [
        ("part", pa.int32()),
        ("operator", pa.string()),
        ("counter", pa.string()),
        ("value", pa.int64()),
    ]
)


@dataclass(frozen=True)
class Task:
    """A search of parts: `whole` ones first, then one for each slice."""

    plan: EnginePlan
    shape: RowLayout
    output: pa.Schema
    whole: int = 1
    slices: SlicePlan | None = None
    limit: int | None = None
    slack: int = 0
    gives: Gives = "results"
    # What is asked of the set of all matches, where they are not looked at one by one as they come.
    form: SetPlan | None = None
    # The tests within whose partitions results are not to overlap, if they are not.
    non_overlapping: tuple[EquivalenceTest, ...] | None = None
    # Of the search of a part.
    limits: Limits = UNLIMITED

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The results of the rows of one part, how many there are, or all that was counted."""
        blocks = gathered(batches)
        first = next(blocks, None)
        if first is not None:
            part = _part_of(first)
            of_part = (_checked(each, part) for each in chain([first], blocks))
            yield from self.searched(part, of_part)

    def searched(self, part: int, blocks: Iterable[pa.Table]) -> Iterator[pa.RecordBatch]:
        """Search the rows of a part, and give its output."""
        yield from within(self.limits, lambda guard: self._searched(part, blocks, guard))

    def _searched(
        self, part: int, blocks: Iterable[pa.Table], guard: RunGuard | None
    ) -> Generator[pa.RecordBatch]:
        """The output of a part, that a guard may end."""
        search = self._search(part, guard)
        moment, *_ = self.shape.order(self.plan.schema)
        for rows in whole_moments(blocks, moment, self.slack):
            yield from self._shown(search.push(rows))
            if search.is_done:
                break
        yield from self._shown(search.finish())
        if isinstance(search, PartSearch) and self.gives == "metrics":
            yield search.metrics()
        elif self.gives == "count":
            yield pa.record_batch([[f"{search.results:x}"]], schema=COUNT)

    def with_bad_rows(self, on_bad_row: str) -> Task:
        """The task for tasks that read files, and so meet the bad rows themselves."""
        form, plan = self.form, replace(self.plan, on_bad_row=on_bad_row)
        if form is not None:
            form = replace(form, plan=replace(form.plan, on_bad_row=on_bad_row))
        return replace(self, plan=plan, form=form)

    def owned(self, part: int) -> tuple[int, int] | None:
        """The first and the last time that a part owns, if it is a slice."""
        if self.slices is None or part < self.whole:
            return None
        return self.slices.owned(part - self.whole)

    def _search(self, part: int, guard: RunGuard | None) -> PartSearch | SetSearch:
        if self.form is None or self.gives == "metrics":
            return PartSearch(self, part, guard)
        counts, owned = self.gives == "count", self.owned(part)
        return SetSearch(self.form, self.shape, self.slack, owned, counts=counts, guard=guard)

    def _shown(self, found: Iterator[pa.Table]) -> Iterator[pa.RecordBatch]:
        for table in found:
            yield from table.cast(self.output).to_batches()


def _part_of(rows: pa.Table, part: int | None = None) -> int:
    """The part that rows all have, and those before them."""
    low, high = pc.min_max(rows.column(PART)).as_py().values()
    parts = sorted({low, high, *([] if part is None else [part])})
    if len(parts) > 1:
        raise SaseError(
            f"the rows of parts {parts[0]} and {parts[1]} came to one task: something between the"
            " events and  sase.spark  has moved them"
        )
    return int(low)


def _checked(rows: pa.Table, part: int) -> pa.Table:
    """The rows, which must be of a part, as events."""
    _part_of(rows, part)
    return rows.drop_columns([PART])


class PartSearch:
    """The search of one part."""

    def __init__(self, task: Task, part: int, guard: RunGuard | None = None) -> None:
        self.part, self._task = part, task
        self._matcher = Matcher(task.plan, watch=watch_of(guard), check=check_of(guard))
        self._first, within = None, task.non_overlapping
        if task.limit is not None and task.gives == "results":
            self._first = PartitionHead(task.limit)
            within = agreed_by_results(task.plan) if within is None else within
        is_ordered = task.plan.counts_events or within is not None
        self._ties = Ties(task.plan, task.shape, within) if is_ordered else None
        self._owned = task.owned(part)
        self._rows = self.results = 0
        self._begin = time.perf_counter_ns(), time.process_time_ns()

    @property
    def is_done(self) -> bool:
        """Whether no more results are wanted."""
        return self.results == self._task.limit

    def push(self, rows: pa.Table) -> Iterator[pa.Table]:
        """Push more rows, and give the results that they complete."""
        self._rows += rows.num_rows
        shape = self._task.shape
        with shape.showing(rows):
            matches = self._matcher.push_ordered(shape.events(rows))
        if self._ties is not None:
            self._ties.check(rows, matches.report.quarantined)
        yield from self._tables(matches.parts)

    def finish(self) -> Iterator[pa.Table]:
        """Finish, and give the results that had to wait."""
        if not self.is_done:
            yield from self._tables(self._matcher.finish().parts)

    def metrics(self) -> pa.RecordBatch:
        """The counters, a row for each."""
        wall, cpu = self._begin
        counted: list[tuple[str, str, int]] = [
            ("Task", "rows", self._rows),
            ("Task", "results", self.results),
            ("Task", "wall_ns", time.perf_counter_ns() - wall),
            ("Task", "cpu_ns", time.process_time_ns() - cpu),
        ]
        for operator, counters in self._matcher.counters:
            counted += [
                (operator, name, value)
                for counter, known in counters.items()
                for name, value in _flat(counter, known)
            ]
        operators, names, values = zip(*counted, strict=True)
        return pa.record_batch(
            [[self.part] * len(counted), operators, names, values], schema=METRICS
        )

    # ------------------------------------------------------------ results

    def _tables(self, parts: Iterable[object]) -> Iterator[pa.Table]:
        for part in parts:
            assert isinstance(part, MatchBatch)
            for found in map(self._own, part.pieces()):
                yield from self._limited(found)
            if self.is_done and (self._first is None or not self._first.expects_ties):
                return

    def _limited(self, found: MatchBatch) -> Iterator[pa.Table]:
        """Apply LIMIT to more results, and give those that are output."""
        task = self._task
        if self._first is None:
            left = len(found) if task.limit is None else task.limit - self.results
            found = found.between(0, left)
            self.results += len(found)
            if len(found) and task.gives == "results":
                yield self._table(found)
            return
        for leading in self._first.of(found):
            if not leading.is_beyond:
                self.results += len(leading.found)
            elif ORDER not in task.output.names:  # without a second step that could do so
                self._first.refuse(leading.found)
            if len(leading.found):
                yield self._table(leading.found, leading)

    def _own(self, found: MatchBatch) -> MatchBatch:
        return owned_by(self._owned, found, by_first=self._task.plan.split.by_first)

    def _table(self, found: MatchBatch, leading: Leading | None = None) -> pa.Table:
        names, steps = self._task.output.names, {}
        if ORDER in names and leading is not None:
            steps[ORDER] = order_of(found, leading.heads, leading.follows, self.part)
        elif ORDER in names:
            none = np.zeros(len(found), np.int64)
            steps[ORDER] = order_of(found, heads_of(found), none, self.part)
        if SPAN in names:
            assert self._task.non_overlapping is not None
            steps[SPAN] = span_of(found)
            steps[PARTITION] = partitions_of(found, self._task.non_overlapping)
        if not steps:
            return found.table()
        made = pa.table({}) if len(steps) == len(names) else found.table()
        return pa.table({**dict(zip(made.column_names, made.columns, strict=True)), **steps})


def owned_by(
    owned: tuple[int, int] | None, found: MatchBatch, *, by_first: bool = False
) -> MatchBatch:
    """The matches whose last event, or first, or time of detection, a slice owns."""
    if owned is None:
        return found
    low, high = owned

    def is_own(results: Results) -> Mask:
        times = results.detected
        if times is None:
            times = found.history.times(results.first if by_first else results.last)
        return (times >= low) & (times <= high)

    return found.where(is_own)


def _flat(counter: str, known: object) -> Iterator[tuple[str, int]]:
    """A counter as numbers with names."""
    match known:
        case list():
            yield from ((f"{counter}[{n}]", int(value)) for n, value in enumerate(known))
        case dict():
            yield from ((f"{counter}: {text}", int(value)) for text, value in known.items())
        case int():
            yield counter, known
