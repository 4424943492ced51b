"""Pushes that go straight from a batch onto the stacks, and those among them that do not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sase
from sase.engine.pipeline.fused.push import FusedPush
from sase.planning.engine_plan import Options
from tests.seeds import draw_numbers, share, tries

TYPES = ["A", "B", "C", "D"]
QUERIES = [
    "EVENT SEQ(A a, B b) WHERE [id] WITHIN 9",
    "EVENT SEQ(A a, B b, C c) WHERE [id, k] WITHIN 40 EVENTS",
    "EVENT SEQ(A a, !(C x), B b) WHERE [id] WITHIN 12",
    "EVENT SEQ(!(C x), A a, ANY(B, D) b) WHERE [id] WITHIN 7",
    "EVENT SEQ(A a, B b) WITHIN 4",
    "EVENT ANY(A, B) a",
    "EVENT SEQ(A a, B b) WHERE [id]",
]
UNIONS = [
    "EVENT SEQ(A a, (B b OR C c), A d) WHERE [id] WITHIN 9",
    "EVENT SEQ((A a OR B b), !(C x), (A c OR B d)) WHERE [id, k] WITHIN 12",
    "EVENT A a OR SEQ(B b) OR D d",
]
SMALL = Options(block=5, chunk=3, stack=4)
Row = dict[str, Any]


def stream(random: Random, count: int) -> list[Row]:
    """Rows in the order of time, few of them simultaneous or without a key, and some keys large."""
    ts, rows = 0, list[Row]()
    odd = {random.randrange(2 * count // 3, 2 * count): key for key in (70, -5, 10**9)}
    for row in range(count):
        ts += random.choice([0, *[1] * 30, 3])
        key = odd.get(row, random.choice([None, *[0, 1, 2, 3] * 10]))
        rows.append({"ts": ts, "type": random.choice(TYPES), "id": key, "k": random.randrange(2)})
    return rows


def table(
    rows: list[Row], entries: pa.Array, key: pa.DataType, index: pa.DataType | None = None
) -> pa.RecordBatch:
    """Rows with their types in a dictionary."""
    codes = [entries.to_pylist().index(row["type"]) for row in rows]
    columns = {
        "ts": pa.array([row["ts"] for row in rows], pa.int64()),
        "type": pa.DictionaryArray.from_arrays(pa.array(codes, index or pa.int8()), entries),
        "id": pa.array([row["id"] for row in rows], key),
        "k": pa.array([row["k"] for row in rows], pa.int16()),
    }
    return pa.record_batch(columns)


@pytest.fixture
def went(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each push went straight."""
    push, found = FusedPush.push, list[bool]()

    def watched(self: FusedPush, batch: Any) -> Any:
        results = push(self, batch)
        found.append(results is not None)
        return results

    monkeypatch.setattr(FusedPush, "push", watched)
    return found


def untied(warnings: tuple[str, ...]) -> list[str]:
    """All but those on ties, which a stream counts over all keys, and a batch within them."""
    return [each for each in warnings if "share their time" not in each]


def pushed(plan: Any, rows: list[Row], random: Random) -> Iterator[tuple[Any, ...]]:
    """The matches of pushes of any size and form, through snapshots and with time advanced."""
    matcher, start = plan.open(), 0
    entries = pa.array(random.sample(["unused", *TYPES], 5))
    while start < len(rows):
        size, chance = random.randrange(1, 9), random.random()
        part = rows[start : start + size]
        if chance < 0.1:
            entries = pa.array(random.sample(["unused", *TYPES, "more"], 6))
        given: Any = table(part, entries, pa.int32() if chance < 0.9 else pa.int64())
        if 0.1 < chance < 0.2:
            given = random.choice([part, pa.Table.from_batches([given])])
        matches = [matcher.push(given)]
        start += size
        if 0.2 < chance < 0.3:
            matches.append(matcher.advance(part[-1]["ts"]))
        yield from (tuple(row.values()) for each in matches for row in each.rows.to_pylist())
        assert matcher.rows == min(start, len(rows))
        if 0.3 < chance < 0.4:
            matcher = plan.restore(matcher.snapshot())
    last = matcher.finish()
    whole = plan.run(table(rows, pa.array(TYPES), pa.int64()))
    assert untied(last.report.warnings) == untied(whole.report.warnings)
    yield from (tuple(row.values()) for row in last.rows.to_pylist())


@pytest.mark.random
@pytest.mark.parametrize("seed", draw_numbers(share(12)))
@pytest.mark.parametrize("text", QUERIES + UNIONS)
def test_it_finds_what_a_run_finds(text: str, seed: int, went: list[bool]) -> None:
    """In the same order; many pushes go straight, and some do not."""
    for number in tries(seed):
        random = Random(number)
        rows = stream(random, 300)
        whole = pa.Table.from_batches([table(rows, pa.array(TYPES), pa.int64())])
        plan = sase.compile(text, whole, types=TYPES)
        if seed % 2:
            plan = replace(plan, options=SMALL)
        expected = [tuple(row.values()) for row in plan.run(whole).rows.to_pylist()]
        assert list(pushed(plan, rows, random)) == expected
        if len(expected) > 3 and 0.2 < np.mean(went) < 0.95:
            return


@pytest.mark.parametrize(
    "more",
    [
        "WHERE [id] AND a.k > 0 WITHIN 9", "WHERE [id] AND a.k < b.k WITHIN 9",
        "WHERE [id, f] WITHIN 9",
        "WITHIN 9 RETURN a.k AS k", "WITHIN 9 LIMIT 3", "WHERE [id] WITHIN 9 EVENTS PER PARTITION",
    ],
)  # fmt: skip
def test_what_asks_more_does_not(more: str, went: list[bool]) -> None:
    batch = table(stream(Random(1), 20), pa.array(TYPES), pa.int64())
    batch = batch.append_column("f", pa.array(np.arange(20.0)))
    matcher = sase.compile(f"EVENT SEQ(A a, B b) {more}", batch).open()
    for start in (0, 10):
        matcher.push(batch.slice(start, 10))
    assert not any(went)


def test_a_dictionary_with_null_in_it(went: list[bool]) -> None:
    """An index of it is a NULL like any other, whichever way a batch takes."""
    entries = pa.array(["A", "B", None])
    batches = [
        pa.record_batch(
            {"ts": [at, at + 1], "type": pa.DictionaryArray.from_arrays([0, code], entries)}
        )
        for at, code in ((0, 1), (2, 1), (4, 2))
    ]
    matcher = sase.compile("EVENT SEQ(A a, B b) WITHIN 2", batches[0].schema).open()
    assert [len(matcher.push(batch)) for batch in batches[:2]] == [1, 1]
    with pytest.raises(sase.SaseError, match="every event needs a type"):
        matcher.push(batches[2])
    assert not any(went)


@pytest.mark.parametrize("index", [pa.uint8(), pa.int16(), pa.uint32(), pa.int64(), pa.uint64()])
@pytest.mark.parametrize("key", [pa.int8(), pa.uint16(), pa.uint32(), pa.int64()])
@pytest.mark.parametrize("columns", [0, 30])
def test_any_layout(index: pa.DataType, key: pa.DataType, columns: int, went: list[bool]) -> None:
    """Indexes and numbers of any width, slices, bitmaps without a NULL, and many columns."""
    rows = [row for row in stream(Random(5), 200) if row["id"] in range(4)]
    whole = table(rows, pa.array(TYPES), key, index)
    present = pa.array([True] * len(whole)).buffers()[1]
    keys = pa.Array.from_buffers(key, len(whole), [present, whole["id"].buffers()[1]])
    whole = whole.set_column(2, "id", keys)
    for number in range(columns):
        whole = whole.append_column(f"c{number}", pa.array(range(len(whole))))
    plan = sase.compile(QUERIES[0], whole, types=TYPES)
    matcher, found = plan.open(), list[Row]()
    for start in range(0, len(whole), 7):
        found += matcher.push(whole.slice(start, 7)).rows.to_pylist()
    assert found == plan.run(whole).rows.to_pylist() != []
    assert all(went[start] for start in range(2, len(went)) if rises(rows[7 * start - 1 :][:8]))
    assert any(went)


def rises(rows: list[Row]) -> bool:
    """Whether the times of rows all differ."""
    return len({row["ts"] for row in rows}) == len(rows)


def test_tables_go_as_the_batches_that_they_are(went: list[bool]) -> None:
    """If they are one: small, and of one chunk."""
    rows = [{**row, "ts": ts, "id": 1} for ts, row in enumerate(stream(Random(2), 40))]
    whole = pa.Table.from_batches([table(rows, pa.array(TYPES), pa.int64())])
    plan = sase.compile(QUERIES[0], whole, types=TYPES)
    matcher, found = plan.open(), list[Row]()
    for start in range(0, 40, 10):
        found += matcher.push(whole.slice(start, 10)).to_pylist()
    assert found == plan.run(whole).to_pylist() != []
    assert went == [False, True, True, True]
    matcher.push(pa.concat_tables([table_at(whole, 40), table_at(whole, 80)]))
    assert went[4:] == [False]


def table_at(whole: pa.Table, first: int) -> pa.Table:
    """The same at other times."""
    return whole.set_column(0, "ts", pa.array(range(first, first + len(whole))))


def test_matches_read_later(went: list[bool]) -> None:
    """When the stream has gone over to other dictionaries: a batch is read when it is shown."""
    rows = [row for row in stream(Random(3), 90) if row["id"] in range(4)]
    plan = sase.compile(QUERIES[4], table(rows, pa.array(TYPES), pa.int64()), types=TYPES)
    matcher, kept = plan.open(), []
    orders = [["A", "B", "C", "D"], ["D", "C", "B", "A"], ["B", "A", "D", "C", "more"]]
    dictionaries = [pa.array(order) for order in orders]
    for start in range(0, len(rows), 3):
        entries = dictionaries[start // 30 % 3]
        kept.append(matcher.push(table(rows[start : start + 3], entries, pa.int64())))
    found = [row for matches in kept for row in matches.to_pylist()]
    assert found == plan.run(table(rows, pa.array(TYPES), pa.int64())).to_pylist()
    assert len(found) > 10
    assert sum(went) > 5
