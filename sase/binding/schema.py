"""What is known of the events before any is read: their types, attributes, and time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from sase.binding.types import FLOAT, INTEGER, STRING, UNKNOWN, DataType, Kind
from sase.lang.units import NANOSECONDS, UNITS

Attributes = tuple[tuple[str, DataType], ...]


@dataclass(frozen=True)
class EventType:
    """An event type and the attributes that it declares, or None where any is allowed."""

    name: str
    attributes: Attributes | None = None


@dataclass(frozen=True)
class Schema:
    """The event types and the columns of the input.

    `columns` is one wide table, in which every type declares every column; `types` gives each type
    its own attributes, or with a wide table only names the types that occur. Without either every
    name is allowed and has no type: `Schema()` is the open schema. `definitions` are the conditions
    that make the types where no column does.
    """

    types: tuple[EventType, ...] | None = None
    columns: Attributes | None = None
    time: str = "ts"
    type: str | None = "type"
    seq: str | None = None
    time_unit: str | None = None
    definitions: tuple[tuple[str, str], ...] = ()
    _by_name: dict[str, EventType] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        by_name = {event_type.name: event_type for event_type in self.types or ()}
        object.__setattr__(self, "_by_name", by_name)

    @property
    def type_names(self) -> tuple[str, ...] | None:
        """The names of all types, or None where that is not known."""
        if self.definitions:
            return tuple(name for name, _ in self.definitions)
        return None if self.types is None else tuple(self._by_name)

    def attributes(self, type_name: str) -> Mapping[str, DataType] | None:
        """The attributes of a type with those that every event has; None where any is allowed."""
        declared = self._by_name.get(type_name, EventType(type_name)).attributes
        declared = self.columns if declared is None else declared
        return None if declared is None else {**dict(self._common()), **dict(declared)}

    def _common(self) -> Iterator[tuple[str, DataType]]:
        """The time, type and sequence columns: attributes of every event."""
        yield self.time, self.time_type
        if self.type is not None:
            yield self.type, STRING
        if self.seq is not None:
            yield self.seq, INTEGER

    @property
    def time_type(self) -> DataType:
        """The type of the time column."""
        everywhere = [self.columns or (), *(t.attributes or () for t in self.types or ())]
        for attributes in everywhere:
            for name, data_type in attributes:
                if name == self.time:
                    return data_type
        return INTEGER if self.time_unit else UNKNOWN

    @property
    def nanoseconds(self) -> int | None:
        """How many nanoseconds a raw unit of time is, where that is known."""
        unit = {FLOAT: "us"}.get(self.time_type, self.time_type.resolution)
        if self.time_type.kind is Kind.INTEGER:
            unit = self.time_unit
        return NANOSECONDS[UNITS[unit.lower()]] if unit else None


OPEN = Schema()
