"""Random queries with repeated groups, as texts, and streams for them, drawn by a seed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Any, Literal

from tests.engine.names import names

TYPES = "ABC"
STRATEGIES = ("", "skip_till_any_match", "skip_till_next_match", "skip_till_next_match",
              "strict_contiguity", "partition_contiguity")  # fmt: skip
Row = dict[str, Any]


@dataclass
class Variable:
    """A variable: `group` it is of, `form` its quantifier."""

    name: str
    form: str = ""
    group: str = ""
    negated: bool = False


@dataclass
class Drawn:
    """A query, whether it has RETURN, and a stream."""

    text: str
    rows: list[Row]
    returned: bool = False
    # The attributes that each type declares; all of them if that is not said.
    types: dict[str, dict[str, str]] | None = None
    output: Literal["all", "non_overlap"] = "all"

    @property
    def has_earlier_in_or(self) -> bool:
        """Whether WHERE has an OR, and what another iteration than the one at hand has."""
        where = re.split(" (?:WITHIN|HAVING|RETURN) ", self.text.partition(" WHERE ")[2])[0]
        return " OR " in where and re.search(r"g\d\[(1|i-1)\]", where) is not None


class Writer:
    """Writes a query."""

    # How many of a hundred conjuncts are an OR beside what another iteration has.
    earlier_in_or = 35

    def __init__(self, random: Random) -> None:
        self.random = random
        self.variables: list[Variable] = []
        # The types that components admit, in the order in which they are written.
        self.admitted: list[str] = []
        self.groups: list[str] = []
        # The variables of groups with `?`.
        self.optional: list[str] = []
        self.names = names("abcdefhjklmnopqrsuvwxyz")
        self.may_end = False
        self.branches = 0

    def one(self, *choices: Any) -> Any:
        return self.random.choice(choices)

    def chance(self, percent: int) -> bool:
        return self.random.randrange(100) < percent

    # ------------------------------------------------------------ patterns

    def component(self, group: str = "", form: str | None = None, negated: bool = False) -> str:
        name = next(self.names)
        if form is None:
            form = self.one("", "", "", "", "+", "*", "?", "{1,2}", "{2}")
        test = (
            self.one(*TYPES)
            if self.chance(84)
            else self.one("ANY(A, B)", "ANY(B, C)", "ANY", "ANY", "D")
        )
        self.variables.append(Variable(name, form, group, negated))
        self.admitted.append(self.one(*TYPES) if test.startswith("ANY") else test)
        brackets = "[]" if form not in ("", "?") else ""
        if negated:
            return f"!({test} {name})" if self.chance(50) else f"!{test} {name}"
        return f"{test}{form} {name}{brackets}"

    def branch(self, group: str) -> str:
        parts = [self.component(group, self.one("?", "*")) for _ in range(self.chance(20))]
        parts.append(self.component(group, "" if self.chance(70) else "+"))
        for _ in range(self.one(0, 1, 1, 1, 2)):
            if self.chance(18):
                last = self.variables[-1]
                if last.form in ("", "+"):
                    parts.append(self.component(group, "", negated=True))
                    parts.append(self.component(group, self.one("", "", "+")))
                    continue
            parts.append(self.component(group))
        if self.chance(12):
            parts.insert(self.random.randrange(len(parts) + 1), self.choice(group))
        if self.chance(15) and not any("!" in part for part in parts):
            self.random.shuffle(parts)
        return parts[0] if len(parts) == 1 else f"SEQ({', '.join(parts)})"

    def choice(self, group: str) -> str:
        """A group with `?`, with a variable of its own."""
        inside, name = self.component(group, self.one("", "", "+")), next(self.names)
        self.optional.append(name)
        self.branches += 1
        return f"({inside})? {name}"

    def repeated(self) -> str:
        group = f"g{len(self.groups) + 1}"
        self.groups.append(group)
        count = self.one(1, 1, 1, 2, 2, 3)
        self.branches += count
        inner = " OR ".join(self.branch(group) for _ in range(count))
        if self.chance(10):
            first = self.component(group, "")
            inner = f"SEQ({first}, ({inner}))"
        form = self.one("+", "+", "+", "*", "{1,2}", "{2}", "{2,}", "{0,2}", "{1}")
        self.forms = form
        return f"({inner}){form} {group}[]"

    def pattern(self) -> str:
        parts = [self.repeated()]
        if self.chance(12):
            parts.append(self.repeated())
        if self.chance(50) or parts[0].split(")")[-1].startswith(("*", "{0")):
            parts.insert(0, self.component(form=self.one("", "", "+")))
        if self.chance(45):
            parts.append(self.component(form=self.one("", "", "", "+", "?", "*")))
        if self.chance(15):
            at = self.random.randrange(len(parts) + 1)
            parts.insert(at, self.component(form="", negated=True))
            self.may_end = True
        return parts[0] if len(parts) == 1 else f"SEQ({', '.join(parts)})"

    # ------------------------------------------------------------ conditions

    def value(self) -> str:
        if self.optional and self.chance(20):
            return f"{self.one(*self.optional)}.len"
        each = self.one(*self.variables)
        attribute = self.one("v", "v", "w")
        if each.negated:
            return f"{each.name}.{attribute}"
        series = each.form not in ("", "?")
        if not each.group:
            if not series:
                return f"{each.name}.{attribute}"
            index = self.one("[i]", "[1]", "[i-1]", f"[{each.name}.len]", "avg", "count")
            if index == "avg":
                function = self.one("avg", "sum", "max", "min", "last")
                return f"{function}({each.name}[{self.one('', '..i', '..i-1')}].{attribute})"
            if index == "count":
                return self.one(f"{each.name}.len", f"count({each.name}[])")
            return f"{each.name}{index}.{attribute}"
        g, name = each.group, each.name
        if self.chance(12):
            return self.one(f"{g}.len", f"count({g}[])", f"count({g}[..i])", f"count({g}[..i-1])")
        if series:
            index = self.one("[i]", "[i]", "[1]", "[i-1]", f"[{name}.len]", "avg", "len")
            if index == "avg":
                function = self.one("avg", "sum", "max", "min", "first", "last", "stddev")
                return f"{function}({name}[{self.one('', '..i', '..i-1')}].{attribute})"
            if index == "len":
                return f"{name}.len"
            return f"{name}{index}.{attribute}"
        which = self.one("", "", "g[i].", "g[i-1].", "g[1].", "g[g.len].", "all")
        if which == "all":
            function = self.one("avg", "sum", "max", "min", "count", "first", "last", "stddev")
            return f"{function}({g}[{self.one('', '..i', '..i-1')}].{name}.{attribute})"
        return which.replace("g", g) + f"{name}.{attribute}"

    def atom(self) -> str:
        left = self.value()
        sign = self.one("<", "<=", "=", "!=", ">", ">=")
        if self.chance(35):
            return f"{left} {sign} {self.random.randrange(4)}"
        if self.chance(8):
            return f"{left} IS {self.one('', 'NOT ')}NULL"
        right = self.value()
        if self.chance(12):
            return f"{left} + {right} {sign} {self.random.randrange(6)}"
        return f"{left} {sign} {right}"

    def earlier(self) -> str:
        """A condition on the first iteration, or the one before."""
        single = [v for v in self.variables if v.group and not v.negated and v.form in ("", "?")]
        if not single:
            return self.atom()
        each, attribute = self.one(*single), self.one("v", "v", "w")
        g, value = each.group, f"{each.name}.{attribute}"
        left = f"{g}[{self.one('1', '1', '1', 'i-1')}].{value}"
        other = self.one(
            *(str(number) for number in range(4)),
            f"{g}[{self.one('1', 'i-1')}].{self.one(*[v for v in single if v.group == g]).name}.v",
            f"{self.one('min', 'max', 'count')}({g}[{self.one('', '..i-1')}].{value})",
            f"{g}.len",
            self.value(),
        )
        return f"{left} {self.one('<', '<=', '=', '!=', '>', '>=', '!=')} {other}"

    def conjunct(self) -> str:
        if self.chance(self.earlier_in_or):
            parts = [self.atom(), self.earlier()]
            self.random.shuffle(parts)
            form = self.one("{} OR {}", "{} OR {}", "{} OR ({} AND {})", "{} AND ({} OR {})")
            return f"({form})".format(*parts, self.one(self.atom, self.earlier)())
        if self.chance(25):
            return f"({self.atom()} {self.one('OR', 'OR', 'AND')} {self.atom()})"
        return self.atom()

    def having(self) -> str:
        return f"{self.of_match()} {self.one('<', '>', '=')} {self.one(1, 2, 2, 3)}"

    def returned(self) -> str:
        return ", ".join(f"{self.of_match()} AS r{n}" for n in range(self.one(1, 2, 3)))

    def of_match(self) -> str:
        """A value of a finished match."""
        g = self.one(*self.groups)
        single = [v for v in self.variables if v.group == g and not v.negated]
        single = [each for each in single if each.form in ("", "?")]
        if not single or self.chance(30):
            return self.one(f"{g}.len", f"count({g}[])")
        name, attribute = self.one(*single).name, self.one("v", "w")
        if self.chance(50):
            return self.one(f"{g}[1]", f"{g}[{g}.len]") + f".{name}.{attribute}"
        function = self.one("avg", "sum", "count", "max", "min", "last", "first", "stddev")
        return f"{function}({g}[].{name}.{attribute})"


# Of iterations that are written out there are many: so many events where a group has branches.
MOST_EVENTS = {1: 9, 2: 6, 3: 5}


def rows(random: Random, most: int) -> list[Row]:
    found, ts = list[Row](), 0
    for _ in range(random.randrange(most // 2, most + 1)):
        ts += random.choice((0, 1, 1, 1, 1, 2, 3))
        kind = random.choice(TYPES) if random.randrange(15) else "D"
        row: Row = {"type": kind, "ts": ts, "v": random.randrange(4), "k": random.randrange(2)}
        row["w"] = random.choice((None, 0.0, 1.0, 2.5)) if random.randrange(3) else 1.0
        if not random.randrange(15):
            row["k"] = None  # in no partition
        found.append(row)
    return found


def types(random: Random) -> dict[str, dict[str, str]] | None:
    """Most attributes of each type, or nothing."""
    attributes = {"v": "integer", "w": "float", "k": "integer"}
    if random.randrange(3):
        return None
    return {
        kind: {name: of for name, of in attributes.items() if random.randrange(4)}
        for kind in (*TYPES, "D")
    }


def draw(seed: int) -> Drawn:
    """A query and a stream of a seed; it may be one that is refused."""
    random = Random(seed)
    return drawn_by(Writer(random), random)


def drawn_by(writer: Writer, random: Random, most: Mapping[int, int] = MOST_EVENTS) -> Drawn:
    """What a writer writes, and a stream of at most so many events, by how many branches it has."""
    pattern = writer.pattern()
    strategy = random.choice(STRATEGIES)
    parts = [writer.conjunct() for _ in range(random.choice((0, 0, 1, 1, 2)))]
    if strategy == "partition_contiguity" or random.randrange(4) == 0:
        parts.insert(0, random.choice(("[k]", "[k]", "[k]", "[k = 1]", "[k, v]")))
    text = f"EVENT {pattern}"
    where = " AND ".join(parts)
    if strategy:
        where = strategy + (f" {{ {where} }}" if where else "")
    if where:
        text += f" WHERE {where}"
    if writer.may_end or random.randrange(2):
        size = random.randrange(2, 9)
        kind = random.choice(("", "", "", " EVENTS", " EVENTS PER PARTITION"))
        if "PER" in kind and "[k" not in where:
            kind = " EVENTS"
        text += f" WITHIN {size}{kind}"
    if random.randrange(6) == 0:
        text += f" HAVING {writer.having()}"
    returned = random.randrange(4) == 0
    if returned:
        text += f" RETURN {writer.returned()}"
    return Drawn(text, rows(random, most.get(writer.branches, 4)), returned, types(random))


def drawn_as_written(writer: Writer, random: Random, most: Mapping[int, int]) -> Drawn:
    """The same, with a stream in which types mostly follow one another as they are written."""
    drawn, at = drawn_by(writer, random, most), random.randrange(len(writer.admitted))
    for row in drawn.rows:
        if random.randrange(4):
            row["type"] = writer.admitted[at % len(writer.admitted)]
        at += random.choice((1, 1, 1, 1, 0, 2, 3, -1))
    return drawn
