"""The array types that the engine passes around, and how arrays grow."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Numbers: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]
Mask: TypeAlias = NDArray[np.bool_]
TypeCodes: TypeAlias = NDArray[np.signedinteger]


def grown(array: NDArray[Any], room: int, fill: int = 0) -> NDArray[Any]:
    """Copy an array into the beginning of one of so many rows."""
    larger = np.full((room, *array.shape[1:]), fill, array.dtype)
    larger[: len(array)] = array
    return larger
