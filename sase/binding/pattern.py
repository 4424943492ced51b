"""Bind the EVENT clause: components, their variables, and the types they admit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass, replace

from sase.binding.bound import BoundComponent
from sase.binding.branches import WrittenBranch, WrittenPattern, written_out
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
    longest = max(written.branches, key=lambda branch: len(branch.components)).components
    if len(longest) > MOST_COMPONENTS:
        _refuse_too_many([each.part for each in longest], scope)
        return None
    every = [_component(each.part, each.place, scope) for each in written.components]
    _check_types(pattern.span, every, scope)
    _check_variables(written, every, scope)
    whole = _by_variable(every)
    differing = {each.key for each in whole if each.is_any}
    branches = tuple(_branch(each, every, differing) for each in written.branches)
    for number, branch in enumerate(branches, 1):
        which = f"branch {number} of {len(branches)}" if len(branches) > 1 else ""
        if not _check_positive(pattern.span, branch.components, which, scope):
            break
    choices = frozenset(name.text for name in written.choices)
    return BoundPattern(whole, branches, len(every), choices)


def _branch(
    branch: WrittenBranch, every: list[BoundComponent], differing: Set[tuple[bool, str]]
) -> BoundBranch:
    """The components of a branch, numbered in it.

    A variable that stands for other types elsewhere is treated as one of `ANY` of them all.
    """
    own = [every[each.place] for each in branch.components]
    components = tuple(
        replace(each, index=index, is_any=each.is_any or each.key in differing)
        for index, each in enumerate(own)
    )
    return BoundBranch(components, branch.present)


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
    )


def _refuse_too_many(written: list[ast.Component], scope: Scope) -> None:
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


def _check_quantifier(part: ast.Component, quantifier: ast.Quantifier, scope: Scope) -> None:
    error = scope.problems.error
    maximum = quantifier.maximum
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
            f"no stream has so many events: the greatest bound is {INT64_MAX}",
            quantifier.span,
            "leave the upper bound out for any number:  {1,}",
        )
    elif maximum == 0:
        error(
            "empty-series",
            "a component that may take no event at all can match nothing",
            quantifier.span,
            "write  {1}  or more, or forbid the events with  !(…)",
        )
    elif maximum is not None and maximum < quantifier.minimum:
        error(
            "empty-series",
            f"no series has at least {quantifier.minimum} and at most {maximum} events",
            quantifier.span,
            f"write  {{{maximum},{quantifier.minimum}}}",
        )


def _check_variables(written: WrittenPattern, every: list[BoundComponent], scope: Scope) -> None:
    """A variable stands once in a branch, and everywhere for one event, or for a series."""
    named = {each.place: each.part.variable for each in written.components if each.part.variable}
    twice: set[int] = set()
    for branch in written.branches:
        seen: set[str] = set()
        for place in (each.place for each in branch.components if each.place in named):
            if named[place].text in seen:
                twice.add(place)
            seen.add(named[place].text)
    for place in sorted(twice):
        scope.problems.error(
            "duplicate-variable",
            f"there is already a component called `{named[place].text}`",
            named[place].span,
            "give each component a variable of its own",
        )
    _check_choices(written, {name.text for name in named.values()}, scope)
    first: dict[str, BoundComponent] = {}
    for place, name in named.items():
        before = first.setdefault(name.text, every[place])
        if place not in twice and _way(before) != _way(every[place]):
            scope.problems.error(
                "variable-in-two-ways",
                f"`{name.text}` is {_way(every[place])} here, and {_way(before)} before",
                name.span,
                "give one of them another name",
            )


def _way(component: BoundComponent) -> str:
    """What a variable stands for."""
    if component.negated:
        return "an event that must not occur"
    return "a series of events" if component.is_series else "one event"


def _check_choices(written: WrittenPattern, taken: Set[str], scope: Scope) -> None:
    seen: set[str] = set()
    for name in written.choices:
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
