"""Random conditions of WHERE, mostly true of the values of `streams`, HAVING and RETURN."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import pyarrow as pa

from tests.drawing.draw import Draw
from tests.drawing.patterns import Node, Part, groups, leaves, merged, nodes
from tests.drawing.streams import BOOLEAN, FLOAT, INTEGER, STRING, TABLES, Setting

NUMBERS = ("avg", "avg", "sum", "sum", "min", "max", "stddev", "first", "last", "count")
OTHERS = ("min", "max", "first", "last")
RANGES = ("[]", "[]", "[..i-1]", "[..i-1]", "[..i]", "[1..i-1]")
# Signs that exclude each other, and some that both accept equal values.
PAIRS = [
    ("<", ">"), ("<", ">="), (">", "<="), ("=", "!="), ("!=", "="), ("<=", ">"), ("=", "<"),
    ("<=", ">="), (">=", "<="), ("=", "="), ("!=", "<"), ("<=", "="),
]  # fmt: skip
LITERALS: dict[pa.DataType, list[tuple[str, Any]]] = {
    INTEGER: [(str(n), n) for n in (0, 1, 2, 3, 2**53)] + [("-1", -1)],
    FLOAT: [("0.5", 0.5), ("1.0", 1.0), ("2.0", 2.0), ("1e0", 1.0), ("-0.0", -0.0), ("150%", 1.5)],
    STRING: [(f"'{text}'", text) for text in ("x", "xy", "Y", "", "é", "a")],
    BOOLEAN: [("TRUE", True), ("FALSE", False)],
}
PATTERNS = ["x%", "%", "_", "_%", "%y", "x", "%é%", "x\\%", "x_%"]
# These mean the same to RE2 and to Python.
# No pattern has a name of a component before a point, by which helpers find the conditions of one.
REGULAR = ["x", "^x", "y$", "[xy]", ".?x", "^$", "", "é|Y", "^(x|y)+$", "a*"]
UNITS = ["year", "quarter", "month", "week", "day", "hour", "minute", "second"]
# A condition that is true more often is drawn more often.
SIGNS = ["=", "=", "!=", "<>", "<", "<=", "<=", ">", ">=", ">=", "≠", "≤", "=="]


@dataclass
class Writer:
    """Writes conditions on the components of one pattern, and collects their parameters.

    After the match, in HAVING and RETURN, no event is being added.
    """

    draw: Draw
    setting: Setting
    tree: Node
    parameters: dict[str, Any] = field(default_factory=dict)
    is_after: bool = False

    def __post_init__(self) -> None:
        self.components = merged(leaves(self.tree))
        self.one_of, self.chance = self.draw.one_of, self.draw.chance
        kinds = {each.kind for each, _ in nodes(self.tree)}
        self.groups = groups(self.tree)
        self.has_choices = bool(kinds & {"set", "or", "?"} and "not" not in kinds)
        absent = [leaves(each) for each, _ in nodes(self.tree) if each.kind == "not"]
        # Of each absent sequence the components that can be referred to.
        self.absent = [named for each in absent if (named := [p for p in each if p.variable])]

    # ------------------------------------------------------------ values

    def parameter(self, text: str, value: Any) -> str:
        """The literal, or a parameter in its place."""
        if "%" in text or not self.chance(10):
            return text
        name = f"p{len(self.parameters)}"
        self.parameters[name] = value
        return f":{name}"

    def literal(self, kind: pa.DataType) -> str:
        return self.parameter(*self.one_of(*LITERALS[kind]))

    def number_literal(self) -> str:
        return self.literal(self.one_of(INTEGER, FLOAT))

    def references(self, component: Part, *kinds: pa.DataType) -> list[str]:
        """Attributes of events of a series in two of the forms, aggregates, and its length."""
        if not component.quantifier:
            return self.attributes(component, *kinds)
        name, found = component.variable, list[str]()
        for _ in range(2):
            found += self.attributes(self.place(component), *kinds)
        if kinds == (BOOLEAN,):
            return found
        for _ in range(2):
            found += self._aggregates(component, kinds)
        if INTEGER in kinds:
            found += self.one_of([f"{name}.len"], [f"count({name}[])"])
        return found

    def places(self, part: Part) -> list[str]:
        """How one event of a component is referred to, the usual forms several times."""
        name = part.variable or ""
        if not part.quantifier:
            return [name]
        ends = [f"{name}[1]", f"{name}[{name}.len]"]
        plain = [] if part.is_list else [name] * 5
        if self.is_after:
            return plain + ends
        return plain + [f"{name}[i]"] * 5 + [f"{name}[i-1]"] * 2 + ends

    def place(self, part: Part) -> Part:
        """One event of it."""
        return part.at(self.one_of(*self.places(part))) if part.variable else part

    def _aggregates(self, part: Part, kinds: tuple[pa.DataType, ...]) -> list[str]:
        taken = "[]" if self.is_after else self.one_of(*RANGES)
        functions = NUMBERS if {*kinds} <= {INTEGER, FLOAT} else OTHERS
        ranges = self.attributes(part.at(f"{part.variable}{taken}"), *kinds)
        return [f"{self.one_of(*functions)}({each})" for each in ranges]

    def attributes(self, component: Part, *kinds: pa.DataType) -> list[str]:
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

    def number(self, component: Part) -> str | None:
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
            f"{name} % 2 + {other}", f"80% * {name}", self._function_of_number(name, other),
            self._function_of_number(name, other), self._case(name, other, literal),
        )  # fmt: skip

    def _case(self, name: str, other: str, literal: str) -> str:
        """Values that depend on conditions, which may be of other events."""
        sign, bound = self.one_of(*SIGNS), self.literal(INTEGER)
        return self.one_of(
            f"CASE WHEN {name} {sign} {bound} THEN {other} ELSE {literal} END",
            f"CASE WHEN {name} IS NULL THEN {bound} WHEN {other} {sign} {bound} THEN {name} END",
            f"if({name} {sign} {other} OR {name} IN (1, 2), {name}, {literal})",
            f"nullif({name}, {self.one_of(other, bound)})",
        )

    def _function_of_number(self, name: str, other: str) -> str:
        return self.one_of(
            f"round({name} / 3, {self.one_of('0', '1', '2')})", f"round({name} * 0.5)",
            f"floor({name} / 2)", f"ceil({name} / 2)", f"sqrt({name})", f"power({name}, 2)",
            f"power({name}, {other})", f"ln({name})", f"exp({name})", f"sign({name} - {other})",
        )  # fmt: skip

    def string(self, component: Part) -> str | None:
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
            f"if({name} = {literal}, 'x', {self.one_of(*names)})", f"nullif({name}, {literal})",
            f"trim({name})", f"concat({name}, {literal})", f"concat('x', {name}, NULL)",
            f"substring({name}, {self.one_of('1, 1', '2', '1, 2')})", f"replace({name}, 'x', 'y')",
            f"split_part({name}, 'x', {self.one_of('1', '2')})",
            f"regexp_extract({name}, '{self.one_of(*REGULAR)}')",
            f"regexp_extract({name}, '(x|y)(y?)', {self.one_of('0', '1', '2')})",
        )  # fmt: skip

    # ------------------------------------------------------------ atomic conditions

    def on_one(self, component: Part) -> str:
        makers = [self._number_on_one] * 3 + [self._string_on_one] * 2
        makers += [self._boolean_on_one, self._null_test, self._time_on_one]
        return self._first(makers, component)

    def on_two(self, left: Part, right: Part) -> str:
        makers = [self._numbers, self._numbers, self._strings, self._booleans, self._times]
        return self._first(makers, left, right)

    def on_three(self, one: Part, two: Part, three: Part) -> str:
        a, b, c = self.number(one), self.number(two), self.number(three)
        if a is None or b is None or c is None:
            return self.on_two(one, three)
        sign = self.one_of(*SIGNS)
        return self.one_of(
            f"{a} + {b} {sign} {c}", f"{a} BETWEEN {b} AND {c}", f"{c} >= least({a}, {b})",
            f"{a} NOT BETWEEN {b} AND {c}", f"coalesce({a}, {b}) {sign} {c}",
        )  # fmt: skip

    def _first(self, makers: list[Callable[..., str | None]], *components: Part) -> str:
        """By one of these: the next where the components have no attribute for it."""
        start = self.draw.randint(0, len(makers) - 1)
        for make in makers[start:] + makers[:start]:
            made = make(*components)
            if made is not None:
                return made
        return "TRUE"

    def _number_on_one(self, component: Part) -> str | None:
        a, b = self.number(component), self.number(component)
        if a is None:
            return None
        sign, not_, lit, more = self.one_of(*SIGNS), self._not(), self.literal, self.number_literal
        match self.draw.randint(0, 5):
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

    def _string_on_one(self, component: Part) -> str | None:
        a, b = self.string(component), self.string(component)
        if a is None:
            return None
        sign, not_, lit = self.one_of(*SIGNS), self._not(), self.literal
        match self.draw.randint(0, 7):
            case 0:
                return f"{a} {sign} {lit(STRING)}"
            case 6:
                name = self.one_of("starts_with", "ends_with", "contains")
                return f"{not_}{name}({a}, {lit(STRING)})"
            case 7:
                return f"{not_}regexp_matches({a}, '{self.one_of(*REGULAR)}')"
            case 1:
                return f"{a} {sign} {b}"
            case 2:
                return f"{a} {not_}IN ({lit(STRING)}, 'x', {lit(STRING)})"
            case 3:
                like = self.one_of("LIKE", "LIKE", "ILIKE")
                return f"{a} {not_}{like} '{self.one_of(*PATTERNS)}'"
            case 4:
                return self.one_of(
                    f"{a} {not_}BETWEEN '' AND {lit(STRING)}",
                    f"{lit(STRING)} {not_}BETWEEN {a} AND {lit(STRING)}",
                )
            case _:
                return f"length({a}) {sign} {lit(INTEGER)}"

    def _boolean_on_one(self, component: Part) -> str | None:
        names = self.references(component, BOOLEAN)
        if not names:
            return None
        a = self.one_of(*names)
        return self.one_of(
            a, a, f"NOT {a}", f"{a} = TRUE", f"{a} >= FALSE", f"coalesce({a}, TRUE) = TRUE"
        )

    def _null_test(self, component: Part) -> str | None:
        names = self.references(component, INTEGER, FLOAT, STRING, BOOLEAN)
        made = self.one_of(self.number, self.string)(component) or (names and self.one_of(*names))
        return f"{made} IS {self.one_of('NOT ', 'NOT ', '')}NULL" if made else None

    def _time_on_one(self, component: Part) -> str | None:
        component = self.place(component)
        clock, lead = self.setting.clock, f"{component.variable}." if component.variable else ""
        if self.setting.layout == TABLES and self.chance(50):
            return None
        moment = clock.at(self.draw.randint(0, 12))
        if isinstance(moment, float):
            moment = clock.shown(moment)
        if clock.name == "zoned" and self.chance(60):
            # The zone of a column is that of the session on Spark, so it is named.
            zone, sign = self.one_of("Asia/Kathmandu", "-03:30"), self.one_of(*SIGNS)
            moment = f"{lead}{self.setting.time} AT TIME ZONE '{zone}'"
            return self.one_of(
                f"{self.one_of('minute', 'hour', 'day')}({moment}) {sign} {self.one_of('45', '5')}",
                f"minute({moment}) {sign} 30",
                f"time_of_day({moment}) {sign} TIME '05:4{self.one_of('5', '6', '7')}'",
                f"date_trunc('{self.one_of(*UNITS)}', {moment}) {sign} {moment}",
            )
        if clock.name == "zoned":
            return f"{lead}{self.setting.time} IS NOT NULL"
        written = {
            "moments": "TIMESTAMP '{}'",
            "whole seconds": "TIMESTAMP '{}'",
            "days": "DATE '{}'",
        }
        text = written.get(clock.name, "{}").format(moment)
        if clock.name in written and self.chance(40):
            name, unit = self.one_of("minute", "second", "hour", "day"), self.one_of(*UNITS)
            return self.one_of(
                f"{name}({lead}{self.setting.time}) {self.one_of(*SIGNS)} {self.one_of('0', '3')}",
                f"date_trunc('{unit}', {lead}{self.setting.time}) {self.one_of(*SIGNS)} {text}",
                f"weekday({lead}{self.setting.time}) + year({lead}{self.setting.time}) > 0",
            )
        return f"{lead}{self.setting.time} {self.one_of(*SIGNS)} {text}"

    def _numbers(self, left: Part, right: Part) -> str | None:
        a, b = self.number(left), self.number(right)
        if a is None or b is None:
            return None
        sign, more = self.one_of(*SIGNS), self.number_literal
        match self.draw.randint(0, 6):
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

    def _strings(self, left: Part, right: Part) -> str | None:
        a, b = self.string(left), self.string(right)
        if a is None or b is None:
            return None
        return self.one_of(
            f"{a} {self.one_of(*SIGNS)} {b}", f"length({a}) <= length({b})",
            f"coalesce({a}, {b}) LIKE '{self.one_of(*PATTERNS)}'", f"{a} BETWEEN '' AND {b}",
        )  # fmt: skip

    def _booleans(self, left: Part, right: Part) -> str | None:
        a, b = self.references(left, BOOLEAN), self.references(right, BOOLEAN)
        return f"{a[0]} {self.one_of(*SIGNS)} {b[0]}" if a and b else None

    def _times(self, left: Part, right: Part) -> str:
        left, right = self.place(left), self.place(right)
        time, clock = self.setting.time, self.setting.clock
        ticks = self.draw.randint(1, 9)
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
        """Now and then one of those that are usual for the form of the pattern."""
        if self.absent and not self.is_after and self.chance(70):
            return self._with_absent()
        named = [c for c in self.components if c.variable and not (c.negated and self.is_after)]
        positive = [each for each in named if not each.negated]
        if self.groups and self.chance(15):
            length = f"{self.one_of(*self.groups)}.len {self.one_of('=', '=', '!=')} 1"
            others = [self.atom([self.one_of(*positive)])] if positive else []
            return self.one_of(length, *(f"({length} OR {each})" for each in others))
        if self.has_choices and len(positive) > 1 and self.chance(40):
            one, other = self.draw.sample(positive, 2)
            sign = self.one_of("OR", "OR", "AND")
            text = f"({self.atom([one])} {sign} {self.atom([other])})"
            return f"NOT {text}" if sign == "AND" else text
        series = [part for part in positive if part.is_list]
        if series and not self.is_after and self.chance(45):
            one, other = self.one_of(*series), self.one_of(*series)
            if one != other and self.chance(60):
                return self.on_two(one.at(f"{one.variable}[i]"), other.at(f"{other.variable}[i]"))
            return self._usual(one) or self._any()
        return self._any()

    def _with_absent(self) -> str:
        """On parts of one absent sequence, and mostly on positive ones."""
        absent = self.one_of(*self.absent)
        own = self.draw.permutation(absent)[: self.one_of(1, 1, 2)]
        outside = [part for part in self.components if part.variable and not part.negated]
        chosen = [*own, *self.draw.permutation(outside)[: self.one_of(0, 0, 1)]]
        if len(chosen) > 1 and self.chance(20):
            one, other = chosen[:2]
            return f"({self.atom([one])} OR {self.atom([other])})"
        return self.atom(chosen)

    def _usual(self, part: Part) -> str | None:
        name, names = part.variable, self.attributes(part.at("#"), INTEGER, FLOAT)
        if not names:
            return None
        attribute = self.one_of(*names).removeprefix("#.")
        sign, number = self.one_of("<=", "<=", ">=", "=", "<", ">"), self.number_literal()
        return self.one_of(
            f"{name}[i].{attribute} {sign} {name}[i-1].{attribute}",
            f"{name}[i].{attribute} {sign} {name}[1].{attribute}",
            f"{name}[i].{attribute} {sign} avg({name}[..i-1].{attribute})",
            f"{name}[i].{attribute} <= max({name}[..i].{attribute})",
            f"{name}[1].{attribute} {sign} {number}",
            f"{name}[i].{attribute} {sign} {name}[{name}.len].{attribute}",
            f"sum({name}[..i].{attribute}) < {self.one_of('4', '7', '2.5')}",
            f"{name}.len {self.one_of('>=', '<=', '!=')} {self.one_of('1', '2', '3')}",
            f"count({name}[..i-1]) < {self.one_of('2', '3')}",
            f"({name}[i].{attribute} {sign} {number} OR {name}[i].{attribute} IS NULL)",
            f"sum({name}[].{attribute}) {sign} {name}.len + {number}",
            f"stddev({name}[].{attribute}) < 1.5",
        )

    def _any(self) -> str:
        """On one, two or three components, at most one of them negative."""
        subject = self._subject()
        if not subject or self.chance(2):
            self.parameters["one"] = 1
            return self.one_of("TRUE", "1 < 2", "NOT FALSE", "2 BETWEEN 1 AND 3", ":one = 1")
        match self.draw.randrange(10):
            case 0 | 1:
                return f"({self.atom(subject)} OR {self.atom(subject)})"
            case 2:
                return f"NOT ({self.atom(subject)} AND {self.atom(subject)})"
            case 3:
                return f"(({self.atom(subject)}) AND NOT {self.atom(subject)} OR TRUE = FALSE)"
            case _:
                return self.atom(subject)

    def turns(self) -> Iterator[str]:
        """Conditions on further events and the first one behind; often these exclude each other."""
        declared = self.setting.declared
        shared = set.intersection(*({*declared[t]} for p in self.components for t in p.types))
        attribute = self.one_of(*(sorted(shared & {"n", "f"}) or ["n"]))
        for left, right in pairwise(self.components):
            sign, other = self.one_of(*PAIRS)
            a, b, first = left.variable, right.variable, "[1]" if right.quantifier else ""
            before = f"{a}[{a}.len]" if left.quantifier else a
            if left.quantifier:
                yield f"{a}[i].{attribute} {sign} {a}[i-1].{attribute}"
            yield f"{b}{first}.{attribute} {other} {before}.{attribute}"

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

    def _subject(self) -> list[Part]:
        """A series without a variable can be referred to by nothing."""
        nameless = len(self.components) == 1
        positive = [c for c in self.components if not c.negated and (c.variable or nameless)]
        negative = [c for c in self.components if c.negated and c.variable]
        wanted = self.one_of(1, 1, 2, 2, 2, 3)
        chosen = [self.one_of(*negative)] if negative and self.chance(60) else []
        if positive and wanted > len(chosen):
            count = min(wanted - len(chosen), len(positive))
            chosen += self.draw.sample(positive, count)
        if self.is_after:
            chosen = [part for part in chosen if not part.negated]
        return [part for part in chosen if part.variable or not part.quantifier]

    def atom(self, subject: list[Part]) -> str:
        match subject:
            case [one]:
                return self.on_one(one)
            case [one, two]:
                return self.on_two(one, two) if self.chance(80) else self.on_one(two)
            case [one, two, three]:
                return self.on_three(one, two, three)
            case _:
                raise AssertionError(subject)

    # ------------------------------------------------------------ HAVING and RETURN

    def having(self) -> str:
        """The HAVING clause."""
        self.is_after = True
        found = [self.conjunct() for _ in range(self.one_of(1, 1, 2))]
        self.is_after = False
        return " AND ".join(found)

    def returned(self) -> str:
        """The RETURN clause, or nothing where no event has a name."""
        single = len(self.components) == 1 and not self.components[0].quantifier
        subjects = [c for c in self.components if not c.negated and (c.variable or single)]
        if not subjects:
            return ""
        self.is_after = True
        items: dict[str, None] = {}
        for place in range(self.draw.randint(1, 3)):
            items[self._item(self.one_of(*subjects), self.one_of(*subjects), place)] = None
        self.is_after = False
        listed = ", ".join(items)
        everywhere = all(" AS " in item for item in items)
        return f"RETURN Alert({listed})" if everywhere and self.chance(30) else f"RETURN {listed}"

    def _item(self, one: Part, two: Part, place: int) -> str:
        if not any(part.quantifier for part in self.components):
            return self._item_of_events(one, two, place)
        if one.is_list and self.chance(12):
            return self._event_values(one, place)
        names = self.references(one, *self.one_of((INTEGER, FLOAT), (INTEGER, FLOAT), (STRING,)))
        if names and self.chance(60):
            return f"{self.one_of(*names)} AS r{place}"
        if names and self.chance(50):
            return self.one_of(*names)
        if self.chance(40):
            return self._item_of_events(self.place(one), self.place(two), place)
        numbers = self.number(one) or "1", self.number(two) or "0"
        return f"coalesce({numbers[0]}, {numbers[1]}) + 1 AS r{place}"

    def _event_values(self, series: Part, place: int) -> str:
        """A list of values of a series, the value of one of its events, or the median."""
        name = series.variable
        is_median = self.chance(30)
        kinds = (INTEGER, FLOAT) if is_median else (INTEGER, FLOAT, STRING, BOOLEAN)
        found = self.attributes(series.at(f"{name}[]"), *kinds)
        if not found:
            return f"{name}.len AS r{place}"
        if is_median:
            return f"median({self.one_of(*found)}) AS r{place}"
        at = self.one_of("[]", "[]", "[2]", "[3]")
        return f"{self.one_of(*found).replace('[]', at)} AS r{place}"

    def _item_of_events(self, one: Part, two: Part, place: int) -> str:
        names = self.references(one, INTEGER, FLOAT, STRING, BOOLEAN)
        lead, other = (f"{c.variable}." if c.variable else "" for c in (one, two))
        time = self.setting.time
        number = self.number(one) or "1"
        match self.draw.randint(0, 5):
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
