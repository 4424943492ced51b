"""The reasons are complete: a strategy has a match if and only if nothing speaks against it."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from sase.api.compare import STRATEGIES, under
from sase.api.compiled_query import compile_query
from sase.binding.input_options import InputOptions
from sase.diagnostics.strategies.match_replay import MatchReplay, replayed_plan
from sase.diagnostics.strategies.reasons import ForbiddenSkip, reasons, rows_text
from sase.engine.pipeline.batch import held
from sase.engine.sources.discovered import Discovered
from sase.lang.ast import Strategy, StrategyName
from sase.lang.parser import parse_query
from tests import naive
from tests.seeds import draw_numbers, share

STRICT, PARTITION, NEXT, ANY = STRATEGIES
WIDE = None
BY_TYPE = {"A": ["id", "v", "name", "f"], "B": ["id", "v"], "C": ["v", "f"]}

QUERIES = [
    ("EVENT SEQ(A a, B b) WHERE [id]", WIDE),
    ("EVENT SEQ(A a, B b) WHERE [id] AND a.v < b.v WITHIN 6", WIDE),
    ("EVENT SEQ(A a, B+ b[], C c) WHERE [id] AND b[i].v > b[i-1].v", WIDE),
    ("EVENT SEQ(A a, B+ b[], C c) WHERE [id] AND b[i].v >= avg(b[..i-1].v) WITHIN 8", WIDE),
    ("EVENT SEQ(A+ a[], B b) WHERE [id] AND a[i].v <= a[1].v AND b.f * 2 > sum(a[].f)", WIDE),
    ("EVENT SEQ(A a, B? b, C* c[]) WHERE [id] AND b.v < a.v AND c[i].f > b.v / 2", WIDE),
    ("EVENT SEQ(A+ a[], B+ b[]) WHERE [id] AND a[i].v < b[i].v AND b.len <= 2", WIDE),
    ("EVENT SEQ(A{1} a[], B b) WHERE [id] AND a[1].v < b.v", WIDE),
    ("EVENT SEQ(A? a, B{1,2} b[], C? c) WHERE [id]", WIDE),
    ("EVENT SEQ(A{2,3} a[], ANY b) WHERE [id] AND max(a[..i].v) < b.v WITHIN 7 EVENTS", WIDE),
    ("EVENT SEQ(A a, B+ b[]) WHERE [id = 1] AND (stddev(b[..i].f) < 2 OR b[i].v > 0)", WIDE),
    ("EVENT SEQ(A a, B+ b[]) WHERE [id] AND b[i].name LIKE 'x%' WITHIN 4 EVENTS PER PARTITION",
     WIDE),
    ("EVENT SEQ(A a, ANY(B, C)+ b[]) WHERE [id] AND (b[i].f > 0 OR last(b[..i].v) IN (1, 2))",
     BY_TYPE),
    ("EVENT SEQ(A a, !(B x), ANY+ b[], C c) WHERE [id] AND min(b[..i].v) IS NOT NULL", BY_TYPE),
    ("EVENT SEQ(A+ a[], C c) WHERE [id, v] AND count(a[..i-1].f) BETWEEN 0 AND a[i].f + 1",
     BY_TYPE),
]  # fmt: skip
OF_SETS = [
    ("EVENT SET(A a, B b) WHERE [id] AND a.v < b.v WITHIN 7", WIDE),
    ("EVENT SEQ(SET(A a, B+ b[]), C c) WHERE [id] AND b[i].v >= b[i-1].v", WIDE),
    ("EVENT SEQ(SET(A a, B+ b[]), C c) WHERE [id] AND b[i].v > a.v", WIDE),
    ("EVENT SEQ(A a, SET(B+ b[], C? c)) WHERE [id] AND b[1].v <= c.v WITHIN 8", WIDE),
    ("EVENT SET(A{2} a[], B b) WHERE [id] AND a[i].v < b.v AND count(a[]) > 1", WIDE),
    ("EVENT SEQ(SET(A a, B b), SET(B c, C+ d[])) WHERE [id] AND d[i].v >= c.v", WIDE),
    ("EVENT SET(A+ a[], ANY b) WHERE [id] AND b.f > avg(a[..i].f)", WIDE),
    ("EVENT SEQ(SET(ANY(A, B) a, B+ b[]), !(C x), A c) WHERE [id] AND a.v < b[i].v", BY_TYPE),
]


def stream(random: Random, types: Any) -> list[dict[str, Any]]:
    """A few events, with ties and NULLs; an attribute that a type does not declare is missing."""
    rows, now = [], 0
    for _ in range(random.randint(4, 9)):
        now += random.choice((0, 1, 1, 2))
        row = {
            "ts": now,
            "type": random.choice("AABBBCC"),
            "id": random.choice((1, 1, 1, 2, None)),
            "v": random.choice((0, 1, 2, 3, None)),
            "f": random.choice((-1.5, 0.0, 0.5, 2.0, None)),
            "name": random.choice(("x", "xy", "z", None)),
        }
        kept = None if types is None else {"ts", "type", *types[row["type"]]}
        rows.append(
            {name: value if kept is None or name in kept else None for name, value in row.items()}
        )
    return rows


def replays(query: str, rows: list[dict[str, Any]], types: Any) -> dict[StrategyName, MatchReplay]:
    """The replays of a query on rows, by each strategy that may forbid to skip an event."""
    source = Discovered.of(rows, InputOptions(types=types))
    known = compile_query(under(parse_query(query), STRICT), source)
    loaded = held(known.unoptimized, source.events)
    assert loaded is not None
    plans = {each: replayed_plan(known.bound, each, known.schema) for each in STRATEGIES[:-1]}
    return {each: MatchReplay(plan, loaded[1]) for each, plan in plans.items()}


def found(query: str, strategy: StrategyName, rows: Any, types: Any) -> set[Any]:
    """The matches of the naive matcher, by rows; the rows are in the order of time."""
    tree = replace(parse_query(query), strategy=Strategy(strategy))
    return {match.events for match in naive.match(tree, rows, types=types)}


def is_enough(seen: Counter[tuple[StrategyName, bool]]) -> bool:
    """Whether there were matches that each strategy has, and enough that it does not have."""
    least = min(25, share(150))
    return all(seen[each, True] > least < seen[each, False] / 2 for each in STRATEGIES[:-1])


@pytest.mark.random
@pytest.mark.parametrize("queries", [QUERIES, OF_SETS], ids=["in order", "sets"])
def test_a_strategy_has_a_match_if_nothing_speaks_against_it(
    queries: list[tuple[str, Any]],
) -> None:
    """On random streams, for every match that skip till any match has."""
    random, seen = Random(draw_numbers(2)[1]), Counter[tuple[StrategyName, bool]]()
    for number, (query, types) in enumerate(queries * 400):
        if number >= share(25) * len(queries) and is_enough(seen):
            break
        rows = stream(random, types)
        sets = {strategy: found(query, strategy, rows, types) for strategy in STRATEGIES}
        replayed = replays(query, rows, types) if sets[ANY] else {}
        for match in sorted(sets[ANY])[:200]:
            for strategy in STRATEGIES[:-1]:
                (kept,) = replayed[strategy].forbidden(match)
                is_there = match in sets[strategy]
                assert (not kept) == is_there, (query, strategy, match, rows, kept)
                seen[strategy, is_there] += 1
    assert is_enough(seen), seen


def test_sentences() -> None:
    """One for each sort of events, with the rows that it is about."""
    kept = [ForbiddenSkip(3), ForbiddenSkip(4)]

    def said(strategy: StrategyName, *some: ForbiddenSkip) -> tuple[str, ...]:
        return reasons(strategy, some, lambda p: p * 10, lambda p: "AB"[p % 2], "[id]")

    assert said(STRICT, *kept) == ("not contiguous: rows 30 and 40 lie between",)
    assert said(STRICT, kept[0]) == ("not contiguous: row 30 lies between",)
    assert said(PARTITION, *kept) == (
        "skips rows 30 and 40, which are of the same partition [id]:"
        " partition contiguity does not allow it",
    )
    assert said(
        NEXT,
        ForbiddenSkip(2, "b", True),
        ForbiddenSkip(4, "b"),
        ForbiddenSkip(6, "b"),
        ForbiddenSkip(7, "b"),
    ) == (
        "skips row 20, an A that could begin b: skip till next match must take it",
        "skips rows 40 and 60, each an A that b could have taken:"
        " skip till next match must take it",
        "skips row 70, a B that b could have taken: skip till next match must take it",
    )
    assert said(ANY) == ()
    assert rows_text([1, 2, 3, 4, 5, 6]) == "rows 1, 2, 3, 4, 5 and 1 other"
    assert rows_text(list(range(1000, 1008))).endswith("1,004 and 3 others")
