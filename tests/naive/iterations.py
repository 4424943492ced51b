"""docs/semantics.md, Repeated groups: conjuncts, as they apply to iterations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product
from typing import Any, TypeAlias

from sase.lang import ast
from sase.lang.ast import IndexKind
from tests.naive.conditions import Condition, Part, condition, names, present
from tests.naive.expressions import Scope, names_of_fields
from tests.naive.pattern import Branch, RepeatedGroup, must_bind, of_iteration, of_iterations_up_to

# Of each group: which branch each of its iterations is of.
Iterations: TypeAlias = tuple[tuple[RepeatedGroup, tuple[Branch, ...]], ...]

# A variable, and of which iterations; None for the one at hand without an index.
Mention: TypeAlias = tuple[str, IndexKind | None]

_EARLIER = (IndexKind.FIRST, IndexKind.PREVIOUS, IndexKind.BEFORE_CURRENT)
_ELSEWHERE = (IndexKind.FIRST, IndexKind.LAST, IndexKind.ALL)


def of_iterations(
    conjunct: ast.Expression,
    branch: Branch,
    scope: Scope,
    given: tuple[str, int] | None = None,
) -> Iterator[Condition]:
    """A condition for every current iteration of each group of which it mentions a variable.

    If the rest of it mentions the current iteration and something earlier, it applies to every
    iteration but the first. One iteration of a group may be given."""
    conjunct = _counted(conjunct, {group.name for group, _ in branch.iterations})
    mentions = [(name, kind) for name, kind in _mentions(conjunct) if kind not in _ELSEWHERE]
    groups = [each for each in branch.iterations if _of(each[0], mentions)]
    ranges = (
        [given[1] - 1] if given and given[0] == group.name else range(len(of))
        for group, of in groups
    )
    for numbers in product(*ranges):
        here = {
            group.name: (group, of[number], number + 1)
            for (group, of), number in zip(groups, numbers, strict=True)
        }
        lacking = {n for group, of, _ in here.values() for n in group.names - of.names}
        absent = lacking - {name for group, _, _ in here.values() for name in group.groups}
        negated = {name for group, _, _ in here.values() for name in group.negative_names}
        left = present(conjunct, absent, _names_at_hand)
        if left is None or names(conjunct) & absent & negated:
            continue
        mentioned = list(_mentions(left))
        if any(number == 1 and _looks_back(group, mentioned) for group, _, number in here.values()):
            continue
        placed = {name: number for name, (_, _, number) in here.items()}
        remaining = resolved(left, branch.iterations, placed)
        own = {n: of_iteration(n, number) for _, of, number in here.values() for n in of.names}
        lengths = {n: int(n in of.groups) for group, of, _ in here.values() for n in group.groups}
        asked = condition(_renamed(remaining, own, lengths), scope)
        parts = asked.parts | set(_finished(mentioned, branch))
        parts |= set(_begun(left, parts, branch, placed))
        parts |= set(_of_absences({own.get(name, name) for name in names(conjunct)}, scope))
        if _ends_at_nothing(mentioned, {number for number, _ in parts}, branch):
            continue
        yield replace(asked, parts=parts)


def _of(group: RepeatedGroup, mentions: list[Mention]) -> set[IndexKind | None]:
    """Of which iterations of a group they are."""
    own = (kind for name, kind in mentions if name in group.names or (name == group.name and kind))
    return set(own)


def _looks_back(group: RepeatedGroup, mentioned: list[Mention]) -> bool:
    """Whether it mentions g[i-1] or g[..i-1], or g[1] beside the iteration at hand."""
    kinds = _of(group, mentioned)
    return bool(kinds & set(_EARLIER)) and bool(kinds - set(_ELSEWHERE))


def _of_absences(mentioned: set[str], scope: Scope) -> Iterator[tuple[int, Part]]:
    """A conjunct that mentions a negative component stays its own, whatever is absent of it."""
    for number, each in enumerate(scope.components):
        if each.negated and each.variable and each.variable.text in mentioned:
            yield number, Part.CURRENT


def _names_at_hand(node: ast.Expression) -> set[str]:
    """The variables of the iteration at hand that it mentions, and those outside of groups."""
    return {name for name, kind in _mentions(node) if kind in (None, IndexKind.CURRENT)}


def _counted(node: Any, groups: set[str]) -> Any:
    """With `count(g[..i])` and `count(g[..i-1])` as parts of iterations."""
    match node:
        case ast.Indexed(ast.Name(name) as group, ast.Index(kind), None) if (
            name in groups and kind is not IndexKind.ALL
        ):
            return ast.InGroup(group, node.index, ast.Attribute(group))
        case tuple():
            return tuple(_counted(part, groups) for part in node)
        case ast.Node():
            return _with(node, lambda part: _counted(part, groups))
    return node


def _mentions(node: Any) -> Iterator[Mention]:
    """The variables, and of which iterations; None for the one at hand without an index."""
    match node:
        case ast.InGroup(ast.Name(group), index, reference):
            yield group, index.kind
            yield reference.variable.text if reference.variable else "", index.kind
        case ast.Attribute(_, ast.Name(text)) | ast.Indexed(ast.Name(text)):
            yield text, None
        case tuple():
            yield from (each for part in node for each in _mentions(part))
        case ast.Node():
            for name in names_of_fields(type(node)):
                yield from _mentions(getattr(node, name))


# ---------------------------------------------------------------- when they are checked


def _finished(mentioned: list[Mention], branch: Branch) -> Iterator[tuple[int, Part]]:
    """A condition on a group as a whole is checked when its last iteration is finished."""
    whole = {name for name, kind in mentioned if kind in (None, IndexKind.LAST, IndexKind.ALL)}
    for group, chosen in branch.iterations:
        if group.name in whole and chosen:
            yield max(_numbers(branch, group, len(chosen))), Part.WHOLE


def _begun(
    conjunct: ast.Expression,
    parts: frozenset[tuple[int, Part]],
    branch: Branch,
    placed: Mapping[str, int],
) -> Iterator[tuple[int, Part]]:
    """One of which an iteration at hand, or one mentioned, has nothing: when that begins."""
    for group, chosen in branch.iterations:
        indexed = any(name == group.name and kind for name, kind in _mentions(conjunct))
        concerns = (indexed or group.name in placed) and chosen
        numbers = _numbers(branch, group, placed.get(group.name, 1)) if concerns else []
        if numbers and not any(number in numbers for number, _ in parts):
            must = must_bind(branch.elements[numbers[0]])
            yield numbers[0], Part.FIRST if must else Part.WHOLE


def _ends_at_nothing(mentioned: list[Mention], numbers: set[int], branch: Branch) -> bool:
    """Whether the last that a condition mentions is g[1] of a group that has no iteration."""
    kinds, begin = set[IndexKind | None](), 0
    for group, chosen in branch.iterations:
        own = {kind for name, kind in mentioned if name == group.name}
        if own and not chosen:
            kinds, begin = own, group.columns[0].place
    positive = {n for n, each in enumerate(branch.elements) if not each.component.negated}
    before = {number for number in positive if branch.elements[number].place < begin}
    return kinds == {IndexKind.FIRST} and numbers <= before


def _numbers(branch: Branch, group: RepeatedGroup, iteration: int) -> list[int]:
    """The elements of an iteration."""
    place = (group.name, iteration)
    return [number for number, each in enumerate(branch.elements) if each.iteration == place]


# ---------------------------------------------------------------- their identifiers


def resolved(node: Any, iterations: Iterations, placed: Mapping[str, int] | None = None) -> Any:
    """With `g[1].b.p` and its like in the terms of single iterations."""
    match node:
        case ast.Call(ast.Name("count"), (ast.InGroup(_, index, ast.Attribute(_, None)) as of,)):
            number = (placed or {})[of.group.text]
            return ast.Integer(number - (index.kind is IndexKind.BEFORE_CURRENT))
        case ast.InGroup(ast.Name(name)):
            chosen = next((of for group, of in iterations if group.name == name), ())
            return _of_group(node, chosen, (placed or {}).get(name))
        case tuple():
            return tuple(resolved(part, iterations, placed) for part in node)
        case ast.Node():
            return _with(node, lambda part: resolved(part, iterations, placed))
    return node


def _of_group(node: ast.InGroup, chosen: tuple[Branch, ...], number: int | None) -> ast.Expression:
    """Its value; `number` is the current iteration."""
    kind, reference = node.index.kind, node.reference
    if kind is IndexKind.CURRENT:
        return reference
    if not isinstance(reference, ast.Attribute) or reference.variable is None:
        raise NotImplementedError("a series of another iteration than the one at hand")
    variable = reference.variable
    ends = {IndexKind.ALL: len(chosen), IndexKind.UP_TO_CURRENT: number or 0}
    ends[IndexKind.BEFORE_CURRENT] = (number or 1) - 1
    if kind in ends:
        name = of_iterations_up_to(variable.text, ends[kind])
        return ast.Indexed(replace(variable, text=name), ast.Index(IndexKind.ALL), reference.name)
    ones = {IndexKind.FIRST: 1, IndexKind.LAST: len(chosen), IndexKind.PREVIOUS: (number or 0) - 1}
    if kind not in ones:
        raise NotImplementedError(f"the index {node.index.text or kind.value} of a group")
    return _of_one(reference, variable, chosen, ones[kind])


def _of_one(
    reference: ast.Attribute, variable: ast.Name, chosen: tuple[Branch, ...], number: int
) -> ast.Expression:
    """NULL where the iteration does not have it, or has nothing in its `?`."""
    elements = chosen[number - 1].elements if 1 <= number <= len(chosen) else ()
    here = next((each for each in elements if each.name == variable.text), None)
    if here is None:
        return ast.Null()
    own = replace(variable, text=of_iteration(variable.text, number))
    if here.component.quantifier is None:
        return replace(reference, variable=own)
    if here.component.quantifier.symbol != "?":
        raise NotImplementedError("a series of another iteration than the one at hand")
    return ast.Indexed(own, ast.Index(IndexKind.LAST), reference.name)


def _renamed(node: Any, own: Mapping[str, str], lengths: Mapping[str, int]) -> Any:
    """With the variables of one iteration in the place of those of the group."""
    match node:
        case ast.Attribute(_, ast.Name(text)) if text in lengths:
            return ast.Integer(lengths[text])
        case ast.Attribute(_, ast.Name(text) as variable) | ast.Indexed(
            ast.Name(text) as variable
        ) if text in own:
            return replace(node, variable=replace(variable, text=own[text]))
        case tuple():
            return tuple(_renamed(part, own, lengths) for part in node)
        case ast.Node():
            return _with(node, lambda part: _renamed(part, own, lengths))
    return node


def _with(node: ast.Node, change: Any) -> ast.Node:
    """A node of which every part is changed."""
    names = names_of_fields(type(node))
    return type(node)(**{name: change(getattr(node, name)) for name in names})
