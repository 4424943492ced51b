"""What machines can do in one instruction, and Numba has no name for."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import config, types
from numba.core.typing.templates import Signature
from numba.extending import intrinsic
from numpy.typing import NDArray


def _word_at(data: NDArray[np.uint8], place: int) -> int:
    """Eight bytes as an integer, the first the lowest, wherever they begin."""
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
    """The place of the highest bit that is set, of an integer above zero."""
    return int(bits).bit_length() - 1


@intrinsic  # type: ignore[untyped-decorator]
def _highest(context: Any, bits: Any) -> tuple[Signature, Callable[..., Any]]:
    def code(context: Any, builder: Any, wanted: Any, values: Any) -> Any:
        zeros = builder.ctlz(values[0], context.get_constant(types.boolean, True))
        return builder.sub(context.get_constant(types.int64, 63), zeros)

    return types.int64(types.int64), code


word_at = _word_at if config.DISABLE_JIT else _load_word
top_bit = _top_bit if config.DISABLE_JIT else _highest
