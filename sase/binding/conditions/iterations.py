"""Bind conjuncts on repeated groups, separately for each branch of the current iteration.

A branch of an iteration may lack variables, so the rest of a conjunct differs between branches. Its
last identifier decides where it is checked: in the current iteration, when a group is left, or at a
component behind the group, for every iteration (docs/semantics.md, Repeated groups).
"""

# long because: the place where a condition on iterations is decided is one question.

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product

from sase.binding.bound import (
    Aggregate,
    BoundComponent,
    Condition,
    Conjunct,
    ConjunctClass,
    IterationBranch,
    IterationConjunct,
    MemberCheck,
    Part,
    Quantified,
    Reference,
    RepeatedGroup,
    Truth,
    When,
)
from sase.binding.conditions.absent import (
    asked_without,
    at_hand,
    conjuncts_of,
    of_iterations,
    references_in,
    variables_in,
)
from sase.binding.conditions.conditions import bind_condition
from sase.binding.conditions.parts import ranged_over, references
from sase.binding.names.scope import Scope
from sase.binding.pattern.sets import member_checks
from sase.lang import ast
from sase.lang.ast import IndexKind

_CURRENT = frozenset(
    (IndexKind.CURRENT, IndexKind.PREVIOUS, IndexKind.BEFORE_CURRENT, IndexKind.UP_TO_CURRENT)
)


@dataclass(frozen=True, slots=True)
class PlacedConjunct:
    """A conjunct of an iteration, with the group and branch that it belongs to."""

    component: int
    branch: int
    conjunct: IterationConjunct


@dataclass(frozen=True, slots=True)
class _AtHand:
    """The branches of a group that have the same variables of a conjunct in an iteration."""

    component: BoundComponent
    group: RepeatedGroup
    branches: tuple[int, ...]
    lacking: frozenset[str]
    choices: Mapping[str, int]

    @property
    def chosen(self) -> tuple[int, ...] | None:
        """The branches; None for all of them."""
        return None if len(self.branches) == len(self.group.branches) else self.branches


def bind_on_iterations(node: ast.Expression, scope: Scope) -> Iterator[Conjunct | PlacedConjunct]:
    """Bind an operand of WHERE in a pattern with repeated groups, as one or more conjuncts."""
    before = len(scope.problems.found)
    bind_condition(node, scope)  # reports errors, independent of branches
    if any(each.severity == "error" for each in scope.problems.found[before:]):
        return
    for conjunct in conjuncts_of(node):
        given = scope.iteration and scope.iteration[0]
        groups = [c for c in scope.groups if c.index == given or _is_at_hand(c, conjunct)]
        for chosen in product(*(list(_classes(each, conjunct, scope)) for each in groups)):
            yield from _of_branches(conjunct, chosen, scope)


def with_conjuncts(
    components: tuple[BoundComponent, ...], placed: list[PlacedConjunct]
) -> tuple[BoundComponent, ...]:
    """The components, where each branch of a group has its conjuncts."""
    return tuple(
        each if each.group is None else replace(each, group=_asked(each.index, each.group, placed))
        for each in components
    )


def _asked(index: int, group: RepeatedGroup, placed: list[PlacedConjunct]) -> RepeatedGroup:
    found: list[list[IterationConjunct]] = [[] for _ in group.branches]
    for each in placed:
        if each.component == index:
            found[each.branch].append(each.conjunct)
    branches = zip(group.branches, found, strict=True)
    return replace(
        group, branches=tuple(replace(b, conjuncts=tuple(asked)) for b, asked in branches)
    )


# ---------------------------------------------------------------- which iterations


def _is_at_hand(component: BoundComponent, conjunct: ast.Expression) -> bool:
    """Whether a conjunct applies to each iteration of a group separately."""
    assert component.group is not None
    if at_hand(conjunct) & component.group.names:
        return True
    indexed = [
        each.index for each in of_iterations(conjunct) if each.group.text == component.variable
    ]
    counted = [
        each.index
        for each in references_in(conjunct)
        if isinstance(each, ast.Indexed) and each.variable.text == component.variable
    ]
    return any(index.kind in _CURRENT for index in (*indexed, *counted))


def _classes(
    component: BoundComponent, conjunct: ast.Expression, scope: Scope
) -> Iterator[_AtHand]:
    group, mentioned = component.group, at_hand(conjunct)
    assert group is not None
    classes: dict[tuple[frozenset[str], frozenset[str]], list[int]] = {}
    given, only = scope.iteration or (None, None)
    for number, branch in enumerate(group.branches):
        if component.index == given and number != only:
            continue
        has = {each.variable for each in branch.elements if each.named}
        lacking = (mentioned & group.names) - has - group.choices
        classes.setdefault((lacking, branch.present & mentioned), []).append(number)
    for (lacking, present), numbers in classes.items():
        choices = {name: int(name in present) for name in group.choices}
        yield _AtHand(component, group, tuple(numbers), lacking, choices)


def _of_branches(
    conjunct: ast.Expression, chosen: tuple[_AtHand, ...], scope: Scope
) -> Iterator[Conjunct | PlacedConjunct]:
    absent = frozenset[str]().union(*(each.lacking for each in chosen))
    negative = {v.variable for each in chosen for v in each.group.variables if v.negated}
    remaining = asked_without(conjunct, absent, negative, at_hand)
    if remaining is None:
        return
    choices = {name: there for each in chosen for name, there in each.choices.items()}
    here = replace(scope, choices={**scope.choices, **choices})
    condition = bind_condition(remaining, here)
    if isinstance(condition, Truth) and condition.value:
        return
    given = scope.iteration and scope.components[scope.iteration[0]]
    further = frozenset(
        each.component.index for each in chosen if _is_at_hand(each.component, remaining)
    )
    placing = _Placing(condition, chosen, scope.components, further, given)
    mentioned = variables_in(conjunct)
    forbidden = [c for c in scope.components if c.is_absent and c.named and c.variable in mentioned]
    if not forbidden and scope.forbidding is not None:
        forbidden = [scope.components[scope.forbidding]]
    outer = [each for each in forbidden if each.negated]
    inner = [
        (each, variable)
        for each in scope.components
        if each.group is not None
        for variable in each.group.variables
        if variable.negated and variable.variable in mentioned
    ]
    elements = {scope.element_of(each) for each in forbidden}
    within = [each for each in outer if each.inside is not None]
    if len(elements) + len(inner) > 1 or len(within) > 1:
        negatives = [
            *(forbidden if len(elements) + len(inner) > 1 else within),
            *(v for _, v in inner),
        ]
        refuse_two_negatives(conjunct, negatives, scope)
    elif given and forbidden and placing.looks_elsewhere(given):
        _refuse_elsewhere(conjunct, forbidden[0], scope)
    elif outer:
        yield placing.conjunct(outer[0], When.EVENT, ConjunctClass.NEGATIVE)
    elif forbidden:
        yield placing.of_sequence()
    elif inner:
        if placing.looks_elsewhere(inner[0][0]):
            _refuse_elsewhere(conjunct, inner[0][1], scope)
            return
        yield from placing.of_negative(*inner[0])
    else:
        yield from placing.positive()


def refuse_two_negatives(
    node: ast.Expression, negatives: list[BoundComponent], scope: Scope
) -> None:
    """Report a conjunct on several negative elements."""
    names = " and ".join(component.variable for component in negatives)
    has_groups = any(each.inside is not None and not each.negated for each in negatives)
    what = "elements" if has_groups else "components"
    scope.problems.error(
        "two-negatives",
        f"this condition mentions two negative {what}, {names}: each absence is checked by itself",
        node.span,
        "relate each of them to an event of the match, in conditions of their own",
    )


def _refuse_elsewhere(node: ast.Expression, negative: BoundComponent, scope: Scope) -> None:
    scope.problems.error(
        "negative-of-iteration",
        f"`{negative.variable}` must not occur in the iteration at hand, and this condition"
        " mentions another one",
        node.span,
        "it can mention variables of the current iteration, and the group as a whole",
    )


# ---------------------------------------------------------------- where it is checked


@dataclass(frozen=True)
class _Placing:
    """A condition, reduced for some branches of the current iterations, and where it is checked."""

    condition: Condition
    chosen: tuple[_AtHand, ...]
    components: tuple[BoundComponent, ...]
    # The groups of which it mentions the current iteration, or an earlier one.
    at_hand: frozenset[int]
    # For a negative sequence in a group: that group.
    given: BoundComponent | None = None

    @property
    def _found(self) -> list[Reference | Aggregate]:
        return list(references(self.condition))

    def _of(self, component: int) -> list[Reference | Aggregate]:
        return [each for each in self._found if each.component == component]

    def looks_elsewhere(self, component: BoundComponent) -> bool:
        """Whether it mentions single iterations of a group other than the current one."""
        parts = {each.part for each in self._of(component.index)}
        return bool(parts - {Part.CURRENT, Part.ALL})

    def positive(self) -> Iterator[Conjunct | PlacedConjunct]:
        """Where it is decided if it mentions no negative element: at its last identifier."""
        at = {each.component.index: each for each in self.chosen}
        used = {each.component for each in self._found} | at.keys()
        if not used:
            yield Conjunct(self.condition, ConjunctClass.CONSTANT, span=self.condition.span)
            return
        last = self.components[max(used)]
        parts = [each.part for each in self._of(last.index)]
        if last.group is None or any(part.rank == Part.ALL.rank for part in parts):
            yield self.conjunct(last, When.of(parts))
        elif last.index in at:
            for number in at[last.index].branches:
                for iterations in self._iterations(last.index):
                    yield self._in_iteration(last, last.group, number, iterations)
        else:
            for number in range(len(last.group.branches)):
                yield self._in_iteration(last, last.group, number, When.FIRST)

    def _looks_back(self, component: int) -> bool:
        """Whether it applies to every iteration of a group but the first."""
        is_earlier = any(each.part.is_earlier for each in self._of(component))
        return is_earlier and component in self.at_hand

    def _iterations(self, component: int) -> tuple[When, ...]:
        """At which iterations of a group it is decided, if it does not mention the last.

        One on the first iteration is decided inside it, and again when a further iteration begins.
        """
        if self._looks_back(component):
            return (When.FURTHER,)
        is_first = any(each.part is Part.FIRST for each in self._of(component))
        return (When.FIRST, When.FURTHER) if is_first else (When.EVERY,)

    def of_sequence(self) -> Conjunct:
        """The condition for events of a negative sequence to forbid, checked at the last one."""
        used = [each.component for each in self._found]
        last = self.components[max(used)] if used else None
        if last is None or last.inside is None:
            constant = Conjunct(self.condition, ConjunctClass.CONSTANT, span=self.condition.span)
            return replace(constant, quantified=tuple(self._ranges(last, When.EVENT)))
        return self.conjunct(last, When.of([each.part for each in self._of(last.index)]))

    def of_negative(
        self, component: BoundComponent, negative: BoundComponent
    ) -> Iterator[PlacedConjunct]:
        """The condition for an event of a negative element in a group to forbid."""
        at = next(each for each in self.chosen if each.component == component)
        for number in at.branches:
            branch = at.group.branches[number]
            element = branch.variables.index(negative.index)
            yield self._asked_at(component, number, When.EVERY, element, When.EVENT)

    def conjunct(
        self,
        last: BoundComponent,
        when: When,
        kind: ConjunctClass = ConjunctClass.SEVERAL,
    ) -> Conjunct:
        """Convert it to a conjunct of the pattern, checked at one of its components."""
        used = sorted(
            {each.component for each in self._found}
            | {each.component.index for each in self.chosen}
        )
        checks: tuple[MemberCheck, ...] = ()
        if last.set_of is not None:
            named = [self.components[index] for index in used]
            last, checks = member_checks(last, named, self._when, self._ranges)
            when = self._when(last)
        return Conjunct(
            self.condition,
            kind,
            tuple(used),
            last.index,
            when,
            tuple(self._ranges(last, when)),
            checks=checks,
            span=self.condition.span,
        )

    def _when(self, component: BoundComponent) -> When:
        return When.of([each.part for each in self._of(component.index)])

    def _ranges(self, last: BoundComponent | None, when: When) -> Iterator[Quantified]:
        """The series and groups over which it ranges, except the event or iteration being added."""
        yield from self._series(last, when)
        if self.given is None:
            yield from self._groups()
        else:
            yield from self._groups(without=self.given.index)
            yield from self._within(self.given.index)

    def _in_iteration(
        self, last: BoundComponent, group: RepeatedGroup, number: int, iterations: When
    ) -> PlacedConjunct:
        element, when = self._element(group.branches[number], last.index, iterations)
        return self._asked_at(last, number, iterations, element, when)

    def _element(
        self, branch: IterationBranch, component: int, iterations: When
    ) -> tuple[int, When]:
        """The element at which it is decided, and at which of its events."""
        wanted = (Part.FIRST,) if iterations is When.FIRST else (Part.CURRENT, Part.UP_TO_CURRENT)
        inner: dict[int, list[Part]] = {}
        for each in self._of(component):
            if each.part not in wanted or each.inner is None:
                continue
            if each.inner.variable in branch.variables:
                place = branch.variables.index(each.inner.variable)
                inner.setdefault(place, []).append(each.inner.part)
        if inner:
            return max(inner), When.of(inner[max(inner)])
        is_false = isinstance(self.condition, Truth)
        must = next(each for each in branch.elements if not each.negated and each.minimum > 0)
        first = must if is_false else branch.first
        begins = When.FIRST if first.is_series else When.EVENT
        return first.index, begins if first.minimum > 0 else When.WHOLE

    def _asked_at(
        self, component: BoundComponent, number: int, iterations: When, element: int, when: When
    ) -> PlacedConjunct:
        assert component.group is not None
        at, variables = component.index, component.group.branches[number].variables
        added = variables[element] if when in (When.EVERY, When.FURTHER) else None
        within = (each for each in self._within(at) if each.inner != added)
        conjunct = IterationConjunct(
            self.condition,
            iterations,
            element,
            when,
            tuple(sorted({each.component for each in self._found})),
            (*self._series(component, when), *self._groups(without=at), *within),
            span=self.condition.span,
        )
        return PlacedConjunct(at, number, conjunct)

    def _series(self, last: BoundComponent | None, when: When) -> Iterator[Quantified]:
        """The series outside of groups over which it ranges, except the event being added."""
        added = last if when in (When.EVERY, When.FURTHER) else None
        ranged = ranged_over(self._found)
        for each in self.components:
            if each.group is None and each.index in ranged and each is not added:
                yield Quantified(each.index, ranged[each.index])

    def _groups(self, without: int | None = None) -> Iterator[Quantified]:
        """The groups over all iterations of which it ranges, and the series in each."""
        for each in self.chosen:
            index = each.component.index
            if index == without:
                continue
            yield Quantified(index, self._looks_back(index), each.chosen)
            for inner in self._within(index):
                yield replace(inner, branches=each.chosen)

    def _within(self, component: int) -> Iterator[Quantified]:
        """The series of the current iteration that it ranges over."""
        inner: dict[int, list[Part]] = {}
        for each in self._of(component):
            if each.part is Part.CURRENT and each.inner is not None:
                inner.setdefault(each.inner.variable, []).append(each.inner.part)
        for variable, parts in sorted(inner.items()):
            if any(part.rank == Part.CURRENT.rank for part in parts):
                but_first = any(part.is_earlier for part in parts)
                yield Quantified(component, but_first, inner=variable)
