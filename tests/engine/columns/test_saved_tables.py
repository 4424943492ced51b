"""Tables within a state: the table that was written is read, or it is refused."""

from __future__ import annotations

from random import Random

import numpy as np
import pyarrow as pa
import pytest

from sase.engine.columns.arrow.saved import from_bytes, to_bytes
from sase.engine.snapshots.saved_state import Saved
from sase.errors import SnapshotError

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
