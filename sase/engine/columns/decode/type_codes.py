"""Code the types of events: from a column, from the table of each type, or one for all."""

from __future__ import annotations

import numpy as np

from sase.engine.columns.arrays import TypeCodes
from sase.engine.columns.arrow.gather import names_of_types
from sase.engine.columns.decode.projection import Projection
from sase.engine.columns.decode.strings import Dictionaries, encoded
from sase.errors import SchemaError

NO_TYPE = "every event needs a type; fill it in, or leave the row out"
MOST = np.iinfo(np.int16).max
Typed = tuple[TypeCodes, tuple[str, ...]]


def types_by_table(reading: Projection) -> Typed:
    """Code types by table."""
    names = tuple(table.type_name or "" for table in reading.inputs.tables)
    _check(len(names), "the dict of events")
    counts = np.array(reading.counts, np.int64)
    return np.repeat(np.arange(len(names), dtype=np.int16), counts), names


def one_type(rows: int, name: str) -> Typed:
    """Give all events one type."""
    return np.zeros(rows, np.int16), (name,)


def no_types(rows: int) -> Typed:
    """Give events no type yet."""
    return np.full(rows, -1, np.int16), ()


def types_by_column(
    reading: Projection, column: str, known: Dictionaries, *, may_lack: bool = False
) -> Typed:
    """Code the types in a column; log rows without one, unless they `may_lack` it."""
    chunks = [piece._replace(array=names_of_types(piece.array)) for piece in reading.column(column)]
    codes, values, has_nulls = encoded(chunks, np.int16, known)
    _check(len(values), f"`{column}`")
    if has_nulls and not may_lack and len(lacking := np.flatnonzero(codes < 0)):
        reading.faults.refuse(column, lacking, NO_TYPE)
    return codes, values.names


def _check(names: int, where: str) -> None:
    if names > MOST:
        raise SchemaError(
            f"{where} names {names} types, and there can be {MOST}: choose a column with the"
            f" kind of the event, not with the event's own name"
        )
