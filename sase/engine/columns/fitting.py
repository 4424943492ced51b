"""Values of a column of which some came before: those that fit it, and which do not.

Numbers of several kinds go together. A column of which nothing is known takes the kind of the first
value that there is.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from sase.binding.types import UNKNOWN, Kind
from sase.engine.columns.coercion import kind_of, mended
from sase.engine.columns.data_types import data_type
from sase.engine.columns.input import Misfits
from sase.engine.columns.python_rows import UNREADABLE, array_of

NUMBERS = (Kind.INTEGER, Kind.FLOAT)
NOT_UTF8 = "this is not UTF-8: convert it, for example with  iconv -t UTF-8"
NO_MOMENT = "this is no moment in the form of ISO 8601, such as 2026-01-31 12:00:00"
NO_SCALAR = "no condition can read it: give numbers, strings or truth values"
Values = Sequence[Any]


class Known(NamedTuple):
    """What is known of a column.

    A `fixed` one has the role of time, type or `seq`: a value must be of its very kind. The text of
    `moments` is parsed. Of what is not `read` any value will do.
    """

    type: pa.DataType = pa.null()
    is_read: bool = True
    is_fixed: bool = False
    is_moments: bool = False

    @property
    def is_loose(self) -> bool:
        """Whether values of more than one kind may come."""
        kind = data_type(self.type).kind
        return kind is Kind.UNKNOWN or (kind in NUMBERS and not self.is_fixed)

    def takes(self, found: pa.DataType) -> bool:
        """Whether a column of some type is one of this kind."""
        if not self.is_read or found == self.type or pa.types.is_null(found):
            return True
        own, other = data_type(self.type), data_type(found)
        if own == UNKNOWN:
            return other.kind is not Kind.OTHER
        if own.kind in NUMBERS and other.kind in NUMBERS:
            return not self.is_fixed or own.kind is Kind.FLOAT
        return own == other and own.kind is not Kind.OTHER


class Fitted(NamedTuple):
    """A column, NULL where values do not fit; and which do not, and why."""

    array: pa.Array
    misfits: Misfits = ()


def fitted(values: Values, known: Known) -> Fitted:
    """Python values as a column."""
    if known.is_moments:
        return _moments(values, known)
    with suppress(*UNREADABLE):
        array = array_of(list(values))
        if known.takes(array.type):
            return Fitted(_cast(array, known))
    if not known.is_read:
        return Fitted(pa.array([_shown(value) for value in values], pa.string()))
    kept, not_utf8 = apart(values, is_text, NOT_UTF8)
    kept, unreadable = apart(kept, lambda value: kind_of(value) is not Kind.OTHER, NO_SCALAR)
    array, misfits = mended(kept, _kinds(kept, known))
    return Fitted(_cast(array, known), (*not_utf8, *unreadable, *misfits))


def apart(values: Values, is_good: Callable[[Any], bool], why: str) -> tuple[list[Any], Misfits]:
    """The good values, NULL in place of the others, and where those are."""
    import numpy as np

    rows = [row for row, value in enumerate(values) if value is not None and not is_good(value)]
    if not rows:
        return list(values), ()
    kept, gone = list(values), set(rows)
    kept = [None if row in gone else value for row, value in enumerate(kept)]
    return kept, ((why, np.array(rows, np.int64)),)


def is_text(value: Any) -> bool:
    """Whether a value is none, or one of Unicode: bytes that are not UTF-8 stand as surrogates."""
    return not isinstance(value, str) or value.isascii() or not _has_surrogates(value)


def _has_surrogates(text: str) -> bool:
    return any("\ud800" <= letter <= "\udfff" for letter in text)


def _moments(values: Values, known: Known) -> Fitted:
    """Text in the form of moments as moments."""
    with suppress(*UNREADABLE):
        texts = array_of(list(values))
        if pa.types.is_string(texts.type) or pa.types.is_null(texts.type):
            return Fitted(pc.cast(texts, known.type))

    def is_moment(value: Any) -> bool:
        with suppress(*UNREADABLE):
            pc.cast(pa.array([value], pa.string()), known.type)
            return True
        return False

    kept, misfits = apart(values, is_moment, NO_MOMENT)
    array = pc.cast(pa.array(kept, pa.string()), known.type)
    return Fitted(array, misfits if known.is_read else ())


def _kinds(values: Values, known: Known) -> tuple[Kind, ...]:
    """The kind that values must be of; none if the first one says it."""
    kind = data_type(known.type).kind
    if kind is Kind.UNKNOWN:
        first = next((found for found in map(kind_of, values) if found is not None), None)
        if first is None:
            return ()
        kind = first
    if known.is_fixed or kind not in NUMBERS:
        return (kind,)
    has_floats = any(kind_of(value) is Kind.FLOAT for value in values)
    return (Kind.FLOAT if has_floats else Kind.INTEGER,)


def _cast(array: pa.Array, known: Known) -> pa.Array:
    """A column as what it was, except that numbers may be of another kind."""
    if pa.types.is_null(array.type):
        return pa.nulls(len(array), known.type)
    return array if known.is_loose or not known.is_read else array.cast(known.type)


def _shown(value: Any) -> str | None:
    """A value that is no one's of its column, and that nobody reads."""
    if value is None or (isinstance(value, str) and is_text(value)):
        return value
    return json.dumps(value, default=str)


def text_reader(kind: pa.DataType) -> Callable[[str], Any]:
    """What makes a value of a column's kind of a text, and leaves other text as it is."""
    of_kind = data_type(kind).kind
    if of_kind in (*NUMBERS, Kind.UNKNOWN):
        return _number
    if of_kind is Kind.STRING:
        return lambda text: text
    if of_kind is Kind.BOOLEAN:
        return lambda text: {"true": True, "false": False}.get(text.lower(), text)
    return lambda text: _cast_text(text, kind)


def _number(text: str) -> Any:
    if "_" not in text:  # which Python takes, and nobody else
        for kind in (int, float):
            with suppress(ValueError):
                return kind(text)
    return text


def _cast_text(text: str, kind: pa.DataType) -> Any:
    with suppress(*UNREADABLE):
        return pa.scalar(text).cast(kind).as_py()
    return text
