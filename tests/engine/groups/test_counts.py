"""Matches of repeated groups are counted through states, where no match need be looked at."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

import sase
from sase.lang.parser import parse_query
from tests import naive
from tests.engine.groups.counting import compared, draw, judged
from tests.engine.set_results.comparing import unlike
from tests.seeds import draw_numbers, share, tries

GROUP = "an iteration of a repeated group is several events"


def rows(count: int) -> list[dict[str, Any]]:
    """Two rows at a time are simultaneous."""
    return [
        {"type": "ABCD"[n * 7 % 11 % 4], "ts": n // 2, "k": n % 2, "v": n % 5} for n in range(count)
    ]


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("EVENT (SEQ(B b, D d, C c))+ g[] WHERE b.v < c.v", "on no event alone, nor on neighbours"),
        ("EVENT (SEQ(B b, C c))+ g[] WHERE g[i].b.v > g[i-1].b.v", "nor on neighbours"),
        ("EVENT SEQ(A a, (SEQ(B b, C c))+ g[]) WHERE a.v < g[1].c.v", "nor on neighbours"),
        ("EVENT SEQ((SEQ(B b, C c))+ g[], A a) WHERE a.v < g[g.len].b.v", "nor on neighbours"),
        ("EVENT (SEQ(B b, C? c))+ g[] WHERE b.v < g[i-1].c.v", "nor on neighbours"),
        (
            "EVENT (SEQ(B b, C? c) OR SEQ(B b, D? d))+ g[]",
            "branches of an iteration may give the same",
        ),
        ("EVENT (SEQ(B b, C c) OR SEQ(B b, ANY(A, C) c))+ g[]", "may give the same"),
        (
            "EVENT (SEQ(B b, !(D d), C c))+ g[] WHERE d.v > b.v",
            "negative component in an iteration is",
        ),
        ("EVENT (SEQ(B b, !(SEQ(D d, A a)), C c))+ g[]", "a negative sequence looks at whole"),
        ("EVENT (SEQ(B b, C c))+ g[] LIMIT 1", "LIMIT takes the first matches only"),
        ("EVENT (SEQ(B b, C c))+ g[] WHERE skip_till_next_match", "under skip_till_next_match"),
        ("EVENT SEQ(SET(A a, D d), (SEQ(B b, C c))+ g[]) WHERE a.v < g[1].b.v", "neighbours"),
    ],
)
def test_what_is_listed(query: str, reason: str) -> None:
    count = sase.match(query, rows(20), output="count")
    assert count == len(sase.match(query, rows(20)))
    explained = " ".join(str(sase.explain(query, rows(20), output="count")).split())
    for text in (" ".join(count.report.notes), explained):
        assert GROUP in text
        assert reason in text


def test_aggregates_over_a_group_in_all_matches() -> None:
    query, given = "EVENT SEQ((SEQ(B+ b[], C? c))+ g[], A a) WITHIN 9", rows(24)
    found, matches = sase.match(query, given, output="compressed"), sase.match(query, given)
    held = [
        given[row]["v"]
        for match in matches.rows.to_pylist()
        for each in match["g"]
        for row in [*each["b"], *([] if each["c"] is None else [each["c"]])]
    ]
    assert len(held) > 50
    assert found.counts_paths
    assert [found.aggregate(of, "g[].v") for of in ("sum", "count")] == [sum(held), len(held)]


def test_more_than_can_be_listed() -> None:
    """A choice of iterations is one of as many events of each type, in turn."""
    given = [{"type": "BC"[n % 2], "ts": n} for n in range(400)]
    count = sase.match("EVENT (SEQ(B b, C c))+ g[]", given, output="count")
    behind_b, behind_c = 0, 1
    for row in given:
        behind_b += behind_c if row["type"] == "B" else 0
        behind_c += behind_b if row["type"] == "C" else 0
    assert count == behind_c - 1 > 2**62
    assert count.is_counted
    found = sase.match("EVENT (SEQ(B b, C c))+ g[]", given, output="compressed")
    assert found.count() == count
    for match in found.sample(20, seed=1).rows.to_pylist():
        held = [row for each in match["g"] for row in (each["b"], each["c"])]
        assert held == sorted(held)
        assert [given[row]["type"] for row in held] == ["B", "C"] * len(match["g"])


def _query(random: Random) -> str:
    """A query that is counted."""
    one = random.choice

    def element(name: str) -> str:
        kind = one(["B", "C", "ANY(A, B)", "D"])
        return one([f"{kind} {name}", f"{kind}+ {name}[]", f"{kind}{{1,2}} {name}[]"])

    inside = [element("b")]
    inside += [one([element("c"), "C? c", "D* c[]"])] if random.random() < 0.8 else ["C c"]
    group = (
        f"(SEQ({', '.join(random.sample(inside, 2))})){one(['+', '*', '{2}', '{2,}', '{1,3}'])} g[]"
    )
    parts = [*one([[], ["A a"], ["A? a"]]), group, *one([[], ["D d"], ["D* d[]"]])]
    if "*" in group or len(parts) > 1:
        parts = [*parts, "A e"]
    asked = [one(["", "[k]"]), one(["", "", "b[i].v > 1" if "b[]" in group else "b.v > 1"])]
    where = " AND ".join(filter(None, [*asked, one(["", "", "g.len < 3"])]))
    window = one(["", "WITHIN 4", "WITHIN 5 EVENTS"])
    pattern = f"SEQ({', '.join(parts)})" if len(parts) > 1 else parts[0]
    return f"EVENT {pattern} {f'WHERE {where}' if where else ''} {window}"


def listed(query: str, given: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows of the matches, found one by one."""
    return sase.match(query, given).rows.to_pylist()


@pytest.mark.parametrize(
    "query",
    [
        "EVENT (SEQ(B b, C c))+ g[] WHERE b.v < c.v",
        "EVENT (SEQ(B b, C c))+ g[] WHERE g[i].b.v > g[i-1].c.v",
        "EVENT (SEQ(B b, (C c OR D d)))+ g[]",
        "EVENT (SEQ(B b, C c) OR SEQ(C c, B b))+ g[]",
        "EVENT (SEQ(B b, C c)){2} g[]",
        "EVENT (SEQ(B b, !(D d), C c))+ g[] WHERE d.v < 2",
        "EVENT SEQ(A a, (SEQ(B b, C c))+ g[], D d) WHERE a.v < g[1].b.v OR a.v > 3",
        "EVENT SEQ(A a, (SEQ(B b, C c))+ g[], D d) WHERE d.v != g[g.len].c.v",
        "EVENT SEQ(A+ a[], (SEQ(B b, C c))+ g[], D d) WHERE a[i].v >= a[i-1].v",
        "EVENT SEQ(SET(A a, ANY+ d[]), (SEQ(B b, C c))+ g[]) WHERE d.len < 3",
        "EVENT SEQ((SEQ(B b, C c))+ g[], SET(B+ d[], C? e, D f))",
        "EVENT SEQ(SET(A a, B b), (SEQ(B c, C d))+ g[], SET(C e, D f)) WHERE g[i].c.v > g[i-1].d.v",
    ],
)
def test_what_is_counted(query: str) -> None:
    given = [
        {"type": kind, "ts": n - n // 9, "k": 1, "v": 3 * n % 5}
        for n, kind in enumerate("ABCBDCABCCD")
    ]
    fault, how = compared(query, given)
    assert fault is None
    assert how == "counted and found"


def test_an_absence_between_more_than_can_be_listed() -> None:
    """A pair has its B since the last D, and begins the list or continues any that ended."""
    given = [{"type": "BCBC"[n % 4] if n % 6 else "D", "ts": n} for n in range(600)]
    query = "EVENT (SEQ(B b, !(D d), C c))+ g[] WHERE c.ts >= b.ts"
    count = sase.match(query, given, output="count")
    latest, before = 0, 0
    for row in given:
        if row["type"] == "B":
            latest += 1 + before
        elif row["type"] == "C":
            before += latest
        else:
            latest = 0
    assert count == before > 2**62
    assert count.is_counted
    assert sase.match(query, given, output="compressed").count() == count


@pytest.mark.parametrize("times", ["1123", "1223", "1233", "1122"])
def test_what_is_simultaneous_with_either_event_is_not_between(times: str) -> None:
    given = [{"type": t, "ts": int(ts)} for t, ts in zip("BDCC", times, strict=True)]
    query = "EVENT (SEQ(B b, !(D d), C c))+ g[]"
    count = sase.match(query, given, output="count")
    assert count.is_counted
    assert count == len(naive.match(parse_query(query), given))


@pytest.mark.random
def test_what_states_count_is_as_the_naive_matcher_has_it() -> None:
    """With branches, absences and conditions on neighbours."""
    seen = 0
    for first in tries(draw_numbers(1)[0]):
        for number in range(first, first + max(5, share(25))):
            query, given = draw(number)
            fault, how = compared(query, given)
            assert fault is None, (number, fault, query, given)
            seen += how == "counted and found"
        if seen >= 2:
            break


@pytest.mark.random
def test_whatever_way_events_are_collected_the_set_is_the_same() -> None:
    """In batches, out of order, late, pushed, restored, and by tasks."""
    seen = 0
    for first in tries(draw_numbers(1)[0]):
        for number in range(first, first + 2):
            fault, how = judged(number)
            assert fault is None, (number, fault, *draw(number))
            seen += how == "counted and found"
        if seen >= 1:
            break


@pytest.mark.random
def test_all_is_as_the_naive_matcher_has_it() -> None:
    seen = 0
    for first in tries(draw_numbers(1)[0]):
        for number in range(first, first + 15):
            random = Random(number)
            query, ts, given = _query(random), 0, list[dict[str, Any]]()
            for _ in range(9):
                ts += random.choice([0, 1, 1])
                kind, key, value = (
                    random.choice("ABCD"),
                    random.choice([1, 1, 2]),
                    random.randrange(4),
                )
                given.append({"type": kind, "ts": ts, "k": key, "v": value})
            count = sase.match(query, given, output="count")
            assert count == len(naive.match(parse_query(query), given)), (number, query, given)
            assert count.is_counted
            compressed, rows = sase.match(query, given, output="compressed"), listed(query, given)
            assert compressed.counts_paths
            assert compressed.expand().rows.to_pylist() == rows, (number, query, given)
            times = [row["ts"] for row in given]
            assert next(unlike(compressed, rows, times), None) is None, (number, query, given)
            seen += count > 0
        if seen >= 2:
            break
