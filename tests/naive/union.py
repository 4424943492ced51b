"""docs/semantics.md, Branches: the matches of a pattern are those of its branches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tests.naive.expressions import Series
from tests.naive.formula import by_formula
from tests.naive.negation import is_forbidden
from tests.naive.problem import Bound, Problem, events_in
from tests.naive.runs import by_runs


@dataclass(frozen=True)
class Found:
    """A match of a branch."""

    problem: Problem
    bound: Bound

    @property
    def events(self) -> Series:
        """All its events, in their order."""
        return events_in(self.bound)

    @property
    def mapping(self) -> tuple[Series, ...]:
        """What each variable of the written pattern has bound; nothing if the branch lacks it."""
        by_name = {
            self.problem.elements[number].name: series
            for number, series in zip(self.problem.positives, self.bound, strict=True)
        }
        return tuple(by_name.get(column.name, ()) for column in self.problem.pattern.columns)


def union(problems: Sequence[Problem]) -> list[Found]:
    """The matches; a mapping that several branches give is one match, that of the first."""
    first: dict[tuple[Series, ...], Found] = {}
    for problem in problems:
        found = by_formula(problem) if problem.is_level_1 else by_runs(problem)
        for bound in found:
            if not is_forbidden(problem, bound):
                match = Found(problem, bound)
                first.setdefault(match.mapping, match)
    return list(first.values())
