"""Choose the bounds of time slices: the given ones, or quantiles of the times."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import accumulate

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from sase.engine.columns.decode.timestamps import raw_moment
from sase.errors import PlanError
from sase.planning.replay import EARLIEST, HALO, SlicePlan
from sase.planning.split import Split
from sase.spark.reading.columns import rank
from sase.spark.reading.row_layout import TIME
from sase.spark.reading.source_scan import SourceScan

# The approximate size of a sample of times; marks in a slice; the accuracy of their ranks.
SAMPLE, CELLS, ACCURACY = 1_000_000, 16, 10_000


def given_bounds(rows: SourceScan, slices: object) -> tuple[int, ...] | None:
    """The bounds that a caller gives, in raw units; None for a number of slices or without any."""
    if slices is None or isinstance(slices, int):
        if isinstance(slices, bool) or (slices is not None and slices < 1):
            raise PlanError(f"slices={slices!r}: there is at least one slice")
        return None
    if isinstance(slices, Iterable) and not isinstance(slices, str):
        schema = rows.plan.schema
        return tuple(sorted({raw_moment(each, schema.time_type, schema.time) for each in slices}))
    raise PlanError(
        f"slices={slices!r}: give the number of slices, or a list of the times between them"
    )


def times(rows: SourceScan) -> DataFrame:
    """The raw times of all events; if a window counts events, without bad rows."""
    frames = []
    for frame in rows.source.frames:
        counts = rows.plan.split.needs_positions
        df = frame.df.filter(~rows.is_bad(frame)) if counts else frame.df
        frames.append(df.select(rows.time(frame).alias(TIME)))
    return reduce(DataFrame.unionByName, frames)


def longest_interval(rows: SourceScan) -> int:
    """The longest interval of imprecise time: the declared one, or one measured by a job."""
    if rows.plan.schema.longest is not None:
        return rows.plan.schema.longest
    frames = []
    for frame in rows.source.frames:
        good = frame.df.filter(~rows.is_bad(frame))
        frames.append(good.select(rows.interval(frame).alias(TIME)))
    found = reduce(DataFrame.unionByName, frames).select(sf.max(f"`{TIME}`")).first()
    assert found is not None
    return int(found[0] or 0)


@dataclass(frozen=True, slots=True)
class TimeMarks:
    """The distribution of the times of rows: the first, the last, and quantiles as `marks`."""

    rows: int
    first: int = 0
    last: int = 0
    marks: tuple[int, ...] = ()

    @property
    def span(self) -> int:
        """The time from the first to the last event."""
        return self.last - self.first

    def bounds(self, parts: int) -> tuple[int, ...]:
        """The bounds of `parts` parts."""
        cells = len(self.marks) + 1
        places = (round(number * cells / parts) - 1 for number in range(1, parts))
        return tuple(sorted({self.marks[place] for place in places if 0 <= place < cells - 1}))


def known_times(events: DataFrame, cells: int) -> TimeMarks:
    """Measure the distribution of raw times by two jobs; many rows are sampled."""
    time = sf.col(f"`{TIME}`")
    total = events.select(sf.count(time), sf.min(time), sf.max(time)).first()
    assert total is not None
    rows, first, last = total
    if not rows:
        return TimeMarks(0)
    if rows > 2 * SAMPLE:
        events = events.sample(fraction=SAMPLE / rows, seed=0)
    shares = sf.array(*(sf.lit(number / cells) for number in range(1, max(cells, 2))))
    found = events.select(sf.percentile_approx(time, shares, sf.lit(ACCURACY))).first()
    assert found is not None
    return TimeMarks(rows, first, last, tuple(int(each) for each in found[0] or ()))


def slices_worth(parts: int, split: Split, span: int) -> int:
    """The number of slices that pay: each is longer than the halo around it."""
    assert split.before is not None
    around = (split.before.size or 1) * (1 if split.after is None else 2)
    return max(min(parts, span // (HALO * around)), 1)


def slices_by_events(
    events: DataFrame, split: Split, bounds: Sequence[int], marks: Sequence[int]
) -> SlicePlan:
    """Slices with a window's number of events in the halo; a job counts them between the marks."""
    assert split.before is not None
    reach = split.before.size or 1
    cells = tuple(sorted({*bounds, *marks}))
    cell = rank(sf.col(f"`{TIME}`"), cells).alias("cell")
    counts = {row[0]: row[1] for row in events.groupBy(cell).count().collect()}
    before = list(accumulate((counts.get(n, 0) for n in range(len(cells) + 1)), initial=0))
    begins = []
    for bound in bounds:
        # The first position that a match can reach if its last event is at or after the bound, and
        # the last cell that does not begin later.
        reached = before[cells.index(bound) + 1] - reach
        cell_of = bisect_right(before, reached) - 1
        begins.append(max(cells[cell_of - 1], EARLIEST) if cell_of > 0 else EARLIEST)
    return SlicePlan(tuple(bounds), tuple(begins), tuple(bounds))


def slice_parts(time: Column, slices: SlicePlan, first: int) -> tuple[Column, Column]:
    """The numbers of the first and last slice that need a row of a time, counted from `first`."""
    whole = sf.lit(first)
    return rank(time, slices.ends) + whole, rank(time, slices.begins) + whole
