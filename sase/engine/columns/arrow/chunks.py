"""View chunks of a column as NumPy arrays over their own buffers, whatever their layout."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import DTypeLike, NDArray

from sase.engine.columns.arrays import Mask
from sase.engine.columns.arrow.gather import unrolled

# NumPy's integer types by the ids of Arrow's integer types.
INTEGERS = {pa.from_numpy_dtype(name).id: np.dtype(name) for name in "bBhHiIlL"}


class Chunk(NamedTuple):
    """A chunk of a column, and the input row at which it begins."""

    array: pa.Array
    row: int


def located(chunks: Sequence[pa.Array], row: int) -> list[Chunk]:
    """Number the rows of chunks from `row` on; decode run ends, and drop empty chunks."""
    found = []
    for chunk in chunks:
        if len(chunk):
            found.append(Chunk(unrolled(chunk), row))
            row += len(chunk)
    return found


def storage(array: pa.Array, dtype: DTypeLike) -> NDArray[Any]:
    """Return the numbers in an array's buffer, including those under NULLs."""
    width = np.dtype(dtype).itemsize
    found: NDArray[Any] = np.frombuffer(
        array.buffers()[1], dtype, count=len(array), offset=array.offset * width
    )
    return found if found.flags.aligned else found.copy()  # as from a network


def bits(buffer: pa.Buffer, offset: int, length: int) -> Mask:
    """Unpack a range of a bitmap."""
    begin, end = offset // 8, (offset + length + 7) // 8
    unpacked = np.unpackbits(np.frombuffer(buffer, np.uint8)[begin:end], bitorder="little")
    return unpacked[offset % 8 : offset % 8 + length].view(np.bool_)


def valid(array: pa.Array) -> Mask | None:
    """Return the validity mask of an array, None if all is valid."""
    if array.null_count == 0:
        return None
    if pa.types.is_null(array.type):
        return np.zeros(len(array), np.bool_)
    return bits(array.buffers()[0], array.offset, len(array))


def all_valid(column: Sequence[Chunk]) -> Mask | None:
    """Return the validity mask of a column, None if all is valid."""
    if not any([piece.array.null_count for piece in column]):
        return None
    parts = [valid(piece.array) for piece in column]
    whole = [
        np.ones(len(piece.array), np.bool_) if part is None else part
        for piece, part in zip(column, parts, strict=True)
    ]
    return joined(whole, np.bool_)


def joined(parts: Sequence[NDArray[Any]], dtype: DTypeLike) -> NDArray[Any]:
    """Concatenate arrays and convert them; a single one of the type is not copied."""
    if len(parts) == 1:
        return parts[0].astype(dtype, copy=False)
    whole = np.empty(sum(map(len, parts)), dtype)
    end = 0
    for part in parts:
        begin, end = end, end + len(part)
        whole[begin:end] = part
    return whole
