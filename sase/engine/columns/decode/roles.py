"""Check the columns of time, type and sequence, and report missing columns."""

from __future__ import annotations

from typing import Literal, NoReturn

from sase.base.interface import option, spelled
from sase.base.texts import did_you_mean
from sase.binding.types import DataType, Kind
from sase.engine.columns.arrow.input import Input, Inputs
from sase.errors import SchemaError

Role = Literal["time", "type", "seq"]

ALLOWED = {
    "time": (Kind.INTEGER, Kind.FLOAT, Kind.TIMESTAMP),
    # The names of integers and truth values are their texts: `7`, `true`.
    "type": (Kind.STRING, Kind.INTEGER, Kind.BOOLEAN),
    "seq": (Kind.INTEGER,),
}
_WANTED = {
    "time": "timestamps, dates, integers, or seconds as floats; parse or cast it",
    "type": "the types' names, as strings, integers or booleans; cast it, or name the column that"
    " holds them",
    "seq": "integers; cast it, or name the column that numbers the events",
}


def require(inputs: Inputs, column: str, role: Role) -> tuple[DataType, ...]:
    """Return the types of a role's column; every table must have it, with a suitable type."""
    return tuple(_required(table, column, role) for table in inputs.tables)


def _required(table: Input, column: str, role: Role) -> DataType:
    data_type = table.type_of(column)
    if data_type is None:
        missing(
            table,
            column,
            f"{role} column `{column}`",
            f"; name it with  {option(role)}{_otherwise() if role == 'type' else ''}",
        )
    if column in table.unreadable:
        raise table.unreadable[column]
    if data_type.kind not in (*ALLOWED[role], Kind.UNKNOWN):
        held = data_type if data_type.kind is not Kind.OTHER else table.arrow_type(column)
        raise SchemaError(
            f"{table.where}the {role} column `{column}` has the type {held}, and should hold"
            f" {_WANTED[role]}"
        )
    return data_type


def missing(table: Input, column: str, what: str, remedy: str = "") -> NoReturn:
    """Raise the error for a missing column."""
    hints = did_you_mean(column, table.names) or (f"there are {', '.join(table.names)}",)
    raise SchemaError(f"{table.where}there is no {what}: {hints[0]}{remedy}")


def _otherwise() -> str:
    """A further remedy besides naming the right column of types."""
    said = spelled('type=None, types=["Name"]', "--types Name")
    return f"; without one say  {said}  or define types by conditions"
