"""The collapsed form of a match set: a row for each final event, or first and final pair."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sase.base.texts import digits
from sase.binding.bound import BoundComponent
from sase.engine.columns.arrays import Numbers
from sase.engine.resources import available_memory
from sase.engine.results.arrow_columns import time_array
from sase.engine.results.batch import MatchBatch
from sase.errors import BudgetError

# The least bytes of an entry in the lists of rows and events.
ENTRY = 64
LARGEST = 2**63 - 1


@dataclass(frozen=True, eq=False)
class EventLists:
    """For each final event, the positions that its matches bind in one component."""

    positions: Numbers
    sizes: Numbers

    @property
    def offsets(self) -> pa.Array:
        """The offsets of the lists."""
        return pa.array(np.append(0, np.cumsum(self.sizes)).astype(np.int32))


@dataclass(frozen=True, eq=False)
class CollapsedForm:
    """Final events by position, the number of matches that end there, and their events.

    With `firsts` a row represents the matches between that first and final event.
    """

    positions: Numbers
    counts: Sequence[int]
    lists: tuple[EventLists, ...]
    firsts: Numbers | None = None


def check_size(entries: int) -> None:
    """Refuse lists that exceed memory."""
    if entries > min(available_memory() // 2 // ENTRY, 2**31 - 1):
        raise BudgetError(
            f"the collapsed form would list more than {entries:,} events: a shorter window makes"
            " it smaller; count(), sample() and aggregate() do without it"
        )


def collapsed_table(ends: CollapsedForm, matches: MatchBatch, keys: Sequence[str]) -> pa.Table:
    """The collapsed form with row numbers, and without RETURN with events."""
    columns = {**_head(ends, matches, keys), "count": count_column(ends.counts)}
    rows = [_list(each, pa.array(matches.history.rows(each.positions))) for each in ends.lists]
    columns["rows"] = pa.StructArray.from_arrays(rows, matches.names)
    if matches.shape.columns is None:
        columns["events"] = _events(ends, matches)
    return pa.table(columns)


def collapsed_events(ends: CollapsedForm, matches: MatchBatch, keys: Sequence[str]) -> pa.Table:
    """The collapsed form with all read columns of events, without row numbers.

    The types must be known before the counts, so counts are text.
    """
    count = pa.array([digits(each) for each in ends.counts], pa.string())
    return pa.table(
        {**_head(ends, matches, keys), "count": count, "events": _events(ends, matches)}
    )


def _head(ends: CollapsedForm, matches: MatchBatch, keys: Sequence[str]) -> dict[str, pa.Array]:
    """The columns `ts_start` (if rows have first events), `ts_end` and `key`."""
    columns = {} if ends.firsts is None else {"ts_start": _times(ends.firsts, matches)}
    columns["ts_end"] = _times(ends.positions, matches, is_end=True)
    if keys:
        first = matches.shape.components[0]  # treated as admitting events of every type
        last = BoundComponent(first.index, first.variable, first.named, None)
        values = [matches.attribute(last, name, ends.positions) for name in keys]
        columns["key"] = pa.StructArray.from_arrays(
            [value.combine_chunks() for value in values], list(keys)
        )
    return columns


def _events(ends: CollapsedForm, matches: MatchBatch) -> pa.StructArray:
    """The events by component."""
    events = [
        _list(each, matches.events_of(component, each.positions))
        for each, component in zip(ends.lists, matches.shape.components, strict=True)
    ]
    return pa.StructArray.from_arrays(events, matches.names)


def count_column(counts: Sequence[int]) -> pa.Array:
    """Counts as int64, or as text if one is too large."""
    if max(counts, default=0) <= LARGEST:
        return pa.array(counts, pa.int64())
    return pa.array([digits(each) for each in counts], pa.string())


def _times(positions: Numbers, matches: MatchBatch, *, is_end: bool = False) -> pa.Array:
    """The times of events; with imprecise time that of an end is the latest."""
    schema, history = matches.shape.schema, matches.history
    given = history.type_of(schema.time, None)
    is_latest = is_end and schema.is_imprecise
    times = history.latest(positions) if is_latest else history.times(positions)
    return time_array(times, schema.time_type, given)


def _list(lists: EventLists, values: pa.Array) -> pa.Array:
    return pa.ListArray.from_arrays(lists.offsets, values)
