"""Check references to other iterations, and to negative elements of iterations."""

from __future__ import annotations

from sase.binding.bound import BoundComponent
from sase.binding.scope import Scope
from sase.lang import ast
from sase.lang.ast import IndexKind


def is_forbidding(node: ast.InGroup, scope: Scope) -> bool:
    """Whether `g[i].b.p` reads a negative sequence in an iteration, where `g[i].` has no effect."""
    group, variable = scope.component(node.group.text), node.reference.variable
    return (
        group is not None
        and group.group is not None
        and node.index.kind is IndexKind.CURRENT
        and variable is not None
        and forbids(group, variable.text)
    )


def forbids(group: BoundComponent, name: str) -> bool:
    """Whether a variable belongs to a negative sequence in iterations of a group."""
    assert group.group is not None
    return any(each.key == (True, name) for each in group.group.forbidding)


def refuse_absent(node: ast.InGroup, name: str, scope: Scope) -> None:
    """Report a reference to a negative element of another iteration."""
    scope.problems.error(
        "negative-of-iteration",
        f"`{name}` must not occur in an iteration: it has no event in another",
        node.span,
        "compare it with what is in the iteration at hand",
    )


def is_of_any_iteration(node: ast.InGroup, variable: BoundComponent, scope: Scope) -> bool:
    """Whether a variable can be read in another iteration than the current one."""
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
