"""Bind the conjuncts on negative groups, separately for each alternative of a group.

Those on negative groups inside a repeated one are bound for each branch of an iteration.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from sase.binding.bound import (
    BoundComponent,
    BoundNegation,
    Conjunct,
    IterationBranch,
    RepeatedGroup,
)
from sase.binding.conditions.absent import asked_of_branch, variables_in
from sase.binding.conditions.conjuncts import bind_conjuncts
from sase.binding.names.scope import Clause, Scope
from sase.binding.pattern.components import BoundBranch
from sase.lang import ast


@dataclass(frozen=True)
class ForbiddingConjuncts:
    """Splits the conjuncts of a branch into those on its negative groups, and the rest."""

    asked: Sequence[ast.Expression]
    branch: BoundBranch
    scope: Scope

    @property
    def rest(self) -> list[ast.Expression]:
        """The conjuncts on no negative group, with equivalence tests."""
        groups = self._alternatives.values()
        every = _names(each for group in groups for alternative in group for each in alternative)
        every |= _names(each for each in self.scope.components if each.inside is not None)
        return [node for node in self.asked if not variables_in(node) & every]

    def of_components(self) -> Iterator[Conjunct]:
        """The conjuncts on alternatives of a single event, which are negative components."""
        for alternatives in self._alternatives.values():
            for own in alternatives:
                if own[0].inside is None:
                    yield from self._conjuncts(own, alternatives)

    def negations(self) -> Iterator[BoundNegation]:
        """The negative sequences with their conjuncts."""
        for negation in self.branch.negations:
            group = self._alternatives[self.scope.element_of(negation.components[0])]
            own = self._conjuncts(negation.components, group)
            yield replace(negation, conjuncts=tuple(own))

    def in_iterations(self, components: Iterable[BoundComponent]) -> tuple[BoundComponent, ...]:
        """The components, with conjuncts bound to the negative sequences inside groups."""
        return tuple(
            each if each.group is None else replace(each, group=self._of_group(each, each.group))
            for each in components
        )

    def _of_group(self, component: BoundComponent, group: RepeatedGroup) -> RepeatedGroup:
        every, branches = _names(group.forbidding), list[IterationBranch]()
        for number, branch in enumerate(group.branches):
            scope = replace(self.scope, iteration=(component.index, number))
            lacking = every - _names(each for n in branch.negations for each in n.components)
            inside = replace(
                self, asked=list(asked_of_branch(self.asked, lacking, lacking)), scope=scope
            )
            branches.append(replace(branch, negations=inside.bound(branch.negations)))
        return replace(group, branches=tuple(branches))

    def bound(self, negations: Sequence[BoundNegation]) -> tuple[BoundNegation, ...]:
        """The negative sequences of an iteration, with their conjuncts."""
        beside: dict[int | None, list[tuple[BoundComponent, ...]]] = {}
        for each in negations:
            beside.setdefault(each.components[0].inside, []).append(each.components)
        return tuple(
            replace(each, conjuncts=tuple(self._conjuncts(each.components, alternatives)))
            for each in negations
            for alternatives in (beside[each.components[0].inside],)
        )

    @property
    def _alternatives(self) -> dict[int, list[tuple[BoundComponent, ...]]]:
        """The components of each alternative, by negative group."""
        found: dict[int, list[tuple[BoundComponent, ...]]] = {}
        for index in self.branch.alternatives:
            component = self.scope.components[index]
            found.setdefault(self.scope.element_of(component), []).append((component,))
        for negation in self.branch.negations:
            element = self.scope.element_of(negation.components[0])
            found.setdefault(element, []).append(negation.components)
        return found

    def _conjuncts(
        self, own: Sequence[BoundComponent], alternatives: Sequence[Sequence[BoundComponent]]
    ) -> Iterator[Conjunct]:
        """The conjuncts on variables of an alternative, without parts on other alternatives."""
        names = _names(own)
        others = [each for a in alternatives for each in a if each.variable not in names]
        absent = _names(others)
        negative = _names(each for each in others if each.negated and each.inside is not None)
        asked = (node for node in self.asked if variables_in(node) & names)
        hidden = set(range(len(self.scope.components)))
        hidden -= {each.index for each in (*self.branch.components, *own)}
        hidden |= self.branch.alternatives.keys() - {each.index for each in own}
        hiding = self.scope.hiding(hidden)
        scope = replace(hiding, clause=Clause.WHERE, forbidding=own[0].index)
        conjuncts, _ = bind_conjuncts(asked_of_branch(asked, absent, negative), scope)
        yield from conjuncts


def _names(components: Iterable[BoundComponent]) -> frozenset[str]:
    return frozenset(each.variable for each in components if each.named)
