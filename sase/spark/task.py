"""What runs in a worker: one matcher over the rows of one part, block by block.

The rows of a part come in the order of events. A part is whole histories of keys, or a slice of
time with its halo; then only the matches count that the slice owns.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Literal, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sase.binding.bound import EquivalenceTest
from sase.engine.bindings import Bindings, ends_of
from sase.engine.found import Found
from sase.engine.matcher import Matcher
from sase.engine.plan import EnginePlan
from sase.errors import DataError, SaseError
from sase.planning.replay import Slices
from sase.spark.blocks import gathered, whole_moments
from sase.spark.failing import of_row, told_alone
from sase.spark.partitions import partitions_of
from sase.spark.sets import Form, SetSearch
from sase.spark.shape import PART, Shape
from sase.spark.ties import Ties

# What a second step over the matches of all parts goes by: what they are ordered by, between which
# events each lies and in which part it was found, and its partition.
ORDER, SPAN, PARTITION = "#order", "#span", "#partition"
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
# Where an event could be named, there is none: it is before all.
NO_EVENT = -(2**63)


@dataclass(frozen=True)
class Task:
    """A search of parts: `whole` ones first, then one for each slice."""

    plan: EnginePlan
    shape: Shape
    output: pa.Schema
    whole: int = 1
    slices: Slices | None = None
    limit: int | None = None
    slack: int = 0
    gives: Gives = "results"
    # What is asked of the set of all matches, where they are not looked at one by one as they come.
    form: Form | None = None
    # The tests within whose partitions results are not to overlap, if they are not.
    apart: tuple[EquivalenceTest, ...] | None = None

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The results of the rows of one part, how many there are, or all that was counted."""
        blocks = gathered(batches)
        first = next(blocks, None)
        if first is not None:
            part = _part_of(first)
            of_part = (_checked(each, part) for each in chain([first], blocks))
            yield from self.searched(part, of_part)

    def searched(self, part: int, blocks: Iterable[pa.Table]) -> Iterator[pa.RecordBatch]:
        """What is to be given of the rows of a part."""
        with told_alone():
            yield from self._searched(part, blocks)

    def _searched(self, part: int, blocks: Iterable[pa.Table]) -> Iterator[pa.RecordBatch]:
        search = self._search(part)
        time, *_ = self.shape.order(self.plan.schema)
        for rows in whole_moments(blocks, time, self.slack):
            yield from self._shown(search.push(rows))
            if search.is_done:
                break
        yield from self._shown(search.finish())
        if isinstance(search, Search) and self.gives == "metrics":
            yield search.metrics()
        elif self.gives == "count":
            yield pa.record_batch([[f"{search.results:x}"]], schema=COUNT)

    def with_bad_rows(self, on_bad_row: str) -> Task:
        """The same where tasks read the events, and find the bad rows among them."""
        form, plan = self.form, replace(self.plan, on_bad_row=on_bad_row)
        if form is not None:
            form = replace(form, plan=replace(form.plan, on_bad_row=on_bad_row))
        return replace(self, plan=plan, form=form)

    def owned(self, part: int) -> tuple[int, int] | None:
        """The first and the last time that a part owns, if it is a slice."""
        if self.slices is None or part < self.whole:
            return None
        return self.slices.owned(part - self.whole)

    def _search(self, part: int) -> Search | SetSearch:
        if self.form is None or self.gives == "metrics":
            return Search(self, part)
        counts = self.gives == "count"
        return SetSearch(self.form, self.shape, self.slack, self.owned(part), counts=counts)

    def _shown(self, found: Iterator[pa.Table]) -> Iterator[pa.RecordBatch]:
        for table in found:
            yield from table.cast(self.output).to_batches()


def _part_of(rows: pa.Table) -> int:
    """The part of rows, which all have the same."""
    parts = pc.min_max(rows.column(PART)).as_py()
    if parts["min"] != parts["max"]:
        raise _mixed(parts["min"], parts["max"])
    return int(parts["min"])


def _checked(rows: pa.Table, part: int) -> pa.Table:
    """The rows, which must be of a part, as events."""
    if _part_of(rows) != part:
        raise _mixed(part, _part_of(rows))
    return rows.drop_columns([PART])


def _mixed(one: int, other: int) -> SaseError:
    return SaseError(
        f"the rows of parts {one} and {other} came to one task: something between the events and"
        "  sase.spark  has moved them"
    )


class Search:
    """The search of one part."""

    def __init__(self, task: Task, part: int) -> None:
        self.part, self._task = part, task
        self._matcher = Matcher(task.plan)
        self._left = task.limit
        is_ordered = task.plan.counts_events or task.apart is not None
        self._ties = Ties(task.plan, task.shape, task.apart) if is_ordered else None
        self._owned = task.owned(part)
        self._rows = self.results = 0
        self._begin = time.perf_counter_ns(), time.process_time_ns()

    @property
    def is_done(self) -> bool:
        """Whether no more results are wanted."""
        return self._left == 0

    def push(self, rows: pa.Table) -> Iterator[pa.Table]:
        """What some more rows complete."""
        self._rows += rows.num_rows
        shape = self._task.shape
        try:
            matches = self._matcher.push_ordered(shape.events(rows))
        except DataError as problem:
            if problem.row is None:
                raise
            raise of_row(problem, shape.row(rows, problem.row)) from None
        if self._ties is not None:
            self._ties.check(rows, matches.report.quarantined)
        yield from self._tables(matches.parts)

    def finish(self) -> Iterator[pa.Table]:
        """What is known because no row is to come."""
        if not self.is_done:
            yield from self._tables(self._matcher.finish().parts)

    def metrics(self) -> pa.RecordBatch:
        """What was counted, a row for each counter."""
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
            assert isinstance(part, Found)
            for found in map(self._own, part.pieces()):
                if self._left is not None:
                    found = found.between(0, self._left)
                    self._left -= len(found)
                self.results += len(found)
                if len(found) and self._task.gives == "results":
                    yield self._table(found)

    def _own(self, found: Found) -> Found:
        """The matches whose last event, or first where that decides, the part owns."""
        if self._owned is None:
            return found
        low, high = self._owned
        by_first = self._task.plan.split.by_first
        kept = []
        for results in found.results:
            times = found.history.times(results.first if by_first else results.last)
            is_own = (times >= low) & (times <= high)
            kept.append(results if is_own.all() else results.at(is_own))
        return replace(found, results=tuple(kept))

    def _table(self, found: Found) -> pa.Table:
        names = self._task.output.names
        steps = {ORDER: self._order(found)} if ORDER in names else {}
        if SPAN in names:
            assert self._task.apart is not None
            steps |= {SPAN: self._span(found), PARTITION: partitions_of(found, self._task.apart)}
        if not steps:
            return found.table()
        made = pa.table({}) if len(steps) == len(names) else found.table()
        return pa.table({**dict(zip(made.column_names, made.columns, strict=True)), **steps})

    def _order(self, found: Found) -> pa.Array:
        """What results are ordered by (LANGUAGE.md section 6), as lists of integers."""
        positions = found.positions
        if isinstance(positions, Bindings):
            return self._order_of_series(found, positions)
        columns = [found.moments(positions)[2]]
        for level in range(len(positions) - 1, -1, -1):
            key = [found.history.times(positions[level]), self._sequence(found, positions[level])]
            # Of earlier events the more recent comes first.
            columns += key if level == len(positions) - 1 else [~each for each in key]
        return _lists(columns)

    def _order_of_series(self, found: Found, positions: Bindings) -> pa.Array:
        """The same where matches are of any number of events; where they end comes before all."""
        known = found.moments(positions)[2]
        times = found.history.times(positions.events)
        sequences = self._sequence(found, positions.events)
        keys = []
        for number, (begin, end) in enumerate(zip(positions.begins, positions.ends, strict=True)):
            last, *earlier = range(end - 1, begin - 1, -1)
            key = [known[number], times[last], sequences[last]]
            for place in earlier:
                key += [~times[place], ~sequences[place]]
            keys.append([*key, NO_EVENT, *positions.lengths[::-1, number]])
        return pa.array(keys, pa.list_(pa.int64()))

    def _span(self, found: Found) -> pa.Array:
        """The time and `seq` of the first event and of the last, and the part."""
        columns = []
        for positions in ends_of(found.positions):
            columns += [found.history.times(positions), self._sequence(found, positions)]
        return _lists([*columns, np.full(len(found), self.part, np.int64)])

    def _sequence(self, found: Found, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        name = self._task.plan.schema.seq
        assert name is not None, "the order of results depends on it"
        places = found.history.places(positions)
        numbers = found.history.column(name, places, None).cast(pa.int64())
        return np.asarray(numbers.to_numpy())


def _lists(columns: Sequence[NDArray[np.int64]]) -> pa.Array:
    """Columns of integers as one of lists of the same length."""
    flat = np.stack(columns, axis=1)
    offsets = np.arange(0, flat.size + 1, flat.shape[1], dtype=np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(flat.ravel()))


def _flat(counter: str, known: object) -> Iterator[tuple[str, int]]:
    """A counter as numbers with names."""
    match known:
        case list():
            yield from ((f"{counter}[{n}]", int(value)) for n, value in enumerate(known))
        case dict():
            yield from ((f"{counter}: {text}", int(value)) for text, value in known.items())
        case int():
            yield counter, known
