"""Resolve the names and types of a schema against tables, once for equal columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from sase.base.paths import path_of
from sase.binding import Schema
from sase.binding.types import UNKNOWN, DataType, Kind, merged
from sase.engine.columns.arrow.input import Input, Inputs
from sase.engine.columns.decode.roles import missing, require
from sase.engine.columns.decode.time_column import compiled_time, resolution_of
from sase.errors import SchemaError

# Column types by (type name, column); the type name is None unless types have separate tables.
ColumnTypes = dict[tuple[str | None, str], DataType]
Targets = Mapping[int, DataType]  # by table number, of the tables with the column


class ResolvedColumn(NamedTuple):
    """A column to read: its type, and the tables that have it, None for all.

    If tables differ in its kind, `type_names` are the event types of these tables.
    """

    name: str
    type: DataType
    within: frozenset[int] | None
    type_names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Resolved:
    """The index of each column in each table, and the type it is decoded into."""

    indexes: tuple[Mapping[str, int], ...]
    time: DataType
    resolution_ns: int | None
    columns: tuple[ResolvedColumn, ...]
    known: ColumnTypes  # without columns that have no value


def resolve(inputs: Inputs, schema: Schema, names: Sequence[str]) -> Resolved:
    """Find the columns; raise an error if one is missing or of a wrong type."""
    time = compiled_time(inputs, schema)
    if schema.seq_column is not None:
        require(inputs, schema.seq_column, "seq")
    has_column = schema.type is not None and not schema.definitions and not inputs.typed
    if has_column and schema.type is not None:
        require(inputs, schema.type, "type")
    keys = [*schema.times, schema.seq_column, schema.type if has_column else None]
    read = dict.fromkeys([*names, *(key for key in keys if key is not None)])
    indexes = tuple(
        {name: index for name in read if (index := table.index(name)) is not None}
        for table in inputs.tables
    )
    targets = {name: _targets(inputs, name, schema) for name in names if name not in schema.times}
    wanted = (_wanted(inputs, name, found) for name, found in targets.items())
    columns = tuple(column for found in wanted for column in found)
    known = {
        (inputs.tables[number].type_name, name): data_type
        for name, found in targets.items()
        for number, data_type in found.items()
        if data_type != UNKNOWN
    }
    return Resolved(indexes, time, resolution_of(time, schema), columns, known)


def _wanted(inputs: Inputs, name: str, targets: Targets) -> list[ResolvedColumn]:
    """Return one column for each kind that tables have under a name."""
    groups = _by_kind(targets)
    if len(groups) == 1:
        within = None if len(targets) == len(inputs.tables) else frozenset(targets)
        return [ResolvedColumn(name, merged(targets.values()), within)]
    return [
        ResolvedColumn(
            name,
            merged(group.values()),
            frozenset(group),
            tuple(inputs.tables[number].type_name or "" for number in group),
        )
        for group in groups
    ]


def _by_kind(targets: Targets) -> list[Targets]:
    """Group tables by the kind of a column, which may differ between event types."""
    kinds = list(dict.fromkeys(t.kind for t in targets.values() if t != UNKNOWN))
    if len(kinds) <= 1:
        return [targets]
    # A column without values joins the first group.
    sorted_out = {n: kinds[0] if t == UNKNOWN else t.kind for n, t in targets.items()}
    return [{n: targets[n] for n in targets if sorted_out[n] is kind} for kind in kinds]


def _targets(inputs: Inputs, name: str, schema: Schema) -> Targets:
    """Return the type of a column in each table that has it."""
    found = {number: table.type_of(name) for number, table in enumerate(inputs.tables)}
    if found and all(data_type is None for data_type in found.values()):
        absent = {number: type_expected(schema, inputs.tables[number], name) for number in found}
        if not _may_lack(inputs, name, schema, absent):
            table = max(inputs.tables, key=lambda table: len(table.names))
            missing(table, name, f"column `{name}`")
        return absent
    return {
        number: _fitted(inputs.tables[number], name, data_type, schema)
        for number, data_type in found.items()
        if data_type is not None
    }


def _may_lack(inputs: Inputs, name: str, schema: Schema, expected: Targets) -> bool:
    """Whether a column may be missing: dicts omit NULLs, or no type declares it."""
    tables = [schema.attributes(type_name) for type_name in schema.type_names or ()]
    if tables and all(table is not None and name not in table for table in tables):
        return True
    is_known = any(data_type != UNKNOWN for data_type in expected.values())
    return is_known and any(table.is_sparse for table in inputs.tables)


def _fitted(table: Input, name: str, found: DataType, schema: Schema) -> DataType:
    """Return the type that a column is decoded into: the schema's, if it can hold every value."""
    path = path_of(name)
    column = name if path is None or name in table.unreadable else path.column
    if column in table.unreadable:
        raise table.unreadable[column]
    if found.kind is Kind.OTHER and table.arrow_type(name) is None:
        raise SchemaError(
            f"{table.where}`{column}` has the type {table.arrow_type(column)}, which has no"
            f" `{name}`: compile the query for these events, or cast the column"
        )
    if found.kind is Kind.OTHER:
        raise SchemaError(
            f"{table.where}`{name}` has the type {table.arrow_type(name)}, which no condition can"
            f" read: {_instead(name, found)}"
        )
    expected = type_expected(schema, table, name)
    if UNKNOWN in (expected, found):
        return found if expected == UNKNOWN else expected
    if (found.kind, expected.kind) == (Kind.INTEGER, Kind.FLOAT):
        return expected  # JSON may write a float without a decimal point
    is_vague = expected.resolution is None and expected.scale is None
    if found.kind is expected.kind and (is_vague or merged([found, expected]) == expected):
        is_own = is_vague and found.kind is not Kind.FLOAT
        return found if is_own else replace(expected, zoned=found.zoned, zone=found.zone)
    raise SchemaError(
        f"{table.where}`{name}` has the type {found} here, and the query was compiled for"
        f" {expected}: compile it for these events, or cast the column"
    )


def _instead(name: str, nested: DataType) -> str:
    if nested.parts:
        return f"{nested.named_inside(name)} , or leave it out of the query"
    return "leave it out of the query, or cast it to numbers or strings"


def type_expected(schema: Schema, table: Input, name: str) -> DataType:
    """Return the type of a table's column that the query was compiled for."""
    return expected_of_type(schema, table.type_name, name)


def expected_of_type(schema: Schema, type_name: str | None, name: str) -> DataType:
    """Return the schema's type of an attribute, for one event type or any."""
    types = (schema.type_names or ("",)) if type_name is None else (type_name,)
    known = (schema.attributes(each) or {} for each in types)
    return next((declared[name] for declared in known if name in declared), UNKNOWN)
