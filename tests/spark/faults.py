"""A script: tasks whose worker is killed, or that fail, and what is found in spite of it.

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

from sase import spark as on_spark
from sase.spark.session import local_session
from sase.spark.task import Task
from tests.spark.cases import multiset
from tests.spark.known import QUICK, REPLAYS, events, frame, local, rows_of

# Each task that fails leaves a mark here.
MARKS = "SASE_TEST_MARKS"


class Failing(Task):
    """Fails two times in the middle of what it finds: by an error, or killed from outside."""

    is_killed = False

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The results of a part, but for the first two times."""
        context = TaskContext.get()
        assert context is not None
        fails = context.attemptNumber() < 2
        count = 0
        for found in super().__call__(batches):
            count += 1
            yield from (found.slice(row, 1) for row in range(found.num_rows))
            if fails:
                self.fail(context)
        if fails and count:
            self.fail(context)

    def fail(self, context: TaskContext) -> None:
        """End here, and leave a mark."""
        name = f"{context.stageId()}-{context.partitionId()}-{context.attemptNumber()}"
        (Path(os.environ[MARKS]) / name).touch()
        if self.is_killed:
            os.kill(os.getpid(), signal.SIGKILL)
        raise RuntimeError("made to fail")


class Killed(Failing):
    """Is killed two times."""

    is_killed = True


def main() -> None:
    """Run the replays that are named, with tasks of one sort and the other by turns."""
    spark = local_session("local[2,4]", {**QUICK, "spark.sql.shuffle.partitions": "2"})
    spark.sparkContext.setLogLevel("OFF")
    told: dict[str, Any] = {}
    marks, few = Path(os.environ[MARKS]), events(600)
    for name, kind in zip(sys.argv[1:], cycle([Killed, Failing])):
        query, strategy = REPLAYS[name]
        wanted = local(query, few)  # which compiles, so that no task has to
        before = len(list(marks.iterdir()))
        with patch.object(import_module("sase.spark.replay"), "Task", kind):
            df = frame(spark, few)
            found = on_spark.match(query, df, seq="seq", strategy=strategy, slices=2)
            same = multiset(rows_of(found)) == wanted
        told[name] = [same, len(list(marks.iterdir())) - before]
    print(json.dumps(told))


if __name__ == "__main__":
    main()
