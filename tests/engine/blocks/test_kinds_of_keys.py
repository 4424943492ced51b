"""Events agree on attributes of every kind, whether their values are few or many."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

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


# ---------------------------------------------------------------- one stream, several kinds

NUMBERS = {
    "integer": [1, 2, 3, None, 2**40],
    "float": [1.0, 2.5, float(2**40), None, -0.0],
    "decimal": [Decimal("1.0"), Decimal("2.5"), Decimal("0.1"), None],
    "null": [None],
}
push = st.sampled_from(list(NUMBERS)).flatmap(
    lambda kind: st.lists(
        st.tuples(st.sampled_from("AB"), *[st.sampled_from(NUMBERS[kind])] * 2),
        min_size=1,
        max_size=6,
    )
)


@pytest.mark.parametrize("keys", [["k"], ["k", "m"]])
@pytest.mark.parametrize("schema", [sase.Schema(), sase.Schema(time_unit="s")], ids=["", "unit"])
@given(pushes=st.lists(push, min_size=2, max_size=4), cut=st.integers(0, 4))
def test_numbers_of_several_kinds_in_one_stream(
    keys: list[str], schema: sase.Schema, pushes: list[list[Any]], cut: int
) -> None:
    """If no schema gives the type of a column, each push may: equal values are equal."""
    plan = sase.compile(f"EVENT SEQ(A a, B b) WHERE [{', '.join(keys)}]", schema)
    matcher, found, events = plan.open(), [], []
    for number, rows in enumerate(pushes):
        if number == cut:
            matcher = plan.restore(matcher.snapshot())
        given_now = [
            {"ts": len(events) + place, "type": name, "k": k, "m": m}
            for place, (name, k, m) in enumerate(rows)
        ]
        events += given_now
        matches = matcher.push(pa.Table.from_pylist(given_now))
        found += [(row["a"], row["b"]) for row in matches.rows.to_pylist()]
    expected = [
        (i, j)
        for j, b in enumerate(events)
        for i, a in enumerate(events[:j])
        if (a["type"], b["type"]) == ("A", "B")
        and all(a[key] is not None and a[key] == b[key] for key in keys)
    ]
    assert sorted(found) == sorted(expected)


def test_times_of_several_resolutions_in_one_stream() -> None:
    plan = sase.compile("EVENT SEQ(A a, B b) WHERE [k]", sase.Schema())
    matcher = plan.open()
    coarse = pa.array([5, 6], pa.timestamp("s"))
    fine = pa.array([5_000_000, 6_000_001], pa.timestamp("us"))
    first = matcher.push(pa.table({"ts": [0, 1], "type": ["A", "A"], "k": coarse}))
    then = matcher.push(pa.table({"ts": [2, 3], "type": ["B", "B"], "k": fine}))
    assert not len(first)
    assert [(row["a"], row["b"]) for row in then.rows.to_pylist()] == [(0, 2)]


def test_tables_of_types_with_different_kinds_pushed_one_by_one() -> None:
    whole, broken = pa.table({"ts": [0, 1], "k": [1, 2]}), pa.table({"ts": [2, 3], "k": [2.0, 0.5]})
    plan = sase.compile("EVENT SEQ(A a, B b) WHERE [k]", {"A": whole, "B": broken})
    matcher = plan.open()
    assert not len(matcher.push({"A": whole}))
    assert [(row["a"], row["b"]) for row in matcher.push({"B": broken}).rows.to_pylist()] == [
        (1, 2)
    ]
