"""Instructions and calls that Numba does not offer, each with an equivalent in Python."""

from __future__ import annotations

import ctypes
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.core.cgutils import alloca_once
from numba.core.typing.templates import Signature
from numba.extending import intrinsic
from numpy.typing import NDArray


def _word_at(data: NDArray[np.uint8], place: int) -> int:
    """Load eight bytes, aligned or not, as a little-endian integer."""
    return int.from_bytes(data[place : place + 8].tobytes(), "little", signed=True)


@intrinsic  # type: ignore[untyped-decorator]
def _load_word(context: Any, data: Any, place: Any) -> tuple[Signature, Callable[..., Any]]:
    def code(context: Any, builder: Any, wanted: Any, values: Any) -> Any:
        array = context.make_array(wanted.args[0])(context, builder, values[0])
        word = context.get_value_type(types.int64).as_pointer()
        loaded = builder.load(builder.bitcast(builder.gep(array.data, [values[1]]), word))
        loaded.align = 1
        return loaded if sys.byteorder == "little" else builder.bswap(loaded)

    return types.int64(data, types.int64), code


def _top_bit(bits: int) -> int:
    return int(bits).bit_length() - 1


@intrinsic  # type: ignore[untyped-decorator]
def _highest(context: Any, bits: Any) -> tuple[Signature, Callable[..., Any]]:
    def code(context: Any, builder: Any, wanted: Any, values: Any) -> Any:
        zeros = builder.ctlz(values[0], context.get_constant(types.boolean, True))
        return builder.sub(context.get_constant(types.int64, 63), zeros)

    return types.int64(types.int64), code


def _low_bit(bits: int) -> int:
    return int(bits & -bits).bit_length() - 1


@intrinsic  # type: ignore[untyped-decorator]
def _lowest(context: Any, bits: Any) -> tuple[Signature, Callable[..., Any]]:
    def code(context: Any, builder: Any, wanted: Any, values: Any) -> Any:
        return builder.cttz(values[0], context.get_constant(types.boolean, True))

    return types.int64(types.int64), code


@intrinsic  # type: ignore[untyped-decorator]
def _prefetch_line(context: Any, array: Any, place: Any) -> tuple[Signature, Callable[..., Any]]:
    def code(context: Any, builder: Any, wanted: Any, values: Any) -> Any:
        data = context.make_array(wanted.args[0])(context, builder, values[0]).data
        word = ir.IntType(32)
        address = builder.bitcast(builder.gep(data, [values[1]]), ir.IntType(8).as_pointer())
        kind = ir.FunctionType(ir.VoidType(), [address.type, word, word, word])
        function = builder.module.declare_intrinsic("llvm.prefetch", [address.type], kind)
        # For reading, in all cache levels, as data.
        builder.call(function, [address, word(0), word(3), word(1)])
        return context.get_dummy_value()

    return types.none(array, types.int64), code


@intrinsic  # type: ignore[untyped-decorator]
def _exchange_if(
    context: Any, array: Any, place: Any, expected: Any, new: Any
) -> tuple[Signature, Callable[..., Any]]:
    def code(context: Any, builder: Any, wanted: Any, values: Any) -> Any:
        data = context.make_array(wanted.args[0])(context, builder, values[0]).data
        address = builder.gep(data, [values[1]])
        # A thread that reads the new number sees all earlier writes.
        both = builder.cmpxchg(address, values[2], values[3], "acq_rel", "acquire")
        return builder.extract_value(both, 0)

    return types.int64(array, types.int64, types.int64, types.int64), code


def _simply_exchange(array: NDArray[np.int64], place: int, expected: int, new: int) -> int:
    """Write a number if the old one is as expected (compare-and-swap); return the old one."""
    found = int(array[place])
    if found == expected:
        array[place] = new
    return found


def _no_prefetch(array: NDArray[Any], place: int) -> None:
    """Do nothing; prefetching affects no result."""


# Numbers tested at once, one for each bit of an int64.
LANES = 64


def _between(bits: int) -> Callable[[int, int, int], int]:
    """Return a SIMD test of `LANES` numbers at an address: a bit for each in an inclusive range."""
    if config.DISABLE_JIT:
        return lambda address, least, most: _simply_between(bits, address, least, most)
    lane = ir.IntType(bits)
    lanes, first = ir.VectorType(lane, LANES), ir.VectorType(ir.IntType(32), LANES)

    def every(builder: Any, number: Any) -> Any:
        """Broadcast a number to all lanes."""
        empty, place = ir.Constant(lanes, ir.Undefined), ir.Constant(ir.IntType(32), 0)
        one = builder.insert_element(empty, builder.trunc(number, lane), place)
        return builder.shuffle_vector(one, empty, ir.Constant(first, [0] * LANES))

    @intrinsic  # type: ignore[untyped-decorator]
    def between(
        context: Any, address: Any, least: Any, most: Any
    ) -> tuple[Signature, Callable[..., Any]]:
        def code(context: Any, builder: Any, wanted: Any, values: Any) -> Any:
            address, least, most = values
            numbers = builder.load(builder.inttoptr(address, lanes.as_pointer()), align=1)
            above = builder.sub(numbers, every(builder, least))
            inside = builder.icmp_unsigned("<=", above, every(builder, builder.sub(most, least)))
            found = builder.bitcast(inside, ir.IntType(LANES))
            return found if sys.byteorder == "little" else builder.bitreverse(found)

        return types.int64(types.int64, types.int64, types.int64), code

    return between  # type: ignore[no-any-return]


def _simply_between(bits: int, address: int, least: int, most: int) -> int:
    numbers = (getattr(ctypes, f"c_uint{bits}") * LANES).from_address(int(address))
    inside = [(each - int(least)) % 2**bits <= int(most) - int(least) for each in numbers]
    return sum(1 << place for place, is_in in enumerate(inside) if is_in)


between_bytes, between_shorts = _between(8), _between(16)
low_bit = _low_bit if config.DISABLE_JIT else _lowest
word_at = _word_at if config.DISABLE_JIT else _load_word
exchange_if = _simply_exchange if config.DISABLE_JIT else _exchange_if
top_bit = _top_bit if config.DISABLE_JIT else _highest
# Prefetch the cache line of an array's index, which may be out of range.
prefetch = _no_prefetch if config.DISABLE_JIT else _prefetch_line


# ---------------------------------------------------------------- functions of C


def _c_function(count: int, *, has_result: bool) -> Callable[..., int]:
    """Return a function that calls, by address, a C function of some addresses."""
    if config.DISABLE_JIT:
        kind = ctypes.CFUNCTYPE(ctypes.c_int if has_result else None, *[ctypes.c_void_p] * count)
        return lambda function, *addresses: kind(int(function))(*map(int, addresses)) or 0
    word, result = ir.IntType(64), ir.IntType(32) if has_result else ir.VoidType()

    @intrinsic  # type: ignore[untyped-decorator]
    def call(context: Any, function: Any, *addresses: Any) -> tuple[Signature, Callable[..., Any]]:
        def code(context: Any, builder: Any, wanted: Any, values: Any) -> Any:
            function, packed = values
            arguments = [builder.extract_value(packed, place) for place in range(count)]
            kind = ir.FunctionType(result, [word] * count)
            found = builder.call(builder.inttoptr(function, kind.as_pointer()), arguments)
            return builder.sext(found, word) if has_result else word(0)

        packed = types.BaseTuple.from_types([types.int64] * count)
        return types.int64(types.int64, packed), code

    return call  # type: ignore[no-any-return]


# Call `get_next` of a stream of Arrow, with the addresses of the stream and of room for an array,
# and `release` of an array.
next_array, release_array = _c_function(2, has_result=True), _c_function(1, has_result=False)


# ---------------------------------------------------------------- the clock

NO_CLOCK = 0


def _address() -> int:
    """The address of the C library's `clock_gettime`, if there is one as in POSIX."""
    if sys.maxsize < 2**63 - 1 or not hasattr(time, "CLOCK_MONOTONIC"):
        return NO_CLOCK
    try:
        found = ctypes.cast(ctypes.CDLL(None).clock_gettime, ctypes.c_void_p).value
    except (OSError, TypeError, AttributeError):
        return NO_CLOCK
    return found or NO_CLOCK


CLOCK = _address()


@intrinsic  # type: ignore[untyped-decorator]
def _nanoseconds(context: Any, clock: Any) -> tuple[Signature, Callable[..., Any]]:
    def reading(context: Any, builder: Any, wanted: Any, values: Any) -> Any:
        number, word = ir.IntType(32), ir.IntType(64)
        spent = alloca_once(builder, ir.ArrayType(word, 2))
        function = ir.FunctionType(number, [number, spent.type])
        which = number(time.CLOCK_MONOTONIC)
        builder.call(builder.inttoptr(values[0], function.as_pointer()), [which, spent])
        seconds, rest = (builder.extract_value(builder.load(spent), part) for part in range(2))
        return builder.add(builder.mul(seconds, word(10**9)), rest)

    return types.int64(types.int64), reading


def _perf_counter(clock: int) -> int:
    return time.perf_counter_ns()


# The time in nanoseconds, by the clock function at an address.
nanoseconds = _perf_counter if config.DISABLE_JIT else _nanoseconds
