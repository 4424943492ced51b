"""Save tables and Python values within a state, and read them back safely from any bytes."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sase.engine.columns.arrow.gate import Gate
from sase.engine.columns.arrow.python_rows import UNREADABLE, Unreadable
from sase.engine.snapshots.saved_state import Saved
from sase.errors import DataError

# ---------------------------------------------------------------- saved tables

# The format is Arrow's stream format. Arrow trusts the lengths and offsets in it, so all are
# proved before use. Compressed buffers, which are never written, are refused, since Arrow trusts
# their stated sizes as well.

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


# ---------------------------------------------------------------- saved values

# Arrow writes the values, each type in a table of its own. A nested value, or one that Arrow
# cannot store, is saved as text, and restored as a value that fits no column.

# Groups of rows: without a value, and with a value that Arrow cannot store.
NULL, ODD = -1, 0
_TEXT, _WHY = "text", "why"


class OddValue:
    """A restored value that no condition can read, with its text."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __str__(self) -> str:
        return self.text


def saved_values(values: Sequence[Any]) -> dict[str, Any]:
    """Return values as plain values and arrays: the group of each, and the groups."""
    of_row = np.full(len(values), NULL)
    odd, groups = list[Any](), dict[pa.DataType, list[Any]]()
    for row, value in enumerate(values):
        if value is None:
            continue
        kind = _type_of(value)
        if kind is None:
            odd.append(value)
            of_row[row] = ODD
        else:
            groups.setdefault(kind, []).append(value)
            of_row[row] = 1 + list(groups).index(kind)
    tables = [pa.table({_TEXT: pa.array(some, kind)}) for kind, some in groups.items()]
    texts = [str(each).encode("utf-8", "backslashreplace").decode() for each in odd]
    reasons = [each.why if isinstance(each, Unreadable) else None for each in odd]
    columns = [pa.array(each, pa.string()) for each in (texts, reasons)]
    return {
        "groups": of_row,
        "odd": to_bytes(pa.table(columns, [_TEXT, _WHY])),
        "tables": [to_bytes(each) for each in tables],
    }


def restored_values(saved: Saved, count: int) -> list[Any]:
    """Return `count` saved values."""
    tables = [from_bytes(part) for part in saved.part("tables").parts()]
    odd = from_bytes(saved.part("odd"))
    saved.check(odd.schema.names == [_TEXT, _WHY], "texts have no reasons")
    saved.check(all(kind == pa.string() for kind in odd.schema.types), "reasons are no texts")
    saved.check(all(each.num_columns == 1 for each in tables), "values are in several columns")
    saved.check(not odd.column(0).null_count, "a value has no text")
    groups = [[_odd(*each) for each in zip(*_listed(odd, saved), strict=True)]]
    groups += [_listed(each, saved)[0] for each in tables]
    of_row = saved.part("groups").array(count, low=NULL, high=len(tables))
    sizes = np.bincount(of_row + 1, minlength=len(groups) + 1)[1:]
    saved.check(sizes.tolist() == [*map(len, groups)], "there is not a value for each row")
    left = [iter(group) for group in groups]
    return [None if group == NULL else next(left[group]) for group in of_row.tolist()]


def _type_of(value: Any) -> pa.DataType | None:
    if isinstance(value, Unreadable):
        return None
    try:
        kind = pa.array([value]).type
    except UNREADABLE:
        return None
    return None if pa.types.is_nested(kind) else kind


def _odd(text: str, why: str | None) -> Unreadable | OddValue:
    return OddValue(text) if why is None else Unreadable(text, why)


def _listed(table: pa.Table, saved: Saved) -> list[list[Any]]:
    try:
        return [column.to_pylist() for column in table.columns]
    except UNREADABLE as problem:
        raise saved.refuse(f"these are no values: {problem}") from problem
