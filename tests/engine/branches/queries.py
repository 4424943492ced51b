"""Random queries whose patterns have several branches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from tests.engine.branches.patterns import (
    MOST_BRANCHES,
    Choice,
    branches,
    groups,
    leaves,
    merged,
    patterns,
    written,
)
from tests.engine.matching.queries import equivalence_tests, within
from tests.engine.matching.streams import Setting
from tests.engine.series.queries import (
    ANY,
    NEXT,
    PARTITION,
    STRICT,
    SeriesQuery,
    edge,
    listed,
    some_test,
)
from tests.engine.series.writing import Part, SeriesWriter


@dataclass(frozen=True)
class BranchesQuery(SeriesQuery):
    """A query by its clauses; a component is there for each variable."""

    tree: Choice = Choice("or", ())

    @property
    def pattern(self) -> str:
        return written(self.tree)

    @property
    def branches(self) -> list[list[Part]]:
        return branches(self.tree)

    @property
    def negated_end(self) -> str:
        """Whether a match of each branch waits for an absence, or those of some do, or none."""
        waits = {edge(way[::-1]) for way in self.branches}
        return "each" if waits == {"each"} else "some" if any(waits) else ""


class BranchesWriter(SeriesWriter):
    """Writes conditions in which often a part concerns some of the branches alone."""

    groups: list[str]

    def conjunct(self) -> str:
        """Of a variable or another, or of the length of a group."""
        named = [c for c in self.components if c.variable and not (c.negated and self.is_after)]
        positive = [c for c in named if not c.negated]
        if self.groups and self.chance(15):
            length = f"{self.one_of(*self.groups)}.len {self.one_of('=', '=', '!=')} 1"
            others = [self.atom([self.one_of(*positive)])] if positive else []
            return self.one_of(length, *(f"({length} OR {each})" for each in others))
        if len(positive) > 1 and self.chance(40):
            one, other = self.draw(st.permutations(positive))[:2]
            sign = self.one_of("OR", "OR", "AND")
            text = f"({self.atom([one])} {sign} {self.atom([other])})"
            return f"NOT {text}" if sign == "AND" else text
        return super().conjunct()


@st.composite
def queries(draw: st.DrawFn, setting: Setting) -> BranchesQuery:
    strategy = draw(st.sampled_from(["", ANY, NEXT, "", STRICT, PARTITION, NEXT]))
    few = patterns(setting, draw(st.booleans()))
    tree = draw(few.filter(lambda each: len(branches(each)) <= MOST_BRANCHES))
    components = merged(leaves(tree))
    writer = BranchesWriter(draw, setting, components)  # type: ignore[arg-type]
    writer.groups = groups(tree)
    tests = equivalence_tests(writer)
    if strategy == PARTITION and not tests:
        tests = some_test(writer)
    if strategy == PARTITION and not tests:
        strategy = STRICT
    conditions = tuple(writer.conjunct() for _ in range(draw(st.sampled_from([1, 2, 0, 1, 3]))))
    ways = branches(tree)
    at_start, at_end = (any(edge(way[::step]) for way in ways) for step in (1, -1))
    window = within(writer, bool(tests), at_start, at_end)
    having = writer.having() if writer.chance(25) else ""
    returned = writer.returned() if writer.chance(35) else ""
    most: Any = writer.one_of(2, 1, 3, 5, 0)
    limit = f"LIMIT {writer.parameter(str(most), most)}" if writer.chance(12) else ""
    return BranchesQuery(
        components, strategy, listed(writer) if strategy else "", tests, conditions, window,
        having, returned, limit, writer.parameters, draw(st.booleans()), tree,
    )  # fmt: skip
