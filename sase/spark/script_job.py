"""A job of a script on Spark: statements that are searched together, and the rows they read."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql import types as st
from pyspark.sql.pandas.types import from_arrow_type, to_arrow_schema

from sase.binding.bound import BoundWindow, WindowKind
from sase.engine.scripts.plan import InputPlan, ScriptPlan, StatementPlan
from sase.planning.plan import EnginePlan
from sase.planning.replay import SlicePlan, time_slices
from sase.planning.split import Split
from sase.spark.arrow_map import map_in_arrow
from sase.spark.columns import any_of, column, key_hash, raw_time, slack_of
from sase.spark.partitioning import shuffle_partitions
from sase.spark.row_layout import PART, SEQ, TIME, packed
from sase.spark.script_cut import ScriptCut
from sase.spark.script_task import STATEMENT, ScriptTask
from sase.spark.slice_bounds import CELLS, known_times, slice_parts, slices_worth
from sase.spark.source import Frame, FrameSource
from sase.spark.source_scan import SourceScan


def ordering_of(statement: StatementPlan, inputs: Container[str | None]) -> str:
    """Why the order of simultaneous events matters to a statement; empty if it does not.

    Events of imprecise time are simultaneous in some worlds, whatever their streams.
    """
    reads_others = any(name not in inputs for name in statement.sources)
    is_merged = len(statement.sources) > 1 and not statement.plan.schema.is_imprecise
    if reads_others or is_merged:
        return "events of several streams, and those that others find, stand in an order"
    return statement.plan.ordering


@dataclass(frozen=True, eq=False)
class ScriptJob:
    """Some statements of a script, the inputs that they read, and how these are cut."""

    whole: ScriptPlan
    sources: Mapping[str | None, FrameSource]
    cut: ScriptCut
    shown: Mapping[str, pa.Schema]
    # The plans of all events of each input: what makes a row bad for all is in them.
    of_all: Mapping[str | None, EnginePlan]

    @property
    def names(self) -> tuple[str, ...]:
        """The statements by number."""
        return tuple(each.name for each in self.cut.statements)

    @property
    def inputs(self) -> tuple[InputPlan, ...]:
        """The inputs that they read, by the number of their column in rows."""
        return tuple(each for each in self.whole.inputs if each.name in self.cut.inputs)

    def of(self, results: DataFrame, name: str) -> DataFrame:
        """The results of one statement."""
        own = results.where(column(STATEMENT) == sf.lit(self.names.index(name)))
        at = column(name)
        return own.select(*(at.getField(f.name).alias(f.name) for f in self.shown[name]))

    def results(self) -> DataFrame:
        """The results of all statements, each in a column of its own."""
        rows, slack = self._rows(), max(map(self._slack, self.inputs))
        slices = self._slices(rows, slack)
        parts = shuffle_partitions(rows.sparkSession) if slices is None else len(slices)
        if slices is not None:
            first, last = slice_parts(sf.coalesce(column(TIME), sf.lit(0)), slices, 0)
            rows = rows.withColumn(PART, sf.explode(sf.sequence(first, last)))
        elif self.cut.reason:
            parts = 1
        task = ScriptTask(self.plan, self.names, self.output, slices, slack, self.ordering)
        rows = rows.withColumn(PART, sf.pmod(column(PART), sf.lit(parts)).cast("int"))
        placed = rows.repartitionById(parts, column(PART))
        return map_in_arrow(
            placed.sortWithinPartitions(column(TIME), column(SEQ)), task, self.schema
        )

    @property
    def plan(self) -> ScriptPlan:
        """The plan of these statements."""
        return ScriptPlan(self.inputs, self.cut.statements)

    @property
    def output(self) -> pa.Schema:
        """The results of all statements, as Arrow has them."""
        zone = next(iter(self.sources.values())).zone
        return to_arrow_schema(self.schema, timezone=zone)

    @property
    def ordering(self) -> str:
        """Why the order of simultaneous events matters, if it does."""
        reasons = (ordering_of(each, self.cut.inputs) for each in self.cut.statements)
        return next(filter(None, reasons), "")

    @property
    def schema(self) -> st.StructType:
        """The number of a statement, and its result in the column of its name."""
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
        frames = [self._of_input(each) for each in self.inputs]
        return reduce(lambda a, b: a.unionByName(b, allowMissingColumns=True), frames)

    def _of_input(self, given: InputPlan) -> DataFrame:
        (frame,) = self.sources[given.name].frames
        needed, rows = self.is_needed(given, frame), frame.df
        if given.on_bad_row == "quarantine":
            rows = rows.filter(~self.is_bad(given, frame))
        return (rows if needed is None else rows.filter(needed)).select(*self.columns(given, frame))

    def columns(self, given: InputPlan, frame: Frame) -> list[Column]:
        """The columns of a row as it travels: those that are read, its time, order, and part."""
        schema, number = given.schema, self.inputs.index(given)
        kind, key = frame.kind(schema.time), self.cut.key
        time = raw_time(frame[schema.time], kind, schema.time_type.resolution)
        seq = sf.lit(0) if schema.seq is None else frame[schema.seq]
        if schema.until is not None:
            kind = frame.kind(schema.until)
            seq = raw_time(frame[schema.until], kind, schema.time_type.resolution)
        part = time if self.cut.reason == "" else sf.lit(0)
        if key is not None:
            part = key_hash([(frame[key], frame.kind(key), len(self._kinds(key)) > 1)])
        names = self._columns(given, frame)
        return [
            sf.struct(*(frame[name].alias(name) for name in names)).alias(packed(number)),
            time.alias(TIME),
            seq.cast("bigint").alias(SEQ),
            sf.coalesce(part.cast("bigint"), sf.lit(0)).alias(PART),
        ]

    def is_bad(self, given: InputPlan, frame: Frame) -> Column:
        """Whether a row is bad for all, by its time, type or order."""
        return SourceScan(self.sources[given.name], self.of_all[given.name]).is_bad(frame)

    def _kinds(self, name: str) -> set[str]:
        frames = (self.sources[each.name].frames[0] for each in self.inputs)
        return {frame.kind(name).simpleString() for frame in frames}

    def _readers(self, given: InputPlan) -> list[StatementPlan]:
        return [each for each in self.cut.statements if given.name in each.sources]

    def _columns(self, given: InputPlan, frame: Frame) -> list[str]:
        plans = [each.plan for each in self._readers(given)]
        if any(plan.scan.columns is None for plan in plans):
            return list(frame.fields)
        plans += [] if given.typing is None else [given.typing]
        named = frozenset(given.schema.roles).union(*(plan.attributes for plan in plans))
        return [name for name in frame.fields if name in named]

    def is_needed(self, given: InputPlan, frame: Frame) -> Column | None:
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
        return max(slack_of(frame.kind(name)) for name in given.schema.times)
