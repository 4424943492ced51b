"""Events agree on attributes of every kind, whether their values are few or many."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import sase

FEW, MANY = [1, 2, 1, 1], [1, 2**40, 1, 1]
KINDS = [
    pa.int8(),
    pa.int64(),
    pa.float64(),
    pa.decimal128(22, 2),
    pa.timestamp("ms"),
    pa.duration("us"),
    pa.date32(),
    pa.string(),
    pa.bool_(),
]


def values(kind: pa.DataType, numbers: list[int]) -> pa.Array:
    if pa.types.is_boolean(kind):
        return pa.array([number == 1 for number in numbers])
    if pa.types.is_string(kind):
        return pa.array(map(str, numbers))
    small = pa.types.is_date32(kind) or kind == pa.int8()
    given: list[Any] = [min(number, 100) if small else number for number in numbers]
    return pa.array(given, pa.int64()).cast(pa.int32() if small else pa.int64()).cast(kind)


@pytest.mark.parametrize("numbers", [FEW, MANY], ids=["few", "many"])
@pytest.mark.parametrize("kind", KINDS, ids=map(str, KINDS))
@pytest.mark.parametrize("with_null", [False, True])
def test_events_agree(kind: pa.DataType, numbers: list[int], with_null: bool) -> None:
    keys = values(kind, numbers)
    types = ["A", "A", "B", "B"]
    if with_null:
        keys, types = pa.concat_arrays([keys, pa.nulls(2, kind)]), [*types, "A", "B"]
    table = pa.table({"ts": range(len(types)), "type": types, "k": keys})
    matches = sase.match("EVENT SEQ(A a, B b) WHERE [k]", table, plan="basic")
    found = [(row["a"], row["b"]) for row in matches.rows.to_pylist()]
    assert found == [(0, 2), (0, 3)]
