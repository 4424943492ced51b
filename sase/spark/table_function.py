"""Patterns in SQL: `SELECT * FROM sase_match(TABLE(events), 'EVENT …')`.

A table-valued function of Python takes any table, and its `analyze` names the columns, partitions
and order for the query of each call, so that a wrong query fails before any job. (A Python data
source sees no tables; an `arrow_udtf` has no `analyze`.) The price: rows come one by one, and
without a key all go to one task, since slices of time would give a row to several.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any
from warnings import warn

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf
from pyspark.sql import types as st
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.udtf import (
    AnalyzeArgument,
    AnalyzeResult,
    OrderingColumn,
    PartitioningColumn,
    SelectedColumn,
)

from sase.api.checks import LISTED
from sase.api.compiled_query import compile_query
from sase.api.plan import DEFAULT_PLAN
from sase.binding.aggregates import add_again, every_aggregate
from sase.binding.input_options import InputOptions, check_choice
from sase.engine.pipeline.time_slices import without_limit
from sase.errors import PlanError, ReplayWarning, SchemaError
from sase.planning.replay import ReplayStrategy, possible
from sase.spark.columns import FLOATS, quoted
from sase.spark.errors import without_traceback
from sase.spark.partitioning import shuffle_partitions
from sase.spark.replay import task_plan
from sase.spark.result_schema import spark_schema
from sase.spark.row_layout import RowLayout, whole_moments
from sase.spark.source import Frame, FrameSource
from sase.spark.source_scan import SourceScan
from sase.spark.task import PartSearch, Task

NAME, ZONE = "sase_match", "UTC"
# Parts for each partition of a shuffle: they are placed by hash, and some must not stay empty.
PARTS = 4
# Rows that are searched at once.
BLOCK = 1 << 16
OF_INPUT = {**InputOptions().columns, "longest": InputOptions.longest}
OPTIONS = {**OF_INPUT, "params": None, "plan": DEFAULT_PLAN, "output": "all"}


def register(spark: SparkSession, name: str = NAME) -> None:
    """Make the table function known to a session: `SELECT * FROM sase_match(TABLE(t), 'EVENT …')`.

    Named arguments are `time`, `type`, `seq`, `types`, `time_unit`, `params` (a map), `plan` and
    `output` ("all" or "non_overlap"), as in `sase.match`:
    `sase_match(TABLE(t), query => 'EVENT …', seq => 'id')`. Of imprecise time both columns are
    named, `time => array('lo', 'hi')`, and `longest` says how long an interval may be. Queries may
    call the aggregates that `sase.aggregate` has added before.
    """
    parts, aggregates = PARTS * shuffle_partitions(spark), every_aggregate()

    class Matching(_Matching):
        @staticmethod
        def analyze(
            events: AnalyzeArgument, query: AnalyzeArgument, **options: AnalyzeArgument
        ) -> Planned:
            with without_traceback():
                add_again(aggregates)
                return planned(events, query, options, parts)

    spark.udtf.register(name, sf.udtf(Matching))  # type: ignore[arg-type]


@dataclass
class Planned(AnalyzeResult):  # type: ignore[misc, unused-ignore]
    """The result of `analyze`: for Spark, and for the search of each part."""

    task: Task | None = None
    columns: Sequence[tuple[str, pa.DataType]] = field(default_factory=tuple)


def planned(
    events: AnalyzeArgument,
    query: AnalyzeArgument,
    options: Mapping[str, AnalyzeArgument],
    parts: int,
) -> Planned:
    """The plan of a call: its columns, its parts, and what searches them."""
    if not events.isTable or not isinstance(events.dataType, st.StructType):
        raise PlanError(f"the first argument of {NAME} is a table, as in  {NAME}(TABLE(t), …)")
    source = FrameSource((Frame(SimpleNamespace(schema=events.dataType), None),), ZONE)  # type: ignore[arg-type]
    if not query.isConstantExpression or not isinstance(query.value, str):
        raise PlanError("the query is a text that does not depend on any row")
    chosen = _options(options)
    check_choice("output", chosen["output"], LISTED)
    names = InputOptions(**{name: chosen.pop(name) for name in OF_INPUT})
    compiled = compile_query(query.value, source.discovered(names), **chosen)
    for warning in compiled.bound.warnings:
        warn(ReplayWarning(warning.sentence), stacklevel=2)
    engine = task_plan(compiled, compiled.optimized(), source)
    schema = spark_schema(engine, source)
    plan, limit = without_limit(engine)
    rows, (frame,) = SourceScan(source, engine), source.frames
    columns = [_projected(frame, name) for name in rows.columns(frame)]
    task = Task(
        plan,
        RowLayout(),
        to_arrow_schema(schema, timezone=ZONE),
        limit=limit,
        slack=rows.slack,
        non_overlapping=plan.returned.non_overlapping,
    )
    keys = None if limit is not None else _keys(rows, frame)
    part = f"pmod(xxhash64({', '.join(keys)}), {parts})" if keys is not None else ""
    return Planned(
        schema,
        withSinglePartition=not part,
        partitionBy=[PartitioningColumn(part)] if part else [],
        orderBy=[OrderingColumn(quoted(name)) for name in RowLayout().order(engine.schema)],
        select=[taken for taken, _ in columns],
        task=task,
        columns=[(taken.alias, kind) for taken, kind in columns],
    )


def _options(options: Mapping[str, AnalyzeArgument]) -> dict[str, Any]:
    for name, given in options.items():
        if name not in OPTIONS:
            raise PlanError(f"{NAME} has no argument `{name}`: there are {', '.join(OPTIONS)}")
        if not given.isConstantExpression:
            raise PlanError(f"`{name}` is to be the same for all rows")
    said = OPTIONS | {name: given.value for name, given in options.items()}
    if isinstance(said["types"], str):
        said["types"] = [said["types"]]
    if isinstance(said["time"], list):
        said["time"] = tuple(said["time"])
    return said


def _projected(frame: Frame, name: str) -> tuple[SelectedColumn, pa.DataType]:
    """A column as it comes: moments as numbers, since Python would take them for local times."""
    kind = frame.kind(name)
    if isinstance(kind, st.TimestampType):
        return SelectedColumn(f"unix_micros({quoted(name)})", name), pa.timestamp("us", ZONE)
    if "timestamp" in kind.simpleString() and not isinstance(kind, st.TimestampNTZType):
        raise SchemaError(
            f"`{name}` has moments inside of {kind.simpleString()}, which rows of Python do not"
            " carry exactly: leave the column out, or use  sase.spark.match"
        )
    (shown,) = to_arrow_schema(st.StructType([frame.fields[name]]), timezone=ZONE).types
    return SelectedColumn(quoted(name), name), shown


def _keys(rows: SourceScan, frame: Frame) -> list[str] | None:
    """The keys as expressions of SQL, equal where the engine takes them for equal."""
    names = {test: set(rows.attributes_of(test).values()) for test in rows.keys}
    placed = {test: each.pop() for test, each in names.items() if len(each) == 1}
    if possible(rows.plan.split, tuple(placed))[ReplayStrategy.KEY]:
        return None
    return [_key(quoted(name), frame.kind(name)) for name in placed.values()]


def _key(column: str, kind: st.DataType) -> str:
    if isinstance(kind, FLOATS):
        return f"CASE WHEN {column} = 0 THEN 0D ELSE CAST({column} AS DOUBLE) END"
    if isinstance(kind, st.StringType) and not kind.isUTF8BinaryCollation():
        return f"collate({column}, 'UTF8_BINARY')"
    return column


class _Matching:
    """Searches one part: rows come one by one, in order."""

    def __init__(self, plan: Planned) -> None:
        assert plan.task is not None
        self._task, self._search = plan.task, PartSearch(plan.task, 0)
        self._columns = plan.columns
        self._rows: list[Any] = []
        # Rows of the last moment, of which more may come.
        self._waiting: list[pa.Table] = []

    def eval(self, events: Any, query: str, **options: Any) -> Iterator[tuple[Any, ...]]:
        """A row: it is kept until there are enough."""
        self._rows.append(events)
        if len(self._rows) >= BLOCK:
            time = self._task.plan.schema.time
            rows = pa.concat_tables([*self._waiting, self._block()])
            *ready, last = whole_moments([rows], time, self._task.slack)
            self._waiting = [last]
            for each in ready:
                with without_traceback():
                    yield from self._shown(self._search.push(each))

    def terminate(self) -> Iterator[tuple[Any, ...]]:
        """The end of the part."""
        if self._rows:
            self._waiting.append(self._block())
        with without_traceback():
            if self._waiting:
                yield from self._shown(self._search.push(pa.concat_tables(self._waiting)))
            yield from self._shown(self._search.finish())

    def _block(self) -> pa.Table:
        values = zip(*self._rows, strict=True)
        self._rows = []
        return pa.table(
            {n: _array(each, kind) for (n, kind), each in zip(self._columns, values, strict=True)}
        )

    @staticmethod
    def _shown(found: Iterator[pa.Table]) -> Iterator[tuple[Any, ...]]:
        yield from (tuple(row.values()) for table in found for row in table.to_pylist())


def _array(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        return pa.array(values, pa.int64()).cast(kind)
    return pa.array(values, kind)
