"""All ways on a cell in turn, and whether they found the expected matches."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from experiments.rivals import results
from experiments.rivals.catalogue import ENGINE, OURS, Form, Rival
from experiments.rivals.protocol import Run, Task
from experiments.rivals.results import Line, Place, Way
from experiments.rivals.running import Outcome
from experiments.rivals.streams import SHARE, Contest

Runner = Callable[[Task, float], Outcome]


@dataclass(frozen=True)
class Plan:
    """How much is to be run."""

    threads: tuple[int, ...] = (1, 2)
    rounds: int = 3
    repeats: int = 3
    limit: float = 60.0
    quick: bool = False


@dataclass
class Comparison:
    """Runs the ways, ours first in each round, and keeps the lines."""

    plan: Plan
    place: Place
    data: Path
    runners: dict[str, Runner]
    lines: list[Line] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def cell(self, contest: Contest, rivals: Sequence[Rival]) -> None:
        """All rounds of a cell."""
        path = contest.write(self.data, SHARE if self.plan.quick else 1)
        given_up: set[Way] = set()
        right: Run | None = None
        for number in range(1, self.plan.rounds + 1):
            for way, form in self.ways(contest, rivals):
                if way in given_up:
                    continue
                progress(f"{contest.name} round {number}: {way.title}, {way.form}, {way.threads}")
                task = contest.task(path, form.name, way.threads, self.plan.repeats, self.enough)
                outcome = self.runners[way.rival](task, self.plan.limit)
                if right is None and way.rival == OURS and outcome.runs:
                    right = outcome.runs[0]
                wrong = self.wrong(contest, form, outcome, right)
                if outcome.over or outcome.error or wrong:
                    given_up.add(way)
                self.keep(contest, way, number, outcome, wrong)

    @property
    def enough(self) -> float:
        """The seconds of runs after which a process makes no other."""
        return self.plan.limit / 3

    def ways(self, contest: Contest, rivals: Sequence[Rival]) -> list[tuple[Way, Form]]:
        """The ways on a cell, ours before all others."""
        return [
            (Way(rival.name, rival.title, form.name, threads), form)
            for threads in self.plan.threads
            for rival in (ENGINE, *rivals)
            for form in rival.forms
            if contest.query in form.queries
            and contest.stream not in form.without
            and threads in (form.threads or self.plan.threads)
        ]

    def keep(
        self, contest: Contest, way: Way, number: int, outcome: Outcome, wrong: str | None
    ) -> None:
        """The lines, and the failures."""
        self.lines += results.of_outcome(
            self.place, contest.name, way, number, outcome, self.plan.limit, wrong or ""
        )
        failed = outcome.error or wrong
        if failed:
            self.failures.append(f"{contest.name}: {way.title}, {way.form}: {failed}")
            progress(self.failures[-1])

    def wrong(
        self, contest: Contest, form: Form, outcome: Outcome, right: Run | None
    ) -> str | None:
        """The mistakes in the answers, if any."""
        if not outcome.runs:
            return None
        found = {(run.matches, run.check) for run in outcome.runs}
        if len(found) > 1:
            return f"its answers differ from run to run: {sorted(found)}"
        matches, check = found.pop()
        meaning = form.difference.meaning if form.difference else "all"
        if meaning in ("own", "broken"):
            return None
        if right is None:
            return "our own answer, by which it is judged, is missing"
        if meaning == "starts":
            return differs(matches, right.starts)
        if not self.plan.quick and (right.matches, right.check) != (contest.matches, contest.check):
            return f"{right.matches:,} matches are not those that are known"
        return differs(matches, right.matches) or (
            "as many matches as it should, and not those"
            if check not in (None, right.check)
            else None
        )


def differs(found: int, right: int | None) -> str | None:
    """Of two numbers."""
    return None if found == right else f"{found:,} matches, right are {right}"


def progress(what: str) -> None:
    """Report progress on standard error."""
    print(what, file=sys.stderr, flush=True)
