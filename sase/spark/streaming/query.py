"""A query over a streaming source: what it refuses, its rows, and the DataFrame of matches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Unpack
from warnings import warn

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql import types as st
from pyspark.sql.pandas.types import to_arrow_schema

from sase.api.compiled_query import CompiledQuery, compile_query, statistics_in
from sase.api.limits import limits_of
from sase.binding import Schema
from sase.binding.bound import EquivalenceTest
from sase.binding.folding import INT64_MIN
from sase.binding.input_options import (
    InputKeywords,
    InputOptions,
    check_choice,
    takes_input_options,
)
from sase.binding.lateness import lateness_in
from sase.cached_property import cached_property
from sase.engine.pipeline.limits import Limits
from sase.errors import PlanError, ReplayWarning
from sase.planning.plan import EnginePlan
from sase.planning.replay import ReplayStrategy, possible
from sase.spark.arrow_map import map_in_arrow
from sase.spark.replay import OUTPUTS, STREAMED, in_form, task_plan
from sase.spark.result_schema import spark_schema
from sase.spark.row_layout import PART
from sase.spark.source import Frame, FrameSource
from sase.spark.source_scan import SourceScan
from sase.spark.streaming.bucket import (
    BUCKET,
    BYTES,
    COUNTS,
    PACKED,
    RESULTS,
    UNBOUNDED,
    AnyBucket,
    Bucket,
    BucketProcessor,
    Ticks,
    pack_rows,
    unpack_rows,
)

# A number of its own, not one of a session's: with another one the keys of a checkpoint would be
# looked for in other buckets.
BUCKETS = 32
PROVIDER = "spark.sql.streaming.stateStore.providerClass"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
DELAY = "spark.watermarkDelayMs"


@dataclass(frozen=True, eq=False)
class Stream:
    """A query over streaming DataFrames; nothing of it runs before a streaming query is started.

    `lateness` is in raw units; None where the source has a watermark. Counts of each micro-batch
    are among the observed metrics of its progress, under the name `metrics`.
    """

    compiled: CompiledQuery
    source: FrameSource
    plan: EnginePlan
    keys: tuple[EquivalenceTest, ...]
    buckets: int
    lateness: int | None
    output: str
    metrics: str
    # Of each push into a bucket.
    limits: Limits

    @cached_property
    def matches(self) -> DataFrame:
        """The results, as a streaming DataFrame."""
        schema = spark_schema(self.plan, self.source)
        found = found_in_buckets(self._rows, self._bucket, self.metrics, schema)
        return in_form(found, self.plan, flat=self.output == "flat")

    @cached_property
    def bad_rows(self) -> DataFrame:
        """The bad rows as they were given, as a stream of their own: with a quarantine."""
        return StreamScan(self.source, self.plan).bad_rows(self.compiled.on_bad_row)

    @property
    def _delay(self) -> int | None:
        return None if self.lateness is None else Ticks.of(self.plan.schema).delay(self.lateness)

    @property
    def _rows(self) -> DataFrame:
        """The rows with their buckets."""
        skips = self.compiled.on_bad_row == "quarantine"
        scan = StreamScan(self.source, self.plan)
        return scan.in_buckets(self.keys, self.buckets, skips_bad=skips, delay=self._delay)

    @property
    def _bucket(self) -> Bucket:
        ticks = Ticks.of(self.plan.schema)
        return Bucket(
            replace(self.plan, lateness=UNBOUNDED),
            self.source.shape,
            to_arrow_schema(spark_schema(self.plan, self.source), timezone=self.source.zone),
            ticks,
            self.buckets,
            None if self._delay is None else ticks.reach(self._delay),
            self.limits,
        )


@takes_input_options
def stream(
    query: str,
    df: DataFrame | Mapping[str, DataFrame],
    *,
    params: Mapping[str, object] | None = None,
    plan: str = "optimized",
    lateness: object = None,
    buckets: int | None = None,
    output: str = "structs",
    limit: int | None = None,
    stats: object = None,
    metrics: str = "sase",
    timeout: object = None,
    max_memory: object = None,
    **options: Unpack[InputKeywords],
) -> Stream:
    """The query over the stream, ready to give its DataFrame."""
    limits = limits_of(timeout, max_memory)
    check_choice("output", output, OUTPUTS)
    if output == "non_overlap":
        raise PlanError(
            'output="non_overlap": on Spark it is of events that are all there; in a stream a'
            ' matcher chooses, of  sase.compile(…, output="non_overlap")'
        )
    if output not in STREAMED:
        raise PlanError(
            f'output="{output}": a stream has no end at which its matches are counted; how many'
            " each micro-batch has given is in the progress of the streaming query"
        )
    source = FrameSource.of(df)
    events, flat = source.discovered(InputOptions(**options)), output == "flat"
    compiled = compile_query(query, events, params=params, plan=plan, limit=limit, flat=flat)
    for warning in compiled.bound.warnings:
        warn(ReplayWarning(warning.sentence), stacklevel=5)
    optimized = compiled.optimized(statistics_in(stats))
    _check(compiled.unoptimized, source)
    engine = task_plan(compiled, optimized, source)
    allowed = lateness_allowed(engine.schema, source, lateness)
    keys = _keys(StreamScan(source, engine), buckets)
    count = (buckets or BUCKETS) if keys else 1
    return Stream(compiled, source, engine, keys, count, allowed, output, metrics, limits)


def _check(plan: EnginePlan, source: FrameSource) -> None:
    """Refuse what cannot be done on a stream."""
    check_source(source)
    if plan.returned.limit is not None:
        raise PlanError(
            "LIMIT takes the first results, and those of a stream have no order between buckets:"
            " leave it out, and stop the streaming query when it has given enough"
        )


def check_source(source: FrameSource) -> None:
    """Refuse tables among streams, and states that are kept otherwise than can be."""
    if not all(frame.df.isStreaming for frame in source.frames):
        raise PlanError(
            "some of the DataFrames are streams and some are not: give streams only, or tables only"
        )
    provider = source.spark.conf.get(PROVIDER)
    if provider != ROCKSDB:
        raise PlanError(
            f"a query over a stream keeps its state in RocksDB: before it is started say"
            f'  spark.conf.set("{PROVIDER}",\n    "{ROCKSDB}")'
        )


def lateness_allowed(schema: Schema, source: FrameSource, given: object) -> int | None:
    """The allowed lateness in raw units; None if the watermark of the source says it."""
    time = schema.time
    # The columns of each DataFrame that have a watermark.
    marked = [{n for n, each in f.fields.items() if DELAY in each.metadata} for f in source.frames]
    if given is not None:
        if any(marked):
            raise PlanError(
                f"lateness={given!r}: the stream has a watermark, which says how late a row may be:"
                " leave out one of the two"
            )
        return lateness_in(given, schema)
    for names in marked:
        if time not in names:
            other = f", and it is on {', '.join(f'`{n}`' for n in sorted(names))}" if names else ""
            raise PlanError(
                f"a query over a stream needs a watermark on the time column `{time}`{other}: say"
                f'  lateness="10 seconds"  , or give the DataFrame'
                f'  .withWatermark("{time}", "10 seconds")  , whatever rows may be late'
            )
    return None


def _keys(rows: StreamScan, buckets: int | None) -> tuple[EquivalenceTest, ...]:
    """The tests by whose keys rows go to buckets; none if all go to the same."""
    plan, keys = rows.plan, rows.keys
    if buckets is not None and (isinstance(buckets, bool) or buckets < 1):
        raise PlanError(f"buckets={buckets!r}: there is at least one bucket")
    declined = possible(plan.split, keys)[ReplayStrategy.KEY]
    if not declined:
        if plan.split.before is None and not plan.ranked:
            warn(ReplayWarning(_ENDLESS), stacklevel=6)
        return keys if buckets != 1 else ()
    if buckets is not None and buckets > 1:
        raise PlanError(f"buckets={buckets}: the events cannot be parted by key, since {declined}")
    if keys and buckets is None:
        raise PlanError(
            f"{declined}: say  buckets=1  to have one task search all events, or a window in time"
        )
    if buckets is None:
        warn(ReplayWarning(f"one task searches all events: {declined}"), stacklevel=6)
    return ()


_ENDLESS = "there is no window, so the state of the stream grows as long as it runs"


WATERMARK, NEEDED = "#watermark", "#needed"


def kept_of(rows: DataFrame, delay: int | None) -> DataFrame:
    """The rows that are needed; all move the watermark, of so many milliseconds or the source's."""
    if delay is not None:
        rows = rows.withWatermark(f"`{WATERMARK}`", f"{delay} milliseconds")
    # Spark would move a filter that does not name the watermark below it, and then the rows that it
    # drops would not move the watermark.
    never = sf.col(f"`{WATERMARK}`") < sf.timestamp_micros(sf.lit(INT64_MIN))
    return rows.filter(sf.col(f"`{NEEDED}`") | never).drop(NEEDED, WATERMARK)


def found_in_buckets(
    rows: DataFrame, bucket: AnyBucket, metrics: str, schema: st.StructType
) -> DataFrame:
    """The results of all buckets in each micro-batch, whose counts are observed metrics."""
    sums = (sf.coalesce(sf.sum(name), sf.lit(0)).alias(name) for name in COUNTS)
    found = (
        map_in_arrow(rows, pack_rows, PACKED)
        .groupBy(BUCKET)
        .transformWithStateInPandas(BucketProcessor(bucket), RESULTS, "append", "eventTime")
        .observe(metrics, *sums)
    )
    return found.select(BYTES).filter(sf.col(BYTES).isNotNull()).mapInArrow(unpack_rows, schema)


class StreamScan(SourceScan):
    """The rows that a plan needs; all of them move the watermark."""

    def in_buckets(
        self,
        tests: Sequence[EquivalenceTest],
        buckets: int,
        *,
        skips_bad: bool,
        delay: int | None,
    ) -> DataFrame:
        """The rows with their buckets, and a watermark as `kept_of` has it."""
        frames = [
            frame.df.select(
                *self._selected(frame),
                self._bucket(frame, tests, buckets).alias(PART),
                self._kept(frame, tests, skips_bad=skips_bad).alias(NEEDED),
                self._moment(frame, own=delay is not None).alias(WATERMARK),
            )
            for frame in self.source.frames
        ]
        rows = reduce(lambda a, b: a.unionByName(b, allowMissingColumns=True), frames)
        return kept_of(rows, delay)

    def _bucket(self, frame: Frame, tests: Sequence[EquivalenceTest], buckets: int) -> Column:
        if not tests or not self.may_match(frame):  # which may have no key at all
            return sf.lit(0)
        return sf.pmod(self.key(frame, tests), sf.lit(buckets)).cast("int")

    def _kept(self, frame: Frame, tests: Sequence[EquivalenceTest], *, skips_bad: bool) -> Column:
        """Whether a row goes on to its bucket; a bad one does, to be complained of there."""
        bad, needed = self.is_bad(frame), self.is_needed(frame, tests)
        needed = sf.lit(True) if needed is None else sf.coalesce(needed, sf.lit(False))
        return ~bad & needed if skips_bad else bad | needed

    def _moment(self, frame: Frame, *, own: bool) -> Column:
        if not own:
            return frame[self.plan.schema.time]
        return Ticks.of(self.plan.schema).timestamp(self.time(frame))
