"""The types of values in a query, and which types are comparable."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum

from sase.base.paths import Path

# The name of the elements of a list among its parts.
ELEMENT = ""


class Kind(Enum):
    """The kind of a value; kinds of one family are comparable."""

    BOOLEAN = "boolean"
    INTEGER = "integer"
    FLOAT = "float"
    DECIMAL = "decimal"
    STRING = "string"
    TIMESTAMP = "timestamp"
    INTERVAL = "interval"
    NULL = "null"
    # A column that conditions cannot read, such as a list.
    OTHER = "other"
    # Unknown: an open schema, an open parameter, or an earlier error.
    UNKNOWN = "unknown"

    # Members are unique: hashing by identity is many times as fast as by name.
    __hash__ = object.__hash__


NUMBERS = frozenset((Kind.INTEGER, Kind.FLOAT, Kind.DECIMAL))
TIMES = frozenset((Kind.TIMESTAMP, Kind.INTERVAL))
# Kinds that may be used with any other.
WILD = frozenset((Kind.UNKNOWN, Kind.NULL))


@dataclass(frozen=True, slots=True)
class DataType:
    """A kind; for time the unit of its resolution (`s`, `ms`, `us`, `ns`, or `d` for dates).

    `scale` is a decimal's number of digits after the point, if known; a float with a scale may be a
    decimal. `width` is the number of bits of a float with fewer than 64. `zoned` says whether a
    timestamp has a time zone, if known, and `zone` is the name of that of a column. A nested column
    has `parts`: its fields, or its elements as a part without a name.
    """

    kind: Kind
    resolution: str | None = None
    scale: int | None = None
    width: int | None = None
    zoned: bool | None = field(default=None, compare=False, repr=False)
    zone: str | None = field(default=None, compare=False, repr=False, metadata={"is_stored": True})
    parts: tuple[tuple[str, DataType], ...] = field(
        default=(), compare=False, repr=False, metadata={"is_stored": True}
    )

    def part(self, path: Path) -> DataType | None:
        """The type at the end of a path into a nested column; None if there is none."""
        found: DataType | None = self
        for step in path.steps:
            if found is not None and found.kind is Kind.UNKNOWN:
                break
            name = ELEMENT if isinstance(step, int) else step
            found = None if found is None else dict(found.parts).get(name)
        if found is None or path.member is None:
            return found
        if found.kind is Kind.UNKNOWN:
            return BOOLEAN
        element = dict(found.parts).get(ELEMENT)
        return None if element is None else BOOLEAN

    @property
    def is_list(self) -> bool:
        """Whether it is a list of values."""
        return any(name == ELEMENT for name, _ in self.parts)

    def named_inside(self, name: str, form: str = "{}") -> str:
        """Words that name a value inside of a nested column, for hints."""
        if self.is_list:
            return f"name an element:  {form.format(f'{name}[1]')}"
        return f"name a field of it:  {form.format(f'{name}.{self.parts[0][0]}')}"

    @property
    def is_number(self) -> bool:
        """Whether arithmetic is valid, as far as known."""
        return self.kind in NUMBERS or self.kind in WILD

    def compares_with(self, other: DataType) -> bool:
        """Whether a comparison of the two types is valid, as far as known."""
        if Kind.OTHER in (self.kind, other.kind):
            return False
        if self.kind in WILD or other.kind in WILD or self.kind is other.kind:
            return True
        return self.kind in NUMBERS and other.kind in NUMBERS

    def described(self) -> str:
        """The type with its article, for messages."""
        if self.kind is Kind.NULL:
            return "NULL"
        if self.parts:
            return "a list" if self.is_list else "a group of fields"
        if self.kind is Kind.OTHER:
            return "a value that conditions cannot read"
        return f"{'an' if self.kind.value[0] in 'aeiou' else 'a'} {self}"

    @property
    def usual_unit(self) -> str | None:
        """The unit to suggest for a plain number; None for integer times."""
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


RESOLUTIONS = ("d", "s", "ms", "us", "ns")  # coarsest first


def merged(types: Iterable[DataType]) -> DataType:
    """The common type of comparable values: finest unit, largest scale, UTC of several zones.

    Decimals include integers. Floats of different widths become float64.
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
    widths = {t.width for t in known}
    zones = {t.zoned for t in known}
    names = {t.zone for t in known if t.zone is not None}
    if kinds == {Kind.OTHER}:
        return DataType(Kind.OTHER, parts=tuple(_parts_merged(known)))
    return DataType(
        next((kind for kind in (Kind.FLOAT, Kind.DECIMAL) if kind in kinds), known[0].kind),
        max(resolutions, key=RESOLUTIONS.index, default=None),
        max(scales, default=0 if kinds >= {Kind.FLOAT, Kind.DECIMAL} else None),
        widths.pop() if len(widths) == 1 else None,
        zones.pop() if len(zones) == 1 else None,
        names.pop() if len(names) == 1 else "UTC" if names else None,
    )


def _parts_merged(nested: list[DataType]) -> Iterator[tuple[str, DataType]]:
    """The parts of the first type, each merged with those of its name and kind in the others."""
    for name, own in nested[0].parts:
        others = [dict(other.parts).get(name, own) for other in nested[1:]]
        yield name, merged([own, *(other for other in others if other.kind is own.kind)])
