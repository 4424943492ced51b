"""A way in a process of its own: its lines are read as they come, and it has so long for each."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import re
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from experiments.rivals.protocol import READY, Run, Task

ROOT = Path(__file__).resolve().parents[2]
TO_LOAD = 300.0  # seconds that starting and loading may take, which is no part of any figure


@dataclass(frozen=True)
class Outcome:
    """The runs of a process, whether it was stopped for its time, and its message of a failure."""

    runs: tuple[Run, ...] = ()
    over: bool = False
    error: str | None = None

    @property
    def told(self) -> tuple[Run, ...]:
        """The runs that count: those after the first, or the first where there is no other."""
        return self.runs[1:] or self.runs


def outcome(interpreter: Path | str, module: str, task: Task, limit: float) -> Outcome:
    """Run the task, with `limit` seconds for each run."""
    command = [str(interpreter), "-m", module, task.line]
    with (
        tempfile.TemporaryDirectory() as own,  # some write logs into where they are run
        tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as complaints,
    ):
        process = subprocess.Popen(
            command,
            cwd=own,
            env=surroundings(task.threads),
            stdout=subprocess.PIPE,
            stderr=complaints,
            text=True,
            start_new_session=True,
        )
        try:
            return followed(process, limit, complaints)
        finally:
            stop(process)


def followed(process: subprocess.Popen[str], limit: float, complaints: IO[str]) -> Outcome:
    """The output of its lines until it ends or has to be stopped."""
    assert process.stdout is not None
    runs: list[Run] = []
    ready = False
    try:
        for told in lines(process.stdout, limit):
            if READY in told:
                ready = True
            else:
                runs.append(Run(**told))
    except TimeoutError:
        late = None if ready else f"it was not ready after {TO_LOAD:g} seconds"
        return Outcome(tuple(runs), over=ready, error=late)
    if process.wait():
        complaints.seek(0)
        last = f"exit status {process.returncode}: {complaint(complaints.read())}"
        return Outcome(tuple(runs), error=last)
    return Outcome(tuple(runs), error=None if runs else "it told of no run")


def complaint(text: str) -> str:
    """The line of a traceback that names the error, or the last one."""
    told = [line for line in text.splitlines() if line.strip()] or ["no word"]
    named = [line for line in told if re.match(r"[\w.]+(Error|Exception)\b", line)]
    return (named or told)[-1]


def lines(stream: IO[str], limit: float) -> Iterator[dict[str, Any]]:
    """The lines of JSON, each awaited so long; other lines are a system's own and passed over."""
    waiting: queue.Queue[str | None] = queue.Queue()
    threading.Thread(target=moved, args=(stream, waiting), daemon=True).start()
    allowed = TO_LOAD
    while True:
        try:
            line = waiting.get(timeout=allowed)
        except queue.Empty:
            raise TimeoutError from None
        if line is None:
            return
        if line.startswith("{"):
            yield json.loads(line)
            allowed = limit


def moved(stream: IO[str], waiting: queue.Queue[str | None]) -> None:
    """Lines from the one to the other."""
    for line in stream:
        waiting.put(line)
    waiting.put(None)


def surroundings(threads: int) -> dict[str, str]:
    """The environment: ours, without the paths of our packages, and the number of threads."""
    kept = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
    return kept | {
        "PYTHONPATH": str(ROOT),
        "POLARS_MAX_THREADS": str(threads),
        "OMP_NUM_THREADS": str(threads),
        "RAYON_NUM_THREADS": str(threads),
        "NUMBA_NUM_THREADS": str(threads),
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def stop(process: subprocess.Popen[str]) -> None:
    """End it with all processes of the group that it leads."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, 9)
    process.wait()
    if process.stdout is not None:
        process.stdout.close()
