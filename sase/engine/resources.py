"""The available memory and cores, and the callback for checks of limits."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TypeAlias

# Called between the parts of long work, or with the bytes that are about to be allocated. It raises
# an error to end the work.
Check: TypeAlias = Callable[[int], None]

_CONTROL_GROUP = Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current")
_PROCESS, _STATUS = Path("/proc/meminfo"), Path("/proc/self/statm")


# Memory that is assumed to be available in any case.
LEAST = 2**30
# The largest block from which glibc adapts its threshold, 32 MiB, less overhead and alignment.
LARGEST = 2**25 - 2**16


def no_check(more: int = 0) -> None:
    """Check nothing: no limit is set."""


def available_memory() -> int:
    """The bytes that can be allocated without harm, by the system's figures; at least `LEAST`."""
    known = [_of_the_machine(), _of_the_group()]
    return max(min(each for each in known if each is not None), LEAST)


def is_too_much(size: int) -> bool:
    """Whether a size exceeds half of the available memory; small sizes are not checked."""
    return size > LEAST // 2 and size > available_memory() // 2


@cache
def keep_freed_memory() -> None:
    """Let freed memory of blocks stay with the process, up to twice the largest block.

    The C library returns free memory at its end to the system, and the next block allocates it
    again. Every fresh page costs more than the writes to it: a quarter of the time of some runs.
    glibc keeps twice as much as the largest block that was ever freed, up to a limit.
    """
    import numpy as np

    np.empty(LARGEST, np.uint8)


def resident_memory() -> int:
    """The resident memory of the process; the peak if the system has no other figure."""
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
    """The rest of the limit of the process's control group, such as that of a container."""
    try:
        limit, used = (path.read_text().strip() for path in _CONTROL_GROUP)
    except OSError:
        return None
    return int(limit) - int(used) if limit.isdigit() else None
