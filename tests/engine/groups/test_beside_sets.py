"""Repeated groups beside sets: absences behind them, snapshots, and the states of members."""

from __future__ import annotations

from typing import Any

import pytest

import sase
from sase.engine.kernels.runs import graph
from sase.errors import SnapshotError

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
