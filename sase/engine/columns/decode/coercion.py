"""Coerce Python values, of dicts or decoded text, into columns: an array and the rejected rows.

The kind of a column is the known one, or that of its first value that is not NULL; a column of
integers that also holds floats becomes one of floats. Other values are rejected.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sase.base.paths import path_of
from sase.binding import Schema
from sase.binding.types import UNKNOWN, Kind
from sase.engine.columns.arrow.data_types import data_type
from sase.engine.columns.arrow.input import Input, Inputs, Misfits
from sase.engine.columns.arrow.python_rows import (
    BEYOND,
    NO_FLOAT,
    UNREADABLE,
    ZONES,
    Unreadable,
    array_of,
    first_misfit,
    fits,
    is_zoned,
)
from sase.engine.columns.decode.numbers import INT64, MOST_EXACT
from sase.engine.columns.decode.resolve import type_expected
from sase.engine.columns.decode.roles import ALLOWED
from sase.engine.columns.decode.strings import is_unicode
from sase.engine.columns.decode.timestamps import why_none

# The kinds allowed in a column; empty for any.
Kinds = Collection[Kind]
_KINDS: Mapping[type, Kind] = {
    bool: Kind.BOOLEAN,
    int: Kind.INTEGER,
    float: Kind.FLOAT,
    str: Kind.STRING,
    date: Kind.TIMESTAMP,
    datetime: Kind.TIMESTAMP,
    timedelta: Kind.INTERVAL,
    pa.TimestampScalar: Kind.TIMESTAMP,
    pa.Date32Scalar: Kind.TIMESTAMP,
    Decimal: Kind.DECIMAL,
}
_NUMBERS = (Kind.INTEGER, Kind.FLOAT)
# Arrow accepts integers in columns of these kinds.
_WIDE = (Kind.FLOAT, Kind.DECIMAL)
_BOUNDS = {
    Kind.INTEGER: (int(INT64.min), int(INT64.max), BEYOND),
    Kind.FLOAT: (-MOST_EXACT, MOST_EXACT, NO_FLOAT),
}
NO_UNICODE = "this is not UTF-8: convert it, for example with  iconv -f CP1252 -t UTF-8"
_NO_SCALAR = "no condition can read it: give numbers, strings or truth values"


class Coerced(NamedTuple):
    """A column, NULL where its values are rejected; and the rejected rows by reason."""

    array: pa.Array
    rejects: Misfits = ()


class _Column:
    """The values of a column; rejected ones become NULL."""

    def __init__(self, values: Sequence[Any]) -> None:
        self.values = list(values)
        self.rejects: list[tuple[str, Any]] = []

    def reject(self, reason_of: Callable[[Any], str | None]) -> None:
        """Reject all values that `reason_of` gives a reason against."""
        found: dict[str, list[int]] = {}
        for row, value in enumerate(self.values):
            if value is not None and (why := reason_of(value)) is not None:
                found.setdefault(why, []).append(row)
                self.values[row] = None
        self.rejects += [(why, np.array(rows, np.int64)) for why, rows in found.items()]

    def coerced(self, array: pa.Array) -> Coerced:
        """Return the column with the rejected rows."""
        return Coerced(array, tuple(self.rejects))


def coerce(values: Sequence[Any], kinds: Kinds) -> Coerced:
    """Make a column of one of the kinds; reject values that do not fit."""
    column = _Column(values)
    column.reject(lambda value: value.why if isinstance(value, Unreadable) else None)
    target = _target(map(kind_of, column.values), kinds)
    accepted = _accepted(target)
    mixed = f"the column holds {target.value}s; give it values of one type"
    column.reject(lambda value: None if kind_of(value) in accepted else mixed)
    if target in _BOUNDS:
        low, high, why = _BOUNDS[target]
        column.reject(
            lambda v: why if kind_of(v) is Kind.INTEGER and not low <= int(v) <= high else None
        )
    if target is Kind.TIMESTAMP:
        zoned = next((z for z in map(is_zoned, column.values) if z is not None), None)
        column.reject(lambda value: None if is_zoned(value) in (None, zoned) else ZONES)
    return _made(column)


def _made(column: _Column) -> Coerced:
    """Make the array; reject values that Arrow cannot store together with the earlier ones."""
    values, refused = column.values, set[int]()
    if not fits(values):
        refused = {row for row, value in enumerate(values) if not fits([value])}
    while True:
        kept = [None if row in refused else value for row, value in enumerate(values)]
        try:
            array = array_of(kept)
            break
        except UNREADABLE:
            refused.add(first_misfit(kept))
    if refused:
        why = "it does not go with the values before it: give values of one type"
        column.rejects.append((why, np.array(sorted(refused), np.int64)))
    return column.coerced(array)


def _accepted(kind: Kind) -> Kinds:
    """Return the kinds of the values that fit a column of a kind."""
    return (kind, Kind.INTEGER) if kind in _WIDE else (kind,)


def _target(found: Iterable[Kind | None], kinds: Kinds) -> Kind:
    """Choose the kind of a column for values of the kinds `found`."""
    if len(kinds) == 1:
        return next(iter(kinds))
    known = [kind for kind in dict.fromkeys(found) if kind is not None]
    fitting = [kind for kind in known if (kind in kinds if kinds else kind is not Kind.OTHER)]
    first = fitting[0] if fitting else Kind.OTHER
    if first is Kind.INTEGER:
        return next((kind for kind in fitting if kind in _WIDE), first)
    return first


def kind_of(value: Any) -> Kind | None:
    """Return the kind of a Python value, None for NULL."""
    if value is None:
        return None
    return _KINDS.get(type(value)) or _kind_in_arrow(value)


def _kind_in_arrow(value: Any) -> Kind:
    try:
        return data_type(pa.array([value]).type).kind
    except UNREADABLE:
        return Kind.OTHER


# ---------------------------------------------------------------- columns of a stream of rows


class ColumnKind(NamedTuple):
    """The type and role of a column in a stream of rows, known from earlier values.

    A `fixed` column is the time, type or `seq`: its kind is exact, while other columns may mix
    numbers. `moments` are text that is parsed. A column that is not `read` takes any value.
    """

    type: pa.DataType = pa.null()
    is_read: bool = True
    is_fixed: bool = False
    is_moments: bool = False

    @property
    def is_loose(self) -> bool:
        """Whether values of several kinds may come."""
        kind = data_type(self.type).kind
        return kind is Kind.UNKNOWN or (kind in _NUMBERS and not self.is_fixed)

    @property
    def is_open(self) -> bool:
        """Whether a part of a nested column has no type yet."""
        return pa.types.is_nested(self.type) and "null" in str(self.type)

    def takes(self, found: pa.DataType) -> bool:
        """Whether an array of some type fits this column."""
        if not self.is_read or found == self.type or pa.types.is_null(found):
            return True
        own, other = data_type(self.type), data_type(found)
        if own == UNKNOWN or self.is_open:
            return other.kind is not Kind.OTHER or bool(other.parts)
        if own.kind in _NUMBERS and other.kind in _NUMBERS:
            return not self.is_fixed or own.kind is Kind.FLOAT
        return own == other and own.kind is not Kind.OTHER

    def coerce(self, values: Sequence[Any]) -> Coerced:
        """Make a column of the next values."""
        if self.is_moments:
            return self._moments(values)
        with suppress(*UNREADABLE):
            array = array_of(list(values))
            if self.takes(array.type):
                return Coerced(self._cast(array))
        if not self.is_read:
            return Coerced(pa.array([_shown(value) for value in values], pa.string()))
        column = _Column(values)
        if (nested := self._nested_type(column.values)) is not None:
            column.reject(lambda value: _why_not_nested(value, nested))
            return column.coerced(pa.array(column.values, nested))
        column.reject(_why_no_unicode)
        column.reject(lambda value: _NO_SCALAR if kind_of(value) is Kind.OTHER else None)
        array, rejects = coerce(column.values, self._kinds(column.values))
        return Coerced(self._cast(array), (*column.rejects, *rejects))

    def _nested_type(self, values: Sequence[Any]) -> pa.DataType | None:
        """Return the type of a nested column: its own, or that of values like the first.

        If they differ, it is that of the first one that has a type.
        """
        if pa.types.is_nested(self.type) and not self.is_open:
            return self.type
        first = next((value for value in values if value is not None), None)
        if not isinstance(first, dict | list) or not (self.is_open or pa.types.is_null(self.type)):
            return None
        alike = [value for value in values if isinstance(value, type(first))]
        for some in (alike, *([value] for value in alike)):
            with suppress(*UNREADABLE):
                return array_of(some).type
        return None

    def _moments(self, values: Sequence[Any]) -> Coerced:
        with suppress(*UNREADABLE):
            texts = array_of(list(values))
            if pa.types.is_string(texts.type) or pa.types.is_null(texts.type):
                return Coerced(pc.cast(texts, self.type))
        column = _Column(values)
        column.reject(_why_no_unicode)
        column.reject(lambda value: why_none(value, self.type))
        array = pc.cast(pa.array(column.values, pa.string()), self.type)
        return column.coerced(array) if self.is_read else Coerced(array)

    def _kinds(self, values: Sequence[Any]) -> Kinds:
        """Return the kind that values must have; empty if they are all NULL."""
        kind = data_type(self.type).kind
        if kind is Kind.UNKNOWN:
            first = next((found for found in map(kind_of, values) if found is not None), None)
            if first is None:
                return ()
            kind = first
        if self.is_fixed or kind not in _NUMBERS:
            return (kind,)
        has_floats = any(kind_of(value) is Kind.FLOAT for value in values)
        return (Kind.FLOAT if has_floats else Kind.INTEGER,)

    def _cast(self, array: pa.Array) -> pa.Array:
        """Cast an array to the column's type, except a mix of numbers."""
        if pa.types.is_null(array.type):
            return pa.nulls(len(array), self.type)
        is_free = self.is_loose or self.is_open or not self.is_read
        return array if is_free else array.cast(self.type)


def _why_not_nested(value: Any, kind: pa.DataType) -> str | None:
    try:
        pa.array([value], kind)
    except UNREADABLE:
        return f"the column holds {kind}; give it values of this type"
    return None


def _why_no_unicode(value: Any) -> str | None:
    return NO_UNICODE if isinstance(value, str) and not is_unicode(value) else None


def _shown(value: Any) -> str | None:
    """Convert a value of a column that is not read to text."""
    if value is None or (isinstance(value, str) and is_unicode(value)):
        return value
    return json.dumps(value, default=str)


# ---------------------------------------------------------------- columns of dicts


def coerced_to_describe(
    inputs: Inputs, *, times: Sequence[str], type: str | None, seq: str | None
) -> Inputs:
    """Give unreadable columns of dicts a type, before it is known which ones a query reads."""
    roles = {type: ALLOWED["type"], seq: ALLOWED["seq"]} | dict.fromkeys(times, ALLOWED["time"])
    return _coerced(inputs, lambda table: {name: roles.get(name, ()) for name in table.unreadable})


def coerced_to_load(inputs: Inputs, schema: Schema, names: Iterable[str]) -> Inputs:
    """Coerce the columns of dicts that a query reads to the schema's kinds."""
    roles = _roles(schema, typed=inputs.typed)

    def wanted(table: Input) -> dict[str, Kinds]:
        # A value within a nested column is not coerced: it is an error of its column.
        own = [n for n in names if path_of(n) is None or n in table.source.schema.names]
        expected = {name: type_expected(schema, table, name) for name in own}
        found = {n: () if t == UNKNOWN else (t.kind,) for n, t in expected.items()} | roles
        return {
            name: kinds
            for name, kinds in found.items()
            if name in table.unreadable
            # A data frame has a kind for each column; only values of dicts have their own.
            or (table.is_sparse and _is_of_another_kind(table, name, kinds))
            # A role without a value in these rows.
            or (table.is_sparse and name in roles and table.type_of(name) is None)
        }

    return _coerced(inputs, wanted)


def _roles(schema: Schema, *, typed: bool) -> dict[str, Kinds]:
    """Return the allowed kinds of the columns that every event needs."""
    time = schema.time_type
    allowed: Kinds = ALLOWED["time"] if time == UNKNOWN else (time.kind,)
    found = dict.fromkeys(schema.times, allowed)
    if schema.seq_column is not None:
        found[schema.seq_column] = ALLOWED["seq"]
    if schema.type is not None and not schema.definitions and not typed:
        known_type = dict(schema.columns or ()).get(schema.type, UNKNOWN)
        found[schema.type] = ALLOWED["type"] if known_type == UNKNOWN else (known_type.kind,)
    return found


def _is_of_another_kind(table: Input, name: str, kinds: Kinds) -> bool:
    """Whether a column of dicts that Arrow could read has a type that does not fit."""
    found = table.type_of(name)
    if found is None or len(kinds) != 1 or found == UNKNOWN:
        return False
    (kind,) = kinds
    return found.kind not in _accepted(kind)


def _can_be_coerced(table: Input, name: str, kinds: Kinds) -> bool:
    """Whether the kind of a column is given, or one of its values determines it."""
    assert table.rows is not None
    if len(kinds) == 1:
        return True
    if any(isinstance(row.get(name), Unreadable) for row in table.rows):
        return True  # it can be rejected
    known = {kind_of(row.get(name)) for row in table.rows} - {None, Kind.OTHER}
    return bool(known & set(kinds) if kinds else known)


def _coerced(inputs: Inputs, wanted: Callable[[Input], Mapping[str, Kinds]]) -> Inputs:
    if all(table.rows is None for table in inputs.tables):
        return inputs
    tables = tuple(
        table if table.rows is None else _coerced_table(table, wanted(table))
        for table in inputs.tables
    )
    return replace(inputs, tables=tables)


def _coerced_table(table: Input, wanted: Mapping[str, Kinds]) -> Input:
    """Coerce columns of a table; keep the original values of columns with rejected ones."""
    assert table.rows is not None
    columns = dict(zip(table.source.schema.names, table.source.columns, strict=True))
    misfits: dict[str, Misfits] = {**table.misfits}  # of texts as times
    for name, kinds in wanted.items():
        if name not in table.misfits and _can_be_coerced(table, name, kinds):
            columns[name], misfits[name] = coerce([row.get(name) for row in table.rows], kinds)
    if misfits and "" in columns and not any("" in row for row in table.rows):
        del columns[""]  # a placeholder for the number of rows
    odd = [*table.unreadable, *(name for name, found in misfits.items() if found)]
    texts = {name: [row.get(name) for row in table.rows] for name in odd} | {**table.texts}
    unreadable = {name: e for name, e in table.unreadable.items() if name not in misfits}
    source = pa.table(columns) if misfits else table.source
    return replace(
        table, source=source, unreadable=unreadable, rows=None, misfits=misfits, texts=texts
    )
