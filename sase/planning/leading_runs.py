"""Whether, of runs through repeated groups that go on alike, the leading one alone is kept.

That is done where the first match ends all other runs (`prune_overlaps`): one that stands behind
another makes no first match. It needs matches that are known as such when they are found, and no
condition for which events matter that no run needs any more.
"""

from __future__ import annotations

from collections.abc import Iterator

from sase.binding.bound import Quantified, When
from sase.planning.nodes import Operator, RunEvaluation, Transformation, find, require


def why_all_go_on(plan: Operator) -> str | None:
    """Why runs that go on alike are all kept until there is a match, where one could be enough."""
    top, runs = require(plan, Transformation), find(plan, RunEvaluation)
    if runs is None or not top.prunes or not runs.has_groups:
        return None
    if top.having is not None:
        return "HAVING tells which of them are matches"
    if top.input is not runs or runs.has_absences_in_iterations:
        return "absences tell which of them are matches"
    if runs.has_sets:
        return "they differ in what sets still lack"
    if any(_ranges(runs)):
        return "conditions range over past iterations, or events of a series"
    return None


def _ranges(runs: RunEvaluation) -> Iterator[bool]:
    """Of each condition whether it ranges over events but the one that it is decided at."""
    for conjunct in (edge.conjunct for edge in runs.conditions):
        yield any(check.quantified for check in conjunct.checks) or (
            not conjunct.checks and bool(conjunct.quantified)
        )
    for component in runs.components:
        for branch in () if component.group is None else component.group.branches:
            for each in branch.conjuncts:
                own: tuple[int, int] | None = None
                if each.when in (When.EVERY, When.FURTHER):
                    own = component.index, branch.variables[each.element]
                yield any(_of(other) != own for other in each.quantified)


def _of(quantified: Quantified) -> tuple[int, int | None]:
    return quantified.component, quantified.inner
