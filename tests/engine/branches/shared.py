"""Random queries whose branches differ in types alone, and mostly share a scan."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.engine.branches.patterns import Choice, Node, branches, leaves, merged
from tests.engine.branches.queries import BranchesQuery, BranchesWriter
from tests.engine.matching.queries import equivalence_tests, within
from tests.engine.matching.streams import Setting
from tests.engine.series.queries import edge
from tests.engine.series.writing import Part

NAMES = "abcdefhjklm"
# How many alternatives each place has.
CHOICES = ((2,), (1, 2), (2, 1), (1, 2, 1), (2, 2), (1, 3, 1), (3, 1), (1, 1, 2), (2, 2, 1))


@st.composite
def shared_queries(draw: st.DrawFn, setting: Setting) -> BranchesQuery:
    """Sequences of alternatives, each of one event; one of them may be of other types, or none."""
    names, places = iter(NAMES), list[Node]()
    for count in draw(st.sampled_from(CHOICES)):
        types = draw(st.permutations(setting.types))[:count]
        parts = [Part(name, (name,), next(names)) for name in types]
        if len(parts) == 1:
            places.append(parts[0])
        elif draw(st.integers(0, 9)) == 9:
            places.append(Choice("?", (parts[0],)))
        else:
            places.append(Choice("or", tuple(parts)))
    if draw(st.integers(0, 3)) == 3:
        name = draw(st.sampled_from(setting.types))
        absent = Part(name, (name,), "x", negated=True)
        places.insert(draw(st.integers(0, len(places))), absent)
    tree = Choice("seq", tuple(places))
    if not any(any(p.least and not p.negated for p in way) for way in branches(tree)[-1:]):
        tree = Choice("seq", (*places, Part(setting.types[0], setting.types[:1], next(names))))
    components = merged(leaves(tree))
    writer = BranchesWriter(draw, setting, components)  # type: ignore[arg-type]
    writer.groups = []
    tests = equivalence_tests(writer)
    at_start, at_end = (any(edge(way[::step]) for way in branches(tree)) for step in (1, -1))
    window = within(writer, bool(tests), at_start, at_end)
    is_asked = writer.chance(20)
    conditions = (writer.conjunct(),) if writer.chance(25) else ()
    return BranchesQuery(
        components, "", "", tests, conditions, window,
        writer.having() if is_asked and writer.chance(50) else "",
        writer.returned() if is_asked else "",
        writer.one_of("LIMIT 2", "LIMIT 5") if writer.chance(8) else "",
        writer.parameters, draw(st.booleans()), tree,
    )  # fmt: skip
