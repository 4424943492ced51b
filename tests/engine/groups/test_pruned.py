"""Matches of repeated groups that do not overlap are found without all those that do."""

from __future__ import annotations

from typing import Any

import pytest

import sase
from sase.planning.plan.nodes import Transformation, require

COUNT = 40
PAIRS = "(SEQ(ANY b, ANY c))+ g[]"


def rows() -> list[dict[str, Any]]:
    """Far more events than would have their matches listed, and one of another type."""
    given = [{"type": "BC"[n % 2], "ts": n, "v": n * 7 % 13} for n in range(COUNT)]
    return [*given, {"type": "D", "ts": COUNT, "v": 9}]


def found(query: str, plan: str, most: int) -> list[dict[str, Any]]:
    """The matches, of at most a given number of matches."""
    compiled = sase.compile(query, rows(), plan=plan, output="non_overlap")
    assert require(compiled.operators, Transformation).prunes
    matches = compiled.run(rows(), timeout=60)
    assert dict(matches.report.counters)["RunEvaluation"]["matches"] <= most
    return matches.rows.to_pylist()


@pytest.mark.parametrize("plan", ["nfab", "optimized"])
def test_the_first_match_ends_all_others(plan: str) -> None:
    query = f"EVENT {PAIRS} WHERE skip_till_any_match"
    apart = [{"g": [{"b": n, "c": n + 1}]} for n in range(0, COUNT, 2)]
    assert found(query, plan, COUNT // 2) == apart
    assert found(query + " LIMIT 3", plan, COUNT // 2) == apart[:3]


@pytest.mark.parametrize("inside", ["SEQ(B b, C c)", "SEQ(B b, !(D x), C c)"])
def test_some_are_found_until_it_is_told_which_pass(inside: str) -> None:
    query = f"EVENT ({inside})+ g[] WHERE skip_till_any_match HAVING g.len = 3"
    apart = found(query, "nfab", 2000)
    assert [match["g"][0]["b"] for match in apart] == list(range(0, COUNT - 5, 6))
    assert {len(match["g"]) for match in apart} == {3}


@pytest.mark.parametrize(
    ("condition", "first"),
    [
        ("", [(38, 39)]),
        ("{ b.v < c.v }", [(36, 38)]),
        ("{ d.v > g.len AND g.len > 2 }", [(34, 35), (36, 37), (38, 39)]),
        ("{ g[i].b.v > g[i-1].b.v AND g.len > 1 }", [(36, 37), (38, 39)]),
        ("{ g[1].b.v = 0 }", [(n, n + 1) for n in range(26, COUNT, 2)]),
    ],
)
def test_of_runs_that_go_on_alike_the_leading_one_is_kept(
    condition: str, first: list[tuple[int, int]]
) -> None:
    """Before the one match there is at the end all choices of pairs are runs."""
    query = f"EVENT SEQ({PAIRS}, D d) WHERE skip_till_any_match {condition}"
    match = {"g": [{"b": b, "c": c} for b, c in first], "d": COUNT}
    assert found(query, "nfab", 1) == [match]


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        (f"SEQ({PAIRS}, D d) WHERE d.v > g.len AND g[i].b.v > g[i-1].b.v", None),
        (f"SEQ({PAIRS}, D d) HAVING g.len + 0 = 3", "HAVING tells which of them are matches"),
        (f"SEQ({PAIRS}, !(X x), D d)", "absences tell which of them are matches"),
        ("(SEQ(B b, !(D x), C c))+ g[]", "absences tell which of them are matches"),
        (f"SEQ({PAIRS}, SET(D d, X x))", "they differ in the members that sets still lack"),
        (
            f"SEQ({PAIRS}, D d) WHERE g[i].b.v < d.v",
            "conditions range over past iterations, or events of a series",
        ),
    ],
)
def test_explain_says_why_runs_that_are_alike_all_go_on(query: str, reason: str | None) -> None:
    told = str(sase.explain(f"EVENT {query}", rows(), output="non_overlap"))
    assert ", which ends all other runs of its partition" in told
    said = "before it runs that are alike all go on: "
    assert (f"{said}{reason}" in told) if reason else (said not in told)


@pytest.mark.parametrize(
    ("query", "stream", "match"),
    [
        (  # the leading one has begun too early
            "SEQ((SEQ(B b, C c) OR SEQ(E b, F c))+ g[], X x, D d) WITHIN 7",
            "B1 E2 F3 C6 X7 D8",
            {"g": [{"b": 1, "c": 2}], "x": 4, "d": 5},
        ),
        (  # and it cannot continue with a simultaneous event
            "SEQ((SEQ(B b, C c))+ g[], D d)",
            "B1 B1 C2 B3 C4 D4",
            {"g": [{"b": 1, "c": 2}], "d": 5},
        ),
        (  # a run that begins with an event simultaneous with the end of a match overlaps it
            "(SEQ(B b, C c))+ g[]",
            "B1 C2 B2 C3",
            {"g": [{"b": 0, "c": 1}]},
        ),
        (  # a run that an absence in an iteration forbids ends nothing
            "SEQ(A a, (SEQ(B b, !(N n), C c))+ g[])",
            "A1 B2 N3 C4 B5 C6",
            {"a": 0, "g": [{"b": 4, "c": 5}]},
        ),
    ],
)
def test_what_the_leading_one_cannot_do_is_found(
    query: str, stream: str, match: dict[str, Any]
) -> None:
    given = [{"type": each[0], "ts": int(each[1:])} for each in stream.split()]
    for plan in ("nfab", "optimized"):
        apart = sase.match(f"EVENT {query}", given, plan=plan, output="non_overlap")
        assert apart.rows.to_pylist() == [match]
