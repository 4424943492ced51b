"""Branches that need a type that no event of a whole input has are not searched."""

from __future__ import annotations

from typing import Any

import pytest

import sase

QUERY = "EVENT SEQ(A a, B b) OR SEQ(A a, C c, X x)"
NOTE = "branch 2 is not searched: no event is of type X"


def rows(types: str) -> list[dict[str, Any]]:
    return [{"type": each, "ts": n, "k": n % 2} for n, each in enumerate(types)]


def searched(report: sase.Report, branch: int) -> int:
    """The events that the scan or the runs of a branch were given."""
    return sum(
        counters["events"]
        for name, counters in report.counters
        if name.endswith(f"of branch {branch}") and "events" in counters
    )


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("window", ["", "WITHIN 5"])
def test_a_batch_leaves_out_the_branch(threads: int, window: str) -> None:
    found = sase.match(f"{QUERY} {window}", rows("ACBABC"), threads=threads)
    assert found.rows.to_pylist() == [
        {"a": 0, "b": 2, "c": None, "x": None},
        {"a": 3, "b": 4, "c": None, "x": None},
        {"a": 0, "b": 4, "c": None, "x": None},
    ]
    assert NOTE in found.report.notes
    assert searched(found.report, 1) > 0
    assert searched(found.report, 2) == 0


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("SEQ(A a, C c, X+ x[])", "no event is of type X"),
        ("SEQ(A a, C c, ANY(X, Y) x)", "no event is of type X or Y"),
        ("SEQ(A a, (SEQ(C c, X x))+ g[])", "no event is of type X"),
        ("SEQ(A a, ((X x) OR (Y y))+ g[])", "no event is of type X or Y"),
    ],
)
def test_what_must_be_bound(pattern: str, reason: str) -> None:
    query = f"EVENT SEQ(A a, B b) OR {pattern}"
    report = sase.match(query, rows("ACBABC")).report
    assert f"branch 2 is not searched: {reason}" in report.notes
    assert reason in str(sase.explain(query, rows("ACBABC")))


@pytest.mark.parametrize(
    "pattern",
    [
        "SEQ(A a, C c, X* x[])",
        "SEQ(A a, C c, !(X x), B d)",
        "SEQ(A a, C c, ANY(X, B) x)",
        "SEQ(A a, C c, (X x)* g[], B d)",
        "SEQ(A a, ((X x) OR (C c))+ g[])",
        "SEQ(A a, X x)",  # which shares the scan of the first
    ],
)
def test_what_may_be_bound_otherwise(pattern: str) -> None:
    query, given = f"EVENT SEQ(A a, B b) OR {pattern}", rows("ACBABC")
    found = sase.match(query, given)
    assert not found.report.notes
    assert "not searched" not in str(sase.explain(query, given))


def test_all_branches_may_be_left_out() -> None:
    found = sase.match("EVENT SEQ(Y a, B b) OR SEQ(A a, C c, X x)", rows("ACBABC"))
    assert len(found) == 0
    assert found.report.notes[-2:] == (
        "branch 1 is not searched: no event is of type Y",
        NOTE,
    )


def test_a_stream_may_have_the_type_later() -> None:
    given = rows("ACBX")
    matcher = sase.compile(QUERY, given[:3]).open()
    found = [matcher.push([row]).rows.to_pylist() for row in given]
    assert found[3] == [{"a": 0, "b": None, "c": 1, "x": 3}]


def test_a_plan_of_events_without_the_type_finds_it_in_others() -> None:
    plan = sase.compile(QUERY, rows("ACBABC"))
    assert NOTE in plan.run(rows("ACB")).report.notes
    assert plan.run(rows("ACX")).rows.to_pylist() == [{"a": 0, "b": None, "c": 1, "x": 2}]


def test_analyze_says_so() -> None:
    assert f"note: {NOTE}" in str(sase.explain(QUERY, rows("ACBABC"), analyze=True))
