"""A script over streaming DataFrames: one streaming query finds what the statements of a job do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from sase.engine.scripts.plan import InputPlan, ScriptPlan
from sase.errors import PlanError
from sase.spark.row_layout import PART
from sase.spark.script_job import ScriptJob
from sase.spark.source import Frame, FrameSource
from sase.spark.streaming.bucket import UNBOUNDED, Ticks
from sase.spark.streaming.query import (
    BUCKETS,
    NEEDED,
    WATERMARK,
    check_source,
    found_in_buckets,
    kept_of,
    lateness_allowed,
)
from sase.spark.streaming.script_bucket import InputClock, ScriptBucket

METRICS = "sase"


def check_streams(sources: Mapping[str | None, FrameSource]) -> None:
    """Refuse what scripts cannot do on streams."""
    for each in sources.values():
        check_source(each)


def lateness_of(
    inputs: Sequence[InputPlan], sources: Mapping[str | None, FrameSource], given: object
) -> dict[str | None, int | None]:
    """How late the rows of each input may be, in its units; None where its watermark says it."""
    by_name = given if isinstance(given, Mapping) else {each.name: given for each in inputs}
    return {
        each.name: lateness_allowed(each.schema, sources[each.name], by_name.get(each.name))
        for each in inputs
    }


@dataclass(frozen=True, eq=False)
class ScriptStreamJob:
    """Statements of a script that one streaming query runs: state by bucket of their key."""

    job: ScriptJob
    buckets: int | None
    lateness: Mapping[str | None, int | None]

    def results(self) -> DataFrame:
        """The results of all statements, each in a column of its own."""
        return found_in_buckets(self._rows(), self._bucket(), METRICS, self.job.schema)

    @property
    def _count(self) -> int:
        """How many buckets there are."""
        given = self.buckets
        if given is not None and (isinstance(given, bool) or given < 1):
            raise PlanError(f"buckets={given!r}: there is at least one bucket")
        return 1 if self.job.cut.key is None else given or BUCKETS

    def _bucket(self) -> ScriptBucket:
        inputs = tuple(replace(each, lateness=UNBOUNDED) for each in self.job.inputs)
        return ScriptBucket(
            ScriptPlan(inputs, self.job.cut.statements),
            self.job.names,
            self.job.output,
            tuple(map(self._clock, self.job.inputs)),
            self._count,
            self.job.ordering,
        )

    def _clock(self, given: InputPlan) -> InputClock:
        ticks, delay = Ticks.of(given.schema), self._delay(given)
        return InputClock(given.name, ticks, None if delay is None else ticks.reach(delay))

    def _delay(self, given: InputPlan) -> int | None:
        """How late rows may be, in milliseconds."""
        raw = self.lateness[given.name]
        return None if raw is None else Ticks.of(given.schema).delay(raw)

    def _rows(self) -> DataFrame:
        """The rows of all inputs with their buckets; the time of each input moves the watermark."""
        frames = [self._of_input(each) for each in self.job.inputs]
        return reduce(lambda a, b: a.unionByName(b, allowMissingColumns=True), frames)

    def _of_input(self, given: InputPlan) -> DataFrame:
        (frame,) = self.job.sources[given.name].frames
        delay = self._delay(given)
        *columns, time, seq, part = self.job.columns(given, frame)
        ticks = Ticks.of(given.schema)
        moment = frame[given.schema.time] if delay is None else ticks.timestamp(time)
        rows = frame.df.select(
            *columns,
            time,
            seq,
            sf.pmod(part, sf.lit(self._count)).cast("int").alias(PART),
            self._kept(given, frame).alias(NEEDED),
            moment.alias(WATERMARK),
        )
        return kept_of(rows, delay)

    def _kept(self, given: InputPlan, frame: Frame) -> Column:
        """Whether a row goes on to its bucket: there a bad one is complained of, or set aside."""
        needed = self.job.is_needed(given, frame)
        kept = sf.lit(True) if needed is None else sf.coalesce(needed, sf.lit(False))
        return kept & ~self.job.is_bad(given, frame) if given.on_bad_row == "quarantine" else kept
