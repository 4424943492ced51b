"""Random queries with repeated groups, and streams for them; the patterns are texts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import chain, count
from typing import NamedTuple

from tests.drawing.draw import Draw, names
from tests.drawing.forms_of_patterns import ANY, NEXT
from tests.drawing.patterns import Written
from tests.drawing.queries import PARTITION, Query
from tests.drawing.streams import CLOCKS, DECLARED, FLOAT, INTEGER, WIDE, Row, Setting

TYPES = "ABC"
STRATEGIES = ("", "skip_till_any_match", "skip_till_next_match", "skip_till_next_match",
              "strict_contiguity", "partition_contiguity")  # fmt: skip
COLUMNS = {"v": INTEGER, "w": FLOAT, "k": INTEGER}
KINDS = {"v": "integer", "w": "float", "k": "integer"}


@dataclass
class Variable:
    """A variable: `group` it is of, `form` its quantifier."""

    name: str
    form: str = ""
    group: str = ""
    negated: bool = False


class Writer:
    """Writes a query."""

    # Of a hundred conjuncts, the number that are an OR beside a value of another iteration.
    earlier_in_or = 35
    # How many conjuncts there are.
    counts: tuple[int, ...] = (0, 0, 1, 1, 2)
    attributes: tuple[str, ...] = ("v", "v", "w")

    def __init__(self, draw: Draw) -> None:
        self.draw, self.one, self.chance = draw, draw.one_of, draw.chance
        self.variables: list[Variable] = []
        # Those inside a negative group.
        self.inside: list[Variable] = []
        # The types that components admit, in the order in which they are written.
        self.admitted: list[str] = []
        self.groups: list[str] = []
        # The variables of groups with `?`.
        self.optional: list[str] = []
        self.names = names("abcdefhjklmnopqrsuvwxyz")
        self.may_end = False
        self.branches = 0

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
            parts.insert(self.draw.randrange(len(parts) + 1), self.choice(group))
        if self.chance(15) and not any("!" in part for part in parts):
            self.draw.shuffle(parts)
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
            at = self.draw.randrange(len(parts) + 1)
            parts.insert(at, self.component(form="", negated=True))
            self.may_end = True
        return parts[0] if len(parts) == 1 else f"SEQ({', '.join(parts)})"

    # ------------------------------------------------------------ conditions

    def value(self) -> str:
        if self.optional and self.chance(20):
            return f"{self.one(*self.optional)}.len"
        each = self.one(*self.variables)
        attribute = self.one(*self.attributes)
        if each.negated:
            return f"{each.name}.{attribute}"
        series = each.form not in ("", "?")
        if not each.group:
            if not series:
                return f"{each.name}.{attribute}"
            index = self.one(
                "[i]", "[i]", "[1]", "[i-1]", f"[{each.name}.len]", "avg", "avg", "count"
            )
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
            return f"{left} {sign} {self.draw.randrange(4)}"
        if self.chance(8):
            return f"{left} IS {self.one('', 'NOT ')}NULL"
        right = self.value()
        if self.chance(12):
            return f"{left} + {right} {sign} {self.draw.randrange(6)}"
        return f"{left} {sign} {right}"

    def earlier(self) -> str:
        """A condition on the first iteration, or the one before."""
        single = [v for v in self.variables if v.group and not v.negated and v.form in ("", "?")]
        if not single:
            return self.atom()
        each, attribute = self.one(*single), self.one(*self.attributes)
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
            self.draw.shuffle(parts)
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
        name, attribute = self.one(*single).name, self.one(*self.attributes)
        if self.chance(50):
            return self.one(f"{g}[1]", f"{g}[{g}.len]") + f".{name}.{attribute}"
        function = self.one("avg", "sum", "count", "max", "min", "last", "first", "stddev")
        return f"{function}({g}[].{name}.{attribute})"


class BranchWriter(Writer):
    """Writes patterns of several branches, of which some share a group or a part of a sequence."""

    def pattern(self) -> str:
        one = super().pattern()
        inner = one[4:-1] if one.startswith("SEQ(") else one
        if self.chance(40):
            form, event = self.one("({} OR {})", "({})?", "(SEQ({}, {}))?"), self.component
            forms = (self.one("", "", "+"), "")[: form.count("{}")]
            choice = form.format(*(event(form=each) for each in forms))
            return f"SEQ({choice}, {inner})" if self.chance(40) else f"SEQ({inner}, {choice})"
        if self.chance(50):
            event = self.component(form="")
            return self.one(f"{one} OR SEQ({inner}, {event})", f"SEQ({event}, {inner}) OR {one}")
        return f"{one} OR {self.component(form='')}"


class EarlierWriter(BranchWriter):
    """Writes patterns of one or several branches, and such conditions alone."""

    earlier_in_or = 100

    def pattern(self) -> str:
        return super().pattern() if self.chance(50) else Writer.pattern(self)


class BesideWriter(Writer):
    """Writes queries with negative groups."""

    def pattern(self) -> str:
        parts = [self.repeated()]
        if self.chance(50) or parts[0].split(")")[-1].startswith(("*", "{0")):
            parts.insert(0, self.component(form=self.one("", "", "+")))
        if self.chance(60):
            parts.append(self.component(form=self.one("", "", "", "+", "?", "*")))
        for _ in range(self.one(1, 1, 1, 2)):
            parts.insert(self.draw.randrange(len(parts) + 1), self.negative())
        if self.chance(10):
            at = self.draw.randrange(len(parts) + 1)
            parts.insert(at, self.component(form="", negated=True))
        self.may_end = True
        return f"SEQ({', '.join(parts)})"

    def negative(self) -> str:
        first = len(self.variables)
        several = self.chance(25)
        alternatives = [self.alternative(may_be_alone=several) for _ in range(1 + several)]
        self.inside += self.variables[first:]
        return f"!({' OR '.join(alternatives)})"

    def alternative(self, *, may_be_alone: bool) -> str:
        if may_be_alone and self.chance(25):
            return self.component(form="")
        parts = [self.component(form=self.one("", "", "+"))]
        if self.chance(25):
            parts.append(self.component(form="", negated=True))
        parts.append(self.component(form=self.one("", "", "+")))
        if self.chance(30):
            at = self.one(0, len(parts))
            parts.insert(at, self.component(form=self.one("", "*", "?", "{2}", "{1,2}")))
        return f"SEQ({', '.join(parts)})"

    def atom(self) -> str:
        """A comparison, mostly of a value inside a negative group with one outside."""
        if not self.inside or self.chance(30):
            return super().atom()
        every, own = self.variables, self.one(*self.inside)
        self.variables = [own]
        left = self.value()
        self.variables = [each for each in every if each not in self.inside] or every
        right = self.other() if self.chance(75) else str(self.draw.randrange(4))
        self.variables = every
        return f"{left} {self.one('<', '<=', '=', '!=', '>', '>=')} {right}"

    def other(self) -> str:
        """A value that may be compared with one inside a negative group."""
        return self.value()


class InsideWriter(BesideWriter):
    """Writes queries with negative groups in iterations, of which there may be more around."""

    def branch(self, group: str) -> str:
        if self.chance(15):
            return super().branch(group)
        parts = [self.component(group, self.one("", "", "", "+")), self.negative()]
        if self.chance(15):
            parts.append(self.one(self.negative, lambda: self.absence(group))())
        parts.append(self.component(group, self.one("", "", "", "+", "{1,2}")))
        if self.chance(30):
            at = self.one(0, len(parts))
            parts.insert(at, self.component(group, self.one("", "?", "*")))
        return f"SEQ({', '.join(parts)})"

    def absence(self, group: str) -> str:
        return self.component(group, "", negated=True)

    def pattern(self) -> str:
        parts = [self.repeated()]
        if self.chance(25) or parts[0].split(")")[-1].startswith(("*", "{0")):
            parts.insert(0, self.component(form=self.one("", "", "+")))
        if self.chance(25):
            parts.append(self.component(form=self.one("", "", "+", "?")))
        if self.chance(10):
            parts.insert(self.draw.randrange(len(parts) + 1), self.negative())
            self.may_end = True
        return f"SEQ({', '.join(parts)})"

    def other(self) -> str:
        """Mostly of the iteration at hand, or of the group as a whole."""
        for _ in range(3):
            found = self.value()
            if not any(f"g{number}[{at}" in found for number in (1, 2) for at in ("1", "i-", "g")):
                break
        return found

    def atom(self) -> str:
        """A comparison; a variable inside an iteration sometimes has the iteration in front."""
        found = super().atom()
        name = found.split(".")[0].split("[")[0]
        is_inside = any(each.name == name for each in self.inside)
        return f"g1[i].{found}" if is_inside and self.chance(8) else found


class SetWriter(Writer):
    """Writes patterns with a set before or behind repeated groups, or in a choice."""

    def __init__(self, draw: Draw) -> None:
        super().__init__(draw)
        self.names = chain(self.names, (f"n{number}" for number in count()))

    def pattern(self) -> str:
        is_first = self.chance(50)
        before = self.set() if is_first else ""
        one = super().pattern() if self.chance(35) else self.repeated()
        inner = one[4:-1] if one.startswith("SEQ(") else one
        if self.chance(8) and before:
            return f"SEQ({before}, {inner}, {self.set()})"
        members = before or self.set()
        if self.chance(12):
            members = self.one(f"({members} OR {self.component(form='')})", f"({members})?")
        if self.chance(8):
            return f"{one} OR SEQ({inner}, {members})"
        return f"SEQ({members}, {inner})" if is_first else f"SEQ({inner}, {members})"

    def set(self) -> str:
        """A set of a few members, one of which cannot be empty."""
        forms = [self.one("", "", "", "+", "+", "{2}", "{1,2}")]
        forms += [
            self.one("", "", "", "+", "*", "?", "{2}", "{1,2}") for _ in range(self.one(1, 1, 1, 2))
        ]
        self.draw.shuffle(forms)
        return f"SET({', '.join(self.component(form=form) for form in forms)})"


class OptionalWriter(Writer):
    """Writes queries with a variable that is one event in a branch, and in another one or none."""

    counts = (1, 2, 3)
    # Components beside the variable `b`: some of them are in both branches, some in one.
    others = {"a": "A a", "c": "C c", "d": "C d", "s": "A+ s[]"}

    def __init__(self, draw: Draw) -> None:
        super().__init__(draw)
        self.beside: set[str] = set()
        self.admitted = [*"ABC"]

    def pattern(self) -> str:
        forms = ["?", ""] if self.chance(75) else ["?", "", self.one("", "?")]
        return " OR ".join(map(self.branch_of, self.draw.permutation(forms)))

    def branch_of(self, form: str) -> str:
        names = self.draw.sample([*self.others], self.one(1, 1, 2))
        if names == ["s"] and form == "?":
            names = ["a"]
        self.beside |= {*names}
        parts = [self.others[name] for name in names]
        parts.insert(self.draw.randrange(len(parts) + 1), f"B{form} b")
        return f"SEQ({', '.join(parts)})"

    def value(self) -> str:
        attribute = self.one("v", "v", "w")
        name = self.one("b", "b", "b", *sorted(self.beside))
        if name == "b":
            span = self.one("", "..i", "..i-1")
            return self.one(
                f"b.{attribute}",
                f"b[{self.one('i', 'i-1', '1', 'b.len')}].{attribute}",
                f"{self.one('avg', 'sum', 'max', 'last')}(b[{span}].{attribute})",
                f"count(b[{span}])",
                "b.len",
            )
        return f"{name}[i].{attribute}" if name == "s" else f"{name}.{attribute}"

    def atom(self) -> str:
        other = self.value() if self.chance(50) else str(self.draw.randrange(4))
        return f"{self.value()} {self.one('<', '<=', '=', '!=', '>', '>=')} {other}"

    def conjunct(self) -> str:
        return self.atom() if self.chance(75) else f"({self.atom()} OR {self.atom()})"

    def of_match(self) -> str:
        """A value of a finished match."""
        return self.one("b.v", "b[1].v", "b[b.len].w", "sum(b[].v)", "count(b[])", "avg(b[].w)")


# ---------------------------------------------------------------- queries and streams


class Kind(NamedTuple):
    """Who writes patterns, and of how many events a stream is, by how many branches there are.

    Of iterations that are written out there are many. Types mostly follow one another as they are
    written, or not.
    """

    writer: type[Writer]
    most: Mapping[int, int]
    is_as_written: bool = True


FORMS = {
    "groups": Kind(Writer, {1: 9, 2: 6, 3: 5}, is_as_written=False),
    "groups in branches": Kind(BranchWriter, {1: 7, 2: 5, 3: 4}),
    "groups beside absences": Kind(BesideWriter, {1: 8, 2: 6, 3: 5}, is_as_written=False),
    "groups with absences": Kind(InsideWriter, {1: 9, 2: 8, 3: 6}),
    "groups beside sets": Kind(SetWriter, {1: 8, 2: 7, 3: 6}),
    "groups that look back": Kind(EarlierWriter, {1: 7, 2: 5, 3: 4}),
    "optional variables": Kind(OptionalWriter, {0: 8}, is_as_written=False),
}
# All of these, of which the matches are not to overlap.
APART = "groups apart"


def drawn_groups(draw: Draw, form: str) -> tuple[Query, Setting, list[Row], str]:
    """A query of a form, which may be one that is refused, a stream, and the output."""
    is_apart = form == APART
    if is_apart:
        others = [each for each in FORMS if each.startswith("groups") and "back" not in each]
        form = draw.choice(["groups"] * 7 + others)
    kind = FORMS[form]
    writer = kind.writer(draw)
    query = _query(draw, writer)
    setting = _setting(draw)
    rows = _rows(draw, kind.most.get(writer.branches, 4))
    if kind.is_as_written or is_apart:
        at = draw.randrange(len(writer.admitted))
        for row in rows:
            if draw.chance(75):
                row["type"] = writer.admitted[at % len(writer.admitted)]
            at += draw.one_of(1, 1, 1, 1, 0, 2, 3, -1)
    if not is_apart:
        return query, setting, rows, "all"
    if query.strategy == NEXT and draw.chance(50):
        query = replace(query, strategy=ANY)
    if draw.randrange(6) == 0:
        query = replace(query, limit=f"LIMIT {draw.one_of(1, 2, 3)}")
    return query, setting, rows, "non_overlap"


def _query(draw: Draw, writer: Writer) -> Query:
    pattern = writer.pattern()
    strategy = draw.choice(STRATEGIES)
    conditions = tuple(writer.conjunct() for _ in range(draw.choice(writer.counts)))
    tests: tuple[str, ...] = ()
    if strategy == PARTITION or draw.chance(25):
        tests = (draw.one_of("[k]", "[k]", "[k]", "[k = 1]", "[k, v]"),)
    window = ""
    if writer.may_end or draw.chance(50):
        kind = draw.one_of("", "", "", " EVENTS", " EVENTS PER PARTITION")
        window = f"{draw.randrange(2, 9)}{kind if tests else kind.removesuffix(' PER PARTITION')}"
    having = writer.having() if draw.randrange(6) == 0 else ""
    returned = f"RETURN {writer.returned()}" if draw.chance(25) else ""
    return Query(
        Written(pattern), strategy, "", tests, conditions, window, "", having, returned,
        tests_first=True,
    )  # fmt: skip


def _setting(draw: Draw) -> Setting:
    """Types that declare most attributes, or of which nothing is said."""
    declared = dict.fromkeys((*TYPES, "D"), tuple(COLUMNS))
    types = None
    if draw.randrange(3) == 0:
        declared = {kind: tuple(each for each in COLUMNS if draw.chance(75)) for kind in declared}
        types = {kind: {each: KINDS[each] for each in own} for kind, own in declared.items()}
    keywords = {"time": "ts", "type": "type", "seq": None, "types": types, "time_unit": None}
    return Setting(DECLARED if types else WIDE, CLOCKS["raw"], COLUMNS, declared, keywords)


def _rows(draw: Draw, most: int) -> list[Row]:
    found, ts = list[Row](), 0
    for _ in range(draw.randrange(most // 2, most + 1)):
        ts += draw.one_of(0, 1, 1, 1, 1, 2, 3)
        kind = draw.choice(TYPES) if draw.randrange(15) else "D"
        row: Row = {"type": kind, "ts": ts, "v": draw.randrange(4), "k": draw.randrange(2)}
        row["w"] = draw.one_of(None, 0.0, 1.0, 2.5) if draw.randrange(3) else 1.0
        if not draw.randrange(15):
            row["k"] = None  # in no partition
        found.append(row)
    return found
