"""What an explanation says of a plan: what it does, why, what is expected and what happened."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from sase.planning.explain.automaton import ExplainedAutomaton
from sase.planning.explain.driven import PhysicalPath
from sase.planning.statistics import Statistics

VERSION = 1

# A number, or one for each level of the pattern.
Counts: TypeAlias = "int | float | tuple[float, ...]"


@dataclass(frozen=True, slots=True)
class Expected:
    """What is expected of an operator: rows in and out, memory, time, and what is looked at."""

    rows_in: float
    rows_out: float
    nanoseconds: float
    bytes: float = 0.0
    visited: tuple[float, ...] = ()
    alive: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Measured:
    """What an operator did: rows in and out, memory at its height, time, and all it counted."""

    rows_in: int
    rows_out: int
    nanoseconds: int | None = None
    bytes: int | None = None
    counters: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class ExplainedOperator:
    """An operator: its name and symbol, its algorithm, what it checks, and why it is so.

    `parts` are the ranges of the query's text that went into it; `branch` is the number of the
    branch that it is of, where a pattern has several.
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
        """What tells it from all others of the plan, with no spaces."""
        return self.name if self.branch is None else f"{self.name}-{self.branch}"

    @property
    def known(self) -> Expected | Measured | None:
        """What it did, or where it was not run what is expected of it."""
        return self.measured or self.expected

    @property
    def misestimate(self) -> float:
        """By what factor the rows that come out differ from what was expected; 1 is exact."""
        if self.expected is None or self.measured is None:
            return 1.0
        one, other = max(self.expected.rows_out, 1.0), max(float(self.measured.rows_out), 1.0)
        return max(one, other) / min(one, other)


@dataclass(frozen=True, slots=True)
class ExplainedStep:
    """A rewrite: the lines of operators that it took away and put in, or why it declined.

    `branch` is the number of the branch that it is of, where a pattern has several.
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
    """What might have been done at a choice, and the time that the whole plan would take."""

    calls: str
    nanoseconds: float
    is_taken: bool


@dataclass(frozen=True, slots=True)
class ExplainedForm:
    """The form of the result; the `matches` that a list would have, and the `bytes` at the least.

    `reasons` say what makes it necessary to look at single matches; without any they are counted.
    All the same the `histories` of merged runs may be counted, of all of them or of many. Of a
    pattern with choices those of each branch may be counted, `by_branch`, and of one with sets
    choices of events `by_states`.
    """

    output: str
    matches: float | None
    bytes: float | None
    reasons: tuple[str, ...] = ()
    histories: str | None = None
    by_branch: bool = False
    by_states: bool = False


@dataclass(frozen=True, slots=True)
class ExplainedPlan:
    """A plan from the bottom up, the rewrites that led to it, and what is known of the events."""

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

    @property
    def branches(self) -> list[tuple[ExplainedOperator, ...]]:
        """The operators of each branch from the bottom up; none where the plan has no branches."""
        found: dict[int, list[ExplainedOperator]] = {}
        for each in self.operators:
            if each.branch is not None:
                found.setdefault(each.branch, []).append(each)
        return [tuple(found[number]) for number in sorted(found)]

    @property
    def common(self) -> tuple[ExplainedOperator, ...]:
        """The operators of no single branch, from the bottom up."""
        return tuple(each for each in self.operators if each.branch is None)

    @property
    def expected_results(self) -> float | None:
        """How many results are expected."""
        expected = self.operators[-1].expected
        return None if expected is None else expected.rows_out

    @property
    def source(self) -> str:
        """Where the statistics come from."""
        known = self.statistics
        if known is None:
            return ""
        of = f" of {known.sampled:,} events" if 0 < known.sampled < known.rows else ""
        return f"{known.source}{of}: {known.rows:,} events"

    @property
    def worst(self) -> ExplainedOperator | None:
        """The operator whose output was misestimated most, by a factor of two or more."""
        worst = max(self.operators, key=lambda each: each.misestimate)
        return worst if worst.misestimate >= 2 else None
