"""Raw time and the watermark of Spark, which counts milliseconds since 1970."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as sf

from sase.binding import Schema
from sase.binding.folding import INT64_MAX

MILLISECOND = 1_000_000
# What Spark counts in a timestamp.
MICROSECOND = 1_000


@dataclass(frozen=True, slots=True)
class Ticks:
    """The nanoseconds of a raw unit of time; an unknown unit counts as a millisecond."""

    nanoseconds: int = MILLISECOND

    @classmethod
    def of(cls, schema: Schema) -> Ticks:
        """The ticks of the time column of a schema."""
        return cls(schema.nanoseconds or MILLISECOND)

    def raw(self, watermark: int) -> int | None:
        """The first raw time that is not before a watermark; None as long as there is none.

        Spark begins with a watermark at 1970.
        """
        if watermark <= 0:
            return None
        return min(-(-watermark * MILLISECOND // self.nanoseconds), INT64_MAX)

    def milliseconds(self, raw: int) -> int:
        """The first watermark that brings time to a raw time."""
        # The greatest that does not, and one more.
        return (raw - 1) * self.nanoseconds // MILLISECOND + 1

    def delay(self, raw: int) -> int:
        """A span of raw time in milliseconds, rounded up."""
        return -(-raw * self.nanoseconds // MILLISECOND)

    def reach(self, delay: int) -> int:
        """A lateness in raw units that no row exceeds which is within a delay of the watermark.

        The watermark forgets what its delay is from whole milliseconds.
        """
        return min(-(-(delay + 1) * MILLISECOND // self.nanoseconds), INT64_MAX)

    def timestamp(self, raw: Column) -> Column:
        """Raw time as a timestamp of Spark, which must have room for it."""
        if self.nanoseconds <= MICROSECOND:
            share = sf.lit(MICROSECOND // self.nanoseconds)
            return sf.timestamp_micros(sf.call_function("div", raw - sf.pmod(raw, share), share))
        factor = self.nanoseconds // MICROSECOND
        most = INT64_MAX // factor
        message = sf.concat(sf.lit("the time "), raw.cast("string"), sf.lit(_BEYOND))
        fits = raw.between(sf.lit(-most), sf.lit(most)) | raw.isNull()
        micros = sf.when(fits, raw * sf.lit(factor)).otherwise(sf.raise_error(message))
        return sf.timestamp_micros(micros.cast("bigint"))


_BEYOND = (
    " is beyond what the watermark of a stream counts: say with time_unit=... what the time column"
    " counts"
)
