"""Generate long streams in batches, after a check of the arguments."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import deepcopy
from datetime import UTC, datetime, timedelta
from functools import wraps
from inspect import signature
from math import isclose, isfinite
from numbers import Real
from typing import Any, Literal, SupportsIndex, get_args

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sase.errors import SaseError

# ---------------------------------------------------------------- arguments


class GeneratorError(SaseError):
    """An argument of a generator that is out of range, or of the wrong kind."""


def whole(name: str, value: SupportsIndex, at_least: int = 0, at_most: int = 2**63 - 1) -> int:
    """Check an integer between two bounds, both included."""
    try:
        number = operator.index(value)
    except TypeError:
        raise GeneratorError(f"{name} is {value!r}, and should be a whole number") from None
    if isinstance(value, bool) or not at_least <= number <= at_most:
        most = "" if at_most == 2**63 - 1 else f" and at most {at_most:,}"
        raise GeneratorError(f"{name} is {value!r}, and should be at least {at_least:,}{most}")
    return number


def wholes(
    name: str, one: str, values: Sequence[SupportsIndex], at_least: int, at_most: int
) -> list[int]:
    """Check a list of integers between two bounds."""
    if not isinstance(values, Iterable):
        raise GeneratorError(f"{name} is {values!r}, and should be a list of whole numbers")
    return [whole(one, value, at_least, at_most) for value in values]


def skew(name: str, value: float) -> float:
    """Check the exponent of a Zipf distribution: 0 means uniform."""
    if not _is_number(value) or not 0 <= value <= 100:
        raise GeneratorError(f"{name} is {value!r}, and should be 0 for no skew, or up to 100")
    return float(value)


def shares(name: str, values: Sequence[float], count: int) -> tuple[float, ...]:
    """Check probabilities that add up to 1."""
    given = tuple(values) if isinstance(values, Iterable) else ()
    if len(given) != count or not all(_is_number(value) and value >= 0 for value in given):
        raise GeneratorError(f"{name} is {values!r}, and should be {count} probabilities")
    if not isclose(sum(given), 1, abs_tol=1e-9):
        raise GeneratorError(f"{name} is {values!r}: the probabilities should add up to 1")
    return given


def moment(name: str, value: datetime) -> int:
    """Convert a time with a zone to microseconds since 1970."""
    if not isinstance(value, datetime) or value.utcoffset() is None:
        raise GeneratorError(f"{name} is {value!r}, and should be a datetime with a time zone")
    return (value - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def one_of(name: str, value: str, names: Sequence[str]) -> str:
    """Check that a name is a known one."""
    if value not in names:
        listed = ", ".join(repr(each) for each in names)
        raise GeneratorError(f"{name} is {value!r}, and should be one of {listed}")
    return value


def _is_number(value: object) -> bool:
    if isinstance(value, bool):
        return False
    return isinstance(value, Real) and isfinite(value)


# ---------------------------------------------------------------- batches

Int64s = npt.NDArray[np.int64]
# Draws the next values of a column from a generator.
Draw = Callable[[np.random.Generator, int], Int64s]
# A dictionary with indices of one or four bytes, or strings.
TypeLayout = Literal["int8", "int32", "string"]

ROWS = 2**20
_MOST_NAMES = {"int8": 2**7, "int32": 2**31, "string": 2**31}


def check_layout(layout: str, count: int) -> None:
    """Refuse an unknown layout, or one with too few codes for the types."""
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
    """The type column, from indexes into the list of names."""
    if layout == "string":
        return pa.array(names, pa.string()).take(pa.array(codes))
    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(layout)), pa.array(names))


def event_reader(
    types: Sequence[str], layout: str, attributes: Sequence[str], drawn: Iterable[list[Int64s]]
) -> pa.RecordBatchReader:
    """A reader of batches with drawn columns: the codes of types, and the values of attributes."""
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
    """A generator of the same stream as one table; it has all parameters but `rows`."""
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
    """Yield the columns of each batch; a column's values are those of a single draw."""
    counts = [min(rows, events - first) for first in range(0, events, rows)]
    generators = _one_for_each(rng, draws, counts)
    for count in counts:
        yield [draw(own, count) for own, draw in zip(generators, draws, strict=True)]


def _one_for_each(
    rng: np.random.Generator, draws: Sequence[Draw], counts: list[int]
) -> list[np.random.Generator]:
    """A generator for each column, positioned where the previous column's draw ends."""
    if len(counts) < 2:  # a single batch is drawn in that order
        return [rng] * len(draws)
    generators = []
    for draw in draws:
        generators.append(deepcopy(rng))
        for count in counts:
            draw(rng, count)
    return generators
