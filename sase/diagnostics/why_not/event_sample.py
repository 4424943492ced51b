"""Read the events for an explanation: restricted, with the rows that they come from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from sase.binding import BoundQuery
from sase.binding.binder import EVENT
from sase.binding.bound import Condition, WindowKind
from sase.diagnostics.attributes import Attributes, of_types, types_of
from sase.engine.blocks.builder import loader_of
from sase.engine.blocks.dictionary import PlanDictionary, TypeDictionary
from sase.engine.columns import Events
from sase.engine.columns.arrow.input import FilePart, Input, Inputs
from sase.engine.expressions import columns_needed
from sase.engine.results.row_history import HistorySegment, RowHistory
from sase.engine.sources import MOST_HELD, Files
from sase.engine.sources.salvage import salvaged
from sase.engine.statistics.sampling import compacted
from sase.errors import DataError
from sase.lang.ast import StrategyName
from sase.planning.engine_plan import EnginePlan

# Strategies under which events of all types matter.
CONTIGUOUS = (StrategyName.STRICT_CONTIGUITY, StrategyName.PARTITION_CONTIGUITY)


@dataclass(frozen=True, eq=False)
class EventSample:
    """The events that satisfy the restrictions: of the query's types, or all if positions count.

    `types` are all types with counts. `is_whole` is false if there were too many rows.
    """

    events: Events
    history: RowHistory
    types: tuple[tuple[str, int], ...]
    rows: int
    is_whole: bool

    @property
    def count(self) -> int:
        """The number of events of all types."""
        return sum(count for _, count in self.types)


def sample_events(
    plan: EnginePlan,
    query: BoundQuery,
    given: Inputs | Files,
    restrictions: Sequence[Condition],
) -> EventSample:
    """Read the events that satisfy the restrictions and that the query can use."""
    names = tuple(name for _, name in columns_needed(restrictions))
    read, is_whole = _read(plan, given, names) if isinstance(given, Files) else (given, True)
    coding = PlanDictionary(TypeDictionary(plan.schema))
    loader = loader_of(plan, coding, plan.on_bad_row, names)
    inputs = loader.proved(loader.opened(read).drained())
    events = loader.load(inputs)
    if restrictions:
        attributes = Attributes(events, plan.schema, query.components)
        at = np.arange(len(events))
        for condition in restrictions:
            at = at[attributes.truth(condition, EVENT, at)]
        events = events.at(at)
    counts = np.bincount(events.types + 1, minlength=len(events.type_names) + 1).tolist()
    types = tuple(zip(events.type_names, counts[1:], strict=True))
    kept = _of_query(events, query)
    # Drop unused strings from dictionaries, since each search scans all.
    columns = {name: compacted(column) for name, column in kept.columns.items()}
    kept = replace(kept, columns=columns)
    history = RowHistory((HistorySegment.of(0, inputs, kept, inputs.numbers),))
    return EventSample(kept, history, types, inputs.num_rows, is_whole)


def _of_query(events: Events, query: BoundQuery) -> Events:
    """The events of the query's types; all if a component admits any type, or positions count."""
    window = query.window
    is_counted = window is not None and window.kind is not WindowKind.TIME
    types = types_of(query.every)
    if is_counted or types is None or query.strategy in CONTIGUOUS:
        return events
    return events.at(of_types(events, types))


def _read(plan: EnginePlan, files: Files, names: Sequence[str]) -> tuple[Any, bool]:
    """Read the named columns, up to the memory limit; return also whether all rows were read."""
    named_columns = plan.named.union(names)
    columns = [name for name in files.schema.names if name in named_columns]
    if files.weight(columns) <= MOST_HELD:
        try:
            table, parts = files.table(columns, named_columns)
        except DataError as problem:
            if problem.row is None or plan.on_bad_row == "error" or not files.is_text:
                raise
            return salvaged(files, plan.schema.time, named_columns), True
        return Inputs((Input(table, files=parts),)), True
    tables, found, size, rows = [files.empty(columns, named_columns)], list[FilePart](), 0, 0
    for part, table in files.batches(columns, named_columns):
        tables.append(table)
        found.append(part._replace(number=rows))
        size, rows = size + table.nbytes, rows + table.num_rows
        if size > MOST_HELD:
            break
    return Inputs((Input(pa.concat_tables(tables), files=tuple(found)),)), size <= MOST_HELD
