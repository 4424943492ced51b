"""Decode batches of a schema that the loader has resolved before.

Resolving a schema and preparing a log of bad rows takes several times as long as decoding a small
batch. A decoder reuses the resolved schema and needs no log: it declines batches with a bad row,
which `Loader` then loads from scratch. This is a cache of the loader, not a fused path: operators
see the same events, and none is left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sase.binding.types import INTEGER, DataType, Kind
from sase.cached_property import cached_property
from sase.engine.columns.arrays import Numbers, TypeCodes
from sase.engine.columns.arrow.chunks import INTEGERS, Chunk, located
from sase.engine.columns.arrow.data_types import data_type
from sase.engine.columns.arrow.gate import Gate, Proof, identity, is_proved_at_once, is_sound
from sase.engine.columns.arrow.gather import names_of_types
from sase.engine.columns.arrow.input import Input, Inputs, as_batch
from sase.engine.columns.decode.numbers import number_column
from sase.engine.columns.decode.quarantine import Faults
from sase.engine.columns.decode.resolve import Resolved
from sase.engine.columns.decode.strings import (
    Dictionaries,
    Translation,
    codes_of,
    encoded,
    string_column,
)
from sase.engine.columns.decode.type_codes import MOST
from sase.engine.columns.events import EventColumn, Events
from sase.engine.columns.order import stream_order
from sase.errors import DataError

_PLAIN = {*INTEGERS, pa.timestamp("s").id} - {pa.uint64().id}


class _Declined(Exception):
    """The batch has something that only `Loader` can handle."""


class _NoFaults(Faults):
    """A log that declines the batch at its first bad row."""

    def refuse(self, column: str, rows: NDArray[Any], why: str, value: object = None) -> None:
        """Decline the batch if there is a bad row."""
        if len(rows):
            raise _Declined


class SourceColumn(NamedTuple):
    """A column of the schema, its decoded type, and for strings the dictionaries seen.

    It `is_plain` if the stored numbers are the decoded ones, up to their width.
    """

    name: str
    at: int
    type: DataType
    is_plain: bool
    known: Dictionaries | None


class BatchDecoder:
    """Decodes batches of one schema into `Events`."""

    def __init__(
        self,
        schema: pa.Schema,
        resolved: Resolved,
        time: SourceColumn,
        type: SourceColumn,
        *,
        is_sparse: bool,
    ) -> None:
        self.schema, self.resolved, self.is_sparse = schema, resolved, is_sparse
        self.time, self.type = time, type
        self.columns: list[SourceColumn] = []
        self._has_time = False

    @classmethod
    def of(
        cls,
        table: Input,
        resolved: Resolved,
        names: tuple[str, str],
        known: Mapping[object, Dictionaries],
        *,
        with_time: bool,
    ) -> BatchDecoder | None:
        """Return a decoder for batches like `table`, or None if it must be loaded from scratch.

        `names` are the time and type columns.
        """
        schema, indexes = table.source.schema, resolved.indexes[0]
        time = _source(schema, names[0], indexes[names[0]], resolved.time, None)
        dictionaries = known[("type", names[1])]
        kind = _source(schema, names[1], indexes[names[1]], DataType(Kind.STRING), dictionaries)
        if not time.is_plain:
            return None
        decoder = cls(schema, resolved, time, kind, is_sparse=table.is_sparse)
        decoder._has_time = with_time
        for wanted in resolved.columns:
            if wanted.name not in indexes or wanted.within is not None or wanted.type_names:
                return None
            if schema.names[indexes[wanted.name]] != wanted.name:
                return None  # within a nested column
            values = known[wanted] if wanted.type.kind is Kind.STRING else None
            decoder.columns.append(
                _source(schema, wanted.name, indexes[wanted.name], wanted.type, values)
            )
        return decoder

    @cached_property
    def _read(self) -> list[SourceColumn]:
        return [self.time, self.type, *self.columns]

    def accepts(self, batch: object) -> bool:
        """Whether an object is a batch of the decoder's schema."""
        return isinstance(batch, pa.RecordBatch) and batch.schema.equals(self.schema)

    def fits(self, table: Input) -> bool:
        """Whether a table is a batch of the schema without unreadable columns or misfits."""
        return (
            self.accepts(table.source)
            and table.is_sparse == self.is_sparse
            and not (table.type_name or table.unreadable or table.misfits)
        )

    def opened(self, events: object, gate: Gate) -> Inputs | None:
        """Open a batch of the schema, and prove the decoder's columns; None for other events."""
        batch = self._accepted(events)
        if batch is None:
            return None
        self.prove(batch, gate)
        return Inputs((self.input_of(batch),))

    def decoded(self, events: object, gate: Gate) -> tuple[Inputs, Events] | None:
        """Open a batch and load its events; None for other events and for declined batches."""
        batch = self._accepted(events)
        loaded = None if batch is None else self._load(self.prove(batch, gate))
        return None if loaded is None else (Inputs((self.input_of(batch),)), loaded)

    def _accepted(self, events: object) -> pa.RecordBatch | None:
        batch = as_batch(events, self.schema)
        return batch if not self.is_sparse and self.accepts(batch) else None

    def input_of(self, batch: pa.RecordBatch | pa.Table) -> Input:
        """Return a batch as input; the decoder's columns are proved."""
        return Input(batch, unproved=self._unread)

    def prove_unread(self, batches: Sequence[pa.RecordBatch], proof: Proof) -> None:
        """Prove the columns that the decoder does not read, in batches with a `proof` of some."""
        if proof is Proof.WHOLE:
            return
        names = list(self._unread)
        if proof is Proof.READ or not all(is_sound(each.select(names)) for each in batches):
            self.input_of(pa.Table.from_batches(batches)).proved()

    @cached_property
    def _unread(self) -> frozenset[str]:
        return frozenset(self.schema.names) - {column.name for column in self._read}

    def prove(self, batch: pa.RecordBatch, gate: Gate) -> list[pa.Array]:
        """Prove the columns of the decoder in a batch of its schema, and return them."""
        rows, arrays = batch.num_rows, self._arrays(batch)
        for column, array in zip(self._read, arrays, strict=True):
            if not is_proved_at_once(array) or len(array) != rows:
                gate.prove(column.name, [array], rows)
        return arrays

    def _arrays(self, batch: pa.RecordBatch) -> list[pa.Array]:
        return [batch.column(column.at) for column in self._read]

    def load(self, batch: pa.RecordBatch) -> Events | None:
        """Return the events of a proved batch, None if it is declined."""
        return self._load(self._arrays(batch))

    def _load(self, arrays: list[pa.Array]) -> Events | None:
        try:
            return self._loaded(*arrays)
        except _Declined:
            return None

    def _loaded(self, time: pa.Array, type: pa.Array, *others: pa.Array) -> Events:
        ts = _numbers(time)
        if ts is None:
            raise _Declined
        types, type_names = self._types(type)
        columns = {
            each.name: _decoded(array, each)
            for each, array in zip(self.columns, others, strict=True)
        }
        if self._has_time:
            columns[self.time.name] = EventColumn(self.time.type, ts)
        order, tie = stream_order(ts, None)
        resolution = self.resolved.resolution_ns
        events = Events(ts, resolution, types, type_names, columns, tie=tie)
        return events if order is None else events.in_order(order)

    def _types(self, array: pa.Array) -> tuple[TypeCodes, tuple[str, ...]]:
        """Decode the types of a batch; decline it if a row has none."""
        codes, known = _codes(array, self.type, np.int16), self.type.known
        if codes is None:
            assert known is not None
            codes, values, may_lack = encoded(_chunks(names_of_types(array)), np.int16, known)
            if len(values) > MOST or (may_lack and (codes < 0).any()):
                raise _Declined
        return codes, self.type_names

    @property
    def has_dictionary(self) -> bool:
        """Whether the types come dictionary-encoded."""
        return bool(pa.types.is_dictionary(self.schema.field(self.type.at).type))

    @property
    def type_names(self) -> tuple[str, ...]:
        """The names of the type codes."""
        assert self.type.known is not None
        return self.type.known.values.names


class BatchTypes:
    """The types of batches that share one dictionary without NULL."""

    def __init__(self, decoder: BatchDecoder, dictionary: pa.Array, mapping: Translation) -> None:
        from sase.engine.kernels.jit.signatures import frozen  # Numba, which takes long

        self.decoder, self._mapping, self.names = decoder, mapping, decoder.type_names
        # Keeps the memory alive: its address is the identity, and could be reused.
        self._dictionary = dictionary
        # Offset, length and addresses: see `is_same`.
        self.identity = frozen(np.array([each or 0 for each in identity(dictionary)], np.int64))

    @classmethod
    def of(cls, decoder: BatchDecoder, array: pa.Array) -> BatchTypes | None:
        """Return the types of a proved column, if its dictionary is known and has no NULL."""
        known = decoder.type.known
        if not isinstance(array, pa.DictionaryArray):
            return None
        assert known is not None
        key = known.key(array.dictionary)
        return None if key is None else cls(decoder, array.dictionary, known.mappings[key])

    def by_index(self, by_code: NDArray[np.int64]) -> NDArray[np.int64]:
        """Reorder values by type code into values by index of the dictionary."""
        return by_code if self._mapping is None else by_code[self._mapping]

    def read(self, batch: pa.RecordBatch) -> tuple[Inputs, Events]:
        """Return a batch as input, and its events without any attribute."""
        decoder = self.decoder
        ts = _numbers(batch.column(decoder.time.at))
        index = batch.column(decoder.type.at).indices
        assert ts is not None, "batches with NULL times are declined"
        codes = codes_of(index, self._mapping, np.int16).astype(np.int16, copy=False)
        events = Events(ts, decoder.resolved.resolution_ns, codes, self.names, {})
        return Inputs((decoder.input_of(batch),)), events


class UnreadBatch:
    """A batch that a kernel has pushed, decoded only on demand.

    The columns of the decoder are proved, the others as `proof` says.
    """

    def __init__(self, types: BatchTypes, batch: pa.RecordBatch, proof: Proof) -> None:
        self.types, self.batch, self.proof = types, batch, proof

    def __call__(self) -> tuple[Inputs, Events]:
        """Return the input and its events, like `BatchTypes.read`."""
        return self.types.read(self.batch)

    @classmethod
    def joined(cls, parts: Sequence[object]) -> UnreadBatch | None:
        """Concatenate batches of equal types; None if the parts are anything else."""
        same = [part for part in parts if isinstance(part, UnreadBatch)]
        if len(same) < len(parts) or len({id(part.types) for part in same}) > 1:
            return None
        batches, types = [part.batch for part in same], same[0].types
        try:
            types.decoder.prove_unread(batches, min(part.proof for part in same))
            return cls(types, pa.concat_batches(batches), Proof.WHOLE)
        except (pa.ArrowException, DataError):
            return None


def _source(
    schema: pa.Schema, name: str, index: int, target: DataType, known: Dictionaries | None
) -> SourceColumn:
    kind = schema.field(index).type
    is_whole = kind.id in _PLAIN and data_type(kind) in (target, INTEGER) and target.scale is None
    return SourceColumn(name, index, target, is_whole and target.kind is not Kind.FLOAT, known)


def _numbers(array: pa.Array) -> Numbers | None:
    values = _stored(array)
    return None if values is None else values.astype(np.int64, copy=False)


def _stored(array: pa.Array) -> NDArray[Any] | None:
    """Return the numbers of a column in their stored width, None if there is a NULL."""
    if array.null_count:
        return None
    values: NDArray[Any] = array.to_numpy(zero_copy_only=True)
    return values.view(np.int64) if values.dtype.kind == "M" else values


def _decoded(array: pa.Array, column: SourceColumn) -> EventColumn:
    if column.known is not None:
        codes = _codes(array, column, np.int32)
        if codes is not None:
            return EventColumn(column.type, codes, None, column.known.values.dictionary)
        return string_column(_chunks(array), column.known)
    values = _stored(array) if column.is_plain else None
    if values is not None:
        return EventColumn(column.type, values)
    return number_column(column.name, _chunks(array), column.type, _NO_FAULTS, widen=False)


def _chunks(array: pa.Array) -> list[Chunk]:
    return located([array], 0)


_NO_FAULTS = _NoFaults()


def _codes(
    array: pa.Array, column: SourceColumn, dtype: type[np.int16] | type[np.int32]
) -> NDArray[np.signedinteger] | None:
    """Return the codes of a column without NULLs, if its dictionary is known."""
    if not isinstance(array, pa.DictionaryArray) or array.null_count:
        return None
    assert column.known is not None
    key = column.known.key(array.dictionary)
    if key is None:
        return None
    codes: NDArray[np.signedinteger] = codes_of(array.indices, column.known.mappings[key], dtype)
    is_narrow = codes.dtype.kind == "i" and codes.itemsize < np.dtype(dtype).itemsize
    return codes if is_narrow else codes.astype(dtype, copy=False)
