"""Random queries whose patterns have negative groups."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from tests.engine.branches.patterns import merged
from tests.engine.matching.queries import equivalence_tests, negated, within
from tests.engine.matching.streams import Setting
from tests.engine.names import names
from tests.engine.series.queries import (
    ANY,
    FORMS,
    NEXT,
    PARTITION,
    STRICT,
    SeriesQuery,
    component_test,
    edge,
    listed,
    some_test,
)
from tests.engine.series.writing import Part, SeriesWriter

INSIDE = ["", "", "", "", "", "+", "?", "{2}", "*", "{1,2}", "{2,}"]


@dataclass(frozen=True)
class Negative:
    """A negative group: its alternatives, each a sequence of parts."""

    alternatives: tuple[tuple[Part, ...], ...]

    @property
    def text(self) -> str:
        written = [_sequence([_written(part) for part in each]) for each in self.alternatives]
        return f"!({' OR '.join(written)})"

    @property
    def parts(self) -> list[Part]:
        """All its parts, as negative ones."""
        return [part._replace(negated=True) for each in self.alternatives for part in each]


@dataclass(frozen=True)
class GroupsQuery(SeriesQuery):
    """A query by its clauses; each branch of its pattern has parts and negative groups."""

    ways: tuple[tuple[Part | Negative, ...], ...] = ()

    @property
    def pattern(self) -> str:
        return " OR ".join(
            _sequence([_written(each) if isinstance(each, Part) else each.text for each in way])
            for way in self.ways
        )

    @property
    def branches(self) -> list[list[Part]]:
        """The parts of each branch; a group is one negative part."""
        return [outline(way) for way in self.ways]

    @property
    def negated_end(self) -> str:
        waits = {edge(way[::-1]) for way in self.branches}
        return "each" if waits == {"each"} else "some" if any(waits) else ""


def _written(part: Part) -> str:
    return negated(part) if part.negated else part.text  # type: ignore[arg-type]


def _sequence(texts: list[str]) -> str:
    return texts[0] if len(texts) == 1 else f"SEQ({', '.join(texts)})"


def outline(way: tuple[Part | Negative, ...]) -> list[Part]:
    return [each if isinstance(each, Part) else each.parts[0] for each in way]


def every_part(way: tuple[Part | Negative, ...]) -> Iterator[Part]:
    for each in way:
        if isinstance(each, Part):
            yield each
        else:
            yield from each.parts


@dataclass
class _Drawer:
    draw: st.DrawFn
    setting: Setting
    with_series: bool
    names: Iterator[str] = field(default_factory=lambda: names("abcdefhjkmnopquvwxyz"))

    def one_of(self, *choices: Any) -> Any:
        return self.draw(st.sampled_from(choices))

    def part(self, form: str, *, inside: bool = False, negative: bool = False) -> Part:
        test, types = component_test(self.draw, self.setting, negative)
        if inside and self.one_of(True, True, True, False):
            types = (self.one_of(*self.setting.types[-2:]),)
            test = types[0]
        variable = next(self.names) if self.one_of(*[True] * 6, False) else None
        least, most = FORMS[form]
        return Part(test, types, variable, negative, form, least, most)

    def negative(self) -> Negative:
        count = self.one_of(1, 1, 1, 1, 2)
        return Negative(tuple(self.alternative(count > 1) for _ in range(count)))

    def alternative(self, may_be_alone: bool) -> tuple[Part, ...]:
        least = 1 if may_be_alone else 2
        forms = [self.one_of(*INSIDE) for _ in range(self.one_of(least, 2, 2, 2, 3))]
        if all(FORMS[form][0] == 0 for form in forms):
            forms[-1] = ""
        if len(forms) == 1 and not may_be_alone:
            forms.append("")
        parts = [self.part(form, inside=True) for form in forms]
        places = [n for n in range(1, len(parts)) if parts[n - 1].least and parts[n].least]
        for place in reversed(places):
            if self.one_of(True, False, False):
                parts.insert(place, self.part("", inside=True, negative=True))
        return tuple(parts)

    def way(self) -> tuple[Part | Negative, ...]:
        forms = ["", "", "", "", "+", "?", "{2}"] if self.with_series else [""]
        count = self.one_of(2, 2, 1, 2, 3)
        parts: list[Part | Negative] = [self.part(self.one_of(*forms)) for _ in range(count)]
        if all(isinstance(each, Part) and not each.least for each in parts):
            parts[0] = self.part("")
        if self.one_of(False, False, False, True):
            parts.insert(self.one_of(*range(len(parts) + 1)), self.part("", negative=True))
        for _ in range(self.one_of(1, 1, 1, 2)):
            inner = list(range(1, len(parts))) * 3
            place = self.one_of(*inner, 0, len(parts))
            parts.insert(place, self.negative())
        return tuple(parts)


class GroupsWriter(SeriesWriter):
    """Writes conditions of which some relate the parts of a group to others."""

    inside: list[list[Part]]
    outside: list[Part]

    def conjunct(self) -> str:
        """Mostly on parts of one group and on positive ones."""
        groups = [each for each in self.inside if each]
        if not groups or self.is_after or self.chance(30):
            return super().conjunct()
        group = self.one_of(*groups)
        own = self.draw(st.permutations(group))[: self.one_of(1, 1, 2)]
        others = self.draw(st.permutations(self.outside))[: self.one_of(0, 0, 1)]
        chosen = [*own, *others]
        if len(chosen) > 1 and self.chance(20):
            one, other = chosen[:2]
            return f"({self.atom([one])} OR {self.atom([other])})"
        return self.atom(chosen)


@st.composite
def queries(draw: st.DrawFn, setting: Setting) -> GroupsQuery:
    strategy = draw(st.sampled_from(["", "", ANY, NEXT, STRICT, PARTITION]))
    drawer = _Drawer(draw, setting, draw(st.booleans()))
    ways = tuple(drawer.way() for _ in range(drawer.one_of(1, 1, 1, 1, 2)))
    components = merged([part for way in ways for part in every_part(way)])
    writer = GroupsWriter(draw, setting, components)  # type: ignore[arg-type]
    groups = [each for way in ways for each in way if isinstance(each, Negative)]
    writer.inside = [[part for part in each.parts if part.variable] for each in groups]
    writer.outside = [part for part in components if part.variable and not part.negated]
    tests = equivalence_tests(writer)
    if strategy == PARTITION and not tests:
        tests = some_test(writer)
    if strategy == PARTITION and not tests:
        strategy = STRICT
    conditions = tuple(writer.conjunct() for _ in range(draw(st.sampled_from([0, 1, 1, 1, 2, 3]))))
    at_start, at_end = (any(edge(outline(way)[::step]) for way in ways) for step in (1, -1))
    window = within(writer, bool(tests), at_start, at_end)
    having = writer.having() if writer.chance(10) else ""
    returned = writer.returned() if writer.chance(15) else ""
    most: Any = writer.one_of(2, 1, 3, 5, 0)
    limit = f"LIMIT {writer.parameter(str(most), most)}" if writer.chance(8) else ""
    return GroupsQuery(
        components, strategy, listed(writer) if strategy else "", tests, conditions, window,
        having, returned, limit, writer.parameters, draw(st.booleans()), ways,
    )  # fmt: skip
