"""Random patterns with choices in them: OR, groups without quantifier or with `?`; and sets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from hypothesis import strategies as st

from tests.engine.matching.queries import negated
from tests.engine.matching.streams import Setting
from tests.engine.series.queries import FORMS, SERIES, component_test
from tests.engine.series.writing import Part

DEEPEST, MOST_VARIABLES, MOST_BRANCHES = 3, 6, 12


@dataclass(frozen=True)
class Choice:
    """A sequence, a set, alternatives, or a group that may be left out, of parts."""

    kind: Literal["seq", "set", "or", "?"]
    parts: tuple[Node, ...]
    variable: str = ""


Node: TypeAlias = Part | Choice


def written(node: Node) -> str:
    """A pattern as it stands behind EVENT or in brackets."""
    match node:
        case Part():
            return negated(node) if node.negated else node.text  # type: ignore[arg-type]
        case Choice("seq", parts):
            return f"SEQ({', '.join(map(as_component, parts))})"
        case Choice("set", parts):
            return f"SET({', '.join(map(as_component, parts))})"
        case Choice("or", parts):
            sign = " ∪ " if len(parts) == 3 else " OR "
            return sign.join(
                written(each)
                if isinstance(each, Part) or each.kind in ("seq", "set")
                else as_component(each)
                for each in parts
            )
    return as_component(node)


def as_component(node: Node) -> str:
    """A pattern as a part of a sequence."""
    match node:
        case Part():
            return written(node)
        case Choice("?", (inner,), variable):
            return f"({written(inner)})?{' ' * bool(variable)}{variable}"
        case Choice("set"):
            return written(node)
    return f"({written(node)})"


def branches(node: Node) -> list[list[Part]]:
    """What the pattern is written out to."""
    match node:
        case Part():
            return [[node]]
        case Choice("seq" | "set", parts):
            found: list[list[Part]] = [[]]
            for part in parts:
                found = [[*before, *rest] for before in found for rest in branches(part)]
            return found
        case Choice("or", parts):
            return [branch for part in parts for branch in branches(part)]
        case Choice("?", (inner,)):
            return [*branches(inner), []]
    raise AssertionError(node)


def leaves(node: Node) -> list[Part]:
    """The components as they are written, from left to right."""
    return (
        [node] if isinstance(node, Part) else [each for part in node.parts for each in leaves(part)]
    )


def groups(node: Node) -> list[str]:
    """The variables of the groups that may be left out."""
    if isinstance(node, Part):
        return []
    return [node.variable] * bool(node.variable) + [g for part in node.parts for g in groups(part)]


def merged(parts: Sequence[Part]) -> tuple[Part, ...]:
    """One for each variable where it is first written, of all types that it may have."""
    by_name: dict[object, Part] = {}
    for place, part in enumerate(parts):
        first = by_name.setdefault(part.variable or place, part)
        types = tuple(dict.fromkeys(first.types + part.types))
        by_name[part.variable or place] = first._replace(types=types)
    return tuple(by_name.values())


@st.composite
def patterns(draw: st.DrawFn, setting: Setting, with_series: bool) -> Choice:
    """A pattern with some choice in it, each of whose branches must bind an event."""
    drawer = Drawer(draw, setting, with_series)
    node = drawer.choice(DEEPEST, [])
    others = [drawer.component([])] if draw(st.booleans()) else []
    if others:
        places = draw(st.sampled_from([[*others, node], [node, *others]]))
        node = Choice("seq", tuple(places))
    if any(not any(p.least and not p.negated for p in branch) for branch in branches(node)):
        node = Choice("seq", (node, drawer.component([], form="")))
    return node


@dataclass
class Drawer:
    """Draws the parts of a pattern, each variable once."""

    draw: st.DrawFn
    setting: Setting
    with_series: bool
    used: list[str] = field(default_factory=list)
    groups: int = 0

    def choice(self, depth: int, again: list[Part]) -> Choice:
        """Alternatives or a group that may be left out."""
        if self.draw(st.integers(0, 9)) < 6:
            return self._alternatives(depth, again)
        inner = self.sequence(depth - 1, again)
        variable = ""
        if self.draw(st.integers(0, 2)) == 2:
            self.groups += 1
            variable = f"g{self.groups}"
        return Choice("?", (inner,), variable)

    def _alternatives(self, depth: int, again: list[Part]) -> Choice:
        count = self.draw(st.sampled_from([2, 2, 2, 3]))
        parts, before = list[Node](), list(again)
        for _ in range(count):
            part = self.sequence(depth - 1, list(before))
            parts.append(part)
            before += [each for each in leaves(part) if each.variable and each not in before]
        return Choice("or", tuple(parts))

    def sequence(self, depth: int, again: list[Part]) -> Node:
        """One or two parts; `again` has the components whose variables may stand here, too."""
        parts: list[Node] = []
        for _ in range(self.draw(st.sampled_from([1, 2, 1, 2, 3] if depth else [1, 2]))):
            room = len(self.used) < MOST_VARIABLES
            if depth > 0 and room and self.draw(st.integers(0, 9)) >= 8:
                parts.append(self.choice(depth, again))
            else:
                parts.append(self.component(again))
            gone = {each.variable for each in leaves(parts[-1])}
            again = [each for each in again if each.variable not in gone]
        if self.draw(st.integers(0, 9)) >= 8:
            absent = self.component([], negative=True)
            parts.insert(self.draw(st.integers(0, len(parts))), absent)
        return parts[0] if len(parts) == 1 else Choice("seq", tuple(parts))

    def component(
        self, again: list[Part], *, form: str | None = None, negative: bool = False
    ) -> Part:
        """A component with a new variable, with none, or with that of another alternative."""
        like = None
        if again and not negative and self.draw(st.integers(0, 9)) < 6:
            like = self.draw(
                st.sampled_from([each for each in again if not each.negated] or [None])
            )
        test, types = component_test(self.draw, self.setting, negative)
        if like is not None and self.draw(st.booleans()):
            test, types = like.test, like.types
        if form is None:
            form = self._form(like) if not negative else ""
        variable = like.variable if like is not None else self._variable(negative)
        least, most = FORMS[form]
        return Part(test, types, variable, negative, form, least, most)

    def _form(self, like: Part | None) -> str:
        """That of the same variable, or another one that binds lists as well."""
        if like is not None:
            return self.draw(st.sampled_from([*SERIES])) if like.is_list else like.quantifier
        if not self.with_series:
            return ""
        return self.draw(st.sampled_from(["", "", "", "+", "*", "?", "{2}", "{1,2}"]))

    def _variable(self, negative: bool) -> str | None:
        if self.draw(st.integers(0, 9)) == 9:
            return None
        names = "xyzuvw" if negative else "abcdefhjklm"
        variable = next((n for n in names if n not in self.used), None)
        if variable is not None:
            self.used.append(variable)
        return variable
