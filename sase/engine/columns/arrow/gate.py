"""Prove Arrow memory from elsewhere: every length, offset and index that is read is checked.

An array states its own length, where its texts begin and end, which values its indexes select, and
how many are NULL. Arrow and kernels, which read by address, rely on that. Arrow's validation does
most of the proof; two cases differ. Dictionaries are proved once, since batches often share theirs.
Of times and decimals only the memory is proved, not that the values are in a usual range.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Iterable, Sequence
from enum import IntEnum
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from sase.engine.columns.arrow.chunks import INTEGERS, bits, storage, valid
from sase.engine.columns.arrow.data_types import PLAIN, is_checked, is_zone
from sase.errors import DataError, SchemaError

Whole = TypeVar("Whole")

MEND = "make the column anew, for example with  pyarrow.array(values)"
_NOT_UTF8 = re.compile(r"Invalid UTF8 sequence at string index (\d+)")
_DICTIONARY, _TIMESTAMP = pa.dictionary(pa.int8(), pa.int8()).id, pa.timestamp("s").id
# Arrow's full validation also rejects unusual values of these types, such as a `date64` within a
# day.
_FIXED = {
    pa.date64().id, pa.time32("s").id, pa.time64("us").id, pa.decimal32(1).id,
    pa.decimal64(1).id, pa.decimal128(1).id, pa.decimal256(1).id,
}  # fmt: skip
# Deeper nesting takes Arrow time and memory quadratic in the levels, until the process ends;
# Arrow's own files allow no more.
DEEPEST = 64
# Arrow checks plain numbers completely, except for a negative offset.
_NUMBERS = {*INTEGERS, pa.float32().id, pa.float64().id}
# Up to FEW rows and dictionary values, and FEW_TEXTS texts, Arrow alone is faster. More than MANY
# chunks are first proved by one call of it.
FEW, FEW_TEXTS, MANY = 1 << 11, 1 << 8, 1 << 4
_ENDS: dict[int, Any] = {
    pa.string().id: np.dtype(np.int32),
    pa.large_string().id: np.dtype(np.int64),
}
FIRST_NOT_ASCII = 0x80
_TEXTS = {*_ENDS, pa.binary().id, pa.large_binary().id}
_VIEWS = {pa.string_view().id, pa.binary_view().id}
# The layout of a view with its bytes (more than _INLINE) in a separate buffer.
_VIEW = np.dtype([("size", "i4"), ("head", "i4"), ("buffer", "i4"), ("begin", "i4")])
_INLINE = 12
# Returns the address in a capsule of a given name.
address_in = ctypes.pythonapi.PyCapsule_GetPointer
address_in.restype, address_in.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
# Dictionaries by identity.
_Dictionaries = dict[tuple[object, ...], pa.Array]
_Proof = Callable[[pa.Array, _Dictionaries, _Dictionaries], None]


class _Unsound(Exception):
    """A fault of an array, with its row and value if one is known."""

    def __init__(self, why: str, row: int | None = None, value: object = None) -> None:
        super().__init__(why)
        self.row, self.value = row, value


class _UnknownZoneError(_Unsound):
    """The column's time zone is unknown here, so its moments cannot be shown."""

    def __init__(self, zone: str) -> None:
        super().__init__(
            f"has the time zone {zone!r}, which is not known here: cast it, for example to "
            " pyarrow.timestamp('us', 'UTC')"
        )


class Gate:
    """Proves columns, and remembers for each column the dictionaries proved last.

    Messages end with a `remedy`.
    """

    def __init__(self, remedy: str = MEND) -> None:
        self._remedy = remedy
        # Keeps the memory alive: identity is by address, which could be reused.
        self._proved: dict[str, _Dictionaries] = {}

    def prove(
        self, name: str, chunks: Sequence[pa.Array], rows: int, where: str = "", first: int = 0
    ) -> None:
        """Raise an error if a column is unsound, or has another number of rows than `rows`.

        `first` is the number of its first row.
        """
        if len(chunks) > MANY and _are_sound(chunks):
            end = first + sum(map(len, chunks))
        else:
            end = self._each(_prove, name, chunks, where, first)
        if end != first + rows:
            found = f"{where}`{name}` has {end - first} rows, where there are {rows}"
            raise DataError(f"{found}: {self._remedy}", None, name)

    def prove_values(self, name: str, chunks: Sequence[pa.Array], where: str = "") -> None:
        """Raise an error if the values of dictionaries are unsound; indexes are not checked."""
        if len(chunks) <= MANY or not _are_sound(chunks):
            self._each(_prove_values, name, chunks, where, 0)

    def _each(
        self, prove: _Proof, name: str, chunks: Sequence[pa.Array], where: str, row: int
    ) -> int:
        """Prove each chunk from a row on; return the row after the last."""
        before, now = self._proved.get(name, {}), _Dictionaries()
        for chunk in chunks:
            try:
                prove(chunk, before, now)
            except (_Unsound, pa.ArrowException, UnicodeDecodeError) as problem:
                raise self._refused(name, chunk, where, row, problem) from problem
            row += len(chunk)
        if now:
            self._proved[name] = now
        return row

    def _refused(
        self, name: str, chunk: pa.Array, where: str, row: int, problem: Exception
    ) -> DataError:
        text = _NOT_UTF8.match(str(problem))
        if text is not None:
            at = row + int(text[1])
            why = "is not UTF-8: decode it, or leave the column out of the query"
            return DataError(f"{where}row {at} (from 0): `{name}` {why}", at, name)
        if isinstance(problem, _UnknownZoneError):
            return DataError(f"{where}`{name}` {problem}", None, name)
        if isinstance(problem, _Unsound) and problem.row is not None:
            at = row + problem.row
            message = f"{where}row {at} (from 0): `{name}` {problem}: {self._remedy}"
            return DataError(message, at, name, problem.value)
        rows = (
            f"rows {row} to {row + len(chunk) - 1} (from 0)" if len(chunk) else "none of its rows"
        )
        said = f"{rows}: the memory of `{name}` differs from its description: {problem}"
        return DataError(f"{where}{said}: {self._remedy}", None, name)


def prove_schema(schema: pa.Schema, where: str = "") -> dict[str, DataError]:
    """Refuse names that are not UTF-8, and types nested too deep.

    Return errors, by name, for the columns of types that Arrow cannot check without a crash.
    """
    try:
        names = schema.names  # decodes them
    except UnicodeDecodeError as problem:
        number = next(at for at in range(len(schema)) if not _has_name(schema, at))
        message = f"{where}the name of column {number} (from 0) is not UTF-8: rename it"
        raise SchemaError(message) from problem
    unchecked = {}
    for name, kind in zip(names, schema.types, strict=True):
        if kind.id in PLAIN or (kind.id == _DICTIONARY and kind.value_type.id in PLAIN):
            continue
        if is_too_deep(kind, _types_within):
            raise SchemaError(
                f"{where}`{name}` is nested more than {DEEPEST} levels deep: leave the column out,"
                " or give it as text"
            )
        if not is_checked(kind):
            message = (
                f"{where}`{name}` has the type {kind}, which Arrow cannot check: give its"
                f" storage, such as  column.storage  , or leave it out of the query"
            )
            unchecked[name] = DataError(message, None, name)
    return unchecked


def is_too_deep(whole: Whole, parts_of: Callable[[Whole], Iterable[Whole]]) -> bool:
    """Whether a type or a value is nested for more levels than Arrow supports."""
    level, depth = list(parts_of(whole)), 1
    while level and depth <= DEEPEST:
        level, depth = [part for each in level for part in parts_of(each)], depth + 1
    return bool(level)


def _types_within(kind: pa.DataType) -> Iterable[pa.DataType]:
    return [kind.field(n).type for n in range(kind.num_fields)] if kind.num_fields else ()


def prove_distinct(names: Sequence[str], where: str = "") -> None:
    """Refuse several columns of one name, since a reference to it is ambiguous."""
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise SchemaError(f"{where}there are several columns `{twice}`: rename all but one")


def _has_name(schema: pa.Schema, number: int) -> bool:
    try:
        schema.field(number).name  # noqa: B018 - which decodes it
    except UnicodeDecodeError:
        return False
    return True


def _prove(array: pa.Array, before: _Dictionaries, now: _Dictionaries) -> None:
    kind = array.type
    if kind.id in _NUMBERS:
        _prove_extent(array)
        array.validate(full=True)
        return
    has_views = _prove_start(array)
    if kind.id in _VIEWS and not len(array):
        return  # an exported slice lacks the views that it excludes
    if kind.id == _DICTIONARY:
        # Arrow's validation is faster for few values, so it is tried first.
        if len(array) > FEW or len(array.dictionary) > FEW or not is_sound(array):
            _prove_values(array, before, now)
            array.indices.validate(full=True)
            _prove_indexes(array.indices, len(array.dictionary))
    elif kind.id in _FIXED:
        array.validate()
        _prove_nulls(array)
    elif kind.id in _ENDS and len(array) > FEW_TEXTS and _is_ascii(array):
        return  # takes a tenth of the time of Arrow's UTF-8 check
    else:
        array.validate(full=True)
        if pa.types.is_timestamp(kind) and kind.tz is not None and not is_zone(kind.tz):
            raise _UnknownZoneError(kind.tz)
    if has_views:
        _prove_views_of_nulls(array)


def _prove_values(array: pa.DictionaryArray, before: _Dictionaries, now: _Dictionaries) -> None:
    """Prove the dictionary of an array, unless it was proved before."""
    array.validate()  # the lengths only
    values = array.dictionary
    key = (values.type, values.null_count, *identity(values))
    if key in now:
        return
    if key not in before:
        try:
            _prove(values, before, {})
        except pa.ArrowInvalid as problem:
            text = _NOT_UTF8.match(str(problem))
            why = f": {problem}" if text is None else f", value {text[1]} is not UTF-8"
            raise _Unsound(f"of its dictionary{why}") from problem
    now[key] = values


def _prove_start(array: pa.Array) -> bool:
    """Refuse faults that Arrow overlooks: negative offsets, too few list values, missing views.

    Return whether there are views.
    """
    rows = _prove_extent(array)
    if array.type.id in _VIEWS and rows and array.buffers()[1] is None:
        raise _Unsound("it has no views")
    if pa.types.is_fixed_size_list(array.type):
        held, needed = len(array.values), (array.offset + rows) * array.type.list_size
        if held < needed:
            raise _Unsound(f"its lists need {needed} values, and it has {held}")
    return (array.type.id in _VIEWS) | any([_prove_start(inner) for inner in _inner(array)])


def _prove_views_of_nulls(array: pa.Array) -> None:
    """Refuse a NULL with a view outside of the memory: Arrow reads it in a cast."""
    for inner in _inner(array):
        _prove_views_of_nulls(inner)
    present = valid(array) if array.type.id in _VIEWS else None
    if present is None:
        return
    views = storage(array, _VIEW)[~present]
    long = views[views["size"].astype(np.uint32) > _INLINE]
    sizes = np.array([0 if each is None else each.size for each in array.buffers()[2:]], np.int64)
    is_there = (long["buffer"] >= 0) & (long["buffer"] < len(sizes)) & (long["begin"] >= 0)
    ends = long["begin"].astype(np.int64) + long["size"]
    if not (is_there.all() and (ends <= sizes[long["buffer"]]).all() and (long["size"] > 0).all()):
        raise _Unsound("a NULL in it is a view of memory that is not there")


def _prove_extent(array: pa.Array) -> int:
    """Refuse a negative offset or length; return the length."""
    if array.offset < 0:
        raise _Unsound(f"it begins {-array.offset} rows before it")
    try:
        return len(array)
    except SystemError as problem:  # Python's error for a negative length
        raise _Unsound("it has less than no rows") from problem


def _is_ascii(array: pa.Array) -> bool:
    """Whether texts are sound and ASCII, so that any offsets cut them into valid texts."""
    array.validate()  # the first and the last offset
    _prove_nulls(array)
    _, offsets, data = array.buffers()
    ends = np.frombuffer(offsets, _ENDS[array.type.id])[array.offset :][: len(array) + 1]
    if (ends[1:] < ends[:-1]).any():
        return False
    texts = np.frombuffer(data or b"", np.uint8)[ends[0] : ends[-1]]
    return not len(texts) or int(texts.max()) < FIRST_NOT_ASCII


def _inner(array: pa.Array) -> list[pa.Array]:
    kind = array.type
    if kind.id == _DICTIONARY:
        return [array.dictionary]
    if isinstance(array, pa.ExtensionArray):
        return [array.storage]
    if pa.types.is_run_end_encoded(kind):
        return [array.run_ends, array.values]
    if isinstance(array, pa.StructArray | pa.UnionArray):
        return [array.field(number) for number in range(kind.num_fields)]
    return [array.values] if kind.num_fields == 1 else []


def _prove_indexes(indexes: pa.Array, count: int) -> None:
    """Check indexes against the number of values, except those under NULLs."""
    if not len(indexes):
        return
    codes = storage(indexes, INTEGERS[indexes.type.id])
    signed = codes.dtype.kind == "i"
    most = min(count, 1 << (8 * codes.itemsize - 1)) if signed else count
    # As unsigned numbers negative ones are large, so one comparison is enough.
    plain = codes.view(f"u{codes.itemsize}")
    if int(plain.max()) < most:
        return
    bad, present = plain >= most, valid(indexes)
    rows = np.flatnonzero(bad if present is None else bad & present)
    if len(rows):
        row = int(rows[0])
        value = int(codes[row])
        raise _Unsound(f"is index {value} of a dictionary of {count} values", row, value)


def _prove_nulls(array: pa.Array) -> None:
    """Check the stated number of NULLs against the validity bits."""
    bitmap = array.buffers()[0]
    present = len(array)
    if bitmap is not None:
        present = int(np.count_nonzero(bits(bitmap, array.offset, len(array))))
    if array.null_count != len(array) - present:
        raise _Unsound(f"it counts {array.null_count} NULLs, and has {len(array) - present}")


class Proof(IntEnum):
    """How far a batch is proved: the columns a kernel reads, that all fit their memory, or all."""

    READ, FITTING, WHOLE = range(3)


def are_numbers(kind: pa.DataType) -> bool:
    """Whether Arrow proves arrays of a type in constant time, except for their offset."""
    return kind.id in _NUMBERS


def is_flat(kind: pa.DataType) -> bool:
    """Whether Arrow proves arrays of a type completely, except for their offset."""
    return bool(pa.types.is_primitive(kind)) or kind.id in _TEXTS


def is_sound(given: pa.Array | pa.ChunkedArray | pa.RecordBatch) -> bool:
    """Whether Arrow validates flat columns in full; a negative offset is not found."""
    try:
        given.validate(full=True)
    except pa.ArrowException:
        return False
    return True


def _are_sound(chunks: Sequence[pa.Array]) -> bool:
    """Whether one call of Arrow proves all chunks; if not, a gate must decide on each.

    It proves the dictionary of each chunk anew, so their values must be fewer than the rows.
    """
    kind = values = chunks[0].type
    if any([chunk.offset < 0 for chunk in chunks]):
        return False
    if kind.id == _DICTIONARY:
        values, dictionaries = kind.value_type, [chunk.dictionary for chunk in chunks]
        if any([each.offset < 0 for each in dictionaries]):
            return False
        if sum(map(len, dictionaries)) > sum(map(len, chunks)):
            return False
    if values.id not in _NUMBERS and values.id not in _TEXTS:
        return False
    return is_sound(pa.chunked_array(chunks, kind))


def is_proved_at_once(array: pa.Array) -> bool:
    """Whether a fast check proves numbers or a few coded texts; if not, a gate must decide."""
    kind = array.type
    if kind.id == _DICTIONARY:
        values = array.dictionary
        if values.offset < 0 or values.type.id not in _TEXTS or not fits_memory(array):
            return False
        if len(array) + len(values) > FEW:
            return False
    elif kind.id not in _NUMBERS and kind.id != _TIMESTAMP:
        return False
    return array.offset >= 0 and is_sound(array)


def fits_memory(given: pa.Array | pa.ChunkedArray | pa.RecordBatch) -> bool:
    """Whether the memory of flat columns is long enough; a negative offset is not found."""
    try:
        given.validate()
    except pa.ArrowException:
        return False
    return True


class ExportedBatch:
    """A batch and the address of its `ArrowArray`, valid as long as this object lives."""

    def __init__(self, batch: pa.RecordBatch) -> None:
        self.batch = batch
        self.held = batch.__arrow_c_array__()[1]
        self.address: int = address_in(self.held, b"arrow_array")


def identity(array: pa.Array) -> tuple[object, ...]:
    """Identify an array by its offset, length and buffer addresses."""
    addresses = [None if buffer is None else buffer.address for buffer in array.buffers()]
    return (array.offset, len(array), *addresses)
