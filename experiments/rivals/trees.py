"""The most memory that a process and all that it started have held, from /proc."""

from __future__ import annotations

import os
import re
from pathlib import Path

PARENT = re.compile(r"^PPid:\s+(\d+)", re.MULTILINE)
PEAK = re.compile(r"^VmHWM:\s+(\d+) kB", re.MULTILINE)


def peak_of_tree() -> int:
    """The sum of the peaks since the start of each: not the peak of their sum."""
    status = {int(path.parent.name): text(path) for path in Path("/proc").glob("[0-9]*/status")}
    parents = {number: found(PARENT, each) for number, each in status.items()}
    total, waiting = 0, [os.getpid()]
    while waiting:
        number = waiting.pop()
        total += found(PEAK, status.get(number, "")) * 1024
        waiting += [child for child, parent in parents.items() if parent == number]
    return total


def text(path: Path) -> str:
    """The content of the file, or nothing where its process has ended."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def found(pattern: re.Pattern[str], status: str) -> int:
    """A number in it, or 0."""
    told = pattern.search(status)
    return int(told[1]) if told else 0
