"""Results as events: what a statement found is what those who name its stream read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from sase.binding.types import Kind
from sase.engine.columns.input import Input, Inputs, opened
from sase.engine.results.batch import MatchBatch
from sase.engine.scripts.plan import CompositeType

# Of every result, and no attributes of events: those of imprecise time have a confidence, too.
MOMENTS = ("ts_start", "ts_end", "detected_at")
CONFIDENCE = "confidence"
MICROSECONDS = 1e6


def composite_events(found: MatchBatch, composite: CompositeType) -> Inputs:
    """The events that matches are: the columns of RETURN or the flat form, and the time.

    An event's time is when it is detected, as the input has times: floats are seconds.
    """
    table = found.table()
    time = table["detected_at"]
    if found.shape.schema.time_type.kind is Kind.FLOAT:
        time = pc.divide(time, MICROSECONDS)
    if found.shape.schema.is_imprecise:
        table = table.drop_columns([CONFIDENCE])
    columns = dict(_columns(table, is_flat=found.shape.columns is None))
    source = pa.table({**columns, composite.time: time})
    return Inputs((Input(source, composite.name),), typed=True)


def together(parts: Sequence[Inputs]) -> Inputs:
    """Inputs of one table each as one, with the columns of all."""
    if not parts:
        return opened([])
    (table,) = parts[0].tables
    every = [
        pa.table(dict(zip(each.tables[0].names, each.tables[0].source.columns, strict=True)))
        for each in parts
    ]
    whole = pa.concat_tables(every, promote_options="permissive")
    return replace(parts[0], tables=(replace(table, source=whole),))


def _columns(table: pa.Table, *, is_flat: bool) -> Iterator[tuple[str, pa.ChunkedArray]]:
    for name, column in zip(table.column_names, table.columns, strict=True):
        if name in MOMENTS:
            continue
        if not (is_flat and pa.types.is_struct(column.type)):
            yield name, column
            continue
        names = [field.name for field in column.type]
        for part, values in zip(names, column.flatten(), strict=True):
            yield f"{name}_{part}", values
