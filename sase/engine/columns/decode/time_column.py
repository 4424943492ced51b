"""Decode the time column into int64 in raw units; float seconds become microseconds."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from sase.base.interface import option, spelled
from sase.binding import Schema
from sase.binding.types import UNKNOWN, DataType, Kind, merged
from sase.binding.values.folding import INT64_MAX
from sase.binding.values.text import interval_text
from sase.engine.columns.arrays import Mask, Numbers
from sase.engine.columns.arrow.data_types import nanoseconds
from sase.engine.columns.arrow.input import Inputs
from sase.engine.columns.decode.numbers import number_column, raw_floats
from sase.engine.columns.decode.projection import Projection
from sase.engine.columns.decode.roles import require
from sase.engine.columns.decode.timestamps import shown_moment
from sase.errors import SchemaError

# No events are after the year 5000; most are before 2200; clock times are after 2000.
_YEAR = 31_556_952 * 10**9
_CLOCKS = (2000 - 1970) * _YEAR
_UNITS = ("s", "ms", "us", "ns")
_LATEST, _USUAL = (5000 - 1970) * _YEAR, (2200 - 1970) * _YEAR
FLOAT_UNIT = "us"  # unit of decoded float seconds
_END = 2.0**63
_EXACT_END = 2.0**52  # below, products resolve halves
LONGEST = 2**62 - 1  # longest interval, in raw units
PIECE = 1 << 15  # rows compared at once, which fit L2
NO_TIME = "every event needs a time; fill it in, or leave the row out"


def time_type(inputs: Inputs, *columns: str) -> DataType:
    """Return the type of time of all tables: they must agree in kind; the finest resolution."""
    every = [t for column in columns for t in require(inputs, column, "time")]
    found = [t for t in every if t != UNKNOWN]
    kinds = {t.kind for t in found}
    if len(kinds) > 1:
        held = " and ".join(sorted(f"{kind.value}s" for kind in kinds))
        named = " and ".join(f"`{column}`" for column in columns)
        holds = f"columns {named} hold" if len(columns) > 1 else f"column {named} holds"
        raise SchemaError(
            f"the time {holds} {held}, which count differently: give all tables times of one kind"
        )
    return merged(found)


def compiled_time(inputs: Inputs, schema: Schema) -> DataType:
    """Return the type of time; refuse one that changes the meaning of the compiled windows."""
    found, known = time_type(inputs, *schema.times), schema.time_type
    if UNKNOWN in (found, known):
        return found if known == UNKNOWN else known
    is_whole = (known.kind, found.kind) == (Kind.FLOAT, Kind.INTEGER)
    if is_whole and all(table.is_sparse for table in inputs.tables):
        return known  # JSON writes a whole float without a point
    if known.kind is not found.kind:
        _refuse(schema, found)
    if known.resolution is None:
        return found
    if merged([known, found]) != known:
        _refuse(schema, found)
    return replace(known, zoned=found.zoned, zone=found.zone)


def _refuse(schema: Schema, found: DataType) -> NoReturn:
    raise SchemaError(
        f"the query was compiled for times of the type {schema.time_type}, and `{schema.time}` has"
        f" the type {found} here: compile it for these events, or cast the column"
    )


def resolution_of(time: DataType, schema: Schema) -> int | None:
    """Return the nanoseconds of a raw unit of time, or None if unknown."""
    if time.kind is Kind.FLOAT:
        return nanoseconds(FLOAT_UNIT)
    return schema.nanoseconds if time.resolution is None else nanoseconds(time.resolution)


def likely_unit(time: int) -> str | None:
    """Return the unit in which a count since 1970 is a time between 2000 and 2200, or None."""
    return next((u for u in _UNITS if _CLOCKS <= time * nanoseconds(u) < _USUAL), None)


def doubt_of_unit(
    schema: Schema, earliest: int, latest: int, resolution_ns: int | None
) -> str | None:
    """Return why the unit of time is doubtful, given the earliest and the latest time, or None."""
    if resolution_ns is None:
        return None
    if latest * resolution_ns < _LATEST:
        return _doubt_of_early(schema, earliest, latest, resolution_ns)
    is_float = schema.time_type.kind is Kind.FLOAT
    given = nanoseconds("s") if is_float else resolution_ns
    year = 1970 + latest * resolution_ns // _YEAR
    counts = {
        Kind.FLOAT: "is in floats, which are seconds,",
        Kind.TIMESTAMP: f"has the type {schema.time_type},",
    }.get(schema.time_type.kind, f"counts {schema.time_unit},")
    found = f"`{schema.time}` {counts} by which the latest event is in the year {year:,}"
    count = latest * resolution_ns // given
    finer = (u for u in ("ms", "us", "ns") if nanoseconds(u) < given)
    meant = next((unit for unit in finer if count * nanoseconds(unit) < _USUAL), None)
    if meant is None:
        return f"{found}: is that the unit?"
    remedy = "say" if schema.time_type.kind is Kind.INTEGER else "give integers with"
    return f"{found}: if it counts {meant}, {remedy}  {option('time_unit', meant)}"


def _doubt_of_early(schema: Schema, earliest: int, latest: int, resolution_ns: int) -> str | None:
    """Return a doubt if all times are in 1970, but in this century by another unit."""
    if schema.time_type.kind is not Kind.INTEGER or not 0 < latest * resolution_ns < _YEAR:
        return None
    meant = likely_unit(earliest)
    if meant is None or meant != likely_unit(latest):
        return None
    year = 1970 + earliest * nanoseconds(meant) // _YEAR
    return (
        f"`{schema.time}` counts {schema.time_unit}, by which all events are in 1970: if it counts"
        f" {meant}, by which the first is in {year}, say  {option('time_unit', meant)}"
    )


def read_times(reading: Projection, name: str, time: DataType) -> Numbers:
    """Return the times of all rows; log rows without one."""
    if time.kind is Kind.FLOAT:
        return _from_floats(reading, name)
    column = number_column(name, reading.column(name), time, reading.faults)
    if column.valid is not None:
        reading.faults.refuse(name, np.flatnonzero(~column.valid), NO_TIME)
    return column.values


def read_until(reading: Projection, schema: Schema, time: DataType, ts: Numbers) -> Numbers | None:
    """Return the latest times of all rows, or None if times are precise; log invalid intervals.

    The numbers of logged rows are undefined.
    """
    if schema.until is None:
        return None
    until = read_times(reading, schema.until, time)
    marked = _suspects(ts, until, LONGEST if schema.longest is None else schema.longest)
    marked = marked[~np.isin(marked, reading.faults.rows_of(*schema.times))]
    is_before, is_far = until[marked] < ts[marked], is_beyond(ts[marked], until[marked])
    wrong = [(is_before, before_earliest(schema)), (is_far, beyond_latest(schema))]
    if schema.longest is not None:
        wrong.append((~is_before & ~is_far, beyond_longest(schema)))
    for mask, why in wrong:
        bad = marked[mask]
        value = shown_moment(int(until[bad[0]]), time) if len(bad) else None
        reading.faults.refuse(schema.until, bad, why, value)
    return until


def _suspects(ts: Numbers, until: Numbers, longest: int) -> Numbers:
    """Return the rows of intervals that are not from their begin on, or too long, or endless."""
    found = [np.zeros(0, np.int64)]
    for begin in range(0, len(ts), PIECE):
        low, high = ts[begin : begin + PIECE], until[begin : begin + PIECE]
        length = high.view(np.uint64) - low.view(np.uint64)  # which may need the 64th bit
        is_wrong = (high < low) | (length > min(longest, LONGEST)) | (high == INT64_MAX)
        found.append(np.flatnonzero(is_wrong) + begin)
    return np.concatenate(found)


def is_beyond(ts: Numbers, until: Numbers) -> Mask:
    """Mark latest times that are the greatest number, or too far from the earliest times."""
    length = until.view(np.uint64) - ts.view(np.uint64)
    found: Mask = (until >= ts) & ((length > LONGEST) | (until == INT64_MAX))
    return found


def before_earliest(schema: Schema) -> str:
    """The reason against a latest time before the earliest."""
    return (
        f"it is before `{schema.time}`: an event is at one of the times between the two, of which"
        " the earlier is named first"
    )


def beyond_latest(schema: Schema) -> str:
    """The reason against a latest time that is too great or too far away."""
    return (
        f"it is the greatest number of 64 bits, or 2^62 units or more after `{schema.time}`: an"
        " interval ends before, and is shorter"
    )


def beyond_longest(schema: Schema) -> str:
    """The reason against an interval longer than `longest`."""
    assert schema.longest is not None
    unit = schema.nanoseconds
    most = f"{schema.longest:,}" if unit is None else interval_text(schema.longest * unit)
    said = spelled("longest=…", "--longest")
    return f"it is more than {most} after `{schema.time}`, and {said} says that none is"


def _from_floats(reading: Projection, name: str) -> Numbers:
    seconds, present = raw_floats(name, reading.column(name), reading.faults)
    good = in_range(seconds)
    if present is not None:
        reading.faults.refuse(name, np.flatnonzero(~present), NO_TIME)
    if good.all():
        return microseconds(seconds)
    bad = np.flatnonzero(~good if present is None else ~good & present)
    why = f"floats are seconds, and this is no time of 64 bits in microseconds; {NO_TIME}"
    reading.faults.refuse(name, bad, why, float(seconds[bad[0]]) if len(bad) else None)
    return microseconds(np.where(good, seconds, 0.0))


def in_range(seconds: NDArray[np.float64]) -> Mask:
    """Mark seconds that fit int64 microseconds; NaN and infinities do not."""
    with np.errstate(over="ignore", invalid="ignore"):
        good: Mask = np.abs(seconds * 1e6) < _END
    return good


def microseconds(seconds: NDArray[np.float64]) -> Numbers:
    """Convert seconds in range to microseconds: the exact value, rounded half to even.

    The float product is rounded before it is rounded to an integer. That can create or hide a tie;
    Dekker's error term of the product decides these cases.
    """
    product = seconds * 1e6
    whole = np.rint(product)
    away = product - whole
    halves = np.flatnonzero(np.abs(away) == 0.5)
    lost = _lost(seconds[halves], product[halves])
    # `rint` rounded +½ down and −½ up; the error term may decide otherwise.
    whole[halves] += (away[halves] > 0) & (lost > 0)
    whole[halves] -= (away[halves] < 0) & (lost < 0)
    result = whole.astype(np.int64)
    for row in np.flatnonzero(np.abs(product) >= _EXACT_END):  # from the year 2112 on
        result[row] = round(Fraction(seconds[row]) * 10**6)
    return result


def _lost(seconds: NDArray[Any], product: NDArray[Any]) -> NDArray[Any]:
    """Return Dekker's exact error term of the product `seconds * 1e6`."""
    spread = seconds * (2.0**27 + 1)
    high = spread - (spread - seconds)
    lost: NDArray[np.float64] = (high * 1e6 - product) + (seconds - high) * 1e6
    return lost
