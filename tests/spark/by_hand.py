"""The tasks of a replay without Spark: the rows are placed by hand, and the worker's code is run.

This does not test the expressions of Spark SQL, nor how Spark moves rows.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from functools import cached_property
from itertools import starmap
from numbers import Number
from random import Random
from typing import Any
from unittest.mock import patch
from zlib import crc32

import numpy as np
import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_type

import sase
from sase.api.compiled_query import CompiledQuery, compile_query
from sase.binding.input_options import INPUT_OPTIONS, InputOptions
from sase.engine.pipeline.matcher import result_schema
from sase.engine.pipeline.pipeline import Pipeline
from sase.engine.pipeline.threads import without_limit
from sase.engine.sources.discovered import Discovered
from sase.errors import DataError
from sase.planning.engine_plan import EnginePlan
from sase.planning.replay import EARLIEST, ReplayStrategy, SlicePlan, possible, time_slices
from sase.spark.non_overlap import NonOverlap, with_overlaps
from sase.spark.reading import row_layout
from sase.spark.reading.columns import slack_of
from sase.spark.reading.row_layout import PART, SEQ, TIME, RowLayout, packed
from sase.spark.replay import form_of
from sase.spark.tasks import set_search
from sase.spark.tasks.limit import First
from sase.spark.tasks.result_order import ORDER, PARTITION, SPAN
from sase.spark.tasks.search import QuerySearch
from sase.spark.tasks.set_search import SetPlan, shown_schema
from sase.spark.tasks.task import COUNT, Task
from tests.spark.cases import ALL, Case, Manner, multiset

# The key of a row, by the type of its table.
Key = Callable[[dict[str, Any], str], Any]


@dataclass(frozen=True)
class Placed:
    """A row, the name of its table, and the raw time."""

    table: str
    row: dict[str, Any]
    time: int
    sorted_by: Any


@dataclass(frozen=True)
class Written:
    """A query and its events, one table or one for each type, where neither is drawn."""

    query: str
    tables: Mapping[str, pa.Table]
    keywords: Mapping[str, Any]
    manner: Manner

    def bounds(self) -> Any:
        """The argument `slices`."""
        return self.manner.cuts


@dataclass
class ByHand:
    """A case with tasks that are run one after the other; open options are drawn.

    With `two_steps` they give all matches, of which a second step takes those that do not overlap.
    A `forced` strategy must be possible; without one it is drawn, too.
    """

    case: Case | Written
    random: Random
    two_steps: bool = False
    forced: ReplayStrategy | None = None

    @cached_property
    def empty(self) -> pa.Table | dict[str, pa.Table]:
        """The columns of the events."""
        empty = {name: table.schema.empty_table() for name, table in self.case.tables.items()}
        return empty.get(ALL, empty)

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns of the results."""
        return result_schema(Pipeline(without_limit(self.plan)[0], streaming=True), self.empty)

    @cached_property
    def plan(self) -> EnginePlan:
        """The plan, as a replay has it."""
        return with_overlaps(self.whole) if self.two_steps else self.whole

    @cached_property
    def whole(self) -> EnginePlan:
        """The plan of the results."""
        return replace(self.known.plan(self.known.optimized()).engine, on_bad_row="error")

    @cached_property
    def form(self) -> SetPlan:
        """How a replay has the matches as a set."""
        return form_of(self.known, self.plan)

    @cached_property
    def known(self) -> CompiledQuery:
        """The query, compiled for these columns."""
        given: dict[str, Any] = {"output": self.case.manner.form, **self.case.keywords}
        names = InputOptions(**{n: given.pop(n) for n in INPUT_OPTIONS if n in given})
        return compile_query(self.case.query, Discovered.of(self.empty, names), **given)

    @cached_property
    def rows(self) -> list[Placed]:
        """The rows in the order of events; those that are simultaneous in any order."""
        schema = self.plan.schema
        rows = [
            Placed(name, row, time, given if isinstance(given := row[schema.time], float) else time)
            for name, table in self.case.tables.items()
            for row, time in zip(table.to_pylist(), self._times(table[schema.time]), strict=True)
        ]
        self.random.shuffle(rows)
        return sorted(rows, key=lambda each: (each.sorted_by, each.row.get(schema.seq or "", 0)))

    @property
    def slack(self) -> int:
        """By how much a replay takes times to be off."""
        return max(
            slack_of(from_arrow_type(table.schema.field(self.plan.schema.time).type))
            for table in self.case.tables.values()
        )

    def _times(self, column: pa.ChunkedArray) -> list[int]:
        resolution = self.plan.schema.time_type.resolution
        if pa.types.is_floating(column.type):
            return [round(each * 10**6) for each in column.to_pylist()]
        if resolution is not None and resolution != "d":
            column = column.cast(pa.timestamp(resolution))
        if pa.types.is_date(column.type):
            column = column.cast(pa.int32())
        return list(column.cast(pa.int64()).to_pylist())

    # ------------------------------------------------------------ the parts

    def found(self) -> tuple[ReplayStrategy, list[dict[str, Any]]]:
        """The results of all parts, and how the rows were parted."""
        plan, limit = without_limit(self.plan)
        output = self.schema
        if limit is not None:
            output = output.append(pa.field(ORDER, pa.list_(pa.int64())))
        apart = self.whole.returned.non_overlapping
        search = QuerySearch(plan, self.shape, output, limit, non_overlapping=apart)
        if self.two_steps:
            strategy, batches = self._searched(
                replace(search, output=_placed(self.schema), limit=None)
            )
            batches = list(self._taken(batches, output.names))
        else:
            strategy, batches = self._searched(search)
        if limit is None:
            return strategy, [row for batch in batches for row in batch.to_pylist()]
        return strategy, list(_first(limit, batches))

    def decided(self) -> list[dict[str, Any]] | None:
        """The results, or None if it is not said which they are, as events are equal."""
        try:
            _, found = self.found()
        except DataError as problem:
            assert "are equal in" in str(problem)
            return None
        return found

    def compressed(self) -> tuple[ReplayStrategy, list[dict[str, Any]]]:
        """The collapsed form by all parts."""
        output = shown_schema(self.form, self.empty)
        search = QuerySearch(self.plan, self.shape, output, gives="compressed", form=self.form)
        strategy, batches = self._searched(search)
        return strategy, [row for batch in batches for row in batch.to_pylist()]

    def count(self) -> tuple[ReplayStrategy, int]:
        """How many matches the parts have together."""
        paths = None if self.form.reasons else self.form
        plan, _ = without_limit(self.plan)
        search = QuerySearch(plan, self.shape, COUNT, gives="count", form=paths)
        strategy, batches = self._searched(search)
        return strategy, sum(int(text, 16) for batch in batches for text in batch[0].to_pylist())

    def _taken(self, batches: list[pa.RecordBatch], names: list[str]) -> Iterator[pa.RecordBatch]:
        """The matches that the second step takes of all, partition by partition."""
        if not batches:
            return
        table = pa.Table.from_batches(batches)
        self.random.shuffle(rows := [*range(len(table))])
        table = table.take(rows)
        keys = [*zip(table[PARTITION].to_pylist(), table[ORDER].to_pylist(), strict=True)]
        table = table.take(sorted(range(len(table)), key=keys.__getitem__))
        step: NonOverlap = pickle.loads(pickle.dumps(NonOverlap(tuple(names))))
        yield from step(self._cut(table))

    def _cut(self, table: pa.Table) -> Iterator[pa.RecordBatch]:
        """A table as Spark hands it over."""
        while len(table):
            size = self.random.choice([0, 1, 2, 3, 50])
            yield from table.slice(0, size).combine_chunks().to_batches() or [_none(table)]
            table = table.slice(size)

    @property
    def shape(self) -> RowLayout:
        """How the events travel."""
        return RowLayout(() if ALL in self.case.tables else tuple(self.case.tables))

    def _searched(self, search: QuerySearch) -> tuple[ReplayStrategy, list[pa.RecordBatch]]:
        """The output of a task for all parts, and how the rows were divided."""
        split = self.plan.split
        tests = [test for test in split.keys if test in (self.plan.ranked or split.keys)]
        key = None if any(test.by_type or test.attributes for test in tests) else self._key(tests)
        declined = possible(split, tests if key else ())
        can = [each for each, why in declined.items() if not why and each != ReplayStrategy.FILES]
        wanted = self.case.manner.strategy
        strategy = self.random.choice(can[:-1] or can)  # the last is to run one task
        if self.forced is not None:
            assert self.forced in can, declined
            strategy = self.forced
        elif wanted in can and self.random.random() < 0.4:
            strategy = ReplayStrategy(wanted)
        whole = self.random.randint(1, 4) if strategy != ReplayStrategy.ONE_TASK else 1
        slices = None
        if strategy in (ReplayStrategy.SLICE, ReplayStrategy.KEY_AND_SLICE):
            slices = self._slices()
            whole = whole if strategy == ReplayStrategy.KEY_AND_SLICE else 0
        parts: dict[int, list[Placed]] = {}
        for each in self.rows:
            for part in self._parts(each, strategy, key, whole, slices):
                parts.setdefault(part, []).append(each)
        task = Task(search, whole, slices, self.slack)
        batches = list[pa.RecordBatch]()
        size, stretch = self.random.choice([1, 2, 3, 5, 1000]), self.random.choice([1, 3, 1000])
        with patch.object(row_layout, "BLOCK", size), patch.object(set_search, "STRETCH", stretch):
            for part, rows in parts.items():
                again: Task = pickle.loads(pickle.dumps(task))
                batches += again(self._batches(part, rows))
        return strategy, batches

    def _key(self, tests: list[Any]) -> Key:
        def key(row: dict[str, Any], table: str) -> Any:
            return tuple(_number(row.get(test.attribute)) for test in tests)

        return key

    def _parts(
        self,
        each: Placed,
        strategy: ReplayStrategy,
        key: Key | None,
        whole: int,
        slices: SlicePlan | None,
    ) -> list[int]:
        """The parts to which a row belongs."""
        if slices is None:
            if strategy == ReplayStrategy.ONE_TASK:
                return [0]
            assert key is not None
            return [hash(key(each.row, each.table)) % whole]
        sliced = [
            whole + number
            for number in range(len(slices))
            if slices.seen(number)[0] <= each.time <= slices.seen(number)[1]
        ]
        if strategy == ReplayStrategy.SLICE:
            return sliced
        assert key is not None
        number = hash(key(each.row, each.table))
        return sliced if number % 3 else [number % whole]

    def _slices(self) -> SlicePlan:
        split, times = self.plan.split, [each.time for each in self.rows]
        wanted = self.case.bounds()
        count = wanted if isinstance(wanted, int) else self.random.randint(1, 6)
        bounds = sorted({*self.random.choices(times or [0], k=count)})
        if self.forced is None and self.random.random() < 0.3:
            bounds = sorted({*times, *(time + 1 for time in times if time < 2**63 - 1)})
        if not split.needs_positions:
            return time_slices(bounds, split, self.slack)
        assert split.before is not None
        begins = []
        for bound in bounds:
            first = int(np.searchsorted(times, bound))
            place = first - (split.before.size or 1)
            reach = times[place] if 0 <= place < len(times) else EARLIEST
            begins.append(min(reach, bound))
        return SlicePlan(tuple(bounds), tuple(begins), tuple(bounds))

    # ------------------------------------------------------------ running

    def _batches(self, part: int, rows: list[Placed]) -> Iterator[pa.RecordBatch]:
        """The rows of a part as Spark hands them over."""
        yield from self._cut(self._table(part, rows))

    def _table(self, part: int, rows: list[Placed]) -> pa.Table:
        tables = self.case.tables
        number = pa.array([part] * len(rows), pa.int32())
        if ALL in tables:
            made = pa.Table.from_pylist([each.row for each in rows], tables[ALL].schema)
            return made.append_column(PART, number)
        columns = [
            pa.array(
                [each.row if each.table == name else None for each in rows],
                pa.struct(list(table.schema)),
            )
            for name, table in tables.items()
        ]
        given = [each.row[self.plan.schema.time] for each in rows]
        is_float = any(isinstance(each, float) for each in given)
        times = pa.array(given if is_float else [each.time for each in rows])
        names = [*map(packed, range(len(tables))), TIME, PART]
        made = pa.table([*columns, times, number], names)
        seq = self.plan.schema.seq
        return made if seq is None else made.append_column(SEQ, [[each.row[seq] for each in rows]])


def tasks_of(
    query: str,
    events: pa.Table | Mapping[str, pa.Table],
    strategy: str,
    output: str = "all",
    **keywords: Any,
) -> Iterator[ByHand]:
    """The tasks of a written query by a strategy, cut and handed over in two ways."""
    tables = {ALL: events} if isinstance(events, pa.Table) else events
    written = Written(query, tables, keywords, Manner(strategy, output=output))
    forced = ReplayStrategy(strategy)
    for seed in range(2):
        tasks = ByHand(written, Random(seed), forced=forced)
        if output == "non_overlap":
            yield replace(tasks, two_steps=True, random=Random(seed))
            has_keys = forced == ReplayStrategy.KEY and bool(tasks.whole.split.keys)
            if not has_keys and forced != ReplayStrategy.ONE_TASK:
                continue  # no task sees all matches of a partition
        yield tasks


def check_tasks(
    query: str,
    events: pa.Table | Mapping[str, pa.Table],
    strategy: str,
    output: str = "all",
    **keywords: Any,
) -> None:
    """Tasks find the matches of one thread."""
    local = sase.match(query, events, threads=1, output=output, **keywords).to_pylist()
    for tasks in tasks_of(query, events, strategy, output, **keywords):
        assert multiset(tasks.found()[1]) == multiset(local) != multiset([])


def _placed(schema: pa.Schema) -> pa.Schema:
    """The columns of results, and those that the second step uses."""
    numbers = pa.list_(pa.int64())
    steps = [(ORDER, numbers), (SPAN, numbers), (PARTITION, pa.string())]
    return pa.schema([*schema, *starmap(pa.field, steps)])


def _none(table: pa.Table) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([], table.schema)


def _number(value: Any) -> int:
    """A number that equal keys share, the same in every process: hashes of texts are not."""
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)
    if isinstance(value, datetime):
        value = value.replace(tzinfo=UTC)
    is_number = isinstance(value, Number) and value == value
    return hash(value) if is_number else crc32(repr(None if value != value else value).encode())


def _first(limit: int, batches: list[pa.RecordBatch]) -> Iterator[dict[str, Any]]:
    """The second step of LIMIT."""
    if not limit or not batches:
        return iter(())
    table = pa.Table.from_batches(batches)
    order = sorted(range(len(table)), key=table[ORDER].to_pylist().__getitem__)[: limit + 1]
    taken = table.take(order).combine_chunks()
    return (row for batch in First(limit)(taken.to_batches()) for row in batch.to_pylist())
