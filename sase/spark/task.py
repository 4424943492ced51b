"""What runs in a worker: one matcher over the rows of one part, block by block.

The rows of a part come in the order of events. A part is whole histories of keys, or a slice of
time with its halo; then only the matches count that the slice owns.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sase.engine.found import Found
from sase.engine.matcher import Matcher
from sase.engine.plan import EnginePlan
from sase.errors import DataError, SaseError
from sase.planning.replay import EARLIEST, LATEST, Slices

# Rows of a push: enough that what a push costs by itself does not count.
BLOCK = 1 << 17
PART, ORDER, TIME = "#part", "#order", "#time"
METRICS = pa.schema(
    [
        ("part", pa.int32()),
        ("operator", pa.string()),
        ("counter", pa.string()),
        ("value", pa.int64()),
    ]
)


@dataclass(frozen=True)
class Shape:
    """How events travel: the types whose columns are packed into a struct each, or none."""

    types: tuple[str, ...] = ()

    def events(self, rows: pa.Table) -> pa.Table | dict[str, pa.Table]:
        """The events as the engine takes them."""
        if not self.types:
            return rows
        found = {}
        for number, name in enumerate(self.types):
            if (index := rows.schema.get_field_index(f"#{number}")) < 0:
                continue
            column = rows.column(index)
            present = column.filter(column.is_valid()).combine_chunks()
            found[name] = pa.Table.from_struct_array(present)
        return found


@dataclass(frozen=True)
class Task:
    """A search of parts: `whole` ones first, then one for each slice."""

    plan: EnginePlan
    shape: Shape
    output: pa.Schema
    whole: int = 1
    slices: Slices | None = None
    limit: int | None = None
    is_measured: bool = False

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The results of the rows of one part, or with `is_measured` what was counted."""
        blocks = self._blocks(batches)
        first = next(blocks, None)
        if first is not None:
            part = _part_of(first)
            of_part = (_checked(each, part) for each in chain([first], blocks))
            yield from self.searched(Search(self, part), of_part)

    def searched(self, search: Search, blocks: Iterable[pa.Table]) -> Iterator[pa.RecordBatch]:
        """The results of the rows of a part, or what was counted."""
        for rows in blocks:
            yield from self._shown(search.push(rows))
            if search.is_done:
                break
        yield from self._shown(search.finish())
        if self.is_measured:
            yield from search.metrics()

    def _shown(self, found: Iterator[pa.Table]) -> Iterator[pa.RecordBatch]:
        for table in found:
            if not self.is_measured:
                yield from table.cast(self.output).to_batches()

    def _blocks(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
        """The rows in blocks of some size."""
        waiting: list[pa.RecordBatch] = []
        count = 0
        for batch in batches:
            if not batch.num_rows:
                continue
            waiting.append(batch)
            count += batch.num_rows
            if count >= BLOCK:
                yield pa.Table.from_batches(waiting)
                waiting, count = [], 0
        if waiting:
            yield pa.Table.from_batches(waiting)


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
        # Rows come in order, but those of a push table by table: they wait for each other.
        waits = replace(task.plan, lateness=LATEST) if task.shape.types else task.plan
        self._matcher = Matcher(waits)
        self._left = task.limit
        self._owned: tuple[int, int] | None = None
        if task.slices is not None and part >= task.whole:
            self._owned = task.slices.owned(part - task.whole)
        self._rows = self._own_rows = self._results = 0
        self._begin = time.perf_counter_ns(), time.process_time_ns()

    @property
    def is_done(self) -> bool:
        """Whether no more results are wanted."""
        return self._left == 0

    def push(self, rows: pa.Table) -> Iterator[pa.Table]:
        """What some more rows complete."""
        self._rows += rows.num_rows
        events = self._task.shape.events(rows)
        try:
            matches = self._matcher.push(events)
        except DataError as problem:
            raise _of_row(problem, events) from None
        yield from self._tables(matches.parts)
        if self._task.shape.types:
            yield from self._tables(self._matcher.advance(self._reached(rows)).parts)

    def _reached(self, rows: pa.Table) -> int:
        """The raw time before which no row is to come, but for what raw times may be off."""
        last = rows.column(TIME)[-1].as_py()
        time = round(last * 10**6) if isinstance(last, float) else last
        return max(time - self._task.plan.lateness, EARLIEST)

    def finish(self) -> Iterator[pa.Table]:
        """What is known because no row is to come."""
        if not self.is_done:
            matches = self._matcher.finish()
            if matches.report.late:
                raise SaseError(
                    f"{matches.report.late:,} rows of a task came out of order: something between"
                    " the events and  sase.spark  has moved them"
                )
            yield from self._tables(matches.parts)

    def metrics(self) -> Iterator[pa.RecordBatch]:
        """What was counted, a row for each counter."""
        wall, cpu = self._begin
        counted: list[tuple[str, str, int]] = [
            ("Task", "rows", self._rows),
            ("Task", "results", self._results),
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
        yield pa.record_batch(
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
                self._results += len(found)
                if len(found):
                    yield self._table(found)

    def _own(self, found: Found) -> Found:
        """The matches whose last event, or first where that decides, the part owns."""
        if self._owned is None:
            return found
        low, high = self._owned
        place = 0 if self._task.plan.split.by_first else -1
        kept = []
        for results in found.results:
            times = found.history.times(results.positions[place])
            kept.append(results.at((times >= low) & (times <= high)))
        return replace(found, results=tuple(kept))

    def _table(self, found: Found) -> pa.Table:
        table = found.table()
        if ORDER in self._task.output.names:
            table = table.append_column(ORDER, self._order(found))
        return table

    def _order(self, found: Found) -> pa.Array:
        """What results are ordered by (LANGUAGE.md section 6), as lists of integers."""
        positions = found.positions
        columns = [found.moments(positions)[2]]
        for level in range(len(positions) - 1, -1, -1):
            key = [found.history.times(positions[level]), self._sequence(found, positions[level])]
            # Of earlier events the more recent comes first.
            columns += key if level == len(positions) - 1 else [~each for each in key]
        flat = np.stack(columns, axis=1)
        offsets = np.arange(0, flat.size + 1, flat.shape[1], dtype=np.int32)
        return pa.ListArray.from_arrays(pa.array(offsets), pa.array(flat.ravel()))

    def _sequence(self, found: Found, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        name = self._task.plan.schema.seq
        assert name is not None, "the order of results depends on it"
        places = found.history.places(positions)
        numbers = found.history.column(name, places, None).cast(pa.int64())
        return np.asarray(numbers.to_numpy())


def _flat(counter: str, known: object) -> Iterator[tuple[str, int]]:
    """A counter as numbers with names."""
    match known:
        case list():
            yield from ((f"{counter}[{n}]", int(value)) for n, value in enumerate(known))
        case dict():
            yield from ((f"{counter}: {text}", int(value)) for text, value in known.items())
        case int():
            yield counter, known


def _of_row(problem: DataError, events: pa.Table | dict[str, pa.Table]) -> DataError:
    """An error of a row of a push, which has no number here: it is shown as it is."""
    if problem.row is None:
        return problem
    place, told = problem.row, ""
    for name, table in events.items() if isinstance(events, dict) else [("", events)]:
        if place < table.num_rows:
            (row,) = table.slice(place, 1).to_pylist()
            told = f"{name}{row}"
            break
        place -= table.num_rows
    message = f"a row is bad: {told}: {problem.message}"
    return DataError(message, None, problem.column, problem.value)
