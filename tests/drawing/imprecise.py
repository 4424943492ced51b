"""Random queries on imprecise time, and streams for them; the patterns are texts."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from tests.drawing.draw import Draw
from tests.drawing.patterns import Written
from tests.drawing.queries import Query
from tests.drawing.repeated_groups import TYPES, BesideWriter
from tests.drawing.streams import CLOCKS, FLOAT, INTEGER, WIDE, Row, Setting

# Streams with few worlds, which the naive matcher writes out, those with too many, and those with
# one, of times that are no two alike.
FEW, MANY, ONE = "imprecise", "long imprecise", "precise intervals"
FORMS = (FEW, MANY, ONE)
MOST_EVENTS, MOST_WORLDS = 8, 6000
COLUMNS = {"hi": INTEGER, "k": INTEGER, "v": INTEGER, "w": FLOAT}
SETTING = Setting(
    WIDE, CLOCKS["raw"], COLUMNS, dict.fromkeys((*TYPES, "D"), tuple(COLUMNS)),
    {"time": ("lo", "hi"), "type": "type", "seq": None, "types": None, "time_unit": None},
)  # fmt: skip


class ImpreciseWriter(BesideWriter):
    """Writes queries without strategies, repeated groups and sets, which may ask of confidence."""

    earlier_in_or = 0
    attributes = ("v", "v", "w", "lo", "hi")

    def __init__(self, draw: Draw, *, asks: bool) -> None:
        super().__init__(draw)
        self.asks = asks

    # ------------------------------------------------------------ patterns

    def absent(self) -> str:
        if self.chance(35):
            return self.negative()
        if self.chance(10):
            either = f"!({self.component(form='')} OR {self.component(form='')})"
            self.inside += self.variables[-2:]
            return either
        return self.component(form="", negated=True)

    def sequence(self, most: int) -> list[str]:
        """Components of which one always binds an event, and absences."""
        forms = ["", *(self.one("", "", "", "+", "+", "*", "?", "{2}", "{1,2}")
                       for _ in range(self.draw.randrange(most)))]  # fmt: skip
        parts = [self.component(form=form) for form in self.draw.permutation(forms)]
        return self.with_absences(parts, self.one(0, 0, 0, 1, 1, 2))

    def with_absences(self, parts: list[str], count: int) -> list[str]:
        """The parts with absences between any of them."""
        places = {self.draw.randrange(len(parts) + 1) for _ in range(count)}
        self.may_end |= bool(places & {0, len(parts)})
        for place in sorted(places, reverse=True):
            parts.insert(place, self.absent())
        return parts

    def pattern(self) -> str:
        parts = self.sequence(3)
        if self.chance(12):  # the same variables in another order
            others = self.draw.permutation([part for part in parts if part[0] != "!"])
            others = self.with_absences(others, int(self.chance(40)))
            return " OR ".join(self.draw.permutation([_seq(parts), _seq(others)]))
        if self.chance(15):
            return f"{_seq(parts)} OR {_seq(self.sequence(2))}"
        if self.chance(10) and len(parts) > 1:
            either = f"({self.component(form='')} OR {self.component(form=self.one('', '+'))})"
            parts.insert(self.draw.randrange(len(parts)), either)
        return _seq(parts)

    # ------------------------------------------------------------ results

    def of_match(self) -> str:
        bound = [each for each in self.variables if not each.negated and each not in self.inside]
        each, attribute = self.one(*bound), self.one(*self.attributes)
        if each.form in ("", "?"):
            return f"{each.name}.{attribute}"
        function = self.one("sum", "max", "first")
        return self.one(
            f"{function}({each.name}[].{attribute})", f"count({each.name}[])",
            f"{each.name}[1].{attribute}", f"{each.name}.len",
        )  # fmt: skip

    def having(self) -> str:
        if self.asks and self.chance(50):
            return self.one("confidence >= 0.3717", "confidence < 0.6123", "1 - confidence > 0.19")
        return f"{self.of_match()} {self.one('<', '>=')} {self.draw.randrange(4)}"

    def returned(self) -> str:
        items = [f"{self.of_match()} AS r{n}" for n in range(self.one(1, 2))]
        asked = ["confidence AS c", "2 * confidence + 1 AS d"][: self.one(0, 1, 1, 2)]
        return ", ".join(items + asked * self.asks)


def _seq(parts: list[str]) -> str:
    return f"SEQ({', '.join(parts)})" if len(parts) > 1 or parts[0][0] in "(!" else parts[0]


# ---------------------------------------------------------------- queries and streams


def drawn_imprecise(draw: Draw, form: str) -> tuple[Query, Setting, list[Row]]:
    """A query of a form, which may be one that is refused, and a stream."""
    writer = ImpreciseWriter(draw, asks=form != ONE)
    query = Query(Written(writer.pattern()), tests_first=True)
    if writer.may_end or form == MANY or draw.chance(55):
        query = replace(query, window=f"{draw.randrange(1, 10)}{draw.one_of('', '', ' INCLUSIVE')}")
    if writer.asks and draw.chance(35):
        least = draw.one_of("0.05", "0.25", "0.5", "0.5003", "0.9", "0.999", "1")
        query = replace(query, confidence=f"{draw.one_of('>=', '>')} {least}")
    elif draw.chance(8):
        query = replace(query, limit=f"LIMIT {draw.randrange(1, 4)}")
    query = replace(
        query,
        tests=(draw.one_of("[k]", "[k]", "[v]"),) * draw.chance(40),
        conditions=tuple(writer.conjunct() for _ in range(draw.choice(writer.counts))),
        having=writer.having() if draw.chance(20) else "",
        returned=f"RETURN {writer.returned()}" if draw.chance(35) else "",
    )
    return query, SETTING, _rows(draw, writer.admitted, form)


def _rows(draw: Draw, admitted: list[str], form: str) -> list[Row]:
    """Events, of few worlds mostly in the order of the pattern; intervals often overlap."""
    gaps = {FEW: (0, 1, 1, 2, 3), MANY: (0, 1, 2, 4, 6), ONE: (1, 1, 2, 3)}[form]
    longest = {FEW: 5, MANY: draw.one_of(2, 5, 12), ONE: 0}[form]
    kinds = [*admitted] if form == FEW else []
    count = draw.randrange(*{FEW: (3, MOST_EVENTS + 1), MANY: (20, 50), ONE: (4, 12)}[form])
    while len(kinds) < count:
        kinds.insert(draw.randrange(len(kinds) + 1), draw.one_of(*admitted, *TYPES))
    at, found = draw.one_of(0, 0, 0, -5, 10**15), list[Row]()
    for kind in kinds[: MOST_EVENTS if form == FEW else None]:
        at += draw.choice(gaps)
        length = min(draw.one_of(0, 0, 1, 1, 2, draw.randrange(longest + 1)), longest)
        low = at - draw.randrange(length + 1)
        row: Row = {"lo": low, "type": kind, "hi": low + length, "k": draw.one_of(1, 1, 2)}
        found.append(row | {"v": draw.randrange(4), "w": draw.one_of(None, 0.5, 1.0, 2.5)})
    while form == FEW and prod(row["hi"] - row["lo"] + 1 for row in found) > MOST_WORLDS:
        max(found, key=lambda row: row["hi"] - row["lo"])["hi"] -= 1
    return draw.permutation(found) if form != MANY and draw.chance(50) else found
