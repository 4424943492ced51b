"""Bind the EVENT clause: components, their variables, and the types they admit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from sase.binding.bound import BoundComponent, IterationBranch, RepeatedGroup
from sase.binding.branches import (
    Placed,
    PlacedComponent,
    PlacedGroup,
    WrittenBranch,
    WrittenPattern,
    written_out,
)
from sase.binding.folding import INT64_MAX
from sase.binding.scope import Scope
from sase.lang import ast
from sase.nearest import did_you_mean
from sase.source import Span

# Each is a bit of what an event may be; a bit more says that it counts whatever it is.
MOST_COMPONENTS = 62
# Codes of types have 16 bits; all that neither the query nor the schema names share one more.
MOST_TYPES = 2**15 - 2


@dataclass(frozen=True, slots=True)
class BoundBranch:
    """The components of a branch, and the variables of groups with `?` that it has."""

    components: tuple[BoundComponent, ...]
    present: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class BoundPattern:
    """The components of the whole pattern, one for each variable, and its branches.

    `written` is how many components are written; `choices` are the variables of groups with `?`.
    """

    components: tuple[BoundComponent, ...]
    branches: tuple[BoundBranch, ...]
    written: int
    choices: frozenset[str] = frozenset()


def bind_pattern(pattern: ast.Pattern, scope: Scope) -> BoundPattern | None:
    """The branches of a pattern, or None where it uses what is not supported yet."""
    written = written_out(pattern, scope)
    if written is None:
        return None
    longest = max((_written_in(branch.components) for branch in written.branches), key=len)
    if len(longest) > MOST_COMPONENTS:
        _refuse_too_many([each.part for each in longest], scope)
        return None
    every = [_component(each.part, each.place, scope) for each in written.components]
    _check_types(pattern.span, every, scope)
    _check_variables(written, every, scope)
    inside = {each.place for group in written.groups for each in group.components}
    groups = {each.place: _group(each, every, scope) for each in written.groups}
    outside = {each.index: each for each in every if each.index not in inside} | groups
    whole = _by_variable([outside[place] for place in sorted(outside)])
    differing = {each.key for each in whole if each.is_any and each.group is None}
    branches = tuple(_branch(each, outside, differing) for each in written.branches)
    for number, branch in enumerate(branches, 1):
        which = f"branch {number} of {len(branches)}" if len(branches) > 1 else ""
        if not _check_positive(pattern.span, branch.components, which, scope):
            break
    choices = frozenset(name.text for name in written.choices)
    return BoundPattern(whole, branches, len(every), choices)


def _branch(
    branch: WrittenBranch, by_place: Mapping[int, BoundComponent], differing: Set[tuple[bool, str]]
) -> BoundBranch:
    """The components of a branch, numbered in it.

    A variable that stands for other types elsewhere is treated as one of `ANY` of them all.
    """
    own = [by_place[each.place] for each in branch.components]
    components = tuple(
        replace(each, index=index, is_any=each.is_any or each.key in differing)
        for index, each in enumerate(own)
    )
    return BoundBranch(components, branch.present)


def _group(group: PlacedGroup, every: list[BoundComponent], scope: Scope) -> BoundComponent:
    """A repeated group as a component: its types are those of all that is in it."""
    inside = {each.place: every[each.place] for each in group.components}
    variables = _by_variable(list(inside.values()))
    keys = [each.key for each in variables]
    differing = {each.key for each in variables if each.is_any}
    branches = []
    for written in group.branches:
        bound = _branch(written, inside, differing)
        numbers = tuple(keys.index(each.key) for each in bound.components)
        branches.append(IterationBranch(bound.components, numbers, present=bound.present))
    part, quantifier = group.part, group.part.quantifier
    assert quantifier is not None
    _check_quantifier(part, quantifier, scope)
    admitted = [each.types for each in variables]
    types = tuple(dict.fromkeys(name for each in admitted for name in each or ()))
    return BoundComponent(
        group.place,
        part.variable.text if part.variable else f"group_{group.place + 1}",
        named=part.variable is not None,
        types=None if None in admitted else types,
        is_any=None in admitted or len(types) > 1,
        minimum=quantifier.minimum,
        maximum=quantifier.maximum,
        is_series=True,
        group=RepeatedGroup(
            variables, tuple(branches), frozenset(name.text for name in group.choices)
        ),
        span=part.span,
    )


def _written_in(components: Iterable[Placed]) -> list[PlacedComponent]:
    """The components, and in the place of a repeated group those inside."""
    return [
        part
        for each in components
        for part in (each.components if isinstance(each, PlacedGroup) else (each,))
    ]


def _by_variable(every: list[BoundComponent]) -> tuple[BoundComponent, ...]:
    """A component for each variable, in the order of first writing: with all types of any place."""
    found: dict[tuple[bool, str], BoundComponent] = {}
    for each in every:
        known = found.get(each.key)
        found[each.key] = each if known is None else _united(known, each)
    return tuple(replace(each, index=index) for index, each in enumerate(found.values()))


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
    """What may be in an iteration of a group of several places."""
    if one is None or other is None:
        return None  # of which one is an error
    variables = _by_variable([*one.variables, *other.variables])
    keys = [each.key for each in variables]
    branches = (
        replace(each, variables=tuple(keys.index(element.key) for element in each.elements))
        for each in (*one.branches, *other.branches)
    )
    return RepeatedGroup(variables, tuple(branches), one.choices | other.choices)


def _refuse_too_many(written: Sequence[ast.Component], scope: Scope) -> None:
    first, last = written[MOST_COMPONENTS].span, written[-1].span
    scope.problems.error(
        "too-many-components",
        f"a pattern has at most {MOST_COMPONENTS} components, and this has {len(written):,}",
        Span(first.start, last.end),
        "bind what repeats as a series, such as  A{70} a[]",
    )


def _check_types(span: Span, components: Iterable[BoundComponent], scope: Scope) -> None:
    named = (name for component in components for name in component.types or ())
    count = len({*(scope.schema.type_names or ()), *named})
    if count > MOST_TYPES:
        scope.problems.error(
            "too-many-types",
            f"the schema and the query name {count:,} types, and there can be {MOST_TYPES:,}",
            span,
            "tell events apart by a condition, such as  x.kind IN ('a', 'b')",
        )


def _component(part: ast.Component, index: int, scope: Scope) -> BoundComponent:
    quantifier = part.quantifier
    types = tuple(_types(part.test, scope))
    is_any = isinstance(part.test, ast.AnyTest)
    label = "ANY" if is_any else types[0]
    component = BoundComponent(
        index,
        part.variable.text if part.variable else f"{label}_{index + 1}",
        named=part.variable is not None,
        types=types or None,
        is_any=is_any,
        negated=part.negated,
        minimum=quantifier.minimum if quantifier else 1,
        maximum=quantifier.maximum if quantifier else 1,
        is_series=quantifier is not None and quantifier.symbol != "?",
        span=part.span,
    )
    if quantifier:
        _check_quantifier(part, quantifier, scope)
    return component


def _types(test: ast.TypeTest | ast.AnyTest, scope: Scope) -> Iterator[str]:
    known = scope.schema.type_names
    for name in [test.name] if isinstance(test, ast.TypeTest) else test.names:
        yield name.text
        if known is not None and name.text not in known:
            scope.problems.error(
                "unknown-type",
                f"there is no event type `{name.text}`",
                name.span,
                *(did_you_mean(name.text, known) or (_listed("the types are", known),)),
            )


def _listed(lead: str, names: tuple[str, ...] | list[str], most: int = 12) -> str:
    shown = ", ".join(names[:most]) + (", …" if len(names) > most else "")
    return f"{lead} {shown}" if names else "none is known"


def _check_quantifier(
    part: ast.Component | ast.Group, quantifier: ast.Quantifier, scope: Scope
) -> None:
    error = scope.problems.error
    maximum = quantifier.maximum
    counted = "events" if isinstance(part, ast.Component) else "iterations"
    if part.negated:
        error(
            "negative-series",
            "a negative component stands for the absence of one event: it takes no + * ? or {n}",
            quantifier.span,
            "leave the quantifier out: no event of the kind may occur, so neither may several",
        )
    elif max(quantifier.minimum, maximum or 0) > INT64_MAX:
        error(
            "integer-out-of-range",
            f"no stream has so many {counted}: the greatest bound is {INT64_MAX}",
            quantifier.span,
            "leave the upper bound out for any number:  {1,}",
        )
    elif maximum == 0:
        error(
            "empty-series",
            "a component that may take no event at all can match nothing"
            if isinstance(part, ast.Component)
            else "a group that may have no iteration at all can match nothing",
            quantifier.span,
            "write  {1}  or more, or forbid the events with  !(…)",
        )
    elif maximum is not None and maximum < quantifier.minimum:
        error(
            "empty-series",
            f"no series has at least {quantifier.minimum} and at most {maximum} {counted}",
            quantifier.span,
            f"write  {{{maximum},{quantifier.minimum}}}",
        )


@dataclass(frozen=True, slots=True)
class _Naming:
    """A place where a variable is given, what it stands for there, and in which group."""

    name: ast.Name
    way: str
    home: PlacedGroup | None = None

    @property
    def described(self) -> str:
        """What it stands for, and where."""
        if self.home is None:
            return self.way
        variable = self.home.part.variable
        return f"{self.way} of {f'the group `{variable.text}`' if variable else 'a group'}"

    @property
    def key(self) -> tuple[str, str | None]:
        """What is the same wherever a variable may stand again."""
        if self.home is None:
            return self.way, None
        variable = self.home.part.variable
        return self.way, variable.text if variable else f"at {self.home.place}"


def _check_variables(written: WrittenPattern, every: list[BoundComponent], scope: Scope) -> None:
    """A variable stands once in a branch, and everywhere for one event, a series, or a group."""
    homes = {each.place: group for group in written.groups for each in group.components}
    namings = {
        each.part.variable.span: _Naming(
            each.part.variable, _way(every[each.place]), homes.get(each.place)
        )
        for each in written.components
        if each.part.variable
    }
    for group in written.groups:
        if group.part.variable:
            naming = _Naming(group.part.variable, "a repeated group")
            namings[group.part.variable.span] = naming
    twice = {span for branch in written.branches for span in _named_twice(branch.components)}
    for span in sorted(twice):
        name = namings[span].name
        scope.problems.error(
            "duplicate-variable",
            f"there is already a component called `{name.text}`",
            span,
            "give each component a variable of its own",
        )
    _check_choices(written, {each.name.text for each in namings.values()}, scope)
    first: dict[str, _Naming] = {}
    for span in sorted(namings):
        naming = namings[span]
        before = first.setdefault(naming.name.text, naming)
        if span not in twice and before.key != naming.key:
            scope.problems.error(
                "variable-in-two-ways",
                f"`{naming.name.text}` is {naming.described} here, and {before.described} before",
                span,
                "give one of them another name",
            )


def _named_twice(components: Iterable[Placed]) -> Iterator[Span]:
    """Where a branch names what is in it already; each branch of an iteration by itself."""
    seen: set[str] = set()
    for each in components:
        if each.part.variable:
            if each.part.variable.text in seen:
                yield each.part.variable.span
            seen.add(each.part.variable.text)
        if isinstance(each, PlacedGroup):
            for branch in each.branches:
                yield from _named_twice(branch.components)
            inside = [inner.part.variable for inner in each.components if inner.part.variable]
            yield from (name.span for name in inside if name.text in seen)
            seen.update(name.text for name in inside)


def _way(component: BoundComponent) -> str:
    """What a variable stands for."""
    if component.negated:
        return "an event that must not occur"
    return "a series of events" if component.is_series else "one event"


def _check_choices(written: WrittenPattern, taken: Set[str], scope: Scope) -> None:
    seen: set[str] = set()
    inside = (name for group in written.groups for name in group.choices)
    for name in (*written.choices, *inside):
        if name.text in taken or name.text in seen:
            scope.problems.error(
                "duplicate-variable",
                f"`{name.text}` is the name of something else already",
                name.span,
                "give the group a name of its own, or none",
            )
        seen.add(name.text)


def _check_positive(
    span: Span, components: tuple[BoundComponent, ...], which: str, scope: Scope
) -> bool:
    if any(not component.negated and component.minimum > 0 for component in components):
        return True
    lacking = "every component here is negative or optional" if components else "it has none at all"
    scope.problems.error(
        "nothing-positive",
        f"{which or 'a pattern'} needs an event that must occur: {lacking}",
        span,
        "add a component, such as  A x , or make one of them take at least one event",
    )
    return False
