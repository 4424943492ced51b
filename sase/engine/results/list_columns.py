"""Result columns of components that bind any number of events."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from sase.binding.bound import BoundComponent
from sase.engine.columns.arrays import Numbers
from sase.engine.operators.bindings import Bindings
from sase.errors import BudgetError

# The greatest offset of Arrow's lists.
MOST_EVENTS = 2**31 - 1


def row_column(parts: Sequence[Bindings], level: int, component: BoundComponent) -> pa.ChunkedArray:
    """The rows that a component binds, as numbers or lists."""
    number = pa.int64()
    kind = pa.list_(number) if component.is_series else number
    return pa.chunked_array([_rows(part, level, component) for part in parts], kind)


def _rows(part: Bindings, level: int, component: BoundComponent) -> pa.Array:
    if component.is_series:
        events, ends = part.of_level(level)
        return pa.ListArray.from_arrays(_offsets(ends, len(events)), pa.array(events, pa.int64()))
    events, known = part.one_of_level(level)
    return pa.array(events, pa.int64(), mask=None if known.all() else ~known)


def event_column(
    positions: Bindings,
    level: int,
    component: BoundComponent,
    struct: Callable[[Numbers], pa.Array],
) -> pa.Array:
    """The events that a component binds, as structs or lists."""
    if component.is_series:
        events, ends = positions.of_level(level)
        return pa.ListArray.from_arrays(_offsets(ends, len(events)), struct(events))
    events, known = positions.one_of_level(level)
    if known.all():
        return struct(events)
    # Only where there is an event: else the column may be of another type.
    places = np.where(known, np.cumsum(known) - 1, 0)
    return struct(events[known]).take(pa.array(places, mask=~known))


def _offsets(ends: Numbers, events: int) -> pa.Array:
    """The offsets of lists, by their ends, among so many events."""
    if events > MOST_EVENTS:
        raise BudgetError(
            f"these matches hold {events:,} events of one component, more than the"
            f" {MOST_EVENTS:,} that a table has room for: read them one batch after the other with"
            " to_reader(), or name in RETURN what is needed of them"
        )
    offsets = np.zeros(len(ends) + 1, np.int32)
    offsets[1:] = ends
    return pa.array(offsets)
