"""The schema of an input: event types, attributes, and the columns with roles."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial

from sase.base.interface import option
from sase.base.paths import path_of
from sase.base.texts import did_you_mean
from sase.binding.types import INTEGER, STRING, UNKNOWN, DataType, Kind, merged
from sase.cached_property import cached_property
from sase.errors import PlanError, SchemaError
from sase.lang.units import NANOSECONDS, UNITS

Attributes = tuple[tuple[str, DataType], ...]
# A value of `seq`: order by input row instead of a column.
ROW_ORDER = "#row"
# The columns added to several streams that are read as one; not attributes of events. With
# imprecise times the latest time replaces the order.
MERGED_TIME, MERGED_TYPE, MERGED_ORDER, MERGED_UNTIL = MERGED = (
    "#time", "#type", "#order", "#until"
)  # fmt: skip
# The name for all types that are not listed.
OTHERS = ""


class DeclaredColumns(Mapping[str, DataType]):
    """The types of columns by name, also of values within nested columns."""

    def __init__(self, columns: Mapping[str, DataType]) -> None:
        self._columns = columns

    def __getitem__(self, name: str) -> DataType:
        if (found := self._columns.get(name)) is None:
            path = path_of(name)
            column = None if path is None else self._columns.get(path.column)
            found = None if path is None or column is None else column.part(path)
        if found is None:
            raise KeyError(name)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)


@dataclass(frozen=True)
class EventType:
    """An event type and its attributes; None means any attribute is allowed."""

    name: str
    attributes: Attributes | None = None


@dataclass(frozen=True)
class Schema:
    """The event types and the columns of the input.

    `columns` is one wide table, in which every type declares every column. `types` gives each type
    its own attributes, or with a wide table only the names of types. Without both, any name is
    allowed, with an unknown type: `Schema()` is the open schema. `definitions` are conditions that
    define the types without a type column. `seq` is the column that orders simultaneous events, or
    "#row" for the input row. With two times, `time` is the column of the earliest and `until` that
    of the latest; `longest` is then the greatest distance of the two in raw units. If it
    `has_others`, events may have types that are not listed, with `columns`. `clock` is the type of
    time if no column declares it.

    Examples:
        >>> plan = sase.compile("EVENT SEQ(A a, B b)", sase.Schema(time="at", type="kind"))
        >>> plan.run([{"at": 1, "kind": "A"}, {"at": 2, "kind": "B"}]).rows.to_pydict()
        {'a': [0], 'b': [1]}
    """

    types: tuple[EventType, ...] | None = None
    columns: Attributes | None = None
    time: str = "ts"
    type: str | None = "type"
    seq: str | None = None
    time_unit: str | None = None
    definitions: tuple[tuple[str, str], ...] = ()
    until: str | None = None
    has_others: bool = False
    clock: DataType | None = None
    longest: int | None = None
    _by_name: dict[str, EventType] = field(init=False, repr=False, compare=False)
    _wide: DeclaredColumns | None = field(init=False, repr=False, compare=False)
    _declared: dict[str, DeclaredColumns] = field(init=False, repr=False, compare=False)
    time_type: DataType = field(init=False, repr=False, compare=False)
    # The columns of every event, of any type.
    common: DeclaredColumns = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.time_unit is not None and self.time_unit.lower() not in UNITS:
            hint = did_you_mean(self.time_unit, UNITS) or (f"units are {', '.join(NANOSECONDS)}",)
            raise SchemaError(f"`{self.time_unit}` is not a unit of time; {hint[0]}")
        if not all(isinstance(each, EventType) for each in self.types or ()):
            raise SchemaError(
                "a schema takes no dict of types: give it as  types=…  to  sase.compile, sase.match"
                "  or  sase.Script"
            )
        self._check_until()
        derive = partial(object.__setattr__, self)  # sets caches of the frozen dataclass
        derive("_by_name", {event_type.name: event_type for event_type in self.types or ()})
        derive("time_type", self._time_type())
        common = dict(self._common())
        derive("common", DeclaredColumns(common))
        derive(
            "_wide", None if self.columns is None else DeclaredColumns(dict(self.columns) | common)
        )
        derive(
            "_declared",
            {
                event_type.name: DeclaredColumns(dict(event_type.attributes) | common)
                for event_type in self.types or ()
                if event_type.attributes is not None
            },
        )

    @property
    def type_names(self) -> tuple[str, ...] | None:
        """The names of all types, or None if unknown."""
        if self.definitions:
            return tuple(name for name, _ in self.definitions)
        others = (OTHERS,) if self.has_others else ()
        return None if self.types is None else (*self._by_name, *others)

    @cached_property
    def texts(self) -> frozenset[str]:
        """The columns that are text in every type that declares them."""
        everywhere = [
            *(self.columns or ()),
            *(a for t in self.types or () for a in t.attributes or ()),
        ]
        others = {name for name, kind in everywhere if kind.kind is not Kind.STRING}
        return frozenset(name for name, _ in everywhere) - others

    @property
    def names(self) -> frozenset[str]:
        """The names of all declared columns."""
        return frozenset().union(self._wide or (), *self._declared.values())

    @property
    def is_wide(self) -> bool:
        """Whether every type has all columns of one table."""
        return self.columns is not None and not self._declared

    def admits_unknown_types(self, attribute: str) -> bool:
        """Whether events may have types that are not listed and lack an attribute."""
        if attribute in self.roles or (self.has_others and self.declares(OTHERS, attribute)):
            return False
        return self.type is not None and bool(self._declared)

    @property
    def is_imprecise(self) -> bool:
        """Whether events have an earliest and a latest time."""
        return self.until is not None

    @property
    def times(self) -> tuple[str, ...]:
        """The time column, or both."""
        return (self.time,) if self.until is None else (self.time, self.until)

    @property
    def is_merged(self) -> bool:
        """Whether it describes several streams that are read as one."""
        return self.time == MERGED_TIME

    @property
    def roles(self) -> tuple[str, ...]:
        """The columns that every event needs: time, type, sequence number."""
        others = (name for name in (self.type, self.seq_column) if name is not None)
        return (*self.times, *others)

    def attributes(self, type_name: str) -> Mapping[str, DataType] | None:
        """The attributes of a type, with those of every event; None if any is allowed."""
        return self._declared.get(type_name, self._wide)

    def declares(self, type_name: str | None, attribute: str) -> bool:
        """Whether events of a type have an attribute; unknown types have any."""
        declared = self.attributes(type_name or OTHERS)
        return declared is None or attribute in declared

    def _common(self) -> Iterator[tuple[str, DataType]]:
        """The attributes of every event: the columns of time, type and sequence."""
        if self.is_merged:
            return
        # Float seconds are whole microseconds (docs/semantics.md, Time).
        for name in self.times:
            yield name, INTEGER if self.time_type.kind is Kind.FLOAT else self.time_type
        if self.type is not None:
            own = dict(self.columns or ()).get(self.type, STRING)
            yield self.type, own if own.kind in (Kind.INTEGER, Kind.BOOLEAN) else STRING
        if self.seq_column is not None:
            yield self.seq_column, INTEGER

    def _time_type(self) -> DataType:
        """The type of time: the finest of several columns."""
        if self.clock is not None:
            return self.clock
        everywhere = [self.columns or (), *(t.attributes or () for t in self.types or ())]
        found = [kind for columns in everywhere for name, kind in columns if name in self.times]
        kinds = {data_type.kind for data_type in found}
        if len(kinds) > 1 or not kinds <= _TIMES:
            shown = " and ".join(sorted({str(data_type) for data_type in found}))
            named = " and ".join(f"`{name}`" for name in self.times)
            raise SchemaError(
                f"the time column {named} is {shown}; it may be integers, timestamps or"
                " floats, the same in all types"
            )
        return merged(found) if found else INTEGER if self.time_unit else UNKNOWN

    def _check_until(self) -> None:
        """Refuse equal time columns, a sequence column with two times, and an invalid `longest`."""
        if self.longest is not None and (self.until is None or self.longest < 0):
            raise SchemaError(
                f"longest={self.longest!r} is how long intervals of imprecise time may be: give two"
                " times, and a length that is not negative"
            )
        if self.until == self.time:
            raise SchemaError(
                f"`{self.time}` is given as the earliest and the latest time: leave the second out"
            )
        if self.until is not None and self.seq is not None:
            raise SchemaError(
                f"seq={self.seq!r} orders simultaneous events, and events with two times,"
                f" `{self.time}` and `{self.until}`, have no such order: leave it out"
            )

    @property
    def seq_column(self) -> str | None:
        """The column of sequence numbers, None if rows order events, or nothing does."""
        return None if self.is_ordered_by_row else self.seq

    @property
    def is_ordered_by_row(self) -> bool:
        """Whether the input row orders simultaneous events."""
        return self.seq == ROW_ORDER

    @property
    def has_raw_time(self) -> bool:
        """Whether conditions see times as integers: integers, or floats as microseconds."""
        return self.time_type.kind in (Kind.INTEGER, Kind.FLOAT)

    @property
    def nanoseconds(self) -> int | None:
        """The nanoseconds of a raw unit of time, None if unknown."""
        kind = self.time_type.kind
        unit = {Kind.FLOAT: "us", Kind.INTEGER: self.time_unit}.get(kind, self.time_type.resolution)
        return NANOSECONDS[UNITS[unit.lower()]] if unit else None


_TIMES = {Kind.INTEGER, Kind.FLOAT, Kind.TIMESTAMP, Kind.UNKNOWN}
OPEN = Schema()


def check_order(seq: str | None, why: str) -> None:
    """Refuse a query on Spark that needs an order of rows, unless `seq` is a column.

    `why` says which part of the query needs it; it is empty if none does.
    """
    if seq == ROW_ORDER:
        why = f"{option('seq', ROW_ORDER)} is the order of rows"
    elif seq is not None:
        return
    if why:
        raise PlanError(
            f"{why}, and the rows that Spark reads have no order: name the column of integers that"
            f" orders simultaneous events with  {option('seq')}"
        )
