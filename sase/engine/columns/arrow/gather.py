"""Select single values from chunks of any layout, and cast chunks to one type."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sase.binding.types import Kind
from sase.engine.columns.arrays import Mask, Numbers
from sase.engine.columns.arrow.data_types import (
    common_type,
    data_type,
    distinct_types,
    is_of_extensions,
    value_type,
)
from sase.errors import DataError

# Indexes for the values of several dictionaries.
WIDE = pa.int32()


def gathered(chunks: list[pa.Array], places: Numbers) -> pa.ChunkedArray:
    """Select values chunk by chunk; Arrow would first concatenate all chunks."""
    if len(chunks) == 1 or not len(places):
        return pa.chunked_array([taken_values(chunks[0], places)])
    kind = chunks[0].type
    if pa.types.is_dictionary(kind) and pa.types.is_null(kind.value_type):
        return pa.chunked_array([pa.nulls(len(places), kind)])  # Arrow does not unify these
    ends = np.cumsum([len(chunk) for chunk in chunks])
    of_chunk = np.searchsorted(ends, places, "right")
    order = np.argsort(of_chunk, kind="stable")
    used, starts = np.unique(of_chunk[order], return_index=True)
    parts = [
        taken_values(chunks[number], rows - (ends[number] - len(chunks[number])))
        for number, rows in zip(used, np.split(places[order], starts[1:]), strict=True)
    ]
    if len(parts) < 2:
        return pa.chunked_array(parts, chunks[0].type)
    whole = _joined(parts)
    back = np.empty(len(order), np.int64)
    back[order] = np.arange(len(order))
    return pa.chunked_array([taken_values(whole, back)])


def taken_values(chunk: pa.Array, places: Numbers, missing: Mask | None = None) -> pa.Array:
    """Take values of types that `take` does not support, by copying ranges of adjacent values.

    Values that are `missing` become NULL.
    """
    try:
        return chunk.take(pa.array(places, mask=missing))
    except pa.ArrowNotImplementedError:
        if not len(places):
            return chunk.slice(0, 0)
        if missing is None or not missing.any():
            return pa.concat_arrays([chunk.slice(int(run[0]), len(run)) for run in runs(places)])
        none = pa.nulls(1, chunk.type)
        each = zip(places.tolist(), missing.tolist(), strict=True)
        return pa.concat_arrays([none if gone else chunk.slice(place, 1) for place, gone in each])


def taken_rows(table: pa.Table, places: Numbers) -> pa.Table:
    """Take rows of a table, also of types and dictionaries that `take` does not support."""
    try:
        return table.take(pa.array(places))
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        names = table.schema.names
        return pa.table({name: shown(table[name].chunks, places, name) for name in names})


def shown(chunks: list[pa.Array], places: Numbers, name: str) -> pa.ChunkedArray:
    """Select values of a named column; an error says that Arrow cannot."""
    try:
        return gathered(chunks, places)
    except pa.ArrowException as problem:
        raise DataError(
            f"no rows of `{name}` can be shown, which has the type {chunks[0].type}: name the"
            " wanted columns in RETURN, or cast the column",
            None,
            name,
        ) from problem


def runs(places: Numbers) -> list[Numbers]:
    """Split places where they are not adjacent."""
    return np.split(places, np.flatnonzero(np.diff(places) != 1) + 1)


def _joined(parts: list[pa.Array]) -> pa.Array:
    """Concatenate parts of one type, even if their dictionaries differ."""
    try:
        return pa.chunked_array(unifiable(parts)).unify_dictionaries().combine_chunks()
    except pa.ArrowNotImplementedError:  # of values such as lists: duplicates are kept
        kind = parts[0].type
        if not pa.types.is_dictionary(kind):
            raise
        sizes = np.cumsum([0, *(len(part.dictionary) for part in parts[:-1])])
        codes = [
            pc.add(part.indices.cast(pa.int64()), int(size))
            for part, size in zip(parts, sizes, strict=True)
        ]
        values = pa.chunked_array([part.dictionary for part in parts]).combine_chunks()
        if isinstance(values, pa.ChunkedArray):
            values = pa.concat_arrays(values.chunks)
        return pa.DictionaryArray.from_arrays(
            pa.concat_arrays(codes).cast(kind.index_type), values, ordered=kind.ordered
        )


def unifiable(parts: list[pa.Array]) -> list[pa.Array]:
    """Remove NULL from the values of dictionaries: Arrow cannot unify such ones."""
    if not any(pa.types.is_dictionary(part.type) and part.dictionary.null_count for part in parts):
        return parts
    again = [part.dictionary_decode().dictionary_encode() for part in parts]
    return [indexed(each, part.type) for each, part in zip(again, parts, strict=True)]


def indexed(coded: pa.DictionaryArray, kind: pa.DictionaryType) -> pa.DictionaryArray:
    """Cast a dictionary to the index type and order of another."""
    indexes = coded.indices.cast(kind.index_type)
    return pa.DictionaryArray.from_arrays(indexes, coded.dictionary, ordered=kind.ordered)


def alike(chunks: list[pa.Array]) -> list[pa.Array]:
    """Cast chunks to one type: integers beside floats to floats, unrelated types to strings.

    If no integer type of Arrow can hold all integers, they become decimals. Timestamps of several
    zones become the same instants in UTC, and dates their midnights. If one is out of range in the
    finest unit, all become strings.
    """
    kinds = distinct_types(chunks)
    known = [kind for kind in kinds if not pa.types.is_null(kind)]
    if len(kinds) == 1 or not known:
        return _with_room(chunks)
    if len(known) > 1 and any(isinstance(chunk, pa.ExtensionArray) for chunk in chunks):
        # An unregistered extension type is restored from a snapshot as its storage type.
        return alike(
            [takeable(c.storage) if isinstance(c, pa.ExtensionArray) else c for c in chunks]
        )
    values = [value_type(kind) for kind in known]
    target = known[0] if len(known) == 1 else common_type(known) or _instants(values) or pa.string()
    if pa.types.is_float32(target) and any(map(pa.types.is_decimal, values)):
        target = pa.float64()
    try:
        return _with_room([_cast(chunk, target) for chunk in chunks])
    except pa.ArrowInvalid:  # moments too far away for the finest unit, or integers
        target = pa.decimal128(20) if pa.types.is_integer(target) else pa.string()
        return [_cast(chunk, target) for chunk in chunks]


def _with_room(chunks: list[pa.Array]) -> list[pa.Array]:
    """Unify many dictionaries with narrow indexes, or widen the indexes if they are too narrow."""
    kind = chunks[0].type if chunks else pa.null()
    if not pa.types.is_dictionary(kind) or kind.index_type.bit_width >= WIDE.bit_width:
        return chunks
    if sum(len(chunk.dictionary) for chunk in chunks) < 1 << kind.index_type.bit_width - 1:
        return chunks
    try:
        found: list[pa.Array] = pa.chunked_array(unifiable(chunks)).unify_dictionaries().chunks
    except pa.ArrowException:
        wide = pa.dictionary(WIDE, kind.value_type, kind.ordered)
        found = [indexed(chunk, wide) for chunk in chunks]
    return found


def _instants(kinds: list[pa.DataType]) -> pa.DataType | None:
    """The timestamp type for the instants of dates and timestamps of any zones, or None."""
    if not all(pa.types.is_timestamp(kind) or pa.types.is_date(kind) for kind in kinds):
        return None
    moments = [kind for kind in kinds if pa.types.is_timestamp(kind)]
    found = common_type([pa.timestamp(kind.unit) for kind in moments])
    zones = {kind.tz for kind in moments}
    zone = next(iter(zones)) if len(zones) == 1 else "UTC"
    return None if found is None else pa.timestamp(found.unit, zone)


def _cast(chunk: pa.Array, target: pa.DataType) -> pa.Array:
    """Cast each value of a chunk to the nearest one."""
    if pa.types.is_null(chunk.type):
        return pa.nulls(len(chunk), target)
    if pa.types.is_dictionary(chunk.type) and not pa.types.is_dictionary(target):
        chunk = decoded(chunk)
    if pa.types.is_decimal(chunk.type) and pa.types.is_floating(target):
        return chunk.cast(pa.string()).cast(target)  # a direct cast often misses the nearest
    if pa.types.is_timestamp(chunk.type) and chunk.type.tz and pa.types.is_string(target):
        chunk = chunk.cast(pa.timestamp(chunk.type.unit, "UTC"))  # independent of the zone
    if pa.types.is_date(chunk.type) and pa.types.is_timestamp(target):
        chunk = chunk.cast(pa.timestamp(target.unit))
    try:
        return chunk.cast(target, safe=pa.types.is_timestamp(target) or pa.types.is_integer(target))
    except pa.ArrowNotImplementedError:  # nested ones have no text of Arrow's
        texts = [None if value is None else str(value) for value in chunk.to_pylist()]
        return pa.array(texts, target)


# ---------------------------------------------------------------- types Arrow can select from


def takeable(chunk: pa.Array) -> pa.Array:
    """Cast a chunk so that Arrow can select single values: it cannot from run ends and views."""
    chunk = unrolled(chunk)
    if is_of_extensions(chunk.type):
        return takeable(decoded(chunk))
    if pa.types.is_union(chunk.type):
        return _union_of([takeable(chunk.field(n)) for n in range(chunk.type.num_fields)], chunk)
    kind = _without_views(chunk.type)
    if kind == chunk.type:
        return chunk
    if any(each in str(chunk.type) for each in ("list_view", "run_end_encoded")):
        # Arrow casts list views to wrong values, and does not cast run ends.
        return pa.array(chunk.to_pylist(), kind)
    return chunk.cast(kind)


def _union_of(children: list[pa.Array], union: pa.UnionArray) -> pa.UnionArray:
    """Put other arrays of values in place of those of a union."""
    kind = union.type
    if all(each.type == kind.field(n).type for n, each in enumerate(children)):
        return union
    names = [kind.field(n).name for n in range(kind.num_fields)]
    # Arrow returns the codes and offsets of a slice as those of the first rows of the whole.
    count, at, buffers = len(union), union.offset, union.buffers()
    codes = _numbers(buffers[1], "i1", count, at)
    if kind.mode == "sparse":
        return pa.UnionArray.from_sparse(codes, children, names, kind.type_codes)
    offsets = _numbers(buffers[2], "i4", count, 4 * at)
    return pa.UnionArray.from_dense(codes, offsets, children, names, kind.type_codes)


def _numbers(buffer: pa.Buffer | None, kind: str, count: int, begin: int) -> pa.Array:
    """A number of integers of a buffer; an empty array may have none."""
    if buffer is None or not count:
        return pa.array(np.empty(0, kind))
    return pa.array(np.frombuffer(buffer, kind, count, begin))


def decoded(chunk: pa.DictionaryArray) -> pa.Array:
    """Decode a dictionary with values of any type."""
    try:
        return chunk.dictionary_decode()
    except pa.ArrowNotImplementedError:
        values = chunk.dictionary
        none = pa.nulls(1, values.type)
        each = [none if n is None else values.slice(n, 1) for n in chunk.indices.to_pylist()]
        return pa.concat_arrays([values.slice(0, 0), *each])


def plain(column: pa.ChunkedArray) -> pa.Array:
    """Return a column as one array, without dictionaries, run ends and views."""
    chunks = [
        takeable(decoded(each)) if pa.types.is_dictionary(each.type) else each
        for each in map(takeable, column.chunks)
    ]
    return pa.concat_arrays(chunks) if chunks else pa.nulls(0, value_type(column.type))


def names_of_types(chunk: pa.Array) -> pa.Array:
    """Return integers and truth values as a dictionary of their texts; texts unchanged."""
    is_coded = pa.types.is_dictionary(chunk.type)
    kind = data_type(chunk.type).kind
    if kind not in (Kind.INTEGER, Kind.BOOLEAN):
        return chunk
    coded = chunk if is_coded else chunk.dictionary_encode()
    names = coded.dictionary.cast(pa.string())
    return pa.DictionaryArray.from_arrays(coded.indices, names, safe=False)


def unrolled(array: pa.Array) -> pa.Array:
    """Decode run ends, also for types of value that Arrow does not support."""
    if array.type.id != _RUNS:
        return array
    rows = np.arange(array.offset, array.offset + len(array))
    places = np.searchsorted(array.run_ends.to_numpy(), rows, side="right")
    return taken_values(takeable(array.values), places)


_RUNS = pa.run_end_encoded(pa.int32(), pa.int8()).id


def _without_views(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_string_view(kind):
        return pa.large_string()
    if pa.types.is_binary_view(kind):
        return pa.large_binary()
    if pa.types.is_run_end_encoded(kind):
        return _without_views(kind.value_type)
    if pa.types.is_struct(kind):
        return pa.struct([each.with_type(_without_views(each.type)) for each in kind])
    if pa.types.is_map(kind):
        return pa.map_(_without_views(kind.key_type), _without_views(kind.item_type))
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(_without_views(kind.value_type), kind.list_size)
    for is_list, made in _LISTS.items():
        if is_list(kind) and (within := _without_views(kind.value_type)) != kind.value_type:
            return made(kind.value_field.with_type(within))
    return kind


_LISTS = {
    pa.types.is_list: pa.list_,
    pa.types.is_large_list: pa.large_list,
    pa.types.is_list_view: pa.list_,
    pa.types.is_large_list_view: pa.large_list,
}
