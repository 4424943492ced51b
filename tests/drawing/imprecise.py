"""Random queries on imprecise time, as texts, and streams for them, drawn by a seed."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import prod
from random import Random
from typing import Any

from tests.drawing.draw import names

TYPES = "ABC"
TIME = ("lo", "hi")
# The naive matcher writes out the worlds of all events.
MOST_EVENTS, MOST_WORLDS = 8, 6000
Row = dict[str, Any]


@dataclass(frozen=True)
class Drawn:
    """A query by its clauses, and a stream in the order of arrival."""

    pattern: str
    conditions: tuple[str, ...]
    window: str
    confidence: str
    having: str
    returned: str
    limit: str
    rows: tuple[Row, ...] = field(repr=False)

    @property
    def text(self) -> str:
        """The query."""
        clauses = [f"EVENT {self.pattern}"]
        clauses += [f"WHERE {' AND '.join(self.conditions)}"] if self.conditions else []
        clauses += [self.window, self.confidence, self.having, self.returned, self.limit]
        return " ".join(clause for clause in clauses if clause)

    @property
    def threshold(self) -> float | None:
        """The confidence that matches must reach; either is right of those very near to it."""
        return float(self.confidence.split()[-1]) if self.confidence else None


@dataclass
class Variable:
    """A variable, and its quantifier."""

    name: str
    form: str = ""
    negated: bool = False

    @property
    def is_series(self) -> bool:
        return self.form not in ("", "?")


class Writer:
    """Writes a query."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.names = names("abcdefghmnpqrsuw")
        self.variables: list[Variable] = []
        self.admitted: list[str] = []

    def one(self, *choices: Any) -> Any:
        return self.random.choice(choices)

    def chance(self, percent: int) -> bool:
        return self.random.randrange(100) < percent

    # ------------------------------------------------------------ patterns

    def component(self, form: str = "", *, negated: bool = False) -> str:
        name, test = next(self.names), self.one(*TYPES)
        if self.chance(12):
            test = self.one("ANY(A, B)", "ANY(B, C)", "ANY")
        self.variables.append(Variable(name, form, negated))
        self.admitted.append(self.one(*TYPES) if test.startswith("ANY") else test)
        if negated:
            return f"!({test} {name})"
        return f"{test}{form} {name}{'[]' if self.variables[-1].is_series else ''}"

    def absent(self) -> str:
        if self.chance(35):
            return f"!({self.absent_group()})"
        if self.chance(10):
            return f"!({' OR '.join(self.component(negated=True)[2:-1] for _ in range(2))})"
        return self.component(negated=True)

    def absent_group(self) -> str:
        """A sequence that must not be there, of events that may be kept from it by others."""
        parts = [self.inside(self.one("", "", "", "", "+", "?")) for _ in range(self.one(1, 1, 2))]
        parts.insert(self.random.randrange(len(parts) + 1), self.inside())
        if self.chance(35) and not any("? " in part for part in parts):
            parts.insert(self.random.randrange(1, len(parts)), self.component(negated=True))
        return f"SEQ({', '.join(parts)})"

    def inside(self, form: str = "") -> str:
        """A component of a sequence that must not be there."""
        written = self.component(form)
        self.variables[-1].negated = True
        return written

    def sequence(self, most: int) -> tuple[list[str], bool]:
        """Components of which one always binds an event, and whether the last is an absence."""
        forms = ["", *(self.one("", "", "", "+", "+", "*", "?", "{2}", "{1,2}")
                       for _ in range(self.random.randrange(most)))]  # fmt: skip
        self.random.shuffle(forms)
        parts = [self.component(form) for form in forms]
        count = self.one(0, 0, 0, 1, 1, 2)
        places = sorted({self.random.randrange(len(parts) + 1) for _ in range(count)})
        ends = len(parts) in places
        for place in reversed(places):
            parts.insert(place, self.absent())
        return parts, ends

    def pattern(self) -> tuple[str, bool]:
        parts, ends = self.sequence(3)
        if self.chance(12):  # the same variables in another order
            other = [part for part in parts if part[0] != "!"]
            self.random.shuffle(other)
            if self.chance(40):
                place = self.random.randrange(len(other) + 1)
                other.insert(place, self.absent())
                ends = ends or place == len(other) - 1
            both = [_seq(parts), _seq(other)]
            self.random.shuffle(both)
            return " OR ".join(both), ends
        if self.chance(15):
            other, also = self.sequence(2)
            return f"{_seq(parts)} OR {_seq(other)}", ends or also
        if self.chance(10) and len(parts) > 1:
            place = self.random.randrange(len(parts))
            parts.insert(place, f"({self.component()} OR {self.component(self.one('', '+'))})")
        return _seq(parts), ends

    # ------------------------------------------------------------ conditions

    @property
    def positives(self) -> list[Variable]:
        return [each for each in self.variables if not each.negated]

    def value(self, each: Variable) -> str:
        attribute = self.one("v", "v", "w", "lo", "hi")
        if not each.is_series:
            return f"{each.name}.{attribute}"
        form = self.one("[i]", "[i]", "[i]", "[i-1]", "[1]", "sum", "count", "max")
        match form:
            case "sum" | "max":
                index = self.one("", "", "..i-1", "..i")
                return f"{form}({each.name}[{index}].{attribute})"
            case "count":
                return f"count({each.name}[])"
        return f"{each.name}{form}.{attribute}"

    def conjunct(self) -> str:
        left = self.one(*self.variables)
        sign = self.one("<", "<=", "=", "!=", ">", ">=")
        if self.chance(40):
            return f"{self.value(left)} {sign} {self.random.randrange(5)}"
        right = self.one(*self.variables)
        return f"{self.value(left)} {sign} {self.value(right)}"

    def conditions(self) -> tuple[str, ...]:
        found = [self.one("[k]", "[k]", "[v]")] if self.chance(40) else []
        found += [self.conjunct() for _ in range(self.one(0, 0, 1, 1, 2))]
        return tuple(found)

    def of_match(self) -> str:
        each = self.one(*self.positives)
        if not each.is_series:
            return f"{each.name}.{self.one('v', 'lo', 'hi')}"
        return self.one(
            f"sum({each.name}[].v)", f"count({each.name}[])", f"max({each.name}[].hi)",
            f"{each.name}[1].v", f"first({each.name}[].v)", f"{each.name}.len",
        )  # fmt: skip

    def having(self, *, asks: bool) -> str:
        parts = [self.one("confidence >= 0.3717", "confidence < 0.6123", "1 - confidence > 0.1971")]
        if not asks or self.chance(50):
            parts = [f"{self.of_match()} {self.one('<', '>=')} {self.random.randrange(4)}"]
        return f"HAVING {' AND '.join(parts)}"

    def returned(self, *, asks: bool) -> str:
        items = [self.of_match() for _ in range(self.one(1, 2))]
        items += ["confidence", "2 * confidence + 1"][: self.one(0, 1, 1, 2)] if asks else []
        return "RETURN " + ", ".join(f"{each} AS r{n}" for n, each in enumerate(items))


def _seq(parts: list[str]) -> str:
    return f"SEQ({', '.join(parts)})" if len(parts) > 1 or parts[0][0] in "(!" else parts[0]


# ---------------------------------------------------------------- streams


def rows(random: Random, admitted: list[str], *, most_worlds: int, longest: int) -> list[Row]:
    """Events of the types of the pattern, mostly in its order, with overlapping intervals."""
    kinds = list(admitted)
    while len(kinds) < random.randrange(3, MOST_EVENTS + 1):
        kinds.insert(random.randrange(len(kinds) + 1), random.choice([*admitted, *TYPES]))
    base = random.choice((0, 0, 0, -5, 10**15))
    found, at = list[Row](), base
    for kind in kinds[:MOST_EVENTS]:
        at += random.choice((0, 1, 1, 2, 3))
        found.append(_event(random, kind, at, longest))
    while prod(row["hi"] - row["lo"] + 1 for row in found) > most_worlds:
        widest = max(found, key=lambda row: row["hi"] - row["lo"])
        widest["hi"] -= 1
    return found


def _event(random: Random, kind: str, at: int, longest: int) -> Row:
    """An event with an interval that contains a time, mostly a short one."""
    length = min(random.choice((0, 0, 1, 1, 2, random.randrange(longest + 1))), longest)
    row: Row = {"type": kind, "lo": at - random.randrange(length + 1)}
    row |= {"hi": row["lo"] + length, "k": random.choice((1, 1, 2)), "v": random.randrange(4)}
    return row | {"w": random.choice((None, 0.5, 1.0, 2.5))}


def draw(number: int) -> Drawn:
    """The query of a number, and a stream of few worlds."""
    writer = Writer(Random(number))
    drawn = _query(writer)
    found = rows(writer.random, writer.admitted, most_worlds=MOST_WORLDS, longest=5)
    if writer.chance(50):
        writer.random.shuffle(found)
    return replace(drawn, rows=tuple(found))


def draw_long(number: int) -> Drawn:
    """The query of a number with a window, and a stream with too many worlds to write out."""
    writer = Writer(Random(number))
    drawn, random, found, at = _query(writer, always_windowed=True), writer.random, list[Row](), 0
    longest = writer.one(2, 5, 12)
    for _ in range(random.randrange(20, 50)):
        at += random.choice((0, 1, 2, 4, 6))
        found.append(_event(random, random.choice([*writer.admitted, *TYPES]), at, longest))
    return replace(drawn, rows=tuple(found))


def draw_precise(number: int) -> Drawn:
    """A query that does not ask of confidence, and a stream of precise times, no two alike."""
    writer = Writer(Random(number))
    drawn, random, found, at = _query(writer, asks=False), writer.random, list[Row](), 0
    for _ in range(random.randrange(4, 12)):
        at += random.choice((1, 1, 2, 3))
        found.append(_event(random, random.choice([*writer.admitted, *TYPES]), at, 0))
    if writer.chance(50):
        random.shuffle(found)
    return replace(drawn, rows=tuple(found))


def _query(writer: Writer, *, asks: bool = True, always_windowed: bool = False) -> Drawn:
    """A query, which asks of confidence if it may."""
    random = writer.random
    pattern, ends = writer.pattern()
    window = confidence = having = returned = ""
    if ends or "SEQ(!" in pattern or always_windowed or writer.chance(55):
        window = f"WITHIN {random.randrange(1, 10)}{writer.one('', '', ' INCLUSIVE')}"
    if asks and writer.chance(35):
        confidence = f"WITH CONFIDENCE {writer.one('>=', '>')} "
        confidence += writer.one("0.05", "0.25", "0.5", "0.5003", "0.9", "0.999", "1")
    conditions = writer.conditions()
    if writer.chance(20):
        having = writer.having(asks=asks)
    if writer.chance(35):
        returned = writer.returned(asks=asks)
    limit = f"LIMIT {random.randrange(1, 4)}" if writer.chance(8) and not confidence else ""
    return Drawn(pattern, conditions, window, confidence, having, returned, limit, ())
