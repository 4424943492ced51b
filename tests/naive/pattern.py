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
class NegativeGroup:
    """`!(P)`, P being one branch of what is written; `written` has the elements of all of them."""

    elements: tuple[Element, ...]
    written: tuple[Element, ...]

    @property
    def names(self) -> frozenset[str]:
        """The variables of this branch."""
        return frozenset(element.name for element in self.elements)

    @property
    def others(self) -> frozenset[str]:
        """The variables that only other branches of the same group have."""
        return frozenset(element.name for element in self.written) - self.names


@dataclass(frozen=True)
class Branch:
    """Elements that follow one another, and which `(…)? g` are there."""

    parts: tuple[Element | NegativeGroup, ...] = ()
    groups: frozenset[str] = frozenset()

    @property
    def elements(self) -> tuple[Element, ...]:
        """The components outside of negative groups."""
        return tuple(part for part in self.parts if isinstance(part, Element))

    @property
    def names(self) -> frozenset[str]:
        """All variables, those in negative groups included."""
        return frozenset(element.name for element in _within(self.parts))


@dataclass(frozen=True)
class Pattern:
    """A written pattern: its branches in their order, and all groups `(…)? g`."""

    branches: tuple[Branch, ...]
    groups: frozenset[str]

    @property
    def forbidding(self) -> frozenset[str]:
        """The variables of the components inside of negative groups."""
        inside = [part for each in self.branches for part in each.parts]
        return frozenset(
            element.name
            for part in inside
            if isinstance(part, NegativeGroup)
            for element in part.written
        )

    @property
    def elements(self) -> tuple[Element, ...]:
        """Every component as it is written, from left to right."""
        within = (element for branch in self.branches for element in _within(branch.parts))
        by_place = {element.place: element for element in within}
        return tuple(by_place[place] for place in sorted(by_place))

    @property
    def columns(self) -> tuple[Element, ...]:
        """A column for each positive variable, where it is first written."""
        by_name: dict[str, Element] = {}
        for element in self.elements:
            if not element.component.negated and element.name not in self.forbidding:
                by_name.setdefault(element.name, element)
        return tuple(by_name.values())

    @property
    def negative_names(self) -> frozenset[str]:
        """The variables of negative elements."""
        negated = {each.name for each in self.elements if each.component.negated}
        return self.forbidding | negated

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
        case ast.Group(inner, None, None, True):
            return [Branch(tuple(_negative_groups(_branches(inner, places))))]
        case ast.Group(inner, None, None, False):
            return _branches(inner, places)
        case ast.Group(inner, variable, ast.Quantifier("?"), False):
            here = frozenset([variable.text] if variable else [])
            there = [Branch(each.parts, each.groups | here) for each in _branches(inner, places)]
            return [*there, Branch()]
        case _:
            raise NotImplementedError(f"{type(pattern).__name__} in a pattern (level 3)")


def _joined(parts: tuple[Branch, ...]) -> Branch:
    """One branch of each part after the other."""
    return Branch(
        tuple(element for part in parts for element in part.parts),
        frozenset().union(*(part.groups for part in parts)),
    )


def _negative_groups(branches: list[Branch]) -> Iterator[NegativeGroup]:
    """`!(P OR Q)` is `!(P), !(Q)`."""
    for branch in branches:
        if len(branch.parts) > len(branch.elements) or branch.groups:
            raise ValueError("a negative group in a negative group, or `(…)? g`")
        _refuse_negative_edges(branch.elements)
    written = tuple(element for branch in branches for element in branch.elements)
    for branch in branches:
        yield NegativeGroup(branch.elements, written)


def _refuse_negative_edges(elements: tuple[Element, ...]) -> None:
    """A negative component inside stands between neighbours that cannot be empty."""
    positive = [n for n, each in enumerate(elements) if not each.component.negated]
    for number, element in enumerate(elements):
        if element.component.negated:
            before = [n for n in positive if n < number][-1:]
            after = [n for n in positive if n > number][:1]
            if (
                not before
                or not after
                or not all(_must_bind(elements[n].component) for n in before + after)
            ):
                raise ValueError("a negative component at the edge of a group")


def _within(parts: tuple[Element | NegativeGroup, ...]) -> Iterator[Element]:
    """All components, those in negative groups included."""
    for part in parts:
        yield from part.elements if isinstance(part, NegativeGroup) else (part,)


def _must_bind(component: ast.Component) -> bool:
    """Whether a component is positive and cannot be empty."""
    return not component.negated and (
        component.quantifier is None or component.quantifier.minimum > 0
    )
