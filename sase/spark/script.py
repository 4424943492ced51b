"""Scripts over DataFrames: the results of each statement, from as few jobs as possible."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from typing import Any, Unpack
from warnings import warn

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.sql import types as st
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

from sase.api.compiled_query import compile_query
from sase.api.compiled_script import CompiledScript
from sase.api.plan import DEFAULT_PLAN
from sase.api.script_inputs import of_input
from sase.binding.input_options import InputKeywords, InputOptions, takes_input_options
from sase.binding.schema import check_order
from sase.binding.script.script import StatementGraph
from sase.binding.script.statements import ByStatement
from sase.engine.scripts.plan import ScriptPlan, StatementPlan
from sase.engine.sources.discovered import Discovered
from sase.errors import PlanError, ReplayWarning
from sase.planning.engine_plan import EnginePlan
from sase.spark.job import Job
from sase.spark.partitioning import Cut, cut_of_statements
from sase.spark.reading.columns import column
from sase.spark.reading.input_scan import InputScan
from sase.spark.reading.source import FrameSource
from sase.spark.reading.source_scan import SourceScan
from sase.spark.script_cut import ScriptCut, script_cuts
from sase.spark.streaming.query import (
    check_buckets,
    check_source,
    clocks_of,
    in_buckets,
    streamed,
)
from sase.spark.tasks.search import STATEMENT, ScriptSearch
from sase.spark.workers import check_workers


class ScriptResults(ByStatement[DataFrame]):
    """The results of each statement by its name.

    If a job has several statements, its results are kept once one of them was computed, so that the
    others need no new search; `unpersist` releases them. `jobs` are the DataFrames of the results
    of each job. `of(results, name)` selects the results of one statement from them. For streams,
    each of `jobs` needs a streaming query. `bad_rows` has the bad rows of each input with a
    quarantine.
    """

    def __init__(
        self,
        jobs: Sequence[Job],
        results: Sequence[DataFrame],
        bad_rows: Mapping[str | None, DataFrame],
        names: Sequence[str],
        reasons: Mapping[str, str],
    ) -> None:
        self.jobs, self.bad_rows = tuple(results), bad_rows
        of_jobs = zip(jobs, results, strict=True)
        self._by_name = {n: each for each in of_jobs for n in statements_of(each[0])}
        super().__init__(((n, self.of(self._by_name[n][1], n)) for n in names), reasons)

    def of(self, results: DataFrame, name: str) -> DataFrame:
        """The results of one statement from those of its job, or from a micro-batch of them."""
        job, _ = self._by_name[name]
        own = results.where(column(STATEMENT) == sf.lit(statements_of(job).index(name)))
        at, kind = column(name), job.schema[name].dataType
        assert isinstance(kind, st.StructType)
        return own.select(*(at.getField(each).alias(each) for each in kind.names))

    def unpersist(self) -> None:
        """Release the results that are kept."""
        for each in self.jobs:
            if not each.isStreaming:
                each.unpersist()


@takes_input_options
def script(
    script: str,
    df: DataFrame | Mapping[str, DataFrame] | Mapping[str | None, DataFrame],
    *,
    params: Mapping[str, object] | None = None,
    plan: str = DEFAULT_PLAN,
    lateness: object = None,
    buckets: int | None = None,
    strict: bool = False,
    **options: Unpack[InputKeywords],
) -> ScriptResults:
    """Run the statements of a script over a DataFrame, or over a dict of input → DataFrame.

    Statements over the same input share one shuffle if all events of their matches agree on the
    same attribute; one task runs them for each part. So do statements that read the results of
    others, if these results have the attribute. Other statements are cut by time; each slice also
    reads the windows of all streams before it. Else one task runs them, and a warning says why. A
    statement is set aside with a warning if it names something that the events lack, and so are its
    readers. If the script is `strict`, this is an error.

    Streaming DataFrames give streaming results. Each needs a streaming query, and has each result
    exactly once. `lateness`, also a dict by input, is how late rows without a watermark may be.
    `buckets` is the number of parts of the keys and the state.
    """
    given: Any = df if isinstance(df, Mapping) else {None: df}
    sources: dict[str | None, FrameSource] = {n: FrameSource.of(e) for n, e in given.items()}
    is_streaming = any(each.is_streaming for each in sources.values())
    names = {name: InputOptions(**of_input(options, name, sources)) for name in sources}
    known = {name: source.discovered(names[name]) for name, source in sources.items()}
    compiled = CompiledScript(StatementGraph.of(script, known), known, params, plan)
    compiled = compiled.settled(strict=strict)
    compiled.warn(stacklevel=4)
    _check(compiled.plan, sources)
    shown = {name: each.to_arrow().schema for name, each in compiled.found(known).items()}
    queries = {name: each.bound for name, each in compiled.bound.queries.items()}
    of_all = {name: _of_all(each) for name, each in known.items()}
    cuts = script_cuts(compiled.plan.statements, queries, in_slices=not is_streaming)
    for cut in cuts:
        if cut.reason:
            warn(ReplayWarning(f"one task runs these statements: {cut.reason}"), stacklevel=4)
    if is_streaming:
        for source in sources.values():
            check_source(source)
        check_buckets(buckets)
        jobs = [
            _job(compiled.plan, sources, each, shown, of_all, in_buckets(each.keys, buckets))
            for each in cuts
        ]
        results = [
            streamed(job, clocks_of(job.search, (each.source for each in job.scans), lateness))
            for job in jobs
        ]
    else:
        _refuse_streaming(lateness=lateness, buckets=buckets)
        jobs = [_job(compiled.plan, sources, cut, shown, of_all) for cut in cuts]
        results = [job.found() for job in jobs]
        results = [df.persist() if len(statements_of(job)) > 1 else df
                   for job, df in zip(jobs, results, strict=True)]  # fmt: skip
    bad = _bad_rows(compiled.plan, sources, of_all)
    return ScriptResults(jobs, results, bad, [*shown], compiled.reasons)


def _job(
    plan: ScriptPlan,
    sources: Mapping[str | None, FrameSource],
    part: ScriptCut,
    shown: Mapping[str, pa.Schema],
    of_all: Mapping[str | None, EnginePlan],
    cut: Cut | None = None,
) -> Job:
    """The job of some statements; without a `cut`, the cut of their inputs is chosen."""
    inputs = tuple(each for each in plan.inputs if each.name in part.inputs)
    read = tuple(sources[each.name] for each in inputs)
    scans = tuple(
        InputScan(
            source,
            of_all[each.name],
            each.on_bad_row == "quarantine",
            number=number,
            input=each,
            readers=tuple(s for s in part.statements if each.name in s.sources),
            sources=read,
        )
        for number, (each, source) in enumerate(zip(inputs, read, strict=True))
    )
    names = tuple(each.name for each in part.statements)
    schema = st.StructType([st.StructField(STATEMENT, st.IntegerType())])
    for name in names:
        schema.add(name, from_arrow_schema(shown[name], prefer_timestamp_ntz=True))
    output = to_arrow_schema(schema, timezone=read[0].zone)
    ordering = next(filter(None, (ordering_of(each, part.inputs) for each in part.statements)), "")
    search = ScriptSearch(ScriptPlan(inputs, part.statements), names, output, ordering)
    return Job(search, schema, scans, cut_of_statements(part, scans[0]) if cut is None else cut)


def statements_of(job: Job) -> tuple[str, ...]:
    """The names of the statements of a job, by number."""
    assert isinstance(job.search, ScriptSearch)
    return job.search.statements


def ordering_of(statement: StatementPlan, inputs: Container[str | None]) -> str:
    """Why the order of simultaneous events matters to a statement; empty if it does not.

    Events of imprecise time are simultaneous in some worlds, in any of their streams.
    """
    reads_others = any(name not in inputs for name in statement.sources)
    is_merged = len(statement.sources) > 1 and not statement.plan.schema.is_imprecise
    if reads_others or is_merged:
        return "events of several streams, and those that others find, stand in an order"
    return statement.plan.ordering


def _refuse_streaming(**given: object) -> None:
    """Refuse arguments that are only for streams."""
    for name, value in given.items():
        if value is not None:
            raise PlanError(f"{name}={value!r} is for streams, and these events are all there")


def _of_all(source: Discovered) -> EnginePlan:
    """The plan of all events of an input; it decides which rows are bad for all statements."""
    return compile_query("EVENT ANY e RETURN 1 AS one", source, plan="basic").unoptimized


def _bad_rows(
    plan: ScriptPlan,
    sources: Mapping[str | None, FrameSource],
    of_all: Mapping[str | None, EnginePlan],
) -> dict[str | None, DataFrame]:
    """The bad rows of each input with a quarantine, by the columns that statements name."""
    found = {}
    for each in plan.inputs:
        if each.on_bad_row == "quarantine":
            read = [s.plan.named for s in plan.statements if each.name in s.sources]
            fields = sources[each.name].frames[0].fields
            named = sorted(frozenset[str]().union(*read) & fields.keys())
            by_all = replace(of_all[each.name], also_read=tuple(named))
            found[each.name] = SourceScan(sources[each.name], by_all, skips_bad=True).bad_rows()
    return found


def _check(plan: ScriptPlan, sources: Mapping[str | None, FrameSource]) -> None:
    """Refuse statements that depend on the order of rows, and workers that cannot run tasks."""
    by_name = {each.name: each for each in plan.inputs}
    for statement in plan.statements:
        if len(statement.sources) > 1 and statement.plan.returned.columns is None:
            raise PlanError(
                f"`{statement.name}` reads several streams, and Spark must know its columns"
                f" before: name them in  RETURN"
            )
        reads = [name for name in statement.sources if name in by_name]
        why = ordering_of(statement, by_name)
        if len(reads) < len(statement.sources):
            reads = [*by_name]
        schemas = [by_name[name].schema for name in reads]
        for each in schemas:
            if not each.is_imprecise:
                check_order(each.seq, why and f"`{statement.name}`: {why}")
    for source in sources.values():
        check_workers(source.spark)
