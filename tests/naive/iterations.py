"""docs/semantics.md, Repeated groups: conjuncts, as they are asked of iterations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from itertools import product
from typing import Any

from sase.lang import ast
from tests.naive.conditions import Condition, Part, condition, names, present
from tests.naive.expressions import Scope
from tests.naive.pattern import Branch, of_iteration


def of_iterations(conjunct: ast.Expression, branch: Branch, scope: Scope) -> Iterator[Condition]:
    """A condition for every iteration at hand of each group of which it mentions a variable."""
    mentioned = names(conjunct)
    at_hand = [each for each in branch.iterations if each[0].names & mentioned]
    for numbers in product(*(range(len(chosen)) for _, chosen in at_hand)):
        here = [
            (group, chosen[number], number + 1)
            for (group, chosen), number in zip(at_hand, numbers, strict=True)
        ]
        absent = {name for group, of, _ in here for name in group.names - of.names - group.groups}
        negated = {name for group, _, _ in here for name in group.negative_names}
        remaining = present(conjunct, absent)
        if remaining is None or mentioned & absent & negated:
            continue
        own = {name: of_iteration(name, number) for _, of, number in here for name in of.names}
        lengths = {name: int(name in of.groups) for group, of, _ in here for name in group.groups}
        asked = condition(_renamed(remaining, own, lengths), scope)
        yield replace(asked, parts=asked.parts | set(_finished(mentioned, branch)))


def _finished(mentioned: set[str], branch: Branch) -> Iterator[tuple[int, Part]]:
    """A condition on a group as a whole is checked when its last iteration is finished."""
    for group, chosen in branch.iterations:
        if group.name in mentioned and chosen:
            last = (group.name, len(chosen))
            yield (
                max(n for n, each in enumerate(branch.elements) if each.iteration == last),
                Part.WHOLE,
            )


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
            parts = {each.name: getattr(node, each.name) for each in fields(node)}
            return replace(
                node, **{name: _renamed(part, own, lengths) for name, part in parts.items()}
            )
    return node
