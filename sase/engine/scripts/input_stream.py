"""An input of a script: brings its rows into order once for all statements that read it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from sase.binding import EventType, Schema
from sase.engine.columns import Inputs, Loader, opened
from sase.engine.columns.arrays import Numbers
from sase.engine.columns.quarantine import Quarantine, joined
from sase.engine.columns.slice import taken
from sase.engine.columns.timestamps import raw_moment
from sase.engine.pipeline.reorder_buffer import Arrived, ReorderBuffer
from sase.engine.pipeline.stream_state import END
from sase.engine.report import Report
from sase.engine.scripts.pieces import Fed, Piece
from sase.engine.scripts.plan import InputPlan, loader_of_types
from sase.engine.snapshots.layout import Count, Declared, Own
from sase.engine.snapshots.saved_state import Saved


class InputStream(Declared):
    """Sets rows aside that are late, or bad by their time, and holds back those that have to wait.

    Of an input that is no stream all rows come at once: who reads them sorts them.
    """

    layout = dict(loader=Own(path="_good"), reorder=Own(path="buffer"), bad=Count(path=None))

    def __init__(self, plan: InputPlan, *, streaming: bool) -> None:
        self.plan, self.streaming = plan, streaming
        schema = _roles_of(plan.schema, with_types=plan.on_bad_row == "quarantine")
        typed = schema if plan.typing is None else plan.schema
        self._loader = loader_of_types(typed, plan.typing, plan.on_bad_row)
        self._good = Loader(schema, schema.roles)
        self.buffer = ReorderBuffer(plan.lateness, schema, self._good.load)
        self.quarantine = Quarantine() if plan.on_bad_row == "quarantine" else None
        self._bad: list[pa.Table] = []

    def push(self, batch: object, numbers: Numbers | None = None) -> Fed:
        """The rows that need not wait any more, of a batch and of those before.

        They may have numbers, where they do not come as in the input.
        """
        inputs = self._opened(batch)
        count = inputs.num_rows
        if self.quarantine is not None:
            inputs, numbers = self._without_bad(inputs, numbers)
        if not self.streaming:
            self.buffer.arrived += count
            rows = inputs.numbers if numbers is None else numbers
            return Fed((Piece(inputs, rows),), END)
        events = self._good.load(inputs)
        return self._fed(self.buffer.push(inputs, events, count, numbers))

    def _opened(self, batch: object) -> Inputs:
        """A batch whose columns are still to be coerced, since each statement names its own."""
        keeps_rows = self.quarantine is not None
        return self._good.proved(opened(batch, keeps_rows=keeps_rows).drained())

    def _without_bad(
        self, inputs: Inputs, numbers: Numbers | None
    ) -> tuple[Inputs, Numbers | None]:
        """The rows that are good, with their numbers where some are not."""
        assert self.quarantine is not None
        read = self._loader.opened(inputs)
        events, first, count = self._loader.load(read), self.buffer.arrived, inputs.num_rows
        rows = np.arange(first, first + count) if numbers is None else numbers
        self.quarantine.take(read, events.refused, rows)
        _, bad, table = self.quarantine.news()
        if bad or not self._bad:
            self._bad.append(table)
        if events.refused is None:
            return inputs, numbers
        # What good rows have is of one type; of other columns the values are still as they came.
        kept = zip(read.tables, inputs.tables, strict=True)
        tables = tuple(replace(new, rows=old.rows, misfits=old.misfits) for new, old in kept)
        good = events.refused.others(count)
        return taken(replace(inputs, tables=tables), good), rows[good]

    def advance(self, to: object) -> Fed:
        """The rows that wait for a time, before which no row is to come."""
        moment = raw_moment(to, self._loader.time, self.plan.schema.time)
        return self._fed(self.buffer.advance(min(moment, END - 1)))

    def finish(self) -> Fed:
        """All rows that wait, since no more are to come."""
        return self._fed(self.buffer.finish())._replace(floor=END)

    def bad_rows(self) -> Any:
        """The table of the rows that were bad since the last call of `take_bad`."""
        return joined(self._bad) if self._bad else None

    def take_bad(self) -> Any:
        """The table of the rows that were bad since the last call; None if there is none."""
        table, self._bad = self.bad_rows(), []
        return table

    def report(self) -> Report:
        """How many rows arrived, and how many of them were late or bad."""
        bad = 0 if self.quarantine is None else self.quarantine.total
        return Report(rows=self.buffer.arrived, bad=bad, late=self.buffer.late.count)

    def _encoded(self) -> dict[str, Any]:
        return {"bad": 0 if self.quarantine is None else self.quarantine.total}

    def _take(self, saved: Saved, values: Any) -> None:
        self._loader.restore(saved.part("loader"))
        if self.quarantine is not None:
            self.quarantine.total = values.bad

    def _fed(self, arrived: Iterable[Arrived]) -> Fed:
        pieces = tuple(Piece(each.inputs, _numbers(each)) for each in arrived)
        return Fed(pieces, self.buffer.floor)


def _numbers(arrived: Arrived) -> Numbers:
    if arrived.rows is not None:
        return arrived.rows
    return np.arange(arrived.first, arrived.first + arrived.inputs.num_rows)


def _roles_of(schema: Schema, *, with_types: bool) -> Schema:
    """The schema of an input of which only the order counts, and what makes any row bad."""
    times = tuple((name, schema.time_type) for name in schema.times)
    with_types = with_types and schema.type is not None and not schema.definitions
    return Schema(
        types=None if with_types else (EventType("", times),),
        columns=times if with_types else None,
        time=schema.time,
        until=schema.until,
        type=schema.type if with_types else None,
        seq=schema.seq,
        time_unit=schema.time_unit,
        longest=schema.longest,
    )
