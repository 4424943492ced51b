"""Random queries of level 1 on a stream of a given setting."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from tests.engine.matching.conditions import Component, Writer
from tests.engine.matching.streams import FLOAT, INTEGER, STRING, Setting


@dataclass(frozen=True)
class Query:
    """A query by its clauses, so that one of them can be left out."""

    components: tuple[Component, ...]
    tests: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    window: str = ""
    returned: str = ""
    limit: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    tests_first: bool = False

    @property
    def text(self) -> str:
        parts = [negated(c) if c.negated else c.text for c in self.components]
        pattern = parts[0] if len(parts) == 1 else f"SEQ({', '.join(parts)})"
        where = self.tests + self.conditions if self.tests_first else self.conditions + self.tests
        clauses = [
            f"EVENT {pattern}", f"WHERE {' AND '.join(where)}" if where else "",
            f"WITHIN {self.window}" if self.window else "", self.returned, self.limit,
        ]  # fmt: skip
        return " ".join(filter(None, clauses))

    @property
    def positives(self) -> list[Component]:
        return [component for component in self.components if not component.negated]

    @property
    def negated_start(self) -> bool:
        return self.components[0].negated

    @property
    def negated_end(self) -> bool:
        return self.components[-1].negated

    @property
    def negated_middle(self) -> bool:
        first, *_, last = [n for n, c in enumerate(self.components) if not c.negated] * 2
        return any(component.negated for component in self.components[first:last])

    @property
    def is_inclusive(self) -> bool:
        return self.window.endswith("INCLUSIVE")

    def without_negation(self) -> Query:
        """The components that bind events, and the conditions on them alone."""
        gone = [f"{c.variable}." for c in self.components if c.negated and c.variable]
        kept = [text for text in self.conditions if not any(name in text for name in gone)]
        return replace(self, components=tuple(self.positives), conditions=tuple(kept))


def negated(component: Component) -> str:
    """`!A x`, `NOT A x` or `!(A x)`: which, is settled by the text, so that it is written once."""
    sign = ("!", "~", "NOT ")[len(component.text) % 3]
    return f"{sign}({component.text})" if len(component.text) % 2 else f"{sign}{component.text}"


@st.composite
def queries(draw: st.DrawFn, setting: Setting) -> Query:
    components = draw(_components(setting))
    writer = Writer(draw, setting, components)
    tests = equivalence_tests(writer)
    count = draw(st.sampled_from([0, 1, 1, 1, 2, 2, 3]))
    equalities = writer.equalities() if writer.chance(25) else ()
    conditions = equalities + tuple(writer.conjunct() for _ in range(count))
    most = writer.one_of(2, 1, 3, 5, 0)
    limit = writer.parameter(str(most), most) if draw(st.integers(0, 9)) == 9 else ""
    edges = components[0].negated, components[-1].negated
    window = within(writer, bool(tests), *edges)
    returned = writer.returned() if draw(st.integers(0, 3)) == 3 else ""
    return Query(
        components, tests, conditions, window, returned, f"LIMIT {limit}" if limit else "",
        writer.parameters, draw(st.booleans()),
    )  # fmt: skip


# ---------------------------------------------------------------- EVENT


@st.composite
def _components(draw: st.DrawFn, setting: Setting) -> tuple[Component, ...]:
    count = draw(st.sampled_from([1, 1, 2, 2, 2, 2, 3, 3, 3, 4]))
    negatives = draw(st.sampled_from([0, 0, 0, 1, 1, 2]))
    components = [_component(draw, setting, variable, False) for variable in "abcd"[:count]]
    for variable in "xyz"[:negatives]:
        place = draw(st.integers(0, len(components)))
        components.insert(place, _component(draw, setting, variable, True))
    return tuple(components)


def _component(draw: st.DrawFn, setting: Setting, variable: str, negative: bool) -> Component:
    named = variable if draw(st.integers(0, 6)) < 6 else None
    every = setting.types
    # A negative component is often of the last type: it shall not forbid every match.
    usual = every[-1:] if negative else every
    match draw(st.integers(0, 9)):
        case 8 if len(every) > 1:
            two = draw(st.permutations(every))[:2]
            return Component(f"ANY({', '.join(two)})", tuple(two), named, negative)
        case 9:
            return Component("ANY", tuple(setting.declared), named, negative)
        case number:
            name = draw(st.sampled_from(usual if number < 5 else every))
            return Component(name, (name,), named, negative)


# ---------------------------------------------------------------- equivalence tests


def equivalence_tests(writer: Writer) -> tuple[str, ...]:
    setting = writer.setting
    known = {
        attribute: setting.kind(name, attribute)
        for component in writer.components
        for name in component.types
        for attribute in setting.declared[name]
    }
    keys = [attribute for attribute in ("id", "id", "id", "k", "s") if attribute in known]
    if not keys or writer.chance(35):
        return ()
    first = writer.one_of(*keys)
    match writer.draw(st.integers(0, 9)):
        case 7:
            kind = {INTEGER: INTEGER, FLOAT: FLOAT, STRING: STRING}[known[first]]
            text, value = ("'x'", "x") if kind == STRING else writer.one_of(("1", 1), ("1.0", 1.0))
            return (f"[{first} = {writer.parameter(text, value)}]",)
        case 8:
            return tuple(f"[{name}]" for name in dict.fromkeys([first, *keys[-1:]]))
        case 9:
            return (f"[{', '.join(dict.fromkeys([first, *keys[-2:]]))}]",)
        case _:
            return (f"[{first}]",)


# ---------------------------------------------------------------- WITHIN


def within(writer: Writer, has_tests: bool, at_start: bool, at_end: bool) -> str:
    """A window that a pattern may have in which an absence stands at the start or the end."""
    kinds = ["time"] * 5
    if not at_end:
        kinds += ["events"] * 2 + ["partition"] * (2 if has_tests else 0)
    if not (at_start or at_end):
        kinds += ["none"] * 3
    wanted = sum(not component.negated for component in writer.components)
    match writer.one_of(*kinds):
        case "none":
            return ""
        case "time":
            window = _length(writer)
        case "events":
            window = f"{_number(writer, writer.one_of(1, 2, 3, 5, 7, 9) + wanted)} EVENTS"
        case _:
            window = f"{_number(writer, writer.one_of(0, 1, 2, 4) + wanted)} EVENTS PER PARTITION"
    return f"{window} INCLUSIVE" if writer.chance(25) else window


def _number(writer: Writer, number: int) -> str:
    return writer.parameter(str(number), number)


def _length(writer: Writer) -> str:
    """A window in time of some ticks."""
    clock, ticks = writer.setting.clock, writer.one_of(3, 2, 1, 4, 5, 6, 8, 10, 20)
    ticks += sum(not component.negated for component in writer.components)
    counts = pa.types.is_integer(clock.arrow)
    raw = _number(writer, ticks * clock.raw) if counts else ""
    if clock.unit is None:
        return writer.one_of(raw, raw, f"{ticks * clock.raw - 1}.5")
    whole = f"{_number(writer, ticks)} {clock.unit}"
    parts = {
        "s": (1000, "ms"), "seconds": (1000, "millis"), "minutes": (60, "seconds"),
        "min": (60, "s"), "m": (60, "sec"), "days": (24, "hours"),
    }  # fmt: skip
    times, finer = parts[clock.unit]
    return writer.one_of(
        whole,
        whole,
        raw or whole,
        f"{ticks * times} {finer}",
        f"{ticks * times - times // 2} {finer}",
    )
