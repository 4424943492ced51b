"""Each public name has an example in its docstring that shows the result, and it is right."""

from __future__ import annotations

import doctest
import inspect
from collections.abc import Iterator
from pathlib import Path

import pytest

import sase
from docs.site.names import members_of, names

# The examples of the roots of errors show how all of them are caught and printed.
ROOTS = ("SaseError", "QueryError")
PUBLIC = tuple(name for name in sase.__all__ if not name.startswith("__"))


def examples(name: str, value: object) -> list[doctest.DocTest]:
    """The examples of a name, and those of the methods of a class."""
    found = doctest.DocTestFinder(exclude_empty=True).find(
        value, name, module=False, globs={"sase": sase}
    )
    return [each for each in found if each.examples]


def shows_nothing(value: object) -> bool:
    """Whether the docstring of a name itself has no example with a result."""
    parsed = doctest.DocTestParser().get_examples(value.__doc__ or "")
    return not any(each.want for each in parsed)


def may_lack_one(name: str) -> bool:
    value = getattr(sase, name)
    is_problem = inspect.isclass(value) and issubclass(value, sase.SaseError | Warning)
    return is_problem and name not in ROOTS


def run(test: doctest.DocTest) -> tuple[int, str]:
    """The number of failures, and their report."""
    lines: list[str] = []
    ran = doctest.DocTestRunner(verbose=False).run(test, out=lines.append)
    return ran.failed, "".join(lines)


@pytest.fixture(autouse=True)
def no_aggregates(monkeypatch: pytest.MonkeyPatch) -> None:
    """An aggregate that an example defines is forgotten after it."""
    monkeypatch.setattr("sase.binding.values.aggregates._DEFINED", {})


@pytest.fixture
def shells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A shell of IPython that an example opens has no history, and is closed."""
    interactive = pytest.importorskip(
        "IPython.core.interactiveshell", reason="IPython is not installed: see `dev` in setup.cfg"
    ).InteractiveShell
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    yield
    if interactive.initialized():
        interactive.instance().history_manager.end_session()
        interactive.clear_instance()


def test_each_name_has_an_example() -> None:
    lacking = [name for name in PUBLIC if shows_nothing(getattr(sase, name))]
    assert [name for name in lacking if not may_lack_one(name)] == []


@pytest.mark.parametrize("name", [name for name in PUBLIC if name != "load_ipython_extension"])
def test_the_examples_of_a_name_are_right(name: str) -> None:
    ran = [run(test) for test in examples(name, getattr(sase, name))]
    assert ran or may_lack_one(name)
    assert [report for failed, report in ran if failed] == []


@pytest.mark.usefixtures("shells")
def test_the_example_of_the_notebook_is_right() -> None:
    (test,) = examples("load_ipython_extension", sase.load_ipython_extension)
    assert run(test) == (0, "")


def test_the_checks_can_fail() -> None:
    def silent() -> None:
        """Show nothing.

        >>> x = 1
        """

    class Wrong:
        """Without an example."""

        def method(self) -> None:
            """Compute.

            >>> 1 + 1
            3
            """

    assert shows_nothing(silent) and shows_nothing(Wrong)
    assert [run(test)[0] for test in examples("Wrong", Wrong)] == [1]
    assert not may_lack_one("match") and not may_lack_one("SaseError")


def test_the_page_of_names_has_the_members_that_pages_name() -> None:
    assert {"push", "advance", "finish", "snapshot", "late"} <= {*members_of(sase.Matcher)}
    internal = {"push_numbered", "push_ordered", "take_shared", "take", "of", "is_called"}
    assert not internal & {*members_of(sase.Matcher)}
    assert "from_json" in members_of(sase.Plan) and "engine" not in members_of(sase.Plan)
    assert all(f"::: sase.{name}\n" in f"{names()}\n" for name in PUBLIC)
