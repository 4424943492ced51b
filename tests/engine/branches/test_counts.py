"""Matches of branches are counted branch by branch where no two branches can give the same one."""

from __future__ import annotations

from typing import Any

import pytest

import sase

SAME = "several branches of the pattern may give the same match"


def rows(count: int) -> list[dict[str, Any]]:
    return [{"type": "ABCD"[n * 7 % 11 % 4], "ts": n, "k": n % 3, "v": n % 5} for n in range(count)]


def explained(query: str, given: list[dict[str, Any]]) -> str:
    """The explanation of a count, in one line."""
    return " ".join(str(sase.explain(query, given, output="count")).split())


@pytest.mark.parametrize(
    "query",
    [
        "EVENT SEQ(A a, B b) OR SEQ(A a, C c)",
        "EVENT SEQ(A a, B b, D d) OR SEQ(A a, C b, D d) WHERE b.v < d.v",
        "EVENT SEQ(A a, B+ b[]) OR SEQ(A a, C+ c[]) WHERE [k] WITHIN 20",
        "EVENT SEQ(A a, B b) OR SEQ(A a, C+ c[]) HAVING c.len < 3",
        "EVENT SEQ(A a, (B b OR C+ c[] OR SEQ(D? d, A e)))",
    ],
)
def test_what_is_counted(query: str) -> None:
    given = rows(30)
    count = sase.match(query, given, output="count")
    assert count == len(sase.match(query, given)) > 0
    assert count.is_counted
    assert "no two branches have a match in common" in explained(query, given)


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("EVENT SEQ(A a, B b) OR SEQ(A a, B b, D? d)", SAME),
        ("EVENT SEQ(A a, ANY(B, C) b) OR SEQ(A a, ANY(C, D) b)", SAME),
        ("EVENT SEQ(A a, B+ b[]) OR SEQ(A a, C* c[])", ""),
        ("EVENT SEQ(A a, B* b[]) OR SEQ(A a, C* c[])", SAME),
        ("EVENT SEQ(A a, B b, A d) OR SEQ(A a, C c) WHERE a.v < d.v", "branch 1: a.v < d.v is no"),
        ("EVENT SEQ(A a, B b) OR SEQ(A a, C c) LIMIT 3", "LIMIT takes the first matches only"),
        ("EVENT SEQ(A a, B b) OR SEQ(A a, !(D d), C c)", "branch 2: a negative component"),
    ],
)
def test_what_is_listed(query: str, reason: str) -> None:
    given = rows(30)
    count = sase.match(query, given, output="count")
    assert count == len(sase.match(query, given)) > 0
    assert count.is_counted is not bool(reason)
    if reason:
        assert any(reason in note for note in count.report.notes)
        assert reason in explained(query, given)


def test_more_than_can_be_listed() -> None:
    given = [{"type": "ABC"[n % 3], "ts": n} for n in range(300)]
    query = "EVENT SEQ(A a, B+ b[]) OR SEQ(A a, C+ c[])"
    count = sase.match(query, given, output="count")
    assert count == 2 * sum(2 ** (100 - n) - 1 for n in range(100))
    names = [name for name, _ in count.report.counters]
    assert "RunEvaluation of branch 2" in names


def test_more_than_can_be_listed_as_a_set() -> None:
    given = [{"type": "ABC"[n % 3], "ts": n, "v": n} for n in range(300)]
    found = sase.match("EVENT SEQ(A a, B+ b[]) OR SEQ(A a, C+ c[])", given, output="compressed")
    assert found.counts_paths
    assert (
        found.count() == found.estimate().count == 2 * sum(2 ** (100 - n) - 1 for n in range(100))
    )
    assert found.aggregate("count", "a") == found.count()
    assert found.aggregate("max", "a.v") == 297
    rows = found.sample(100, seed=1).rows.to_pylist()
    assert {bool(row["b"]) for row in rows} == {True, False}
    assert [(row["a"], row["b"], row["c"]) for row in found.first(3).rows.to_pylist()] == [
        (0, [1], []), (0, [], [2]), (3, [4], []),
    ]  # fmt: skip
    last = found.to_arrow().to_pylist()[-1]
    assert (last["rows"]["a"], last["rows"]["b"]) == (list(range(0, 300, 3)), [])


def test_a_set_has_what_return_says() -> None:
    query = "EVENT SEQ(A a, B b) OR SEQ(A a, C+ c[]) RETURN a.v AS v, c.len AS n, b.type AS t"
    listed = sase.match(query, rows(30)).to_arrow().to_pylist()
    found = sase.match(query, rows(30), output="compressed")
    assert found.counts_paths
    assert list(found) == listed
    assert found.first(7).to_arrow().to_pylist() == listed[:7]
    assert all(each in listed for each in found.sample(20).to_arrow().to_pylist())


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("EVENT SEQ(A a, B b) OR SEQ(A a, B b, D? d)", SAME),
        ("EVENT SEQ(A a, B b, A d) OR SEQ(A a, C c) WHERE a.v < d.v", "branch 1: a.v < d.v is no"),
        ("EVENT SEQ(A a, B b) OR SEQ(A a, C c) LIMIT 3", "LIMIT takes the first matches only"),
    ],
)
def test_a_set_that_is_listed(query: str, reason: str) -> None:
    found = sase.match(query, rows(30), output="compressed")
    assert found.count() == len(sase.match(query, rows(30))) > 0
    assert any(reason in each for each in found.reasons)
