"""Scripts over DataFrames: what each statement finds as a DataFrame, of as few jobs as may be."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Unpack
from warnings import warn

from pyspark.sql import DataFrame

from sase.api.compiled_query import compile_query
from sase.api.compiled_script import CompiledScript
from sase.api.plan import DEFAULT_PLAN
from sase.api.script_inputs import of_input
from sase.binding.input_options import InputKeywords, InputOptions, takes_input_options
from sase.binding.script import StatementGraph
from sase.binding.set_aside import ByStatement
from sase.engine.scripts.plan import ScriptPlan
from sase.engine.sources.discovered import Discovered
from sase.errors import PlanError, ReplayWarning
from sase.planning.plan import EnginePlan
from sase.spark.script_cut import script_cuts
from sase.spark.script_job import ScriptJob, ordering_of
from sase.spark.source import FrameSource
from sase.spark.source_scan import SourceScan
from sase.spark.streaming.script import ScriptStreamJob, check_streams, lateness_of


class ScriptResults(ByStatement[DataFrame]):
    """The results of each statement by its name.

    What statements of one job find is kept once one of them has been computed, so that the others
    need not search again; `unpersist` lets it go. `jobs` are DataFrames of what statements of one
    job find together, of which `of(results, name)` has the results of one statement: of streams
    each is for one streaming query. `bad_rows` has those of each input: with a quarantine.
    """

    def __init__(
        self,
        jobs: Sequence[ScriptJob],
        results: Sequence[DataFrame],
        bad_rows: Mapping[str | None, DataFrame],
        names: Sequence[str],
        reasons: Mapping[str, str],
    ) -> None:
        self._by_name = {name: job for job in jobs for name in job.names}
        self.jobs, self.bad_rows = tuple(results), bad_rows
        by_job = dict(zip(jobs, results, strict=True))
        super().__init__(((n, self.of(by_job[self._by_name[n]], n)) for n in names), reasons)

    def of(self, results: DataFrame, name: str) -> DataFrame:
        """The results of one statement in those of its job, or of a micro-batch of them."""
        return self._by_name[name].of(results, name)

    def unpersist(self) -> None:
        """Let go of what is kept."""
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
    """What the statements of a script find in a DataFrame, or in a dict of input → DataFrame.

    Statements over the same input that all events of a match agree on the same attribute for share
    one shuffle, and one task for each part of it. So do those that read what others find, where
    that attribute goes on; others are cut by time, each slice with the windows of all streams
    before it, or run in one task, with a warning that says why. One that names what the events
    lack is set aside with a warning, and what reads it, unless the script is `strict`.

    Streaming DataFrames give streaming ones, each for a streaming query of its own, which finds
    each result exactly once. `lateness`, which may be a dict by input, is how late rows may be
    where a DataFrame has no watermark, `buckets` the number of parts that keys and state are in.
    """
    sources = _sources(df)
    is_streaming = any(each.is_streaming for each in sources.values())
    names = {name: InputOptions(**of_input(options, name, sources)) for name in sources}
    known = {name: source.discovered(names[name]) for name, source in sources.items()}
    compiled = CompiledScript(StatementGraph.of(script, known), known, params, plan)
    compiled = compiled.settled(strict=strict)
    compiled.warn(stacklevel=4)
    _check(compiled.plan)
    shown = {name: each.to_arrow().schema for name, each in compiled.found(known).items()}
    queries = {name: each.bound for name, each in compiled.bound.queries.items()}
    of_all = {name: _of_all(each) for name, each in known.items()}
    cuts = script_cuts(compiled.plan.statements, queries, in_slices=not is_streaming)
    jobs = [ScriptJob(compiled.plan, sources, cut, shown, of_all) for cut in cuts]
    for cut in cuts:
        if cut.reason:
            warn(ReplayWarning(f"one task runs these statements: {cut.reason}"), stacklevel=4)
    if is_streaming:
        check_streams(sources)
        late = lateness_of(compiled.plan.inputs, sources, lateness)
        results = [ScriptStreamJob(job, buckets, late).results() for job in jobs]
    else:
        _refuse_streaming(lateness=lateness, buckets=buckets)
        results = [job.results() for job in jobs]
        results = [df.persist() if len(job.names) > 1 else df
                   for job, df in zip(jobs, results, strict=True)]  # fmt: skip
    bad = _bad_rows(compiled.plan, sources, known)
    return ScriptResults(jobs, results, bad, [*shown], compiled.reasons)


def _sources(df: Any) -> dict[str | None, FrameSource]:
    given: dict[str | None, Any] = dict(df) if isinstance(df, Mapping) else {None: df}
    return {name: FrameSource.of(each) for name, each in given.items()}


def _refuse_streaming(**given: object) -> None:
    """Refuse arguments that are for streams alone."""
    for name, value in given.items():
        if value is not None:
            raise PlanError(f"{name}={value!r} is for streams, and these events are all there")


def _of_all(source: Discovered, named: Iterable[str] = ()) -> EnginePlan:
    """The plan of all events of an input, which reads some columns: of what makes a row bad."""
    quoted = (name.replace("`", "``") for name in named)
    items = ["1 AS one", *(f"e.`{name}` AS c{number}" for number, name in enumerate(quoted))]
    known = compile_query(f"EVENT ANY e RETURN {', '.join(items)}", source, plan="basic")
    return known.plan(known.optimized()).engine


def _bad_rows(
    plan: ScriptPlan,
    sources: Mapping[str | None, FrameSource],
    known: Mapping[str | None, Discovered],
) -> dict[str | None, DataFrame]:
    """The bad rows of each input that has a quarantine, by what all statements name of it."""
    found = {}
    for each in plan.inputs:
        if each.on_bad_row == "quarantine":
            read = [s.plan.attributes for s in plan.statements if each.name in s.sources]
            fields = sources[each.name].frames[0].fields
            named = sorted(frozenset[str]().union(*read) & fields.keys())
            scan = SourceScan(sources[each.name], _of_all(known[each.name], named))
            found[each.name] = scan.bad_rows(each.on_bad_row)
    return found


def _check(plan: ScriptPlan) -> None:
    """Refuse what Spark cannot run as one machine does, as its rows have no order."""
    by_name = {each.name: each for each in plan.inputs}
    for statement in plan.statements:
        if len(statement.sources) > 1 and statement.plan.returned.columns is None:
            raise PlanError(
                f"`{statement.name}` reads several streams, and Spark must know the columns of what"
                " it finds before: say with  RETURN  what to show"
            )
        reads = [name for name in statement.sources if name in by_name]
        why = ordering_of(statement, by_name)
        if len(reads) < len(statement.sources):
            reads = [*by_name]
        schemas = [by_name[name].schema for name in reads]
        if why and any(each.seq is None and not each.is_imprecise for each in schemas):
            raise PlanError(
                f"`{statement.name}`: {why}, and the rows of a DataFrame have no order: name the"
                " column of integers that orders simultaneous events with  seq=…"
            )
