"""Read and copy numbers of any width by address; read Arrow's C data interface.

https://arrow.apache.org/docs/format/CDataInterface.html
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numba
import numpy as np
from numba import types
from numba.core.typing.templates import Signature
from numba.extending import intrinsic
from numpy.typing import NDArray

from sase.engine.kernels.jit.compiler import inlined, linked
from sase.engine.kernels.jit.intrinsics import between_bytes, between_shorts
from sase.engine.kernels.jit.signatures import Ints, OutInts

# The fields of an `ArrowArray`, eight bytes each.
LENGTH, NULLS, OFFSET, BUFFER_COUNT, CHILD_COUNT, BUFFERS, CHILDREN, DICTIONARY = range(8)
NOWHERE = 0
FULL_BYTE = 0xFF


def form_of(bits: int, *, is_signed: bool) -> int:
    """The form of an integer type for `number`: twice the log2 of its bytes, plus 1 if unsigned."""
    return 2 * (bits // 8).bit_length() - 1 - is_signed


def forms_of(arrays: Sequence[NDArray[Any]]) -> NDArray[np.int64]:
    """The form and the address of each array's numbers, as kernels take them."""
    columns = [
        (_form_of_type(array.dtype), array.__array_interface__["data"][0]) for array in arrays
    ]
    return np.array(columns, np.int64).reshape(-1, 2)


@cache
def _form_of_type(kind: np.dtype[Any]) -> int:
    return form_of(8 * kind.itemsize, is_signed=kind.kind == "i")


def _reader(name: str) -> Callable[[int, int], int]:
    """Return a function that reads a number at an index behind an address; LLVM vectorizes it."""
    if numba.config.DISABLE_JIT:
        simple = getattr(ctypes, f"c_{name}")
        size = ctypes.sizeof(simple)
        return lambda address, place: int(simple.from_address(int(address + size * place)).value)
    kind = getattr(types, name)

    @intrinsic  # type: ignore[untyped-decorator]
    def read(context: Any, address: Any, place: Any) -> tuple[Signature, Callable[..., Any]]:
        def reading(context: Any, builder: Any, wanted: Any, values: Any) -> Any:
            first = builder.inttoptr(values[0], context.get_value_type(kind).as_pointer())
            found = builder.load(builder.gep(first, [values[1]]), align=1)
            return context.cast(builder, found, kind, types.int64)

        return types.int64(types.int64, types.int64), reading

    return read  # type: ignore[no-any-return]


_int8, _uint8 = _reader("int8"), _reader("uint8")
_int16, _uint16 = _reader("int16"), _reader("uint16")
_int32, _uint32 = _reader("int32"), _reader("uint32")
_int64 = _reader("int64")


@inlined
def number(address: int, form: int, row: int) -> int:
    """Read a number; a uint64 wraps around. `copy_numbers` reads adjacent ones faster."""
    if form == 0:
        return _int8(address, row)
    if form == 1:
        return _uint8(address, row)
    if form == 2:
        return _int16(address, row)
    if form == 3:
        return _uint16(address, row)
    if form == 4:
        return _int32(address, row)
    if form == 5:
        return _uint32(address, row)
    return _int64(address, row)


@inlined
def copy_numbers(address: int, form: int, count: int, out: NDArray[Any], to: int) -> None:
    """Copy `count` numbers from an address on."""
    # One loop for each form: a single loop would branch on the form for each number.
    if form == 0:
        for row in range(count):
            out[to + row] = _int8(address, row)
    elif form == 1:
        for row in range(count):
            out[to + row] = _uint8(address, row)
    elif form == 2:
        for row in range(count):
            out[to + row] = _int16(address, row)
    elif form == 3:
        for row in range(count):
            out[to + row] = _uint16(address, row)
    elif form == 4:
        for row in range(count):
            out[to + row] = _int32(address, row)
    elif form == 5:
        for row in range(count):
            out[to + row] = _uint32(address, row)
    else:
        for row in range(count):
            out[to + row] = _int64(address, row)


@inlined
def between(address: int, form: int, least: int, most: int) -> int:
    """Test `LANES` numbers of one or two bytes; set a bit for each in an inclusive range."""
    if form >> 1 == 0:
        return between_bytes(address, least, most)
    return between_shorts(address, least, most)


# ---------------------------------------------------------------- exported arrays


@inlined
def field(array: int, place: int) -> int:
    """Read a field of an `ArrowArray`, or of a list of addresses."""
    return _int64(array, place)


@inlined
def numbers_at(array: int, form: int) -> int:
    """The address of the first number of an array; `NOWHERE` if it has no buffer."""
    first = field(field(array, BUFFERS), 1)
    return NOWHERE if first == NOWHERE else first + (field(array, OFFSET) << (form >> 1))


@inlined
def is_whole(array: int) -> bool:
    """Whether an array has no NULL, by its count of NULLs and by its validity bits."""
    valid, begin = field(field(array, BUFFERS), 0), field(array, OFFSET)
    if valid == NOWHERE or field(array, NULLS) > 0:
        return field(array, NULLS) <= 0
    end, every = begin + field(array, LENGTH), FULL_BYTE
    first, last = (begin + 7) >> 3, end >> 3
    for place in range(first, last):
        every &= _uint8(valid, place)
    bits = int(every == FULL_BYTE)
    for row in range(begin, min(first << 3, end)):
        bits &= _uint8(valid, row >> 3) >> (row & 7)
    for row in range(max(last << 3, begin), end):
        bits &= _uint8(valid, row >> 3) >> (row & 7)
    return bits != 0


@inlined
def is_same(array: int, known: Ints) -> bool:
    """Whether an array has the offset, length and buffers of a known one without NULLs."""
    buffers, count = field(array, BUFFERS), known.shape[0] - 2
    if field(array, OFFSET) != known[0] or field(array, LENGTH) != known[1]:
        return False
    if field(array, BUFFER_COUNT) < count:
        return False
    for number in range(count):
        address = field(buffers, number)
        if address != known[2 + number] and (number > 0 or address != NOWHERE):
            return False
    return True


# ---------------------------------------------------------------- copies

Eight = tuple[int, int, int, int, int, int, int, int]
BLOCK = 16


@linked
def copy(given: Ints, begin: int, out: OutInts, to: int, count: int) -> None:
    """Copy numbers in a loop that LLVM vectorizes."""
    for place in range(count):
        out[to + place] = given[begin + place]


@inlined
def copy_blocks(given: Ints, begin: int, out: OutInts, to: int, count: int) -> None:
    """Copy numbers by sixteen, past the end: a loop over the rest would mispredict branches."""
    for place in range(0, count, BLOCK):
        eight = eight_of(given, begin + place)
        other = eight_of(given, begin + place + 8)
        put_eight(out, to + place, eight)
        put_eight(out, to + place + 8, other)


@inlined
def eight_of(given: Ints, at: int) -> Eight:
    """Read eight numbers from an index on."""
    return (
        given[at], given[at + 1], given[at + 2], given[at + 3],
        given[at + 4], given[at + 5], given[at + 6], given[at + 7],
    )  # fmt: skip


@inlined
def put_eight(out: OutInts, at: int, eight: Eight) -> None:
    """Write eight numbers from an index on."""
    out[at], out[at + 1], out[at + 2], out[at + 3] = eight[0], eight[1], eight[2], eight[3]
    out[at + 4], out[at + 5], out[at + 6], out[at + 7] = eight[4], eight[5], eight[6], eight[7]
