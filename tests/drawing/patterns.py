"""Patterns as trees of components: their text, and the steps that they are written out to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, TypeAlias

import pyarrow as pa

# Each quantifier of a series with the least and the most events.
SERIES: dict[str, tuple[int, int | None]] = {
    "+": (1, None), "*": (0, None), "{2}": (2, 2), "{1}": (1, 1), "{2,}": (2, None),
    "{0,}": (0, None), "{1,2}": (1, 2), "{0,2}": (0, 2), "{2,3}": (2, 3), "{0,1}": (0, 1),
}  # fmt: skip
QUANTIFIERS = {"": (1, 1), "?": (0, 1), **SERIES}


class Part(NamedTuple):
    """A component: how its types are written, which they are, and how many events it binds."""

    test: str
    types: tuple[str, ...]
    variable: str | None
    negated: bool = False
    quantifier: str = ""
    least: int = 1
    most: int | None = 1
    suffix: str = ""  # [] behind the variable

    @property
    def text(self) -> str:
        variable = f"{self.variable}{self.suffix}" if self.variable else None
        return " ".join(filter(None, [f"{self.test}{self.quantifier}", variable]))

    @property
    def is_list(self) -> bool:
        """All quantifiers but `?` bind lists."""
        return self.quantifier not in ("", "?")

    @property
    def column(self) -> pa.DataType:
        """The type of its rows in a result."""
        return pa.list_(pa.int64()) if self.is_list else pa.int64()

    def quantified(self, form: str) -> Part:
        """With another quantifier."""
        least, most = QUANTIFIERS[form]
        return self._replace(quantifier=form, least=least, most=most)

    def at(self, place: str) -> Part:
        """One event of it, or a range, as if it were a variable."""
        return self._replace(variable=place, quantifier="")


@dataclass(frozen=True)
class Choice:
    """A sequence, a set, alternatives, a group that may be left out, or alternatives not to be."""

    kind: Literal["seq", "set", "or", "?", "not"]
    parts: tuple[Node, ...]
    variable: str = ""


class Written(NamedTuple):
    """A pattern that is known by its text alone."""

    text: str


Node: TypeAlias = Part | Choice | Written
# Components that follow one another, or the members of a set.
Steps: TypeAlias = list[list[Part]]


def sequence(parts: Sequence[Node]) -> Node:
    """The parts one after the other; one is no sequence."""
    return parts[0] if len(parts) == 1 else Choice("seq", tuple(parts))


# ---------------------------------------------------------------- how they are written


def written(node: Node) -> str:
    """The text of a pattern behind EVENT or in brackets."""
    match node:
        case Written(text):
            return text
        case Part():
            return negated(node) if node.negated else node.text
        case Choice("seq" | "set", parts):
            return f"{node.kind.upper()}({', '.join(map(as_component, parts))})"
        case Choice("or", parts):
            sign = " ∪ " if len(parts) == 3 else " OR "
            return sign.join(
                written(each)
                if not isinstance(each, Choice) or each.kind in ("seq", "set")
                else as_component(each)
                for each in parts
            )
    return as_component(node)


def as_component(node: Node) -> str:
    """A pattern as a part of a sequence."""
    match node:
        case Part() | Choice("set"):
            return written(node)
        case Choice("?", (inner,), variable):
            return f"({written(inner)})?{' ' * bool(variable)}{variable}"
        case Choice("not", alternatives):
            return f"!({' OR '.join(map(written, alternatives))})"
    return f"({written(node)})"


def negated(part: Part) -> str:
    """`!A x`, `NOT A x` or `!(A x)`: which, is settled by the text, so that it is written once."""
    sign = ("!", "~", "NOT ")[len(part.text) % 3]
    return f"{sign}({part.text})" if len(part.text) % 2 else f"{sign}{part.text}"


# ---------------------------------------------------------------- steps of patterns


def steps(node: Node, *, whole: bool = False) -> list[Steps]:
    """The steps that a pattern is written out to, the members of a set together.

    Of an absence there is one part, or as a `whole` all that it has.
    """
    match node:
        case Part():
            return [[[node]]]
        case Choice("set"):
            return [[leaves(node)]]
        case Choice("not"):
            return [[[part] for part in leaves(node)[: None if whole else 1]]]
        case Choice("seq", parts):
            found: list[Steps] = [[]]
            for part in parts:
                found = [[*before, *rest] for before in found for rest in steps(part, whole=whole)]
            return found
        case Choice("or", parts):
            return [way for part in parts for way in steps(part, whole=whole)]
        case Choice("?", (inner,)):
            return [*steps(inner, whole=whole), []]
    raise AssertionError(node)


def branches(node: Node) -> list[list[Part]]:
    """The same without steps."""
    return [[part for step in way for part in step] for way in steps(node)]


def leaves(node: Node) -> list[Part]:
    """The components as they are written, from left to right; all of an absence as negative."""
    if not isinstance(node, Choice):
        return [node] if isinstance(node, Part) else []
    found = [each for part in node.parts for each in leaves(part)]
    return [each._replace(negated=True) for each in found] if node.kind == "not" else found


def nodes(node: Node) -> Iterator[tuple[Choice, bool]]:
    """All that is no component, the outermost first, and whether it is in a choice."""
    if isinstance(node, Choice):
        yield node, False
        for part in node.parts:
            yield from ((each, deep or node.kind in ("or", "?")) for each, deep in nodes(part))


def groups(node: Node) -> list[str]:
    """The variables of the groups that may be left out."""
    return [each.variable for each, _ in nodes(node) if each.variable]


def merged(parts: Sequence[Part]) -> tuple[Part, ...]:
    """One for each variable where it is first written, of all types that it may have."""
    by_name: dict[object, Part] = {}
    for place, part in enumerate(parts):
        first = by_name.setdefault(part.variable or place, part)
        types = tuple(dict.fromkeys(first.types + part.types))
        by_name[part.variable or place] = first._replace(types=types)
    return tuple(by_name.values())


def edge(parts: Sequence[Part]) -> str:
    """Whether a negative component begins "each" match, or "some" in which others are empty."""
    if parts and parts[0].negated:
        return "each"
    for place, part in enumerate(parts):
        if part.negated:
            others = [before for before in parts[:place] if not before.negated]
            return "some" if all(before.least == 0 for before in others) else ""
    return ""


def binds(node: Node) -> bool:
    """Whether each branch must bind an event."""
    return all(any(p.least and not p.negated for p in way) for way in branches(node))


def smaller_patterns(node: Node) -> Iterator[Node]:
    """The pattern without one of its parts, or with a simpler one in its place."""
    if not isinstance(node, Choice):
        return
    for place, part in enumerate(node.parts):
        others = node.parts[:place] + node.parts[place + 1 :]
        if others:
            yield replace(node, parts=others)
        for less in smaller_patterns(part):
            yield replace(node, parts=(*node.parts[:place], less, *node.parts[place + 1 :]))
    if len(node.parts) == 1 and node.kind != "not":
        yield node.parts[0]
