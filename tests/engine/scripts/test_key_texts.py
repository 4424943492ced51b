"""Texts of keys that all statements of an input share: looked up once, forgotten when dead."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import sase
from sase.engine.blocks import key_texts
from sase.engine.blocks.key_texts import KeyTexts, SharedTexts
from sase.engine.expressions import strings as text_dictionary

RULES = (
    "EVENT SEQ(A a, B b) WHERE [k] WITHIN 6",
    "EVENT SEQ(A a, B b, A c) WHERE [k] AND [m] WITHIN 9",
    "EVENT SEQ(A a, !(B b), A c) WHERE [k] WITHIN 8",
    "EVENT SEQ(A+ a[], B b) WHERE [k] AND a[i].v >= a[i-1].v WITHIN 5",
    "EVENT SEQ(A a, C c) WHERE [m] WITHIN 7",
    "EVENT SEQ(A a, B b) WHERE [k] WITHIN 4 EVENTS",
    "EVENT SEQ(A a, !(B b)) WHERE [k] WITHIN 3",
    "EVENT SEQ(A a, B b) WHERE [k] AND a.v = 3 WITHIN 6 LIMIT 2",
    "EVENT SEQ(D a, B b) WHERE [k] WITHIN 6",
    "EVENT SEQ(B a, A b) WHERE [k] AND [m]",
)


def table_of(random: Random, rows: int) -> pa.Table:
    """Keys that come, stay for a while, and mostly never come again; some are NULL."""
    keys = [f"key {row // 8 + random.randrange(4)}" for row in range(rows)]
    return pa.table(
        {
            "ts": [row // 2 for row in range(rows)],
            "type": random.choices("ABC", k=rows),
            "k": [None if random.random() < 0.05 else key for key in keys],
            "m": random.choices(["x", "y", "z"], k=rows),
            "v": [random.randrange(4) for _ in range(rows)],
        }
    )


def cut(random: Random, table: pa.Table) -> Iterator[pa.Table]:
    """The table in batches: some with a dictionary of its own, or one of many more values."""
    every = table.set_column(2, "k", table["k"].combine_chunks().dictionary_encode())
    while table.num_rows:
        count = random.randrange(1, 40)
        yield random.choice((table, table, every)).slice(0, count)
        table, every = table.slice(count), every.slice(count)


def told(parts: list[Mapping[str, sase.Matches]]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for part in parts:
        for name, matches in part.items():
            if len(matches):
                found.setdefault(name, []).extend(matches.rows.to_pylist())
    return found


@pytest.fixture(autouse=True)
def few_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Recycle at once, and mark few rounds."""
    monkeypatch.setattr(text_dictionary, "ROOM", 4)
    monkeypatch.setattr(key_texts, "MOST_MARKS", 6)


@pytest.mark.parametrize("seed", range(6))
def test_statements_that_share_texts_find_what_a_run_finds(seed: int) -> None:
    random = Random(seed)
    texts = random.sample(RULES, random.randrange(2, len(RULES) + 1))
    table = table_of(random, 400)
    script = sase.Script(";\n".join(texts), table.schema)
    matcher, parts = script.open(), []
    for batch in cut(random, table):
        parts.append(matcher.push(None, batch))
        if random.random() < 0.2:
            matcher = script.restore(matcher.snapshot())
    parts.append(matcher.finish())
    assert told(parts) == told([script.run(table)])


def test_statements_come_and_go_while_texts_stay() -> None:
    random = Random(1)
    table = table_of(random, 600)
    script = sase.Script(f"CREATE STREAM one AS {RULES[0]}; {RULES[3]}", table.schema)
    expected = told([script.run(table)])["one"]
    matcher, parts, added = script.open(), [], None
    for batch in cut(random, table):
        parts.append(matcher.push(None, batch))
        if added is None or random.random() < 0.3:
            if added is not None:
                matcher.remove(added)
            (added,) = matcher.add(random.choice(RULES))
            matcher = matcher.script.restore(matcher.snapshot())
    parts.append(matcher.finish())
    assert told(parts)["one"] == expected


def test_texts_are_forgotten_though_a_statement_is_given_nothing() -> None:
    random = Random(2)
    table, sizes = table_of(random, 4_000), []
    # D occurs once, and the statement with a LIMIT is done soon.
    rare = table.slice(0, 1).set_column(1, "type", pa.array(["D"]))
    text = ";".join((RULES[0], RULES[7], RULES[8]))
    matcher = sase.Script(text, table.schema).open()
    matcher.push(None, rare)
    for begin in range(0, 4_000, 40):
        matcher.push(None, table.slice(begin, 40))
        sizes.append(matcher._pipeline.key_texts[None].sizes["k"])
    assert len(set(table["k"].to_pylist())) > 400
    assert max(sizes) < 60


def test_a_text_is_looked_up_once_for_all_that_ask() -> None:
    texts = SharedTexts()
    one, two, values = KeyTexts(texts), KeyTexts(texts), pa.array(["a", "b", "c"])
    asked = [0, 2, -1]
    found = one.codes("k", _numbers(asked), values, _numbers([0, 1, 2]))
    assert found.tolist() == [0, 1, -1]
    again = two.codes("k", _numbers([1, 2]), values, _numbers([0, 1]))
    assert again.tolist() == [2, 1]
    assert texts.sizes == {"k": 3}


def test_what_is_alive_for_one_plan_stays_for_all() -> None:
    texts = SharedTexts()
    one, two = KeyTexts(texts), KeyTexts(texts)
    codes = {}
    for number in range(8):
        values = pa.array([f"text {number}"])
        (codes[number],) = one.codes("k", _numbers([0]), values, _numbers([number])).tolist()
    two.codes("k", _numbers([0]), pa.array(["text 5"]), _numbers([0]))
    one.recycle(8)  # one has no live event, two that of the last round
    texts.recycle()
    assert texts.sizes == {"k": 1}
    assert one.codes("k", _numbers([0]), pa.array(["text 5"]), _numbers([8])).tolist() == [codes[5]]


def _numbers(values: list[int]) -> Any:
    return pa.array(values, pa.int64()).to_numpy()
