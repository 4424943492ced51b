"""The time column: int64 in raw units, whatever it was."""

from __future__ import annotations

from typing import NoReturn

import numpy as np

from sase.binding import Schema
from sase.binding.types import UNKNOWN, DataType, Kind
from sase.engine.columns.arrays import Numbers
from sase.engine.columns.data_types import finest, nanoseconds
from sase.engine.columns.input import Inputs
from sase.engine.columns.microseconds import in_range, microseconds
from sase.engine.columns.numbers import number_column, raw_floats
from sase.engine.columns.projection import Reading
from sase.engine.columns.roles import require
from sase.errors import SchemaError

FLOAT_UNIT = "us"  # what seconds as floats are counted in
NO_TIME = "every event needs a time; fill it in, or leave the row out"


def time_type(inputs: Inputs, column: str) -> DataType:
    """The type of time in all tables: one kind, the finest resolution."""
    found = [t for t in require(inputs, column, "time") if t != UNKNOWN]
    kinds = {t.kind for t in found}
    if len(kinds) > 1:
        held = " and ".join(sorted(f"{kind.value}s" for kind in kinds))
        raise SchemaError(
            f"the time column `{column}` holds {held}, which count differently: give all tables"
            " times of one kind"
        )
    return finest(found) if found else UNKNOWN


def compiled_time(inputs: Inputs, schema: Schema) -> DataType:
    """The type of time, if the windows of a query compiled for the schema mean the same in it."""
    found, known = time_type(inputs, schema.time), schema.time_type
    if UNKNOWN in (found, known):
        return found if known == UNKNOWN else known
    is_whole = (known.kind, found.kind) == (Kind.FLOAT, Kind.INTEGER)
    if is_whole and all(table.is_sparse for table in inputs.tables):
        return known  # as rows from JSON come, with no point where there is no fraction
    if known.kind is not found.kind:
        _refuse(schema, found)
    if known.resolution is None:
        return found
    return known if finest([known, found]) == known else _refuse(schema, found)


def _refuse(schema: Schema, found: DataType) -> NoReturn:
    raise SchemaError(
        f"the query was compiled for times of the type {schema.time_type}, and `{schema.time}` has"
        f" the type {found} here: compile it for these events, or cast the column"
    )


def resolution_of(time: DataType, schema: Schema) -> int | None:
    """How many nanoseconds a raw unit of time is, where that is known."""
    if time.kind is Kind.FLOAT:
        return nanoseconds(FLOAT_UNIT)
    return schema.nanoseconds if time.resolution is None else nanoseconds(time.resolution)


def read_times(reading: Reading, name: str, time: DataType) -> Numbers:
    """The times of all rows."""
    if time.kind is Kind.FLOAT:
        return _from_floats(reading, name)
    column = number_column(name, reading.pieces(name), time, reading.faults)
    if column.valid is not None:
        reading.faults.refuse(name, np.flatnonzero(~column.valid), NO_TIME)
    return column.values


def _from_floats(reading: Reading, name: str) -> Numbers:
    seconds, present = raw_floats(name, reading.pieces(name), reading.faults)
    good = in_range(seconds)
    if present is not None:
        reading.faults.refuse(name, np.flatnonzero(~present), NO_TIME)
    if good.all():
        return microseconds(seconds)
    bad = np.flatnonzero(~good if present is None else ~good & present)
    why = f"floats are seconds, and this is no time of 64 bits in microseconds; {NO_TIME}"
    reading.faults.refuse(name, bad, why, float(seconds[bad[0]]) if len(bad) else None)
    return microseconds(np.where(good, seconds, 0.0))
