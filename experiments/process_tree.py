"""The use of a process and all that it started: CPU seconds, and the memory of Python workers.

Linux only: read from /proc.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

TICKS = os.sysconf("SC_CLK_TCK")


class Process(NamedTuple):
    """A process: its parent, and the CPU seconds of it and of its children that have ended."""

    number: int
    parent: int
    seconds: float


def cpu_seconds() -> float:
    """The CPU seconds of this process and of all below it."""
    return sum(each.seconds for each in _tree())


def peak_of_workers() -> int:
    """The most bytes that any worker of PySpark below this process has held."""
    return max((_peak(each.number) for each in _tree() if _is_worker(each.number)), default=0)


def _tree() -> list[Process]:
    known = {each.number: each for each in _processes()}
    found, waiting = [], [os.getpid()]
    while waiting:
        number = waiting.pop()
        if number in known:
            found.append(known[number])
        waiting += [each.number for each in known.values() if each.parent == number]
    return found


def _processes() -> Iterator[Process]:
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = path.read_text(encoding="ascii", errors="replace")
        except OSError:
            continue  # it has ended
        fields = text.rpartition(")")[2].split()
        yield Process(int(path.parent.name), int(fields[1]), sum(map(int, fields[11:15])) / TICKS)


def _is_worker(number: int) -> bool:
    try:
        return b"pyspark.daemon" in Path(f"/proc/{number}/cmdline").read_bytes()
    except OSError:
        return False


def _peak(number: int) -> int:
    try:
        status = Path(f"/proc/{number}/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return 0
    peaks = [line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:")]
    return int(peaks[0]) * 1024 if peaks else 0


def children_seconds() -> float:
    """The CPU seconds of the children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
