"""Random conditions of level 2: those of level 1, with every form of reference to a series."""

from __future__ import annotations

from typing import Any, NamedTuple

import pyarrow as pa

from tests.engine.matching.conditions import Writer
from tests.engine.matching.streams import BOOLEAN, FLOAT, INTEGER, STRING

NUMBERS = ("avg", "avg", "sum", "sum", "min", "max", "stddev", "first", "last", "count")
OTHERS = ("min", "max", "first", "last")
RANGES = ("[]", "[]", "[..i-1]", "[..i-1]", "[..i]", "[1..i-1]")


class Part(NamedTuple):
    """A component of a pattern: one of level 1, and how often it may occur."""

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
        """All forms but `?` bind lists."""
        return self.quantifier not in ("", "?")

    @property
    def column(self) -> pa.DataType:
        """The type of its rows in a result."""
        return pa.list_(pa.int64()) if self.is_list else pa.int64()

    def at(self, place: str) -> Part:
        """One event of it, or a range, as if it were a variable."""
        return self._replace(variable=place, quantifier="")


class SeriesWriter(Writer):
    """Writes conditions; after the match, in HAVING and RETURN, no event is being added."""

    is_after = False

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
        if not part.variable:
            return part
        return part.at(self.one_of(*self.places(part)))

    def references(self, component: Any, *kinds: pa.DataType) -> list[str]:
        """Attributes of events of a series in two of the forms, aggregates, and its length."""
        if not component.quantifier:
            return super().references(component, *kinds)
        name, found = component.variable, list[str]()
        for _ in range(2):
            found += super().references(self.place(component), *kinds)
        if kinds == (BOOLEAN,):
            return found
        for _ in range(2):
            found += self._aggregates(component, kinds)
        if INTEGER in kinds:
            found += self.one_of([f"{name}.len"], [f"count({name}[])"])
        return found

    def _aggregates(self, part: Part, kinds: tuple[pa.DataType, ...]) -> list[str]:
        taken = "[]" if self.is_after else self.one_of(*RANGES)
        functions = NUMBERS if {*kinds} <= {INTEGER, FLOAT} else OTHERS
        ranges = super().references(part.at(f"{part.variable}{taken}"), *kinds)
        return [f"{self.one_of(*functions)}({each})" for each in ranges]

    def _time_on_one(self, component: Any) -> str | None:
        return super()._time_on_one(self.place(component))

    def _times(self, left: Any, right: Any) -> str:
        return super()._times(self.place(left), self.place(right))

    def _subject(self) -> list[Any]:
        """A series without a variable can be referred to by nothing."""
        found = super()._subject()
        if self.is_after:
            found = [part for part in found if not part.negated]
        return [part for part in found if part.variable or not part.quantifier]

    # ------------------------------------------------------------ what shall often be there

    def conjunct(self) -> str:
        """Now and then one of the conditions by which series are usually told."""
        series = [part for part in self.components if part.is_list and part.variable]
        if not series or self.is_after or not self.chance(45):
            return super().conjunct()
        one, other = self.one_of(*series), self.one_of(*series)
        if one != other and self.chance(60):
            return self.on_two(one.at(f"{one.variable}[i]"), other.at(f"{other.variable}[i]"))
        return self._usual(one) or super().conjunct()

    def _usual(self, part: Part) -> str | None:
        name, names = part.variable, super().references(part.at("#"), INTEGER, FLOAT)
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

    # ------------------------------------------------------------ HAVING and RETURN

    def having(self) -> str:
        """The HAVING clause."""
        self.is_after = True
        found = [self.conjunct() for _ in range(self.one_of(1, 1, 2))]
        self.is_after = False
        return " AND ".join(found)

    def returned(self) -> str:
        """The RETURN clause, or nothing where no event has a name."""
        self.is_after = True
        found = "" if all(part.variable is None for part in self.components) else super().returned()
        self.is_after = False
        return found

    def _item(self, one: Any, two: Any, place: int) -> str:
        names = self.references(one, *self.one_of((INTEGER, FLOAT), (INTEGER, FLOAT), (STRING,)))
        if names and self.chance(60):
            return f"{self.one_of(*names)} AS r{place}"
        if names and self.chance(50):
            return str(self.one_of(*names))
        if self.chance(40):
            return super()._item(self.place(one), self.place(two), place)
        numbers = self.number(one) or "1", self.number(two) or "0"
        return f"coalesce({numbers[0]}, {numbers[1]}) + 1 AS r{place}"
