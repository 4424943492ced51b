"""Tables of several types have common columns, and those within a state are read again."""

from __future__ import annotations

from decimal import Decimal
from itertools import permutations
from random import Random

import numpy as np
import pyarrow as pa
import pytest

import sase
from sase.engine.columns.arrow.data_types import common_type
from sase.engine.columns.arrow.saved import from_bytes, to_bytes
from sase.engine.snapshots.saved_state import Saved
from sase.errors import SnapshotError

LARGEST = {
    pa.int8(): 127,
    pa.int16(): -(2**15),
    pa.int32(): 2**31 - 1,
    pa.int64(): -(2**63),
    pa.decimal64(12, 5): Decimal("1234567.00001"),
    pa.decimal128(10, 2): Decimal("12345678.25"),
    pa.decimal128(18, 0): Decimal(10**18 - 1),
    pa.decimal128(5, 5): Decimal("0.12345"),
    pa.decimal128(38, 25): Decimal("1234567890123.5"),
}


@pytest.mark.parametrize("kinds", [*permutations(LARGEST, 2)])
def test_integers_and_decimals_have_room_beside_each_other(
    kinds: tuple[pa.DataType, pa.DataType],
) -> None:
    found = common_type(kinds)
    assert found is not None
    for kind in kinds:
        assert pa.array([LARGEST[kind]], kind).cast(found).to_pylist() == [LARGEST[kind]]


def test_a_match_shows_the_integers_of_one_type_beside_the_decimals_of_another() -> None:
    tables = {
        "A": pa.table({"ts": [1], "v": pa.array([Decimal("1.50")], pa.decimal128(10, 2))}),
        "B": pa.table({"ts": [2], "v": [2**63 - 1]}),
    }
    found = sase.match("EVENT ANY(A, B) a", tables).to_pylist()
    assert [row["a"]["v"] for row in found] == [Decimal("1.50"), 2**63 - 1]


def test_decimals_of_64_bits_have_room_beside_the_longest_integers() -> None:
    """Arrow does not add the digits of these types to theirs."""
    assert common_type([pa.uint64(), pa.decimal64(12, 5)]) == pa.decimal128(25, 5)


GREAT = 2**63 + 5


@pytest.mark.parametrize("coded", [False, True])
@pytest.mark.parametrize("is_turned", [False, True])
def test_integers_beyond_int64_are_shown_as_they_are_beside_negative_ones(
    *, coded: bool, is_turned: bool
) -> None:
    """They were the number 2^64 below."""
    great = pa.array([GREAT, None, 5], pa.uint64())
    tables = {
        "A": pa.table({"ts": [1, 2, 3], "v": great.dictionary_encode() if coded else great}),
        "B": pa.table({"ts": [4, 5], "v": pa.array([GREAT - 2**64, 5], pa.int64())}),
    }
    if is_turned:
        tables = dict(reversed(tables.items()))
    found = sase.match("EVENT ANY(A, B) a", tables).to_pylist()
    assert [row["a"]["v"] for row in found] == [GREAT, None, 5, GREAT - 2**64, 5]
    small = {name: table.slice(1) for name, table in tables.items()}
    kept = sase.match("EVENT ANY(A, B) a", small).to_arrow()
    assert kept.schema.field("a").type.field("v").type == pa.int64()
    matcher = sase.compile("EVENT ANY(A, B) a", tables).open()
    pushed = [matcher.push({name: table}).to_pylist() for name, table in sorted(tables.items())]
    assert [row["a"]["v"] for rows in pushed for row in rows] == [GREAT, None, 5, GREAT - 2**64, 5]


# ---------------------------------------------------------------- saved tables

# Tables within a state: the table that was written is read, or it is refused.


TABLE = pa.table(
    {
        "ts": pa.array([1, 2, 3]),
        "s": pa.array(["x", None, "é"]).dictionary_encode(),
        "t": pa.array(["a", "b", None]),
        "l": pa.array([[1], [], None]),
    }
)


def test_what_is_read_is_what_was_written() -> None:
    for table in (TABLE, TABLE.slice(1, 1), TABLE.slice(0, 0)):
        assert from_bytes(Saved(to_bytes(table))).equals(table)


@pytest.mark.parametrize("codec", ["lz4", "zstd"])
def test_compressed_buffers_are_refused(codec: str) -> None:
    """Arrow would make as much room as they say."""
    for table in (TABLE, TABLE.select(["s"])):
        sink = pa.BufferOutputStream()
        options = pa.ipc.IpcWriteOptions(compression=codec)
        with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
            writer.write_table(table)
        data = np.frombuffer(sink.getvalue(), np.uint8)
        with pytest.raises(SnapshotError, match="state: this is no table: it is compressed"):
            from_bytes(Saved(data))


def test_rows_without_bytes_are_refused() -> None:
    table = pa.table({"n": pa.nulls(10**7)})
    with pytest.raises(SnapshotError, match="this is no table: it has 10000000 rows, in"):
        from_bytes(Saved(to_bytes(table)))


def test_changed_bytes_are_a_table_or_refused() -> None:
    data, random, refused = to_bytes(TABLE), Random(1), 0
    for _ in range(3000):
        changed = data.copy()
        changed[random.randrange(len(data))] = random.choice((0, 1, 127, 128, 255))
        try:
            table = from_bytes(Saved(changed))
        except SnapshotError:
            refused += 1
        else:
            table.validate(full=True)
    assert refused > 300
