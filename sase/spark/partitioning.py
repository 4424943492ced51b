"""Choose how events of DataFrames are partitioned: the strategy, the keys and the slices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from warnings import warn

import numpy as np
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from sase.binding.bound import EquivalenceTest
from sase.cached_property import cached_property
from sase.errors import ReplayWarning
from sase.planning.replay import (
    ReplayChoice,
    ReplayStrategy,
    SlicePlan,
    chosen,
    possible,
    time_slices,
)
from sase.planning.split import Split
from sase.planning.statistics import AttributeStatistics, Statistics
from sase.spark.parquet import SLICE_ROWS, Parquet, parquet_of
from sase.spark.row_layout import TIME
from sase.spark.session import is_connect
from sase.spark.slice_bounds import (
    CELLS,
    SAMPLE,
    given_bounds,
    known_times,
    longest_interval,
    slices_by_events,
    slices_worth,
    times,
)
from sase.spark.source_scan import SourceScan

# A key is hot if it holds more than this share of what a task would hold if all held the same.
HOT = 1.0
# In a sample of so many events, or of so many for each task, but not of more than `SAMPLE`.
FEWEST, EACH = 100_000, 1_000
KEY = "#key"
# Keys are uneven if events agree so many times as often as if all keys held the same.
UNEVEN = 2.0
# A slice has at least so many row groups, since it reads one before it for its halo, too.
LEAST_RUNS, MOST_READ, LEAST_ROWS = 2, 2, 1 << 20
FOOTERS = "the footers of the files gave the bounds: no job ran"
MEASURED = "a job measured the longest interval, by which a slice looks back"
SAMPLED = "two jobs looked at the times of {:,} rows for the bounds"


@dataclass(frozen=True, eq=False)
class Cut:
    """The partitioning of events: `whole` parts by key, then slices of time."""

    choice: ReplayChoice
    keys: tuple[EquivalenceTest, ...] = ()
    whole: int = 0
    slices: SlicePlan | None = None
    hot: tuple[int, ...] = ()
    # Where the bounds come from, and what else was found out by looking at the events.
    notes: tuple[str, ...] = ()
    files: Parquet | None = None

    @property
    def parts(self) -> int:
        """The number of parts."""
        return self.whole + (len(self.slices) if self.slices is not None else 0)


def cut_of(
    rows: SourceScan,
    slices: object,
    forced: ReplayStrategy | None,
    statistics: Statistics | None = None,
    written: Sequence[EquivalenceTest] = (),
) -> Cut:
    """Choose the cut; by key, prefer the tests that are `written`."""
    split = rows.plan.split
    keys = rows.keys
    declined = possible(split, keys)
    requested = slices if isinstance(slices, int) else None
    parts = requested or shuffle_partitions(rows.source.spark)
    bounds = given_bounds(rows, slices)
    cutter = _Cutter(rows, bounds, parts, requested)
    reads_footers = (
        forced not in (ReplayStrategy.KEY, ReplayStrategy.ONE_TASK)
        and not declined[ReplayStrategy.SLICE]
    )
    if forced is ReplayStrategy.SLICE and bounds is not None:
        reads_footers = False  # footers would only say where to cut
    files = parquet_of(rows.source, rows.plan) if reads_footers else "no footers were read"
    if not declined[ReplayStrategy.FILES]:
        has_other = not declined[ReplayStrategy.KEY] and forced is None
        declined[ReplayStrategy.FILES] = cutter.declined(files, has_other=has_other)
    choice = chosen(declined, forced, is_skewed(statistics, keys, parts), parts)
    match choice.strategy:
        case ReplayStrategy.FILES:
            assert isinstance(files, Parquet)
            return Cut(choice, (), 0, cutter.slices_of_files(files), files=files)
        case ReplayStrategy.KEY:
            return Cut(choice, tuple(test for test in keys if test in written) or keys, parts)
        case ReplayStrategy.SLICE:
            found, notes = cutter.slices(times(rows), files)
            return Cut(choice, (), 0, found, notes=notes)
        case ReplayStrategy.KEY_AND_SLICE:
            return cutter.by_key_and_slice(choice, keys, files)
    if forced is None:
        why = split.reason or choice.reason
        warn(ReplayWarning(f"one task searches all events: {why}"), stacklevel=6)
    return Cut(choice, (), 1)


def is_skewed(statistics: Statistics | None, keys: Sequence[EquivalenceTest], parts: int) -> bool:
    """Whether statistics say that some key holds more than a fair share of so many parts."""
    if statistics is None or not keys:
        return False
    names = [set(dict(test.by_type).values()) or {test.attribute} for test in keys]
    known = [[each for name in own for each in statistics.attributes(name)] for own in names]
    return all(any(_may_be_hot(each, parts) for each in of_test) for of_test in known)


def _may_be_hot(known: AttributeStatistics, parts: int) -> bool:
    if known.agreement is None:
        return False
    # A key holds at most the root of the agreement, and no less than that if it holds most.
    is_uneven = known.distinct is not None and known.agreement * known.distinct > UNEVEN
    return is_uneven and known.agreement**0.5 > HOT / parts


def parallelism(spark: SparkSession) -> int:
    """The number of tasks that run at a time; Spark Connect does not tell, so a guess."""
    if is_connect(spark):
        return min(shuffle_partitions(spark), 8)
    return int(spark.sparkContext.defaultParallelism)


def shuffle_partitions(spark: SparkSession) -> int:
    """Into how many parts Spark shuffles."""
    return int(spark.conf.get("spark.sql.shuffle.partitions") or 200)


@dataclass(frozen=True, eq=False)
class _Cutter:
    """Finds slices; `requested` is the number of parts where a caller wants so many."""

    rows: SourceScan
    bounds: tuple[int, ...] | None
    parts: int
    requested: int | None

    @cached_property
    def split(self) -> Split:
        """The split of the plan; of imprecise time by how long intervals are."""
        split = self.rows.plan.split
        return split.around(longest_interval(self.rows)) if split.by_detection else split

    def declined(self, files: Parquet | str, *, has_other: bool) -> str:
        """The reason why tasks do not read slices of files; empty if they do."""
        if isinstance(files, str) or files.declined:
            return files if isinstance(files, str) else files.declined
        cores = parallelism(self.rows.source.spark)
        slices = len(self.slices_of_files(files))
        if has_other and self.bounds is None and slices < cores and files.rows > SLICE_ROWS:
            return f"row groups and the window leave {slices} slices for {cores} tasks"
        return ""

    def slices_of_files(self, files: Parquet) -> SlicePlan:
        """Slices of whole row groups, as many as are asked for or as pay."""
        split, bounds = self.split, self.bounds
        if bounds is None:
            parts, whole = self.requested, len(files.runs) // LEAST_RUNS
            if parts is None:
                cores = parallelism(self.rows.source.spark)
                target = max(-(-files.rows // SLICE_ROWS), cores)
                # Rather than to leave a core idle, a row group is read by two tasks.
                few = min(cores, MOST_READ * len(files.runs), files.rows // LEAST_ROWS)
                parts = slices_worth(min(target, max(whole, few)), split, files.times(1).span)
            is_coarse = parts <= whole
            bounds = files.bounds(parts) if is_coarse else files.times(parts).bounds(parts)
        return time_slices(bounds, split, self.rows.slack)

    def slices(
        self, events: DataFrame, files: Parquet | str = ""
    ) -> tuple[SlicePlan, tuple[str, ...]]:
        """The slices of some raw times, and what it took to find them."""
        split, bounds = self.split, self.bounds
        is_said = self.rows.plan.schema.longest is not None
        notes = [MEASURED] if split.by_detection and not is_said else []
        marks: tuple[int, ...] = bounds or ()
        if bounds is None:
            cells, parts = CELLS * self.parts, self.parts
            if isinstance(files, Parquet):
                known = files.times(cells)
                notes.append(FOOTERS)
            else:
                known = known_times(events, cells)
                notes.append(SAMPLED.format(known.rows))
            if self.requested is None and not split.needs_positions:
                parts = slices_worth(parts, split, known.span)
            bounds, marks = known.bounds(parts), known.marks
        if not split.needs_positions:
            return time_slices(bounds, split, self.rows.slack), tuple(notes)
        notes.append("a job counted the events before each slice, since the window counts them")
        return slices_by_events(events, split, bounds, marks), tuple(notes)

    def by_key_and_slice(
        self, choice: ReplayChoice, keys: tuple[EquivalenceTest, ...], files: Parquet | str
    ) -> Cut:
        """Parts for the keys, and slices for those that are too large for one."""
        hot, share, notes = self._hot_keys(keys, files.rows if isinstance(files, Parquet) else None)
        if not hot:
            return Cut(choice, keys, self.parts, notes=notes)
        events = self._keyed(keys).filter(sf.col(f"`{KEY}`").isin(*hot))
        # All about as large as the parts of all keys would be.
        parts = self.requested or max(round(share * self.parts), 2)
        whole = self.requested or max(round((1 - share) * self.parts), 1)
        slices, more = replace(self, parts=parts).slices(events, files)
        return Cut(choice, keys, whole, slices, hot, (*notes, *more))

    def _keyed(self, keys: tuple[EquivalenceTest, ...], share: float = 1.0) -> DataFrame:
        """The keys and the raw times of the events that may be in a match, or of a share of all."""
        keyed = []
        for frame in filter(self.rows.may_match, self.rows.source.frames):
            needed = self.rows.is_needed(frame, keys)
            rows = frame.df if share >= 1.0 else frame.df.sample(fraction=share, seed=0)
            rows = rows if needed is None else rows.filter(needed)
            key, time = self.rows.key(frame, keys), self.rows.time(frame)
            keyed.append(rows.select(key.alias(KEY), time.alias(TIME)))
        return reduce(DataFrame.unionByName, keyed)

    def _hot_keys(
        self, keys: tuple[EquivalenceTest, ...], rows: int | None
    ) -> tuple[tuple[int, ...], float, tuple[str, ...]]:
        """The keys that each hold more than a part should, in a sample; and their share of all."""
        jobs = "a job" if rows is not None else "two jobs"
        if rows is None:
            frames = filter(self.rows.may_match, self.rows.source.frames)
            rows = sum(frame.df.count() for frame in frames)
        sample = min(max(FEWEST, EACH * self.parts), SAMPLE)
        seen = self._keyed(keys, sample / max(rows, 1)).select(KEY).toArrow()
        found, counts = np.unique(seen.column(KEY).to_numpy(), return_counts=True)
        is_hot = counts * self.parts > HOT * len(seen)
        hot = tuple(found[is_hot].tolist())
        many = "1 key holds" if len(hot) == 1 else f"{len(hot):,} keys hold"
        notes = f"{jobs} counted the keys of {len(seen):,} events: {many} more than a task should"
        return hot, float(counts[is_hot].sum() / max(len(seen), 1)), (notes,)
