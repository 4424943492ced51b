"""The limits of a task: its work ends when it exceeds them."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Iterator

import pyarrow as pa

from sase.api.checks import guard_of
from sase.engine.pipeline.limits import TASK, Limits, RunGuard
from sase.spark.tasks.errors import without_traceback


def within(
    limits: Limits, work: Callable[[RunGuard | None], Generator[pa.RecordBatch]]
) -> Iterator[pa.RecordBatch]:
    """Yield the results of work that a guard may end."""
    guard = guard_of(limits, time.perf_counter_ns, TASK)
    found = work(guard)
    with without_traceback():
        yield from found if guard is None else guard.pulled(found)


def checked(batches: Iterable[pa.RecordBatch], guard: RunGuard | None) -> Iterator[pa.RecordBatch]:
    """Yield the batches that have rows, and check limits before each."""
    rows = 0
    for batch in filter(len, batches):
        if guard is not None:
            guard.check()
            rows += batch.num_rows
            guard.note_rows(rows)
        yield batch
