"""The short way from a batch to Events, for batches like one that was loaded before.

Most streams come as batches of one schema, with whole numbers and dictionaries and without NULLs.
For those the long way finds nothing new: at a thousand rows it takes several times as long as all
that follows. Whatever this way does not know it leaves to the long one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sase.binding.types import INTEGER, DataType, Kind
from sase.engine.events.data_types import data_type
from sase.engine.events.inputs import Input, Inputs
from sase.engine.events.numbers import MOST_EXACT
from sase.engine.events.pieces import INTEGERS
from sase.engine.events.resolving import Resolved
from sase.engine.events.stream import Column, Events, Int64s
from sase.engine.events.strings import Dictionaries, Translation, codes_of, identity, lacks

_PLAIN = {*INTEGERS, pa.timestamp("s").id} - {pa.uint64().id}


class Place(NamedTuple):
    """Where a column stands, and what its numbers are; of strings the dictionaries seen."""

    name: str
    at: int
    type: DataType
    known: Dictionaries | None


class Quick:
    """The columns of a schema that the short way can load."""

    def __init__(self, schema: pa.Schema, resolved: Resolved, time: Place, type: Place) -> None:
        self.schema, self.resolved = schema, resolved
        self.time, self.type = time, type
        self.columns: list[Place] = []
        self._has_time = False

    @classmethod
    def of(
        cls,
        schema: pa.Schema,
        resolved: Resolved,
        names: tuple[str, str],
        known: Mapping[object, Dictionaries],
        *,
        with_time: bool,
    ) -> Quick | None:
        """The short way for a schema, if there is one; `names` are the time and type columns."""
        indexes, types = resolved.indexes[0], {c.name: c.type for c in resolved.columns}
        time = _place(schema, names[0], indexes[names[0]], resolved.time, None)
        dictionaries = known.get(("type", names[1]))
        kind = _place(schema, names[1], indexes[names[1]], DataType(Kind.STRING), dictionaries)
        if time is None or kind is None:
            return None
        quick = cls(schema, resolved, time, kind)
        quick._has_time = with_time
        for wanted in resolved.columns:
            if wanted.name not in indexes:  # of dicts, which leave out what is NULL
                return None
            place = _place(
                schema, wanted.name, indexes[wanted.name], types[wanted.name], known.get(wanted)
            )
            if place is None or wanted.within is not None:
                return None
            quick.columns.append(place)
        return quick

    def knows(self, batch: object) -> bool:
        """Whether this is a batch, and has this schema."""
        return isinstance(batch, pa.RecordBatch) and batch.schema.equals(self.schema)

    def load(self, batch: pa.RecordBatch) -> Events | None:
        """The events of a batch, if nothing in it asks for the long way."""
        if not self.knows(batch):
            return None
        ts, types = numbers(batch, self.time), self.types(batch)
        if ts is None or types is None or not (ts[1:] > ts[:-1]).all():
            return None
        columns = {}
        for place in self.columns:
            values: NDArray[Any] | None
            if place.known is not None:
                values = _codes(batch, place, np.int32)
            else:
                values = numbers(batch, place)
                if place.type.kind is Kind.FLOAT and values is not None:
                    values = _as_floats(values)
            if values is None:
                return None
            dictionary = None if place.known is None else place.known.values.dictionary
            columns[place.name] = Column(place.type, values, None, dictionary)
        if self._has_time:
            columns[self.time.name] = Column(self.time.type, ts)
        return Events(ts, self.resolved.resolution_ns, types, self.type_names, columns)

    def types(self, batch: pa.RecordBatch) -> NDArray[np.signedinteger] | None:
        """The types of a batch, if they are in a dictionary that was seen before."""
        return _codes(batch, self.type, np.int16)

    @property
    def type_names(self) -> tuple[str, ...]:
        """What these codes stand for."""
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
        dictionary, known = batch.column(quick.type.at).dictionary, quick.type.known
        assert known is not None
        key = identity(dictionary)
        if key not in known.mappings or lacks(known.mappings[key]):
            return None
        return cls(quick, dictionary, known.mappings[key])

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
) -> Place | None:
    """A column, if it holds the numbers of the target, or strings in a dictionary."""
    kind = schema.field(index).type
    if known is not None and pa.types.is_dictionary(kind):
        return Place(name, index, target, known)
    if kind.id in _PLAIN and data_type(kind) in (target, INTEGER) and target.scale is None:
        return Place(name, index, target, None)
    return None


def numbers(batch: pa.RecordBatch, place: Place) -> Int64s | None:
    """The numbers of a column, if there is no NULL among them."""
    array = batch.column(place.at)
    if array.null_count:
        return None
    values: NDArray[Any] = array.to_numpy(zero_copy_only=True)
    if values.dtype.kind == "M":
        return values.view(np.int64)
    return values.astype(np.int64, copy=False)


def _as_floats(values: Int64s) -> NDArray[np.float64] | None:
    """Integers where floats are expected, if floats have all these values."""
    if len(values) and (values.max() > MOST_EXACT or values.min() < -MOST_EXACT):
        return None
    return values.astype(np.float64)


def _codes(
    batch: pa.RecordBatch, place: Place, dtype: type[np.int16] | type[np.int32]
) -> NDArray[np.signedinteger] | None:
    """The codes of a column whose dictionary was seen before."""
    array = batch.column(place.at)
    assert place.known is not None
    key, mappings = identity(array.dictionary), place.known.mappings
    if array.null_count or key not in mappings or lacks(mappings[key]):
        return None
    codes: NDArray[np.signedinteger] = codes_of(array.indices, mappings[key], dtype)
    return codes.astype(dtype, copy=False)
