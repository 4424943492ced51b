"""Random conditions of WHERE, mostly true of the values of `streams`, and expressions of RETURN."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pyarrow as pa
from hypothesis import strategies as st

from tests.engine.matching.streams import BOOLEAN, FLOAT, INTEGER, STRING, TABLES, Setting


class Component(NamedTuple):
    """A component of a pattern; ANY admits several types and `test` is how that is written."""

    test: str
    types: tuple[str, ...]
    variable: str | None
    negated: bool = False

    @property
    def text(self) -> str:
        return " ".join(filter(None, [self.test, self.variable]))


LITERALS: dict[pa.DataType, list[tuple[str, Any]]] = {
    INTEGER: [(str(n), n) for n in (0, 1, 2, 3, 2**53)] + [("-1", -1)],
    FLOAT: [("0.5", 0.5), ("1.0", 1.0), ("2.0", 2.0), ("1e0", 1.0), ("-0.0", -0.0), ("150%", 1.5)],
    STRING: [(f"'{text}'", text) for text in ("x", "xy", "Y", "", "é", "a")],
    BOOLEAN: [("TRUE", True), ("FALSE", False)],
}
PATTERNS = ["x%", "%", "_", "_%", "%y", "x", "%é%", "x\\%", "x_%"]
# What is true more often stands more often.
SIGNS = ["=", "=", "!=", "<>", "<", "<=", "<=", ">", ">=", ">=", "≠", "≤", "=="]


@dataclass
class Writer:
    """Writes conditions on the components of one pattern, and collects their parameters."""

    draw: st.DrawFn
    setting: Setting
    components: Sequence[Component]
    parameters: dict[str, Any] = field(default_factory=dict)

    def one_of(self, *choices: Any) -> Any:
        return self.draw(st.sampled_from(choices))

    def chance(self, percent: int) -> bool:
        """Rarely and not often; shrinking leads to False."""
        return self.draw(st.integers(0, 99)) >= 100 - percent

    # ------------------------------------------------------------ values

    def parameter(self, text: str, value: Any) -> str:
        """The literal, or a parameter that stands for it."""
        if "%" in text or not self.chance(10):
            return text
        name = f"p{len(self.parameters)}"
        self.parameters[name] = value
        return f":{name}"

    def literal(self, kind: pa.DataType) -> str:
        return self.parameter(*self.one_of(*LITERALS[kind]))

    def number_literal(self) -> str:
        return self.literal(self.one_of(INTEGER, FLOAT))

    def references(self, component: Component, *kinds: pa.DataType) -> list[str]:
        """The attributes of these kinds that some type of the component declares."""
        setting = self.setting
        names = {
            attribute: None
            for name in component.types
            for attribute in setting.declared[name]
            if setting.kind(name, attribute) in kinds
        }
        lead = f"{component.variable}." if component.variable else ""
        found = [f"{lead}{name}" for name in names]
        if INTEGER in kinds and setting.seq:
            found.append(f"{lead}{setting.seq}")
        if STRING in kinds and setting.type and setting.layout != TABLES:
            found.append(f"{lead}{setting.type}")
        return found

    def number(self, component: Component) -> str | None:
        names = self.references(component, INTEGER, FLOAT)
        if not names:
            return None
        name = self.one_of(*names)
        if not self.chance(40):
            return name
        other, literal = self.one_of(*names), self.number_literal()
        return self.one_of(
            f"{name} + {literal}", f"{literal} - {name}", f"{name} * {other}", f"{name} / {other}",
            f"{name} % {literal}", f"-{name}", f"abs({name} - 2)", f"coalesce({name}, {literal})",
            f"least({name}, {other}, {literal})", f"greatest({name}, {other})", f"({name} - 1) * 2",
            f"{name} % 2 + {other}", f"80% * {name}",
        )  # fmt: skip

    def string(self, component: Component) -> str | None:
        names = self.references(component, STRING)
        if not names:
            return None
        name = self.one_of(*names)
        if not self.chance(30):
            return name
        literal = self.literal(STRING)
        return self.one_of(
            f"lower({name})", f"upper({name})", f"coalesce({name}, {literal})",
            f"greatest({name}, {literal})", f"least({name}, {self.one_of(*names)})",
        )  # fmt: skip

    # ------------------------------------------------------------ atomic conditions

    def on_one(self, component: Component) -> str:
        makers = [self._number_on_one] * 3 + [self._string_on_one] * 2
        makers += [self._boolean_on_one, self._null_test, self._time_on_one]
        return self._first(makers, component)

    def on_two(self, left: Component, right: Component) -> str:
        makers = [self._numbers, self._numbers, self._strings, self._booleans, self._times]
        return self._first(makers, left, right)

    def on_three(self, one: Component, two: Component, three: Component) -> str:
        a, b, c = self.number(one), self.number(two), self.number(three)
        if a is None or b is None or c is None:
            return self.on_two(one, three)
        sign = self.one_of(*SIGNS)
        return self.one_of(
            f"{a} + {b} {sign} {c}", f"{a} BETWEEN {b} AND {c}", f"{c} >= least({a}, {b})",
            f"{a} NOT BETWEEN {b} AND {c}", f"coalesce({a}, {b}) {sign} {c}",
        )  # fmt: skip

    def _first(self, makers: list[Callable[..., str | None]], *components: Component) -> str:
        """By one of these: the next where the components have no attribute for it."""
        start = self.draw(st.integers(0, len(makers) - 1))
        for make in makers[start:] + makers[:start]:
            made = make(*components)
            if made is not None:
                return made
        return "TRUE"

    def _number_on_one(self, component: Component) -> str | None:
        a, b = self.number(component), self.number(component)
        if a is None:
            return None
        sign, not_, lit, more = self.one_of(*SIGNS), self._not(), self.literal, self.number_literal
        match self.draw(st.integers(0, 5)):
            case 0 | 1:
                return f"{a} {sign} {more()}"
            case 2:
                return f"{more()} {sign} {a}"
            case 3:
                return f"{a} {sign} {b}"
            case 4:
                return f"{a} {not_}IN ({lit(INTEGER)}, {more()}, NULL, 1)"
            case _:
                parts = self.one_of(
                    (a, "0", more()), (a, b, more()), (a, more(), more()),
                    (more(), a, more()), (more(), more(), a),
                )  # fmt: skip
                return f"{parts[0]} {not_}BETWEEN {parts[1]} AND {parts[2]}"

    def _string_on_one(self, component: Component) -> str | None:
        a, b = self.string(component), self.string(component)
        if a is None:
            return None
        sign, not_, lit = self.one_of(*SIGNS), self._not(), self.literal
        match self.draw(st.integers(0, 5)):
            case 0:
                return f"{a} {sign} {lit(STRING)}"
            case 1:
                return f"{a} {sign} {b}"
            case 2:
                return f"{a} {not_}IN ({lit(STRING)}, 'x', {lit(STRING)})"
            case 3:
                return f"{a} {not_}LIKE '{self.one_of(*PATTERNS)}'"
            case 4:
                return self.one_of(
                    f"{a} {not_}BETWEEN '' AND {lit(STRING)}",
                    f"{lit(STRING)} {not_}BETWEEN {a} AND {lit(STRING)}",
                )
            case _:
                return f"length({a}) {sign} {lit(INTEGER)}"

    def _boolean_on_one(self, component: Component) -> str | None:
        names = self.references(component, BOOLEAN)
        if not names:
            return None
        a = self.one_of(*names)
        return self.one_of(
            a, a, f"NOT {a}", f"{a} = TRUE", f"{a} >= FALSE", f"coalesce({a}, TRUE) = TRUE"
        )

    def _null_test(self, component: Component) -> str | None:
        names = self.references(component, INTEGER, FLOAT, STRING, BOOLEAN)
        made = self.one_of(self.number, self.string)(component) or (names and self.one_of(*names))
        return f"{made} IS {self.one_of('NOT ', 'NOT ', '')}NULL" if made else None

    def _time_on_one(self, component: Component) -> str | None:
        clock, lead = self.setting.clock, f"{component.variable}." if component.variable else ""
        if self.setting.layout == TABLES and self.chance(50):
            return None
        moment = clock.at(self.draw(st.integers(0, 12)))
        if isinstance(moment, float):
            moment = clock.shown(moment)
        if clock.name == "zoned":
            return f"{lead}{self.setting.time} IS NOT NULL"
        written = {
            "moments": "TIMESTAMP '{}'",
            "whole seconds": "TIMESTAMP '{}'",
            "days": "DATE '{}'",
        }
        text = written.get(clock.name, "{}").format(moment)
        return f"{lead}{self.setting.time} {self.one_of(*SIGNS)} {text}"

    def _numbers(self, left: Component, right: Component) -> str | None:
        a, b = self.number(left), self.number(right)
        if a is None or b is None:
            return None
        sign, more = self.one_of(*SIGNS), self.number_literal
        match self.draw(st.integers(0, 6)):
            case 0 | 1 | 2:
                return f"{a} {sign} {b}"
            case 3:
                return f"{a} + {b} {sign} {more()}"
            case 4:
                return f"{a} {self._not()}BETWEEN {b} AND {more()}"
            case 5:
                return f"abs(({a}) - ({b})) {sign} {more()}"
            case _:
                return f"coalesce({a}, {b}) IS {self.one_of('NOT ', '')}NULL"

    def _strings(self, left: Component, right: Component) -> str | None:
        a, b = self.string(left), self.string(right)
        if a is None or b is None:
            return None
        return self.one_of(
            f"{a} {self.one_of(*SIGNS)} {b}", f"length({a}) <= length({b})",
            f"coalesce({a}, {b}) LIKE '{self.one_of(*PATTERNS)}'", f"{a} BETWEEN '' AND {b}",
        )  # fmt: skip

    def _booleans(self, left: Component, right: Component) -> str | None:
        a, b = self.references(left, BOOLEAN), self.references(right, BOOLEAN)
        return f"{a[0]} {self.one_of(*SIGNS)} {b[0]}" if a and b else None

    def _times(self, left: Component, right: Component) -> str:
        time, clock = self.setting.time, self.setting.clock
        ticks = self.draw(st.integers(1, 9))
        length = f"{ticks} {clock.unit}" if clock.unit else f"{ticks * clock.raw}"
        sign = self.one_of("<", "<=", "<=", ">", "!=")
        return self.one_of(
            f"{right.variable}.{time} - {left.variable}.{time} {sign} {length}",
            f"{left.variable}.{time} {self.one_of(*SIGNS)} {right.variable}.{time}",
        )

    def _not(self) -> str:
        return self.one_of("", "", "NOT ")

    # ------------------------------------------------------------ conjuncts

    def conjunct(self) -> str:
        """On one, two or three components, at most one of them negative."""
        subject = self._subject()
        if not subject or self.chance(2):
            self.parameters["one"] = 1
            return self.one_of("TRUE", "1 < 2", "NOT FALSE", "2 BETWEEN 1 AND 3", ":one = 1")
        match self.draw(st.integers(0, 9)):
            case 0 | 1:
                return f"({self.atom(subject)} OR {self.atom(subject)})"
            case 2:
                return f"NOT ({self.atom(subject)} AND {self.atom(subject)})"
            case 3:
                return f"(({self.atom(subject)}) AND NOT {self.atom(subject)} OR TRUE = FALSE)"
            case _:
                return self.atom(subject)

    def equalities(self) -> tuple[str, ...]:
        """Equalities that join the components, so that they may amount to an equivalence test."""
        named = [component for component in self.components if component.variable]
        kind = self.one_of(INTEGER, INTEGER, STRING, FLOAT)
        usual = self.one_of("id", "k", "s")
        sides = []
        for component in named:
            names = self.references(component, kind)
            like_others = [name for name in names if name.endswith(f".{usual}")]
            if names:
                sides.append((component, self.one_of(*(like_others * 4), *names)))
        pairs = [
            (self.one_of(sides[0], before), side) if self.chance(70) else (side, sides[0])
            for before, side in zip(sides, sides[1:], strict=False)
            if not self.chance(10)
        ]
        return tuple(
            f"{left} = {right}"
            for (one, left), (other, right) in pairs
            if one is not other and not (one.negated and other.negated)
        )

    def _subject(self) -> list[Component]:
        nameless = len(self.components) == 1
        positive = [c for c in self.components if not c.negated and (c.variable or nameless)]
        negative = [c for c in self.components if c.negated and c.variable]
        wanted = self.one_of(1, 1, 2, 2, 2, 3)
        chosen = [self.one_of(*negative)] if negative and self.chance(60) else []
        if positive and wanted > len(chosen):
            count = min(wanted - len(chosen), len(positive))
            chosen += list(self.draw(st.permutations(positive)))[:count]
        return chosen

    def atom(self, subject: list[Component]) -> str:
        match subject:
            case [one]:
                return self.on_one(one)
            case [one, two]:
                return self.on_two(one, two) if self.chance(80) else self.on_one(two)
            case [one, two, three]:
                return self.on_three(one, two, three)
            case _:
                raise AssertionError(subject)

    # ------------------------------------------------------------ RETURN

    def returned(self) -> str:
        """The RETURN clause, or nothing where no event has a name."""
        nameless = len(self.components) == 1
        subjects = [c for c in self.components if not c.negated and (c.variable or nameless)]
        if not subjects:
            return ""
        items: dict[str, None] = {}
        for place in range(self.draw(st.integers(1, 3))):
            items[self._item(self.one_of(*subjects), self.one_of(*subjects), place)] = None
        listed = ", ".join(items)
        everywhere = all(" AS " in item for item in items)
        return f"RETURN Alert({listed})" if everywhere and self.chance(30) else f"RETURN {listed}"

    def _item(self, one: Component, two: Component, place: int) -> str:
        names = self.references(one, INTEGER, FLOAT, STRING, BOOLEAN)
        lead, other = (f"{c.variable}." if c.variable else "" for c in (one, two))
        time = self.setting.time
        number = self.number(one) or "1"
        match self.draw(st.integers(0, 5)):
            case 0 | 1 if names:
                return self.one_of(*names)
            case 2:
                return f"{number} AS r{place}"
            case 3:
                return f"{self.string(one) or self.literal(STRING)} AS r{place}"
            case 4:
                return f"{other}{time} - {lead}{time} AS r{place}"
            case _:
                return f"coalesce({number}, {self.number(two) or '0'}) + 1 AS r{place}"
