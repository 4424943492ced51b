"""Inputs of a script: ordered, decoded and read once for all statements over them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from sase.binding import EventType, Schema
from sase.binding.types import UNKNOWN
from sase.cached_property import cached_property
from sase.engine.blocks.builder import loader_of
from sase.engine.blocks.dictionary import PlanDictionary, TypeDictionary
from sase.engine.columns import Events, Inputs, Loader, opened
from sase.engine.columns.arrays import Numbers
from sase.engine.columns.arrow.slice import taken
from sase.engine.columns.decode.quarantine import Quarantine, joined
from sase.engine.columns.decode.time_column import time_type
from sase.engine.columns.decode.timestamps import raw_moment
from sase.engine.pipeline.reorder_buffer import Arrived, ReorderBuffer
from sase.engine.pipeline.shared_rows import SharedRows
from sase.engine.pipeline.stream_state import END
from sase.engine.pipeline.warnings import RunWarnings
from sase.engine.report import Report
from sase.engine.scripts.admission import AdmissionIndex, AdmittedPart
from sase.engine.scripts.asking import Asking
from sase.engine.scripts.plan import InputPlan, loader_of_types
from sase.engine.scripts.rows import Fed, Piece
from sase.engine.scripts.semi_join import KeyedSequence
from sase.engine.snapshots.layout import Count, Declared, Own
from sase.engine.snapshots.saved_state import Saved
from sase.planning.engine_plan import EnginePlan

# ---------------------------------------------------------------- input stream


class InputStream(Declared):
    """Sets late rows and rows with a bad time aside, and holds back rows that have to wait.

    If an input is not a stream, all rows come at once, and their reader sorts them.
    """

    layout = dict(
        loader=Own(path="_good"), reorder=Own(path="reorder_buffer"), bad=Count(path=None)
    )

    def __init__(self, plan: InputPlan, *, streaming: bool) -> None:
        self.plan, self.streaming = plan, streaming
        schema = _roles_of(plan.schema, with_types=plan.on_bad_row == "quarantine")
        typed = schema if plan.typing is None else plan.schema
        self._loader = loader_of_types(typed, plan.typing, plan.on_bad_row)
        self._good = Loader(schema, schema.roles)
        self.reorder_buffer = ReorderBuffer(plan.lateness, schema, self._good.load)
        self.quarantine = Quarantine() if plan.on_bad_row == "quarantine" else None
        self._bad: list[pa.Table] = []

    def push(self, batch: object, numbers: Numbers | None = None) -> Fed:
        """Release the rows of a batch and of those before that need not wait any more.

        They have `numbers` if these are not consecutive.
        """
        inputs = self._opened(batch)
        count = inputs.num_rows
        if self.quarantine is not None:
            inputs, numbers = self._without_bad(inputs, numbers)
        if not self.streaming:
            self.reorder_buffer.arrived += count
            rows = inputs.numbers if numbers is None else numbers
            return Fed((Piece(inputs, rows),), END)
        events = self._good.load(inputs)
        return self._fed(self.reorder_buffer.push(inputs, events, count, numbers))

    def _opened(self, batch: object) -> Inputs:
        """Open a batch without converting columns, since each statement names its own."""
        keeps_rows = self.quarantine is not None
        return self._good.proved(opened(batch, keeps_rows=keeps_rows).drained())

    def _without_bad(
        self, inputs: Inputs, numbers: Numbers | None
    ) -> tuple[Inputs, Numbers | None]:
        """The good rows, with their numbers if some rows are bad."""
        assert self.quarantine is not None
        read = self._loader.opened(inputs)
        events, first, count = self._loader.load(read), self.reorder_buffer.arrived, inputs.num_rows
        rows = np.arange(first, first + count) if numbers is None else numbers
        self.quarantine.take(read, events.refused, rows)
        _, bad, table = self.quarantine.news()
        if bad or not self._bad:
            self._bad.append(table)
        if events.refused is None:
            return inputs, numbers
        # Good rows have one type in the columns read here; other columns have their values as
        # given.
        kept = zip(read.tables, inputs.tables, strict=True)
        tables = tuple(replace(new, rows=old.rows, misfits=old.misfits) for new, old in kept)
        good = events.refused.others(count)
        return taken(replace(inputs, tables=tables), good), rows[good]

    def advance(self, to: object) -> Fed:
        """Release the rows that wait for a time; no row before it will come."""
        moment = raw_moment(to, self._loader.time, self.plan.schema.time)
        return self._fed(self.reorder_buffer.advance(min(moment, END - 1)))

    def finish(self) -> Fed:
        """Release all waiting rows, since no more will come."""
        return self._fed(self.reorder_buffer.finish())._replace(floor=END)

    def bad_rows(self) -> Any:
        """The table of the rows that were bad since the last call of `take_bad`."""
        return joined(self._bad) if self._bad else None

    def take_bad(self) -> Any:
        """The table of the rows that were bad since the last call; None if there is none."""
        table, self._bad = self.bad_rows(), []
        return table

    def report(self) -> Report:
        """The counts of rows, and of late and bad rows."""
        bad = 0 if self.quarantine is None else self.quarantine.total
        return Report(
            rows=self.reorder_buffer.arrived, bad=bad, late=self.reorder_buffer.late.count
        )

    def _encoded(self) -> dict[str, Any]:
        return {"bad": 0 if self.quarantine is None else self.quarantine.total}

    def _take(self, saved: Saved, values: Any) -> None:
        self._loader.restore(saved.part("loader"))
        if self.quarantine is not None:
            self.quarantine.total = values.bad

    def _fed(self, arrived: Iterable[Arrived]) -> Fed:
        pieces = tuple(Piece(each.inputs, _numbers(each)) for each in arrived)
        return Fed(pieces, self.reorder_buffer.floor)


def _numbers(arrived: Arrived) -> Numbers:
    if arrived.rows is not None:
        return arrived.rows
    return np.arange(arrived.first, arrived.first + arrived.inputs.num_rows)


def _roles_of(schema: Schema, *, with_types: bool) -> Schema:
    """The schema of an input with only the columns of order, which can make a row bad for all."""
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


# ---------------------------------------------------------------- shared reading

# Rows that pass through all plans before the next rows do: the dealt parts stay small.
STRETCH = 1 << 20


@dataclass(frozen=True, eq=False)
class Dealt:
    """Events of an input, and the part that each statement gets."""

    events: tuple[Events, ...]
    parts: dict[str, list[SharedRows]]

    def note_types(self, warnings: RunWarnings) -> None:
        """Note the types that occur, also in events that a statement does not get."""
        for each in self.events:
            if warnings.unseen:
                warnings.note_types(each, slice(None))

    def __len__(self) -> int:
        return sum(map(len, self.events))


class SharedReading:
    """Loads the rows of an input for the plans of some statements, and deals them out."""

    def __init__(
        self, plans_by_name: Mapping[str, EnginePlan], asking: Mapping[str, Asking]
    ) -> None:
        self._names, plans = tuple(plans_by_name), tuple(plans_by_name.values())
        sequences = [*map(KeyedSequence.of, plans)]
        self._plans = plans
        self.index = AdmissionIndex([asking[name] for name in self._names], sequences)
        names = dict.fromkeys(name for plan in plans for name in plan.attributes)
        first = plans[0]
        coding = PlanDictionary(TypeDictionary(first.schema, first.positives), streaming=True)
        self._loader = loader_of(first, coding, first.on_bad_row, tuple(names))
        # The number of events, and the number that each statement got.
        self.events, self.given = 0, dict.fromkeys(self._names, 0)
        # Statements without any rows so far, which do not have the columns of events yet.
        self._without_columns = set(self._names)

    def stretches(self, pieces: Sequence[Piece]) -> list[RowRange] | None:
        """The rows of pieces in stretches of limited size; None if bad rows are among them.

        Each plan decides which rows are bad, by the columns that it names.
        """
        found = list[RowRange]()
        for piece in pieces:
            inputs = self._loader.proved(self._loader.opened(piece.inputs).drained())
            self._check_known(inputs)
            events = self._loader.load(inputs)
            if events.refused is not None:
                return None
            for begin in range(0, max(len(events), 1), STRETCH):
                part = _stretch(events, begin, min(begin + STRETCH, len(events)))
                found.append(RowRange(self._loader, inputs, part, begin, piece.rows))
        return found

    def _check_known(self, inputs: Inputs) -> None:
        """Refuse a kind of tables or times that a plan was not compiled for."""
        if all(table.is_open for table in inputs.tables):
            return
        for plan in self._plans:
            has_times = plan.lacks_unit and time_type(inputs, plan.schema.time) != UNKNOWN
            plan.check_known(has_tables=inputs.typed, has_times=has_times)

    def dealt(self, stretches: Sequence[RowRange]) -> Dealt:
        """The part of some stretches that concerns each statement."""
        parts: dict[str, list[SharedRows]] = {name: [] for name in self._names}
        for stretch in stretches:
            self.events += len(stretch.events)
            dealt = zip(parts.items(), self.index.parts(stretch.events), strict=True)
            for (name, own), part in dealt:
                self.given[name] += len(stretch.events if part is None else part.places)
                if part is None:
                    own.append(stretch.whole)
                elif len(part.places) or name in self._without_columns:
                    own.append(stretch.part(part))
                self._without_columns.discard(name)
        return Dealt(tuple(each.events for each in stretches), parts)


def _stretch(events: Events, begin: int, end: int) -> Events:
    """Slice events; their order keys are ranked from 0 on."""
    part = events.between(begin, end)
    return part if part.tie is None else replace(part, tie=part.tie - part.tie[:1])


class _TakenRows:
    """Some rows of an input and their events, taken out when they are first shown."""

    __slots__ = ("_events", "_found", "_inputs", "_rows")

    def __init__(self, inputs: Inputs, rows: Numbers, events: Events) -> None:
        self._inputs, self._rows, self._events = inputs, rows, events
        self._found: tuple[Inputs, Events] | None = None

    def __call__(self) -> tuple[Inputs, Events]:
        if self._found is None:
            self._found = taken(self._inputs, self._rows), self._events
        return self._found


@dataclass(frozen=True, eq=False)
class RowRange:
    """A range of the events of an input, with their rows."""

    loader: Loader
    inputs: Inputs
    events: Events
    begin: int
    numbers: Numbers | None

    @cached_property
    def whole(self) -> SharedRows:
        """All of them, made once for all plans that get all events."""
        places = np.arange(len(self.events))
        part = self.part(AdmittedPart(places, self.events, is_decided=False))
        return replace(part, places=None)

    def _none(self) -> tuple[Inputs, Events]:
        return self._emptied

    @cached_property
    def _emptied(self) -> tuple[Inputs, Events]:
        return self.inputs.emptied(), replace(self.events.between(0, 0), order=None)

    def part(self, part: AdmittedPart) -> SharedRows:
        """Some of them with their rows, which are taken out when shown."""
        places, events = part.places, part.events
        order, numbers = self.events.order, self.numbers
        rows = places + self.begin if order is None else np.sort(order[places])
        if order is not None:
            events = replace(events, order=np.searchsorted(rows, order[places]))

        numbered = rows if numbers is None else numbers[rows]
        sources = _TakenRows(self.inputs, rows, events), self._none
        return SharedRows(
            self.loader, events, numbered, part.is_decided, *sources, self.events, places
        )
