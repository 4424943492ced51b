"""The hand-written C program, as one of the ways: one thread, its own clock, all tuples written."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import numpy as np
import pyarrow as pa

from experiments.c_limit import PRINTED, Limit
from experiments.rivals.protocol import Run, Task
from experiments.rivals.running import Outcome

KINDS = {"ts": np.int64, "code": np.int8}  # all others are 32 bits wide
NAMES = {"code": "type"}  # as the program calls it
PEAK = re.compile(r"peakRSS_MB=([\d.]+)")
HELD = re.compile(r"kleene events in all matches: (\d+)")


class Program:
    """The program, compiled, and the folder with its columns."""

    def __init__(self, script: Path, folder: Path) -> None:
        Limit(script, folder)
        self._folder = folder

    def outcome(self, task: Task, limit: float) -> Outcome:
        """Its median of a number of runs, which it makes in one process."""
        data = self._folder / Path(task.data).stem
        write(task, data)
        command = [self._folder / "sase", data, task.query.lower(), "mat", str(task.repeats)]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, check=False, timeout=limit * task.repeats
            )
        except subprocess.TimeoutExpired:
            return Outcome(over=True)
        found, peak = PRINTED.search(done.stdout), PEAK.search(done.stdout)
        if done.returncode or not found or not peak:
            return Outcome(error=f"exit status {done.returncode}: {done.stdout!r}")
        held = HELD.search(done.stdout)
        run = Run(
            run=1,
            seconds=float(found[2]),
            cpu_seconds=None,
            peak_mb=float(peak[1]),
            matches=int(found[1]),
            check=int(held[1]) if held else None,
            starts=None,
            threads=1,
            form=task.form,
            version="",
        )
        return Outcome((run,))


def write(task: Task, data: Path) -> None:
    """Its columns as it reads them, made if they are not there."""
    wanted = (
        ["symbol", "price", "volume"] if task.query == "Q5" else ["ts", "code", "attr1", "attr2"]
    )
    paths = {name: Path(f"{data}.{NAMES.get(name, name)}.bin") for name in wanted}
    if all(path.exists() for path in paths.values()):
        return
    with pa.OSFile(task.data, "rb") as file:
        table = pa.ipc.open_file(file).read_all()
    for name, path in paths.items():
        table[name].to_numpy().astype(KINDS.get(name, np.int32)).tofile(path)
