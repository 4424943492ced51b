"""Tables that compute their rows on demand: relations of DuckDB, and lazy frames of Polars."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import pyarrow as pa

from sase.binding.types import Kind
from sase.engine.columns.arrow.data_types import data_type
from sase.engine.columns.arrow.python_rows import is_relation, package_of, table_of_relation
from sase.engine.sources.column_roles import usual_time

# A text in the time column will be a time.
TIME = pa.timestamp("us")


def are_lazy(events: object) -> bool:
    """Whether events, or those of a type, are computed on demand."""
    return any(map(_is_lazy, events.values() if isinstance(events, Mapping) else [events]))


def schemas_of(events: object, times: Iterable[str | None] | None) -> object:
    """Return Arrow's schemas in place of lazy tables, without computing a row.

    Texts in the columns of `times`, or in the one with a usual name, are times.
    """
    if isinstance(events, Mapping):
        return {name: _schema(each, times) for name, each in events.items()}
    return _schema(events, times)


def collected(events: object, columns: Collection[str] | None) -> object:
    """Compute these columns of lazy tables, or all; other tables are returned unchanged."""
    if isinstance(events, Mapping):
        return {name: _collected(each, columns) for name, each in events.items()}
    return _collected(events, columns)


def projected(table: Any, columns: Collection[str]) -> Any:
    """Return a lazy table with some of its columns."""
    if not is_relation(table):
        return table.select([name for name in table.collect_schema().names() if name in columns])
    kept = [name.replace('"', '""') for name in table.columns if name in columns]
    return table.project(", ".join(f'"{name}"' for name in kept))


def _is_lazy(table: object) -> bool:
    is_lazy_frame = type(table).__name__ == "LazyFrame" and package_of(table) == "polars"
    return is_lazy_frame or is_relation(table)


def _schema(table: Any, times: Iterable[str | None] | None) -> Any:
    if not _is_lazy(table):
        return table
    if is_relation(table):
        schema = table_of_relation(table.limit(0)).schema
    else:
        schema = table.head(0).collect().to_arrow().schema
    for name in [usual_time(schema.names)] if times is None else times:
        place = -1 if name is None else schema.get_field_index(name)
        if place >= 0 and data_type(schema.field(place).type).kind is Kind.STRING:
            schema = schema.set(place, pa.field(name, TIME))
    return schema


def _collected(table: Any, columns: Collection[str] | None) -> Any:
    if not _is_lazy(table):
        return table
    if columns is not None:
        table = projected(table, columns)
    return table_of_relation(table) if is_relation(table) else table.collect()
