"""Load an input into `Events`: the columns that a query reads, in stream order."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from sase.base.paths import columns_of
from sase.binding import Schema
from sase.binding.types import INTEGER, RESOLUTIONS, UNKNOWN, DataType, Kind, merged
from sase.engine.columns.arrays import Numbers
from sase.engine.columns.arrow.gate import Gate
from sase.engine.columns.arrow.input import Input, Inputs, opened
from sase.engine.columns.decode.batch_decoder import BatchDecoder
from sase.engine.columns.decode.coercion import coerced_to_load
from sase.engine.columns.decode.numbers import number_column, wanted_numbers
from sase.engine.columns.decode.projection import Projection, WantedRows, project
from sase.engine.columns.decode.resolve import ColumnTypes, Resolved, resolve
from sase.engine.columns.decode.strings import Dictionaries, string_column
from sase.engine.columns.decode.time_column import read_times, read_until
from sase.engine.columns.decode.type_codes import (
    Typed,
    no_types,
    one_type,
    types_by_column,
    types_by_table,
)
from sase.engine.columns.events import Classify, EventColumn, Events, Refused
from sase.engine.columns.order import looked_at, order_among, stream_order
from sase.engine.resources import Check, no_check
from sase.engine.snapshots.saved_state import Saved
from sase.errors import SchemaError

# From this number of rows on, those of types that do not count are not sorted.
MANY = 1 << 16
# The most digits of Arrow's decimals.
MOST_DIGITS = 76
NO_SEQ = "every event needs one beside its time; fill it in, or leave the row out"


class Loader:
    """Loads one input after another; resolves equal columns and unifies dictionaries only once.

    `made` is a cache of resolved columns that loaders for the same plan share. The `opener` makes
    tables of events of any kind.
    """

    def __init__(
        self,
        schema: Schema,
        columns: Iterable[str],
        *,
        classify: Classify | None = None,
        on_bad_row: str = "error",
        check: Callable[[ColumnTypes, DataType], object] = lambda known, time: None,
        made: dict[Hashable, Any] | None = None,
        opener: Callable[..., Inputs] = opened,
        between: Check = no_check,
    ) -> None:
        if schema.definitions and classify is None:
            raise ValueError("conditions define the types of events: loading needs `classify`")
        self.schema, self._opener, self._between = schema, opener, between
        self.names = tuple(dict.fromkeys(columns))
        read = (*self.names, *schema.roles)
        self._read = columns_of(read, schema.names).union(read)
        self.gate = Gate()
        self.quarantines = on_bad_row == "quarantine"
        self._classify = classify if schema.definitions else None
        # A cache of resolved columns, shared by loaders for one plan.
        self._made: dict[Hashable, Any] = {} if made is None else made
        self._resolved: tuple[list[object], Resolved] | None = None
        # The types of the columns of all inputs, and a further check of them.
        self._check = check
        self.known: ColumnTypes = {}
        # `known` of another loader when it was adopted.
        self._adopted: ColumnTypes | None = None
        # The type of time as given; `known` has microseconds in place of float seconds.
        self.time: DataType = schema.time_type
        self.decoder: BatchDecoder | None = None
        self._dictionaries: dict[object, Dictionaries] = defaultdict(Dictionaries)

    def opened(self, events: object) -> Inputs:
        """Open events, and prove the columns that are read.

        If bad rows go into quarantine, columns of dicts are coerced.
        """
        if not self.quarantines:
            if isinstance(events, Inputs):
                return self.proved(events)
            known = None if self.decoder is None else self.decoder.opened(events, self.gate)
            return known or self.proved(self._opener(events))
        inputs = self._opener(events, keeps_rows=True)
        return self.proved(coerced_to_load(inputs, self.schema, self.names))

    def decoded(self, events: object) -> tuple[Inputs, Events] | None:
        """Open and load a batch like the last one without bad rows; None for others."""
        if self.decoder is None or self.quarantines:
            return None
        return self.decoder.decoded(events, self.gate)

    def proved(self, inputs: Inputs) -> Inputs:
        """Prove the columns that are read; those of readers once they are drained."""
        return inputs.proved(self._read, self.gate, is_decoded=True)

    def checkpoint(self) -> list[Any]:
        """Return the types of columns and time as plain values."""
        found = [*self.known.items(), ((None, self.schema.time), self.time)]
        return [
            [type_name, name, each.kind.value, each.resolution, each.scale]
            for (type_name, name), each in found
        ]

    def restore(self, saved: Saved) -> None:
        """Restore the types of columns and time from a checkpoint."""
        found = [self._restored_type(part) for part in saved.parts()]
        saved.check(bool(found), "the type of time is not there")
        *columns, (_, self.time) = found
        self.known = {}
        try:
            self._check_types(dict(columns), self.time)
        except SchemaError as problem:
            raise saved.refuse(str(problem)) from problem
        self.known = dict(columns)

    @staticmethod
    def _restored_type(saved: Saved) -> tuple[tuple[str | None, str], DataType]:
        type_name, name, kind, resolution, scale = saved.parts(5)
        kinds = {each.value: each for each in Kind}
        kind.check(kind.text() in kinds, "there is no such kind")
        unit = None if resolution.is_none else resolution.text()
        resolution.check(unit is None or unit in RESOLUTIONS, "there is no such resolution")
        digits = None if scale.is_none else scale.number(-MOST_DIGITS, MOST_DIGITS)
        known = DataType(kinds[kind.text()], unit, digits)
        return (None if type_name.is_none else type_name.text(), name.text()), known

    def adopt(self, other: Loader) -> None:
        """Take over the types that another loader of the same events has learned."""
        if other.known is not self._adopted:
            found = {key: each for key, each in other.known.items() if key[1] in self._read}
            if not found.items() <= self.known.items():
                self._check_types(found, other.time)
                self.known = self.known | found
            self._adopted = other.known
        self.time = other.time

    def load(self, events: object, threads: int = 1) -> Events:
        """Open and load the events of an input."""
        return self.load_opened(self.opened(events), threads)

    def load_opened(
        self, inputs: Inputs, threads: int = 1, only: frozenset[str] | None = None
    ) -> Events:
        """Load the events of an opened input, with the decoder for its schema if there is one.

        If `only` some types count, events of others may be left out, or have any values.
        """
        table = inputs.tables[0] if len(inputs.tables) == 1 and not inputs.typed else None
        if table is not None and self.decoder is not None and self.decoder.fits(table):
            found = self.decoder.load(table.source)
            return self._load(inputs, threads, only) if found is None else found
        loaded = self._load(inputs, threads, only)
        self.decoder = None if table is None else self._decoder_for(table)
        return loaded

    def _decoder_for(self, table: Input) -> BatchDecoder | None:
        """Return a decoder for more batches like this one, or None."""
        schema = self.schema
        if not isinstance(table.source, pa.RecordBatch) or table.unreadable or table.misfits:
            return None
        if schema.definitions or schema.seq or schema.type is None or table.is_open:
            return None
        if schema.is_imprecise:
            return None
        assert self._resolved is not None
        return BatchDecoder.of(
            table,
            self._resolved[1],
            (schema.time, schema.type),
            self._dictionaries,
            with_time=schema.time in self.names,
        )

    def _load(self, inputs: Inputs, threads: int, only: frozenset[str] | None) -> Events:
        resolved = self._resolve(inputs)
        reading = project(inputs, resolved.indexes)
        reading.note_misfits(self._read)
        ts = read_times(reading, self.schema.time, resolved.time)
        until = read_until(reading, self.schema, resolved.time, ts)
        with looked_at(ts, threads) as is_rising:
            types, type_names = self._types(reading)
            seq = self._sequence(reading)
            wanted = WantedRows(types, type_names, only)
            columns = self._columns(reading, resolved, ts, until, threads, wanted)
            refused = self._judged(reading) if reading.faults else None
            rank = seq if until is None else until  # order by (earliest, latest, row)
            if refused is not None:
                order, tie = order_among(refused.others(len(ts)), ts, rank, self._between)
            elif is_rising():
                order = tie = None
            elif len(ts) < MANY:
                order, tie = stream_order(ts, rank, self._between)
            else:
                order, tie = stream_order(ts, rank, self._between, lambda: wanted.rows)
        left_out = len(ts) - len(order) if order is not None and refused is None else 0
        # The sort is stable: of simultaneous events the earlier row is first.
        tie = None if self.schema.is_ordered_by_row or self.schema.is_imprecise else tie
        loaded = Events(
            ts, resolved.resolution_ns, types, type_names, *columns, tie=tie, refused=refused,
            until=until, left_out=left_out,
        )  # fmt: skip
        if order is not None:
            loaded = loaded.in_order(order, self._between)
        if self._classify is not None:
            types, type_names = self._classify(loaded)
            loaded = replace(loaded, types=types, type_names=type_names)
        known, found = self.known, self._found(resolved)
        if not found.items() <= known.items():
            before = {key: merged([known[key], found[key]]) for key in found.keys() & known}
            self.known = known | found | before
        self.time = self.time if resolved.time == UNKNOWN else resolved.time
        return loaded

    def _resolve(self, inputs: Inputs) -> Resolved:
        """Resolve the columns of an input, or reuse the result for equal columns."""
        key = inputs.columns
        if self._resolved is None or self._resolved[0] != key:
            before = self._made.get((Loader, self.names))
            if before is None or before[0] != key:
                before = key, resolve(inputs, self.schema, self.names)
                self._made[Loader, self.names] = before
            self._check_types(self._found(before[1]), before[1].time)
            self._resolved = before
        return self._resolved[1]

    def _check_types(self, found: ColumnTypes, time: DataType) -> None:
        """Refuse columns of a type that is not comparable with that of earlier inputs."""
        for (type_name, name), data_type in found.items():
            for (other, same), before in self.known.items():
                is_same = same == name and (None in (type_name, other) or type_name == other)
                if is_same and not before.compares_with(data_type):
                    raise SchemaError(
                        f"`{name}` is {data_type.described()} here, and the events before had it as"
                        f" {before.described()}: cast the column"
                    )
        self._check(self.known | found, time)

    def _found(self, resolved: Resolved) -> ColumnTypes:
        time = _condition_type(resolved.time)
        return {(None, name): time for name in self.schema.times} | resolved.known

    def _judged(self, reading: Projection) -> Refused:
        """Return the bad rows; without quarantine raise the error for the first."""
        schema = self.schema
        columns = list(dict.fromkeys([*schema.roles, *self.names, *sorted(self._read)]))
        if not self.quarantines:
            raise reading.faults.error(columns, reading.origin)
        return reading.faults.refused(columns, sum(reading.counts))

    def _types(self, reading: Projection) -> Typed:
        """Return the type codes of all rows: by column, by table, by definition, or one for all."""
        schema = self.schema
        if schema.definitions:
            return no_types(sum(reading.counts))
        if reading.inputs.typed:
            return types_by_table(reading)
        if schema.type is not None:
            known = self._dictionaries["type", schema.type]
            return types_by_column(reading, schema.type, known, may_lack=schema.is_merged)
        if schema.type_names is not None and len(schema.type_names) == 1:
            return one_type(sum(reading.counts), schema.type_names[0])
        raise SchemaError(
            "the events have no type: name the column with  type=…  , or the one type that all have"
            ' with  type=None, types=["Name"]'
        )

    def _sequence(self, reading: Projection) -> Numbers | None:
        name = self.schema.seq_column
        if name is None:
            return None
        column = number_column(name, reading.column(name), INTEGER, reading.faults)
        if column.valid is not None:
            reading.faults.refuse(name, np.flatnonzero(~column.valid), NO_SEQ)
        return column.values

    def _columns(
        self, reading: Projection, resolved: Resolved, ts: Numbers, until: Numbers | None,
        threads: int, wanted: WantedRows,
    ) -> tuple[dict[str, EventColumn], dict[tuple[str, str], EventColumn]]:  # fmt: skip
        """Decode the columns: by name, and by (type, name) where tables differ in kind.

        Of many values that must be copied only those in `wanted` rows are.
        """
        columns: dict[str, EventColumn] = {}
        by_type: dict[tuple[str, str], EventColumn] = {}
        for each in resolved.columns:
            pieces = reading.column(each.name, each.within)
            if each.type.kind is Kind.STRING:
                column = string_column(pieces, self._dictionaries[each], threads, wanted)
            else:
                column = wanted_numbers(each.name, pieces, each.type, reading.faults, wanted)
            if each.type_names:
                by_type |= dict.fromkeys(((t, each.name) for t in each.type_names), column)
            else:
                columns[each.name] = column
        for name, times in ((self.schema.time, ts), (self.schema.until, until)):
            if name in self.names and times is not None:
                columns[name] = EventColumn(_condition_type(resolved.time), times)
        return columns, by_type


def _condition_type(time: DataType) -> DataType:
    """The type of times in conditions: integer microseconds for float seconds."""
    return INTEGER if time.kind is Kind.FLOAT else time
