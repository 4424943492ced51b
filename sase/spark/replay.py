"""A query over the events of DataFrames: how it is cut, and the DataFrames that come of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Unpack
from warnings import warn

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql import types as st
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

from sase.api.compiled_query import CompiledQuery, compile_query, statistics_in
from sase.api.limits import limits_of
from sase.binding.bound import EquivalenceTest
from sase.binding.input_options import (
    InputKeywords,
    InputOptions,
    check_choice,
    takes_input_options,
)
from sase.cached_property import cached_property
from sase.engine.pipeline.limits import UNLIMITED, Limits
from sase.engine.pipeline.time_slices import without_limit
from sase.errors import PlanError, ReplayWarning
from sase.planning.collapse import collapsible
from sase.planning.nodes import Operator, Transformation, chain, exchanged, require
from sase.planning.optimizer import Optimized
from sase.planning.plan import EnginePlan
from sase.planning.replay import set_declined, strategy_named
from sase.planning.statistics import Statistics
from sase.spark.arrow_map import map_in_arrow
from sase.spark.columns import column
from sase.spark.errors import translated_errors
from sase.spark.limit import limited
from sase.spark.non_overlap import has_whole_partitions, non_overlapping, with_overlaps, with_places
from sase.spark.parquet import FilesTask
from sase.spark.partitioning import Cut, cut_of, shuffle_partitions
from sase.spark.result_schema import set_schema, spark_schema, with_order
from sase.spark.row_layout import PART
from sase.spark.set_search import SetPlan
from sase.spark.slice_bounds import slice_parts
from sase.spark.source import Frame, FrameSource
from sase.spark.source_scan import SourceScan
from sase.spark.task import COUNT, METRICS, Task

# The forms that streams have as well, those that list matches, those that are DataFrames, and all.
STREAMED = ("structs", "flat")
LISTS = (*STREAMED, "non_overlap")
FRAMES = (*LISTS, "compressed")
OUTPUTS = (*FRAMES, "count")


@dataclass(frozen=True, eq=False)
class Replay:
    """A query over DataFrames: nothing of it runs before an action does, except to find bounds.

    `matches` and `bad_rows` are DataFrames; `count()` searches for the number of results alone, and
    `metrics()` for the counters of tasks.
    """

    compiled: CompiledQuery
    source: FrameSource
    optimized: Optimized
    statistics: Statistics | None
    plan: EnginePlan
    cut: Cut
    output: str
    flat: bool = False
    # The tests within whose partitions a second step chooses among the matches, if it does.
    non_overlapping: tuple[EquivalenceTest, ...] | None = None
    # Of each task that searches.
    limits: Limits = UNLIMITED

    # ------------------------------------------------------------ DataFrames

    @cached_property
    def matches(self) -> DataFrame:
        """The results, in the form that was asked for; of a number the matches that it counts."""
        if self.output == "compressed":
            return self.compressed
        schema, (plan, limit) = self.schema, without_limit(self.plan)
        if limit == 0:
            nothing = self.source.spark.createDataFrame([], schema)
            return in_form(nothing, self.plan, flat=self.flat)
        columns = schema if limit is None else with_order(schema)
        if self.non_overlapping is None:
            found = self._run(self._task(plan, columns, limit), columns)
        else:
            found = non_overlapping(self._all(schema), self._steps, columns, "results", self.limits)
        if limit is not None:
            found = limited(found, limit, schema, self.limits)
        return in_form(found, self.plan, flat=self.flat)

    def _all(self, schema: st.StructType) -> DataFrame:
        """All matches for a second step, with some columns."""
        placed = with_places(schema)
        return self._run(self._task(without_limit(self.plan)[0], placed, None), placed)

    @property
    def _steps(self) -> int:
        """The number of tasks of the second step: without a test there is one partition."""
        return shuffle_partitions(self.source.spark) if self.non_overlapping else 1

    @cached_property
    def compressed(self) -> DataFrame:
        """The collapsed form of all matches: a row for each event that some end at."""
        check_set(self.compiled)
        columns = tuple(map(self._of_sets.columns, self.source.frames))
        schema = set_schema(self.form, self.source, columns)
        task = replace(self._task(self.plan, schema, None), gives="compressed", form=self.form)
        return self._run(task, schema)

    @cached_property
    def bad_rows(self) -> DataFrame:
        """The bad rows as they were given, with the column and the reason: with a quarantine."""
        return self._rows.bad_rows(self.compiled.on_bad_row)

    @property
    def counting_plan(self) -> EnginePlan:
        """The plan by which tasks search for `metrics`, whose operators count all they can."""
        return replace(self.plan, options=replace(self.plan.options, analyze=True))

    def metrics(self) -> DataFrame:
        """The counters of all tasks, a row for each: searches all events once more."""
        plan, limit = without_limit(self.counting_plan)
        counted = limit if self.non_overlapping is None else None
        task = replace(self._task(plan, self.schema, counted), gives="metrics")
        return self._run(task, METRICS_SCHEMA)

    def count(self) -> int:
        """Run the search for the exact number of results, without making any."""
        _, limit = without_limit(self.plan)
        with translated_errors():
            total = sum(int(text, 16) for (text,) in self.tallies.collect())
        return total if limit is None else min(total, limit)

    @cached_property
    def tallies(self) -> DataFrame:
        """The number of results of each part, a row for each, in hexadecimal digits."""
        if self.non_overlapping is not None:
            found = self._all(st.StructType([]))
            return non_overlapping(found, self._steps, COUNT_SCHEMA, "count", self.limits)
        plan, limit = without_limit(self.plan)
        paths = None if self.listing_reasons("count") else self.form
        task = replace(self._task(plan, COUNT_SCHEMA, limit), gives="count", form=paths)
        return self._run(task, COUNT_SCHEMA)

    def listing_reasons(self, output: str) -> tuple[str, ...]:
        """Why tasks look at single matches; empty if they count paths through a graph of events."""
        if output == "count" and without_limit(self.plan)[1] is not None:
            return ("LIMIT is soon reached",)
        if output == "count" and not self.compiled.may_explode:
            return ("events that agree on a key are few, so that this is faster",)
        return self.form.reasons

    @property
    def searched(self) -> DataFrame:
        """The DataFrame that runs for this output."""
        return self.tallies if self.output == "count" else self.matches

    @cached_property
    def form(self) -> SetPlan:
        """The plan of the set of all matches."""
        return form_of(self.compiled, self.plan)

    @property
    def schema(self) -> st.StructType:
        """The columns of results as structs."""
        return spark_schema(self.plan, self.source)

    @property
    def operators(self) -> list[Operator]:
        """The operators of the plan, in the order of the dataflow."""
        return list(reversed(chain(self.plan.operators)))

    def rows_with_parts(self) -> DataFrame:
        """The rows that tasks get, each once, with the list of its parts: of a cut with slices."""
        skips = self.compiled.on_bad_row == "quarantine"
        return self._rows.placed(self.cut.keys, self._parts, skips_bad=skips)

    # ------------------------------------------------------------ how they are made

    @cached_property
    def _rows(self) -> SourceScan:
        return SourceScan(self.source, self.plan)

    @property
    def _of_sets(self) -> SourceScan:
        """The rows of which the set of all matches is made."""
        return replace(self._rows, also=self.form.plan.named)

    def _task(self, plan: EnginePlan, schema: st.StructType, limit: int | None) -> Task:
        within = self.non_overlapping
        if within is None:
            within = self.plan.returned.non_overlapping
        return Task(
            plan,
            self.source.shape,
            to_arrow_schema(schema, timezone=self.source.zone),
            self.cut.whole,
            self.cut.slices,
            limit,
            self._rows.slack,
            non_overlapping=within,
            limits=self.limits,
        )

    def _run(self, task: Task, schema: st.StructType) -> DataFrame:
        rows_of = self._rows if task.form is None else self._of_sets
        of_events = replace(rows_of, shows=task.gives != "count")
        if self.cut.files is not None:
            (frame,) = self.source.frames
            columns = map(self.source.arrow_schema(frame).field, of_events.columns(frame))
            task = task.with_bad_rows(self.compiled.on_bad_row)
            reads = FilesTask(task, self.cut.files, pa.schema(list(columns)))
            numbers = self.source.spark.range(0, self.cut.parts, 1, self.cut.parts)
            return numbers.mapInArrow(reads, schema)
        skips = self.compiled.on_bad_row == "quarantine"
        rows = of_events.placed(self.cut.keys, self._part, skips_bad=skips)
        placed = rows.repartitionById(self.cut.parts, sf.col(f"`{PART}`"))
        return map_in_arrow(placed.sortWithinPartitions(*self._rows.order()), task, schema)

    def _part(self, frame: Frame) -> Column:
        """The part that a row belongs to, or one after the other where there may be several."""
        cut, rows = self.cut, self._rows
        if cut.slices is None:
            if not cut.keys:
                return sf.lit(0)
            return sf.pmod(rows.key(frame, cut.keys), sf.lit(cut.whole)).cast("int")
        return sf.explode(self._parts(frame))

    def _parts(self, frame: Frame) -> Column:
        """All parts that a row belongs to, where there are slices; mostly that is one."""
        cut, rows = self.cut, self._rows
        assert cut.slices is not None
        first, last = slice_parts(rows.time(frame), cut.slices, cut.whole)
        one, has_several = first, first < last
        if cut.keys:
            key = rows.key(frame, cut.keys)
            is_hot = key.isin(*cut.hot)
            one = sf.when(is_hot, first).otherwise(sf.pmod(key, sf.lit(cut.whole)).cast("int"))
            has_several = is_hot & has_several
        return sf.when(has_several, sf.sequence(first, last)).otherwise(sf.array(one))


# The columns of what tasks give beside results, as Spark has them.
COUNT_SCHEMA, METRICS_SCHEMA = from_arrow_schema(COUNT), from_arrow_schema(METRICS)


def in_form(found: DataFrame, plan: EnginePlan, *, flat: bool) -> DataFrame:
    """Results in the form that was asked for, from structs."""
    return found.select(*_flat(found, plan)) if flat else found


def _flat(found: DataFrame, plan: EnginePlan) -> Iterator[Column]:
    """The attributes of events as columns of their own, such as `x_id`."""
    variables = () if plan.returned.columns is not None else plan.positives
    named = {each.variable for each in variables}
    for field in found.schema.fields:
        if field.name not in named or not isinstance(field.dataType, st.StructType):
            yield column(field.name)
            continue
        for attribute in field.dataType.names:
            value = column(field.name).getField(attribute)
            yield value.alias(f"{field.name}_{attribute}")


# ---------------------------------------------------------------- from a call to a replay


class ReplayKeywords(InputKeywords, total=False):
    """The keywords of `replay`, for type checkers."""

    params: Mapping[str, object] | None
    plan: str
    slices: Any
    strategy: str | None
    output: str
    flat: bool
    limit: int | None
    stats: object
    timeout: object
    max_memory: object


@takes_input_options
def replay(
    query: str,
    df: DataFrame | Mapping[str, DataFrame],
    *,
    params: Mapping[str, object] | None = None,
    plan: str = "optimized",
    slices: Any = None,
    strategy: str | None = None,
    output: str = "structs",
    flat: bool = False,
    limit: int | None = None,
    stats: object = None,
    timeout: object = None,
    max_memory: object = None,
    **options: Unpack[InputKeywords],
) -> Replay:
    """The query over the events, ready to give its DataFrames."""
    check_form(output, flat=flat)
    limits = limits_of(timeout, max_memory)
    source = FrameSource.of(df)
    if source.is_streaming:
        raise PlanError(
            "a replay is of events that are all there, and these are a stream: its matches are"
            "  sase.spark.match(…)  , and what surrounds them  sase.spark.stream(…)"
        )
    names, is_flat = InputOptions(**options), flat or output == "flat"
    compiled = compile_query(
        query,
        source.discovered(names),
        params=params,
        plan=plan,
        limit=limit,
        flat=is_flat,
        output="non_overlap" if output == "non_overlap" else "all",
    )
    for warning in compiled.bound.warnings:
        warn(ReplayWarning(warning.sentence), stacklevel=5)
    statistics = statistics_in(stats)
    optimized = compiled.optimized(statistics)
    engine = task_plan(compiled, optimized, source)
    if output == "compressed":
        check_set(compiled)
    # What is cut are the searches; their matches are then parted by what is written.
    every, within = with_overlaps(engine), engine.returned.non_overlapping
    forced, written = strategy_named(strategy), engine.split.keys
    cut = cut_of(SourceScan(source, every), slices, forced, statistics, written)
    if within is None or has_whole_partitions(cut, engine):
        every, within = engine, None
    return Replay(
        compiled, source, optimized, statistics, every, cut, output, is_flat, within, limits
    )


def form_of(compiled: CompiledQuery, plan: EnginePlan) -> SetPlan:
    """Plan the set of all matches: by a graph of events, or else by the plan itself."""
    basic = exchanged(compiled.basic, replace(require(compiled.basic, Transformation), limit=None))
    collapsed = collapsible(basic)
    keys = tuple(dict.fromkeys(test.attribute for test in compiled.bound.equivalences))
    if collapsed.reasons:
        return SetPlan(plan, keys, collapsed.reasons)
    engine = compiled.plan(Optimized.of(collapsed.plan)).engine
    return SetPlan(replace(engine, on_bad_row=plan.on_bad_row), keys)


def check_set(compiled: CompiledQuery) -> None:
    """Refuse the collapsed form where tasks cannot give their share of it."""
    why = set_declined(compiled.basic)
    if why:
        raise PlanError(f'output="compressed" cannot be taken on Spark: {why}')


def check_form(output: str, *, flat: bool) -> None:
    """Refuse forms that there are not."""
    check_choice("output", output, OUTPUTS)
    if flat and output not in LISTS:
        raise PlanError(
            f'flat=True is of matches that are listed, and output="{output}" lists none'
        )


def task_plan(compiled: CompiledQuery, optimized: Optimized, source: FrameSource) -> EnginePlan:
    """Make the plan for tasks; refuse orders that nothing gives, and types that Arrow has not."""
    plan = replace(compiled.plan(optimized).engine, on_bad_row="error")
    has_order = plan.schema.seq is not None or plan.schema.is_imprecise
    if plan.ordering and not has_order:
        raise PlanError(
            f"{plan.ordering}, and the rows of a DataFrame have no order: name the column of"
            " integers that orders simultaneous events with  seq=…"
        )
    source.check_shown(None if plan.scan.columns is None else set(plan.named))
    return plan
