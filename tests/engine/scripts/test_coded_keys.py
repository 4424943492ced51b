"""Keys that are texts, or far apart: the fused scan takes codes that a table has made of them."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import sase
from sase.engine.blocks import key_dictionary
from sase.engine.expressions import strings as text_dictionary
from sase.planning.physical.drive import Need
from tests.engine.scripts.test_key_texts import told

RULES = (
    "EVENT SEQ(A a, B b) WHERE [k] AND a.v = 1 AND b.v = 2 WITHIN 60",
    "EVENT SEQ(A a, B b, C c) WHERE [k] AND [m] AND a.v = 3 AND b.v = 0 AND c.v = 2 WITHIN 90",
    "EVENT SEQ(A a, !(B b), A c) WHERE [k] AND a.v = 3 AND b.v = 1 AND c.v = 0 WITHIN 80",
    "EVENT SEQ(B a, A b) WHERE [m] AND [k] AND a.v = 2 AND b.v = 2 WITHIN 40 EVENTS",
    "EVENT SEQ(C a, C b) WHERE [k] AND a.v = 2 AND b.v = 2",
    "EVENT SEQ(A a, B b) WHERE [k] AND a.v = 0 AND b.v = 3 WITHIN 700",
)
FAR = 0x9E3779B97
KINDS: dict[str, Callable[[int], Any]] = {
    "far apart": lambda key: key * FAR,
    "texts": lambda key: f"key {key}",
    "decimals": lambda key: Decimal(key * FAR) / 10,
    "floats": lambda key: key / 2,
    "near": lambda key: key,
    "some far": lambda key: key if key < 60 else key * FAR,
}


def table_of(random: Random, rows: int, kind: str, nulls: float) -> pa.Table:
    """Keys that come, stay for a while, and mostly never come again."""
    keys = [KINDS[kind](row // 16 + random.randrange(4)) for row in range(rows)]
    types = {"decimals": pa.decimal128(36, 1), "texts": pa.string(), "floats": pa.float64()}
    found = [None if random.random() < nulls else key for key in keys]
    return pa.table({
        "ts": [row // 2 for row in range(rows)],
        "type": random.choices("ABC", k=rows),
        "k": pa.array(found, types.get(kind, pa.int64())),
        "m": random.choices(["x", "y"], k=rows),
        "v": [random.randrange(4) for _ in range(rows)],
    })  # fmt: skip


@pytest.fixture(autouse=True)
def few_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Recycle at once."""
    monkeypatch.setattr(text_dictionary, "ROOM", 4)
    monkeypatch.setattr(key_dictionary, "ROOM", 8)


@pytest.mark.parametrize("nulls", [0, 0.02])
@pytest.mark.parametrize("kind", KINDS)
def test_statements_find_what_each_finds_alone(kind: str, nulls: float) -> None:
    random = Random(f"{kind} {nulls}")
    table = table_of(random, 1_200, kind, nulls)
    wanted = {f"query_{n}": sase.match(text, table).rows for n, text in enumerate(RULES, 1)}
    script = sase.Script(";\n".join(RULES), table.schema)
    matcher, parts, begin = script.open(), [], 0
    while begin < len(table):
        count = random.choice([1, 7, 40, 200])
        parts.append(matcher.push(None, table.slice(begin, count)))
        begin += count
        if random.random() < 0.1:
            matcher = script.restore(matcher.snapshot())
    parts.append(matcher.finish())
    found = told(parts)
    assert found == told([script.run(table)])
    assert found == {name: rows.to_pylist() for name, rows in wanted.items() if len(rows)}
    assert len(found) >= 5


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_dealt_out_is_scanned_by_one_kernel(kind: str) -> None:
    table = table_of(Random(kind), 1_200, kind, 0)
    matcher = sase.Script(";\n".join(RULES), table.schema).open()
    for begin in range(0, len(table), 100):
        matcher.push(None, table.slice(begin, 100))
    statements = matcher._pipeline.statements
    for name in ("query_1", "query_2", "query_6"):  # of which no type is of two components
        (use,) = statements[name].matcher.pipeline.fused
        assert use.events > 100  # of some batches it is given all
        # Where the first are near, one batch changes from codes to a table.
        assert use.refused is None or (use.refused, kind) == (Need.CODES_FIT.value, "some far")


def test_nothing_is_fused_where_that_is_switched_off() -> None:
    table = table_of(Random(3), 400, "near", 0)
    matcher = sase.Script(";\n".join(RULES), table.schema, plan="unfused").open()
    matcher.push(None, table)
    statements = matcher._pipeline.statements
    assert [each.matcher.pipeline.fused for each in statements.values()] == [()] * len(RULES)
    assert all(each.matcher.pipeline.admitted_path is None for each in statements.values())


def test_codes_are_recycled() -> None:
    random = Random(7)
    table = table_of(random, 30_000, "far apart", 0)
    matcher = sase.Script(";\n".join(RULES[:3]), table.schema).open()
    for begin in range(0, len(table), 500):
        matcher.push(None, table.slice(begin, 500))
    sizes = [
        size
        for each in matcher._pipeline.statements.values()
        for size in each.matcher.pipeline.dictionary.sizes.values()
    ]
    assert max(sizes) <= 1_024 < len(set(table["k"].to_pylist()))
