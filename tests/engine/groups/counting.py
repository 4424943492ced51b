"""The states of repeated groups must count the matches of the naive matcher.

Queries have branches, absences and conditions on neighbours in iterations, and sets beside them.
They run in one go and by every other way of collecting events (`counted_ways`). Their form in
`python -m tests.drawing.hunt` is "counted groups".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

import sase
from tests.drawing.draw import Draw, names
from tests.drawing.outcomes import Outcome
from tests.engine.groups import counted_ways
from tests.engine.set_results.comparing import unlike

Row = dict[str, Any]
# Of more matches the naive matcher takes its time.
MOST = 300


class Writer:
    """Writes a query."""

    def __init__(self, draw: Draw, *, has_sets: bool = False) -> None:
        self.draw, self.asked, self.has_sets = draw, list[str](), has_sets
        self.one, self.chance, self.names = draw.choice, draw.chance, names("bcdefhjklmnopqrs")

    def element(self, form: str | None = None) -> str:
        """An element, with the conditions on it alone."""
        name, kind = next(self.names), self.one(["A", "B", "C", "ANY(A, B)", "ANY", "ANY"])
        form = self.one(["", "", "", "+", "{1,2}", "?", "*"]) if form is None else form
        is_series = form not in ("", "?")
        if self.chance(8):
            self.asked.append(f"{name}{'[i]' * is_series}.v {self.one(['>', '<', '!='])} 1")
        if is_series and self.chance(30):
            self.asked.append(f"{name}[i].v {self.one(['>=', '<='])} {name}[i-1].v")
        return f"{kind}{form} {name}{'[]' * is_series}"

    def branch(self) -> str:
        parts = [self.element(self.one(["", "", "", "+", "?"]))]
        for _ in range(self.one([0, 1, 1, 2])):
            before = parts[-1]
            is_firm = "?" not in before and "*" not in before
            if is_firm and self.chance(25):
                negative = next(self.names)
                parts.append(f"!{self.one('ABC')} {negative}")
                if self.chance(40):
                    self.asked.append(f"{negative}.v {self.one(['>', '<'])} 2")
                if self.chance(5):
                    self.asked.append(f"{negative}.v > {_last(before)}.v")
                parts.append(self.element(self.one(["", "", "+"])))
            else:
                parts.append(self.element())
        if not any("?" not in part and "*" not in part for part in parts):
            parts.append(self.element(""))
        for one, other in zip(parts, parts[1:], strict=False):
            if "!" not in one + other and self.chance(35):
                self.asked.append(f"{_last(one)}.v {self.one(['<', '<=', '!='])} {_first(other)}.v")
        self.ends = parts[0], parts[-1]
        return parts[0] if len(parts) == 1 else f"SEQ({', '.join(parts)})"

    def query(self) -> str:
        group = self.branch()
        (first, _), (_, last) = self.ends, self.ends
        if self.chance(45):
            other = self.one([self.branch, self.shuffled(group)])()
            group = f"{group} OR {other}"
        group = f"({group}){self.one(['+', '+', '+', '*', '{2}', '{2,}', '{1,3}'])} g[]"
        firm = not any(each in first + last for each in "?[")
        if firm and self.chance(50):
            where = f"g[i].{_first(first)}.v", f"g[i-1].{_last(last)}.v"
            self.asked.append(f"{where[0]} {self.one(['>', '>=', '='])} {where[1]}")
        ahead, behind = [[], ["A x"], ["B? x"], ["C+ x[]"]], [[], ["B z"]]
        parts = [*self.one(ahead), group, *self.one(behind)]
        if self.has_sets:
            parts = self.beside(group)
        is_behind_one = parts[0] != group and not parts[0].startswith("SET(")
        if firm and is_behind_one and self.chance(60):
            self.asked.append(f"{_last(parts[0])}.v <= g[1].{_first(first)}.v")
        if firm and parts[-1] == "B z" and self.chance(60):
            self.asked.append(f"z.v >= g[g.len].{_last(last)}.v")
        may_end = self.has_sets and self.chance(50)
        if not may_end and ("*" in group.split(")")[-1] or len(parts) > 1):
            parts.append("C y")
        self.asked += self.one([[], [], [], ["[k]"], ["g.len < 3"]])
        where = f" WHERE {' AND '.join(self.asked)}" if self.asked else ""
        window = self.one(["", " WITHIN 4", " WITHIN 5 EVENTS"])
        pattern = f"SEQ({', '.join(parts)})" if len(parts) > 1 else parts[0]
        return f"EVENT {pattern}{where}{window}"

    def beside(self, group: str) -> list[str]:
        """A group with a set before or behind it, or with one on both sides."""
        forms = ["", "", "", "?", "+", "*", "{1,2}", "{2}"]
        sets = []
        for _ in range(self.one([1, 1, 1, 2])):
            members = [self.element(self.one(["", "", "+"]))]
            members += [self.element(self.one(forms)) for _ in range(self.one([1, 1, 2]))]
            sets.append(f"SET({', '.join(self.draw.permutation(members))})")
        if len(sets) == 2:
            return [sets[0], group, sets[1]]
        return self.draw.permutation([group, *sets])

    def shuffled(self, branch: str) -> Any:
        """The same variables in another order, or one with another."""
        parts = branch.removeprefix("SEQ(").removesuffix(")").split(", ")
        if any("!" in each or "ANY" in each for each in parts):
            return self.branch
        parts = self.draw.permutation([*parts, self.element("")])
        return lambda: f"SEQ({', '.join(parts)})"


def _name(part: str) -> str:
    return part.split(" ")[-1].removesuffix("[]")


def _last(part: str) -> str:
    name = _name(part)
    return f"{name}[{name}.len]" if part.endswith("[]") else name


def _first(part: str) -> str:
    return f"{_name(part)}[1]" if part.endswith("[]") else _name(part)


def draw(number: int) -> tuple[str, list[Row]]:
    """A query and a stream; of each third query a set is beside the group."""
    random, has_sets = Draw(number), number % 3 == 0
    query, ts, rows = Writer(random, has_sets=has_sets).query(), 0, list[Row]()
    for _ in range(7 if has_sets else 9):  # a set may be bound in many orders
        ts += random.choice([0, 1, 1, 1])
        value = random.choice([*range(4), *range(4), *range(4), None])
        key = random.choice([1, 1, 1, 2, None])
        rows.append({"type": random.choice("ABC"), "ts": ts, "k": key, "v": value})
    return query, rows


def compared(query: str, rows: list[Row]) -> tuple[str | None, str]:
    """The mistake, if any, and how the matches were counted."""
    try:
        count = sase.match(query, rows, output="count")
    except sase.SaseError as error:
        return None, f"refused: {str(error).splitlines()[0]}"
    if count > MOST:
        return None, "too many"
    try:
        wanted = len(counted_ways.places_of(query, rows))
    except NotImplementedError as error:
        return None, f"refused by the naive matcher: {error}"
    if count != wanted:
        return f"{count}, and not {wanted}", ""
    compressed = sase.match(query, rows, output="compressed")
    listed = sase.match(query, rows).rows.to_pylist()
    if compressed.expand().rows.to_pylist() != listed:
        return "other matches", ""
    times = [row["ts"] for row in rows]
    fault = next(unlike(compressed, listed, times), None)
    fault = fault or next(_other_totals(compressed, listed, rows), None)
    return fault, ("counted" if count.is_counted else "looked at") + " and found" * bool(count)


def _other_totals(
    compressed: sase.CompressedMatches, listed: list[Row], rows: list[Row]
) -> Iterator[str]:
    """Totals over all matches that are not those of the list."""
    for name in compressed.names:
        of = f"{name}{'[]' * any(isinstance(match[name], list) for match in listed)}"
        held = [rows[row]["v"] for match in listed for row in counted_ways.rows_in(match[name])]
        known = [value for value in held if value is not None]
        totals = {"sum": sum(known), "min": min(known, default=None), "count": len(known)}
        for function, total in totals.items():
            got = compressed.aggregate(function, f"{of}.v")
            if got != total and (known or got not in (None, 0)):
                yield f"{function}({of}.v): {got}, and not {total}"


def judged(number: int) -> tuple[str | None, str]:
    """The mistake for the query of a number by any way, and how its matches were counted."""
    query, rows = draw(number)
    fault, how = compared(query, rows)
    if fault is None and how.startswith(("counted", "looked")):
        fault = next(counted_ways.faults(query, rows, Random(number)), None)
    return fault, how


def tried(number: int, asked: Sequence[str] = ()) -> Outcome:
    """The outcome for the query of a number: one that is counted has mostly no matches."""
    fault, how = judged(number)
    return Outcome(how, fault and f"{number} {fault} {draw(number)}")
