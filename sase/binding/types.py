"""The types of values in a query, and which of them compare."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum


class Kind(Enum):
    """What a value is; kinds of one family compare with each other."""

    BOOLEAN = "boolean"
    INTEGER = "integer"
    FLOAT = "float"
    DECIMAL = "decimal"
    STRING = "string"
    TIMESTAMP = "timestamp"
    INTERVAL = "interval"
    NULL = "null"
    # A column of a type that conditions cannot read, such as a list.
    OTHER = "other"
    # Nothing is known: an open schema, a parameter that is not given yet, or an earlier mistake.
    UNKNOWN = "unknown"

    # Each member is there once: to hash by identity is many times as fast as by name.
    __hash__ = object.__hash__


NUMBERS = frozenset((Kind.INTEGER, Kind.FLOAT, Kind.DECIMAL))
TIMES = frozenset((Kind.TIMESTAMP, Kind.INTERVAL))
# Kinds that say nothing against being used with any other.
WILD = frozenset((Kind.UNKNOWN, Kind.NULL))


@dataclass(frozen=True, slots=True)
class DataType:
    """A kind, for time the unit of its resolution (`s`, `ms`, `us`, `ns`, or `d` for dates).

    For a decimal `scale` is the number of digits after the point, where that is known; a float
    with a scale may be a decimal. `width` is the number of bits of a float that has fewer than 64,
    and `zoned` says whether a timestamp has a time zone, where that is known.
    """

    kind: Kind
    resolution: str | None = None
    scale: int | None = None
    width: int | None = None
    zoned: bool | None = field(default=None, compare=False, repr=False)

    @property
    def is_number(self) -> bool:
        """Whether arithmetic makes sense, as far as is known."""
        return self.kind in NUMBERS or self.kind in WILD

    def compares_with(self, other: DataType) -> bool:
        """Whether a comparison of the two makes sense, as far as is known."""
        if Kind.OTHER in (self.kind, other.kind):
            return False
        if self.kind in WILD or other.kind in WILD or self.kind is other.kind:
            return True
        return self.kind in NUMBERS and other.kind in NUMBERS

    def described(self) -> str:
        """The type with its article, for a message."""
        if self.kind is Kind.NULL:
            return "NULL"
        if self.kind is Kind.OTHER:
            return "a value that conditions cannot read"
        return f"{'an' if self.kind.value[0] in 'aeiou' else 'a'} {self}"

    @property
    def usual_unit(self) -> str | None:
        """The unit to propose for an amount of time without any, which only integer times count."""
        if self.kind not in (Kind.TIMESTAMP, Kind.FLOAT):
            return None
        return "days" if self.resolution == "d" else "seconds"

    def __str__(self) -> str:
        return (
            f"{self.kind.value}({self.resolution})"
            if self.resolution
            else self.kind.value + (str(self.width or ""))
        )


BOOLEAN, INTEGER, FLOAT, STRING, TIMESTAMP, INTERVAL, NULL, UNKNOWN = (
    DataType(kind)
    for kind in (
        Kind.BOOLEAN,
        Kind.INTEGER,
        Kind.FLOAT,
        Kind.STRING,
        Kind.TIMESTAMP,
        Kind.INTERVAL,
        Kind.NULL,
        Kind.UNKNOWN,
    )
)


RESOLUTIONS = ("d", "s", "ms", "us", "ns")  # from the coarsest


def merged(types: Iterable[DataType]) -> DataType:
    """The type of a value that is one of several comparable ones: finest unit, largest scale.

    Decimals hold integers. Floats of different widths are float64.
    """
    found = list(types)
    known = [candidate for candidate in found if candidate.kind not in WILD]
    if not known:
        return NULL if found and UNKNOWN not in found else UNKNOWN
    kinds = {candidate.kind for candidate in known}
    if len(kinds) > 1 and not kinds <= NUMBERS:
        return UNKNOWN
    resolutions = [t.resolution for t in known if t.resolution is not None]
    scales = [t.scale for t in known if t.scale is not None]
    widths, zones = {t.width for t in known}, {t.zoned for t in known}
    return DataType(
        next((kind for kind in (Kind.FLOAT, Kind.DECIMAL) if kind in kinds), known[0].kind),
        max(resolutions, key=RESOLUTIONS.index, default=None),
        max(scales, default=0 if kinds >= {Kind.FLOAT, Kind.DECIMAL} else None),
        widths.pop() if len(widths) == 1 else None,
        zones.pop() if len(zones) == 1 else None,
    )
