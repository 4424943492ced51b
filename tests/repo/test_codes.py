"""Every code of a diagnostic is documented, and every documented code can occur."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
CODE = re.compile(r"[a-z]+(-[a-z]+)*")
# The calls with a code as first argument.
REPORTS = {"error", "warning", "Diagnostic", "refuse", "report", "syntax_error"}


def codes(tree: ast.AST) -> Iterator[str]:
    """The codes in a module: first arguments of reporting calls, and values of `code`."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=function, args=[first, *_]) if _name(function) in REPORTS:
                yield from _texts(first)
            case ast.Assign(targets=[ast.Name(id="code")], value=value):
                yield from _texts(value)
            case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)):
                for name, value in zip(names, values, strict=False):
                    if isinstance(name, ast.Name) and name.id == "code":
                        yield from _texts(value)


def _name(function: ast.expr) -> str:
    return getattr(function, "attr", getattr(function, "id", ""))


def _texts(node: ast.expr) -> Iterator[str]:
    for part in [node.body, node.orelse] if isinstance(node, ast.IfExp) else [node]:
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            yield part.value


def used() -> set[str]:
    """The codes of the package."""
    folders = [ROOT / "sase" / name for name in ("lang", "binding", "sigma")]
    paths = [path for folder in folders for path in folder.rglob("*.py")]
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in paths]
    return {code for tree in trees for code in codes(tree) if CODE.fullmatch(code)}


def test_the_codes_of_the_package_are_those_of_the_page() -> None:
    """docs/diagnostics.md lists every code, and no other."""
    page = (ROOT / "docs" / "diagnostics.md").read_text(encoding="utf-8")
    cells = [line.split("|")[1] for line in page.splitlines() if line.startswith("| `")]
    documented = {code for cell in cells for code in re.findall(r"`([a-z-]+)`", cell)}
    assert documented == used()


def test_codes_are_found_where_they_are_written() -> None:
    """The search sees each of the forms in which a code is passed on."""
    text = 'error("a-b", 1)\nx.warning("c-d" if y else "e-f")\ncode = "g-h"\nother("i-j")'
    assert set(codes(ast.parse(text))) == {"a-b", "c-d", "e-f", "g-h"}
