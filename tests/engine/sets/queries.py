"""Random queries with sets, under every strategy, and of earliest_maximal without them."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, TypeAlias

from hypothesis import strategies as st

from tests.engine.branches import queries as of_branches
from tests.engine.branches.patterns import (
    Choice,
    Drawer,
    Node,
    branches,
    groups,
    leaves,
    merged,
)
from tests.engine.branches.queries import BranchesQuery, BranchesWriter
from tests.engine.matching.queries import equivalence_tests, within
from tests.engine.matching.streams import Setting
from tests.engine.series import queries as of_series
from tests.engine.series.queries import (
    ANY,
    NEXT,
    PARTITION,
    STRICT,
    edge,
    listed,
    some_test,
)
from tests.engine.series.writing import Part

GREEDY = "earliest_maximal"
STRATEGIES = ("", ANY, NEXT, GREEDY, GREEDY, STRICT, PARTITION, NEXT)
MEMBERS = ("", "", "", "", "+", "+", "*", "?", "{2}", "{1}", "{1,2}", "{2,}")
# Components that follow one another, or the members of a set.
Steps: TypeAlias = list[list[Part]]


@dataclass(frozen=True)
class SetsQuery(BranchesQuery):
    """A query by its clauses, whose pattern may have sets."""

    @property
    def ways(self) -> list[Steps]:
        """The branches in steps."""
        return steps(self.tree)

    @property
    def negated_end(self) -> str:
        """Whether a match of each branch waits for time to pass, or some do, or none."""
        if self.strategy != GREEDY:
            return super().negated_end
        waits = {_waits(way) for way in self.ways}
        is_of_time = bool(self.window) and "EVENTS" not in self.window
        return "each" if waits == {"each"} and is_of_time else "some" if any(waits) else ""


def _waits(way: Steps) -> str:
    """Whether each match of a branch waits, for an absence or since it could grow, or some do."""
    absent = edge([part for step in way for part in step][::-1])
    last = [step for step in way if not step[0].negated][-1]
    if absent == "each" or any(part.most is None for part in last):
        return "each"
    return "some" if absent or any(part.most != part.least for part in last) else ""


def steps(node: Node) -> list[Steps]:
    """What a pattern is written out to, the members of a set together."""
    match node:
        case Part():
            return [[[node]]]
        case Choice("set", parts):
            return [[leaves(Choice("seq", parts))]]
        case Choice("seq", parts):
            found: list[Steps] = [[]]
            for part in parts:
                found = [[*before, *rest] for before in found for rest in steps(part)]
            return found
        case Choice("or", parts):
            return [way for part in parts for way in steps(part)]
        case Choice("?", (inner,)):
            return [*steps(inner), []]
    raise AssertionError(node)


@st.composite
def queries(draw: st.DrawFn, setting: Setting) -> SetsQuery:
    """Mostly with a set; otherwise one of level 1 or 2, or of several branches, that is greedy."""
    match draw(st.integers(0, 9)):
        case 8:
            series = draw(of_series.queries(setting))
            return _greedy(series, Choice("seq", series.components))
        case 9:
            several = draw(of_branches.queries(setting))
            return _greedy(several, several.tree)
    strategy = draw(st.sampled_from(STRATEGIES))
    tree = draw(patterns(setting))
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
    having = writer.having() if writer.chance(20) else ""
    returned = writer.returned() if writer.chance(25) else ""
    most: Any = writer.one_of(2, 1, 3, 5, 0)
    limit = f"LIMIT {writer.parameter(str(most), most)}" if writer.chance(10) else ""
    return SetsQuery(
        components, strategy, listed(writer) if strategy else "", tests, conditions, window,
        having, returned, limit, writer.parameters, draw(st.booleans()), tree,
    )  # fmt: skip


def _greedy(query: of_series.SeriesQuery, tree: Choice) -> SetsQuery:
    given = {each.name: getattr(query, each.name) for each in fields(of_series.SeriesQuery)}
    made = SetsQuery(**{**given, "tree": tree, "strategy": GREEDY})
    return made if made.tests or made.conditions else replace(made, listed="")


# ---------------------------------------------------------------- EVENT


@st.composite
def patterns(draw: st.DrawFn, setting: Setting) -> Choice:
    """A pattern with a set in it, now and then in a choice, each branch of which binds an event."""
    drawer = Drawer(draw, setting, True)
    count = draw(st.sampled_from([1, 2, 2, 2, 3]))
    place = draw(st.integers(0, count - 1))
    parts = list[Node]()
    for number in range(count):
        if number == place:
            parts.append(_chosen(drawer) if draw(st.integers(0, 9)) >= 7 else _set(drawer))
        elif draw(st.integers(0, 9)) >= 7:
            parts.append(_set(drawer))
        else:
            parts.append(drawer.component([]))
    for _ in range(draw(st.sampled_from([0, 0, 0, 1, 1, 2]))):
        absent = drawer.component([], negative=True)
        parts.insert(draw(st.integers(0, len(parts))), absent)
    node = parts[0] if len(parts) == 1 else Choice("seq", tuple(parts))
    if any(not any(p.least and not p.negated for p in way) for way in branches(node)):
        node = Choice("seq", (node, drawer.component([], form="")))
    assert isinstance(node, Choice)
    return node


def _set(drawer: Drawer, again: list[Part] | None = None) -> Choice:
    """A set of a few members; `again` has those whose variables may stand in it, too."""
    draw, before = drawer.draw, list(again or ())
    members = list[Part]()
    for _ in range(draw(st.sampled_from([2, 2, 2, 3, 3, 1, 4]))):
        form = None if before else draw(st.sampled_from(MEMBERS))
        members.append(drawer.component(before, form=form))
        before = [each for each in before if each.variable != members[-1].variable]
    if not any(part.least for part in members):
        members.append(drawer.component([], form=""))
    return Choice("set", tuple(members))


def _chosen(drawer: Drawer) -> Choice:
    """A set that may be left out, or is an alternative to another one or to a sequence."""
    one = _set(drawer)
    if drawer.draw(st.booleans()):
        return Choice("?", (one,), drawer.draw(st.sampled_from(["", "g1"])))
    again = leaves(one)
    kind = drawer.draw(st.integers(0, 2))
    other: Node = _set(drawer, again) if kind == 0 else drawer.sequence(0, again)
    both = [one, other] if drawer.draw(st.booleans()) else [other, one]
    return Choice("or", tuple(both))
