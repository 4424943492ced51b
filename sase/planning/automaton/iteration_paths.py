"""The conditions on repeated groups that paths through a graph of their states can check.

A state determines the element and branch of an iteration to which an event belongs, and whether the
iteration begins with it. So a graph can check conditions on one event, and conditions on two events
if one comes right after the other in every match that has both. It can also check that no event
occurs between these two.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import NamedTuple

from sase.binding.bound import (
    Aggregate,
    BoundComponent,
    Condition,
    Conjunct,
    ConjunctClass,
    IterationBranch,
    IterationConjunct,
    Part,
    Reference,
    When,
    elements_of,
)
from sase.binding.conditions.parts import references, with_values


class Element(NamedTuple):
    """A component of the pattern, or an element of a group's branch, by its index there."""

    level: int
    branch: int = 0
    element: int = 0


@dataclass(frozen=True)
class Adjacent:
    """A condition on two consecutive events, the `PREVIOUS` one and the `CURRENT` one.

    The later one `begins` an iteration, or it is in the same iteration or outside of groups.
    """

    condition: Condition
    earlier: Element
    later: Element
    begins: bool = False


class Absent(NamedTuple):
    """A negative element, and the elements between which it must not occur."""

    negative: Element
    earlier: Element
    later: Element


class _Role(NamedTuple):
    """The iteration, the variable and the event of it that a reference means."""

    part: Part
    variable: int
    inner: Part


def is_of_one_event(conjunct: IterationConjunct, variable: int) -> bool:
    """Whether the condition applies to each event of a variable of an iteration by itself."""
    if conjunct.iterations is not When.EVERY or conjunct.when not in (When.EVENT, When.EVERY):
        return False
    found = list(references(conjunct.condition))
    return _are_events(found) and all(
        part is Part.CURRENT and of == variable and inner in (Part.EVENT, Part.CURRENT)
        for part, of, inner in map(_role, found)
    )


def is_of_negative(conjunct: IterationConjunct, variable: int) -> bool:
    """Whether the condition is on the events of a negative variable alone."""
    return all(
        isinstance(each, Reference) and each.inner is not None and each.inner.variable == variable
        for each in references(conjunct.condition)
    )


def reasons_of(components: Sequence[BoundComponent], level: int) -> Iterator[str]:
    """Why states do not determine the iterations of a component, if it is a group."""
    group = components[level].group
    if group is None:
        return
    if any(_may_be_alike(one, other) for one, other in combinations(group.branches, 2)):
        yield "several branches of an iteration may give the same one"
    for number, branch in enumerate(group.branches):
        if branch.negations:
            yield "a negative sequence looks at whole iterations"
        for conjunct in branch.conjuncts:
            variable = branch.variables[conjunct.element]
            if branch.elements[conjunct.element].negated:
                if not is_of_negative(conjunct, variable):
                    yield "a condition on a negative component in an iteration is on others, too"
            elif not is_of_one_event(conjunct, variable) and not _adjacent(
                components, Element(level, number), conjunct
            ):
                yield "a condition in an iteration is on no event alone, nor on neighbours"


def adjacent_in(components: Sequence[BoundComponent], level: int) -> Iterator[Adjacent]:
    """The conditions on neighbours in iterations of a component, if it is a group."""
    group = components[level].group
    for number, branch in enumerate(() if group is None else group.branches):
        for conjunct in branch.conjuncts:
            variable = branch.variables[conjunct.element]
            is_negated = branch.elements[conjunct.element].negated
            if not is_negated and not is_of_one_event(conjunct, variable):
                yield from _adjacent(components, Element(level, number), conjunct)


def absent_in(component: BoundComponent, level: int) -> Iterator[Absent]:
    """The negative elements in iterations of a component, if it is a group."""
    for number, branch in enumerate(() if component.group is None else component.group.branches):
        places = branch.positive
        for place, element in enumerate(branch.elements):
            if element.negated:
                before = max(each for each in places if each < place)
                after = min(each for each in places if each > place)
                yield Absent(*(Element(level, number, each) for each in (place, before, after)))


def tests_neighbours(components: Sequence[BoundComponent], level: int) -> bool:
    """Whether conditions or absences restrict neighbours in iterations."""
    tested = (*adjacent_in(components, level), *absent_in(components[level], level))
    return bool(tested)


def adjacent_to(conjunct: Conjunct, components: Sequence[BoundComponent]) -> list[Adjacent]:
    """A condition on the last event of a component or group and the first event of the next one.

    It may also be on two consecutive events of one component. There is one for each element that
    the earlier event may belong to; none if it is no such condition.
    """
    levels = {component.index: level for level, component in enumerate(components)}
    found = list(references(conjunct.condition))
    if conjunct.kind is not ConjunctClass.SEVERAL or not _are_events(found):
        return []
    sides = sorted({(levels[each.component], _role(each)) for each in found}, key=_place_of)
    if len(sides) != 2:
        return []
    (first, ending), (last, beginning) = sides
    if components[last].group is not None or {first, last} & _members(components):
        return []
    if first == last:
        is_so = (ending.inner, beginning.inner) == (Part.PREVIOUS, Part.CURRENT)
        ends = [Element(first)] * is_so
        condition = conjunct.condition
    else:
        is_so = last == first + 1 and _begins_with(components[last], beginning.inner)
        ends = list(_ends(components[first], first, ending)) if is_so else []
        condition = _turned(conjunct.condition, lambda each: levels[each.component] == first)
    return [Adjacent(condition, each, Element(last)) for each in ends]


def _members(components: Sequence[BoundComponent]) -> set[int]:
    """The levels of members of sets: their events may come in any order."""
    return {level for each in elements_of(components) if len(each) > 1 for level in each}


def _place_of(side: tuple[int, _Role]) -> tuple[int, bool]:
    level, role = side
    return level, role.inner is Part.CURRENT


def _ends(component: BoundComponent, level: int, role: _Role) -> Iterator[Element]:
    """The elements with the last event of a component, if a reference means that event."""
    if component.group is None:
        if _ends_with(component, role.inner):
            yield Element(level)
    elif role.part is Part.LAST and component.minimum > 0:
        yield from _last_elements(component.group.branches, level, role)


def _last_elements(
    branches: Sequence[IterationBranch], level: int, role: _Role
) -> Iterator[Element]:
    """The last elements of all branches, if a reference means their event in each branch."""
    places = [branch.positive[-1] for branch in branches]
    if all(
        branch.variables[place] == role.variable
        and branch.elements[place].minimum > 0
        and _is_only(branch.elements[place], role.inner)
        for branch, place in zip(branches, places, strict=True)
    ):
        yield from (Element(level, number, place) for number, place in enumerate(places))


def _adjacent(
    components: Sequence[BoundComponent], at: Element, conjunct: IterationConjunct
) -> list[Adjacent]:
    """A condition of a branch on two neighbours; none if it is no such condition."""
    component = components[at.level]
    assert component.group is not None
    branches, found = component.group.branches, list(references(conjunct.condition))
    branch = branches[at.branch]
    place = branch.positive[0]
    if not _are_events(found):
        return []
    roles = {_role(each): each.component for each in found}
    own = {each for each, of in roles.items() if of == component.index}
    if len(roles) == len(own) and {each.part for each in own} == {Part.CURRENT}:
        return _within(branch, at, conjunct, own) if conjunct.iterations is When.EVERY else []
    before = [each for each in roles if each not in own or each.part is Part.PREVIOUS]
    begun = [each for each in roles if each not in before]
    if len(before) != 1 or len(begun) != 1:
        return []
    if begun[0].variable != branch.variables[place]:
        return []
    if not _begins_with(branch.elements[place], begun[0].inner):
        return []
    ends = list[Element]()
    if before[0] in own:
        if conjunct.iterations is When.FURTHER and begun[0].part is Part.CURRENT:
            ends = list(_last_elements(branches, at.level, before[0]))
    elif conjunct.iterations is When.FIRST and at.level and branch.elements[place].minimum:
        one = components[at.level - 1]
        if one.index == roles[before[0]] and one.minimum > 0 and one.group is None:
            ends = list(_ends(one, at.level - 1, before[0]))
    condition = _turned(conjunct.condition, lambda each: _role(each) == before[0])
    return [Adjacent(condition, each, at._replace(element=place), begins=True) for each in ends]


def _within(
    branch: IterationBranch, at: Element, conjunct: IterationConjunct, roles: set[_Role]
) -> list[Adjacent]:
    """A condition on two neighbours of one iteration."""
    places = {branch.variables[place]: n for n, place in enumerate(branch.positive)}
    if len(roles) != 2 or any(each.variable not in places for each in roles):
        return []
    first, last = sorted(roles, key=lambda e: (places[e.variable], e.inner is Part.CURRENT))
    one, other = places[first.variable], places[last.variable]
    if one == other:
        is_so = (first.inner, last.inner) == (Part.PREVIOUS, Part.CURRENT)
        chosen = Part.PREVIOUS
    else:
        earlier, later = (branch.elements[branch.positive[n]] for n in (one, other))
        ends = _is_only(earlier, first.inner) or (first.inner is Part.LAST and earlier.minimum > 0)
        is_so = other == one + 1 and ends and _begins_with(later, last.inner)
        chosen = first.inner
    if not is_so:
        return []
    condition = _turned(
        conjunct.condition,
        lambda each: (each.inner.variable, each.inner.part) == (first.variable, chosen),
    )
    one, other = (branch.positive[n] for n in (one, other))
    return [Adjacent(condition, at._replace(element=one), at._replace(element=other))]


def _ends_with(element: BoundComponent, part: Part) -> bool:
    """Whether a reference means the last event of an element."""
    return _is_only(element, part) or (part is Part.LAST and element.minimum > 0)


def _begins_with(element: BoundComponent, part: Part) -> bool:
    """Whether a reference means the first event of an element."""
    return _is_only(element, part) or part is Part.FIRST


def _is_only(element: BoundComponent, part: Part) -> bool:
    """Whether a reference means the only event that an element can bind."""
    return element.maximum == 1 and part in (Part.EVENT, Part.CURRENT)


def _turned(condition: Condition, is_earlier: object) -> Condition:
    """A condition with the earlier event as `PREVIOUS` and the later one as `CURRENT`."""
    return with_values(
        condition,
        lambda each: replace(
            each,
            part=Part.PREVIOUS if is_earlier(each) else Part.CURRENT,  # type: ignore[operator]
            inner=None,
        ),
    )


def _are_events(found: Sequence[Reference | Aggregate]) -> bool:
    return bool(found) and all(isinstance(each, Reference) for each in found)


def _role(each: Reference | Aggregate) -> _Role:
    if each.inner is None:
        return _Role(Part.EVENT, -1, each.part)
    return _Role(each.part, each.inner.variable, each.inner.part)


def _may_be_alike(one: IterationBranch, other: IterationBranch) -> bool:
    """Whether two branches may bind the same variables to the same events."""
    mine, its = (
        {each.variables[place]: (n, each.elements[place]) for n, place in enumerate(each.positive)}
        for each in (one, other)
    )
    for own, others in ((mine, its), (its, mine)):
        if any(each.minimum and variable not in others for variable, (_, each) in own.items()):
            return False
    common = [(mine[v], its[v]) for v in mine if v in its]
    bound = [(m, i) for m, i in common if m[1].minimum and i[1].minimum]
    if any(
        m[1].types is not None and i[1].types is not None and not {*m[1].types} & {*i[1].types}
        for m, i in bound
    ):
        return False
    orders = (sorted(range(len(bound)), key=lambda n: bound[n][side][0]) for side in (0, 1))
    return next(orders) == next(orders)
