"""A class name is used once in the package, so that a search for it finds one thing."""

from __future__ import annotations

import ast
from collections import defaultdict

from tests.repo.source import modules

# The tree of the language names a construct, and the class of the binder or the plan for it bears
# the same name: grammar rules fix the one, plans as JSON the other.
COUNTERPARTS = {"sase.lang.ast", "sase.binding.bound", "sase.planning.plan.nodes"}

# `sase.Comparison`, of strategies: the public name that users know.
PUBLIC = {"Comparison", "Script"}


def homes() -> dict[str, list[str]]:
    """The modules that define each class."""
    found: dict[str, list[str]] = defaultdict(list)
    for module in modules():
        for node in module.nodes:
            if isinstance(node, ast.ClassDef):
                found[node.name].append(module.name)
    return found


def test_a_class_name_is_used_once() -> None:
    several = {name: where for name, where in homes().items() if len(where) > 1}
    wrong = {name for name, where in several.items() if set(where) - COUNTERPARTS}
    assert wrong <= PUBLIC, {name: several[name] for name in wrong}
