"""Draw long streams in batches, with the same events as when drawn at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import deepcopy
from functools import wraps
from inspect import signature
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sase.generate.arguments import GeneratorError, one_of, whole

Int64s = npt.NDArray[np.int64]
# So many values of a column, the next that the generator gives.
Draw = Callable[[np.random.Generator, int], Int64s]
# A dictionary with indices of one or four bytes, or strings.
TypeLayout = Literal["int8", "int32", "string"]

ROWS = 2**20
_MOST_NAMES = {"int8": 2**7, "int32": 2**31, "string": 2**31}


def check_layout(layout: str, count: int) -> None:
    """Refuse a layout that there is not, or that has no room for so many types."""
    one_of("type_layout", layout, get_args(TypeLayout))
    if count > _MOST_NAMES[layout]:
        raise GeneratorError(
            f"type_layout is {layout!r}, which has room for {_MOST_NAMES[layout]} types and not for"
            f" {count:,}: take 'int32'"
        )


def layout_type(layout: str) -> pa.DataType:
    """The type of the type column."""
    if layout == "string":
        return pa.string()
    return pa.dictionary(pa.int8() if layout == "int8" else pa.int32(), pa.string())


def type_column(codes: npt.NDArray[np.integer], names: Sequence[str], layout: str) -> pa.Array:
    """The names of the types of all events, from their places in the list of names."""
    if layout == "string":
        return pa.array(names, pa.string()).take(pa.array(codes))
    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(layout)), pa.array(names))


def event_reader(
    types: Sequence[str], layout: str, attributes: Sequence[str], drawn: Iterable[list[Int64s]]
) -> pa.RecordBatchReader:
    """The stream of batches that are `drawn`: the places of types, and the values of attributes."""
    numbers = [pa.field(name, pa.int32()) for name in attributes]
    schema = pa.schema([("ts", pa.int64()), ("type", layout_type(layout)), *numbers])

    def batches() -> Iterator[pa.RecordBatch]:
        first = 0
        for places, *values in drawn:
            ts = np.arange(first, first := first + len(places), dtype=np.int64)
            columns = [value.astype(np.int32) for value in values]
            yield pa.record_batch([ts, type_column(places, types, layout), *columns], schema=schema)

    return pa.RecordBatchReader.from_batches(schema, batches())


def at_once(reader: Callable[..., pa.RecordBatchReader]) -> Callable[..., pa.Table]:
    """The generator of the same stream as one table, which takes all but the `rows` of batches."""
    own = signature(reader)
    shown = own.replace(parameters=[p for p in own.parameters.values() if p.name != "rows"])

    @wraps(reader)
    def events(**given: Any) -> pa.Table:
        shown.bind(**given)
        return reader(**given, rows=max(whole("events", given["events"]), 1)).read_all()

    events.__name__ = events.__qualname__ = reader.__name__.replace("reader", "events")
    events.__signature__ = shown.replace(return_annotation=pa.Table)  # type: ignore[attr-defined]
    return events


def drawn_columns(
    rng: np.random.Generator, draws: Sequence[Draw], events: int, rows: int
) -> Iterator[list[Int64s]]:
    """The columns of one batch after the other, each column as one draw of all events gives it."""
    counts = [min(rows, events - first) for first in range(0, events, rows)]
    generators = _one_for_each(rng, draws, counts)
    for count in counts:
        yield [draw(own, count) for own, draw in zip(generators, draws, strict=True)]


def _one_for_each(
    rng: np.random.Generator, draws: Sequence[Draw], counts: list[int]
) -> list[np.random.Generator]:
    """For each column a generator at its beginning, which is where the column before it ends."""
    if len(counts) < 2:  # then they are drawn in that order anyway
        return [rng] * len(draws)
    generators = []
    for draw in draws:
        generators.append(deepcopy(rng))
        for count in counts:
            draw(rng, count)
    return generators
