"""Small streams on which the rules of repeated groups show, and groups beside sets."""

from __future__ import annotations

from typing import Any

import pytest

import sase
from sase.engine.kernels.runs import graph
from sase.errors import SnapshotError
from sase.lang.parser import parse_query
from tests import naive
from tests.drawing.comparing import bound, tupled

NEXT = "skip_till_next_match"
# A query, events as types with values, and how many matches there are.
EXAMPLES = [
    # A variable that the current iteration does not have is not that of the one before.
    ("(SEQ(A a, B? b, C c))+ g[] RETURN g[g.len].b.v AS last", "A0 B7 C0 A0 C0", 7),
    ("(SEQ(A a, B? b, C c))+ g[] WHERE g[i-1].b.v = 7", "A0 B7 C0 A0 C0", 6),
    # A way to continue behind a group hinders nothing, until the group is at its maximum.
    (f"SEQ((SEQ(A a, B b))+ g[], C c) WHERE {NEXT}", "A0 B0 C0 A0 B0 C0", 3),
    (f"SEQ((SEQ(A a, B b)){{1}} g[], C c) WHERE {NEXT}", "A0 B0 C0 A0 B0 C0", 2),
    # Nor does one that passes over the first element of another iteration.
    (f"(SEQ(A? a, B b))+ g[] WHERE {NEXT}", "B0 B0 B0", 7),
    (f"(SEQ(A? a, B b))+ g[] WHERE {NEXT}", "B0 A0 B0 B0", 8),
    (f"(B b)+ g[] WHERE {NEXT}", "B0 B0 B0", 6),
    # A run waits for the first element of any branch, of the first iteration as of others.
    (f"SEQ(X x, (A a OR B b)+ g[]) WHERE {NEXT}", "X0 A0 B0", 2),
    (f"SEQ(X x, (SEQ(A a, Y y) OR SEQ(B b, Y z))+ g[]) WHERE {NEXT}", "X0 A0 B0 Y0 Y0", 1),
    (f"SEQ((A a){{1}} f[], (B b OR SEQ(C c, Y y))+ g[]) WHERE {NEXT}", "A0 C0 B0 Y0", 1),
    # A way past an element that may be empty hinders nothing, but an event that begins it does.
    (f"SEQ(X x, (A a)* g[], (B b)* h[], Y y) WHERE {NEXT}", "X0 A0 B0 Y0 A0 Y0", 4),
    (f"SEQ(X x, (A a)* g[], Y y) WHERE {NEXT}", "X0 A0 A0 Y0", 1),
    (f"SEQ(X x, (A a)* g[], Y y) WHERE {NEXT}", "X0 Y0 A0 Y0", 2),
    (f"SEQ(X x, (SEQ(A a, B b))* g[], Y y) WHERE {NEXT}", "X0 A0 Y0", 0),
    # A choice between patterns is made before.
    (f"SEQ(X x, ((A a)+ g[])?, Y y) WHERE {NEXT}", "X0 A0 A0 Y0", 2),
    # Two branches that give the same match; orders that only iterations tell apart.
    ("(SEQ(A a, B b) OR SEQ(A a, ANY b))+ g[]", "A0 B0 A0 B0", 5),
    ("(B+ b[])+ g[]", "B0 B0 B0", 13),
    # Conditions on every iteration but the first, with the components behind the group.
    ("SEQ((B b)+ g[], Y y) WHERE g[i].b.v - g[i-1].b.v = y.v", "B1 B3 B5 Y2", 6),
    ("SEQ((SEQ(B b, C+ c[]))+ g[], Y y) WHERE c[i].v + b.v < y.v", "B1 C1 C5 B2 C1 Y4", 5),
    # An absence applies to its own iteration.
    ("(SEQ(A a, !(X x), B b))+ g[] WHERE x.v = a.v", "A1 X2 B0 A2 X1 B0", 3),
    ("(SEQ(A a, !(X x), B b)){2} g[] WHERE x.v = a.v", "A1 X2 B0 A2 X1 B0", 1),
]


@pytest.mark.parametrize(("query", "events", "count"), EXAMPLES)
def test_an_example(query: str, events: str, count: int) -> None:
    rows = [
        {"type": each[0], "ts": ts, "v": int(each[1:])} for ts, each in enumerate(events.split())
    ]
    text = f"EVENT {query}"
    wanted = naive.match(parse_query(text), rows)
    assert found(sase.match(text, rows, plan="nfab")) == told(wanted)
    plan = sase.compile(text, rows, plan="nfab")
    matcher, pieces = plan.open(), list[Any]()
    for row in rows:
        pieces += found(matcher.push([row]))
        matcher = plan.restore(matcher.snapshot())
    assert pieces + found(matcher.finish()) == told(wanted)
    assert len(wanted) == count


def told(matches: list[naive.Match]) -> list[Any]:
    """The bound events, and the values of RETURN."""
    return [(tupled(each.events), str(dict(each.values or {}))) for each in matches]


def found(matches: sase.Matches) -> list[Any]:
    """The same of the engine."""
    rows = [tuple(map(bound, row.values())) for row in matches.rows.to_pylist()]
    values = [
        {name: value for name, value in each.items() if name == "last"}
        for each in matches.to_pylist()
    ]
    return list(zip(rows, map(str, values), strict=True))


# ---------------------------------------------------------------- beside sets

# Repeated groups beside sets: absences behind them, snapshots, and the states of members.


QUERY = "EVENT SEQ(SET(C c, P+ p[]), (SEQ(B b, D d))+ g[])"


@pytest.mark.parametrize(
    ("kinds", "count"), [("PNCBD", 1), ("CNPBD", 1), ("PCNBD", 0), ("CPBND", 1)]
)
def test_an_absence_behind_a_set_begins_with_the_last_of_it(kinds: str, count: int) -> None:
    """Whichever member that binds."""
    events = [{"ts": n, "type": kind} for n, kind in enumerate(kinds)]
    query = "EVENT SEQ(SET(C c, P p), !N n, (SEQ(B b, D d))+ g[])"
    assert len(sase.match(query, events)) == count


@pytest.mark.parametrize("word", ["HELD", "OPEN", "LACKS", "BEFORE"])
def test_a_run_that_holds_something_else_is_refused(word: str) -> None:
    plan = sase.compile(QUERY, [{"ts": n, "type": kind} for n, kind in enumerate("CPBD")])
    matcher = plan.open()
    matcher.push([{"ts": 1, "type": "P"}, {"ts": 2, "type": "C"}])
    assert plan.restore(matcher.snapshot()).finish().to_pylist() == []
    operator: Any = matcher.pipeline.operators[0]
    members = operator._program.automaton[2]
    operator.store._runs.cells[1, members.at + getattr(graph, word)] = 8
    with pytest.raises(SnapshotError):
        plan.restore(matcher.snapshot())


def test_members_of_sets_are_as_many_states_as_there_are() -> None:
    """A set of ten members beside a group needs no more states than these."""
    members = ", ".join(f"T{n} t{n}" for n in range(10))
    events = [{"ts": n, "type": f"T{(7 * n) % 10}"} for n in range(10)]
    events += [{"ts": 10, "type": "B"}, {"ts": 11, "type": "B"}]
    found = sase.match(f"EVENT SEQ(SET({members}), (B b)+ g[])", events)
    assert [len(row["g"]) for row in found.rows.to_pylist()] == [1, 2, 1]
