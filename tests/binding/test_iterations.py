"""Conditions on repeated groups: which iterations of which branch they apply to, and where."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sase.binding import bind_text
from sase.binding.bound import BoundQuery, Quantified
from sase.binding.values.text import condition_text

PATTERN = "SEQ(A a, (SEQ(B b, S+ s[], C c) OR SEQ(D d, C? e))+ g[], Z z)"


def placed(query: BoundQuery) -> list[str]:
    """Where each conjunct is checked, with the series and groups over which it ranges."""
    names = {each.index: each.variable for each in query.components}
    found = [
        f"{condition_text(c.condition, names)} at {names[c.component or 0]} {c.when.name}"
        + "".join(_ranges(query, c.quantified))
        for c in query.conjuncts
    ]
    for component in query.components:
        for branch in component.group.branches if component.group else ():
            found += [
                f"{condition_text(c.condition, names)} in {c.iterations.name} at"
                f" {branch.elements[c.element].variable} {c.when.name}"
                + "".join(_ranges(query, c.quantified))
                for c in branch.conjuncts
            ]
    return found


def _ranges(query: BoundQuery, quantified: tuple[Quantified, ...]) -> Iterator[str]:
    for each in quantified:
        component = query.components[each.component]
        inner = ""
        if component.group is not None and each.inner is not None:
            inner = component.group.variables[each.inner].variable
        of = "" if each.branches is None else f" of {','.join(map(str, each.branches))}"
        yield f" for {inner or component.variable}{'>1' if each.but_first else ''}{of}"


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("b.v < c.v", ["b.v < c.v in EVERY at c EVENT"]),
        ("a.v < g[i].b.v", ["a.v < b.v in EVERY at b EVENT"]),
        ("s[i].v > s[i-1].v", ["s[i].v > s[i-1].v in EVERY at s FURTHER"]),
        ("s[i].v < c.v", ["s[i].v < c.v in EVERY at c EVENT for s"]),
        ("s.len > 2", ["count(s[]) > 2 in EVERY at s WHOLE"]),
        ("d.v = e.v", ["d.v = e[i].v in EVERY at e EVERY"]),
        ("g[i-1].c.v < b.v", ["g[i-1].c.v < b.v in FURTHER at b EVENT"]),
        ("g[1].b.v < b.v", ["g[1].b.v < b.v in FURTHER at b EVENT"]),
        (
            "g[i-1].c.v > 5",
            ["g[i-1].c.v > 5 in FURTHER at b EVENT", "g[i-1].c.v > 5 in FURTHER at d EVENT"],
        ),
        ("g[1].b.v > 3", ["g[1].b.v > 3 in FIRST at b EVENT", "g[1].b.v > 3 in FIRST at d EVENT"]),
        ("g[1].e.v > 3", ["g[1].e.v > 3 in FIRST at b EVENT", "g[1].e.v > 3 in FIRST at e WHOLE"]),
        ("g.len > 2", ["count(g[]) > 2 at g WHOLE"]),
        ("b.v = g.len", ["b.v = count(g[]) at g WHOLE for g of 0"]),
        ("g[g.len].b.v = g[1].b.v", ["g[g.len].b.v = g[1].b.v at g WHOLE"]),
        ("b.v < z.v", ["b.v < z.v at z EVENT for g of 0"]),
        ("s[i].v < z.v", ["s[i].v < z.v at z EVENT for g of 0 for s of 0"]),
        ("g[i-1].b.v < z.v", ["g[i-1].b.v < z.v at z EVENT for g>1"]),
        ("g[1].b.v < z.v", ["g[1].b.v < z.v at z EVENT"]),
        (
            "b.v < z.v OR d.v = 1",
            ["b.v < z.v at z EVENT for g of 0", "d.v = 1 in EVERY at d EVENT"],
        ),
        ("b.v < d.v", []),
        (
            "sum(g[..i].b.v) < 9",
            ["sum(g[..i].b.v) < 9 in EVERY at b EVENT", "sum(g[..i].b.v) < 9 in EVERY at d EVENT"],
        ),
    ],
)  # fmt: skip
def test_a_conjunct_is_asked_where_its_last_identifier_is_bound(
    where: str, expected: list[str]
) -> None:
    assert placed(bind_text(f"EVENT {PATTERN} WHERE {where}")) == expected


def test_what_an_absence_inside_forbids_is_asked_in_every_iteration() -> None:
    query = "EVENT (SEQ(B+ b[], !(X x), C c))+ g[] WHERE x.v = b[i].v AND x.v < g.len"
    assert placed(bind_text(query)) == [
        "x.v = b[i].v in EVERY at x EVENT for b",
        "x.v < count(g[]) in EVERY at x EVENT",
    ]


def test_a_choice_inside_is_decided_by_the_branch_of_the_iteration() -> None:
    query = "EVENT (SEQ(B b, (X x)? h, C c))+ g[] WHERE h.len = 1 OR b.v = 3"
    (group,) = bind_text(query).components
    assert group.group is not None
    assert [len(branch.conjuncts) for branch in group.group.branches] == [0, 1]


def test_what_is_inside_counts_among_the_types_of_a_group() -> None:
    (group,) = bind_text("EVENT (SEQ(B b, !(X x), C c)){2,} g[]").components
    assert (group.types, group.minimum, group.maximum) == (("B", "X", "C"), 2, None)
