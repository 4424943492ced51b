"""Unify the columns of several files into one schema."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import pyarrow as pa

from sase.engine.columns.arrow.data_types import common_type, value_type
from sase.errors import SchemaError

# A format's common type for values of several types, if it has one.
CommonKind: TypeAlias = Callable[[Sequence[pa.DataType]], pa.DataType | None]


def unified(
    schemas: Sequence[pa.Schema], paths: Sequence[str], common_kind: CommonKind
) -> tuple[pa.Schema, dict[str, SchemaError]]:
    """Return the columns of all files, and errors for columns that cannot be unified.

    Files may lack some columns. A column without a common type is an error only if a query names
    it, unless the format has a type for it.
    """
    if len(schemas) == 1:
        return schemas[0], {}
    fields, conflicts = [], {}
    for name in dict.fromkeys(name for schema in schemas for name in schema.names):
        at = [number for number, schema in enumerate(schemas) if name in schema.names]
        kinds = [schemas[number].field(name).type for number in at]
        kind = _common(kinds) or common_kind(kinds)
        if kind is None:
            kind = pa.string()
            conflicts[name] = _conflict(name, kinds, [paths[number] for number in at])
        fields.append(pa.field(name, kind))
    return pa.schema(fields), conflicts


def _common(kinds: Sequence[pa.DataType]) -> pa.DataType | None:
    """Return a type for the values of all these types, or None."""
    found = list(dict.fromkeys(kinds))
    if len(found) > 1:
        found = list(dict.fromkeys(map(_plain, found)))
    return found[0] if len(found) == 1 else common_type(found)


def _plain(kind: pa.DataType) -> pa.DataType:
    """Return the type of values without their encoding."""
    kind = value_type(kind)
    is_text = pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    return pa.string() if is_text else kind


def _conflict(name: str, kinds: Sequence[pa.DataType], paths: Sequence[str]) -> SchemaError:
    """Return an error that names the first file with a type unlike the earlier ones."""
    at = next(number for number in range(1, len(kinds)) if _common(kinds[: number + 1]) is None)
    return SchemaError(
        f"`{name}` is {kinds[0]} in {paths[0]} and {kinds[at]} in {paths[at]}: write the files with"
        " one type, or leave the column out of the query"
    )
