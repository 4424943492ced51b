"""Save tables within a state as bytes, and read them back safely from any bytes.

The format is Arrow's stream format. Arrow trusts the lengths and offsets in it, so all are proved
before use. Compressed buffers, which are never written, are refused, since Arrow trusts their
stated sizes as well.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sase.engine.columns.gate import Gate
from sase.engine.snapshots.saved_state import Saved
from sase.errors import DataError

# The most rows per byte: each row has at least a time, however well it is packed.
MOST_OF_BYTE = 64
# Arrow's flatbuffers: the fields of a message with the kind and the header; the field of a
# dictionary with its batch, and of a batch with its compression.
_KIND, _HEADER, _BATCH, _COMPRESSION = 1, 2, 1, 3
_DICTIONARY_BATCH, _RECORD_BATCH = 2, 3
_NO_TABLE = (pa.ArrowException, OSError, ValueError, MemoryError, struct.error)


def to_bytes(table: pa.Table) -> NDArray[np.uint8]:
    """Write a table in the format of Arrow streams."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return np.frombuffer(sink.getvalue(), np.uint8)


def from_bytes(saved: Saved) -> pa.Table:
    """Read a table that `to_bytes` wrote."""
    data = saved.array(None, dtype="uint8")
    buffer = pa.py_buffer(data)
    try:
        _refuse_compressed(buffer)
        with pa.ipc.open_stream(buffer) as reader:
            table = reader.read_all()
        rows: int = table.num_rows
        if rows > MOST_OF_BYTE * len(data):  # columns of NULLs take no bytes
            raise ValueError(f"it has {rows} rows, in {len(data)} bytes")
        for name, column in zip(table.schema.names, table.columns, strict=True):
            Gate().prove(name, column.chunks, rows)
    except (DataError, *_NO_TABLE) as problem:
        raise saved.refuse(f"this is no table: {problem}") from problem
    return table


def _refuse_compressed(buffer: Any) -> None:
    for message in pa.ipc.MessageReader.open_stream(buffer):
        if _is_compressed(message.metadata.to_pybytes()):
            raise ValueError("it is compressed")


def _is_compressed(metadata: bytes) -> bool:
    (root,) = struct.unpack_from("<I", metadata)
    kind, header = (_field(metadata, root, field) for field in (_KIND, _HEADER))
    if kind is None or header is None:
        return False
    if metadata[kind] == _DICTIONARY_BATCH:
        header = _field(metadata, _target(metadata, header), _BATCH)
    elif metadata[kind] != _RECORD_BATCH:
        return False
    if header is None:
        return False
    return _field(metadata, _target(metadata, header), _COMPRESSION) is not None


def _field(metadata: bytes, table: int, number: int) -> int | None:
    """The position of a field of a flatbuffer table, from its vtable; None if absent."""
    (back,) = struct.unpack_from("<i", metadata, table)
    (size,) = struct.unpack_from("<H", metadata, table - back)
    at = 4 + 2 * number
    if at + 2 > size:
        return None
    (offset,) = struct.unpack_from("<H", metadata, table - back + at)
    return table + int(offset) if offset else None


def _target(metadata: bytes, place: int) -> int:
    """The position of the table that an offset refers to."""
    (offset,) = struct.unpack_from("<I", metadata, place)
    return place + int(offset)
