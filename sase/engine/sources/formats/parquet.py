"""Row groups of Parquet that need not be read (docs/semantics.md, Bad rows).

Their statistics prove that they hold no event of interest and no bad row. Their rows still count.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from sase.engine.columns.data_types import value_type


@dataclass(frozen=True)
class PruningPredicate:
    """The types of events that matter, the column that holds them, and all columns named."""

    types: frozenset[str]
    column: str
    named: frozenset[str]


def kept_groups(fragment: Any, wanted: PruningPredicate) -> list[bool]:
    """Whether each row group of a file must be read."""
    metadata = fragment.metadata
    schema = fragment.physical_schema
    columns = {metadata.schema.column(n).path: n for n in range(metadata.num_columns)}
    if not _cannot_be_bad(schema, wanted.named) or wanted.column not in columns:
        return [True] * metadata.num_row_groups
    return [
        _is_of_interest(metadata.row_group(number), columns, wanted)
        for number in range(metadata.num_row_groups)
    ]


def _cannot_be_bad(schema: pa.Schema, named: Collection[str]) -> bool:
    """Whether all columns are of kinds whose values fit, but for NULL."""
    for name in named:
        index = schema.get_field_index(name)
        if index < 0:
            continue
        kind = value_type(schema.field(index).type)
        whole = pa.types.is_integer(kind) and not pa.types.is_uint64(kind)
        if not (whole or pa.types.is_timestamp(kind) or pa.types.is_string(kind)):
            return False
    return True


def _is_of_interest(group: Any, columns: dict[str, int], wanted: PruningPredicate) -> bool:
    for name in wanted.named & columns.keys():
        statistics = group.column(columns[name]).statistics
        if statistics is None or not statistics.has_null_count or statistics.null_count:
            return True
    statistics = group.column(columns[wanted.column]).statistics
    if not statistics.has_min_max:
        return True
    least, most = statistics.min, statistics.max
    if not isinstance(least, str):
        return True
    return any(least <= name <= most for name in wanted.types)
