"""Names of values within nested columns: `user.id`, `tags[1]`, `list_contains(tags, "a")`.

A column of exactly that name has precedence; otherwise the first part names a column, and the rest
are steps into it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterable
from functools import lru_cache
from typing import NamedTuple, TypeAlias

Step: TypeAlias = str | int
_PLAIN = re.compile(r"[^\W\d]\w*")
_FIRST = re.compile(r"([^\W\d]\w*)|`((?:[^`]|``)+)`")
_STEP = re.compile(r"\.(?:([^\W\d]\w*)|`((?:[^`]|``)+)`)|\[([0-9]{1,18})\]")
_CONTAINS = re.compile(r"list_contains\((.+), (\"(?:[^\"\\]|\\.)*\"|[^\", ]+)\)", re.DOTALL)


class Path(NamedTuple):
    """A column, the steps into it, and the value that a list is tested for, as JSON."""

    column: str
    steps: tuple[Step, ...] = ()
    member: str | None = None

    def __str__(self) -> str:
        if not self.steps and self.member is None:
            return self.column
        inner = _quoted(self.column)
        for step in self.steps:
            inner += f"[{step}]" if isinstance(step, int) else f".{_quoted(step)}"
        return inner if self.member is None else f"list_contains({inner}, {self.member})"


@lru_cache(maxsize=4096)
def path_of(name: str) -> Path | None:
    """The path that a name is, or None for the name of a column alone."""
    if found := _CONTAINS.fullmatch(name):
        inner, first = path_of(found[1]), _FIRST.fullmatch(found[1])
        if inner is None and first is not None:
            inner = Path(_name(first))
        return None if inner is None or not _is_json(found[2]) else inner._replace(member=found[2])
    first = _FIRST.match(name)
    if first is None or first.end() == len(name):
        return None
    steps, end = list[Step](), first.end()
    while end < len(name):
        step = _STEP.match(name, end)
        if step is None:
            return None
        steps.append(int(step[3]) if step[3] else _name(step))
        end = step.end()
    path = Path(_name(first), tuple(steps))
    return path if str(path) == name else None


def columns_of(names: Iterable[str], known: Container[str] = ()) -> frozenset[str]:
    """The columns that names are read from; a `known` one may be a column by itself."""
    found = set[str]()
    for name in names:
        path = path_of(name)
        found |= {name} if path is None else {path.column}
        if name in known:
            found.add(name)
    return frozenset(found)


def _name(found: re.Match[str]) -> str:
    """A plain name, or one without its backquotes."""
    return found[1] or found[2].replace("``", "`")


def _is_json(text: str) -> bool:
    try:
        return isinstance(json.loads(text), str | int | float)
    except ValueError:
        return False


def _quoted(name: str) -> str:
    return name if _PLAIN.fullmatch(name) else "`{}`".format(name.replace("`", "``"))
