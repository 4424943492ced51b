"""No private member is reached by its name as text, which the linter's SLF001 does not see."""

from __future__ import annotations

import ast
import re

import pytest

from tests.repo.source import Module, example, modules

PRIVATE = re.compile(r"_(?!_)\w*|__\w*(?<!__)")
# Functions with a name of a member among their first two arguments, or as any of them.
REACHING = {
    "getattr", "setattr", "hasattr", "delattr", "getattr_static", "__getattribute__", "__getattr__",
    "__setattr__", "__delattr__",
}  # fmt: skip
# The public members of named tuples and enumerations that SLF001 passes, too.
PUBLIC = {"_make", "_asdict", "_replace", "_fields", "_field_defaults", "_name_", "_value_"}
NAMING = {"attrgetter", "methodcaller"}
LOOKING = {"get", "pop", "setdefault"}


def private_names(module: Module) -> list[str]:
    """Where a private member is named by a constant text."""
    return [
        f"{module.path}:{node.lineno}: {name}"
        for node in module.nodes
        if isinstance(node, ast.Call | ast.Subscript)
        for name in _named(node)
        if any(PRIVATE.fullmatch(part) and part not in PUBLIC for part in name.split("."))
    ]


def _named(node: ast.Call | ast.Subscript) -> list[str]:
    """The constant names of members that a call, or a look into `vars`, asks for."""
    if isinstance(node, ast.Subscript):
        return _texts([node.slice]) if _is_members(node.value) else []
    asked = node.func
    name = asked.id if isinstance(asked, ast.Name) else getattr(asked, "attr", "")
    if name in NAMING:
        return _texts(node.args)
    is_look = isinstance(asked, ast.Attribute) and name in LOOKING and _is_members(asked.value)
    return _texts(node.args[:2]) if name in REACHING or is_look else []


def _is_members(node: ast.expr) -> bool:
    """Whether it is the dict of the members of an object."""
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id == "vars"
    return isinstance(node, ast.Attribute) and node.attr == "__dict__"


def _texts(nodes: list[ast.expr]) -> list[str]:
    every = [each.value for each in nodes if isinstance(each, ast.Constant)]
    return [each for each in every if isinstance(each, str)]


def test_no_private_member_is_named_by_text() -> None:
    assert [problem for module in modules() for problem in private_names(module)] == []


@pytest.mark.parametrize(
    "text",
    [
        'getattr(library, "_reload_init", ())',
        'builtins.getattr(library, "_reload_init")',
        'setattr(library, "_x", 1)',
        'hasattr(library, "__mangled")',
        'object.__getattribute__(library, "_x")',
        'library.__getattribute__("_x")',
        'inspect.getattr_static(library, "_x")',
        'vars(library)["_x"]',
        'library.__dict__["_x"]',
        'vars(library).get("_x", ())',
        'operator.attrgetter("name", "_x.y")',
        'methodcaller("_x")(library)',
    ],
)
def test_a_private_name_is_found(text: str) -> None:
    assert len(private_names(example(text))) == 1


@pytest.mark.parametrize(
    "text",
    [
        "getattr(value, name)",
        'hasattr(value, "_fields")',
        'getattr(value, "__wrapped__", value)',
        'getattr(value, "input", None)',
        'names["_x"]',
        'names.get("_x")',
        'attrgetter("name.part")',
    ],
)
def test_others_are_not_found(text: str) -> None:
    assert private_names(example(text)) == []
