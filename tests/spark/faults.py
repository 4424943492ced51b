"""A script: tasks that fail, or lose their worker, and the matches in spite of it.

It needs a session that tries a task again: `test_tasks_killed.py` runs it.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterable, Iterator
from importlib import import_module
from itertools import cycle
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
from pyspark import TaskContext

from sase.spark.non_overlap import NonOverlap
from sase.spark.session import local_session
from sase.spark.tasks.limit import First
from sase.spark.tasks.task import Task
from tests.spark.cases import multiset
from tests.spark.known import QUICK, REPLAYS, events, frame, rows_of

# Each task that fails leaves a mark here.
MARKS = "SASE_TEST_MARKS"


class Fails:
    """Fails two times in the middle of its output: by an error, or killed from outside."""

    is_killed = False

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The output of a task, but for the first two times."""
        context = TaskContext.get()
        assert context is not None
        fails = context.attemptNumber() < 2
        count = 0
        for found in super().__call__(batches):  # type: ignore[misc]
            count += 1
            yield from (found.slice(row, 1) for row in range(found.num_rows))
            if fails:
                self.fail(context)
        if fails and count:
            self.fail(context)

    def fail(self, context: TaskContext) -> None:
        """End here, and leave a mark."""
        name = f"{context.stageId()}-{context.partitionId()}-{context.attemptNumber()}"
        (Path(os.environ[MARKS]) / f"{type(self).__name__}-{name}").touch()
        if self.is_killed:
            os.kill(os.getpid(), signal.SIGKILL)
        raise RuntimeError("made to fail")


class FailingTask(Fails, Task):
    """A search that fails."""


class KilledTask(FailingTask):
    """One that is killed."""

    is_killed = True


class KilledApart(Fails, NonOverlap):
    """A second step that is killed."""

    is_killed = True


class FailingFirst(Fails, First):
    """Another second step that fails."""


def main() -> None:
    """Run the replays that are named, with tasks of one sort and the other by turns."""
    spark = local_session("local[2,4]", {**QUICK, "spark.sql.shuffle.partitions": "2"})
    spark.sparkContext.setLogLevel("OFF")
    outcome: dict[str, Any] = {}
    marks, few = Path(os.environ[MARKS]), events(600)
    for name, kind in zip(sys.argv[1:], cycle([KilledTask, FailingTask])):
        known = REPLAYS[name]
        wanted = known.wanted(few)  # which compiles, so that no task has to
        before = {*marks.iterdir()}
        with (
            patch.object(import_module("sase.spark.job"), "Task", kind),
            patch("sase.spark.non_overlap.NonOverlap", KilledApart),
            patch("sase.spark.tasks.limit.First", FailingFirst),
        ):
            found = known.found(frame(spark, few), slices=2)
            same = multiset(rows_of(found)) == wanted
        failed = sorted({*marks.iterdir()} - before)
        outcome[name] = [same, [each.name.split("-")[0] for each in failed]]
    print(json.dumps(outcome))


if __name__ == "__main__":
    main()
