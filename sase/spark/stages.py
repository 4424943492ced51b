"""Poll the stages of Spark that run, and how many of their tasks are done."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from pyspark.sql import SparkSession


class StageNow(NamedTuple):
    """A stage that runs."""

    number: int
    tasks: int
    done: int


def stages_of(spark: SparkSession) -> Callable[[], list[StageNow]]:
    """Return a function that polls the running stages of a session."""
    if not hasattr(spark, "_jsc"):
        return _of_connect(spark)
    tracker = spark.sparkContext.statusTracker()

    def now() -> list[StageNow]:
        known = ((n, tracker.getStageInfo(n)) for n in sorted(tracker.getActiveStageIds()))
        return [StageNow(n, i.numTasks, i.numCompletedTasks) for n, i in known if i is not None]

    return now


def _of_connect(spark: Any) -> Callable[[], list[StageNow]]:
    """The server tells of its stages while it works."""
    latest: list[StageNow] = []

    def update(stages: Any, inflight_tasks: int, operation_id: Any, done: bool) -> None:
        latest[:] = [
            StageNow(each.stage_id, each.num_tasks, each.num_completed_tasks)
            for each in stages or ()
            if not done and each.num_completed_tasks < each.num_tasks
        ]

    spark.registerProgressHandler(update)
    return lambda: list(latest)
