"""The load of the machine: the cores that other processes keep busy."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import NamedTuple

from experiments import machine

# The seconds over which the load is sampled: 25 ticks of the clock that Linux counts by.
SAMPLE = 0.25


class Reading(NamedTuple):
    """A time by the clock, and the CPU seconds until then of all processes and of our own."""

    at: float
    busy: float | None
    own: float

    @staticmethod
    def now(cpu: Callable[[], float] = time.process_time) -> Reading:
        """Read the clocks; `cpu` also counts the work that others do for the measurement."""
        user, system, *children, _ = os.times()
        own = max(cpu(), user + system + sum(children))
        return Reading(time.perf_counter(), machine.busy_seconds(), own)

    def others_since(self, before: Reading) -> float | None:
        """The cores that other processes kept busy, None where the system does not tell."""
        if self.busy is None or before.busy is None:
            return None
        others = self.busy - before.busy - (self.own - before.own)
        return max(others, 0.0) / (self.at - before.at)


def sampled() -> float | None:
    """The load of a second in which this process does nothing."""
    before = Reading.now()
    time.sleep(SAMPLE)
    return Reading.now().others_since(before)
