"""How much memory there is to use, how many cores, and what is asked while they are used."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TypeAlias

# Called between the pieces of what may take long, or with bytes that are about to be taken; raises
# to end it.
Check: TypeAlias = Callable[[int], None]

_CONTROL_GROUP = Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current")
_PROCESS, _STATUS = Path("/proc/meminfo"), Path("/proc/self/statm")


# What there always is.
LEAST = 2**30
# The largest piece that glibc learns from, 32 MiB, less what it needs beside and to be even.
LARGEST = 2**25 - 2**16


def no_check(more: int = 0) -> None:
    """Check nothing: no limit is set."""


def available_memory() -> int:
    """The bytes that can be taken without harm, as far as the system says, and `LEAST` at least."""
    known = [_of_the_machine(), _of_the_group()]
    return max(min(each for each in known if each is not None), LEAST)


def is_too_much(size: int) -> bool:
    """Whether bytes are more than half of what can be taken, which is not asked of few."""
    return size > LEAST // 2 and size > available_memory() // 2


@cache
def keep_freed_memory() -> None:
    """Let memory that blocks give back stay with the process, up to twice the largest piece.

    The C library gives what is free at the end of its memory back to the system, and the next block
    takes it again, of which every page costs more than what is written there: a quarter of some
    runs. glibc keeps twice as much as the largest piece that was ever given back, up to a limit.
    """
    import numpy as np

    np.empty(LARGEST, np.uint8)


def resident_memory() -> int:
    """The bytes of memory that the process holds; its peak where the system tells no more."""
    if _STATUS.exists():
        return int(_STATUS.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    import resource

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def cores() -> int:
    """The cores that the process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _of_the_machine() -> int:
    if _PROCESS.exists():
        lines = (line.split() for line in _PROCESS.read_text().splitlines())
        found = {words[0]: int(words[1]) for words in lines if len(words) > 1}
        if "MemAvailable:" in found:
            return found["MemAvailable:"] * 1024
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2


def _of_the_group() -> int | None:
    """What is left of the limit of the process's group, such as that of a container."""
    try:
        limit, used = (path.read_text().strip() for path in _CONTROL_GROUP)
    except OSError:
        return None
    return int(limit) - int(used) if limit.isdigit() else None
