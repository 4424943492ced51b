"""Parse a rule's `condition`: names of searches with and, or, not, brackets, and `1 of …`."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from sase.sigma.documents import YamlPart

_TOKEN = re.compile(r"\s*([()|]|[^\s()|]+)")


@dataclass(frozen=True)
class SearchName:
    """The name of a search."""

    name: str


@dataclass(frozen=True)
class Negated:
    """`not a`."""

    operand: Tree


@dataclass(frozen=True)
class AllOf:
    """`a and b`."""

    operands: tuple[Tree, ...]


@dataclass(frozen=True)
class OneOf:
    """`a or b`."""

    operands: tuple[Tree, ...]


Tree: TypeAlias = SearchName | Negated | AllOf | OneOf
MOST_LEVELS = 100


class ConditionReader:
    """Parses a condition from left to right; `names` are the valid ones."""

    def __init__(self, part: YamlPart, names: Collection[str]) -> None:
        self._part, self._names = part, names
        self._tokens = _TOKEN.findall(part.text("a condition"))
        self._levels = 0

    def read(self) -> Tree:
        """The whole condition."""
        tree = self._some()
        if self._tokens:
            raise self._unexpected()
        return tree

    def _some(self) -> Tree:
        return _joined(OneOf, self._separated("or", self._all))

    def _all(self) -> Tree:
        return _joined(AllOf, self._separated("and", self._negated))

    def _separated(self, word: str, read: Callable[[], Tree]) -> list[Tree]:
        found = [read()]
        while self._next() == word:
            self._tokens.pop(0)
            found.append(read())
        return found

    def _negated(self) -> Tree:
        if self._next() != "not":
            return self._operand()
        self._tokens.pop(0)
        return Negated(self._deeper(self._negated))

    def _operand(self) -> Tree:
        word = self._next()
        if word == "(":
            self._tokens.pop(0)
            tree = self._deeper(self._some)
            if self._next() != ")":
                raise self._unexpected()
            self._tokens.pop(0)
            return tree
        if word in ("1", "any", "all") and [each.lower() for each in self._tokens[1:2]] == ["of"]:
            return self._several(word)
        if not word or word in ("and", "or", ")", "|", "of"):
            raise self._unexpected()
        name: str = self._tokens.pop(0)
        if name not in self._names:
            raise self._part.error("sigma-rule", f"the condition names {name}, which is not there")
        return SearchName(name)

    def _several(self, word: str) -> Tree:
        """`1 of them`, `all of selection*`."""
        pattern = "*" if self._next(2) == "them" else "".join(self._tokens[2:3])
        names = [each for each in self._names if _fits(each, pattern.split("*"))]
        if pattern == "*":
            names = [each for each in names if not each.startswith("_")]
        if not names:
            raise self._part.error("sigma-rule", f"no search is called {pattern or 'so'}")
        del self._tokens[:3]
        return _joined(AllOf if word == "all" else OneOf, map(SearchName, names))

    def _next(self, place: int = 0) -> str:
        return self._tokens[place].lower() if place < len(self._tokens) else ""

    def _deeper(self, read: Callable[[], Tree]) -> Tree:
        self._levels += 1
        if self._levels > MOST_LEVELS:
            raise self._part.error("sigma-rule", f"more than {MOST_LEVELS} brackets in brackets")
        tree = read()
        self._levels -= 1
        return tree

    def _unexpected(self) -> Exception:
        word = self._tokens[0] if self._tokens else "the end"
        if word == "|":
            message = "an aggregation behind `|` has no equal in a script"
            return self._part.error("sigma-no-equal", message, "write a correlation of this rule")
        return self._part.error("sigma-rule", f"{word} is not expected in this condition")


def _fits(name: str, parts: Sequence[str]) -> bool:
    """Whether a name matches parts with any text between them."""
    first, *others = parts
    if not others:
        return name == first
    *between, last = others
    place = len(first)
    if not name.startswith(first) or not name.endswith(last):
        return False
    for part in between:
        found = name.find(part, place)
        if found < 0:
            return False
        place = found + len(part)
    return place <= len(name) - len(last)


def _joined(kind: type[AllOf] | type[OneOf], operands: Iterable[Tree]) -> Tree:
    first, *others = operands
    return kind((first, *others)) if others else first
