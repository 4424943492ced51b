"""Describe events before any is read: build the schema that a query is bound to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sase.binding import EventType, Schema
from sase.binding.input_options import Times
from sase.binding.schema import ROW_ORDER, Attributes
from sase.binding.types import UNKNOWN, DataType, Kind, merged
from sase.engine.columns.arrow.input import Input, Inputs, opened
from sase.engine.columns.decode.coercion import coerced_to_describe
from sase.engine.columns.decode.roles import missing, require
from sase.engine.columns.decode.time_column import time_type
from sase.errors import SchemaError


def describe(
    events: object,
    *,
    time: Times = "ts",
    type: str | None = "type",
    seq: str | None = None,
    types: Types = None,
    time_unit: str | None = None,
    mends: bool = False,
) -> Schema:
    """Return the schema of events: their types, columns, and the unit of time.

    Columns of dicts with values of several types have no type; with `mends` they have the type of
    the values that are kept when the other rows go into quarantine.
    """
    inputs = opened(events, keeps_rows=mends)
    times = (time,) if isinstance(time, str) else time
    if mends:
        inputs = coerced_to_describe(inputs, times=times, type=type, seq=seq)
    clocks = dict.fromkeys(times, _clock(inputs, times, time_unit))
    roles: dict[str, Any] = {"time": times[0], "until": times[1] if len(times) > 1 else None}
    if seq not in (None, ROW_ORDER):
        require(inputs, seq, "seq")
    if inputs.typed:
        if types is not None:
            raise SchemaError("a dict of events gives the types: leave out  types=…")
        found = tuple(
            EventType(table.type_name or "", _attributes(inputs, table, clocks))
            for table in inputs.tables
        )
        return Schema(types=found, type=None, seq=seq, time_unit=time_unit, **roles)
    (table,) = inputs.tables
    declared = declaration(types, type)
    if declared.type is not None:
        require(inputs, declared.type, "type")
    return Schema(
        types=_event_types(table, declared, clocks),
        columns=_attributes(inputs, table, clocks) if declared.is_wide else None,
        type=declared.type,
        seq=seq,
        time_unit=time_unit,
        definitions=declared.definitions,
        **roles,
    )


def _clock(inputs: Inputs, times: Sequence[str], time_unit: str | None) -> DataType:
    """Return the type of the timestamps; refuse a `time_unit` if the type already has a unit."""
    found = time_type(inputs, *times)
    if time_unit is not None and found.kind in (Kind.FLOAT, Kind.TIMESTAMP):
        counts = "seconds" if found.kind is Kind.FLOAT else "their own unit"
        raise SchemaError(
            f"time_unit is the unit of integers, and `{times[0]}` has the type {found}, which"
            f" counts {counts}: leave it out"
        )
    return found


def _attributes(inputs: Inputs, table: Input, known: Mapping[str, DataType]) -> Attributes | None:
    """Return a table's columns, each in the finest unit of that name and kind in any table."""
    if table.is_open:
        return None
    own = {name: table.type_of(name) or UNKNOWN for name in table.names}
    return tuple((name, known.get(name) or _finest(inputs, name, own[name])) for name in own)


def _finest(inputs: Inputs, name: str, own: DataType) -> DataType:
    found = (table.type_of(name) for table in inputs.tables)
    return merged([own, *(t for t in found if t is not None and t.kind is own.kind)])


def _event_types(
    table: Input, declared: Declaration, known: Mapping[str, DataType]
) -> tuple[EventType, ...] | None:
    """Return the types that are declared, or listed by a dictionary; else None."""
    if declared.definitions:
        return None
    if declared.attributes:
        return tuple(
            EventType(name, None if listed is None else _listed(table, name, listed, known))
            for name, listed in declared.attributes.items()
        )
    names = None if declared.type is None else table.dictionary_of(declared.type)
    return tuple(map(EventType, names)) if names else None


def _listed(
    table: Input, type_name: str, names: Sequence[str], known: Mapping[str, DataType]
) -> Attributes:
    """Return the attributes that a type declares; they must be columns."""
    found = dict(known)
    for name in names:
        data_type = table.type_of(name)
        if data_type is None:
            missing(table, name, f"column `{name}`, which type `{type_name}` should have")
        found.setdefault(name, data_type)
    return tuple(found.items())


Types = str | Sequence[str] | Mapping[str, Sequence[str] | str | None] | None


@dataclass(frozen=True)
class Declaration:
    """The type column if there is one, and each type's attributes or condition."""

    type: str | None
    attributes: Mapping[str, Sequence[str] | None] = field(default_factory=dict)
    definitions: tuple[tuple[str, str], ...] = ()

    @property
    def is_wide(self) -> bool:
        """Whether some type declares all columns of the table."""
        return not self.attributes or None in self.attributes.values()


def declaration(types: Types, type: str | None) -> Declaration:
    """Combine the arguments `types` and `type`."""
    if isinstance(types, Mapping):
        texts = {name: text for name, text in types.items() if isinstance(text, str)}
        if texts and len(texts) == len(types):
            return Declaration(None, definitions=tuple(texts.items()))
        lists = {name: listed for name, listed in types.items() if not isinstance(listed, str)}
        if texts:
            raise SchemaError(
                f"types: `{next(iter(texts))}` is defined by a condition and `{next(iter(lists))}`"
                " is not: define all types by conditions, or none"
            )
    else:
        lists = dict.fromkeys([types] if isinstance(types, str) else types or ())
    if type is None and len(lists) != 1:
        raise SchemaError(
            "without a type column all events have one type, or conditions define them:"
            ' say  types=["Name"]  or  types={"Name": "condition", …}'
        )
    return Declaration(type, lists)
