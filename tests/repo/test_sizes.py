"""Files and functions stay short enough to be read at once."""

import ast
import re

import pytest

from tests.repo.source import Module, example, modules

FILE_LINES = 500  # more needs a reason at the top of the file
FUNCTION_LINES = 60  # no exceptions; the habit is 5 to 10, rarely over 35
REASON = re.compile(r"^# long because: \S", re.MULTILINE)
REASON_WITHIN = 30


def long_files(module: Module) -> list[str]:
    """The file, if it is long and gives no reason."""
    lines = module.text.splitlines()
    if len(lines) <= FILE_LINES or REASON.search("\n".join(lines[:REASON_WITHIN])):
        return []
    return [f"{module.path}: {len(lines)} lines, and no line  # long because: …  at its top"]


def long_functions(module: Module) -> list[str]:
    """The functions and methods that are too long, docstring included."""
    return [
        f"{module.path}:{node.lineno}: {node.name} has {length} lines"
        for node in module.nodes
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (length := (node.end_lineno or 0) - node.lineno + 1) > FUNCTION_LINES
    ]


@pytest.mark.parametrize("check", [long_files, long_functions])
def test_the_package_is_short(check):
    assert [problem for module in modules() for problem in check(module)] == []


def test_a_long_file_needs_a_reason():
    body = "x = 1\n" * FILE_LINES
    assert long_files(example(body)) == []
    assert long_files(example(body + "x = 1\n")) != []
    assert long_files(example(body + "# long because: it is\n")) != []
    assert long_files(example("# long because:\n" + body)) != []
    assert long_files(example("# long because: it is one table\n" + body)) == []


def test_a_long_function_is_found():
    body = "    pass\n" * (FUNCTION_LINES - 1)
    assert long_functions(example(f"def f():\n{body}")) == []
    assert long_functions(example(f"def f():\n{body}    pass\n")) != []
    assert long_functions(example(f"class C:\n async def f(self):\n{body}    pass\n")) != []
