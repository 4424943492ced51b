"""The public names as directives of mkdocstrings, with the methods that pages for users name."""

from __future__ import annotations

import inspect
import re
from functools import cache, cached_property

import sase
from docs.site.links import ROOT

# The code of a page: blocks, and code within a line.
CODE = re.compile(r"^ *(```+).*?^ *\1 *$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
# Rows of tables name the members of documents of JSON as `plan.members`.
ROW = re.compile(r"^\|.*\n", re.MULTILINE)
# The pages for those who change SASE are those of the last part of the navigation.
DEVELOPMENT = "  - Development:\n"


def names() -> str:
    """The public names, functions first, as directives of mkdocstrings."""
    public = [name for name in sase.__all__ if not name.startswith("__")]
    functions = [name for name in public if name.islower()]
    errors = [name for name in public if name.endswith(("Error", "Warning"))]
    classes = [name for name in public if name not in {*functions, *errors}]
    parts = {"Functions": functions, "Classes": classes, "Errors and warnings": errors}
    return "\n\n".join(
        "\n\n".join([f"## {title}", *map(directive, sorted(group))])
        for title, group in parts.items()
    )


def directive(name: str) -> str:
    """The directive of a name; that of a class lists its members."""
    value = getattr(sase, name)
    if not inspect.isclass(value):
        return f"::: sase.{name}"
    return f"::: sase.{name}\n    options:\n      members: {members_of(value)}"


def members_of(owner: type) -> list[str]:
    """The methods and properties of a class that a page for users names in its code."""
    return [
        name
        for name, member in vars(owner).items()
        if not name.startswith("_") and is_named(owner.__name__, name, member)
    ]


def is_named(owner: str, name: str, member: object) -> bool:
    """Whether a page names a method as a call, a class method with its class, or a property."""
    if isinstance(member, classmethod | staticmethod):
        return any(re.search(rf"\b{owner}\.{name}\b", code) for code, _ in pages())
    if inspect.isfunction(member):
        call = re.compile(rf"[.`]{name}\(|\b{owner}\.{name}\b")
        return any(call.search(code) for code, _ in pages())
    if isinstance(member, property | cached_property):
        read = re.compile(rf"[\w\])]\.{name}\b(?!\()")
        return any(read.search(code) for _, code in pages())
    return False


@cache
def pages() -> tuple[tuple[str, str], ...]:
    """The code of the README and of each page for users, with rows of tables and without."""
    navigation = (ROOT / "mkdocs.yml").read_text("utf-8").partition(DEVELOPMENT)
    inner = {*re.findall(r": (\S+\.md)$", navigation[2], re.MULTILINE)}
    paths = [path for path in (ROOT / "docs").glob("*.md") if path.name not in inner]
    texts = [path.read_text("utf-8") for path in (ROOT / "README.md", *sorted(paths))]
    return tuple((code_of(text), code_of(ROW.sub("", text))) for text in texts)


def code_of(page: str) -> str:
    return "\n".join(found[0] for found in CODE.finditer(page))
