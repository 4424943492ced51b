"""The columns of inputs as lines of text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sase.binding import Schema
    from sase.engine.sources.discovered import Discovered


def described_inputs(inputs: Mapping[str | None, Discovered]) -> Iterator[str]:
    """The columns of each input; of types with attributes of their own, those of each type."""
    from sase.engine.results.repr import text_table

    rows = [("input", "type", "column", "data type", "role")]
    for name, source in inputs.items():
        schema = source.schema
        for type_name in [""] if schema.is_wide else schema.type_names or [""]:
            columns = schema.attributes(type_name) or {}
            rows += (
                (name or "", type_name, column, str(kind), _role(schema, column))
                for column, kind in columns.items()
            )
    # Only the column of inputs, or of types, may have no value.
    kept = [place for place in range(5) if place > 1 or any(row[place] for row in rows[1:])]
    return text_table([[row[place] for place in kept] for row in rows], texts=5)


def _role(schema: Schema, column: str) -> str:
    roles = {"time": schema.times, "type": (schema.type,), "seq": (schema.seq,)}
    return next((role for role, columns in roles.items() if column in columns), "")
