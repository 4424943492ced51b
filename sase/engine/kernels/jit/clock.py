"""The time as a kernel reads it, which goes through several parts of a plan by itself."""

from __future__ import annotations

import ctypes
import sys
import time
from collections.abc import Callable
from typing import Any

import numba
from llvmlite import ir
from numba import types
from numba.core.cgutils import alloca_once
from numba.core.typing.templates import Signature
from numba.extending import intrinsic

NO_CLOCK = 0


def _address() -> int:
    """Where the C library reads a clock that only runs forward, if it does as POSIX has it."""
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
        told = alloca_once(builder, ir.ArrayType(word, 2))
        function = ir.FunctionType(number, [number, told.type])
        which = number(time.CLOCK_MONOTONIC)
        builder.call(builder.inttoptr(values[0], function.as_pointer()), [which, told])
        seconds, rest = (builder.extract_value(builder.load(told), part) for part in range(2))
        return builder.add(builder.mul(seconds, word(10**9)), rest)

    return types.int64(types.int64), reading


def _told(clock: int) -> int:
    return time.perf_counter_ns()


# The nanoseconds that the clock at an address tells.
nanoseconds = _told if numba.config.DISABLE_JIT else _nanoseconds
