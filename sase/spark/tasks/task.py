"""Search one part in a worker: one matcher over its rows, block by block, in event order.

A part is all events of some keys, or a slice of time with its halo; a slice owns some matches.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sase.engine.columns.arrays import Mask
from sase.engine.operators.transformation import Results
from sase.engine.pipeline.limits import UNLIMITED, Limits, RunGuard
from sase.engine.results.batch import MatchBatch
from sase.engine.results.matches import Matches
from sase.errors import SaseError
from sase.planning.replay import SlicePlan
from sase.spark.reading.row_layout import PART, gathered, whole_moments
from sase.spark.tasks.limit import Leading, PartitionHead
from sase.spark.tasks.result_order import (
    ORDER,
    PARTITION,
    SPAN,
    heads_of,
    order_of,
    partitions_of,
    span_of,
)
from sase.spark.tasks.search import QuerySearch, ScriptSearch, pieces
from sase.spark.tasks.set_search import SetSearch
from sase.spark.tasks.task_limits import within

# Numbers of any size as hexadecimal digits, which are fast to write and to read.
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

    search: QuerySearch | ScriptSearch
    whole: int = 1
    slices: SlicePlan | None = None
    slack: int = 0
    # The limits of the search of a part.
    limits: Limits = UNLIMITED

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The results of the rows of one part, their number, or the counters."""
        blocks = gathered(batches)
        first = next(blocks, None)
        if first is not None:
            part = part_of(first)
            of_part = (_checked(each, part) for each in chain([first], blocks))
            yield from self.searched(part, of_part)

    def searched(self, part: int, blocks: Iterable[pa.Table]) -> Iterator[pa.RecordBatch]:
        """Search the rows of a part, and return its output."""
        yield from within(self.limits, lambda guard: self._searched(part, blocks, guard))

    def _searched(
        self, part: int, blocks: Iterable[pa.Table], guard: RunGuard | None
    ) -> Generator[pa.RecordBatch]:
        """The output of a part; the guard may end it."""
        search = self._opened(part, guard)
        for rows in whole_moments(blocks, self.search.order[0], self.slack):
            yield from self._shown(search.push(rows))
            if search.is_done:
                break
        yield from self._shown(search.finish())
        if isinstance(search, PartSearch) and self.search.gives == "metrics":
            yield search.metrics()
        elif self.search.gives == "count":
            yield pa.record_batch([[f"{search.results:x}"]], schema=COUNT)

    def owned(self, part: int) -> tuple[int, int] | None:
        """The first and the last time that a part owns; None if it is not a slice."""
        if self.slices is None or part < self.whole:
            return None
        return self.slices.owned(part - self.whole)

    def _opened(self, part: int, guard: RunGuard | None) -> PartSearch | SetSearch:
        search, owned = self.search, self.owned(part)
        if isinstance(search, ScriptSearch) or search.form is None:
            return PartSearch(search, part, owned, guard)
        counts = search.gives == "count"
        return SetSearch(search.form, search.shape, self.slack, owned, counts=counts, guard=guard)

    def _shown(self, found: Iterator[pa.Table]) -> Iterator[pa.RecordBatch]:
        for table in found:
            yield from table.cast(self.search.output).to_batches()


def part_of(rows: pa.Table, part: int | None = None) -> int:
    """The part of all rows, which must equal the part of earlier rows."""
    low, high = pc.min_max(rows.column(PART)).as_py().values()
    parts = sorted({low, high, *([] if part is None else [part])})
    if len(parts) > 1:
        raise SaseError(
            f"the rows of parts {parts[0]} and {parts[1]} came to one task: something between the"
            " events and  sase.spark  has moved them"
        )
    return int(low)


def _checked(rows: pa.Table, part: int) -> pa.Table:
    """The rows as events, after a check of their part."""
    part_of(rows, part)
    return rows.drop_columns([PART])


class PartSearch:
    """The search of one part; if it is a slice, it owns only some of the matches."""

    def __init__(
        self,
        search: QuerySearch | ScriptSearch,
        part: int = 0,
        owned: tuple[int, int] | None = None,
        guard: RunGuard | None = None,
    ) -> None:
        self._search: Any = search  # a search accepts only pipelines that it opened
        self._part, self._owned = part, owned
        self._opened: Any = search.of_part(guard)
        is_led = search.limit is not None and search.gives == "results"
        self._first = PartitionHead(search.limit or 0) if is_led else None
        self._rows = self.results = 0
        self._begin = time.perf_counter_ns(), time.process_time_ns()

    @property
    def is_done(self) -> bool:
        """Whether the limit is reached."""
        return bool(self.results == self._search.limit)

    def push(self, rows: pa.Table) -> Iterator[pa.Table]:
        """Push more rows, and return the results that are complete."""
        self._rows += rows.num_rows
        for _, found in self._search.pushed(self._opened, rows, is_sorted=True):
            yield from self._tables(found)

    def finish(self) -> Iterator[pa.Table]:
        """Finish the search, and return the remaining results."""
        if not self.is_done:
            yield from self._tables(self._opened.finish())

    def metrics(self) -> pa.RecordBatch:
        """The counters, one row each."""
        wall, cpu = self._begin
        counted: list[tuple[str, str, int]] = [
            ("Task", "rows", self._rows),
            ("Task", "results", self.results),
            ("Task", "wall_ns", time.perf_counter_ns() - wall),
            ("Task", "cpu_ns", time.process_time_ns() - cpu),
        ]
        for operator, counters in self._opened.counters:
            counted += [
                (operator, name, value)
                for counter, known in counters.items()
                for name, value in _flat(counter, known)
            ]
        operators, names, values = zip(*counted, strict=True)
        return pa.record_batch(
            [[self._part] * len(counted), operators, names, values], schema=METRICS
        )

    # ------------------------------------------------------------ results

    def _tables(self, matches: Mapping[str, Matches]) -> Iterator[pa.Table]:
        for name, piece in pieces(matches):
            own = owned_by(self._owned, piece, by_first=self._search.by_first)
            yield from self._limited(name, own)
            if self.is_done and (self._first is None or not self._first.expects_ties):
                return

    def _limited(self, name: str, matches: MatchBatch) -> Iterator[pa.Table]:
        """Apply LIMIT to more results, and return those to output."""
        search = self._search
        if self._first is None:
            left = len(matches) if search.limit is None else search.limit - self.results
            matches = matches.between(0, left)
            self.results += len(matches)
            if len(matches) and search.gives == "results":
                yield self._table(name, matches)
            return
        for leading in self._first.of(matches):
            if not leading.is_beyond:
                self.results += len(leading.found)
            elif ORDER not in search.output.names:  # no second step could refuse it
                self._first.refuse(leading.found)
            if len(leading.found):
                yield self._table(name, leading.found, leading)

    def _table(self, name: str, matches: MatchBatch, leading: Leading | None = None) -> pa.Table:
        """Results, with the columns for a second step if there is one."""
        names, steps = self._search.output.names, {}
        if ORDER in names and leading is not None:
            steps[ORDER] = order_of(matches, leading.heads, leading.follows, self._part)
        elif ORDER in names:
            none = np.zeros(len(matches), np.int64)
            steps[ORDER] = order_of(matches, heads_of(matches), none, self._part)
        if SPAN in names:
            steps[SPAN] = span_of(matches)
            steps[PARTITION] = partitions_of(matches, self._search.non_overlapping)
        if not steps:
            return self._search.table(name, matches)
        made = pa.table({}) if len(steps) == len(names) else matches.table()
        return pa.table({**dict(zip(made.column_names, made.columns, strict=True)), **steps})


def owned_by(
    owned: tuple[int, int] | None, matches: MatchBatch, *, by_first: bool = False
) -> MatchBatch:
    """The matches that a slice owns by their last event, first event, or time of detection."""
    if owned is None:
        return matches
    low, high = owned

    def is_own(results: Results) -> Mask:
        times = results.detected
        if times is None:
            times = matches.history.times(results.first if by_first else results.last)
        return (times >= low) & (times <= high)

    return matches.where(is_own)


def _flat(counter: str, known: object) -> Iterator[tuple[str, int]]:
    """A counter as named numbers."""
    match known:
        case list():
            yield from ((f"{counter}[{n}]", int(value)) for n, value in enumerate(known))
        case dict():
            yield from ((f"{counter}: {text}", int(value)) for text, value in known.items())
        case int():
            yield counter, known
