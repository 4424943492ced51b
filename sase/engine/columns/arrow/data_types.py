"""Map Arrow types to those of the language."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import lru_cache

import pyarrow as pa

from sase.base.time_zones import is_utc
from sase.binding.types import ELEMENT, DataType, Kind
from sase.lang.units import NANOSECONDS, UNITS


def data_type(arrow: pa.DataType) -> DataType:
    """Return the type of an Arrow column as the language sees it."""
    if pa.types.is_dictionary(arrow) and pa.types.is_run_end_encoded(arrow.value_type):
        return DataType(Kind.OTHER)  # Arrow does not decode it
    if pa.types.is_dictionary(arrow) or pa.types.is_run_end_encoded(arrow):
        return data_type(arrow.value_type)
    if pa.types.is_timestamp(arrow):
        zone = "UTC" if arrow.tz is not None and is_utc(arrow.tz) else arrow.tz
        return DataType(Kind.TIMESTAMP, arrow.unit, zoned=arrow.tz is not None, zone=zone)
    if pa.types.is_duration(arrow):
        return DataType(Kind.INTERVAL, arrow.unit)
    if pa.types.is_decimal(arrow):
        return DataType(Kind.DECIMAL, scale=arrow.scale)
    if pa.types.is_floating(arrow):
        return DataType(Kind.FLOAT, width=arrow.bit_width if arrow.bit_width < 64 else None)
    for is_of, kind in _KINDS:
        if is_of(arrow):
            is_date = kind is Kind.TIMESTAMP
            return DataType(kind, "d" if is_date else None, zoned=False if is_date else None)
    return DataType(Kind.OTHER, parts=tuple(_parts(arrow)))


def _parts(arrow: pa.DataType) -> Iterator[tuple[str, DataType]]:
    """Yield the fields of a struct, or the elements of a list; of equal names the first."""
    if pa.types.is_struct(arrow):
        named = {field.name: field.type for field in reversed(arrow)}
        yield from ((name, data_type(kind)) for name, kind in reversed(named.items()))
    elif is_list(arrow):
        yield ELEMENT, data_type(arrow.value_type)


def is_list(arrow: pa.DataType) -> bool:
    """Whether a type is a list of any layout."""
    return any(is_of(arrow) for is_of in _LISTS)


_LISTS = (
    pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list, pa.types.is_list_view,
    pa.types.is_large_list_view,
)  # fmt: skip
_KINDS = (
    (pa.types.is_boolean, Kind.BOOLEAN),
    (pa.types.is_integer, Kind.INTEGER),
    (pa.types.is_string, Kind.STRING),
    (pa.types.is_large_string, Kind.STRING),
    (pa.types.is_string_view, Kind.STRING),
    (pa.types.is_date, Kind.TIMESTAMP),
    # Every value is NULL, so the kind is unknown.
    (pa.types.is_null, Kind.UNKNOWN),
)

# The most decimal digits of integers by their bits, and of decimals of 128 bits.
_DIGITS = {8: 3, 16: 5, 32: 10, 64: 20, 128: 38}


def value_type(kind: pa.DataType) -> pa.DataType:
    """Return the type of the values, of a column with a dictionary or run ends or any other."""
    while pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        kind = kind.value_type
    return kind


def is_of_extensions(kind: pa.DataType) -> bool:
    """Whether it is a dictionary of extension values, which Arrow writes and does not read."""
    return pa.types.is_dictionary(kind) and isinstance(kind.value_type, pa.BaseExtensionType)


def is_checked(kind: pa.DataType) -> bool:
    """Whether Arrow can validate arrays of a type; extensions of extensions crash it.

    A type that is unknown here counts as an extension. So do dictionaries of extension values
    within another type, since no snapshot has them.
    """
    if not isinstance(kind, pa.DataType):  # an extension that Arrow cannot make of its types
        return False
    if isinstance(kind, pa.BaseExtensionType):
        stored = kind.storage_type
        return not isinstance(stored, pa.BaseExtensionType) and is_checked(stored)
    if pa.types.is_dictionary(kind):
        return is_checked(kind.value_type)
    if pa.types.is_nested(kind) or pa.types.is_run_end_encoded(kind):
        inner = [kind.field(n).type for n in range(kind.num_fields)]
        return not any(map(is_of_extensions, inner)) and all(map(is_checked, inner))
    return kind.id in PLAIN


def of_parquet(schema: pa.Schema) -> pa.Schema:
    """Return a schema if Parquet can write its columns; raise an error for others.

    Writing fixed-size lists of size 0 can crash the process.
    """
    for field in schema:
        if _has_empty_lists(field.type):
            raise pa.ArrowNotImplementedError(f"`{field.name}` has the type {field.type}")
    return schema


def _has_empty_lists(kind: pa.DataType) -> bool:
    if isinstance(kind, pa.BaseExtensionType):
        return _has_empty_lists(kind.storage_type)
    if pa.types.is_dictionary(kind):
        return _has_empty_lists(kind.value_type)
    if pa.types.is_fixed_size_list(kind) and not kind.list_size:
        return True
    return any(_has_empty_lists(kind.field(n).type) for n in range(kind.num_fields))


# The ids of types without inner types.
PLAIN = {
    *(pa.from_numpy_dtype(name).id for name in "?bBhHiIlLefd"), pa.null().id, pa.date32().id,
    pa.date64().id, pa.time32("s").id, pa.time64("us").id, pa.timestamp("s").id,
    pa.duration("s").id, pa.month_day_nano_interval().id, pa.decimal32(1).id, pa.decimal64(1).id,
    pa.decimal128(1).id, pa.decimal256(1).id, pa.string().id, pa.large_string().id,
    pa.string_view().id, pa.binary().id, pa.large_binary().id, pa.binary_view().id,
    pa.binary(1).id,
}  # fmt: skip


@lru_cache
def is_zone(name: str) -> bool:
    """Whether moments of a time zone can be shown: an offset, or a name known to this system."""
    try:
        pa.scalar(0, pa.timestamp("s", name)).as_py()
    except (KeyError, ValueError, OSError):  # of pytz, of zoneinfo, of their folders
        return False
    return True


def distinct_types(arrays: Iterable[pa.Array]) -> list[pa.DataType]:
    """Return the types of arrays, each once; extension types of users may have no hash."""
    found: list[pa.DataType] = []
    for array in arrays:
        if array.type not in found:
            found.append(array.type)
    return found


def common_type(kinds: Iterable[pa.DataType]) -> pa.DataType | None:
    """Return the type that can hold the values of all these types, or None."""
    known = [_widened(value_type(kind)) for kind in kinds]
    fields = [pa.schema([pa.field("", kind)]) for kind in known]
    try:
        found = pa.unify_schemas(fields, promote_options="permissive").field(0).type
    except (pa.ArrowTypeError, pa.ArrowInvalid):
        return None
    if not pa.types.is_decimal(found):
        return found
    # Arrow's unified precision is too small for the integers.
    digits = max(
        (_DIGITS[kind.bit_width] for kind in known if pa.types.is_integer(kind)), default=0
    )
    precision = max(found.precision, digits + found.scale)
    wide = precision > _DIGITS[128]
    return (pa.decimal256 if wide else pa.decimal128)(precision, found.scale)


def _widened(kind: pa.DataType) -> pa.DataType:
    """Widen decimals of 32 and 64 bits, so that they have room for the digits of integers."""
    is_narrow = pa.types.is_decimal(kind) and kind.bit_width < 128
    return pa.decimal128(kind.precision, kind.scale) if is_narrow else kind


def factor(coarse: DataType, fine: DataType) -> int:
    """Return how many units of the finer type make one unit of the coarser."""
    if coarse.resolution and fine.resolution:
        return int(Fraction(nanoseconds(coarse.resolution), nanoseconds(fine.resolution)))
    if coarse.scale is not None and fine.scale is not None:
        return int(10 ** (fine.scale - coarse.scale))
    return 1


def nanoseconds(unit: str) -> int:
    """Return the nanoseconds of a unit of time."""
    return NANOSECONDS[UNITS[unit.lower()]]
