"""What conditions may name of another iteration, and of what must not occur in one."""

from __future__ import annotations

from sase.binding.bound import BoundComponent
from sase.binding.scope import Scope
from sase.lang import ast
from sase.lang.ast import IndexKind


def is_forbidding(node: ast.InGroup, scope: Scope) -> bool:
    """Whether `g[i].b.p` is of a negative sequence in an iteration, where `g[i].` says nothing."""
    group, variable = scope.component(node.group.text), node.reference.variable
    return (
        group is not None
        and group.group is not None
        and node.index.kind is IndexKind.CURRENT
        and variable is not None
        and forbids(group, variable.text)
    )


def forbids(group: BoundComponent, name: str) -> bool:
    """Whether a variable is of a negative sequence in iterations of a group."""
    assert group.group is not None
    return any(each.key == (True, name) for each in group.group.forbidding)


def refuse_absent(node: ast.InGroup, name: str, scope: Scope) -> None:
    """The error of what must not occur, of another iteration than the one at hand."""
    scope.problems.error(
        "negative-of-iteration",
        f"`{name}` must not occur in an iteration: it has no event in another",
        node.span,
        "compare it with what is in the iteration at hand",
    )


def is_of_any_iteration(node: ast.InGroup, variable: BoundComponent, scope: Scope) -> bool:
    """Whether a variable can be asked of another iteration than the one at hand."""
    if variable.negated:
        refuse_absent(node, variable.variable, scope)
        return False
    if variable.is_series or isinstance(node.reference, ast.Indexed):
        scope.problems.error(
            "series-of-iteration",
            f"`{variable.variable}` is a series in an iteration, and is known within the iteration"
            " at hand alone"
            if variable.is_series
            else f"`{variable.variable}` is a single event in an iteration and takes no index",
            node.span,
            "compare iterations by their single events, or ask in two queries",
        )
        return False
    return True
