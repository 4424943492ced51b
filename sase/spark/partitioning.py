"""Choose how events of DataFrames are partitioned: the strategy, the keys and the slices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from warnings import warn

import numpy as np
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from sase.binding.bound import BoundWindow, EquivalenceTest, WindowKind
from sase.cached_property import cached_property
from sase.errors import ReplayWarning
from sase.planning.engine_plan import EnginePlan
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
from sase.spark.reading.row_layout import TIME
from sase.spark.reading.slice_bounds import (
    CELLS,
    SAMPLE,
    given_bounds,
    known_times,
    longest_interval,
    slices_by_events,
    slices_worth,
    times,
)
from sase.spark.reading.source_scan import SourceScan
from sase.spark.script_cut import ScriptCut, is_single
from sase.spark.session import is_connect

# A key is hot if it holds more than this share of the rows of a task under an even distribution.
HOT = 1.0
# The least size of a sample, and its size by task; `SAMPLE` is the most.
FEWEST, EACH = 100_000, 1_000
KEY = "#key"
# Keys are uneven if two events agree this many times as often as under an even distribution.
UNEVEN = 2.0
# The least row groups of a slice, because it also reads one before it for its halo.
LEAST_RUNS, MOST_READ, LEAST_ROWS = 2, 2, 1 << 20
# The window of a match of one event: slices of files need no halo.
MOMENT = BoundWindow(WindowKind.TIME, Fraction(1), None, False, 1)
FOOTERS = "the footers of the files gave the bounds: no job ran"
MEASURED = "a job measured the longest interval, by which a slice looks back"
SHARED, NO_KEY = "all statements have this key", "the statements have no key in common"
SAMPLED = "two jobs looked at the times of {:,} rows for the bounds"


@dataclass(frozen=True, eq=False)
class Cut:
    """The partitioning of events: `whole` parts by key or in any way, then slices of time."""

    choice: ReplayChoice
    keys: tuple[EquivalenceTest, ...] = ()
    whole: int = 0
    slices: SlicePlan | None = None
    hot: tuple[int, ...] = ()
    # The origin of the bounds, and other findings of jobs on the events.
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
    split, keys = rows.plan.split, rows.keys
    declined = possible(split, keys)
    if _is_moment(rows.plan):
        split = replace(split, before=MOMENT)
        declined[ReplayStrategy.FILES] = possible(split, keys)[ReplayStrategy.FILES]
    requested = slices if isinstance(slices, int) else None
    parts = requested or shuffle_partitions(rows.source.spark)
    bounds = given_bounds(rows, slices)
    cutter = _Cutter(rows, split, bounds, parts, requested)
    reads_footers = forced not in (ReplayStrategy.KEY, ReplayStrategy.ONE_TASK) and not (
        declined[ReplayStrategy.SLICE] and declined[ReplayStrategy.FILES]
    )
    if forced is ReplayStrategy.SLICE and bounds is not None:
        reads_footers = False  # the bounds are given, so footers are not needed
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


def _is_moment(plan: EnginePlan) -> bool:
    """Whether a match is one event, by which the slice that owns it is known."""
    is_alone = is_single(plan) and plan.split.before is None
    return is_alone and plan.returned.non_overlapping is None and not plan.schema.is_imprecise


def cut_of_statements(cut: ScriptCut, rows: SourceScan) -> Cut:
    """The cut of the inputs of statements; `rows` are those of one input."""
    parts = shuffle_partitions(rows.source.spark)
    if cut.keys:
        return Cut(ReplayChoice(ReplayStrategy.KEY, SHARED), cut.keys, parts)
    if cut.halo is not None:
        before = BoundWindow(WindowKind.TIME, Fraction(cut.halo), None, False, cut.halo)
        cutter = _Cutter(rows, Split(before=before), None, parts, None)
        found, notes = cutter.slices(times(rows))
        return Cut(ReplayChoice(ReplayStrategy.SLICE, NO_KEY), slices=found, notes=notes)
    choice = ReplayChoice(ReplayStrategy.ONE_TASK, cut.reason)
    return Cut(choice, whole=1 if cut.reason else parts)


def is_skewed(statistics: Statistics | None, keys: Sequence[EquivalenceTest], parts: int) -> bool:
    """Whether statistics show a key with more than a fair share of `parts` parts."""
    if statistics is None or not keys:
        return False
    names = [set(dict(test.by_type).values()) or {test.attribute} for test in keys]
    known = [[each for name in own for each in statistics.attributes(name)] for own in names]
    return all(any(_may_be_hot(each, parts) for each in of_test) for of_test in known)


def _may_be_hot(known: AttributeStatistics, parts: int) -> bool:
    if known.agreement is None:
        return False
    # A key holds at most the root of the agreement, and at least this if most events have it.
    is_uneven = known.distinct is not None and known.agreement * known.distinct > UNEVEN
    return is_uneven and known.agreement**0.5 > HOT / parts


def parallelism(spark: SparkSession) -> int:
    """The number of tasks that run at a time; a guess on Connect, which does not expose it."""
    if is_connect(spark):
        return min(shuffle_partitions(spark), 8)
    return int(spark.sparkContext.defaultParallelism)


def shuffle_partitions(spark: SparkSession) -> int:
    """The number of parts of a shuffle in Spark."""
    return int(spark.conf.get("spark.sql.shuffle.partitions") or 200)


@dataclass(frozen=True, eq=False)
class _Cutter:
    """Finds slices; `requested` is the number of parts that the caller wants, or None."""

    rows: SourceScan
    of_plan: Split
    bounds: tuple[int, ...] | None
    parts: int
    requested: int | None

    @cached_property
    def split(self) -> Split:
        """The split of the plan; with imprecise time, it depends on the longest interval."""
        split = self.of_plan
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
        """Slices of whole row groups, the requested number or a number that pays."""
        split, bounds = self.split, self.bounds
        if bounds is None:
            parts, whole = self.requested, len(files.runs) // LEAST_RUNS
            if parts is None:
                cores = parallelism(self.rows.source.spark)
                target = max(-(-files.rows // SLICE_ROWS), cores)
                # Two tasks read the same row group if a core would otherwise be idle.
                few = min(cores, MOST_READ * len(files.runs), files.rows // LEAST_ROWS)
                parts = slices_worth(min(target, max(whole, few)), split, files.times(1).span)
            is_coarse = parts <= whole
            bounds = files.bounds(parts) if is_coarse else files.times(parts).bounds(parts)
        return time_slices(bounds, split, self.rows.slack)

    def slices(
        self, events: DataFrame, files: Parquet | str = ""
    ) -> tuple[SlicePlan, tuple[str, ...]]:
        """The slices of some raw times, with notes on how they were found."""
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
        """Parts for the keys, and slices for keys that are too large for one part."""
        hot, share, notes = self._hot_keys(keys, files.rows if isinstance(files, Parquet) else None)
        if not hot:
            return Cut(choice, keys, self.parts, notes=notes)
        events = self._keyed(keys).filter(sf.col(f"`{KEY}`").isin(*hot))
        # All parts and slices have about the same size.
        parts = self.requested or max(round(share * self.parts), 2)
        whole = self.requested or max(round((1 - share) * self.parts), 1)
        slices, more = replace(self, parts=parts).slices(events, files)
        return Cut(choice, keys, whole, slices, hot, (*notes, *more))

    def _keyed(self, keys: tuple[EquivalenceTest, ...], share: float = 1.0) -> DataFrame:
        """The keys and raw times of the events that may be in a match, or of a sample of them."""
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
        """The keys that hold more than a part should, and their share of all, from a sample."""
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
