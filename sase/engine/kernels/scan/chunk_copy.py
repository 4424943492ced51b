"""Copy the numbers of all chunks of a column, which Arrow exports as a stream of arrays.

https://arrow.apache.org/docs/format/CStreamInterface.html
"""

from __future__ import annotations

from sase.engine.kernels.jit.arrow_memory import (
    BUFFERS,
    DICTIONARY,
    LENGTH,
    NOWHERE,
    OFFSET,
    copy_numbers,
    field,
    is_same,
    is_whole,
    numbers_at,
)
from sase.engine.kernels.jit.compiler import inlined, kernel
from sase.engine.kernels.jit.intrinsics import next_array, release_array
from sase.engine.kernels.jit.signatures import Ints, OutBytes

# The field of an `ArrowArrayStream` with its function `get_next`.
GET_NEXT = 1
# The field of an `ArrowArray` with its function `release`, and the number of its fields.
RELEASE, WORDS = 8, 10
# The form of bytes, and the answer about other chunks.
BYTES, NONE = 1, -1


@kernel
def copy_chunks(stream: int, array: int, form: int, dictionary: Ints, out: OutBytes) -> bool:
    """Copy the numbers of all arrays of a stream; return false if one has others, or a NULL.

    `array` is the address of room for an array. The indexes of a dictionary are copied if all
    arrays have the one given by its offset, length and buffers; others have none.
    """
    end, size = 0, 0
    while size != NONE:
        if next_array(field(stream, GET_NEXT), stream, array) != 0:
            return False
        if field(array, RELEASE) == NOWHERE:
            return end == len(out)
        size = _bytes_in(array, form, dictionary, len(out) - end)
        if size != NONE:
            copy_numbers(numbers_at(array, form), BYTES, size, out, end)
            end += size
        release_array(field(array, RELEASE), array)
    return False


@inlined
def _bytes_in(array: int, form: int, dictionary: Ints, room: int) -> int:
    """The bytes of an array's numbers; `NONE` if they are not to be copied."""
    rows, width = field(array, LENGTH), form >> 1
    if field(array, OFFSET) < 0 or rows < 0 or rows > room >> width or not is_whole(array):
        return NONE
    if rows > 0 and field(field(array, BUFFERS), 1) == NOWHERE:
        return NONE
    if dictionary.shape[0] > 0 and not is_same(field(array, DICTIONARY), dictionary):
        return NONE
    return rows << width
