"""The short way from a batch to Events, for batches of a schema that was loaded before.

What the long way finds out about a schema, and prepares to tell of bad rows, takes several times as
long as all that follows where a batch is small. This way knows the one and has no need of the
other: a batch in which something is wrong is left to the long one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sase.binding.types import INTEGER, DataType, Kind
from sase.engine.columns.arrays import Numbers, TypeCodes
from sase.engine.columns.chunks import INTEGERS, Piece, pieces
from sase.engine.columns.data_types import data_type
from sase.engine.columns.events import Column, Events
from sase.engine.columns.faults import Faults
from sase.engine.columns.input import Input, Inputs
from sase.engine.columns.numbers import number_column
from sase.engine.columns.order import stream_order
from sase.engine.columns.origin import Origin
from sase.engine.columns.resolve import Resolved
from sase.engine.columns.strings import (
    Dictionaries,
    Translation,
    codes_of,
    encoded,
    identity,
    string_column,
)
from sase.engine.columns.type_codes import MOST

_PLAIN = {*INTEGERS, pa.timestamp("s").id} - {pa.uint64().id}


class _Unusual(Exception):
    """Something that is for the long way."""


class _NoFaults(Faults):
    """What is told of bad rows: that there are any is enough."""

    def __init__(self) -> None:
        super().__init__(Origin((), (), ()))

    def refuse(self, column: str, rows: NDArray[Any], why: str, value: object = None) -> None:
        """Give up where there is one."""
        if len(rows):
            raise _Unusual


class Place(NamedTuple):
    """Where a column stands and what it becomes; of strings the dictionaries seen.

    It `is_plain` if its numbers are stored as the ones that they become, but for their width.
    """

    name: str
    at: int
    type: DataType
    is_plain: bool
    known: Dictionaries | None


class Quick:
    """The columns of a schema, and what becomes of them."""

    def __init__(
        self, schema: pa.Schema, resolved: Resolved, time: Place, type: Place, *, is_sparse: bool
    ) -> None:
        self.schema, self.resolved, self.is_sparse = schema, resolved, is_sparse
        self.time, self.type = time, type
        self.columns: list[Place] = []
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
    ) -> Quick | None:
        """The short way for batches like one, if there is one.

        `names` are the time and type columns.
        """
        schema, indexes = table.source.schema, resolved.indexes[0]
        time = _place(schema, names[0], indexes[names[0]], resolved.time, None)
        dictionaries = known[("type", names[1])]
        kind = _place(schema, names[1], indexes[names[1]], DataType(Kind.STRING), dictionaries)
        if not time.is_plain:
            return None
        quick = cls(schema, resolved, time, kind, is_sparse=table.is_sparse)
        quick._has_time = with_time
        for wanted in resolved.columns:
            if wanted.name not in indexes or wanted.within is not None or wanted.type_names:
                return None
            values = known[wanted] if wanted.type.kind is Kind.STRING else None
            quick.columns.append(
                _place(schema, wanted.name, indexes[wanted.name], wanted.type, values)
            )
        return quick

    def knows(self, batch: object) -> bool:
        """Whether this is a batch, and has this schema."""
        return isinstance(batch, pa.RecordBatch) and batch.schema.equals(self.schema)

    def fits(self, table: Input) -> bool:
        """Whether a table is like the first one."""
        return (
            self.knows(table.source)
            and table.is_sparse == self.is_sparse
            and not (table.type_name or table.unreadable or table.misfits)
        )

    def load(self, batch: pa.RecordBatch) -> Events | None:
        """The events of a batch, if nothing in it asks for the long way."""
        try:
            return self._loaded(batch)
        except _Unusual:
            return None

    def _loaded(self, batch: pa.RecordBatch) -> Events:
        ts = numbers(batch, self.time)
        if ts is None:
            raise _Unusual
        types, type_names = self._types(batch)
        columns = {place.name: _column(batch, place) for place in self.columns}
        if self._has_time:
            columns[self.time.name] = Column(self.time.type, ts)
        order, tie = stream_order(ts, None)
        resolution = self.resolved.resolution_ns
        events = Events(ts, resolution, types, type_names, columns, tie=tie)
        return events if order is None else events.in_order(order)

    def _types(self, batch: pa.RecordBatch) -> tuple[TypeCodes, tuple[str, ...]]:
        """The types of a batch, each of which has one."""
        codes, known = _codes(batch, self.type, np.int16), self.type.known
        if codes is None:
            assert known is not None
            codes, values, may_lack = encoded(_pieces(batch, self.type), np.int16, known)
            if len(values) > MOST or (may_lack and (codes < 0).any()):
                raise _Unusual
        return codes, self.type_names

    @property
    def has_dictionary(self) -> bool:
        """Whether the types come as codes into one."""
        return bool(pa.types.is_dictionary(self.schema.field(self.type.at).type))

    @property
    def type_names(self) -> tuple[str, ...]:
        """What the codes of types stand for."""
        assert self.type.known is not None
        return self.type.known.values.names


class Types:
    """The types of batches that share a dictionary, which has no NULL."""

    def __init__(self, quick: Quick, dictionary: pa.Array, mapping: Translation) -> None:
        self._quick, self._mapping, self.names = quick, mapping, quick.type_names
        # Held, since another one may stand where it was once it is gone.
        self._dictionary = dictionary
        # Offset, length and addresses: see `is_same`.
        self.identity = np.array([each or 0 for each in identity(dictionary)], np.int64)

    @classmethod
    def of(cls, quick: Quick, batch: pa.RecordBatch) -> Types | None:
        """Those of a batch, if its dictionary was seen before and has no NULL."""
        array, known = batch.column(quick.type.at), quick.type.known
        if not isinstance(array, pa.DictionaryArray):
            return None
        assert known is not None
        key = known.key(array.dictionary)
        return None if key is None else cls(quick, array.dictionary, known.mappings[key])

    def by_index(self, by_code: NDArray[np.int64]) -> NDArray[np.int64]:
        """What is given by the code of a type, by the index into the dictionary."""
        return by_code if self._mapping is None else by_code[self._mapping]

    def read(self, batch: pa.RecordBatch) -> tuple[Inputs, Events]:
        """A batch as input, and its events without any attribute."""
        quick = self._quick
        ts, index = numbers(batch, quick.time), batch.column(quick.type.at).indices
        assert ts is not None, "a batch with NULLs is not read this way"
        codes = codes_of(index, self._mapping, np.int16).astype(np.int16, copy=False)
        events = Events(ts, quick.resolved.resolution_ns, codes, self.names, {})
        return Inputs((Input(batch),)), events


class Unread:
    """A batch that is not read before it is asked for, but for what kernels have read of it."""

    def __init__(self, types: Types, batch: pa.RecordBatch) -> None:
        self.types, self.batch = types, batch

    def __call__(self) -> tuple[Inputs, Events]:
        """The input and its events, as `Types.read` gives them."""
        return self.types.read(self.batch)

    @classmethod
    def joined(cls, parts: Sequence[object]) -> Unread | None:
        """Batches one after the other, if they are such and can be one."""
        same = [part for part in parts if isinstance(part, Unread)]
        if len(same) < len(parts) or len({id(part.types) for part in same}) > 1:
            return None
        try:
            return cls(same[0].types, pa.concat_batches([part.batch for part in same]))
        except pa.ArrowException:
            return None


def _place(
    schema: pa.Schema, name: str, index: int, target: DataType, known: Dictionaries | None
) -> Place:
    kind = schema.field(index).type
    is_whole = kind.id in _PLAIN and data_type(kind) in (target, INTEGER) and target.scale is None
    return Place(name, index, target, is_whole and target.kind is not Kind.FLOAT, known)


def numbers(batch: pa.RecordBatch, place: Place) -> Numbers | None:
    """The numbers of a plain column, if there is no NULL among them."""
    array = batch.column(place.at)
    if array.null_count:
        return None
    values: NDArray[Any] = array.to_numpy(zero_copy_only=True)
    if values.dtype.kind == "M":
        return values.view(np.int64)
    return values.astype(np.int64, copy=False)


def _column(batch: pa.RecordBatch, place: Place) -> Column:
    """A column of any kind."""
    if place.known is not None:
        codes = _codes(batch, place, np.int32)
        if codes is not None:
            return Column(place.type, codes, None, place.known.values.dictionary)
        return string_column(_pieces(batch, place), place.known)
    values = numbers(batch, place) if place.is_plain else None
    if values is not None:
        return Column(place.type, values)
    return number_column(place.name, _pieces(batch, place), place.type, _NO_FAULTS, widen=False)


def _pieces(batch: pa.RecordBatch, place: Place) -> list[Piece]:
    return pieces([batch.column(place.at)], 0)


_NO_FAULTS = _NoFaults()


def _codes(
    batch: pa.RecordBatch, place: Place, dtype: type[np.int16] | type[np.int32]
) -> NDArray[np.signedinteger] | None:
    """The codes of a column without NULLs, if its dictionary was seen before."""
    array = batch.column(place.at)
    if not isinstance(array, pa.DictionaryArray) or array.null_count:
        return None
    assert place.known is not None
    key = place.known.key(array.dictionary)
    if key is None:
        return None
    codes: NDArray[np.signedinteger] = codes_of(array.indices, place.known.mappings[key], dtype)
    return codes.astype(dtype, copy=False)
