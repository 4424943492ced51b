"""The source of the package as the tests of this folder read it."""

import ast
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]


class Module(NamedTuple):
    """A Python file: dotted name, whether it is the __init__ of a package, path and text."""

    name: str
    is_package: bool
    path: str
    text: str

    @property
    def tree(self) -> ast.Module:
        return parsed(self.text)

    @property
    def nodes(self) -> tuple[ast.AST, ...]:
        """All nodes of the tree."""
        return walked(self.text)


@cache
def parsed(text: str) -> ast.Module:
    """The tree of a text, made once for all that look at it and change nothing."""
    return ast.parse(text)


@cache
def walked(text: str) -> tuple[ast.AST, ...]:
    """The nodes of its tree, found once."""
    return tuple(ast.walk(parsed(text)))


def module(path: Path) -> Module:
    relative = path.relative_to(ROOT)
    is_package = path.name == "__init__.py"
    parts = relative.parent.parts if is_package else relative.with_suffix("").parts
    return Module(".".join(parts), is_package, str(relative), path.read_text(encoding="utf-8"))


@cache
def modules() -> tuple[Module, ...]:
    """Every module of the package, read once."""
    return tuple(map(module, sorted((ROOT / "sase").rglob("*.py"))))


def example(text: str, name: str = "sase.example", is_package: bool = False) -> Module:
    """A module that is not there, to see a check fail."""
    return Module(name, is_package, f"{name}.py", text)
