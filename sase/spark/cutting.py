"""How the events of DataFrames are cut: by which strategy, and where."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from warnings import warn

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from sase.binding.bound import EquivalenceTest
from sase.errors import ReplayWarning
from sase.planning.replay import (
    Choice,
    Slices,
    Strategy,
    chosen,
    possible,
    time_slices,
)
from sase.spark.bounds import (
    CELLS,
    SAMPLE,
    given_bounds,
    known_times,
    slices_by_events,
    slices_worth,
    times,
)
from sase.spark.rows import TIME, Rows

# A key is hot if it holds more than this share of what a task would hold if all held the same.
HOT, MOST_HOT = 1.0, 1000
KEY = "#key"


@dataclass(frozen=True, eq=False)
class Cut:
    """How the events are parted: by key into `whole` parts, and then into slices of time."""

    choice: Choice
    keys: tuple[EquivalenceTest, ...] = ()
    whole: int = 0
    slices: Slices | None = None
    hot: tuple[int, ...] = ()
    # Where the bounds come from, and what else was found out by looking at the events.
    told: tuple[str, ...] = ()

    @property
    def parts(self) -> int:
        """How many parts there are."""
        return self.whole + (len(self.slices) if self.slices is not None else 0)


def cut_of(rows: Rows, slices: object, forced: Strategy | None) -> Cut:
    """How the events are cut."""
    split = rows.plan.split
    keys = tuple(test for test in split.keys if rows.can_place(test))
    if rows.plan.ranked:  # a rank counts the events that agree on what is written
        keys = tuple(test for test in keys if test in rows.plan.ranked)
    declined = possible(split, keys)
    declined[Strategy.FILES] = declined[Strategy.FILES] or "the events are not known to be files"
    asked = slices if isinstance(slices, int) else None
    parts = asked or shuffle_partitions(rows.source.spark)
    bounds = given_bounds(rows, slices)
    choice = chosen(declined, forced, 0, parts)
    cutter = _Cutter(rows, bounds, parts, asked)
    match choice.strategy:
        case Strategy.KEY:
            return Cut(choice, keys, parts)
        case Strategy.SLICE:
            found, told = cutter.slices(times(rows))
            return Cut(choice, (), 0, found, told=told)
        case Strategy.KEY_AND_SLICE:
            return cutter.by_key_and_slice(choice, keys)
    if forced is None:
        why = split.reason or choice.reason
        warn(ReplayWarning(f"one task searches all events: {why}"), stacklevel=4)
    return Cut(choice, (), 1)


def shuffle_partitions(spark: SparkSession) -> int:
    """Into how many parts Spark shuffles."""
    return int(spark.conf.get("spark.sql.shuffle.partitions") or 200)


@dataclass(frozen=True, eq=False)
class _Cutter:
    """Finds slices; `asked` is the number of parts where a caller wants so many."""

    rows: Rows
    bounds: tuple[int, ...] | None
    parts: int
    asked: int | None

    def slices(self, events: DataFrame) -> tuple[Slices, tuple[str, ...]]:
        """The slices of some raw times, and what it took to find them."""
        split, bounds = self.rows.plan.split, self.bounds
        told = list[str]()
        marks: tuple[int, ...] = bounds or ()
        if bounds is None:
            known = known_times(events, CELLS * self.parts)
            parts = self.parts
            if self.asked is None and not split.needs_positions:
                parts = slices_worth(parts, split, known.span)
            bounds, marks = known.bounds(parts), known.marks
            told.append(f"two jobs looked at the times of {known.rows:,} rows for the bounds")
        if not split.needs_positions:
            return time_slices(bounds, split, self.rows.slack), tuple(told)
        told.append("a job counted the events before each slice, since the window counts them")
        return slices_by_events(events, split, bounds, marks), tuple(told)

    def by_key_and_slice(self, choice: Choice, keys: tuple[EquivalenceTest, ...]) -> Cut:
        """Parts for the keys, and slices for those that are too large for one."""
        keyed = [
            frame.df.select(
                self.rows.key(frame, keys).alias(KEY), self.rows.time(frame).alias(TIME)
            )
            for frame in self.rows.source.frames
            if self.rows.is_wanted(frame)
        ]
        events = reduce(DataFrame.unionByName, keyed)
        hot, told = hot_keys(events, self.parts)
        if not hot:
            return Cut(choice, keys, self.parts, told=told)
        slices, more = self.slices(events.filter(sf.col(f"`{KEY}`").isin(*hot)))
        return Cut(choice, keys, self.parts, slices, hot, (*told, *more))


def hot_keys(events: DataFrame, parts: int) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """The keys of which each holds more than a fair share of so many parts, in a sample."""
    total = events.count()
    seen = events.sample(fraction=SAMPLE / total, seed=0) if total > SAMPLE else events
    key = sf.col(f"`{KEY}`")
    least = HOT / parts * min(total, SAMPLE)
    rows = seen.groupBy(key).count().filter(sf.col("count") > sf.lit(least)).limit(MOST_HOT)
    found = tuple(sorted(row[0] for row in rows.collect()))
    many = "1 key holds" if len(found) == 1 else f"{len(found):,} keys hold"
    told = (
        f"two jobs counted the keys of {min(total, SAMPLE):,} rows: {many} more than a task should"
    )
    return found, (told,)
