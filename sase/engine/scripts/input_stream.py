"""An input of a script: brings its rows into order once for all statements that read it."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from sase.binding import EventType, Schema
from sase.engine.columns import Loader
from sase.engine.columns.arrays import Numbers
from sase.engine.columns.quarantine import Quarantine
from sase.engine.columns.slice import taken
from sase.engine.columns.timestamps import raw_moment
from sase.engine.pipeline.reorder_buffer import Arrived, ReorderBuffer
from sase.engine.pipeline.stream_state import END
from sase.engine.scripts.pieces import Fed, Piece
from sase.engine.scripts.plan import InputPlan


class InputStream:
    """Sets rows aside that are late, or bad by their time, and holds back those that have to wait.

    Of an input that is no stream all rows are there at once: who reads them sorts them.
    """

    def __init__(self, plan: InputPlan, *, streaming: bool) -> None:
        self.plan, self.streaming = plan, streaming
        schema = _times_of(plan.schema)
        self._loader = Loader(schema, schema.roles, on_bad_row=plan.on_bad_row)
        self._good = Loader(schema, schema.roles)
        self.buffer = ReorderBuffer(plan.lateness, schema, self._good.load)
        self.quarantine = Quarantine() if plan.on_bad_row == "quarantine" else None

    def push(self, batch: object) -> Fed:
        """The rows that need not wait any more, of a batch and of those before."""
        inputs = self._loader.proved(self._loader.opened(batch).drained())
        if not self.streaming:
            first = self.buffer.arrived
            self.buffer.arrived += inputs.num_rows
            rows = np.arange(first, first + inputs.num_rows) if first else inputs.numbers
            return Fed((Piece(inputs, rows),), self.buffer.floor)
        count, rows = inputs.num_rows, None
        events = self._loader.load(inputs)
        if self.quarantine is not None:
            numbers = np.arange(self.buffer.arrived, self.buffer.arrived + count)
            self.quarantine.take(inputs, events.refused, numbers)
            if events.refused is not None:
                good = events.refused.others(count)
                inputs, rows = taken(inputs, good), numbers[good]
                events = self._good.load(inputs)
        return self._fed(self.buffer.push(inputs, events, count, rows))

    def advance(self, to: object) -> Fed:
        """The rows that wait for a time, before which no row is to come."""
        moment = raw_moment(to, self._loader.time, self.plan.schema.time)
        return self._fed(self.buffer.advance(min(moment, END - 1)))

    def finish(self) -> Fed:
        """All rows that wait, since no more are to come."""
        return self._fed(self.buffer.finish())._replace(floor=END)

    def _fed(self, arrived: Iterable[Arrived]) -> Fed:
        pieces = tuple(Piece(each.inputs, _numbers(each)) for each in arrived)
        return Fed(pieces, self.buffer.floor)


def _numbers(arrived: Arrived) -> Numbers:
    if arrived.rows is not None:
        return arrived.rows
    return np.arange(arrived.first, arrived.first + arrived.inputs.num_rows)


def _times_of(schema: Schema) -> Schema:
    """The schema of an input of which only the order counts."""
    times = tuple((name, schema.time_type) for name in schema.times)
    return Schema(
        types=(EventType("", times),),
        time=schema.time,
        until=schema.until,
        type=None,
        seq=schema.seq,
        time_unit=schema.time_unit,
    )
