"""A query or a script over streams: checks, rows in buckets, and the DataFrame of results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Unpack
from warnings import warn

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import to_arrow_schema

from sase.api.checks import limits_of
from sase.api.compiled_query import compile_query, statistics_in
from sase.binding import Schema
from sase.binding.bound import EquivalenceTest
from sase.binding.input_options import (
    InputKeywords,
    InputOptions,
    check_choice,
    takes_input_options,
)
from sase.binding.lateness import lateness_in
from sase.binding.values.folding import INT64_MIN
from sase.cached_property import cached_property
from sase.errors import PlanError, ReplayWarning
from sase.planning.engine_plan import EnginePlan
from sase.planning.replay import ReplayChoice, ReplayStrategy, possible
from sase.spark.job import Job
from sase.spark.partitioning import Cut
from sase.spark.reading.arrow_map import map_in_arrow
from sase.spark.reading.row_layout import PART
from sase.spark.reading.source import FrameSource
from sase.spark.reading.source_scan import SourceScan, united
from sase.spark.replay import OUTPUTS, STREAMED, in_form, task_plan
from sase.spark.result_schema import spark_schema
from sase.spark.streaming.bucket import (
    BUCKET,
    BYTES,
    COUNTS,
    PACKED,
    RESULTS,
    Bucket,
    BucketProcessor,
    InputClock,
    Ticks,
    pack_rows,
    unpack_rows,
)
from sase.spark.tasks.search import QuerySearch, ScriptSearch
from sase.spark.workers import check_workers

# This is a constant and not a setting of the session: with another number, the keys of a checkpoint
# would belong to other buckets.
BUCKETS = 32
PROVIDER = "spark.sql.streaming.stateStore.providerClass"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
DELAY = "spark.watermarkDelayMs"
# The name of the counts of each micro-batch.
METRICS = "sase"


@dataclass(frozen=True, eq=False)
class Stream:
    """A query over streaming DataFrames; nothing runs before a streaming query is started.

    The counts of each micro-batch are observed metrics of its progress, with the name `metrics`.
    """

    plan: EnginePlan
    job: Job
    clocks: tuple[InputClock, ...]
    output: str
    metrics: str

    @cached_property
    def matches(self) -> DataFrame:
        """The results, as a streaming DataFrame."""
        found = streamed(self.job, self.clocks, self.metrics)
        return in_form(found, self.plan, flat=self.output == "flat")

    @cached_property
    def bad_rows(self) -> DataFrame:
        """The bad rows without changes, as a separate stream; needs a quarantine."""
        return self.job.scans[0].bad_rows()


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
    metrics: str = METRICS,
    timeout: object = None,
    max_memory: object = None,
    **options: Unpack[InputKeywords],
) -> Stream:
    """Prepare a query over a stream; its DataFrames are made on first use."""
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
    check_workers(source.spark)
    engine = task_plan(compiled, optimized, source)
    rows = SourceScan(source, engine, compiled.on_bad_row == "quarantine")
    schema = spark_schema(engine, source)
    search = QuerySearch(engine, source.shape, to_arrow_schema(schema, timezone=source.zone))
    clocks = clocks_of(search, [source], {None: lateness})
    cut = in_buckets(_keys(rows, buckets), buckets)
    job = Job(search, schema, (rows,), cut, limits)
    return Stream(engine, job, clocks, output, metrics)


def _check(plan: EnginePlan, source: FrameSource) -> None:
    """Refuse features that a stream does not support."""
    check_source(source)
    if plan.returned.limit is not None:
        raise PlanError(
            "LIMIT takes the first results, and those of a stream have no order between buckets:"
            " leave it out, and stop the streaming query when it has given enough"
        )


def check_source(source: FrameSource) -> None:
    """Refuse a mix of tables and streams, and unsupported state stores."""
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


def clocks_of(
    search: QuerySearch | ScriptSearch, sources: Iterable[FrameSource], lateness: object
) -> tuple[InputClock, ...]:
    """The clocks of inputs; the lateness is one for all, or a dict by name."""
    found = []
    for (name, schema), source in zip(search.inputs.items(), sources, strict=True):
        own = lateness.get(name) if isinstance(lateness, Mapping) else lateness
        found.append(InputClock.of(name, schema, lateness_allowed(schema, source, own)))
    return tuple(found)


def lateness_allowed(schema: Schema, source: FrameSource, value: object) -> int | None:
    """The allowed lateness in raw units; None if the source has a watermark."""
    time = schema.time
    # The columns of each DataFrame with a watermark.
    marked = [{n for n, each in f.fields.items() if DELAY in each.metadata} for f in source.frames]
    if value is not None:
        if any(marked):
            raise PlanError(
                f"lateness={value!r}: the stream has a watermark, which says how late a row may be:"
                " leave out one of the two"
            )
        return lateness_in(value, schema)
    for names in marked:
        if time not in names:
            other = f", and it is on {', '.join(f'`{n}`' for n in sorted(names))}" if names else ""
            raise PlanError(
                f"a query over a stream needs a watermark on the time column `{time}`{other}: say"
                f'  lateness="10 seconds"  , or give the DataFrame'
                f'  .withWatermark("{time}", "10 seconds")  , whatever rows may be late'
            )
    return None


def check_buckets(buckets: int | None) -> None:
    """Refuse invalid numbers of buckets."""
    if buckets is not None and (isinstance(buckets, bool) or buckets < 1):
        raise PlanError(f"buckets={buckets!r}: there is at least one bucket")


def _keys(rows: SourceScan, buckets: int | None) -> tuple[EquivalenceTest, ...]:
    """The tests by which rows are sent to buckets; empty for a single bucket."""
    plan, keys = rows.plan, rows.keys
    check_buckets(buckets)
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


# ---------------------------------------------------------------- jobs

WATERMARK, NEEDED = "#watermark", "#needed"


def in_buckets(keys: tuple[EquivalenceTest, ...], buckets: int | None) -> Cut:
    """The cut of a stream: by key, or a single bucket."""
    if not keys:
        return Cut(ReplayChoice(ReplayStrategy.ONE_TASK, "there is no key"), whole=1)
    choice = ReplayChoice(ReplayStrategy.KEY, "a stream is parted by key alone")
    return Cut(choice, keys, buckets or BUCKETS)


def streamed(job: Job, clocks: tuple[InputClock, ...], metrics: str = METRICS) -> DataFrame:
    """The results of all buckets in each micro-batch; their counts are observed metrics.

    The times of each input move the watermark.
    """
    scans = zip(job.scans, clocks, strict=True)
    rows = united(_in_buckets(job, scan, clock.delay) for scan, clock in scans)
    bucket = Bucket(job.search.unbounded(), clocks, job.cut.whole, job.limits)
    sums = (sf.coalesce(sf.sum(name), sf.lit(0)).alias(name) for name in COUNTS)
    found = (
        map_in_arrow(rows, pack_rows, PACKED)
        .groupBy(BUCKET)
        .transformWithStateInPandas(BucketProcessor(bucket), RESULTS, "append", "eventTime")
        .observe(metrics, *sums)
    )
    values = found.select(BYTES).filter(sf.col(BYTES).isNotNull())
    return values.mapInArrow(unpack_rows, job.schema)


def _in_buckets(job: Job, scan: SourceScan, delay: int | None) -> DataFrame:
    """The rows that a scan needs, with their buckets.

    All rows move the watermark, with this delay in milliseconds or that of the source.
    """
    frames, schema = [], scan.plan.schema
    for frame in scan.source.frames:
        bad, needed = scan.is_bad(frame), scan.is_needed(frame, job.cut.keys)
        needed = sf.lit(True) if needed is None else sf.coalesce(needed, sf.lit(False))
        own = None if delay is None else Ticks.of(schema).timestamp(scan.time(frame))
        # A bad row is sent to its bucket, where it is reported.
        kept = ~bad & needed if scan.skips_bad else bad | needed
        moment = frame[schema.time] if own is None else own
        bucket = job.part(scan, frame)
        added = (bucket.alias(PART), kept.alias(NEEDED), moment.alias(WATERMARK))
        frames.append(frame.df.select(*scan.selected(frame), *added))
    rows = united(frames)
    if delay is not None:
        rows = rows.withWatermark(f"`{WATERMARK}`", f"{delay} milliseconds")
    # Spark would move a filter without the watermark below the watermark. Then the rows that it
    # drops would not move the watermark.
    never = sf.col(f"`{WATERMARK}`") < sf.timestamp_micros(sf.lit(INT64_MIN))
    return rows.filter(sf.col(f"`{NEEDED}`") | never).drop(NEEDED, WATERMARK)
