"""Make the type column of generated events: dictionary-encoded, or plain strings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sase.generate.arguments import GeneratorError, one_of

# A dictionary with indices of one or four bytes, or strings.
TypeLayout = Literal["int8", "int32", "string"]

_MOST_NAMES = {"int8": 2**7, "int32": 2**31, "string": 2**31}


def check_layout(layout: str, count: int) -> None:
    """Refuse a layout that there is not, or that has no room for so many types."""
    one_of("type_layout", layout, get_args(TypeLayout))
    if count > _MOST_NAMES[layout]:
        raise GeneratorError(
            f"type_layout is {layout!r}, which has room for {_MOST_NAMES[layout]} types and not for"
            f" {count:,}: take 'int32'"
        )


def layout_type(layout: str) -> pa.DataType:
    """The type of the type column."""
    if layout == "string":
        return pa.string()
    return pa.dictionary(pa.int8() if layout == "int8" else pa.int32(), pa.string())


def type_column(codes: npt.NDArray[np.integer], names: Sequence[str], layout: str) -> pa.Array:
    """The names of the types of all events, from their places in the list of names."""
    if layout == "string":
        return pa.array(names, pa.string()).take(pa.array(codes))
    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(layout)), pa.array(names))
