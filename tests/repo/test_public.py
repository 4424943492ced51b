"""A public name is listed, is there, and has a docstring; every module has one."""

import ast
import inspect
import re
from types import ModuleType, SimpleNamespace

import pytest

import sase
from tests.repo.source import Module, example, modules


def undescribed(package) -> list[str]:
    """The names in `__all__` that are not there, or have no docstring of their own."""
    found = {name: getattr(package, name, None) for name in package.__all__ if name[:2] != "__"}
    return [
        name
        for name, value in found.items()
        # A value that is neither class nor function would show the docstring of its class.
        if not ((inspect.isclass(value) or inspect.isroutine(value)) and inspect.getdoc(value))
    ]


def unlisted(package) -> list[str]:
    """The names that look public and are not in `__all__`; modules are no names of the API."""
    return [
        name
        for name, value in vars(package).items()
        if not name.startswith("_")
        and not isinstance(value, ModuleType)
        and getattr(value, "__module__", "") != "__future__"
        and name not in package.__all__
    ]


def badly_described(module: Module) -> list[str]:
    """The module, if its docstring does not begin with one line that says it all."""
    summary, *rest = (ast.get_docstring(module.tree) or "").split("\n")
    whole = summary.endswith((".", ":")) and (not rest or rest[0] == "")
    return [] if whole else [f"{module.path}: {summary!r}"]


def test_every_public_name_is_there_and_described():
    assert undescribed(sase) == []
    assert re.fullmatch(r"\d+\.\d+\.\d+(\.dev\d+|(a|b|rc)\d+)?", sase.__version__)


def test_what_is_public_is_listed_once():
    assert unlisted(sase) == []
    assert len(set(sase.__all__)) == len(sase.__all__)
    assert dir(sase) == sorted(sase.__all__)


def test_type_checkers_see_what_is_fetched():
    """Public names, their modules, and the imports for type checkers agree."""
    tree = ast.parse(inspect.getsource(sase))
    (block,) = [node for node in tree.body if isinstance(node, ast.If) and not _is_negated(node)]
    seen = {name.name: node.module for node in block.body for name in node.names}
    assert seen == sase._HOMES
    assert {*sase.__all__} == {"__version__", *sase._HOMES}


def _is_negated(node):
    return isinstance(node.test, ast.UnaryOp)


def test_what_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'sase' has no attribute 'mtach'"):
        sase.mtach  # noqa: B018 - the test is of reading it


def test_a_public_name_is_fetched_from_its_home(monkeypatch):
    monkeypatch.setitem(sase._HOMES, "SaseError", "sase.errors")
    from sase.errors import SaseError

    assert sase.SaseError is SaseError
    monkeypatch.delitem(vars(sase), "SaseError")


def test_every_module_says_what_it_is_in_a_line():
    assert [problem for module in modules() for problem in badly_described(module)] == []


def test_the_checks_can_fail():
    def described():
        """It is."""

    def bare():
        pass

    package = SimpleNamespace(__all__=["described", "bare", "lost", "one"], described=described)
    package.bare, package.one, package.extra, package.os = bare, 1, 2, re
    assert undescribed(package) == ["bare", "lost", "one"]
    assert unlisted(package) == ["extra"]
    for text in ["", "x = 1", '"""No full stop"""', '"""Two\nlines."""']:
        assert badly_described(example(text)) != []
    assert badly_described(example('"""One line.\n\nMore."""')) == []
