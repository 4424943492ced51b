"""Numbers of any width where they lie in memory, and copies of them."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
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


def form_of(bits: int, *, is_signed: bool) -> int:
    """How whole numbers are stored, as `number` takes it."""
    return 2 * (bits // 8).bit_length() - 1 - is_signed


def forms_of(arrays: Sequence[NDArray[Any]]) -> NDArray[np.int64]:
    """How whole numbers are stored, and where: as kernels take it."""
    columns = [
        (form_of(8 * array.itemsize, is_signed=array.dtype.kind == "i"), array.ctypes.data)
        for array in arrays
    ]
    return np.array(columns, np.int64).reshape(-1, 2)


def _reader(name: str) -> Callable[[int, int], int]:
    """Return a reader of numbers of a type, of a place behind an address, which LLVM vectorizes."""
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
    """Read a number; one of uint64 wraps around. `copy_numbers` reads adjacent ones faster."""
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
def copy_numbers(address: int, form: int, count: int, out: OutInts, to: int) -> None:
    """Copy so many numbers that begin at an address."""
    # A loop for each form: in one loop it would be found out for each number which form it is.
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
    """Test `LANES` numbers of one or two bytes: a bit for each in an inclusive range."""
    if form >> 1 == 0:
        return between_bytes(address, least, most)
    return between_shorts(address, least, most)


# ---------------------------------------------------------------- copies

Eight = tuple[int, int, int, int, int, int, int, int]
BLOCK = 16


@linked
def copy(given: Ints, begin: int, out: OutInts, to: int, count: int) -> None:
    """Copy numbers, many at once."""
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
    """Eight numbers from a place on."""
    return (
        given[at], given[at + 1], given[at + 2], given[at + 3],
        given[at + 4], given[at + 5], given[at + 6], given[at + 7],
    )  # fmt: skip


@inlined
def put_eight(out: OutInts, at: int, eight: Eight) -> None:
    """Write eight numbers from a place on."""
    out[at], out[at + 1], out[at + 2], out[at + 3] = eight[0], eight[1], eight[2], eight[3]
    out[at + 4], out[at + 5], out[at + 6], out[at + 7] = eight[4], eight[5], eight[6], eight[7]
