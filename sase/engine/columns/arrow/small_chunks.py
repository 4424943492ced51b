"""Join the chunks of a column, since each costs a reader as much as many rows."""

from __future__ import annotations

import ctypes

import numpy as np
import pyarrow as pa

from sase.engine.columns.arrow.gate import address_in, fits_memory, identity, is_flat
from sase.engine.columns.kept_memory import reused

# The most values of a small dictionary.
SMALL = 1 << 12
BYTE = 8


def copied(column: pa.ChunkedArray) -> pa.Array | None:
    """Copy the chunks of numbers, or of indexes of one dictionary, into one; None for others.

    None of them may have a NULL. Arrow proves that each chunk fits its memory, and a kernel that it
    begins within: the values are to be proved. Python's objects for chunks would take most of the
    time.
    """
    kind, values = column.type, None
    if pa.types.is_dictionary(kind):
        kind, values = kind.index_type, column.chunk(0).dictionary
    if column.null_count or not pa.types.is_primitive(kind) or kind.bit_width % BYTE:
        return None
    if not fits_memory(column) or not (values is None or _is_plain(values)):
        return None
    from sase.engine.kernels.jit.arrow_memory import form_of  # Numba, which takes long
    from sase.engine.kernels.scan.chunk_copy import WORDS, copy_chunks

    known = [] if values is None else [each or 0 for each in identity(values)]
    form = form_of(kind.bit_width, is_signed=True)
    size = len(column) * kind.byte_width
    out = reused((-(-size // BYTE),), is_huge=True).view(np.uint8)[:size]
    stream, array = column.__arrow_c_stream__(), (ctypes.c_int64 * WORDS)()
    address = address_in(stream, b"arrow_array_stream")
    if not copy_chunks(address, ctypes.addressof(array), form, np.array(known, np.int64), out):
        return None
    whole = pa.Array.from_buffers(kind, len(column), [None, pa.py_buffer(out)])
    if values is None:
        return whole
    is_ordered = column.type.ordered
    return pa.DictionaryArray.from_arrays(whole, values, ordered=is_ordered, safe=False)


def _is_plain(values: pa.Array) -> bool:
    """Whether the buffers of values without NULL identify them."""
    return is_flat(values.type) and not values.null_count


def concatenated(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Concatenate the chunks of a column, since each chunk costs a reader as much as many rows.

    Columns that Arrow cannot concatenate are returned unchanged, as are those with large
    dictionaries, which Arrow would compare chunk by chunk.
    """
    last = column.num_chunks - 1
    if last < 1 or (
        pa.types.is_dictionary(column.type) and len(column.chunk(last).dictionary) > SMALL
    ):
        return column
    try:
        return pa.chunked_array([column.combine_chunks()], column.type)
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):  # type or index too narrow
        return column
