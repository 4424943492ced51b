"""Sets: which components are their members, and where conditions on several members are checked."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sase.binding import bind_text
from sase.binding.bound import BoundQuery, MemberCheck, Quantified, elements_of, ranks_of

PATTERN = "SEQ(A+ a[], !N n, SET(C c, P+ p[], Q* q[], D? d), B b)"


def placed(query: BoundQuery) -> Iterator[str]:
    """Where each conjunct is checked; one of several members has a line for each."""
    names = {each.index: each.variable for each in query.components}

    def over(ranges: tuple[Quantified, ...]) -> str:
        return "".join(f" for {names[r.component]}{'>1' * r.but_first}" for r in ranges)

    def told(check: MemberCheck) -> str:
        after = "".join(f" with {names[each]}" for each in check.awaited)
        return f"{names[check.component]} {check.when.name}{after}{over(check.quantified)}"

    for each in query.conjuncts:
        if each.checks:
            yield from map(told, each.checks)
        else:
            yield f"{names[each.component or 0]} {each.when.name}{over(each.quantified)}"


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        # One member: as of a component by itself.
        ("c.v > 3", ["c EVENT"]),
        ("p[i].v > p[i-1].v", ["p FURTHER"]),
        ("p[1].v > 3", ["p FIRST"]),
        ("p[i].v > a[1].v", ["p EVERY"]),
        ("p[i].v > a[i].v", ["p EVERY for a"]),
        # Several: whichever is bound last.
        ("c.v < p[i].v", ["c EVENT for p", "p EVERY with c"]),
        ("c.v < p[i].v - p[i-1].v", ["c EVENT for p>1", "p FURTHER with c"]),
        ("c.v < p[1].v", ["c EVENT with p", "p FIRST with c"]),
        ("c.v < avg(p[..i].v)", ["c EVENT for p", "p EVERY with c"]),
        ("p[i].v < q[i].v", ["p EVERY for q", "q EVERY for p"]),
        ("p[1].v < q[i].v", ["p FIRST for q", "q EVERY with p"]),
        ("p[1].v < q[1].v", ["p FIRST with q", "q FIRST with p"]),
        ("p[i].v < p[1].v + q[1].v", ["p FURTHER with q", "q FIRST for p>1"]),
        ("c.v < d.v", ["c EVENT for d", "d EVERY with c"]),
        (
            "c.v < p[i].v + q[1].v",
            ["c EVENT with q for p", "p EVERY with c with q", "q FIRST with c for p"],
        ),
        ("c.v < p[i].v + a[i].v", ["c EVENT for a for p", "p EVERY with c for a"]),
        # A member as a whole: when the set is left.
        ("p.len > 3", ["p WHOLE"]),
        ("p.len > c.v", ["p WHOLE"]),
        ("p.len > q[i].v", ["p WHOLE for q"]),
        ("q[1].v < p[p.len].v", ["p WHOLE"]),
        ("max(q[].v) > p[i].v + d.v", ["q WHOLE for p for d"]),
        # Behind the set its members are finished, and for an absence too.
        ("c.v < p[i].v + b.v", ["b EVENT for p"]),
        ("n.v < p[i].v + c.v", ["n EVENT for p"]),
    ],
)
def test_a_condition_is_checked_where_its_last_identifier_is_bound(
    where: str, expected: list[str]
) -> None:
    """In a set that is at each member it mentions, if the others are bound by then."""
    query = bind_text(f"EVENT {PATTERN} WHERE {where}")
    assert list(placed(query)) == expected


def described(text: str) -> list[str]:
    """Of each branch its components, those of sets in brackets with the number of the set."""
    found = []
    for branch in (query := bind_text(text)).branches or (query,):
        components = branch.components
        parts = []
        for places in elements_of(components):
            names = " ".join(components[place].variable for place in places)
            number = components[places[0]].set_of
            parts.append(names if number is None else f"{number}({names})")
        found.append(f"{' '.join(parts)} {ranks_of(components)} level {branch.level}")
    return found


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("SEQ(SET(C c, P+ p[]), B b)", ["0(c p) b [0, 1, 2] level 3"]),
        (
            "SEQ(A a, SET(C c, P? p), SET(B b, D d), E e)",
            ["a 0(c p) 1(b d) e [0, 1, 2, 3, 4, 5] level 3"],
        ),
        ("SEQ(SET(A a), !X x, SET(B+ b[]))", ["a x b [0, 1, 2] level 2"]),
        (
            "SET(A a, B b) OR SEQ(C c, SET(B b, A a))",
            ["0(a b) [0, 1] level 3", "c 0(b a) [2, 1, 0] level 3"],
        ),
        (
            "SEQ(A a, (SET(B b, C c))?, D d)",
            ["a 0(b c) d [0, 1, 2, 3] level 3", "a d [0, 1] level 1"],
        ),
    ],
)
def test_members_of_a_set_are_components(pattern: str, expected: list[str]) -> None:
    """Each has its place; a set of one member is that component."""
    assert described(f"EVENT {pattern}") == expected
