"""The rows of a streaming source, with their buckets and the time that moves the watermark."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from sase.binding.bound import EquivalenceTest
from sase.binding.folding import INT64_MIN
from sase.spark.row_layout import PART
from sase.spark.source import Frame
from sase.spark.source_scan import SourceScan
from sase.spark.streaming.timing import Ticks

WATERMARK, NEEDED = "#watermark", "#needed"


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
        """The rows with the bucket of each, and with a watermark of so many milliseconds.

        Without a delay the watermark of the source is kept.
        """
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
        if delay is not None:
            rows = rows.withWatermark(f"`{WATERMARK}`", f"{delay} milliseconds")
        # Spark would move a filter that does not name the watermark below it, and then the rows
        # that it drops would not move the watermark.
        never = sf.col(f"`{WATERMARK}`") < sf.timestamp_micros(sf.lit(INT64_MIN))
        kept = rows.filter(sf.col(f"`{NEEDED}`") | never)
        return kept.drop(NEEDED, WATERMARK)

    def _bucket(self, frame: Frame, tests: Sequence[EquivalenceTest], buckets: int) -> Column:
        if not tests:
            return sf.lit(0)
        if not self.is_wanted(frame):  # which may have no key at all
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
