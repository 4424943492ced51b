"""Random queries whose sets have single events.

These are of different types, so that runs seldom fork; or of any types, and every match is wanted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from tests.engine.branches.patterns import Choice, Node, leaves, merged
from tests.engine.branches.queries import BranchesWriter
from tests.engine.matching.queries import equivalence_tests, within
from tests.engine.matching.streams import Setting
from tests.engine.series.queries import ANY, NEXT, edge, listed
from tests.engine.series.writing import Part
from tests.engine.sets.queries import GREEDY, SetsQuery

NAMES = "abcdefhjklm"
# How many members each step has; one that is alone is also written without a set.
SIZES = ((2,), (3,), (2, 1), (1, 2), (3, 1), (1, 2, 1), (2, 2), (4,), (1, 1), (2, 2, 1))


def joined_queries(setting: Setting) -> st.SearchStrategy[SetsQuery]:
    """Every match, whatever types its events are of."""
    return single_queries(setting, strategies=("", ANY), repeats=True)


@st.composite
def single_queries(
    draw: st.DrawFn,
    setting: Setting,
    *,
    strategies: Sequence[str] = (GREEDY, GREEDY, NEXT),
    repeats: bool = False,
) -> SetsQuery:
    """Runs that take whatever they can, or wait for what comes next."""
    names, steps = iter(NAMES), list[Node]()
    sizes = draw(st.sampled_from([each for each in SIZES if max(each) <= len(setting.types)]))
    kinds = [*draw(st.permutations(setting.types))] * 3
    if repeats:
        kinds = draw(st.lists(st.sampled_from(setting.types), min_size=12, max_size=12))
    for size in sizes:
        types, kinds = kinds[:size], kinds[size:]
        members = tuple(Part(name, (name,), next(names)) for name in types)
        alone = size == 1 and draw(st.booleans())
        steps.append(members[0] if alone else Choice("set", members))
    if draw(st.integers(0, 3)) == 3:
        name = draw(st.sampled_from(setting.types))
        absent = Part(name, (name,), "x", negated=True)
        steps.insert(draw(st.integers(0, len(steps))), absent)
    tree = Choice("seq", tuple(steps))
    components = merged(leaves(tree))
    writer = BranchesWriter(draw, setting, components)  # type: ignore[arg-type]
    writer.groups = []
    tests = equivalence_tests(writer)
    conditions = tuple(writer.conjunct() for _ in range(draw(st.sampled_from([0, 0, 1, 1, 2]))))
    parts = leaves(tree)
    window = within(writer, bool(tests), bool(edge(parts)), bool(edge(parts[::-1])))
    strategy = draw(st.sampled_from(strategies))
    most: Any = writer.one_of(2, 1, 3, 5)
    limit = f"LIMIT {writer.parameter(str(most), most)}" if writer.chance(10) else ""
    having = writer.having() if writer.chance(10) else ""
    returned = writer.returned() if writer.chance(15) else ""
    variables = listed(writer) if strategy else ""
    return SetsQuery(
        components, strategy, variables, tests, conditions, window, having, returned, limit,
        writer.parameters, draw(st.booleans()), tree,
    )  # fmt: skip
