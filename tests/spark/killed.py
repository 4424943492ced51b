"""Programs with streaming queries, which are killed in the midst of a micro-batch."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import settings

ROOT = Path(__file__).parents[2]
# Ten, and a dozen micro-batches, where the suite may take its time: each costs a start of Spark.
KILLS = 10 if settings.default.max_examples >= 1000 else 1


def started(child: str, folder: Path) -> subprocess.Popen[bytes]:
    """A program over a folder with all that it starts, which can be killed together."""
    return subprocess.Popen(
        [sys.executable, "-c", child, str(folder)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def files_of(table: pa.Table, folder: Path, count: int) -> None:
    """The events as files, each of which is a micro-batch."""
    (folder / "in").mkdir()
    size = -(-len(table) // count)
    for number in range(count):
        path = folder / "in" / f"{number:04}.parquet"
        pq.write_table(table.slice(number * size, size), path)
        os.utime(path, (10**9 + number, 10**9 + number))


def begun(checkpoint: Path) -> int:
    """How many micro-batches of all queries have begun."""
    return sum(path.name.isdigit() for path in checkpoint.rglob("offsets/*"))


def kill_in_a_batch(child: subprocess.Popen[bytes], checkpoint: Path, random: Random) -> bool:
    """Kill all processes some time after a new micro-batch has begun; whether one had."""
    wanted = begun(checkpoint) + random.choice([1, 1, 2])
    try:
        while child.poll() is None and begun(checkpoint) < wanted:
            time.sleep(0.01)
        time.sleep(random.choice([0, 0.1, 0.4, 1, 2]))
        return child.poll() is None
    finally:
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
