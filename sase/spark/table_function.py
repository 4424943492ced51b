"""Patterns in SQL: `SELECT * FROM sase_match(TABLE(events), 'EVENT …')`.

A Python table function accepts any table, and its `analyze` returns the columns, partitions and
order for the query of each call. So a wrong query fails before any job. (A Python data source
cannot read tables, and an `arrow_udtf` has no `analyze`.) The disadvantages: rows arrive one by
one, and without a key one task receives all of them, because slices of time would send a row to
several tasks.
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
from sase.base.paths import path_of
from sase.binding.input_options import InputOptions, check_choice
from sase.binding.values.aggregates import add_again, every_aggregate
from sase.engine.pipeline.threads import without_limit
from sase.errors import PlanError, ReplayWarning, SchemaError
from sase.planning.replay import ReplayStrategy, possible
from sase.spark.partitioning import shuffle_partitions
from sase.spark.reading.columns import FLOATS, quoted
from sase.spark.reading.row_layout import RowLayout, whole_moments
from sase.spark.reading.source import Frame, FrameSource
from sase.spark.reading.source_scan import SourceScan
from sase.spark.replay import task_plan
from sase.spark.result_schema import spark_schema
from sase.spark.tasks.errors import without_traceback
from sase.spark.tasks.search import QuerySearch
from sase.spark.tasks.task import PartSearch
from sase.spark.workers import check_workers

NAME, ZONE = "sase_match", "UTC"
# The parts for each partition of a shuffle; with few parts, hashing would leave some empty.
PARTS = 4
# The number of rows that are searched at once.
BLOCK = 1 << 16
OF_INPUT = {**InputOptions().columns, "longest": InputOptions.longest}
OPTIONS = {**OF_INPUT, "params": None, "plan": DEFAULT_PLAN, "output": "all"}


def register(spark: SparkSession, name: str = NAME) -> None:
    """Register the table function: `SELECT * FROM sase_match(TABLE(t), 'EVENT …')`.

    Named arguments are `time`, `type`, `seq`, `types`, `time_unit`, `params` (a map), `plan` and
    `output` ("all" or "non_overlap"), as in `sase.match`:
    `sase_match(TABLE(t), query => 'EVENT …', seq => 'id')`. For imprecise time, name both columns,
    `time => array('lo', 'hi')`; `longest` is the longest interval. Queries may call the aggregates
    that `sase.aggregate` added before this call.
    """
    check_workers(spark)
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
    """The result of `analyze`, for Spark and for the search of each part."""

    search: QuerySearch | None = None
    slack: int = 0
    columns: Sequence[tuple[str, pa.DataType]] = field(default_factory=tuple)


def planned(
    events: AnalyzeArgument,
    query: AnalyzeArgument,
    options: Mapping[str, AnalyzeArgument],
    parts: int,
) -> Planned:
    """Plan a call: its columns, its parts, and their search."""
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
    output = to_arrow_schema(schema, timezone=ZONE)
    apart = plan.returned.non_overlapping
    search = QuerySearch(plan, RowLayout(), output, limit, non_overlapping=apart)
    keys = None if limit is not None else _keys(rows, frame)
    part = f"pmod(xxhash64({', '.join(keys)}), {parts})" if keys is not None else ""
    return Planned(
        schema,
        withSinglePartition=not part,
        partitionBy=[PartitioningColumn(part)] if part else [],
        orderBy=[OrderingColumn(quoted(name)) for name in search.order],
        select=[taken for taken, _ in columns],
        search=search,
        slack=rows.slack,
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
    """A column of the input; timestamps become numbers, since Python reads them as local."""
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
    """The keys as SQL expressions, equal if they are equal to the engine."""
    names = {test: set(rows.attributes_of(test).values()) for test in rows.keys}
    placed = {test: each.pop() for test, each in names.items() if len(each) == 1}
    if possible(rows.plan.split, tuple(placed))[ReplayStrategy.KEY]:
        return None
    return [_key(_in_sql(name, frame), frame.kind(name)) for name in placed.values()]


def _in_sql(name: str, frame: Frame) -> str:
    """A column, or a value within one, as a SQL expression."""
    path = None if name in frame.fields else path_of(name)
    if path is None:
        return quoted(name)
    value = quoted(path.column)
    for step in path.steps:
        value = f"get({value}, {step - 1})" if isinstance(step, int) else f"{value}.{quoted(step)}"
    return value


def _key(column: str, kind: st.DataType) -> str:
    if isinstance(kind, FLOATS):
        return f"CASE WHEN {column} = 0 THEN 0D ELSE CAST({column} AS DOUBLE) END"
    if isinstance(kind, st.StringType) and not kind.isUTF8BinaryCollation():
        return f"collate({column}, 'UTF8_BINARY')"
    return column


class _Matching:
    """Searches one part; its rows arrive one by one, in order."""

    def __init__(self, plan: Planned) -> None:
        assert plan.search is not None
        self._plan, self._search = plan, PartSearch(plan.search)
        self._time = plan.search.order[0]
        self._rows: list[Any] = []
        # Rows of the last time, which may have more rows.
        self._waiting: list[pa.Table] = []

    def eval(self, events: Any, query: str, **options: Any) -> Iterator[tuple[Any, ...]]:
        """Keep a row, and search when there are enough."""
        self._rows.append(events)
        if len(self._rows) >= BLOCK:
            rows = pa.concat_tables([*self._waiting, self._block()])
            *ready, last = whole_moments([rows], self._time, self._plan.slack)
            self._waiting = [last]
            for each in ready:
                with without_traceback():
                    yield from self._shown(self._search.push(each))

    def terminate(self) -> Iterator[tuple[Any, ...]]:
        """Search the rest at the end of the part."""
        if self._rows:
            self._waiting.append(self._block())
        with without_traceback():
            if self._waiting:
                yield from self._shown(self._search.push(pa.concat_tables(self._waiting)))
            yield from self._shown(self._search.finish())

    def _block(self) -> pa.Table:
        values = zip(*self._rows, strict=True)
        self._rows = []
        columns = zip(self._plan.columns, values, strict=True)
        return pa.table({name: _array(each, kind) for (name, kind), each in columns})

    @staticmethod
    def _shown(found: Iterator[pa.Table]) -> Iterator[tuple[Any, ...]]:
        yield from (tuple(row.values()) for table in found for row in table.to_pylist())


def _array(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        return pa.array(values, pa.int64()).cast(kind)
    return pa.array(values, kind)
