"""The protocol of every way of the comparison, each in a process with its own environment.

Only the standard library is needed here. A way is run as `python -m experiments.rivals.NAME TASK`
with the task in JSON. It loads the columns, prints a line when it is ready, and then a line of JSON
for each run: the first to warm up, then the requested number, unless that takes too long.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from experiments.machine import forget_peak, peak_bytes

READY = "ready"
# The queries that have a list of row numbers in their answers.
LISTS = ("Q5", "series")


@dataclass(frozen=True)
class Task:
    """A query on a stream, the form in which it is to be written, and the number of runs.

    `data` is an Arrow file with the columns ts (the number of the row), type (a dictionary) or, in
    small integers from 1, code, and the attributes. `enough` seconds of runs are not exceeded by
    another run.
    """

    cell: str
    query: str
    text: str
    data: str
    window: int
    steps: int = 0
    keys: tuple[str, ...] = ()
    negated: int | None = None
    form: str = "plain"
    threads: int = 1
    repeats: int = 3
    enough: float = 10.0

    @staticmethod
    def read(text: str) -> Task:
        """From JSON."""
        told = json.loads(text)
        return Task(**told | {"keys": tuple(told["keys"])})

    @property
    def line(self) -> str:
        """As JSON."""
        return json.dumps(asdict(self))

    @property
    def columns(self) -> list[str]:
        """The columns that the query reads."""
        if self.query == "Q5":
            return ["ts", "symbol", "price", "volume"]
        return ["ts", "code", *self.keys]

    @property
    def variables(self) -> str:
        """A letter for each step."""
        return "abcdefgh"[: self.steps]

    @property
    def bound(self) -> str:
        """Those that an answer has a row number for."""
        return "".join(v for at, v in enumerate(self.variables) if at != self.negated)


@dataclass(frozen=True)
class Answer:
    """The number of matches, and figures that distinguish them from as many others.

    `check` is the sum of all row numbers, of lists the number of events in all of them; `starts`
    how many different first events there are, where that is known.
    """

    matches: int
    check: int | None = None
    starts: int | None = None


@dataclass(frozen=True)
class Way:
    """Columns in memory: the timed function, and how its result is counted afterwards."""

    run: Callable[[], Any]
    count: Callable[[Any], Answer]


@dataclass(frozen=True)
class Run:
    """The time and the result of one run."""

    run: int
    seconds: float
    cpu_seconds: float | None
    peak_mb: float
    matches: int
    check: int | None
    starts: int | None
    threads: int
    form: str
    version: str


def serve(
    version: str,
    prepare: Callable[[Task], Way],
    cpu: Callable[[], float] = time.process_time,
    peak: Callable[[], int] = peak_bytes,
) -> None:
    """Do the task on the command line."""
    task = Task.read(sys.argv[1])
    way = prepare(task)
    say({READY: version})
    start = time.perf_counter()
    for number in range(task.repeats + 1):
        say(asdict(measured(task, way, number, version, cpu, peak)))
        if time.perf_counter() - start > task.enough:
            break


def measured(
    task: Task,
    way: Way,
    number: int,
    version: str,
    cpu: Callable[[], float],
    peak: Callable[[], int],
) -> Run:
    """One run."""
    forget_peak()
    cpu_before, start = cpu(), time.perf_counter()
    found = way.run()
    seconds, cpu_seconds = time.perf_counter() - start, cpu() - cpu_before
    most = peak() / 1e6
    answer = way.count(found)
    return Run(
        run=number,
        seconds=seconds,
        cpu_seconds=cpu_seconds,
        peak_mb=most,
        **asdict(answer),
        threads=task.threads,
        form=task.form,
        version=version,
    )


def say(what: dict[str, Any]) -> None:
    """A line on standard output."""
    print(json.dumps(what), flush=True)
