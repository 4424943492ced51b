"""Experiments that run unattended: of one commit, on a quiet machine, repeated if uneven."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

from experiments import machine
from experiments.core import load, measuring
from experiments.core.experiment import Experiment, Point, Size
from experiments.core.results import MEASURED, Row

# The most cores that other processes may keep busy, and the seconds between two looks at them.
MOST_LOAD, PAUSE = 0.3, 15.0
# The seconds after which a message is repeated.
SAY_AGAIN = 600.0
# A point is uneven if the longest and the shortest CPU time of a way differ by more than this share
# of the median. It is measured at most this number of times.
UNEVEN, ATTEMPTS = 0.3, 2


@dataclass(frozen=True)
class Unattended:
    """The conditions under which a point is measured, and how often."""

    commit: str
    most_load: float = MOST_LOAD
    sampled: Callable[[], float | None] = load.sampled
    sleep: Callable[[float], None] = time.sleep

    @staticmethod
    def begun(most_load: float) -> Unattended:
        """Of the present commit; a tree that no commit has is refused."""
        commit = machine.commit()
        if commit == "unknown":
            raise SystemExit("this is no git repository: results need a commit")
        if commit.endswith("-dirty"):
            raise SystemExit(
                "the working tree has changes that no commit has: commit or stash them"
                " (`python -m experiments run NAME` measures with changes, and says so)"
            )
        return Unattended(commit, most_load)

    def wait(self) -> None:
        """Wait until other processes are quiet; stop if the tree has changed since the begin."""
        waited = 0.0
        while (busy := self.sampled()) is not None and busy > self.most_load:
            if waited % SAY_AGAIN < PAUSE:
                say(
                    f"the machine is busy: other processes use {busy:.1f} cores, more than"
                    f" {self.most_load:g} (--most-load). Waiting, {waited / 60:.0f} minutes by now"
                )
            self.sleep(PAUSE)
            waited += PAUSE
        if waited:
            say(f"the machine is quiet after {waited / 60:.1f} minutes")
        if (commit := machine.commit()) != self.commit:
            raise SystemExit(
                f"the working tree was {self.commit} and is {commit} now: go back to that commit to"
                " resume, or begin again"
            )

    def measured(
        self, experiment: Experiment, point: Point, size: Size, slow: set[tuple[str, str]]
    ) -> list[Row]:
        """Measure a point, again while it is uneven; the most even rows and the attempts."""
        attempts, before = list[list[Row]](), set(slow)
        while len(attempts) < ATTEMPTS and (not attempts or unevenness(attempts[-1]) > UNEVEN):
            self.wait()
            slow.intersection_update(before)
            attempts.append(measuring.measured(experiment, point, size, slow))
        return [row | {"attempts": len(attempts)} for row in min(attempts, key=unevenness)]


def unevenness(rows: list[Row]) -> float:
    """The greatest range of the CPU times of a way, as a share of their median."""
    measured = [row for row in rows if row["status"] == MEASURED and row["cpu_s"] > 0]
    return max(((r["cpu_high_s"] - r["cpu_low_s"]) / r["cpu_s"] for r in measured), default=0.0)


def say(text: str) -> None:
    """Print a line beside the results."""
    print(text, file=sys.stderr, flush=True)
