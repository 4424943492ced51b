"""Expand the choices of a pattern (OR, groups with `?` or without a quantifier) into branches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count, product
from math import prod
from typing import TypeAlias

from sase.binding.bound import BoundComponent, RepeatedGroup
from sase.binding.names.scope import Scope
from sase.lang import ast
from sase.lang.printer import to_text
from sase.source import Span

# ---------------------------------------------------------------- branches

# Each branch is a sequence of components. Branches are in the order of the text: a group with `?`
# is first present, then absent; of several choices the first varies slowest (docs/semantics.md,
# Branches).

MOST_BRANCHES = 256


@dataclass(frozen=True, slots=True)
class PlacedComponent:
    """A component, and its number among all components of the pattern as written.

    `group` is the number of the negative group that it belongs to, `set_of` that of its set.
    """

    part: ast.Component
    place: int
    group: int | None = None
    set_of: int | None = None


@dataclass(frozen=True, slots=True)
class WrittenNegation:
    """A negative sequence: one alternative of a negative group.

    `position` is the number of components before it in its branch.
    """

    components: tuple[PlacedComponent, ...]
    position: int
    group: int
    span: Span


@dataclass(frozen=True, slots=True)
class PlacedGroup:
    """A repeated group: the number of its first component, and the branches of an iteration.

    `components` are all inside it, `choices` the variables of groups with `?` inside.
    """

    part: ast.Group
    place: int
    branches: tuple[WrittenBranch, ...]
    components: tuple[PlacedComponent, ...]
    choices: tuple[ast.Name, ...] = ()


Placed: TypeAlias = PlacedComponent | PlacedGroup


@dataclass(frozen=True, slots=True)
class WrittenBranch:
    """The components of a branch, and the variables of the groups with `?` that it has.

    A variable that occurs twice, which is an error, is `repeated`.
    """

    components: tuple[Placed, ...] = ()
    present: frozenset[str] = frozenset()
    repeated: frozenset[str] = frozenset()
    negations: tuple[WrittenNegation, ...] = ()

    def followed_by(self, other: WrittenBranch) -> WrittenBranch:
        """Concatenate two branches."""
        before = len(self.components)
        moved = (replace(each, position=each.position + before) for each in other.negations)
        return WrittenBranch(
            (*self.components, *other.components),
            self.present | other.present,
            self.repeated | other.repeated | (self.present & other.present),
            (*self.negations, *moved),
        )

    @property
    def alone(self) -> tuple[PlacedComponent, ...]:
        """Its components without repeated groups."""
        return tuple(each for each in self.components if isinstance(each, PlacedComponent))

    @property
    def every(self) -> tuple[Placed, ...]:
        """Its components, then those in its negative groups."""
        inside = (each for negation in self.negations for each in negation.components)
        return (*self.components, *inside)


@dataclass
class WrittenPattern:
    """The branches of a pattern, its components, and the variables of groups with `?`.

    Components include those inside repeated groups; `groups` are the repeated groups.
    """

    branches: list[WrittenBranch]
    components: list[PlacedComponent]
    choices: list[ast.Name]
    groups: list[PlacedGroup]


def written_out(pattern: ast.Pattern, scope: Scope) -> WrittenPattern | None:
    """Return the branches of a pattern, or None after an error."""
    writing = _Writing(scope)
    branches = writing.branches_of(pattern)
    if not writing.is_fine:
        return None
    return WrittenPattern(branches, writing.components, writing.choices, writing.groups)


@dataclass
class _Writing:
    scope: Scope
    components: list[PlacedComponent] = field(default_factory=list)
    choices: list[ast.Name] = field(default_factory=list)
    groups: list[PlacedGroup] = field(default_factory=list)
    is_fine: bool = True
    # Whether this expands the inside of a repeated group.
    is_repeated: bool = False
    # The number of the negative group that is being expanded.
    inside: int | None = None
    # The number of sets so far.
    sets: int = 0
    _negatives: Iterator[int] = field(default_factory=count)
    _places: Iterator[int] = field(default_factory=count)

    def branches_of(self, pattern: ast.Pattern) -> list[WrittenBranch]:
        match pattern:
            case ast.Component():
                placed = PlacedComponent(pattern, next(self._places), self.inside)
                self.components.append(placed)
                return [WrittenBranch((self.components[-1],))]
            case ast.Sequence(parts=parts):
                each = [self.branches_of(part) for part in parts]
                return self._sequences(each, pattern.span)
            case ast.Alternatives(patterns=patterns):
                found = [branch for part in patterns for branch in self.branches_of(part)]
                return self._bounded(found, len(found), pattern.span)
            case ast.SetOf() if not self._is_inside:
                return self._set(pattern)
            case ast.Group() if self._is_choice(pattern):
                return self._choice(pattern)
            case ast.Group(negated=False) if not self._is_inside:
                return self._repeated(pattern)
            case ast.Group(negated=True) if self.inside is None:
                return self._negative(pattern)
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
            named = WrittenBranch(present=own)
            branches = [each.followed_by(named) for each in branches]
        return self._bounded([*branches, WrittenBranch()], len(branches) + 1, group.span)

    def _set(self, written: ast.SetOf) -> list[WrittenBranch]:
        """Return one branch with the members of a set in a row."""
        from sase.binding.pattern.sets import members_of

        members = members_of(written, self.scope)
        self.is_fine = self.is_fine and bool(members)
        number, self.sets = self.sets, self.sets + 1
        own = number if len(members) > 1 else None
        placed = [PlacedComponent(each, next(self._places), set_of=own) for each in members]
        self.components += placed
        return [WrittenBranch(tuple(placed))]

    def _repeated(self, group: ast.Group) -> list[WrittenBranch]:
        """Return one branch: the group, which contains the branches of an iteration."""
        inside = _Writing(
            self.scope,
            self.components,
            is_repeated=True,
            _negatives=self._negatives,
            _places=self._places,
        )
        first = len(self.components)
        branches = inside.branches_of(group.pattern)
        components = tuple(self.components[first:])
        if not (inside.is_fine and is_repeatable(group, branches, self.scope)):
            self.is_fine = False
            return []
        choices = tuple(inside.choices)
        self.groups.append(PlacedGroup(group, first, tuple(branches), components, choices))
        return [WrittenBranch((self.groups[-1],))]

    def _negative(self, group: ast.Group) -> list[WrittenBranch]:
        """Return one branch, in which each alternative of the group forbids on its own."""
        number = next(self._negatives)
        if group.quantifier is not None:
            self._refuse_quantifier(group.quantifier)
        if group.variable is not None:
            self._refuse_negative_variable(group.variable)
        bare = _bare(group.pattern)
        if isinstance(bare, ast.Component) and bare.quantifier is not None and not bare.negated:
            refuse_negative_series(replace(bare, negated=True), bare.quantifier, self.scope)
            self.is_fine = False
            return [WrittenBranch()]
        inside = _Writing(self.scope, self.components, inside=number, _places=self._places)
        branches = inside.branches_of(group.pattern)
        self.is_fine = self.is_fine and inside.is_fine
        whole = WrittenBranch()
        for branch in branches:
            self._check_negation(branch, group)
            whole = whole.followed_by(self._alternative(branch, number, group.span))
        return [whole]

    def _alternative(self, branch: WrittenBranch, number: int, span: Span) -> WrittenBranch:
        """An alternative of a negative group: an event or a sequence that must not occur.

        In an iteration a single event is treated as a sequence, too.
        """
        own = tuple(each for each in branch.components if isinstance(each, PlacedComponent))
        if self.is_repeated or len(own) != 1 or own[0].part.quantifier is not None:
            return WrittenBranch(negations=(WrittenNegation(own, 0, number, span),))
        alone = replace(own[0], part=replace(own[0].part, negated=True))
        self.components[alone.place] = alone
        return WrittenBranch((alone,))

    def _check_negation(self, branch: WrittenBranch, group: ast.Group) -> None:
        """Check that a negative sequence must have an event, on both sides of its own negations."""
        parts = [each.part for each in branch.components if isinstance(each, PlacedComponent)]
        must = [not each.negated and _least(each) > 0 for each in parts]
        if not any(must):
            self.error(
                "nothing-positive",
                "a negative group needs a component that must occur, and here every component is"
                " optional",
                group.span,
                "make one of its components take at least one event",
            )
        for place, part in enumerate(parts):
            if part.negated and not _is_enclosed(place, parts, must):
                self.error(
                    "negative-at-border",
                    "inside of a negative group an absence must be between two components that"
                    " must occur",
                    part.span,
                    "put it between two such components, or outside of the group",
                )

    def _refuse_quantifier(self, quantifier: ast.Quantifier) -> None:
        self.error(
            "negative-series",
            "a negative group is the absence of a match of its pattern: it takes no + * ? or {n}",
            quantifier.span,
            "leave the quantifier out: no match may occur, so neither may several",
        )

    def _refuse_negative_variable(self, variable: ast.Name) -> None:
        self.error(
            "group-variable",
            f"a negative group has no events in a match: it cannot be called `{variable.text}`",
            variable.span,
            "leave the name out, and name the components inside of it",
        )

    def error(self, code: str, message: str, span: Span, *hints: str) -> None:
        self.is_fine = False
        self.scope.problems.error(code, message, span, *hints)

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
        """Return the branches; if there are too many, report an error once."""
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

    @property
    def _is_inside(self) -> bool:
        return self.is_repeated or self.inside is not None

    def _is_choice(self, group: ast.Group) -> bool:
        quantifier = group.quantifier
        if group.negated or (quantifier is not None and self.inside is not None):
            return False
        return quantifier is None or quantifier.symbol == "?"

    def _refuse_variable(self, variable: ast.Name) -> None:
        name = variable.text
        self.error(
            "group-variable",
            f"a group without a quantifier is only its pattern: it cannot be called `{name}`",
            variable.span,
            f"leave the name out; a group with ? can have one, and  {name}.len  is 1 where it is"
            " there",
        )

    def _refuse(self, part: ast.Node) -> None:
        if self.inside is not None:
            self._refuse_in_negative(part)
        else:
            self._refuse_inside(part)

    def _refuse_inside(self, part: ast.Node) -> None:
        """Report a part that a repeated group must not contain."""
        what = "a repeated group" if isinstance(part, ast.Group) else "a SET"
        self.error(
            "in-repeated-group",
            f"{what} cannot stand in a repeated group",
            part.span,
            "ask in two queries: the outer one repeats the results of the inner one",
        )

    def _refuse_in_negative(self, part: ast.Node) -> None:
        """Report a part that a negative group must not contain."""
        what, hint = "a set", "write the orders out:  !(SEQ(A a, B b) OR SEQ(B b, A a))"
        if isinstance(part, ast.Group) and part.negated:
            what = "a negative group"
            hint = "forbid single events inside of it, such as  !(X x)"
        elif isinstance(part, ast.Group) and part.quantifier is not None:
            is_choice = part.quantifier.symbol == "?"
            what = "an optional group" if is_choice else "a repeated group"
            hint = "leave it out: a component that may be missing forbids nothing more"
            if not is_choice:
                hint = "write out how often it must occur, such as  SEQ(A a, B b, A c, B d)"
        self.error("in-negative-group", f"{what} cannot stand in a negative group", part.span, hint)


def refuse_negative_series(
    part: ast.Component | ast.Group, quantifier: ast.Quantifier, scope: Scope
) -> None:
    """The error of a series that must not occur."""
    scope.problems.error(
        "negative-series",
        "a negative component is the absence of one event: it takes no + * ? or {n}",
        quantifier.span,
        f"write  {to_text(replace(part, quantifier=None))} : no event of the kind may occur, so"
        " neither may several",
    )


def _bare(pattern: ast.Pattern) -> ast.Pattern:
    """A part of a pattern without the brackets around it."""
    while isinstance(pattern, ast.Group) and not (
        pattern.negated or pattern.quantifier or pattern.variable
    ):
        pattern = pattern.pattern
    return pattern


def is_repeatable(group: ast.Group, branches: list[WrittenBranch], scope: Scope) -> bool:
    """Whether iterations have events on both sides of each negation; else an error."""
    before = len(scope.problems.found)
    for branch in branches:
        parts = [each.part for each in branch.components if isinstance(each, PlacedComponent)]
        must = [not each.negated and _least(each) > 0 for each in parts]
        if not any(must):
            scope.problems.error(
                "empty-iteration",
                "an iteration of a repeated group needs an event that must occur, and here all is"
                " optional",
                group.span,
                "make a component inside take at least one event",
            )
            break
        absences = [(n, part.span) for n, part in enumerate(parts) if part.negated]
        absences += [(each.position, each.span) for each in branch.negations]
        for place, span in absences:
            if not _is_enclosed(place, parts, must):
                scope.problems.error(
                    "negative-at-border",
                    "in a repeated group an absence must be between two components of the"
                    " iteration that must occur",
                    span,
                    "put it between two such components, or outside of the group",
                )
    return len(scope.problems.found) == before


def _least(part: ast.Component) -> int:
    return 1 if part.quantifier is None else part.quantifier.minimum


def _is_enclosed(place: int, parts: list[ast.Component], must: list[bool]) -> bool:
    """Whether the nearest positive components before and after a place cannot be empty."""
    positive = [n for n, part in enumerate(parts) if not part.negated]
    before, after = [n for n in positive if n < place], [n for n in positive if n >= place]
    return bool(before and after) and must[before[-1]] and must[after[0]]


# ---------------------------------------------------------------- several places


def by_variable(every: Sequence[BoundComponent]) -> tuple[BoundComponent, ...]:
    """A component for each variable, in the order of first occurrence, with the types of all.

    Those of negative sequences come last.
    """
    every = sorted(every, key=lambda each: each.inside is not None)
    found: dict[tuple[bool, str], BoundComponent] = {}
    for each in every:
        known = found.get(each.key)
        found[each.key] = each if known is None else _united(known, each)
    return tuple(
        replace(each, index=index, set_of=None) for index, each in enumerate(found.values())
    )


def _united(one: BoundComponent, other: BoundComponent) -> BoundComponent:
    types = None
    if one.types is not None and other.types is not None:
        types = tuple(dict.fromkeys((*one.types, *other.types)))
    maxima = (one.maximum, other.maximum)
    return replace(
        one,
        types=types,
        is_any=one.is_any or other.is_any or set(one.types or ()) != set(other.types or ()),
        minimum=min(one.minimum, other.minimum),
        maximum=None if None in maxima else max(each or 0 for each in maxima),
        group=_united_groups(one.group, other.group),
    )


def _united_groups(one: RepeatedGroup | None, other: RepeatedGroup | None) -> RepeatedGroup | None:
    """Merge two occurrences of a repeated group."""
    if one is None or other is None:
        return None  # one of them is an error
    variables = by_variable([*one.variables, *other.variables])
    keys = [each.key for each in variables]
    branches = (
        replace(each, variables=tuple(keys.index(element.key) for element in each.elements))
        for each in (*one.branches, *other.branches)
    )
    return RepeatedGroup(variables, tuple(branches), one.choices | other.choices)
