"""Values of programs and times as Arrow has them."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sase.binding.types import DataType, Kind
from sase.engine.expressions import Interner
from sase.engine.expressions.constants import RESOLUTIONS
from sase.engine.kernels.operations import EXACT, FLOAT, INTEGER, NULL

Numbers = NDArray[np.int64]
SECONDS_OF_A_DAY = 86400
UNITS = {digits: unit for unit, digits in RESOLUTIONS.items() if unit != "d"}


def time_array(times: Numbers, data_type: DataType, given: pa.DataType | None) -> pa.Array:
    """Timestamps in raw units as the column of times has them."""
    if data_type.kind is not Kind.TIMESTAMP:
        return pa.array(times)
    if data_type.resolution == "d":
        return pa.array(times.astype(np.int32), pa.date32())
    zone = given.tz if given is not None and is_zoned(given) else None
    return pa.array(times).cast(pa.timestamp(data_type.resolution, zone))


def is_zoned(kind: pa.DataType) -> bool:
    """Whether times of this type have a time zone."""
    return pa.types.is_timestamp(kind) and kind.tz is not None


def arrow_column(
    values: NDArray[np.int64], data_type: DataType, texts: Interner, zone: str | None
) -> pa.Array:
    """A column of values: tags and bits. Timestamps get the time zone."""
    tags, bits = values[:, 0], values[:, 1]
    missing = tags == NULL
    match data_type.kind:
        case Kind.BOOLEAN:
            return pa.array(bits != 0, mask=missing)
        case Kind.STRING:
            used, places = np.unique(np.where(missing, -1, bits), return_inverse=True)
            found = pa.array(
                [None if code < 0 else texts.texts[code] for code in used], pa.string()
            )
            return found.take(pa.array(places))
        case Kind.TIMESTAMP | Kind.INTERVAL:
            return _times(tags, bits, missing, data_type, zone)
    if (tags >= EXACT).any():
        return _decimals(tags, bits)
    if (tags == FLOAT).any() or data_type.kind is Kind.FLOAT:
        reals = np.where(tags == INTEGER, bits.astype(np.float64), bits.view(np.float64))
        return pa.array(reals, mask=missing)
    if missing.all() and data_type.kind is not Kind.INTEGER:
        return pa.nulls(len(values))
    return pa.array(bits, mask=missing)


def _times(
    tags: Numbers, bits: Numbers, missing: NDArray[np.bool_], data_type: DataType, zone: str | None
) -> pa.Array:
    """Times in the finest resolution among them."""
    digits = np.where(missing, 0, np.maximum(tags - EXACT, 0))
    finest = max(int(digits.max(initial=0)), RESOLUTIONS.get(data_type.resolution or "", 0))
    finest = next(each for each in UNITS if each >= finest)
    counts = bits * 10 ** (finest - digits)
    if data_type.kind is Kind.INTERVAL:
        return pa.array(counts, mask=missing).cast(pa.duration(UNITS[finest]))
    if (
        data_type.resolution == "d"
        and finest == 0
        and not (counts[~missing] % SECONDS_OF_A_DAY).any()
    ):
        days = (counts // SECONDS_OF_A_DAY).astype(np.int32)
        return pa.array(days, pa.date32(), mask=missing)
    return pa.array(counts, mask=missing).cast(pa.timestamp(UNITS[finest], zone))


def _decimals(tags: Numbers, bits: Numbers) -> pa.Array:
    """Decimals as they are; all as floats where arithmetic has made some of them floats."""
    found: list[Decimal | float | int | None] = []
    for tag, number in zip(tags.tolist(), bits.tolist(), strict=True):
        if tag == NULL:
            found.append(None)
        elif tag == FLOAT:
            found.append(float(np.int64(number).view(np.float64)))
        else:
            found.append(Decimal(number).scaleb(-max(tag - EXACT, 0)))
    if any(isinstance(value, float) for value in found):
        return pa.array([None if value is None else float(value) for value in found])
    return pa.array(found)
