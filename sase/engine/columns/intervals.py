"""Add columns of the earliest and the latest time to events with one time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from warnings import warn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sase.base.texts import did_you_mean
from sase.binding.values.folding import INT64_MAX
from sase.engine.columns.arrays import Mask, Numbers
from sase.engine.columns.arrow.gather import plain
from sase.engine.columns.arrow.input import opened
from sase.engine.columns.decode.time_column import microseconds
from sase.errors import IntervalWarning, SchemaError

LEAST = -INT64_MAX - 1


def one_table(events: object) -> pa.Table:
    """Return events of any kind as one proved table."""
    source = opened(events).proved().tables[0].source
    return pa.Table.from_batches([source]) if isinstance(source, pa.RecordBatch) else source


def widened(
    table: pa.Table,
    time: str,
    moves: Mapping[str, int],
    types: Sequence[str] | None,
    type_column: str,
) -> pa.Table:
    """Add columns with the times moved by some units, for the events of `types`, or all if None.

    For other events a column keeps its values, or is the time if it is new.
    """
    times, chosen = plain(table[time]), _chosen(table, types, type_column)
    raw = _raw(times)
    for name, units in moves.items():
        place = table.schema.get_field_index(name)
        old = raw if place < 0 else _raw(plain(table[name]).cast(times.type))
        made = _column(np.where(chosen, _moved(raw, units), old), times)
        table = (
            table.append_column(name, made) if place < 0 else table.set_column(place, name, made)
        )
    return table


def _chosen(table: pa.Table, types: Sequence[str] | None, column: str) -> Mask:
    """Mark the events of the types to move; warn about types without events."""
    if types is None:
        return np.ones(len(table), np.bool_)
    if column not in table.column_names:
        hints = did_you_mean(column, table.column_names) or ("name it with  type_column=…",)
        raise SchemaError(f"there is no type column `{column}`: {hints[0]}")
    texts = plain(table[column]).cast(pa.string())
    known = [each for each in pc.unique(texts).to_pylist() if each is not None]
    for name in sorted({*types} - {*known}) if known else ():
        hints = ("", *did_you_mean(name, known))
        warn(IntervalWarning(f"no event of type `{name}` occurred{'; '.join(hints)}"), stacklevel=4)
    found = pc.is_in(texts, pa.array(types, pa.string()))
    mask: Mask = found.to_numpy(zero_copy_only=False)
    return mask


def _raw(times: pa.Array) -> Numbers:
    """Convert times to integer units; seconds as floats to microseconds."""
    if pa.types.is_floating(times.type):
        return microseconds(pc.fill_null(times, 0.0).to_numpy(zero_copy_only=False))
    whole = times.cast(pa.int32()) if pa.types.is_date32(times.type) else times
    raw: Numbers = pc.fill_null(whole.cast(pa.int64()), 0).to_numpy()
    return raw


def _moved(raw: Numbers, units: int) -> Numbers:
    """Move times, limited to 64 bits and below the greatest number, which can end no interval."""
    if units < 0:
        return np.maximum(raw, LEAST - units) + units
    return np.minimum(raw, max(INT64_MAX - 1 - units, LEAST)) + units


def _column(raw: Numbers, times: pa.Array) -> pa.Array:
    """Convert raw units back to the type of `times`; NULL times stay NULL."""
    missing = pc.is_null(times).to_numpy(zero_copy_only=False)
    if pa.types.is_floating(times.type):
        return pa.array(raw / 1e6, times.type, mask=missing)
    whole = pa.array(raw, pa.int64(), mask=missing)
    if pa.types.is_date32(times.type):
        return whole.cast(pa.int32()).cast(times.type)
    return whole.cast(times.type)
