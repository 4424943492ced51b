"""docs/semantics.md, Branches: the matches of a pattern are those of its branches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tests.naive.expressions import Series
from tests.naive.formula import by_formula
from tests.naive.negation import is_forbidden
from tests.naive.pattern import Element, RepeatedGroup
from tests.naive.problem import Bound, Problem, events_in
from tests.naive.runs import by_runs

Iteration: TypeAlias = tuple[Series, ...]  # one series for each variable of a group


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
    def parts(self) -> list[tuple[Element, Series]]:
        """The bindings of each positive element of the branch."""
        elements = [self.problem.elements[number] for number in self.problem.positives]
        return list(zip(elements, self.bound, strict=True))

    @property
    def mapping(self) -> tuple[Series | tuple[Iteration, ...], ...]:
        """The bindings of each variable of the written pattern; nothing if the branch lacks it."""
        bound = {(each.iteration, each.name): series for each, series in self.parts}

        def of_column(column: Element | RepeatedGroup) -> Series | tuple[Iteration, ...]:
            if isinstance(column, Element):
                return bound.get((None, column.name), ())
            return tuple(
                tuple(bound.get(((column.name, n + 1), each.name), ()) for each in column.columns)
                for n in range(self.problem.scope.groups[column.name])
            )

        return tuple(of_column(column) for column in self.problem.pattern.columns)


def union(problems: Sequence[Problem]) -> list[Found]:
    """The matches; a mapping that several branches give is one match, that of the first."""
    first: dict[object, Found] = {}
    for problem in problems:
        found = by_formula(problem) if problem.is_level_1 else by_runs(problem, problems)
        for bound in found:
            if not is_forbidden(problem, bound):
                match = Found(problem, bound)
                first.setdefault(match.mapping, match)
    return list(first.values())
