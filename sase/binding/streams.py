"""The schemas of what statements read: composite events, and several streams as one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sase.binding.bound import BoundQuery
from sase.binding.schema import ROW_ORDER, EventType, Schema
from sase.binding.types import DataType, Kind

LISTED = DataType(Kind.OTHER)


def composite_schema(bound: BoundQuery, name: str, schema: Schema, time: str) -> Schema:
    """The schema of what a query over events of a schema finds: one type, in the order of results.

    Its attributes are the columns of RETURN, without RETURN those of the flat form, and the time.
    """
    found = _returned(bound, schema)
    own = None if found is None else (*found.items(), (time, schema.time_type))
    return Schema(
        types=(EventType(bound.type_name or name, own),),
        time=time,
        type=None,
        seq=ROW_ORDER,
        time_unit=schema.time_unit,
    )


def _returned(bound: BoundQuery, schema: Schema) -> Mapping[str, DataType] | None:
    """The columns of results; None where nothing says which there are."""
    if bound.columns is not None:
        return {column.name: column.value.type for column in bound.columns}
    found: dict[str, DataType] = {}
    for component in bound.positives:
        if component.is_series or component.group is not None:
            found[component.variable] = LISTED
            continue
        declared = list(_declared(component.types, schema))
        if not declared:
            return None
        found |= {f"{component.variable}_{name}": kind for name, kind in declared}
    return found


def _declared(types: tuple[str, ...] | None, schema: Schema) -> Iterator[tuple[str, DataType]]:
    """The attributes that some type declares."""
    for name in types or schema.type_names or ("",):
        attributes = schema.attributes(name)
        yield from (attributes or {}).items()
