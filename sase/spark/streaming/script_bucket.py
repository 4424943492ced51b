"""Process a bucket of a script in a micro-batch: push rows of its inputs, advance time, save it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa

from sase.engine.results.batch import MatchBatch
from sase.engine.results.matches import Matches
from sase.engine.scripts.checkpoint import script_checkpoint, script_restored
from sase.engine.scripts.pipeline import ScriptPipeline
from sase.engine.scripts.plan import ScriptPlan
from sase.spark.row_layout import SEQ, TIME, from_bytes, packed, to_bytes
from sase.spark.script_task import in_columns, refuse_ties
from sase.spark.streaming.bucket import Ticks, saved_in, state_of


class InputClock(NamedTuple):
    """How an input counts time; its rows may be late by `lateness`, or else by the watermark."""

    name: str | None
    ticks: Ticks
    lateness: int | None


@dataclass(frozen=True)
class ScriptBucket:
    """The search of one of `buckets` for all statements of a plan."""

    plan: ScriptPlan
    statements: tuple[str, ...]
    output: pa.Schema
    clocks: tuple[InputClock, ...]
    buckets: int
    # Why the order of simultaneous events matters, if it does.
    ordering: str = ""

    def open(self, state: bytes | None, watermark: int) -> OpenedScriptBucket:
        """The bucket as a micro-batch finds it, at a watermark in milliseconds."""
        if state is None:
            return OpenedScriptBucket(self, ScriptPipeline(self.plan), watermark, 0)
        timer, snapshot = saved_in(state, self.buckets)
        return OpenedScriptBucket(self, script_restored(self.plan, snapshot), watermark, timer)


class OpenedScriptBucket:
    """A bucket within a micro-batch."""

    def __init__(
        self, bucket: ScriptBucket, pipeline: ScriptPipeline, watermark: int, timer: int
    ) -> None:
        self._bucket, self._pipeline, self._watermark = bucket, pipeline, watermark
        self.timer = timer
        self.rows = self.late = self.found = 0

    def results(self, packed_rows: Sequence[bytes]) -> Iterator[bytes]:
        """Push packed rows, advance to the watermark, and give the results as bytes."""
        for clock in self._bucket.clocks:
            time = clock.ticks.raw(self._watermark)
            if time is not None:
                yield from self._shown(self._pipeline.advance(time, (clock.name,)))
        if not packed_rows:
            return
        table = pa.concat_tables(
            [from_bytes(each) for each in packed_rows], promote_options="default"
        )
        self.rows += table.num_rows
        for number, clock in enumerate(self._bucket.clocks):
            yield from self._pushed(table, number, clock)

    def _pushed(self, table: pa.Table, number: int, clock: InputClock) -> Iterator[bytes]:
        """Push the rows of an input, and let time pass to what none of it is late by."""
        at = table.schema.get_field_index(packed(number))
        own = table if at < 0 else table.filter(table.column(at).is_valid())
        if at < 0 or not len(own):
            return
        if self._bucket.ordering:
            in_order = own.sort_by([(TIME, "ascending"), (SEQ, "ascending")])
            refuse_ties(in_order, self._bucket.ordering)
        events = pa.Table.from_struct_array(own.column(at).combine_chunks())
        yield from self._shown(self._pipeline.push(clock.name, events))
        buffer = self._pipeline.inputs[clock.name].buffer
        late = buffer.late.table()
        self.late += 0 if late is None else late.num_rows
        buffer.late.clear()
        if clock.lateness is not None and buffer.latest is not None:
            to = buffer.latest - clock.lateness
            yield from self._shown(self._pipeline.advance(to, (clock.name,)))

    def state(self) -> bytes:
        """The state that the next micro-batch goes on from; `timer` is when it must be at last."""
        waits = [Ticks.of(schema).milliseconds(raw) for schema, raw in self._pipeline.due()]
        # What is due already waits for the watermark to move at all.
        self.timer = max(min(waits), self._watermark + 1) if waits else 0
        return state_of(script_checkpoint(self._pipeline), self.timer, self._bucket.buckets)

    def _shown(self, found: Mapping[str, Matches]) -> Iterator[bytes]:
        for name, matches in found.items():
            for part in matches.parts:
                assert isinstance(part, MatchBatch)
                if len(part):
                    self.found += len(part)
                    rows = in_columns(self._bucket.output, self._bucket.statements, name, part)
                    yield to_bytes(rows)
