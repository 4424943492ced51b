"""The columns of several files as those of one table."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from sase.engine.columns.data_types import value_type
from sase.errors import SchemaError

Kinds = dict[str, pa.DataType]


def unified(
    schemas: Sequence[pa.Schema], paths: Sequence[str], format: str
) -> tuple[pa.Schema, dict[str, SchemaError]]:
    """The columns of all files, of which some may lack a few; and the error for naming some.

    Columns whose kinds have nothing in common matter to nobody who does not name them. CSV has text
    only: what is a number in one file and none in another is text. Of lines of JSON those of
    another kind are bad rows.
    """
    if len(schemas) == 1:
        return schemas[0], {}
    fields, conflicts = [], {}
    for name in dict.fromkeys(name for schema in schemas for name in schema.names):
        at = [number for number, schema in enumerate(schemas) if name in schema.names]
        kinds = [schemas[number].field(name).type for number in at]
        kind = _common(kinds)
        if kind is None:
            kind = pa.string()
            if format == "json":
                kind = next(each for each in kinds if not pa.types.is_null(each))
            elif format not in ("csv", "tsv"):
                conflicts[name] = _conflict(name, kinds, [paths[number] for number in at])
        fields.append(pa.field(name, kind))
    return pa.schema(fields), conflicts


def _common(kinds: Sequence[pa.DataType]) -> pa.DataType | None:
    """A type for the values of all these."""
    found = list(dict.fromkeys(kinds))
    if len(found) > 1:
        found = list(dict.fromkeys(map(_plain, found)))
    try:
        schemas = [pa.schema([("", kind)]) for kind in found]
        return pa.unify_schemas(schemas, promote_options="permissive").field(0).type
    except pa.ArrowException:
        return None


def _plain(kind: pa.DataType) -> pa.DataType:
    """The type of values without the form in which a file has them."""
    kind = value_type(kind)
    is_text = pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    return pa.string() if is_text else kind


def _conflict(name: str, kinds: Sequence[pa.DataType], paths: Sequence[str]) -> SchemaError:
    """The error that names the first file whose kind does not go with that of the first."""
    at = next(number for number in range(1, len(kinds)) if _common(kinds[: number + 1]) is None)
    return SchemaError(
        f"`{name}` is {kinds[0]} in {paths[0]} and {kinds[at]} in {paths[at]}: write the files with"
        " one type, or leave the column out of the query"
    )
