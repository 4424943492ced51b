"""Small streams on which the rules of repeated groups show, each with how many matches it has."""

from __future__ import annotations

import pytest

from tests.engine.groups.comparing import expected, matched, pushed
from tests.engine.groups.queries import Drawn

NEXT = "skip_till_next_match"
# A query, events as types with values, and how many matches there are.
EXAMPLES = [
    # What the iteration at hand does not have is not that of the one before.
    ("(SEQ(A a, B? b, C c))+ g[] RETURN g[g.len].b.v AS last", "A0 B7 C0 A0 C0", 7),
    ("(SEQ(A a, B? b, C c))+ g[] WHERE g[i-1].b.v = 7", "A0 B7 C0 A0 C0", 6),
    # To go on behind a group stands in no way, until the group is at its maximum.
    (f"SEQ((SEQ(A a, B b))+ g[], C c) WHERE {NEXT}", "A0 B0 C0 A0 B0 C0", 3),
    (f"SEQ((SEQ(A a, B b)){{1}} g[], C c) WHERE {NEXT}", "A0 B0 C0 A0 B0 C0", 2),
    # Nor does what passes over the first element of another iteration.
    (f"(SEQ(A? a, B b))+ g[] WHERE {NEXT}", "B0 B0 B0", 7),
    (f"(SEQ(A? a, B b))+ g[] WHERE {NEXT}", "B0 A0 B0 B0", 8),
    (f"(B b)+ g[] WHERE {NEXT}", "B0 B0 B0", 6),
    # A run waits for the first element of any branch, of the first iteration as of others.
    (f"SEQ(X x, (A a OR B b)+ g[]) WHERE {NEXT}", "X0 A0 B0", 2),
    (f"SEQ(X x, (SEQ(A a, Y y) OR SEQ(B b, Y z))+ g[]) WHERE {NEXT}", "X0 A0 B0 Y0 Y0", 1),
    (f"SEQ((A a){{1}} f[], (B b OR SEQ(C c, Y y))+ g[]) WHERE {NEXT}", "A0 C0 B0 Y0", 1),
    # That one which may be empty is passed over stands in no way, but what begins it does.
    (f"SEQ(X x, (A a)* g[], (B b)* h[], Y y) WHERE {NEXT}", "X0 A0 B0 Y0 A0 Y0", 4),
    (f"SEQ(X x, (A a)* g[], Y y) WHERE {NEXT}", "X0 A0 A0 Y0", 1),
    (f"SEQ(X x, (A a)* g[], Y y) WHERE {NEXT}", "X0 Y0 A0 Y0", 2),
    (f"SEQ(X x, (SEQ(A a, B b))* g[], Y y) WHERE {NEXT}", "X0 A0 Y0", 0),
    # A choice between patterns is made before.
    (f"SEQ(X x, ((A a)+ g[])?, Y y) WHERE {NEXT}", "X0 A0 A0 Y0", 2),
    # Two branches that give the same match; orders that only iterations tell apart.
    ("(SEQ(A a, B b) OR SEQ(A a, ANY b))+ g[]", "A0 B0 A0 B0", 5),
    ("(B+ b[])+ g[]", "B0 B0 B0", 13),
    # Conditions on every iteration but the first, with what comes behind the group.
    ("SEQ((B b)+ g[], Y y) WHERE g[i].b.v - g[i-1].b.v = y.v", "B1 B3 B5 Y2", 6),
    ("SEQ((SEQ(B b, C+ c[]))+ g[], Y y) WHERE c[i].v + b.v < y.v", "B1 C1 C5 B2 C1 Y4", 5),
    # An absence is asked of its own iteration.
    ("(SEQ(A a, !(X x), B b))+ g[] WHERE x.v = a.v", "A1 X2 B0 A2 X1 B0", 3),
    ("(SEQ(A a, !(X x), B b)){2} g[] WHERE x.v = a.v", "A1 X2 B0 A2 X1 B0", 1),
]


@pytest.mark.parametrize(("query", "events", "count"), EXAMPLES)
def test_an_example(query: str, events: str, count: int) -> None:
    rows = [
        {"type": each[0], "ts": ts, "v": int(each[1:])} for ts, each in enumerate(events.split())
    ]
    drawn = Drawn(f"EVENT {query}", rows, "RETURN" in query)
    wanted = expected(drawn)
    assert matched(drawn, "nfab") == wanted
    assert pushed(drawn, "nfab", range(1, len(rows)), restored=True) == wanted
    assert len(wanted) == count
