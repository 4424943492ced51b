"""Write the choices of a pattern out: OR, and groups without a quantifier or with `?`.

What is left is a list of branches, each a sequence of components, in the order in which the choices
are written: a group with `?` first with it; of several choices the one written first varies slowest
(docs/semantics.md, Branches).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import count, product
from math import prod

from sase.binding.scope import Scope
from sase.lang import ast
from sase.source import Span

MOST_BRANCHES = 256


@dataclass(frozen=True, slots=True)
class PlacedComponent:
    """A component, and its number among all of the written pattern."""

    part: ast.Component
    place: int


@dataclass(frozen=True, slots=True)
class WrittenBranch:
    """The components of a branch, and the variables of the groups with `?` that it has."""

    components: tuple[PlacedComponent, ...] = ()
    present: frozenset[str] = frozenset()

    def followed_by(self, other: WrittenBranch) -> WrittenBranch:
        """The one and then the other."""
        components = (*self.components, *other.components)
        return WrittenBranch(components, self.present | other.present)


@dataclass
class WrittenPattern:
    """The branches of a pattern, all of its components, and the variables of groups with `?`."""

    branches: list[WrittenBranch]
    components: list[PlacedComponent]
    choices: list[ast.Name]


def written_out(pattern: ast.Pattern, scope: Scope) -> WrittenPattern | None:
    """The branches of a pattern; None where there is an error, or what is not supported yet."""
    writing = _Writing(scope)
    branches = writing.branches_of(pattern)
    if not writing.is_fine:
        return None
    return WrittenPattern(branches, writing.components, writing.choices)


@dataclass
class _Writing:
    scope: Scope
    components: list[PlacedComponent] = field(default_factory=list)
    choices: list[ast.Name] = field(default_factory=list)
    is_fine: bool = True
    _places: Iterator[int] = field(default_factory=count)

    def branches_of(self, pattern: ast.Pattern) -> list[WrittenBranch]:
        """The branches of a part of the pattern."""
        match pattern:
            case ast.Component():
                self.components.append(PlacedComponent(pattern, next(self._places)))
                return [WrittenBranch((self.components[-1],))]
            case ast.Sequence(parts=parts):
                each = [self.branches_of(part) for part in parts]
                return self._sequences(each, pattern.span)
            case ast.Alternatives(patterns=patterns):
                found = [branch for part in patterns for branch in self.branches_of(part)]
                return self._bounded(found, len(found), pattern.span)
            case ast.Group() if self._is_choice(pattern):
                return self._choice(pattern)
        self._refuse(pattern)
        return []

    def _choice(self, group: ast.Group) -> list[WrittenBranch]:
        branches = self.branches_of(group.pattern)
        if group.quantifier is None:
            if group.variable is not None:
                self._refuse_variable(group.variable)
            return branches
        if group.variable is not None:
            self.choices.append(group.variable)
            own = frozenset((group.variable.text,))
            branches = [replace(each, present=each.present | own) for each in branches]
        return self._bounded([*branches, WrittenBranch()], len(branches) + 1, group.span)

    def _sequences(self, each: list[list[WrittenBranch]], span: Span) -> list[WrittenBranch]:
        number = prod(map(len, each))
        if number > MOST_BRANCHES:
            return self._bounded([], number, span)
        found = []
        for chosen in product(*each):
            whole = WrittenBranch()
            for branch in chosen:
                whole = whole.followed_by(branch)
            found.append(whole)
        return found

    def _bounded(self, found: list[WrittenBranch], number: int, span: Span) -> list[WrittenBranch]:
        """As many branches as there may be; more are an error, told once."""
        if number <= MOST_BRANCHES:
            return found
        if self.is_fine:
            self.scope.problems.error(
                "too-many-branches",
                f"a pattern has at most {MOST_BRANCHES} branches, and the choices of this come to"
                f" {number:,}",
                span,
                "let one component take several types, such as  ANY(B, C) x , or ask in several"
                " queries",
            )
        self.is_fine = False
        return found[:1]

    @staticmethod
    def _is_choice(group: ast.Group) -> bool:
        quantifier = group.quantifier
        return not group.negated and (quantifier is None or quantifier.symbol == "?")

    def _refuse_variable(self, variable: ast.Name) -> None:
        name = variable.text
        self.scope.problems.error(
            "group-variable",
            f"a group without a quantifier stands for what is in it: it cannot be called `{name}`",
            variable.span,
            f"leave the name out; a group with ? can have one, and  {name}.len  is 1 where it is"
            " there",
        )
        self.is_fine = False

    def _refuse(self, part: ast.Node) -> None:
        self.is_fine = False
        what, hint = "SET", "write the orders out:  SEQ(A a, B b) OR SEQ(B b, A a)"
        if isinstance(part, ast.Group):
            what = "a negative group" if part.negated else "a group that is repeated"
            hint = "today groups are choices:  (B b OR C c)  or  (SEQ(B b, C c))?"
        self.scope.problems.error(
            "not-supported-yet", f"{what} is not supported yet", part.span, hint
        )
