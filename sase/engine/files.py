"""The schema of a file of events, from its footer or its first block: no event is read for it."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.ipc
import pyarrow.parquet

from sase.binding import Schema
from sase.engine.events.data_types import data_type
from sase.errors import SchemaError

_TIME_NAMES = ("ts", "timestamp", "time", "datetime", "date")
_TYPE_NAMES = ("type", "event_type", "event", "activity")


def schema_of_file(
    path: Path, *, time: str | None = None, type: str | None = None, time_unit: str | None = None
) -> Schema:
    """The wide schema of a Parquet, Arrow or CSV file; names that are not given are found out."""
    columns = _arrow_schema(path)
    return Schema(
        columns=tuple((field.name, data_type(field.type)) for field in columns),
        time=_column("time", time, _TIME_NAMES, columns, path) or "ts",
        type=_column("type", type, _TYPE_NAMES, columns, path),
        time_unit=time_unit,
    )


def _arrow_schema(path: Path) -> pa.Schema:
    try:
        match path.suffix.lower():
            case ".parquet" | ".pq":
                return pyarrow.parquet.read_schema(path)
            case ".arrow" | ".feather" | ".ipc":
                return pyarrow.ipc.open_file(path).schema
            case ".csv":
                return pyarrow.csv.open_csv(path).schema
    except (OSError, pa.ArrowException) as problem:
        raise SchemaError(f"{path}: its columns cannot be read: {problem}") from problem
    raise SchemaError(
        f"{path}: a schema is read from a file that ends in .parquet, .arrow, .feather or .csv"
    )


def _column(
    role: str, given: str | None, usual: tuple[str, ...], columns: pa.Schema, path: Path
) -> str | None:
    if given is not None:
        if given not in columns.names:
            known = ", ".join(columns.names)
            raise SchemaError(f"{path}: there is no {role} column `{given}`; it has {known}")
        return given
    by_folded = {name.lower(): name for name in reversed(columns.names)}
    return next((by_folded[name] for name in usual if name in by_folded), None)
