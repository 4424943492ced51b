"""Decimals as integers without their point."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from sase.engine.columns.arrays import Mask, Numbers
from sase.engine.columns.chunks import storage

MOST_DIGITS = 18
_END = 10**MOST_DIGITS


def unscaled(array: pa.Array) -> tuple[Numbers, Mask]:
    """The unscaled values, and which have too many digits."""
    width = array.type.bit_width
    if width <= 64:
        values = storage(array, f"i{width // 8}").astype(np.int64, copy=False)
        return values, _too_long(values)
    # Little-endian words: the value fits into the first if the others only repeat its sign.
    words = storage(array, np.dtype((np.int64, width // 64)))
    values = np.ascontiguousarray(words[:, 0])
    sign = values >> np.int64(63)
    return values, (words[:, 1:] != sign[:, None]).any(axis=1) | _too_long(values)


def _too_long(values: Numbers) -> Mask:
    bad: Mask = (values >= _END) | (values <= -_END)
    return bad
