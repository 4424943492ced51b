"""Bind the EVENT clause: components, their variables, and the types they admit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import count

from sase.base.texts import did_you_mean
from sase.binding.bound import BoundComponent, BoundNegation, IterationBranch, RepeatedGroup
from sase.binding.names.scope import Scope
from sase.binding.pattern.branches import (
    PlacedComponent,
    PlacedGroup,
    WrittenBranch,
    by_variable,
    refuse_negative_series,
    written_out,
)
from sase.binding.pattern.naming import check_variables, written_in
from sase.binding.values.folding import INT64_MAX
from sase.lang import ast
from sase.source import Span

# Each component is a bit in the state of an event; one more bit marks events that only count.
MOST_COMPONENTS = 62
# Codes of types have 16 bits; all types that neither query nor schema name share one code.
MOST_TYPES = 2**15 - 2


@dataclass(frozen=True, slots=True)
class BoundBranch:
    """The components of a branch, and the variables of groups with `?` that it contains.

    `negations` are its negative sequences, without conjuncts. `alternatives` maps a component that
    is a whole alternative to its negative group.
    """

    components: tuple[BoundComponent, ...]
    present: frozenset[str] = frozenset()
    negations: tuple[BoundNegation, ...] = ()
    alternatives: Mapping[int, int] = field(default_factory=dict)

    @property
    def every(self) -> tuple[BoundComponent, ...]:
        """Its components, then those of its negative sequences, then those inside groups."""
        inside = (each for negation in self.negations for each in negation.components)
        groups = (each.group for each in self.components if each.group is not None)
        return (*self.components, *inside, *(c for group in groups for c in group.forbidding))


@dataclass(frozen=True, slots=True)
class BoundPattern:
    """The components of the whole pattern, one for each variable, and its branches.

    `written` is the number of components in the text; `choices` are the variables of groups with
    `?`. `alternatives` maps a component that is a whole alternative to its negative group.
    """

    components: tuple[BoundComponent, ...]
    branches: tuple[BoundBranch, ...]
    written: int
    choices: frozenset[str] = frozenset()
    alternatives: Mapping[int, int] = field(default_factory=dict)

    @property
    def is_plain(self) -> bool:
        """Whether it has a single branch and no negative groups."""
        has_groups = bool(self.alternatives) or any(c.inside is not None for c in self.components)
        return len(self.branches) == 1 and not has_groups


def bind_pattern(pattern: ast.Pattern, scope: Scope) -> BoundPattern | None:
    """Bind the branches of a pattern; None after an error."""
    written = written_out(pattern, scope)
    if written is None:
        return None
    longest = max((written_in(branch.every) for branch in written.branches), key=len)
    if len(longest) > MOST_COMPONENTS:
        _refuse_too_many([each.part for each in longest], scope)
        return None
    every = [_component(each, scope) for each in written.components]
    branches_of = (written.branches, *(each.branches for each in written.groups))
    sequences = [n for branches in branches_of for branch in branches for n in branch.negations]
    within = {each.place: n.group for n in sequences for each in n.components}
    every = [replace(each, inside=within.get(place)) for place, each in enumerate(every)]
    _check_types(pattern.span, every, scope)
    check_variables(written, every, scope)
    inside = {each.place for group in written.groups for each in group.components}
    inside -= within.keys()
    groups = {each.place: _group(each, every, scope) for each in written.groups}
    outside = {each.index: each for each in every if each.index not in inside} | groups
    whole = by_variable([outside[place] for place in sorted(outside)])
    differing = {each.key for each in whole if each.is_any and each.group is None}
    optional = {each.key for each in whole if each.is_optional}
    branches = tuple(
        _ranked(_branch(each, outside, differing, optional), whole) for each in written.branches
    )
    if any(_elements(each) > MOST_COMPONENTS for each in branches):
        _refuse_too_many_elements(pattern, max(map(_elements, branches)), scope)
        return None
    for number, branch in enumerate(branches, 1):
        which = f"branch {number} of {len(branches)}" if len(branches) > 1 else ""
        if not _check_positive(pattern.span, branch.components, which, scope):
            break
    choices = frozenset(name.text for name in written.choices)
    alone = {
        every[each.place].key: each.group
        for branch in written.branches
        for each in branch.alone
        if each.group is not None
    }
    alternatives = {each.index: alone[each.key] for each in whole if each.key in alone}
    return BoundPattern(whole, branches, len(every), choices, alternatives)


def _branch(
    branch: WrittenBranch,
    by_place: Mapping[int, BoundComponent],
    differing: Set[tuple[bool, str]],
    optional: Set[tuple[bool, str]] = frozenset(),
) -> BoundBranch:
    """The components of a branch, numbered within it.

    A variable with other types in another branch is treated as `ANY` of them all, and one that is
    `optional` elsewhere as a series.
    """
    own = [by_place[each.place] for each in branch.every]
    sets = list(dict.fromkeys(each.set_of for each in own if each.set_of is not None))
    components = tuple(
        replace(
            each,
            index=index,
            is_any=each.is_any or each.key in differing,
            is_counted=each.key in optional and each.is_single,
            set_of=None if each.set_of is None else sets.index(each.set_of),
        )
        for index, each in enumerate(own)
    )
    begin = len(branch.components)
    placed = [(n, c) for n, c in enumerate(branch.components) if isinstance(c, PlacedComponent)]
    alternatives = {n: each.group for n, each in placed if each.group is not None}
    negations = []
    for each in branch.negations:
        inside, begin = components[begin : (end := begin + len(each.components))], end
        negations.append(BoundNegation(inside, each.position, span=each.span))
    numbers = count(len(components))
    return BoundBranch(
        tuple(_numbered(c, numbers, differing) for c in components[: len(branch.components)]),
        branch.present,
        tuple(negations),
        alternatives,
    )


def _ranked(branch: BoundBranch, whole: Sequence[BoundComponent]) -> BoundBranch:
    """Number the variables of a branch with sets in pattern order, if that differs."""
    if all(each.set_of is None for each in branch.components):
        return branch
    positive = [each.key for each in whole if not each.is_absent]
    ranks = {key: rank for rank, key in enumerate(positive)}
    own = [ranks[each.key] for each in branch.components if each.key in ranks]
    if own == sorted(own):
        return branch
    components = tuple(replace(each, written=ranks.get(each.key)) for each in branch.components)
    return replace(branch, components=components)


def _numbered(
    component: BoundComponent, numbers: Iterator[int], differing: Set[tuple[bool, str]]
) -> BoundComponent:
    """Give the negative sequences of a component's group the next numbers."""
    if component.group is None:
        return component

    def numbered(negation: BoundNegation) -> BoundNegation:
        components = (
            replace(each, index=next(numbers), is_any=each.is_any or each.key in differing)
            for each in negation.components
        )
        return replace(negation, components=tuple(components))

    branches = tuple(
        replace(each, negations=tuple(map(numbered, each.negations)))
        for each in component.group.branches
    )
    return replace(component, group=replace(component.group, branches=branches))


def _group(group: PlacedGroup, every: list[BoundComponent], scope: Scope) -> BoundComponent:
    """A repeated group as a component that admits the types of everything inside."""
    inside = {each.place: every[each.place] for each in group.components}
    variables = by_variable([each for each in inside.values() if each.inside is None])
    keys = [each.key for each in variables]
    differing = {each.key for each in variables if each.is_any}
    branches = []
    for written in group.branches:
        bound = _branch(written, inside, differing)
        numbers = tuple(keys.index(each.key) for each in bound.components)
        branches.append(
            IterationBranch(
                bound.components, numbers, present=bound.present, negations=bound.negations
            )
        )
    part, quantifier = group.part, group.part.quantifier
    assert quantifier is not None
    _check_quantifier(part, quantifier, scope)
    admitted = [each.types for each in inside.values()]
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


def _refuse_too_many(written: Sequence[ast.Component], scope: Scope) -> None:
    first, last = written[MOST_COMPONENTS].span, written[-1].span
    scope.problems.error(
        "too-many-components",
        f"a pattern has at most {MOST_COMPONENTS} components, and this has {len(written):,}",
        Span(first.start, last.end),
        "bind the repeated component as a series, such as  A{70} a[]",
    )


def _elements(branch: BoundBranch) -> int:
    """Count the positive components; those of a repeated group once for each branch with them.

    The longest negative sequence is added, since each match is searched for one.
    """
    inside = [b for each in branch.components if each.group for b in each.group.branches]
    elements = [each for b in inside for each in b.elements]
    elements += [each for each in branch.components if each.group is None]
    negations = [*branch.negations, *(n for b in inside for n in b.negations)]
    longest = max((_positive(each.components) for each in negations), default=0)
    return _positive(elements) + longest


def _positive(components: Iterable[BoundComponent]) -> int:
    return sum(1 for each in components if not each.negated)


def _refuse_too_many_elements(pattern: ast.Pattern, number: int, scope: Scope) -> None:
    scope.problems.error(
        "too-many-components",
        f"a pattern has at most {MOST_COMPONENTS} components, where those of a repeated group count"
        f" once for each way to write an iteration: this has {number:,}",
        pattern.span,
        "give the group fewer choices, such as by a component of several types:  ANY(B, C) x",
    )


def _check_types(span: Span, components: Iterable[BoundComponent], scope: Scope) -> None:
    named = (name for component in components for name in component.types or ())
    number = len({*(scope.schema.type_names or ()), *named})
    if number > MOST_TYPES:
        scope.problems.error(
            "too-many-types",
            f"the schema and the query name {number:,} types, and there can be {MOST_TYPES:,}",
            span,
            "tell events apart by a condition, such as  x.kind IN ('a', 'b')",
        )


def _component(placed: PlacedComponent, scope: Scope) -> BoundComponent:
    part, index = placed.part, placed.place
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
        set_of=placed.set_of,
        span=part.span,
    )
    if quantifier:
        _check_quantifier(part, quantifier, scope)
    return component


def _types(test: ast.TypeTest | ast.AnyTest, scope: Scope) -> Iterator[str]:
    known = scope.schema.type_names
    for name in [test.name] if isinstance(test, ast.TypeTest) else test.names:
        yield name.text
        if known is not None and name.text not in known and not scope.schema.has_others:
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
        refuse_negative_series(part, quantifier, scope)
    elif max(quantifier.minimum, maximum or 0) > INT64_MAX:
        error(
            "integer-out-of-range",
            f"no stream has that many {counted}: the greatest bound is {INT64_MAX}",
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
