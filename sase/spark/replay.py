"""A query over the events of DataFrames: its cut, and the DataFrames of its results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any, Unpack
from warnings import warn

from pyspark.sql import Column, DataFrame
from pyspark.sql import types as st
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

from sase.api.checks import limits_of
from sase.api.compiled_query import CompiledQuery, compile_query, statistics_in
from sase.binding.bound import EquivalenceTest
from sase.binding.input_options import (
    InputKeywords,
    InputOptions,
    check_choice,
    takes_input_options,
)
from sase.binding.schema import check_order
from sase.cached_property import cached_property
from sase.engine.pipeline.limits import UNLIMITED, Limits
from sase.engine.pipeline.threads import without_limit
from sase.errors import PlanError, ReplayWarning
from sase.planning.counting import collapsible
from sase.planning.engine_plan import EnginePlan
from sase.planning.optimizer import Optimized
from sase.planning.plan.nodes import Operator, Transformation, chain, exchanged, require
from sase.planning.replay import set_declined, strategy_named
from sase.planning.statistics import Statistics
from sase.spark.job import Job
from sase.spark.non_overlap import has_whole_partitions, non_overlapping, with_overlaps, with_places
from sase.spark.partitioning import Cut, cut_of, shuffle_partitions
from sase.spark.progress import TaskProgress
from sase.spark.progress import progress as progress_of
from sase.spark.reading.columns import column
from sase.spark.reading.source import FrameSource
from sase.spark.reading.source_scan import SourceScan
from sase.spark.result_schema import set_schema, spark_schema, with_order
from sase.spark.tasks.errors import translated_errors
from sase.spark.tasks.limit import limited
from sase.spark.tasks.search import Gives, QuerySearch
from sase.spark.tasks.set_search import SetPlan
from sase.spark.tasks.task import COUNT, METRICS
from sase.spark.workers import check_workers

# The forms that streams also have; those that list matches; those that are DataFrames; all.
STREAMED = ("structs", "flat")
LISTS = (*STREAMED, "non_overlap")
FRAMES = (*LISTS, "compressed")
OUTPUTS = (*FRAMES, "count")


@dataclass(frozen=True, eq=False)
class Replay:
    """A query over DataFrames; no job runs before an action, except to find the bounds of slices.

    `matches` and `bad_rows` are DataFrames. `count()` searches only for the number of results, and
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
    # The tests of the partitions in which a second step chooses among matches, or None.
    non_overlapping: tuple[EquivalenceTest, ...] | None = None
    # The limits of each task that searches.
    limits: Limits = UNLIMITED

    # ------------------------------------------------------------ DataFrames

    @cached_property
    def matches(self) -> DataFrame:
        """The results in the requested form; for a number, the matches that it counts."""
        if self.output == "compressed":
            return self.compressed
        schema, (plan, limit) = self.schema, without_limit(self.plan)
        if limit == 0:
            nothing = self.source.spark.createDataFrame([], schema)
            return in_form(nothing, self.plan, flat=self.flat)
        columns = schema if limit is None else with_order(schema)
        if self.non_overlapping is None:
            found = self._job(plan, columns, limit).found()
        else:
            found = non_overlapping(self._all(schema), self._steps, columns, "results", self.limits)
        if limit is not None:
            found = limited(found, limit, schema, self.limits)
        return in_form(found, self.plan, flat=self.flat)

    def _all(self, schema: st.StructType) -> DataFrame:
        """All matches for a second step, with these columns of results."""
        placed = with_places(schema)
        return self._job(without_limit(self.plan)[0], placed).found()

    @property
    def _steps(self) -> int:
        """The number of tasks of the second step; without a test there is one partition."""
        return shuffle_partitions(self.source.spark) if self.non_overlapping else 1

    @cached_property
    def compressed(self) -> DataFrame:
        """The collapsed form of all matches: a row for each event at which matches end."""
        check_set(self.compiled)
        rows = replace(self._rows, also=self.form.plan.named)
        columns = tuple(map(rows.columns, self.source.frames))
        schema = set_schema(self.form, self.source, columns)
        return self._job(self.plan, schema, gives="compressed", form=self.form).found()

    @cached_property
    def bad_rows(self) -> DataFrame:
        """The bad rows without changes, with the column and the reason; needs a quarantine."""
        return self._rows.bad_rows()

    @property
    def counting_plan(self) -> EnginePlan:
        """The plan of the search for `metrics`; its operators count everything they can."""
        return replace(self.plan, options=replace(self.plan.options, analyze=True))

    def metrics(self) -> DataFrame:
        """The counters of all tasks, one row each; this searches all events once more."""
        plan, limit = without_limit(self.counting_plan)
        counted = limit if self.non_overlapping is None else None
        job = self._job(plan, self.schema, counted, gives="metrics")
        return replace(job, schema=METRICS_SCHEMA).found()

    def count(self, *, progress: TaskProgress | None = None) -> int:
        """Run the search for the exact number of results, without building them.

        `progress` is called with the tasks that are done, and all tasks that have begun.
        """
        _, limit = without_limit(self.plan)
        watched = nullcontext() if progress is None else progress_of(self.source.spark, progress)
        with translated_errors(), watched:
            total = sum(int(text, 16) for (text,) in self.tallies.collect())
        return total if limit is None else min(total, limit)

    @cached_property
    def tallies(self) -> DataFrame:
        """The number of results of each part, one row each, in hexadecimal digits."""
        if self.non_overlapping is not None:
            found = self._all(st.StructType([]))
            return non_overlapping(found, self._steps, COUNT_SCHEMA, "count", self.limits)
        plan, limit = without_limit(self.plan)
        paths = None if self.listing_reasons("count") else self.form
        return self._job(plan, COUNT_SCHEMA, limit, gives="count", form=paths).found()

    def listing_reasons(self, output: str) -> tuple[str, ...]:
        """Why tasks enumerate single matches; empty if they count paths through a graph."""
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
        """The rows for tasks, each once, with the list of its parts; the cut has slices."""
        return self._job(self.plan, self.schema).rows_with_parts()

    # ------------------------------------------------------------ jobs

    @property
    def _rows(self) -> SourceScan:
        return SourceScan(self.source, self.plan, self.compiled.on_bad_row == "quarantine")

    def _job(
        self,
        plan: EnginePlan,
        schema: st.StructType,
        limit: int | None = None,
        *,
        gives: Gives = "results",
        form: SetPlan | None = None,
    ) -> Job:
        """The job of a search by a plan; `gives` is the kind of its results."""
        within = self.non_overlapping
        if within is None:
            within = self.plan.returned.non_overlapping
        output = to_arrow_schema(schema, timezone=self.source.zone)
        search = QuerySearch(plan, self.source.shape, output, limit, gives, form, within)
        # A set of matches is counted by another plan, which reads other columns.
        also = frozenset() if form is None else form.plan.named
        rows = replace(self._rows, shows=gives != "count", also=also)
        return Job(search, schema, (rows,), self.cut, self.limits)


# The columns of counts and of counters, with the types of Spark.
COUNT_SCHEMA, METRICS_SCHEMA = from_arrow_schema(COUNT), from_arrow_schema(METRICS)


def in_form(results: DataFrame, plan: EnginePlan, *, flat: bool) -> DataFrame:
    """Results in the requested form, from structs."""
    return results.select(*_flat(results, plan)) if flat else results


def _flat(results: DataFrame, plan: EnginePlan) -> Iterator[Column]:
    """The attributes of events as columns, such as `x_id`."""
    variables = () if plan.returned.columns is not None else plan.positives
    named = {each.variable for each in variables}
    for field in results.schema.fields:
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
    """Prepare a query over events; its DataFrames are made on first use."""
    check_form(output, flat=flat)
    limits = limits_of(timeout, max_memory)
    source = FrameSource.of(df)
    if source.is_streaming:
        raise PlanError(
            "a replay reads events that are all there, and these are a stream: its matches are"
            "  sase.spark.match(…)  , and its bad rows are in  sase.spark.stream(…)"
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
    check_workers(source.spark)
    statistics = statistics_in(stats)
    optimized = compiled.optimized(statistics)
    engine = task_plan(compiled, optimized, source)
    if output == "compressed":
        check_set(compiled)
    # The cut is for the search of all matches; a second step then partitions them by the tests.
    every, within = with_overlaps(engine), engine.returned.non_overlapping
    forced, written = strategy_named(strategy), engine.split.keys
    cut = cut_of(SourceScan(source, every), slices, forced, statistics, written)
    if within is None or has_whole_partitions(cut, engine):
        every, within = engine, None
    if cut.files is not None:  # tasks find the bad rows of files themselves
        every = replace(every, on_bad_row=compiled.on_bad_row)
    return Replay(
        compiled, source, optimized, statistics, every, cut, output, is_flat, within, limits
    )


def form_of(compiled: CompiledQuery, plan: EnginePlan) -> SetPlan:
    """The plan of the set of all matches: by a graph of events, or else the plan itself."""
    basic = exchanged(compiled.basic, replace(require(compiled.basic, Transformation), limit=None))
    collapsed = collapsible(basic)
    keys = tuple(dict.fromkeys(test.attribute for test in compiled.bound.equivalences))
    if collapsed.reasons:
        return SetPlan(plan, keys, collapsed.reasons)
    engine = compiled.plan(Optimized.of(collapsed.plan)).engine
    return SetPlan(replace(engine, on_bad_row=plan.on_bad_row), keys)


def check_set(compiled: CompiledQuery) -> None:
    """Refuse the collapsed form if tasks cannot compute it by part."""
    why = set_declined(compiled.basic)
    if why:
        raise PlanError(f'output="compressed" cannot be taken on Spark: {why}')


def check_form(output: str, *, flat: bool) -> None:
    """Refuse unknown forms."""
    check_choice("output", output, OUTPUTS)
    if flat and output not in LISTS:
        raise PlanError(
            f'flat=True is of matches that are listed, and output="{output}" lists none'
        )


def task_plan(compiled: CompiledQuery, optimized: Optimized, source: FrameSource) -> EnginePlan:
    """Make the plan for tasks; refuse undefined orders, and types that Arrow lacks."""
    plan = replace(compiled.plan(optimized).engine, on_bad_row="error")
    if not plan.schema.is_imprecise:
        check_order(plan.schema.seq, plan.ordering)
    source.check_shown(None if plan.scan.columns is None else set(plan.named))
    return plan
