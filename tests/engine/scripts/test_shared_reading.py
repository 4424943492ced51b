"""Statements that share the reading of an input find the matches that each of them finds alone."""

from __future__ import annotations

from random import Random
from typing import Any

import pyarrow as pa
import pytest

import sase
from sase.engine.scripts import admission, shared_reading
from sase.engine.scripts import admission as intervals
from tests.seeds import draw_numbers, share, tries

TYPES = "ABCD"
QUERIES = [
    "EVENT SEQ({0} a, {1} b) WHERE a.n = {n} AND b.n = {m} AND [k] WITHIN 6",
    "EVENT SEQ({0} a, {1} b, {2} c) WHERE [k] AND {n} = b.n WITHIN 9",
    "EVENT SEQ({0} a, {1} b) WHERE a.s = '{s}' AND a.k < b.k WITHIN 5",
    "EVENT SEQ({0} a, !({1} x), {2} b) WHERE x.s = '{s}' AND a.n = {n} WITHIN 7",
    "EVENT SEQ({0} a, !({1} x)) WHERE a.s = '{s}' AND x.n = {n} WITHIN 4",
    "EVENT SEQ({0} a, {1}+ b[], {2} c) WHERE a.n = {n} AND b[i].n = {m} AND [k] WITHIN 6",
    "EVENT SEQ({0}+ a[], {1} b) WHERE a[1].n = {n} AND a[a.len].n = {m} AND [k] WITHIN 5",
    "EVENT SEQ({0}+ a[], {1} b) WHERE skip_till_next_match { [k] AND a[i].n > a[i-1].n } WITHIN 9",
    "EVENT SEQ({0} a, {1}? b, {2} c) WHERE skip_till_next_match { a.s = '{s}' AND b.n = {n} }"
    " WITHIN 8",
    "EVENT SEQ({0} a, {1} b) WHERE a.n IN ({n}, NULL, {m}) AND b.s IN ('{s}', 'x') WITHIN 5",
    "EVENT SEQ({0} a, !({1} x), {2} b) WHERE a.n BETWEEN 0 AND {n} AND x.n IN (1, {m}) WITHIN 7",
    "EVENT SEQ({0} a, {1}+ b[]) WHERE [k] AND b[i].n BETWEEN -7 AND {m} AND a.n NOT IN ({n}, 1)"
    " WITHIN 4",
    "EVENT SEQ({0} a, {1} b) WHERE a.n > {n} AND a.n <= 5000 AND b.n < {m} AND [k] WITHIN 7",
    "EVENT SEQ({0} a, {1} b) WHERE a.f >= 0.5 AND {m} <= b.n AND b.f < 2.5 WITHIN 8",
    "EVENT SEQ({0} a, !({1} x), {2} b) WHERE x.n > {n} AND b.n BETWEEN {n} AND 5000 WITHIN 7",
    "EVENT SEQ({0}+ a[], {1} b) WHERE [k] AND a[i].n >= {n} AND b.f BETWEEN 1 AND 2 WITHIN 5",
    "EVENT SEQ({0} a, {0} b) WHERE a.n < {n} AND b.n > {m} AND a.f != 0.5 WITHIN 6",
    "EVENT SEQ({0} a, {1} b) WHERE a.n > {n} AND b.n > {n} WITHIN 5",
    "EVENT SEQ({0} a, {1} b) WHERE strict_contiguity { a.n = {n} } WITHIN 6",
    "EVENT SEQ({0} a, {1} b) WHERE a.n = {n} WITHIN 4 EVENTS",
    "EVENT SEQ({0} a, {1} b) WHERE [k] AND b.n = {n} WITHIN 3 EVENTS PER PARTITION",
    "EVENT SEQ({0} a, {0} b) WHERE a.n = {n} AND b.n = {m} WITHIN 7",
    "EVENT SEQ(ANY({0}, {1}) a, ({1} b OR {2} c)) WHERE a.n = {n} WITHIN 6",
    "EVENT SEQ(ANY a, {1} b) WHERE b.s = '{s}' WITHIN 3",
    "EVENT {0} a WHERE a.f = 1.5 OR a.n = {n} RETURN a.n + 1 AS n",
    "EVENT {0} a WHERE a.s = '{s}' LIMIT 2",
    "EVENT SEQ(SET({0} a, {1} b), {2} c) WHERE a.n = {n} WITHIN 5",
]


def query(draw: Random) -> str:
    text = draw.choice(QUERIES)
    for number, name in enumerate(draw.sample(TYPES, 3)):
        text = text.replace(f"{{{number}}}", name)
    values = {"n": draw.randrange(4), "m": draw.choice([0, 1, 5000, -7]), "s": draw.choice("xyz")}
    for name, value in values.items():
        text = text.replace(f"{{{name}}}", str(value))
    return text


def table(draw: Random, rows: int) -> pa.Table:
    def column(values: list[Any], nulls: float = 0.1) -> list[Any]:
        return [None if draw.random() < nulls else draw.choice(values) for _ in range(rows)]

    times = sorted(draw.choices(range(max(rows, 1)), k=rows))
    texts = pa.array(column([*"xyzw"]), pa.string())
    return pa.table({
        "ts": pa.array(times, pa.int64()),
        "type": pa.array(column([*TYPES, "E"], 0)),
        "k": pa.array(column([1, 2, 3]), draw.choice([pa.int64(), pa.int16()])),
        "n": pa.array(column([0, 1, 2, 3, 5000, -7]), draw.choice([pa.int64(), pa.int32()])),
        "s": draw.choice([texts, texts.dictionary_encode()]),
        "f": pa.array(column([0.5, 1.5, 2.5, float("nan")]), pa.float64()),
    })  # fmt: skip


def shown(matches: sase.Matches) -> list[str]:
    """Rows and results as text."""
    both = zip(matches.rows.to_pylist(), matches.to_pylist(), strict=True)
    return [f"{row} {result}" for row, result in both]


def unseen(report: Any) -> list[str]:
    """The warnings of types that never occurred."""
    return [each for each in report.warnings if each.startswith("no event of type")]


def pushed(script: sase.Script, events: pa.Table, draw: Random) -> dict[str, list[str]]:
    """The matches of a matcher in pushes of some sizes."""
    found: dict[str, list[str]] = {name: [] for name in script.statements}
    matcher, begin = script.open(), 0
    while begin < events.num_rows:
        size = draw.choice([1, 2, 7, 20])
        (batch,) = events.slice(begin, size).combine_chunks().to_batches()
        begin += size
        for name, matches in matcher.push(None, batch).items():
            found[name] += shown(matches)
        if draw.random() < 0.2:
            for name, matches in matcher.advance(batch["ts"][-1].as_py()).items():
                found[name] += shown(matches)
    for name, matches in matcher.finish().items():
        found[name] += shown(matches)
    return found


@pytest.mark.random
@pytest.mark.parametrize("number", draw_numbers(share(20)))
def test_each_statement_finds_what_it_finds_alone(
    number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in tries(number):
        draw = Random(seed)
        monkeypatch.setattr(shared_reading, "STRETCH", draw.choice([5, 16, 1 << 20]))
        monkeypatch.setattr(admission, "FEW_ARE", draw.choice([0, 2, 16]))
        monkeypatch.setattr(admission, "NEAR", draw.choice([3, 1 << 12]))
        monkeypatch.setattr(admission, "STEP", draw.choice([4, 1 << 15]))
        monkeypatch.setattr(intervals, "NEAR", draw.choice([2, 1 << 12]))
        monkeypatch.setattr(intervals, "MOST", draw.choice([3, 1 << 10]))
        events, queries = table(draw, draw.choice([1, 30, 60])), [query(draw) for _ in range(6)]
        alone = [sase.match(text, events) for text in queries]
        script = sase.Script(";\n".join(queries), events.schema)
        expected = {f"query_{n}": shown(each) for n, each in enumerate(alone, 1)}
        together = script.run(events)
        assert {name: shown(each) for name, each in together.items()} == expected
        for name, each in together.items():
            assert each.to_arrow().schema == alone[int(name[6:]) - 1].to_arrow().schema
            only = alone[int(name.removeprefix("query_")) - 1].report
            # The report of ties is of the events that a statement sees, which are fewer.
            assert (each.report.rows, unseen(each.report)) == (only.rows, unseen(only))
        assert pushed(script, events, draw) == expected
        if sum(map(len, expected.values())) > 3:
            return


@pytest.mark.parametrize("threads", [1, 2])
def test_readers_of_a_stream_compare_texts_of_several_stretches(
    threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each stretch may have a dictionary of its own."""
    monkeypatch.setattr(shared_reading, "STRETCH", 2)
    chunks = (pa.array(["p", "q"]), pa.array(["q", "r"]), pa.array(["p", "r"]))
    keys = pa.chunked_array([each.dictionary_encode() for each in chunks])
    events = pa.table({"ts": range(6), "type": [*"AABABB"], "k": keys})
    text = (
        "CREATE STREAM st AS EVENT ANY(A, B) a;"
        " FROM st EVENT SEQ(st x, st y) WHERE x.a_k = y.a_k WITHIN 9;"
        " EVENT A a WHERE a.k = 'p'"
    )
    for table in (events, events.set_column(2, "k", keys.cast(pa.string()))):
        found = sase.Script(text).run(table, threads=threads)["query_2"].to_pylist()
        same = [(each["x"]["a_k"], each["ts_start"], each["ts_end"]) for each in found]
        assert same == [("q", 1, 2), ("p", 0, 4), ("r", 3, 5)]
