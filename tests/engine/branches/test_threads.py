"""Patterns with choices in threads, by key and by slice of time, find the matches of one thread."""

from __future__ import annotations

from random import Random
from typing import Any

import pyarrow as pa
import pytest

import sase
from sase.errors import SaseError
from tests.drawing.examples import example as drawn
from tests.seeds import draw_numbers, share

QUERIES = {
    "by key": "EVENT SEQ(A a, (B b OR SEQ(C c, !(A n), D d))) WHERE [id] RETURN a.s, d.s AS t",
    "by slice": "EVENT SEQ(A a, (B b OR C+ c[])? g, D d) WHERE [id] WITHIN 9",
    "runs": "EVENT SEQ(A a, (B b OR C+ c[]), D d) WHERE skip_till_next_match(a,b,c,d) { [id] }",
    "the same events": "EVENT SEQ(ANY(A, B) a, B b) OR SEQ(B b, ANY(A, B) a) WHERE [id]",
    "events": "EVENT SEQ(A a, B b) OR SEQ(B b, A a) WITHIN 6 EVENTS",
    "a single event": "EVENT SEQ(A a, B b) OR C c WHERE [id]",
    "a single event without a key": "EVENT SEQ(A a, B b) OR C c WHERE a.id = b.id",
    # No key parts the series.
    "a series": "EVENT SEQ(A a, B b) OR C{2} c[] WHERE a.id = b.id AND c[i].v > c[i-1].v",
}


def events() -> pa.Table:
    random = Random(3)
    rows = [
        {
            "ts": place // 2,
            "seq": place,
            "type": random.choice("ABCD"),
            "id": random.choice([0, 1, 2, None]),
            "v": random.randrange(5),
            "s": random.choice("xyz"),
        }
        for place in range(40)
    ]
    return pa.Table.from_pylist(rows)


@pytest.mark.parametrize("limit", ["", " LIMIT 7"])
@pytest.mark.parametrize("output", ["all", "non_overlap"])
@pytest.mark.parametrize("name", QUERIES)
def test_threads_find_what_one_finds(name: str, output: str, limit: str) -> None:
    query, _, returned = QUERIES[name].partition(" RETURN")
    text = f"{query}{' RETURN' * bool(returned)}{returned}{limit}"
    one, *others = (
        sase.match(text, events(), seq="seq", output=output, threads=threads).to_pylist()
        for threads in (1, 2, 3)
    )
    assert one
    assert others == [one, one]


@pytest.mark.random
@pytest.mark.parametrize("number", draw_numbers(share(60)))
def test_threads_find_what_one_finds_of_random_queries(number: int) -> None:
    example = drawn(number, "choices")
    one, *others = (found(example, threads) for threads in (1, 2, 5))
    assert others == [one, one], example


def found(example: Any, threads: int) -> str:
    """The results as text, in which NaN equals itself."""
    given = {**example.keywords, "output": example.output, "threads": threads}
    try:
        return str(sase.match(example.query.text, example.table, **given).to_pylist())
    except SaseError as problem:
        return type(problem).__name__
