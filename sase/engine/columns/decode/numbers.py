"""Decode Arrow columns of numbers, decimals and times of any width into int64 and float64."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sase.binding.types import INTEGER, DataType, Kind
from sase.engine.columns.arrays import Mask, Numbers
from sase.engine.columns.arrow.chunks import (
    INTEGERS,
    Chunk,
    all_valid,
    bits,
    joined,
    located,
    storage,
    valid,
)
from sase.engine.columns.arrow.data_types import data_type, factor, value_type
from sase.engine.columns.arrow.gather import gathered
from sase.engine.columns.arrow.python_rows import INSTEAD_OF_GREAT, NO_FLOAT
from sase.engine.columns.decode.projection import WantedRows
from sase.engine.columns.decode.quarantine import Faults
from sase.engine.columns.events import EventColumn

INT64 = np.iinfo(np.int64)
MOST_EXACT = 2**53  # all integers up to this are exact as floats
DAY_MS = 86_400_000
MOST_DIGITS = 18
_DECIMAL_END = 10**MOST_DIGITS


# Numbers of at most one row in SHARE are gathered: more are copied faster as a whole.
SHARE = 16


def wanted_numbers(
    name: str, column: Sequence[Chunk], target: DataType, faults: Faults, wanted: WantedRows
) -> EventColumn:
    """Decode a column, which may keep narrower integers; only `wanted` rows if these are few.

    The others have any value. A single chunk is not copied, so it is taken whole.
    """
    arrays, few = [piece.array for piece in column], None
    is_alike = len(arrays) > 1 and len({each.type for each in arrays}) == 1
    if is_alike and _is_kept(arrays[0], target):
        few = wanted.few(SHARE)
    if few is None:
        return number_column(name, column, target, faults, widen=False)
    column = located(gathered(arrays, few).chunks, 0)
    found = number_column(name, column, target, faults, widen=False)
    present = None if found.valid is None else wanted.spread(found.valid)
    return EventColumn(target, wanted.spread(found.values), present)


def _is_kept(array: pa.Array, target: DataType) -> bool:
    """Whether each value of a type is one of `target`, so that no row is bad."""
    kind = array.type
    if target.kind is Kind.FLOAT or kind.id not in _STORED:
        return target.kind is Kind.FLOAT and pa.types.is_floating(kind)
    is_scaled = target.resolution is not None or target.scale is not None
    return not is_scaled or factor(data_type(kind), target) == 1


def number_column(
    name: str, column: Sequence[Chunk], target: DataType, faults: Faults, *, widen: bool = True
) -> EventColumn:
    """Decode a column into `target`; without `widen` a single chunk may keep narrower integers."""
    if target.kind is Kind.FLOAT:
        values, known = raw_floats(name, column, faults)
        if target.width is not None and any(_is_wider(each, target.width) for each in column):
            with np.errstate(over="ignore"):
                values = values.astype(f"f{target.width // 8}").astype(np.float64)
        return EventColumn(target, *_without_nan(values, known))
    column = _decoded(column)
    parts = [_integers(name, piece, target, faults) for piece in column]
    is_kept = len(parts) == 1 and not widen
    return EventColumn(target, parts[0] if is_kept else joined(parts, np.int64), all_valid(column))


def _is_wider(piece: Chunk, width: int) -> bool:
    """Whether values may have more precision than floats of a width."""
    kind = value_type(piece.array.type)
    return not pa.types.is_floating(kind) or kind.bit_width > width


def raw_floats(
    name: str, column: Sequence[Chunk], faults: Faults
) -> tuple[NDArray[np.float64], Mask | None]:
    """Return the floats of a column, NaN included, and its validity mask."""
    column = _decoded(column)
    parts = [_floats(name, piece, faults) for piece in column]
    return joined(parts, np.float64), all_valid(column)


def _decoded(column: Sequence[Chunk]) -> list[Chunk]:
    """Decode dictionaries: numbers gain nothing by them, and their NULL values would be hidden."""
    return [Chunk(_plain(piece.array), piece.row) for piece in column]


def _integers(name: str, piece: Chunk, target: DataType, faults: Faults) -> NDArray[Any]:
    """Return a chunk as integers of any width, in the unit of `target`."""
    array, row = piece
    known = _STORED.get(array.type.id)
    if known is not None:
        values = storage(array, known)
    elif pa.types.is_null(array.type):
        return np.zeros(len(array), np.int64)
    elif pa.types.is_boolean(array.type):
        return bits(array.buffers()[1], array.offset, len(array)).view(np.uint8)
    elif pa.types.is_date64(array.type):
        values = storage(array, np.int64) // DAY_MS
    elif pa.types.is_uint64(array.type):
        values = storage(array, np.int64)
        _refuse(name, Chunk(array, row), values < 0, faults, TOO_GREAT)
    else:
        values, bad = unscaled(array)
        _refuse(name, Chunk(array, row), bad, faults, TOO_LONG)
    if target.resolution is None and target.scale is None:
        return values
    return _scaled(name, Chunk(array, row), values, target, faults)


# Types stored as the integers they mean; uint64 is missing since it may overflow.
_STORED = {number: dtype for number, dtype in INTEGERS.items() if number != pa.uint64().id} | {
    pa.date32().id: np.dtype(np.int32),
    pa.timestamp("s").id: np.dtype(np.int64),
    pa.duration("s").id: np.dtype(np.int64),
}
TOO_GREAT = f"the greatest integer is {INT64.max}; {INSTEAD_OF_GREAT}"
TOO_LONG = f"at most {MOST_DIGITS} digits can be read; round it, or give it as a float"


def _scaled(
    name: str, piece: Chunk, values: NDArray[Any], target: DataType, faults: Faults
) -> NDArray[Any]:
    """Convert values to the finer unit of `target`, exactly."""
    own = data_type(piece.array.type)
    times = factor(own, target)
    if times == 1:
        return values
    most = _DECIMAL_END - 1 if own.kind is Kind.DECIMAL else INT64.max
    bad = (values > most // times) | (values < -(most // times))
    why = f"it does not fit beside columns of {target.described()}; give all the same resolution"
    _refuse(name, piece, bad, faults, why)
    # If the factor exceeds int64, only zeros have passed.
    return values.astype(np.int64) * np.int64(times if times <= INT64.max else 1)


def _floats(name: str, piece: Chunk, faults: Faults) -> NDArray[Any]:
    array = piece.array
    if pa.types.is_floating(array.type):
        return storage(array, f"f{array.type.bit_width // 8}")
    values = _integers(name, piece, INTEGER, faults)
    bad = (values > MOST_EXACT) | (values < -MOST_EXACT)
    _refuse(name, piece, bad, faults, NO_FLOAT)
    return values


def beyond_floats(chunks: Sequence[pa.Array]) -> Mask | None:
    """Mark integers and decimals that no float equals; None if no chunk has floats."""
    kinds = {value_type(chunk.type) for chunk in chunks}
    exact = any(pa.types.is_integer(kind) or pa.types.is_decimal(kind) for kind in kinds)
    if not (exact and any(map(pa.types.is_floating, kinds))):
        return None
    found = [np.zeros(len(chunk), np.bool_) for chunk in chunks]
    for number, chunk in enumerate(chunks):
        if pa.types.is_decimal(value_type(chunk.type)):
            # Python compares decimals exactly.
            values = chunk.to_pylist()
            found[number][:] = [each is not None and each != float(each) for each in values]
        elif pa.types.is_integer(value_type(chunk.type)):
            array = _plain(chunk)
            values, known = storage(array, INTEGERS[array.type.id]), valid(array)
            bad = (values > MOST_EXACT) | (values < -MOST_EXACT)
            found[number] = bad if known is None else bad & known
    return np.concatenate(found)


def beyond_integers(chunks: Sequence[pa.Array]) -> Mask | None:
    """Mark integers beyond int64; None if all values are of one type, or none is uint64."""
    kinds = {value_type(chunk.type) for chunk in chunks}
    if pa.uint64() not in kinds or len(kinds) == 1:
        return None
    return np.concatenate([_is_beyond(chunk) for chunk in chunks])


def within_integers(chunks: list[pa.Array]) -> list[pa.Array]:
    """Replace integers beyond int64 by NULL, if some values have other types."""
    beyond = beyond_integers(chunks)
    if beyond is None or not beyond.any():
        return chunks
    return [
        pc.if_else(_is_beyond(chunk), None, _plain(chunk)) if _is_beyond(chunk).any() else chunk
        for chunk in chunks
    ]


def _is_beyond(chunk: pa.Array) -> Mask:
    if value_type(chunk.type) != pa.uint64():
        return np.zeros(len(chunk), np.bool_)
    array = _plain(chunk)
    beyond, known = storage(array, np.int64) < 0, valid(array)
    return beyond if known is None else beyond & known


def _plain(array: pa.Array) -> pa.Array:
    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array


def _without_nan(values: NDArray[Any], known: Mask | None) -> tuple[NDArray[Any], Mask | None]:
    """Mask NaN as NULL; `min` is NaN if any value is, so most columns need one scan."""
    if len(values) == 0 or not np.isnan(values.min()):
        return values, known
    number = ~np.isnan(values)
    both = number if known is None else number & known
    # A NaN under a NULL needs no mask.
    return np.where(number, values, 0.0), both


def _refuse(name: str, piece: Chunk, bad: Mask, faults: Faults, why: str) -> None:
    """Log the rows of bad values that are not NULL."""
    if not bad.any():
        return
    present = valid(piece.array)
    rows = np.flatnonzero(bad if present is None else bad & present)
    if len(rows):
        scalar = piece.array[int(rows[0])]
        # Python's moments have a smaller range and resolution.
        value = scalar.value if pa.types.is_temporal(scalar.type) else scalar.as_py()
        faults.refuse(name, piece.row + rows, why, value)


def unscaled(array: pa.Array) -> tuple[Numbers, Mask]:
    """Return the unscaled integers of decimals, and mark those with too many digits."""
    width = array.type.bit_width
    if width <= 64:
        values = storage(array, f"i{width // 8}").astype(np.int64, copy=False)
        return values, _too_long(values)
    # Little-endian words: the value fits into the first word if the others only extend its sign.
    words = storage(array, np.dtype((np.int64, width // 64)))
    values = np.ascontiguousarray(words[:, 0])
    sign = values >> np.int64(63)
    return values, (words[:, 1:] != sign[:, None]).any(axis=1) | _too_long(values)


def _too_long(values: Numbers) -> Mask:
    bad: Mask = (values >= _DECIMAL_END) | (values <= -_DECIMAL_END)
    return bad
