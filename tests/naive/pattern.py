"""docs/semantics.md, Branches: a pattern, written out into sequences of elements."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, count, product
from math import inf

from sase.lang import ast

MOST_BRANCHES = 256
# Between a variable of a repeated group and the number of the iteration: in no name of a query.
OF_ITERATION = "\0"


@dataclass(frozen=True)
class Element:
    """A component, and its place among all components of the written pattern, from 1.

    Of an iteration: of which group, and which one, from 1. Of a member of a set: the place of the
    first one.
    """

    component: ast.Component
    place: int
    iteration: tuple[str, int] | None = None
    of_set: int | None = None

    @property
    def name(self) -> str:
        """The variable, or type and place: `A_1`, `ANY_2`."""
        if self.component.variable:
            return self.component.variable.text.partition(OF_ITERATION)[0]
        test = self.component.test
        return f"{test.name.text if isinstance(test, ast.TypeTest) else 'ANY'}_{self.place}"


@dataclass(frozen=True)
class NegativeGroup:
    """`!(P)`, P being one branch of the written group; `written` has the elements of all of them.

    Of an iteration: of which group, and which one, from 1.
    """

    elements: tuple[Element, ...]
    written: tuple[Element, ...]
    iteration: tuple[str, int] | None = None

    @property
    def names(self) -> frozenset[str]:
        """The variables of this branch."""
        return frozenset(element.name for element in self.elements)

    @property
    def others(self) -> frozenset[str]:
        """The variables that only other branches of the same group have."""
        return frozenset(element.name for element in self.written) - self.names


@dataclass(frozen=True)
class RepeatedGroup:
    """`(P)+ g[]`: iterations, each of one of the branches of P."""

    name: str
    quantifier: ast.Quantifier
    branches: tuple[Branch, ...]

    @property
    def names(self) -> frozenset[str]:
        """All variables inside, those of `(…)? h` included."""
        inside = frozenset(element.name for element in _all(self.branches))
        return inside | self.groups

    @property
    def groups(self) -> frozenset[str]:
        """The variables of `(…)? h` inside."""
        return frozenset(name for branch in self.branches for name in branch.groups)

    @property
    def negative_names(self) -> frozenset[str]:
        """The variables of negative elements inside."""
        negated = frozenset(each.name for each in _all(self.branches) if each.component.negated)
        return negated | _forbidding(self.branches)

    @property
    def most(self) -> float:
        """How many iterations it has at most."""
        return inf if self.quantifier.maximum is None else self.quantifier.maximum

    @property
    def columns(self) -> tuple[Element, ...]:
        """A field for each positive variable inside, where it is first written."""
        return columns([element for branch in self.branches for element in branch.elements])


@dataclass(frozen=True)
class Branch:
    """Elements that follow one another, and which `(…)? g` are there."""

    parts: tuple[Element | NegativeGroup | RepeatedGroup, ...] = ()
    groups: frozenset[str] = frozenset()
    # Of each repeated group of an unrolled branch: which branch each iteration is of.
    iterations: tuple[tuple[RepeatedGroup, tuple[Branch, ...]], ...] = ()

    @property
    def elements(self) -> tuple[Element, ...]:
        """The components outside of negative groups."""
        return tuple(part for part in self.parts if isinstance(part, Element))

    @property
    def names(self) -> frozenset[str]:
        """All variables, those in groups and of repeated groups included."""
        groups = frozenset(part.name for part in self.parts if isinstance(part, RepeatedGroup))
        return groups | frozenset(element.name for element in _within(self.parts))


@dataclass(frozen=True)
class Pattern:
    """A written pattern: its branches in their order."""

    branches: tuple[Branch, ...]

    @property
    def groups(self) -> frozenset[str]:
        """All groups `(…)? g`, those inside of repeated groups included."""
        inside = (each.groups for each in self.repeated)
        return frozenset().union(*(each.groups for each in self.branches), *inside)

    @property
    def forbidding(self) -> frozenset[str]:
        """The variables of the components inside of negative groups."""
        repeated = (each.branches for each in self.repeated)
        return _forbidding((*self.branches, *chain.from_iterable(repeated)))

    @property
    def elements(self) -> tuple[Element, ...]:
        """Every component as it is written, from left to right."""
        within = (element for branch in self.branches for element in _within(branch.parts))
        by_place = {element.place: element for element in within}
        return tuple(by_place[place] for place in sorted(by_place))

    @property
    def repeated(self) -> tuple[RepeatedGroup, ...]:
        """The repeated groups, each with the branches of all its places."""
        by_name: dict[str, RepeatedGroup] = {}
        for part in dict.fromkeys(part for branch in self.branches for part in branch.parts):
            if isinstance(part, RepeatedGroup):
                before = by_name[part.name].branches if part.name in by_name else ()
                by_name[part.name] = replace(part, branches=before + part.branches)
        return tuple(by_name.values())

    @property
    def names(self) -> frozenset[str]:
        """All variables, those of repeated groups included."""
        groups = frozenset(group.name for group in self.repeated)
        return groups | frozenset(element.name for element in self.elements)

    @property
    def columns(self) -> tuple[Element | RepeatedGroup, ...]:
        """A column for each positive variable, where it is first written."""
        inside = {each.place: group for group in self.repeated for each in _all(group.branches)}
        within = [each for each in self.elements if each.name not in self.forbidding]
        found = [inside.get(each.place) or each for each in columns(within)]
        return tuple(dict.fromkeys(found))

    @property
    def negative_names(self) -> frozenset[str]:
        """The variables of negative elements."""
        negated = {each.name for each in self.elements if each.component.negated}
        return self.forbidding | negated

    @property
    def of_several_types(self) -> frozenset[str]:
        """The variables with a type test that differs between their places."""
        tests: dict[str, set[ast.TypeTest | ast.AnyTest]] = {}
        for element in self.elements:
            tests.setdefault(element.name, set()).add(element.component.test)
        return frozenset(name for name, several in tests.items() if len(several) > 1)


def columns(elements: Sequence[Element]) -> tuple[Element, ...]:
    """The positive elements, for each variable the first."""
    by_name: dict[str, Element] = {}
    for element in elements:
        if not element.component.negated:
            by_name.setdefault(element.name, element)
    return tuple(by_name.values())


def written_out(pattern: ast.Pattern) -> Pattern:
    """The branches of a pattern."""
    branches = _counted(tuple(_branches(pattern, count(1))))
    if len(branches) > MOST_BRANCHES:
        raise ValueError(f"{len(branches)} branches")
    for branch in branches:
        if not any(map(must_bind, branch.parts)):
            raise ValueError("a branch without a positive element that cannot be empty")
    return Pattern(branches)


def _counted(branches: tuple[Branch, ...]) -> tuple[Branch, ...]:
    """With a single event as a series of one, where its variable has a `?` in another branch."""
    single = [each for branch in branches for each in branch.parts if isinstance(each, Element)]
    quantifiers = [(each.name, each.component.quantifier) for each in single]
    optional = {name for name, each in quantifiers if each is not None and each.symbol == "?"}

    def counted(
        part: Element | NegativeGroup | RepeatedGroup,
    ) -> Element | NegativeGroup | RepeatedGroup:
        if not isinstance(part, Element) or part.name not in optional:
            return part
        if part.component.quantifier is not None:
            return part
        quantifier = ast.Quantifier("?", 1, 1, span=part.component.span)
        return replace(part, component=replace(part.component, quantifier=quantifier))

    return tuple(replace(each, parts=tuple(map(counted, each.parts))) for each in branches)


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
        case ast.SetOf(members, False):
            return [Branch(_members(members, places))]
        case ast.Group(inner, None, None, True):
            return [Branch(tuple(_negative_groups(_branches(inner, places))))]
        case ast.Group(inner, None, None, False):
            return _branches(inner, places)
        case ast.Group(inner, variable, ast.Quantifier("?"), False):
            here = frozenset([variable.text] if variable else [])
            there = [Branch(each.parts, each.groups | here) for each in _branches(inner, places)]
            return [*there, Branch()]
        case ast.Group(inner, variable, ast.Quantifier() as quantifier, False):
            within = tuple(_branches(inner, places))
            first = min(element.place for element in _all(within))
            name = variable.text if variable else f"group_{first}"
            return [Branch((_repeated(name, quantifier, within),))]
        case _:
            raise NotImplementedError(f"{type(pattern).__name__} in a pattern")


def _members(members: Sequence[ast.PatternPart], places: Iterator[int]) -> tuple[Element, ...]:
    """docs/semantics.md, Sets: single components and series, of which one cannot be empty."""
    first, found = None, list[Element]()
    for member in members:
        if not isinstance(member, ast.Component) or member.negated:
            raise ValueError("a member of a set that is neither a single component nor a series")
        place = next(places)
        first = place if first is None else first
        found.append(Element(member, place, of_set=first))
    if not any(map(must_bind, found)):
        raise ValueError("a set that can be empty")
    return tuple(found)


def _joined(parts: tuple[Branch, ...]) -> Branch:
    """One branch of each part after the other."""
    return Branch(
        tuple(element for part in parts for element in part.parts),
        frozenset().union(*(part.groups for part in parts)),
    )


def _repeated(name: str, quantifier: ast.Quantifier, branches: tuple[Branch, ...]) -> RepeatedGroup:
    if any(isinstance(part, RepeatedGroup) for branch in branches for part in branch.parts):
        raise NotImplementedError("a repeated group in a repeated group")
    if not all(any(map(must_bind, branch.parts)) for branch in branches):
        raise NotImplementedError("a group whose iteration can be empty")
    for branch in branches:
        _refuse_sets(branch.elements)
        _refuse_negative_edges(branch.parts)
    return RepeatedGroup(name, quantifier, branches)


def _negative_groups(branches: list[Branch]) -> Iterator[NegativeGroup]:
    """`!(P OR Q)` is `!(P), !(Q)`."""
    for branch in branches:
        if len(branch.parts) > len(branch.elements) or branch.groups:
            raise ValueError("a negative group in a negative group, or `(…)? g`")
        _refuse_sets(branch.elements)
        _refuse_negative_edges(branch.elements)
    written = tuple(element for branch in branches for element in branch.elements)
    for branch in branches:
        yield NegativeGroup(branch.elements, written)


def _refuse_sets(elements: tuple[Element, ...]) -> None:
    if any(element.of_set is not None for element in elements):
        raise ValueError("a set in a repeated or negative group")


def _refuse_negative_edges(parts: Sequence[Element | NegativeGroup | RepeatedGroup]) -> None:
    """A negative element inside is between neighbours that cannot be empty."""
    negative = [n for n, each in enumerate(parts) if _is_negative(each)]
    for number in negative:
        before = [n for n in range(number) if n not in negative][-1:]
        after = [n for n in range(number, len(parts)) if n not in negative][:1]
        if not before or not after or not all(must_bind(parts[n]) for n in before + after):
            raise ValueError("a negative element at the edge of a group")


def _is_negative(part: Element | NegativeGroup | RepeatedGroup) -> bool:
    return isinstance(part, NegativeGroup) or (isinstance(part, Element) and part.component.negated)


def _forbidding(branches: Iterable[Branch]) -> frozenset[str]:
    """The variables of the components of negative groups."""
    parts = (part for branch in branches for part in branch.parts)
    groups = (part for part in parts if isinstance(part, NegativeGroup))
    return frozenset(element.name for group in groups for element in group.written)


def _within(parts: tuple[Element | NegativeGroup | RepeatedGroup, ...]) -> Iterator[Element]:
    """All components, those in groups included."""
    for part in parts:
        match part:
            case Element():
                yield part
            case NegativeGroup():
                yield from part.elements
            case RepeatedGroup():
                yield from _all(part.branches)


def _all(branches: tuple[Branch, ...]) -> Iterator[Element]:
    for branch in branches:
        yield from _within(branch.parts)


def must_bind(part: Element | NegativeGroup | RepeatedGroup) -> bool:
    """Whether an element is positive and cannot be empty."""
    match part:
        case Element(component):
            least = component.quantifier.minimum if component.quantifier else 1
            return not component.negated and least > 0
        case RepeatedGroup():
            return part.quantifier.minimum > 0
    return False


# ---------------------------------------------------------------- iterations


def unrolled(branch: Branch, events: int, *, begun: bool) -> Iterator[Branch]:
    """docs/semantics.md, Repeated groups: a branch for each way to choose iterations.

    Each iteration binds an event, so there are no more of them than events. With `begun` the last
    iteration need not come to its end: the events that can begin it matter to skip till next match.
    """
    if not branch.parts:
        yield Branch(groups=branch.groups)
        return
    first, rest = branch.parts[0], Branch(branch.parts[1:], branch.groups)
    for after in unrolled(rest, events, begun=begun):
        if not isinstance(first, RepeatedGroup):
            yield Branch((first, *after.parts), branch.groups, after.iterations)
            continue
        least, most = first.quantifier.minimum, int(min(first.most, events))
        made = _iterations(first, most)
        for number in range(least, most + 1):
            for places in product(range(len(first.branches)), repeat=number):
                parts = [part for count, place in enumerate(places) for part in made[count][place]]
                chosen = tuple(first.branches[place] for place in places)
                last = parts[-1].iteration if parts and begun else None
                whole = [each for each in parts if not last or each.iteration != last]
                if sum(map(must_bind, whole)) + bool(last) <= events:
                    yield Branch(
                        (*parts, *after.parts), branch.groups, ((first, chosen), *after.iterations)
                    )


def _iterations(group: RepeatedGroup, most: int) -> list[list[list[Element | NegativeGroup]]]:
    """The parts of each branch in each iteration."""
    return [
        [[_of_iteration(part, group.name, count) for part in of.parts] for of in group.branches]
        for count in range(1, most + 1)
    ]


def _of_iteration(
    part: Element | NegativeGroup | RepeatedGroup, group: str, number: int
) -> Element | NegativeGroup:
    """The part with variables of their own for this iteration."""
    assert not isinstance(part, RepeatedGroup)
    if isinstance(part, NegativeGroup):
        elements, written = (
            tuple(_element_of_iteration(each, group, number) for each in each_of)
            for each_of in (part.elements, part.written)
        )
        return NegativeGroup(elements, written, (group, number))
    return _element_of_iteration(part, group, number)


def _element_of_iteration(element: Element, group: str, number: int) -> Element:
    variable = element.component.variable
    own = variable and replace(variable, text=of_iteration(variable.text, number))
    return Element(replace(element.component, variable=own), element.place, (group, number))


def of_iteration(variable: str, number: int) -> str:
    """The name of a variable of a group in one iteration."""
    return f"{variable}{OF_ITERATION}{number}"


def of_iterations_up_to(variable: str, number: int) -> str:
    """The name that represents a variable of a group in all iterations from the first to one."""
    return f"{variable}{OF_ITERATION}1-{number}"


def iterations_of(name: str) -> list[str] | None:
    """The names of a variable in the iterations that `of_iterations_up_to` represents."""
    variable, _, numbers = name.partition(OF_ITERATION)
    first, to, last = numbers.partition("-")
    return [of_iteration(variable, n) for n in range(int(first), int(last) + 1)] if to else None
