"""Calls of a caller's function with the tasks of Spark that are done."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import TypeAlias

from pyspark.sql import SparkSession

from sase.api.progress import check_call
from sase.spark.session import StageNow, stages_of

# Receives the tasks that are done, and all tasks of the stages that have begun.
TaskProgress: TypeAlias = Callable[[int, int], object]
# The seconds between two looks at the stages.
INTERVAL = 0.25


@contextmanager
def progress(spark: SparkSession, call: TaskProgress) -> Iterator[None]:
    """Call a function with the progress of the jobs that run in this block.

    It gets the tasks that are done and all tasks of the stages that have begun: `with
    sase.spark.progress(spark, lambda done, total: print(done, total)): found.write.parquet(path)`.
    Another thread calls it when a number has changed, at most four times a second, and this one at
    the end of the block. If it raises an error, it is not called again, and the block ends with the
    error.
    """
    check_call(call, "tasks")
    calls = _Calls(call, stages_of(spark))
    watcher = Thread(target=calls.watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        calls.over.set()
        watcher.join()
    calls.end()


class _Calls:
    """The stages that were seen so far, and the calls of the function."""

    def __init__(self, call: TaskProgress, stages: Callable[[], list[StageNow]]) -> None:
        self._call, self._stages, self.over = call, stages, Event()
        # Those that have ended before are of other jobs.
        self._tasks, self._now = dict[int, int](), dict[int, StageNow]()
        self._last = (0, 0)
        self._error: BaseException | None = None

    def watch(self) -> None:
        """Look at the stages until the block ends."""
        while not self.over.wait(INTERVAL):
            self._now = {each.number: each for each in self._stages()}
            self._tasks |= {number: each.tasks for number, each in self._now.items()}
            try:
                self._say()
            except BaseException as problem:
                self._error = problem
                return

    def end(self) -> None:
        """Raise the error of the function, or call it at the end."""
        if self._error is not None:
            raise self._error
        self._now = {}
        self._say()

    def _say(self) -> None:
        """Call the function if there is news; a stage that runs no more is done."""
        done = sum(
            self._now[number].done if number in self._now else tasks
            for number, tasks in self._tasks.items()
        )
        latest = done, sum(self._tasks.values())
        if latest != self._last:
            self._last = latest
            self._call(*latest)
