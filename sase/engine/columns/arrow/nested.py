"""The values within nested columns: fields of structs, elements of lists, members of lists."""

from __future__ import annotations

import json
from contextlib import suppress
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sase.base.paths import Path, path_of
from sase.engine.columns.arrow.data_types import is_list
from sase.engine.columns.arrow.gather import takeable

# No list is as long.
MOST = 2**62


def type_in(schema: pa.Schema, name: str) -> pa.DataType | None:
    """Return the type of a column or of a value within one, or None."""
    index = schema.get_field_index(name)
    if index >= 0:
        return schema.field(index).type
    path = path_of(name)
    index = -1 if path is None else schema.get_field_index(path.column)
    return None if path is None or index < 0 else nested_type(schema.field(index).type, path)


def nested_type(kind: pa.DataType, path: Path) -> pa.DataType | None:
    """Return the type of the values of a path in a column of this type, or None."""
    for step in path.steps:
        if pa.types.is_null(kind):
            break
        if isinstance(step, int) and is_list(kind):
            kind = kind.value_type
        elif isinstance(step, str) and pa.types.is_struct(kind) and kind.get_field_index(step) >= 0:
            kind = kind.field(step).type
        else:
            return None
    if path.member is None:
        return kind
    return pa.bool_() if is_list(kind) or pa.types.is_null(kind) else None


def lacks_field(kind: pa.DataType, path: Path) -> bool:
    """Whether a path ends at a struct without its next field."""
    for number, step in enumerate(path.steps):
        inner = nested_type(kind, path._replace(steps=path.steps[:number], member=None))
        if inner is None or not isinstance(step, str) or not pa.types.is_struct(inner):
            continue
        if inner.get_field_index(step) < 0:
            return True
    return False


def nested_values(array: pa.Array, name: str) -> pa.Array:
    """Return the values that a name means in a proved nested column; NULL where there is none."""
    path = path_of(name)
    assert path is not None, "the name is that of a nested value"
    for step in path.steps:
        if pa.types.is_null(array.type):
            break
        if isinstance(step, int):
            array = element_of(array, step)
        else:
            array = pc.struct_field(array, [array.type.get_field_index(step)])
    if path.member is None:
        return array
    if pa.types.is_null(array.type):
        return pa.nulls(len(array), pa.bool_())
    return _contains(array, json.loads(path.member, parse_float=Decimal))


def element_of(lists: pa.Array, number: int) -> pa.Array:
    """Return the element of each list with a number from 1; NULL outside of the list."""
    starts, lengths, values = _layout(lists)
    number = min(number, MOST)
    is_there = (number >= 1) & (number <= lengths)
    places = pa.array(np.where(is_there, starts + number - 1, 0), mask=~is_there)
    return takeable(values).take(places)


def _contains(lists: pa.Array, member: object) -> pa.Array:
    """Return for each list whether a value is in it: NULL for no list, and NULLs equal nothing."""
    starts, lengths, values = _layout(lists)
    before = np.concatenate([[0], np.cumsum(_equal(values, member))])
    is_null = lists.is_null().to_numpy(zero_copy_only=False)
    lengths = np.where(is_null, 0, lengths)
    starts = np.where(is_null, 0, starts)
    return pa.array(before[starts + lengths] > before[starts], mask=is_null)


def _equal(values: pa.Array, member: Any) -> NDArray[np.bool_]:
    values = takeable(values)
    if pa.types.is_dictionary(values.type):
        entries = takeable(values.dictionary)
        values = pa.DictionaryArray.from_arrays(values.indices, entries).dictionary_decode()
    if pa.types.is_float16(values.type):  # which Arrow does not compare
        values = values.cast(pa.float32())
        member = Decimal(float(np.float16(member))) if _is_number(member) else member
    same = _scalar(member, values.type)
    if not same.is_valid:
        return np.zeros(len(values), np.bool_)
    found: NDArray[np.bool_] = pc.fill_null(pc.equal(values, same), fill_value=False).to_numpy(
        zero_copy_only=False
    )
    return found


def _is_number(member: object) -> bool:
    return isinstance(member, int | Decimal) and not isinstance(member, bool)


def _scalar(member: Any, kind: pa.DataType) -> pa.Scalar:
    """Return a value of a type, or NULL if the type does not have this value."""
    is_number = _is_number(member)
    is_whole = is_number and member == int(member)
    with suppress(pa.ArrowInvalid, OverflowError):
        if isinstance(member, str) and (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
            return pa.scalar(member, kind)
        if isinstance(member, bool) and pa.types.is_boolean(kind):
            return pa.scalar(member, kind)
        if is_whole and pa.types.is_integer(kind):
            return pa.scalar(int(member), kind)
        if is_number and pa.types.is_decimal(kind):
            return pa.scalar(Decimal(member), kind)
        if is_number and pa.types.is_floating(kind):
            return pa.scalar(float(member), kind)
    return pa.scalar(None, kind)


def _layout(lists: pa.Array) -> tuple[NDArray[np.int64], NDArray[np.int64], pa.Array]:
    """Return the place of each list's first value, its length (0 if it is NULL), and all values."""
    lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy().astype(np.int64, copy=False)
    if pa.types.is_fixed_size_list(lists.type):
        size = lists.type.list_size
        return (lists.offset + np.arange(len(lists))) * size, lengths, lists.values
    offsets = lists.offsets.to_numpy().astype(np.int64, copy=False)[: len(lists)]
    return offsets, lengths, lists.values
