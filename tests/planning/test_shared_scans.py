"""Which branches of a pattern share a scan."""

from __future__ import annotations

import pyarrow as pa
import pytest

import sase
from sase.planning.branches import placed_operators, shared_scans
from sase.planning.plan.nodes import SequenceScan, require

EVENTS = pa.schema({"ts": pa.int64(), "type": pa.string(), "id": pa.int64(), "v": pa.int64()})

# The pattern with its conditions, and the branches of each scan.
SHARED = {
    "SEQ(A a, (B b OR C c), D d)": [(0, 1)],
    "SEQ(A a, (B b OR C c), D d) WHERE [id]": [(0, 1)],
    "B b OR C c OR D d": [(0, 1, 2)],
    "SEQ(A a, (B b OR C c), (D d OR E e), F f)": [(0, 1, 2, 3)],
    "SEQ((A a OR B b), (A c OR B d))": [(0, 1, 2, 3)],
    "SEQ(A a, (ANY(B, C) b OR D d), E e)": [(0, 1)],
    "SEQ(A a, (B b OR C c)?, D d)": [(0, 1), (2,)],
    # The type does not tell which of the two it is.
    "SEQ(A a, (B b OR B c), D d)": [(0,), (1,)],
    "SEQ(A a, (B b OR ANY(B, C) c OR C d), E e)": [(0, 2), (1,)],
    # An event of any type may be a B.
    "SEQ(A a, (B b OR ANY c), D d)": [(0,), (1,)],
    # The branches ask different things.
    "SEQ(A a, (B b OR C c), D d) WHERE b.v > 1": [(0,), (1,)],
    "SEQ(A a, (B b OR C c), D d) WHERE b.v > 1 AND c.v > 1": [(0, 1)],
    "SEQ(A a, (B b OR C c), D d) WHERE a.v = b.v AND a.v = c.v": [(0, 1)],
    "SEQ(A a, (B b OR C c), D d) WHERE a.v > 1": [(0, 1)],
    "SEQ(A a, (SEQ(B b, !(N n)) OR C c), D d)": [(0,), (1,)],
    "SEQ(A a, (B b OR C c), !(N n), D d)": [(0, 1)],
    # Under other strategies and with series an event of one alternative may stop another one.
    "SEQ(A a, (B b OR C c), D d) WHERE skip_till_next_match": [(0,), (1,)],
    "SEQ(A a, (B b OR C c), D+ d[])": [(0,), (1,)],
    # Two of four choices are alike.
    "SEQ(A a, B b, C c) OR SEQ(A a, B b, D d) OR SEQ(A a, E b, C c)": [(0, 1), (2,)],
}


@pytest.mark.parametrize("query", SHARED)
def test_the_branches_of_each_scan(query: str) -> None:
    union = sase.compile(f"EVENT {query} WITHIN 10", EVENTS).engine.union
    assert union is not None
    assert [each.branches for each in shared_scans(union)] == SHARED[query]


def test_a_shared_scan_takes_the_types_of_all_and_reads_their_columns() -> None:
    query = "EVENT SEQ(A a, (B b OR C c), D d) WITHIN 9 RETURN b.v, c.id"
    union = sase.compile(query, EVENTS).engine.union
    assert union is not None
    (shared,) = shared_scans(union)
    scan = require(shared.plan, SequenceScan)
    assert [each.types for each in scan.components] == [("A",), ("B", "C"), ("D",)]
    assert scan.columns == ("v", "id")
    assert shared.types == ("B", "C")


def test_the_branches_stand_by_their_choices() -> None:
    """The written order is that of the choices, but for patterns that are written out by hand."""
    query = "SEQ(A a, C c) OR SEQ(A a, D d) OR SEQ(B b, D d) OR SEQ(B b, C c)"
    union = sase.compile(f"EVENT {query} WITHIN 10", EVENTS).engine.union
    assert union is not None
    for shared in shared_scans(union):
        for place, number in enumerate(shared.branches):
            branch = require(union.branches[number], SequenceScan).components
            last = [each.variable for each in shared.choices[-1]]
            assert branch[-1].variable == last[place % len(last)]


def test_types_that_do_not_fit_into_a_byte_are_of_several_scans() -> None:
    types = ", ".join(f"T{number}" for number in range(200))
    more = ", ".join(f"U{number}" for number in range(200))
    query = f"EVENT SEQ(A a, (ANY({types}) b OR ANY({more}) c OR C d)) WITHIN 9"
    union = sase.compile(query, EVENTS).engine.union
    assert union is not None
    assert [each.branches for each in shared_scans(union)] == [(0, 2), (1,)]


def test_what_is_shared_is_named_by_its_first_branch() -> None:
    plan = sase.compile("EVENT SEQ(A a, (B b OR C c)?, D d) WITHIN 9", EVENTS)
    assert [each.name for each in placed_operators(plan.engine.operators)] == [
        "SequenceScan of branch 1",
        "SequenceConstruction of branch 1",
        "Transformation of branch 1",
        "Transformation of branch 2",
        "SequenceScan of branch 3",
        "SequenceConstruction of branch 3",
        "Transformation of branch 3",
        "Union",
        "Transformation",
    ]
