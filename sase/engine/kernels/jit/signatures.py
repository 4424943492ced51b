"""The exact types of kernel parameters, as annotations and as Numba types."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from types import UnionType
from typing import Annotated, Any, NamedTuple, get_args, get_origin, get_type_hints

import numpy as np
from numba import typeof, types
from numpy.typing import NDArray


class Layout(NamedTuple):
    """The exact type of an array argument, which is contiguous, and read-only unless writable."""

    dtype: str
    dimensions: int
    writable: bool = False


class Widths(NamedTuple):
    """The possible number types of a read-only array argument; each makes a kernel."""

    data_types: tuple[str, ...]


# A read-only parameter takes writable arrays too, but not inside a tuple: see `frozen`.
Ints = Annotated[NDArray[np.int64], Layout("int64", 1)]
IntRows = Annotated[NDArray[np.int64], Layout("int64", 2)]
Floats = Annotated[NDArray[np.float64], Layout("float64", 1)]
Bytes = Annotated[NDArray[np.uint8], Layout("uint8", 1)]
ByteRows = Annotated[NDArray[np.uint8], Layout("uint8", 2)]
Codes = Annotated[NDArray[np.int16], Layout("int16", 1)]
Flags = Annotated[NDArray[np.bool_], Layout("bool_", 1)]
FewCodes = Annotated[NDArray[Any], Widths(("int8", "int16"))]
AnyInts = Annotated[NDArray[Any], Widths(("int8", "int16", "int32", "int64"))]
Offsets = Annotated[NDArray[Any], Widths(("int32", "int64"))]
OutInts = Annotated[NDArray[np.int64], Layout("int64", 1, writable=True)]
OutInts32 = Annotated[NDArray[np.int32], Layout("int32", 1, writable=True)]
OutBytes = Annotated[NDArray[np.uint8], Layout("uint8", 1, writable=True)]
OutInt32Rows = Annotated[NDArray[np.int32], Layout("int32", 2, writable=True)]
OutIntRows = Annotated[NDArray[np.int64], Layout("int64", 2, writable=True)]
OutIntCubes = Annotated[NDArray[np.int64], Layout("int64", 3, writable=True)]
OutFlags = Annotated[NDArray[np.bool_], Layout("bool_", 1, writable=True)]


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """A contiguous read-only view; inside a tuple Numba does not convert writable arrays."""
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view


def signature(function: Callable[..., Any], absent: Sequence[str] = ()) -> tuple[Any, ...] | None:
    """Return the Numba types of the parameters, or None if an annotation is not exact."""
    found = tuple(
        types.none if name in absent else numba_type(hint) for name, hint in _hints(function)
    )
    return None if None in found else found


def signature_for(function: Callable[..., Any], values: Sequence[Any]) -> tuple[Any, ...]:
    """Return the Numba types of the parameters; inexact ones follow the arguments."""
    pairs = zip(_hints(function), values, strict=True)
    return tuple(numba_type(hint) or _read_only(value) for (_, hint), value in pairs)


def signatures(function: Callable[..., Any], absent: Sequence[str] = ()) -> list[tuple[Any, ...]]:
    """Return all signatures: one for each number type if parameters have `Widths`.

    All such parameters have the same type in one signature.
    """
    exact = signature(function, absent)
    if exact is not None:
        return [exact]
    hints = [hint for _, hint in _hints(function)]
    given = next(each for each in map(_widths, hints) if each is not None)
    return [
        tuple(numba_type(hint) or _array(data_type) for hint in hints)
        for data_type in given.data_types
    ]


@cache
def _hints(function: Callable[..., Any]) -> list[tuple[str, Any]]:
    hints = get_type_hints(function, include_extras=True)
    return [(name, hint) for name, hint in hints.items() if name != "return"]


def _widths(hint: Any) -> Widths | None:
    return next((each for each in get_args(hint)[1:] if isinstance(each, Widths)), None)


def _read_only(value: Any) -> Any:
    found = typeof(value)
    return found.copy(readonly=True) if isinstance(found, types.Array) else found


def _array(data_type: str) -> Any:
    return types.Array(getattr(types, data_type), 1, "C", readonly=True)


@cache
def numba_type(hint: Any) -> Any:
    """Return the Numba type of an annotation, or None if it is not exact."""
    simple = {int: types.int64, float: types.float64, bool: types.boolean, type(None): types.none}
    if hint in simple:
        return simple[hint]
    if isinstance(hint, UnionType):
        return numba_type(get_args(hint)[0])
    if get_origin(hint) is tuple:
        return types.BaseTuple.from_types([numba_type(each) for each in get_args(hint)])
    for layout in get_args(hint)[1:]:
        if isinstance(layout, Layout):
            data_type = getattr(types, layout.dtype)
            return types.Array(data_type, layout.dimensions, "C", readonly=not layout.writable)
    if not hasattr(hint, "_fields"):
        return None
    fields = [numba_type(each) for each in get_type_hints(hint, include_extras=True).values()]
    return None if None in fields else types.BaseTuple.from_types(fields, hint)
