"""Convert values of programs, times, and iterations of groups to Arrow columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sase.base.interface import spelled
from sase.binding.bound import BoundComponent, Constant, Expression, Operation
from sase.binding.types import DataType, Kind
from sase.binding.values.functions import FUNCTIONS, chooses
from sase.engine.columns.arrays import Mask, Numbers
from sase.engine.columns.arrow.gather import taken_values
from sase.engine.expressions import Interner
from sase.engine.expressions.layout import RESOLUTIONS, constant
from sase.engine.kernels.expressions.operations import EXACT, FLOAT, INTEGER, NULL, SCALES
from sase.engine.operators.bindings.bindings import Bindings
from sase.errors import BudgetError, DataError, SchemaError

# ---------------------------------------------------------------- arrow columns

SECONDS_OF_A_DAY = 86400
INT32 = np.iinfo(np.int32)
UNITS = {digits: unit for unit, digits in RESOLUTIONS.items() if unit != "d"}
# The precision of decimals in results.
DIGITS = 38
_SIMPLE = {
    Kind.BOOLEAN: pa.bool_(), Kind.INTEGER: pa.int64(), Kind.FLOAT: pa.float64(),
    Kind.STRING: pa.string(), Kind.NULL: pa.null(),
}  # fmt: skip


def time_array(times: Numbers, data_type: DataType, given: pa.DataType | None) -> pa.Array:
    """Convert times in raw units to a column with the type of the time column."""
    if data_type.kind is not Kind.TIMESTAMP or data_type.resolution is None:
        return pa.array(times)  # without a resolution times are plain integers
    if data_type.resolution == "d":  # dates saturate
        days = np.clip(times, INT32.min, INT32.max)
        return pa.array(days.astype(np.int32), pa.date32())
    zone = given.tz if given is not None and is_zoned(given) else None
    return pa.array(times).cast(pa.timestamp(data_type.resolution, zone))


def is_zoned(kind: pa.DataType) -> bool:
    """Whether times of this type have a time zone."""
    return pa.types.is_timestamp(kind) and kind.tz is not None


# The units of dates.
_OF_DATES = {pa.date32().id: "D", pa.date64().id: "ms"}


def python_values(column: pa.ChunkedArray | pa.Array) -> list[Any]:
    """Convert values to Python; times out of Python's range become text, durations seconds."""
    try:
        values: list[Any] = column.to_pylist()
    except (ValueError, ArithmeticError):
        return list(map(_python_value, column))
    return values


def python_rows(table: pa.Table | pa.RecordBatch) -> list[dict[str, Any]]:
    """Convert rows to dicts of Python values."""
    try:
        rows: list[dict[str, Any]] = table.to_pylist()
    except (ValueError, ArithmeticError):
        return python_values(structs(table))
    return rows


def structs(table: pa.Table | pa.RecordBatch) -> pa.ChunkedArray:
    """The rows as structures; Arrow 20 makes none of a table without a chunk."""
    batches = table.to_batches() if isinstance(table, pa.Table) else [table]
    return pa.chunked_array(
        [each.to_struct_array() for each in batches], pa.struct([*table.schema])
    )


_WRAPPING = (
    pa.DictionaryScalar, pa.RunEndEncodedScalar, pa.UnionScalar, pa.ExtensionScalar,
)  # fmt: skip


def _python_value(scalar: pa.Scalar) -> Any:
    if scalar.is_valid and isinstance(scalar, pa.StructScalar):
        return {name: _python_value(field) for name, field in scalar.items()}
    if scalar.is_valid and isinstance(scalar, pa.MapScalar):
        return [tuple(map(_python_value, pair.values())) for pair in scalar.values]
    if scalar.is_valid and isinstance(scalar, pa.ListScalar):
        return list(map(_python_value, scalar))
    if scalar.is_valid and isinstance(scalar, _WRAPPING):
        return _python_value(scalar.value)
    try:
        return scalar.as_py()
    except (ValueError, ArithmeticError):
        return _beyond_python(scalar)


def _beyond_python(scalar: pa.Scalar) -> str | float | Decimal:
    """Convert a scalar that Python cannot represent: a time to text, a duration to seconds.

    Also decimals that Arrow cannot convert.
    """
    kind = scalar.type
    if pa.types.is_decimal(kind):
        (_, digits) = pa.repeat(scalar, 1).buffers()
        number = int.from_bytes(digits.to_pybytes()[: kind.byte_width], "little", signed=True)
        return Decimal((int(number < 0), tuple(map(int, str(abs(number)))), -kind.scale))
    count = scalar.value
    if pa.types.is_duration(kind) or pa.types.is_time(kind):
        return float(count / 10 ** RESOLUTIONS[kind.unit])
    unit = kind.unit if pa.types.is_timestamp(kind) else _OF_DATES[kind.id]
    moment = str(np.int64(count).view(f"datetime64[{unit}]"))
    return f"{moment}Z" if is_zoned(kind) else moment


# ---------------------------------------------------------------- columns of RETURN


def result_type(value: Expression, zone: str | None) -> pa.DataType | None:
    """The type of a column of RETURN, independent of its values; None if these decide."""
    match value.type.kind:
        case Kind.DECIMAL | Kind.FLOAT if (scale := _scale(value)) is not None:
            return pa.decimal128(DIGITS, scale)
        case Kind.BOOLEAN | Kind.INTEGER | Kind.FLOAT | Kind.STRING | Kind.NULL:
            return _SIMPLE[value.type.kind]
        case Kind.INTERVAL if (unit := _unit(value)) is not None:
            return pa.duration(unit)
        case Kind.TIMESTAMP if (unit := _unit(value)) is not None:
            return pa.date32() if _is_date(value) else pa.timestamp(unit, zone)
    return None


def arrow_column(
    values: NDArray[np.int64], value: Expression, texts: list[str], zone: str | None
) -> pa.Array:
    """Convert values (tags and bits) to a column; timestamps get the time zone."""
    tags, bits = values[:, 0], values[:, 1]
    tags = np.where(tags < EXACT, tags, EXACT + (tags - EXACT) % SCALES)  # literals become decimals
    missing, kind = tags == NULL, result_type(value, zone)
    if kind is None:
        return _by_values(tags, bits, missing)
    if pa.types.is_null(kind):
        return pa.nulls(len(values))
    if pa.types.is_boolean(kind):
        return pa.array(bits != 0, mask=missing)
    if pa.types.is_string(kind):
        return _strings(bits, missing, texts)
    if pa.types.is_decimal(kind):
        return _decimals(tags, bits, missing, kind)
    if pa.types.is_floating(kind):
        return pa.array(_floats(tags, bits), mask=missing)
    if pa.types.is_integer(kind):
        assert (missing | (tags == INTEGER)).all(), "an integer is one whatever its value"
        return pa.array(bits, mask=missing)
    return _times(tags, bits, missing, kind)


def _scale(value: Expression) -> int | None:
    """The scale of a decimal or integer, or of a choice among such, if known."""
    if isinstance(value, Operation) and chooses(value.name):
        scales = [_scale(each) for each in _values(value) if each.type.kind is not Kind.NULL]
        known = [each for each in scales if each is not None]
        return max(known, default=0) if len(known) == len(scales) else None
    if value.type.kind is Kind.INTEGER:
        return 0
    return value.type.scale if value.type.kind is Kind.DECIMAL else None


def _unit(value: Expression) -> str | None:
    """The coarsest unit for all times that a value can be, if known."""
    digits = [_digits(leaf) for leaf in _leaves(value)]
    known = [each for each in digits if each is not None]
    if len(known) < len(digits):
        return None
    return next(unit for least, unit in UNITS.items() if least >= max(known, default=0))


def _leaves(value: Expression) -> Iterator[Expression]:
    """The operands of a value, at all depths."""
    if isinstance(value, Operation):
        for operand in _values(value):
            yield from _leaves(operand)
    elif value.type.kind is not Kind.NULL:
        yield value


def _values(operation: Operation) -> Sequence[Expression]:
    """The operands without the literals of a function."""
    function = FUNCTIONS.get(operation.name)
    return operation.operands if function is None else function.values_of(operation.operands)


def _digits(leaf: Expression) -> int | None:
    """The decimal digits of a second that a time has."""
    if isinstance(leaf, Constant) and isinstance(leaf.value, int):
        return constant(leaf, Interner())[0] - EXACT
    return None if leaf.type.resolution is None else RESOLUTIONS[leaf.type.resolution]


def _is_date(value: Expression) -> bool:
    """Whether a time is always a date: a date, possibly plus days."""
    if isinstance(value, Operation):
        operands = _values(value)
        dates = [each for each in operands if _is_date(each)]
        return bool(dates) and all(each in dates or _is_of_days(each) for each in operands)
    return value.type.kind is Kind.TIMESTAMP and value.type.resolution == "d"


def _is_of_days(value: Expression) -> bool:
    """Whether a value is a literal of whole days, or NULL."""
    if not isinstance(value, Constant) or not isinstance(value.value, int | None):
        return False
    return value.value is None or value.value % (SECONDS_OF_A_DAY * 10**9) == 0


def _strings(bits: Numbers, missing: Mask, texts: list[str]) -> pa.Array:
    used, places = np.unique(np.where(missing, -1, bits), return_inverse=True)
    found = pa.array([None if code < 0 else texts[code] for code in used], pa.string())
    return found.take(pa.array(places))


def _times(tags: Numbers, bits: Numbers, missing: Mask, kind: pa.DataType) -> pa.Array:
    """Convert times to one unit, at least as fine as that of each."""
    finest = 0 if pa.types.is_date(kind) else RESOLUTIONS[kind.unit]
    factors = 10 ** np.where(missing, 0, finest - (tags - EXACT))
    counts = np.where(missing, 0, bits) * factors
    leaves = (counts // factors != np.where(missing, 0, bits)).any()
    if pa.types.is_date(kind):
        counts //= SECONDS_OF_A_DAY
        leaves |= (counts < INT32.min).any() or (counts > INT32.max).any()
    if leaves:
        raise DataError(f"a time that is returned leaves the range of {kind}")
    if pa.types.is_date(kind):
        return pa.array(counts.astype(np.int32), kind, mask=missing)
    return pa.array(counts, mask=missing).cast(kind)


def _decimals(tags: Numbers, bits: Numbers, missing: Mask, kind: pa.DataType) -> pa.Array:
    """Convert to decimals of one scale, exactly."""
    if (missing | (tags == EXACT + kind.scale)).all():
        words = np.stack([bits, bits >> 63], axis=1)
        valid = None if not missing.any() else pa.array(~missing).buffers()[1]
        return pa.Array.from_buffers(kind, len(bits), [valid, pa.py_buffer(words)])
    return pa.array(_numbers(tags, bits), kind)


def _numbers(tags: Numbers, bits: Numbers) -> list[Decimal | float | None]:
    return [_number(*each) for each in zip(tags.tolist(), bits.tolist(), strict=True)]


def _number(tag: int, number: int) -> Decimal | float | None:
    if tag == NULL:
        return None
    if tag == FLOAT:
        return float(np.int64(number).view(np.float64))
    return Decimal(number).scaleb(-max(tag - EXACT, 0))


def _floats(tags: Numbers, bits: Numbers) -> NDArray[np.float64]:
    found = np.where(tags == FLOAT, bits.view(np.float64), bits.astype(np.float64))
    for place in np.flatnonzero(tags > EXACT):
        found[place] = _number(int(tags[place]), int(bits[place]))
    return found


def _by_values(tags: Numbers, bits: Numbers, missing: Mask) -> pa.Array:
    """A column of numbers of unknown type: floats if any value is, decimals, or integers."""
    if (tags == FLOAT).any():
        return pa.array(_floats(tags, bits), mask=missing)
    if (tags >= EXACT).any():
        return pa.array(_numbers(tags, bits))
    return pa.nulls(len(tags)) if missing.all() else pa.array(bits, mask=missing)


# ---------------------------------------------------------------- columns of series

# The greatest offset in Arrow's lists.
MOST_EVENTS = 2**31 - 1


def row_column(parts: Sequence[Bindings], level: int, component: BoundComponent) -> pa.ChunkedArray:
    """The rows that a component binds, as numbers or lists."""
    numbers = partial(pa.array, type=pa.int64())
    kind = pa.list_(pa.int64()) if component.is_series else pa.int64()
    return pa.chunked_array([event_column(part, level, component, numbers) for part in parts], kind)


def event_column(
    positions: Bindings,
    level: int,
    component: BoundComponent,
    shown: Callable[[Numbers], pa.Array],
) -> pa.Array:
    """The events that a component binds, converted by `shown`, or lists of such."""
    if component.is_series:
        events, ends = positions.of_level(level)
        return pa.ListArray.from_arrays(list_offsets(ends, len(events)), shown(events))
    events, known = positions.one_of_level(level)
    if known.all():
        return shown(events)
    # Only for existing events: a NULL event could change the column's type.
    places = np.where(known, np.cumsum(known) - 1, 0)
    return taken_values(shown(events[known]), places, ~known)


def list_offsets(ends: Numbers, events: int) -> pa.Array:
    """The offsets of lists, from their ends, among `events` entries."""
    if events > MOST_EVENTS:
        in_batches = spelled(
            "read them one batch after the other with to_reader()",
            "write them into a file with -o FILE",
            "write them into a file with .output FILE",
        )
        raise BudgetError(
            f"these matches hold {events:,} events of one component, more than the"
            f" {MOST_EVENTS:,} that a table has room for: {in_batches}, or name the needed columns"
            " in RETURN"
        )
    offsets = np.zeros(len(ends) + 1, np.int32)
    offsets[1:] = ends
    return pa.array(offsets)


def medians(lists: pa.ListArray) -> pa.Array:
    """The median of the numbers of each list; NULL of a list without one."""
    numbers = lists.flatten()
    which = np.repeat(np.arange(len(lists)), lists.value_lengths().fill_null(0).to_numpy())
    values = numbers.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    is_number = ~np.isnan(values)  # as NULLs are
    values, which = values[is_number], which[is_number]
    values = values[np.lexsort((values, which))]
    counts = np.bincount(which, minlength=len(lists))
    starts, is_none = np.cumsum(counts) - counts, counts == 0
    if not len(values):
        return pa.nulls(len(lists), pa.float64())
    lower, upper = (
        values[np.where(is_none, 0, starts + place)] for place in ((counts - 1) // 2, counts // 2)
    )
    with np.errstate(invalid="ignore"):  # of both infinities
        middle = np.where(lower == upper, lower, lower / 2 + upper / 2)
    return pa.array(middle, mask=is_none)


# ---------------------------------------------------------------- group columns


def group_column(
    positions: Bindings,
    level: int,
    number: int,
    component: BoundComponent,
    shown: Callable[[BoundComponent, Numbers], pa.Array],
) -> pa.ListArray:
    """The iterations of the pattern's group `number`; `shown` converts events."""
    assert component.group is not None
    events, _ = positions.of_level(level)
    slots, counts, sizes = _iterations(positions, level, number)
    iteration = np.repeat(np.arange(len(sizes)), sizes)
    fields = {
        each.variable: _field(each, slots == each.index, events, iteration, len(sizes), shown)
        for each in component.group.variables
        if not each.negated
    }
    structs = pa.StructArray.from_arrays(list(fields.values()), list(fields))
    return pa.ListArray.from_arrays(list_offsets(np.cumsum(counts), len(sizes)), structs)


def rows_of_iterations(
    positions: Bindings, level: int, number: int, component: BoundComponent
) -> pa.ListArray:
    """The row numbers of a group's iterations."""
    numbers = partial(pa.array, type=pa.int64())
    return group_column(positions, level, number, component, lambda _, rows: numbers(rows))


def row_type(component: BoundComponent) -> pa.DataType:
    """The type of the row numbers of a repeated group."""
    assert component.group is not None
    kinds = [
        (each.variable, pa.list_(pa.int64()) if each.is_series else pa.int64())
        for each in component.group.variables
        if not each.negated
    ]
    return pa.list_(pa.struct(kinds))


def _iterations(bindings: Bindings, level: int, number: int) -> tuple[Numbers, Numbers, Numbers]:
    """Of one group the slots of its events, the iterations of each match, and their sizes."""
    if bindings.counts is None:  # of branches that have no group
        none = np.empty(0, np.int64)
        return none, np.zeros(bindings.size, np.int64), none
    slots = bindings.slots[bindings.known_states == level]
    if bindings.owners is None:
        groups = np.tile(np.arange(len(bindings.counts)), bindings.size)
        is_own = np.repeat(groups, bindings.counts.T.reshape(-1)) == number
        return slots, bindings.counts[number], bindings.sizes[is_own]
    matches, is_own = (
        np.repeat(np.arange(bindings.size), bindings.iterations),
        bindings.owners == level,
    )
    return slots, np.bincount(matches[is_own], minlength=bindings.size), bindings.sizes[is_own]


def _field(
    variable: BoundComponent,
    is_own: np.typing.NDArray[np.bool_],
    events: Numbers,
    iteration: Numbers,
    iterations: int,
    shown: Callable[[BoundComponent, Numbers], pa.Array],
) -> pa.Array:
    """The events of a variable in each iteration: one or NULL, or a list."""
    own, of = events[is_own], iteration[is_own]
    values = shown(variable, own)
    if variable.is_series:
        ends = np.cumsum(np.bincount(of, minlength=iterations))
        return pa.ListArray.from_arrays(list_offsets(ends, len(own)), values)
    places = np.full(iterations, -1)
    places[of] = np.arange(len(own))
    return taken_values(values, places, places < 0)


# ---------------------------------------------------------------- flat tables


def flattened(table: pa.Table) -> pa.Table:
    """A table with a column for each field of a struct, such as `a_price`.

    Two columns of one name are refused: one would be lost.
    """
    paths: dict[str, str] = {}
    columns = []
    for name, column in zip(table.column_names, table.columns, strict=True):
        for path, part in _parts((name,), column):
            flat_name, written = "_".join(path), ".".join(path)
            if flat_name in paths:
                raise SchemaError(_clash(flat_name, paths[flat_name], written))
            paths[flat_name] = written
            columns.append(part)
    return pa.table(columns, list(paths))


def _parts(
    path: tuple[str, ...], column: pa.ChunkedArray
) -> Iterator[tuple[tuple[str, ...], pa.ChunkedArray]]:
    """A column, or the columns of a struct, with their paths."""
    if not pa.types.is_struct(column.type):
        yield path, column
        return
    names = [field.name for field in column.type]
    for name, part in zip(names, column.flatten(), strict=True):
        yield from _parts((*path, name), part)


def _clash(name: str, one: str, other: str) -> str:
    return (
        f"`{one}` and `{other}` would both be a column `{name}`: give one another name with"
        "  RETURN … AS name  , or write .jsonl, .parquet or .arrow"
    )
