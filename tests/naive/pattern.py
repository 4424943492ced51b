"""docs/semantics.md, Branches: a pattern, written out into sequences of elements."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count, product

from sase.lang import ast

MOST_BRANCHES = 256


@dataclass(frozen=True)
class Element:
    """A component, and its place among all components of the written pattern, from 1."""

    component: ast.Component
    place: int

    @property
    def name(self) -> str:
        """The variable, or type and place: `A_1`, `ANY_2`."""
        if self.component.variable:
            return self.component.variable.text
        test = self.component.test
        return f"{test.name.text if isinstance(test, ast.TypeTest) else 'ANY'}_{self.place}"


@dataclass(frozen=True)
class Branch:
    """Elements that follow one another, and which `(…)? g` are there."""

    elements: tuple[Element, ...] = ()
    groups: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Pattern:
    """A written pattern: its branches in their order, and all groups `(…)? g`."""

    branches: tuple[Branch, ...]
    groups: frozenset[str]

    @property
    def elements(self) -> tuple[Element, ...]:
        """Every component as it is written, from left to right."""
        by_place = {each.place: each for branch in self.branches for each in branch.elements}
        return tuple(by_place[place] for place in sorted(by_place))

    @property
    def columns(self) -> tuple[Element, ...]:
        """A column for each positive variable, where it is first written."""
        by_name: dict[str, Element] = {}
        for element in self.elements:
            if not element.component.negated:
                by_name.setdefault(element.name, element)
        return tuple(by_name.values())

    @property
    def negative_names(self) -> frozenset[str]:
        """The variables of negative components."""
        return frozenset(each.name for each in self.elements if each.component.negated)

    @property
    def of_several_types(self) -> frozenset[str]:
        """The variables whose type test is not the same in all their places."""
        tests: dict[str, set[ast.TypeTest | ast.AnyTest]] = {}
        for element in self.elements:
            tests.setdefault(element.name, set()).add(element.component.test)
        return frozenset(name for name, several in tests.items() if len(several) > 1)


def written_out(pattern: ast.Pattern) -> Pattern:
    """The branches of a pattern."""
    branches = tuple(_branches(pattern, count(1)))
    if len(branches) > MOST_BRANCHES:
        raise ValueError(f"{len(branches)} branches")
    for branch in branches:
        if not any(_must_bind(element.component) for element in branch.elements):
            raise ValueError("a branch without a positive element that cannot be empty")
    return Pattern(branches, frozenset(group for branch in branches for group in branch.groups))


def _branches(pattern: ast.Pattern, places: Iterator[int]) -> list[Branch]:
    """In the order of writing; of several choices the one written first varies slowest."""
    match pattern:
        case ast.Component(negated=True, quantifier=ast.Quantifier()):
            raise NotImplementedError("a negative Kleene component")
        case ast.Component():
            return [Branch((Element(pattern, next(places)),))]
        case ast.Sequence(parts):
            choices = [_branches(part, places) for part in parts]
            return [_joined(chosen) for chosen in product(*choices)]
        case ast.Alternatives(patterns):
            return [branch for each in patterns for branch in _branches(each, places)]
        case ast.Group(inner, None, None, False):
            return _branches(inner, places)
        case ast.Group(inner, variable, ast.Quantifier("?"), False):
            here = frozenset([variable.text] if variable else [])
            there = [Branch(each.elements, each.groups | here) for each in _branches(inner, places)]
            return [*there, Branch()]
        case _:
            raise NotImplementedError(f"{type(pattern).__name__} in a pattern (level 3)")


def _joined(parts: tuple[Branch, ...]) -> Branch:
    """One branch of each part after the other."""
    return Branch(
        tuple(element for part in parts for element in part.elements),
        frozenset().union(*(part.groups for part in parts)),
    )


def _must_bind(component: ast.Component) -> bool:
    """Whether a component is positive and cannot be empty."""
    return not component.negated and (
        component.quantifier is None or component.quantifier.minimum > 0
    )
