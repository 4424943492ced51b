"""The stateful operator of Spark: hands the state, the packed rows and the time to a bucket."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pyspark.sql import types as st
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from sase.spark.streaming.bucket import Bucket, OpenedBucket
from sase.spark.streaming.packing import BYTES

if TYPE_CHECKING:
    import pandas as pd

COUNTS = ("rows", "late", "found", "state_bytes")
# A row for each value of results, and one with the counts.
RESULTS = st.StructType(
    [
        st.StructField(BYTES, st.BinaryType()),
        *(st.StructField(name, st.LongType()) for name in COUNTS),
    ]
)
_STATE = st.StructType([st.StructField("matcher", st.BinaryType())])


class BucketProcessor(StatefulProcessor):
    """Runs a bucket in each micro-batch that has rows for it, or for which it waited."""

    def __init__(self, bucket: Bucket) -> None:
        self._bucket = bucket

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Name the state."""
        self._handle = handle
        self._state = handle.getValueState("matcher", _STATE)

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:
        """Rows for a bucket."""
        packed = [data for frame in rows for data in frame[BYTES]]
        return self._run(packed, timerValues)

    def handleExpiredTimer(
        self, key: Any, timerValues: Any, expiredTimerInfo: Any
    ) -> Iterator[Any]:
        """The watermark has come to what a bucket waits for."""
        return self._run([], timerValues)

    def close(self) -> None:
        """Release nothing: the state is Spark's."""

    def _run(self, packed: list[bytes], timer_values: Any) -> Iterator[pd.DataFrame]:
        saved = self._state.get()
        state = None if saved is None else bytes(saved[0])
        opened = self._bucket.open(state, timer_values.getCurrentWatermarkInMs())
        before = opened.timer
        for data in opened.results(packed):
            yield _frame(data, 0, 0, 0, 0)
        made = opened.state()
        self._state.update((made,))
        self._set(before, opened)
        size = len(made) - (0 if state is None else len(state))
        yield _frame(None, opened.rows, opened.late, opened.found, size)

    def _set(self, before: int, opened: OpenedBucket) -> None:
        if opened.timer == before:
            return
        if before in self._handle.listTimers():  # else it was what has called us
            self._handle.deleteTimer(before)
        if opened.timer:
            self._handle.registerTimer(opened.timer)


def _frame(data: bytes | None, *counts: int) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame({BYTES: [data], **{n: [c] for n, c in zip(COUNTS, counts, strict=True)}})
