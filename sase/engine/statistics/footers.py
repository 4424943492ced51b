"""Read statistics from Parquet footers, without reading events."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from sase.binding import Schema
from sase.binding.types import Kind
from sase.engine.columns.arrow.data_types import nanoseconds
from sase.engine.columns.decode.time_column import in_range, microseconds
from sase.engine.sources import Files
from sase.engine.sources.formats.base import DAMAGE
from sase.engine.sources.formats.parquet import footer
from sase.planning.statistics import Statistics, TypeStatistics

_UNITS = {"milliseconds": "ms", "microseconds": "us", "nanoseconds": "ns"}


class FooterGroup(NamedTuple):
    """A row group: its rows, the statistics of columns by name, and its number in the file."""

    rows: int
    columns: dict[str, Any]
    number: int


def from_footers(files: Files, schema: Schema) -> Statistics | None:
    """Read the number of rows, their time span, and counts of types; None for other formats.

    A type's count is only known if it is alone in its row groups, and no other row group can have
    such events.
    """
    if files.format.name != "parquet":
        return None
    named = [name for name in (schema.time, schema.type) if name is not None]
    try:
        groups = [
            group
            for fragment in files.dataset.get_fragments()
            for group in groups_of(footer(fragment), named)
        ]
    except DAMAGE:  # a sample is measured instead, and reading reports the damage
        return None
    rows = sum(group.rows for group in groups)
    first, last = _span(groups, schema) or (None, None)
    return Statistics(rows, first, last, _types(groups, schema, rows), source="footers")


def groups_of(metadata: Any, named: list[str]) -> Iterator[FooterGroup]:
    """Yield the non-empty row groups of a file, with statistics of some columns."""
    places = {metadata.schema.column(n).path: n for n in range(metadata.num_columns)}
    wanted = {name: places[name] for name in named if name in places}
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        if group.num_rows:
            found = {name: group.column(place).statistics for name, place in wanted.items()}
            yield FooterGroup(group.num_rows, found, number)


# ---------------------------------------------------------------- time


def _span(groups: list[FooterGroup], schema: Schema) -> tuple[int, int] | None:
    """Return the first and last time, if every row group has them."""
    said = [group.columns.get(schema.time) for group in groups]
    if not said or any(each is None or not each.has_min_max for each in said):
        return None
    spans = [raw_span(each, schema) for each in said]
    known = [each for each in spans if each is not None]
    if len(known) < len(spans):
        return None
    return min(low for low, _ in known), max(high for _, high in known)


def raw_span(said: Any, schema: Schema) -> tuple[int, int] | None:
    """Return the least and greatest time of a row group in raw units."""
    time = schema.time_type
    if time.kind is Kind.FLOAT and isinstance(said.min, float):
        seconds = np.array([said.min, said.max])
        return tuple(microseconds(seconds).tolist()) if in_range(seconds).all() else None
    if time.kind is Kind.INTEGER and isinstance(said.min, int):
        return said.min, said.max
    kind = json.loads(said.logical_type.to_json())
    unit = "d" if kind["Type"] == "Date" else _UNITS.get(kind.get("timeUnit", ""))
    if time.resolution is None or unit is None:  # text, or no unit
        return None
    stored, raw = nanoseconds(unit), nanoseconds(time.resolution)
    return said.min_raw * stored // raw, said.max_raw * stored // raw


# ---------------------------------------------------------------- types


def _types(groups: list[FooterGroup], schema: Schema, rows: int) -> tuple[TypeStatistics, ...]:
    """Return the types with a known number of events."""
    if schema.type is None:
        names = schema.type_names if not schema.definitions else None
        return (TypeStatistics(names[0], rows),) if names and len(names) == 1 else ()
    alone: Counter[str] = Counter()
    mixed: list[tuple[str, str]] = []
    for group in groups:
        said = group.columns.get(schema.type)
        if said is None or not said.has_min_max or not isinstance(said.min, str):
            return ()
        if said.min == said.max:
            alone[said.min] += group.rows - (said.null_count or 0)
        else:
            mixed.append((said.min, said.max))
    # Parquet compares text by bytes, Python by characters: the order is the same.
    return tuple(
        TypeStatistics(name, count)
        for name, count in sorted(alone.items())
        if not any(low <= name <= high for low, high in mixed)
    )
