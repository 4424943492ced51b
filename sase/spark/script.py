"""Scripts over DataFrames: what each statement finds as a DataFrame, of as few jobs as may be."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import Any, Unpack
from warnings import warn

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql import types as st
from pyspark.sql.pandas.types import from_arrow_type, to_arrow_schema

from sase.api.compiled_script import CompiledScript, of_input
from sase.api.plan import DEFAULT_PLAN
from sase.binding.bound import BoundWindow, WindowKind
from sase.binding.input_options import InputKeywords, InputOptions, takes_input_options
from sase.binding.script import StatementGraph
from sase.engine.scripts.plan import InputPlan, ScriptPlan, StatementPlan
from sase.errors import PlanError, ReplayWarning
from sase.planning.replay import SlicePlan, time_slices
from sase.planning.split import Split
from sase.spark.arrow_map import map_in_arrow
from sase.spark.columns import any_of, column, key_hash, raw_time, slack_of
from sase.spark.partitioning import shuffle_partitions
from sase.spark.row_layout import PART, SEQ, TIME, packed
from sase.spark.script_cut import ScriptCut, script_cuts
from sase.spark.script_task import STATEMENT, ScriptTask
from sase.spark.slice_bounds import CELLS, known_times, slice_parts, slices_worth
from sase.spark.source import Frame, FrameSource
from sase.spark.source_scan import SourceScan


class ScriptResults(dict[str, DataFrame]):
    """The results of each statement by its name.

    What statements of one job find is kept once one of them has been computed, so that the others
    need not search again; `unpersist` lets it go.
    """

    def __init__(self, found: Mapping[str, DataFrame], kept: Sequence[DataFrame]) -> None:
        super().__init__(found)
        self._kept = tuple(kept)

    def unpersist(self) -> None:
        """Let go of what is kept."""
        for each in self._kept:
            each.unpersist()


@takes_input_options
def script(
    script: str,
    df: DataFrame | Mapping[str, DataFrame],
    *,
    params: Mapping[str, object] | None = None,
    plan: str = DEFAULT_PLAN,
    **options: Unpack[InputKeywords],
) -> ScriptResults:
    """What the statements of a script find in a DataFrame, or in a dict of input → DataFrame.

    Statements over the same input that all events of a match agree on the same attribute for share
    one shuffle, and one task for each part of it. So do those that read what others find, where
    that attribute goes on; others are cut by time, each slice with the windows of all streams
    before it, or run in one task, with a warning that says why.
    """
    sources = _sources(df)
    names = {name: InputOptions(**of_input(options, name, sources)) for name in sources}
    known = {name: source.discovered(names[name]) for name, source in sources.items()}
    compiled = CompiledScript(StatementGraph.of(script, known), known, params, plan)
    _check(compiled.plan)
    shown = {name: each.to_arrow().schema for name, each in compiled.found(known).items()}
    queries = {name: each.bound for name, each in compiled.bound.queries.items()}
    found, kept = dict[str, DataFrame](), list[DataFrame]()
    for cut in script_cuts(compiled.plan.statements, queries):
        if cut.reason:
            warn(ReplayWarning(f"one task runs these statements: {cut.reason}"), stacklevel=4)
        job = ScriptJob(compiled.plan, sources, cut, shown)
        results = job.results()
        if len(cut.statements) > 1:
            kept.append(results.persist())
        found |= {name: job.of(results, name) for name in job.names}
    return ScriptResults({name: found[name] for name in shown}, kept)


def _sources(df: Any) -> dict[str | None, FrameSource]:
    given: dict[str | None, Any] = dict(df) if isinstance(df, Mapping) else {None: df}
    sources = {name: FrameSource.of(each) for name, each in given.items()}
    if any(each.is_streaming for each in sources.values()):
        raise PlanError(
            "a script over streaming DataFrames is not supported: run each statement that reads an"
            " input by  sase.spark.stream(query, df)"
        )
    return sources


def _check(plan: ScriptPlan) -> None:
    """Refuse what Spark cannot run as one machine does, as its rows have no order."""
    by_name = {each.name: each for each in plan.inputs}
    for each in plan.inputs:
        what = "the input without a name" if each.name is None else f"`{each.name}`"
        if each.on_bad_row != "error":
            raise PlanError(
                f"{what}: bad rows of a script on Spark are an error, and cannot go to quarantine;"
                " filter them before"
            )
        if each.schema.is_imprecise:
            raise PlanError(f"{what} has imprecise time, which scripts on Spark do not take yet")
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
        if why and any(by_name[name].schema.seq is None for name in reads):
            raise PlanError(
                f"`{statement.name}`: {why}, and the rows of a DataFrame have no order: name the"
                " column of integers that orders simultaneous events with  seq=…"
            )


def ordering_of(statement: StatementPlan, inputs: Container[str | None]) -> str:
    """Why the order of simultaneous events matters to a statement; empty if it does not."""
    reads_others = any(name not in inputs for name in statement.sources)
    if reads_others or len(statement.sources) > 1:
        return "events of several streams, and those that others find, stand in an order"
    return statement.plan.ordering


@dataclass(frozen=True, eq=False)
class ScriptJob:
    """Some statements of a script, the inputs that they read, and how these are cut."""

    whole: ScriptPlan
    sources: Mapping[str | None, FrameSource]
    cut: ScriptCut
    shown: Mapping[str, pa.Schema]

    @property
    def names(self) -> tuple[str, ...]:
        """The statements by number."""
        return tuple(each.name for each in self.cut.statements)

    @property
    def _inputs(self) -> tuple[InputPlan, ...]:
        return tuple(each for each in self.whole.inputs if each.name in self.cut.inputs)

    def of(self, results: DataFrame, name: str) -> DataFrame:
        """The results of one statement."""
        own = results.where(column(STATEMENT) == sf.lit(self.names.index(name)))
        at = column(name)
        return own.select(*(at.getField(f.name).alias(f.name) for f in self.shown[name]))

    def results(self) -> DataFrame:
        """The results of all statements, each in a column of its own."""
        rows, slack = self._rows(), max(map(self._slack, self._inputs))
        slices = self._slices(rows, slack)
        parts = shuffle_partitions(rows.sparkSession) if slices is None else len(slices)
        if slices is not None:
            first, last = slice_parts(sf.coalesce(column(TIME), sf.lit(0)), slices, 0)
            rows = rows.withColumn(PART, sf.explode(sf.sequence(first, last)))
        elif self.cut.reason:
            parts = 1
        schema = self._schema()
        zone = next(iter(self.sources.values())).zone
        task = ScriptTask(
            ScriptPlan(self._inputs, self.cut.statements),
            self.names,
            to_arrow_schema(schema, timezone=zone),
            slices,
            slack,
            next(filter(None, map(self._ordering, self.cut.statements)), ""),
        )
        rows = rows.withColumn(PART, sf.pmod(column(PART), sf.lit(parts)).cast("int"))
        placed = rows.repartitionById(parts, column(PART))
        return map_in_arrow(placed.sortWithinPartitions(column(TIME), column(SEQ)), task, schema)

    def _ordering(self, statement: StatementPlan) -> str:
        return ordering_of(statement, self.cut.inputs)

    def _schema(self) -> st.StructType:
        fields = [st.StructField(STATEMENT, st.IntegerType())]
        for name in self.names:
            kinds = [(f.name, from_arrow_type(f.type, prefer_timestamp_ntz=True))
                     for f in self.shown[name]]  # fmt: skip
            own = st.StructType([st.StructField(each, kind) for each, kind in kinds])
            fields.append(st.StructField(name, own))
        return st.StructType(fields)

    def _slices(self, rows: DataFrame, slack: int) -> SlicePlan | None:
        """Slices of time, each behind the windows of all streams, where the cut is one of time."""
        if self.cut.halo is None:
            return None
        before = BoundWindow(WindowKind.TIME, Fraction(self.cut.halo), None, False, self.cut.halo)
        split, parts = Split(before=before), shuffle_partitions(rows.sparkSession)
        known = known_times(rows.select(column(TIME)), CELLS * parts)
        return time_slices(known.bounds(slices_worth(parts, split, known.span)), split, slack)

    # ------------------------------------------------------------ rows

    def _rows(self) -> DataFrame:
        """The rows of all inputs, each in the column of its input, with their time and order."""
        frames = [self._of_input(each) for each in self._inputs]
        return reduce(lambda a, b: a.unionByName(b, allowMissingColumns=True), frames)

    def _of_input(self, given: InputPlan) -> DataFrame:
        (frame,) = self.sources[given.name].frames
        needed = self._is_needed(given, frame)
        rows = frame.df if needed is None else frame.df.filter(needed)
        schema, number = given.schema, self._inputs.index(given)
        kind, key = frame.kind(schema.time), self.cut.key
        time = raw_time(frame[schema.time], kind, schema.time_type.resolution)
        seq = sf.lit(0) if schema.seq is None else frame[schema.seq]
        part = time if self.cut.reason == "" else sf.lit(0)
        if key is not None:
            part = key_hash([(frame[key], frame.kind(key), len(self._kinds(key)) > 1)])
        names = self._columns(given, frame)
        return rows.select(
            sf.struct(*(frame[name].alias(name) for name in names)).alias(packed(number)),
            time.alias(TIME),
            seq.cast("bigint").alias(SEQ),
            sf.coalesce(part.cast("bigint"), sf.lit(0)).alias(PART),
        )

    def _kinds(self, name: str) -> set[str]:
        frames = (self.sources[each.name].frames[0] for each in self._inputs)
        return {frame.kind(name).simpleString() for frame in frames}

    def _readers(self, given: InputPlan) -> list[StatementPlan]:
        return [each for each in self.cut.statements if given.name in each.sources]

    def _columns(self, given: InputPlan, frame: Frame) -> list[str]:
        plans = [each.plan for each in self._readers(given)]
        if any(plan.scan.columns is None for plan in plans):
            return list(frame.fields)
        named = frozenset(given.schema.roles).union(*(plan.attributes for plan in plans))
        return [name for name in frame.fields if name in named]

    def _is_needed(self, given: InputPlan, frame: Frame) -> Column | None:
        """Whether a row may have a part in a result, or is bad; None if each may."""
        found = []
        for each in self._readers(given):
            if len(each.sources) > 1:
                return None
            scan = SourceScan(self.sources[given.name], each.plan)
            needed = scan.is_needed(frame, ())
            if needed is None:
                return None
            found.append(any_of([scan.is_bad(frame), needed]))
        return any_of(found)

    def _slack(self, given: InputPlan) -> int:
        (frame,) = self.sources[given.name].frames
        return slack_of(frame.kind(given.schema.time))
