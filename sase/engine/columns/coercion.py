"""Columns of dicts in which Arrow finds no one type: the values that fit, and which do not.

What fits is a value of the kind that the query was compiled for. Where that is not known it is the
kind of the first value that is not NULL; floats if it is an integer and floats are among the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from sase.binding import Schema
from sase.binding.types import UNKNOWN, Kind
from sase.engine.columns.arrays import Mask, Numbers
from sase.engine.columns.data_types import data_type
from sase.engine.columns.input import Input, Inputs, Misfits
from sase.engine.columns.numbers import INT64, MOST_EXACT
from sase.engine.columns.python_rows import (
    INSTEAD_OF_GREAT,
    UNREADABLE,
    ZONES,
    Unread,
    array_of,
    first_misfit,
    fits,
    is_zoned,
)
from sase.engine.columns.resolve import type_expected
from sase.engine.columns.roles import ALLOWED

# The kinds that a column may have; any if there are none.
Kinds = Collection[Kind]
_KINDS: Mapping[type, Kind] = {
    bool: Kind.BOOLEAN,
    int: Kind.INTEGER,
    float: Kind.FLOAT,
    str: Kind.STRING,
    date: Kind.TIMESTAMP,
    datetime: Kind.TIMESTAMP,
    timedelta: Kind.INTERVAL,
    Decimal: Kind.DECIMAL,
}
# Arrow takes integers among these.
_WIDE = (Kind.FLOAT, Kind.DECIMAL)
_BEYOND = f"it is beyond the integers of 64 bits: {INSTEAD_OF_GREAT}"
_INEXACT = "no float has this value; give the column as floats"


class Mended(NamedTuple):
    """A column, NULL where its values do not fit; these rows, and why not."""

    array: pa.Array
    misfits: Misfits


def mended_to_describe(inputs: Inputs, *, time: str, type: str | None, seq: str | None) -> Inputs:
    """Inputs whose unreadable columns have a type, before it is known which a query names."""
    roles = {time: ALLOWED["time"], type: ALLOWED["type"], seq: ALLOWED["seq"]}
    return _mended(inputs, lambda table: {name: roles.get(name, ()) for name in table.unreadable})


def mended_to_load(inputs: Inputs, schema: Schema, names: Iterable[str]) -> Inputs:
    """Inputs whose columns that are read have the kind that the schema says."""
    roles = _roles(schema, typed=inputs.typed)

    def wanted(table: Input) -> dict[str, Kinds]:
        found = {name: _kind_expected(schema, table, name) for name in names} | roles
        return {
            name: kinds
            for name, kinds in found.items()
            if name in table.unreadable
            # A frame has its kinds: only of dicts every value says its own.
            or (table.is_sparse and _is_of_another_kind(table, name, kinds))
            # In these few rows.
            or (table.is_sparse and name in roles and table.type_of(name) is None)
        }

    return _mended(inputs, wanted)


def _roles(schema: Schema, *, typed: bool) -> dict[str, Kinds]:
    """The kinds of the columns that every event needs."""
    time = schema.time_type
    found: dict[str, Kinds] = {schema.time: ALLOWED["time"] if time == UNKNOWN else (time.kind,)}
    if schema.seq is not None:
        found[schema.seq] = ALLOWED["seq"]
    if schema.type is not None and not schema.definitions and not typed:
        found[schema.type] = ALLOWED["type"]
    return found


def _kind_expected(schema: Schema, table: Input, name: str) -> Kinds:
    found = type_expected(schema, table, name)
    return () if found == UNKNOWN else (found.kind,)


def _is_of_another_kind(table: Input, name: str, kinds: Kinds) -> bool:
    """Whether a column that Arrow read in dicts holds values that do not fit."""
    found = table.type_of(name)
    if found is None or len(kinds) != 1 or found == UNKNOWN:
        return False
    (kind,) = kinds
    return found.kind not in _accepted(kind)


def _can_be_mended(table: Input, name: str, kinds: Kinds) -> bool:
    """Whether it is known, or a value says, what kind of values there should be."""
    assert table.rows is not None
    if len(kinds) == 1:
        return True
    if any(isinstance(row.get(name), Unread) for row in table.rows):
        return True  # as far as it is a column of no values
    known = {kind_of(row.get(name)) for row in table.rows} - {None, Kind.OTHER}
    return bool(known & set(kinds) if kinds else known)


def _mended(inputs: Inputs, wanted: Callable[[Input], Mapping[str, Kinds]]) -> Inputs:
    if all(table.rows is None for table in inputs.tables):
        return inputs
    tables = tuple(
        table if table.rows is None else _mended_table(table, wanted(table))
        for table in inputs.tables
    )
    return replace(inputs, tables=tables)


def _mended_table(table: Input, wanted: Mapping[str, Kinds]) -> Input:
    """The table with the columns mended; of what is not as it was given the values."""
    assert table.rows is not None
    columns = dict(zip(table.source.schema.names, table.source.columns, strict=True))
    misfits: dict[str, Misfits] = {}
    for name, kinds in wanted.items():
        if _can_be_mended(table, name, kinds):
            columns[name], misfits[name] = mended([row.get(name) for row in table.rows], kinds)
    if misfits and "" in columns and not any("" in row for row in table.rows):
        del columns[""]  # which only said how many rows there are
    odd = [*table.unreadable, *(name for name, found in misfits.items() if found)]
    texts = {name: [row.get(name) for row in table.rows] for name in odd}
    unreadable = {name: e for name, e in table.unreadable.items() if name not in misfits}
    source = pa.RecordBatch.from_pydict(columns) if misfits else table.source
    return replace(
        table, source=source, unreadable=unreadable, rows=None, misfits=misfits, texts=texts
    )


def mended(values: Sequence[Any], kinds: Kinds) -> Mended:
    """A column of Python values as Arrow takes those that fit."""
    found = [kind_of(value) for value in values]
    target = _target(found, kinds)
    accepted = _accepted(target)
    unread = np.array([isinstance(value, Unread) for value in values], np.bool_)
    good = np.array([kind is None or kind in accepted for kind in found], np.bool_) & ~unread
    misfits = [(f"the column holds {target.value}s; give it values of one type", ~good & ~unread)]
    misfits += _reasons(values, np.flatnonzero(unread))
    if target in (Kind.INTEGER, Kind.FLOAT):
        low, high, why = _BOUNDS[target]
        beyond = np.array(
            [
                kind is Kind.INTEGER and not low <= int(value) <= high
                for kind, value in zip(found, values, strict=True)
            ],
            np.bool_,
        )
        misfits.append((why, beyond & good))
        good &= ~beyond
    if target is Kind.TIMESTAMP:
        zoned = [is_zoned(value) for value in values]
        first = next((each for each in zoned if each is not None), None)
        mixed = np.array([each not in (None, first) for each in zoned], np.bool_)
        misfits.append((ZONES, mixed & good))
        good &= ~mixed
    return _made(values, good, misfits)


def _reasons(values: Sequence[Any], unread: Numbers) -> list[tuple[str, Mask]]:
    """Why values could not be read, as those say who tried."""
    found: dict[str, Mask] = {}
    for row in unread:
        found.setdefault(values[row].why, np.zeros(len(values), np.bool_))[row] = True
    return list(found.items())


_BOUNDS = {
    Kind.INTEGER: (int(INT64.min), int(INT64.max), _BEYOND),
    Kind.FLOAT: (-MOST_EXACT, MOST_EXACT, _INEXACT),
}


def _made(values: Sequence[Any], good: Mask, misfits: list[tuple[str, Mask]]) -> Mended:
    """The column, without those values, too, of a kind that fits that Arrow refuses yet."""
    refused = np.zeros(len(values), np.bool_)
    if not fits([value for value, ok in zip(values, good, strict=True) if ok]):
        refused = good & ~np.array([fits([value]) for value in values], np.bool_)
        good &= ~refused
    while True:
        kept = [value if ok else None for value, ok in zip(values, good, strict=True)]
        try:
            array = array_of(kept)
            break
        except UNREADABLE:
            row = first_misfit(kept)
            good[row], refused[row] = False, True
    misfits.append(("it does not go with the values before it: give values of one type", refused))
    return Mended(array, tuple((why, np.flatnonzero(bad)) for why, bad in misfits if bad.any()))


def _accepted(kind: Kind) -> Kinds:
    """The kinds of the values that a column of one kind can hold."""
    return (kind, Kind.INTEGER) if kind in _WIDE else (kind,)


def _target(found: Sequence[Kind | None], kinds: Kinds) -> Kind:
    """The kind that the column has."""
    if len(kinds) == 1:
        return next(iter(kinds))
    known = [kind for kind in dict.fromkeys(found) if kind is not None]
    fitting = [kind for kind in known if (kind in kinds if kinds else kind is not Kind.OTHER)]
    first = fitting[0] if fitting else Kind.OTHER
    if first is Kind.INTEGER:
        return next((kind for kind in fitting if kind in _WIDE), first)
    return first


def kind_of(value: Any) -> Kind | None:
    """The kind of a Python value, None for NULL."""
    if value is None:
        return None
    return _KINDS.get(type(value)) or _kind_in_arrow(value)


def _kind_in_arrow(value: Any) -> Kind:
    try:
        found = data_type(pa.array([value]).type)
    except UNREADABLE:
        return Kind.OTHER
    return found.kind
