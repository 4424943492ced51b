"""The events of a caller, opened once, with their columns described once."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from sase.base.interface import option
from sase.base.texts import did_you_mean
from sase.binding import Schema
from sase.binding.input_options import InputOptions
from sase.binding.lateness import with_longest
from sase.engine.columns import Inputs, describe
from sase.engine.columns.arrow.data_types import value_type
from sase.engine.columns.decode.time_column import likely_unit
from sase.engine.resources import Check
from sase.engine.sources.column_roles import moments_in, names_found, usual_time, usual_type
from sase.engine.sources.dataset import Files
from sase.engine.sources.discover import is_path
from sase.engine.sources.formats.base import given_option, is_string
from sase.engine.sources.open import (
    first_value,
    fit_types,
    infer_types,
    open_files,
    open_tables,
)
from sase.engine.sources.text_times import with_text_times
from sase.errors import PlanError, SchemaError

USUAL = InputOptions()


@dataclass(frozen=True, eq=False)
class Discovered:
    """Events to bind, plan and run a query on: files or tables, and their schema.

    `names` are the options as given. `events` is None for a schema without events. The types of
    `inferred` columns are verified for every value.
    """

    schema: Schema
    names: InputOptions
    events: Files | Inputs | None = None
    inferred: frozenset[str] = frozenset()
    has_own_schema: bool = True

    @classmethod
    def of(cls, value: object, names: InputOptions, schema: object = None) -> Discovered:
        """Open and describe events, or take a schema as it is.

        `schema` replaces the schema of the events.
        """
        if isinstance(value, Discovered):
            return value
        if isinstance(value, Schema):
            _check_agrees(value, names)
            return cls(with_longest(value, names.longest), names)
        events = open_events(value, names, schema.texts if isinstance(schema, Schema) else ())
        if schema is not None:
            return cls(cls.of(schema, names).schema, names, events, has_own_schema=False)
        return cls(_described(events, names), names, events)

    @property
    def files(self) -> Files | None:
        """The files that the schema describes, or None."""
        return self.events if isinstance(self.events, Files) and self.has_own_schema else None

    def unit_hint(self) -> str | None:
        """A hint that the first time gives about the unit of integer times."""
        return None if self.events is None else unit_hint(self.events, self.schema.time)

    @property
    def rows(self) -> int | None:
        """The number of rows; None if readers, a schema or files do not record it."""
        events = self.events
        if isinstance(events, Files):
            return events.rows()
        if events is None or any(table.is_lazy for table in events.tables):
            return None
        return events.num_rows

    def limit(self, between: Check, most: int) -> None:
        """Set the callback between batches of files, and the most bytes to hold."""
        if isinstance(self.events, Files):
            self.events.between, self.events.most = between, most

    def fit_types(self, named: frozenset[str]) -> None:
        """Verify the types of files with a given schema, for the columns of a query."""
        if isinstance(self.events, Files) and not self.has_own_schema:
            events, judges = self.events, self.names.quarantines
            fit_types(events, self.schema, named, shows_all=True, judges=judges, most=events.most)

    def with_inferred_types(self, named: frozenset[str]) -> Discovered:
        """Verify the types of the files' columns that a query names."""
        files = self.files
        if files is None or named <= self.inferred:
            return self
        before = files.schema
        judges = self.names.quarantines
        infer_types(files, named, shows_all=True, judges=judges, most=files.most)
        schema = self.schema if files.schema is before else _described(files, self.names)
        return replace(self, schema=schema, inferred=self.inferred | named)

    def retyped(self, kinds: Mapping[str, Any]) -> Discovered:
        """Change the types of files' columns."""
        assert self.files is not None
        self.files.retype(kinds)
        return replace(self, schema=_described(self.files, self.names))


def open_events(given: object, names: InputOptions, known: Collection[str] = ()) -> Files | Inputs:
    """Open events so that their columns are known and they can be read several times.

    `known` are the columns that a schema declares as text.
    """
    reading: dict[str, Any] = {"reading": names.reading, "known": known}
    if isinstance(given, Files):
        return given
    if is_path(given):
        return open_files(given, names.earliest, judges=names.quarantines, **reading)
    tables = given.values() if isinstance(given, Mapping) else (given,)
    if not any(is_path(each) or isinstance(each, pa.Schema) for each in tables):
        for name, value in names.reading.given.items():
            if name == "time_format":
                continue
            raise PlanError(
                f"{given_option(name, value)} is for files of text, and these events are none"
            )
    events = open_tables(given, keeps_rows=names.quarantines, **reading).drained()
    found = _usual_roles(events, names).get("time", names.earliest)
    times = [each for each in (found, names.until) if each is not None]
    return with_text_times(events, times, names.reading.time_format, judges=names.quarantines)


def _described(events: Files | Inputs, names: InputOptions) -> Schema:
    check_text_columns(events, names.reading.text)
    columns, mends = names.columns, names.quarantines
    if not isinstance(events, Files):
        schema = describe(events, mends=mends, **columns | _usual_roles(events, names))
        return with_longest(schema, names.longest, lambda: unit_hint(events, schema.time))
    columns |= _roles_in(events, names)
    times = [columns["time"]] if names.until is None else columns["time"]
    events.check((*times, columns["type"], columns["seq"]))
    schema = describe(events.schema, mends=mends, **columns)
    return with_longest(schema, names.longest, lambda: unit_hint(events, schema.time))


def unit_hint(events: Files | Inputs, time: str) -> str | None:
    """A hint that the first time gives about the unit of integer times, if plausible."""
    first = first_value(events, time)
    unit = likely_unit(first) if isinstance(first, int) else None
    if unit is None:
        return None
    return f"{first} is a time in {unit} since 1970: say  {option('time_unit', unit)}"


def check_text_columns(events: Files | Inputs, texts: Sequence[str]) -> None:
    """Refuse `text` options for unknown columns, or columns that cannot be text."""
    schemas = (
        [events.schema] if isinstance(events, Files) else [t.source.schema for t in events.tables]
    )
    kinds = {field.name: value_type(field.type) for schema in schemas for field in schema}
    for name in texts:
        if name not in kinds:
            hint = did_you_mean(name, kinds) or (f"columns are {', '.join(kinds)}",)
            raise SchemaError(f"text={list(texts)!r}: there is no column `{name}`; {hint[0]}")
        if not is_string(kinds[name]):
            raise SchemaError(
                f"text={list(texts)!r}: `{name}` is {kinds[name]} by its schema: say string there"
            )


def _usual_roles(events: Inputs, names: InputOptions) -> dict[str, Any]:
    """The roles of columns with usual names, where a table lacks `ts` or `type`."""
    known = [table.names for table in events.tables if not table.is_open] or [[]]
    columns = [name for name in known[0] if all(name in own for own in known)]
    found: dict[str, Any] = {}
    time, type = usual_time(columns), usual_type(columns)
    if names.time == USUAL.time and time is not None:
        found["time"] = time
    if names.type == USUAL.type and not events.typed:
        is_one = isinstance(names.types, list | tuple) and len(names.types) == 1
        if is_one and USUAL.type not in columns:
            found["type"] = None
        elif type is not None and names.types is None:
            found["type"] = type
    return found


def _roles_in(files: Files, names: InputOptions) -> dict[str, Any]:
    """The time and type columns of files: named ones, otherwise usual names."""
    columns = files.schema.names
    is_usual = names.time == USUAL.time and names.time not in columns
    time = None if is_usual else names.earliest
    type = None if names.type == USUAL.type and names.type not in columns else names.type
    is_typed = names.types is not None
    moments = moments_in(files.schema)
    found = names_found(columns, time, type, typed=is_typed, until=names.until, moments=moments)
    times = found.time if names.until is None else (found.time, names.until)
    return {"time": times, "type": found.type}


def _check_agrees(schema: Schema, names: InputOptions) -> None:
    """Refuse options that differ from a given schema: they would have no effect."""
    for name in ("time", "type", "seq", "time_unit"):
        value, said = getattr(names, name), getattr(schema, name)
        if name == "time" and schema.until is not None:
            said = (schema.time, schema.until)
        if value not in (getattr(USUAL, name), said):
            raise PlanError(
                f"{name}={value!r} differs from the Schema, which has {name}={said!r}: say"
                " it there, and leave it out here"
            )
    if texts := names.reading.text:
        raise PlanError(
            f"text={list(texts)!r} says which columns of CSV are text, and a Schema says that"
            " by their types: leave text= out"
        )
    if names.types is not None:
        raise PlanError(
            "types= says which events of a table are of which type, and a Schema says that by its"
            " own `types` or `definitions`: leave types= out, or give events in place of the Schema"
        )
