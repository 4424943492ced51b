"""The system's figures of a program that runs: how long it has worked, and waited to."""

from __future__ import annotations

from os import sysconf
from pathlib import Path


def worked(pid: int) -> float | None:
    """The seconds that a program has had a processor; None if nobody tells, or it is gone."""
    after_name = _told(pid, "stat").rpartition(")")[2].split()
    return sum(map(int, after_name[11:13])) / sysconf("SC_CLK_TCK") if after_name else None


def waited(pid: int) -> float:
    """The seconds in which its first thread has waited for a processor, if known to the system."""
    return sum(map(int, _told(pid, "schedstat").split()[1:2])) / 1e9


def _told(pid: int, name: str) -> str:
    try:
        return Path(f"/proc/{pid}/{name}").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
