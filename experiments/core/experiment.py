"""An experiment: points at which several ways run, their plots, and the expected findings."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Any, NamedTuple, TypeVar

from experiments.core.results import Results

Value = TypeVar("Value")


class LeftOut(Exception):
    """A way that cannot run here, and why: something is not installed, or not built yet."""


@dataclass(frozen=True)
class Size:
    """How large the experiments are: how often each way runs, and how long a run may take."""

    name: str
    rounds: int
    most_seconds: float

    def of(self, full: Value, quick: Value, tiny: Value) -> Value:
        """The part for this size."""
        return {"full": full, "quick": quick, "tiny": tiny}[self.name]


SIZES = {
    size.name: size for size in (Size("full", 5, 20.0), Size("quick", 3, 3.0), Size("tiny", 0, inf))
}


class Outcome(NamedTuple):
    """The result of a run: the number of matches, and a sum that differs if those of two ways do.

    Of the `figures` `own_s` are seconds by a clock of its own, and `cpu_s` those of the processor,
    which count instead of ours.
    """

    matches: int
    check: int | None = None
    figures: Mapping[str, float] = {}


class Way(NamedTuple):
    """One of the compared ways: `run` is timed, and `told` returns its result afterwards.

    `probe` runs once, without being timed, for more figures.
    """

    run: Callable[[], Any]
    told: Callable[[Any], Outcome]
    probe: Callable[[], Mapping[str, float]] | None = None


@dataclass(frozen=True)
class Point:
    """The ways at one place of the x axis; each is made of the data, before the clock starts.

    The matches, and their sum, are checked where they are known. Unless `alike`
    is off, all ways must find the same.
    """

    x: float | str
    ways: Mapping[str, Callable[[Any], Way]]
    data: Callable[[], Any] = lambda: None
    events: int = 0
    panel: str = ""
    known: int | None = None
    known_check: int | None = None
    alike: bool = True


@dataclass(frozen=True)
class Plot:
    """A picture: a column of the results over another, a line or a bar for each way.

    `relative` divides by the way's value at its lightest load, which is measured first, as the
    2006 paper's normalized throughput does.
    With `parts` each way has a line for each of these columns.
    """

    y: str
    y_label: str
    x_label: str
    x: str = "x"
    log_x: bool = False
    log_y: bool = False
    bars: bool = False
    relative: bool = False
    parts: tuple[str, ...] = ()


class Verdict(NamedTuple):
    """Whether something holds, None where that was not measured; the figures, and the limit.

    `required` is the limit with which the figures are compared, tolerance included.
    """

    holds: bool | None
    evidence: str
    required: str

    @property
    def figures(self) -> str:
        """The figures and their limit, as the report has them in brackets."""
        return f"{self.evidence}; required: {self.required}"


class Reason(NamedTuple):
    """The reason why a finding does not hold: a sentence, and the check that supports it."""

    said: str
    check: Callable[[Results], Verdict]


class Finding(NamedTuple):
    """A sentence, the check of it, and why it need not hold here."""

    said: str
    check: Callable[[Results], Verdict]
    why: tuple[Reason, ...] = ()

    def reasons(self, results: Results) -> list[tuple[Reason, Verdict]]:
        """Those reasons that the figures support."""
        judged = [(reason, reason.check(results)) for reason in self.why]
        return [(reason, verdict) for reason, verdict in judged if verdict.holds]


@dataclass(frozen=True)
class Experiment:
    """A figure or a question: `said` is the finding of the paper, in one sentence.

    `shown` are the columns of its table in the report, beside those that all have.
    """

    name: str
    title: str
    source: str
    said: str
    points: Callable[[Size], Iterable[Point]]
    plots: tuple[Plot, ...]
    findings: tuple[Finding, ...] = ()
    shown: tuple[str, ...] = ()
    # Of all threads of this process; others where the work is done by children.
    cpu: Callable[[], float] = field(default=time.process_time)
    # A run that repeats its measurement by itself: it is neither repeated nor broken off.
    once: bool = False
    # The needs beside the package; its tests are in the folder that has them. Its runs are not
    # broken off: that would leave the program on the other side in the middle of a message.
    uses: str = ""
