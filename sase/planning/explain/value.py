"""The data of an explanation: the plan, its reasons, estimates and measurements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from sase.planning.counting import CountingWay
from sase.planning.explain.automaton import ExplainedAutomaton
from sase.planning.explain.complexity import ExplainedComplexity
from sase.planning.explain.driven import PhysicalPath
from sase.planning.statistics import Statistics

VERSION = 1

# A number, or one for each level of the pattern.
Counts: TypeAlias = "int | float | tuple[float, ...]"


@dataclass(frozen=True, slots=True)
class Expected:
    """Estimates for an operator: rows in and out, memory, time, and visited instances."""

    rows_in: float
    rows_out: float
    nanoseconds: float
    bytes: float = 0.0
    visited: tuple[float, ...] = ()
    alive: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Measured:
    """Measurements of an operator: rows in and out, peak memory, time, and counters."""

    rows_in: int
    rows_out: int
    nanoseconds: int | None = None
    bytes: int | None = None
    counters: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class ExplainedOperator:
    """An operator: name, symbol, algorithm, checks, and reasons.

    `parts` are the ranges of the query text that it implements; `branch` is the number of its
    branch, if the pattern has several.
    """

    name: str
    symbol: str
    algorithm: str
    details: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    parts: tuple[tuple[int, int], ...] = ()
    expected: Expected | None = None
    measured: Measured | None = None
    branch: int | None = None

    @property
    def key(self) -> str:
        """Its unique key in the plan, without spaces."""
        return self.name if self.branch is None else f"{self.name}-{self.branch}"

    @property
    def known(self) -> Expected | Measured | None:
        """The measurements, or the estimates if it did not run."""
        return self.measured or self.expected

    @property
    def misestimate(self) -> float:
        """The factor between measured and expected output rows; 1 is exact."""
        if self.expected is None or self.measured is None:
            return 1.0
        one, other = max(self.expected.rows_out, 1.0), max(float(self.measured.rows_out), 1.0)
        return max(one, other) / min(one, other)


@dataclass(frozen=True, slots=True)
class ExplainedStep:
    """A rewrite: the operator lines that it removed and added, or why it declined.

    `branch` is the number of its branch, if the pattern has several.
    """

    rewrite: str
    summary: str
    declined: str | None = None
    removed: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    operators: tuple[str, ...] = ()
    branch: int | None = None


@dataclass(frozen=True, slots=True)
class ExplainedAlternative:
    """An alternative of a choice, and the time that the whole plan would take."""

    calls: str
    nanoseconds: float
    is_taken: bool


@dataclass(frozen=True, slots=True)
class ExplainedForm:
    """The form of the result; the `matches` of a list, and its least size in `bytes`.

    `ways` are the ways to count the matches, or to represent a set of all matches. The first one is
    used. If there are too many matches for it, the next one is used.
    """

    output: str
    matches: float | None
    bytes: float | None
    ways: tuple[CountingWay, ...]

    @property
    def reasons(self) -> tuple[str, ...]:
        """The reasons why single matches are enumerated; none if they are not."""
        return self.ways[0].reasons


@dataclass(frozen=True, slots=True)
class ExplainedPlan:
    """A plan from the bottom up, the rewrites that led to it, and facts about the events."""

    query: str
    recipe: str
    summary: str
    operators: tuple[ExplainedOperator, ...]
    steps: tuple[ExplainedStep, ...] = ()
    choices: tuple[tuple[ExplainedAlternative, ...], ...] = ()
    split: str = ""
    notes: tuple[str, ...] = ()
    results: int | None = None
    nanoseconds: int | None = None
    statistics: Statistics | None = None
    form: ExplainedForm | None = None
    physical: tuple[PhysicalPath, ...] = ()
    automata: tuple[ExplainedAutomaton, ...] = ()
    complexity: ExplainedComplexity | None = None

    @property
    def branches(self) -> list[tuple[ExplainedOperator, ...]]:
        """The operators of each branch from the bottom up; empty without branches."""
        found: dict[int, list[ExplainedOperator]] = {}
        for each in self.operators:
            if each.branch is not None:
                found.setdefault(each.branch, []).append(each)
        return [tuple(found[number]) for number in sorted(found)]

    @property
    def common(self) -> tuple[ExplainedOperator, ...]:
        """The operators that belong to no branch, from the bottom up."""
        return tuple(each for each in self.operators if each.branch is None)

    @property
    def expected_results(self) -> float | None:
        """The expected number of results."""
        expected = self.operators[-1].expected
        return None if expected is None else expected.rows_out

    @property
    def source(self) -> str:
        """The origin of the statistics."""
        known = self.statistics
        if known is None:
            return ""
        of = f" of {known.sampled:,} events" if 0 < known.sampled < known.rows else ""
        return f"{known.source}{of}: {known.rows:,} events"

    @property
    def worst(self) -> ExplainedOperator | None:
        """The operator with the worst estimate of output rows, if off by a factor of two."""
        worst = max(self.operators, key=lambda each: each.misestimate)
        return worst if worst.misestimate >= 2 else None
