"""The partition of each match as text, the same in every task: the values that its events agree on.

Codes of keys are those of one matcher, so values are written such that equal ones are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from math import isfinite
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sase.binding.bound import EquivalenceTest
from sase.engine.operators.bindings import as_bindings
from sase.engine.results.batch import MatchBatch

Numbers = NDArray[np.int64]
Texts = NDArray[np.object_]
NULL, UNDECLARED = "0", "-"


def partitions_of(found: MatchBatch, tests: Sequence[EquivalenceTest]) -> pa.Array:
    """The partition of each match by the tests as written; one for all without any."""
    known = [_agreed(found, test) for test in tests]
    if len(known) == 1:
        return pa.array(known[0], pa.string())
    rows = zip(*known, strict=True) if known else [()] * len(found)
    texts = ("".join(f"{len(each)}:{each}" for each in row) for row in rows)
    return pa.array(texts, pa.string(), size=len(found))


def _agreed(found: MatchBatch, test: EquivalenceTest) -> Texts:
    """The value that the events of each match agree on, whichever of them declares it."""
    bound = as_bindings(found.positions)
    if all(test.declared[component.index] for component in found.shape.components):
        return _values(found, test.attribute, bound.first)
    texts = _values(found, test.attribute, bound.events)
    if not len(texts):
        return texts
    rank = np.where(texts == UNDECLARED, 0, np.where(texts == NULL, 1, 2)).astype(np.int64)
    behind = np.arange(len(texts))[::-1]
    # The first of those that say most.
    best = np.maximum.reduceat(rank * len(texts) + behind, bound.begins)
    agreed: Texts = texts[::-1][best % len(texts)]
    return agreed


def _values(found: MatchBatch, name: str, positions: Numbers) -> Texts:
    """An attribute of events by position."""
    history, schema = found.history, found.shape.schema
    texts = np.full(len(positions), UNDECLARED, np.object_)
    if schema.type_names is None:
        return _column(found, name, positions, None)
    # Type by type: the columns of the same name may have other types in other tables.
    for type_name in schema.type_names:
        declared = schema.attributes(type_name)
        if declared is None or name in declared:
            at = np.flatnonzero(history.is_type(positions, frozenset([type_name])))
            if len(at):
                texts[at] = _column(found, name, positions[at], type_name)
    return texts


def _column(found: MatchBatch, name: str, positions: Numbers, type_name: str | None) -> Texts:
    types = None if type_name is None else (type_name,)
    values = found.history.column(name, found.history.places(positions), types).combine_chunks()
    if not pa.types.is_dictionary(values.type):
        values = values.dictionary_encode()
    distinct = [*map(_text, values.dictionary.to_pylist()), NULL]
    places = values.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
    texts: Texts = np.array(distinct, np.object_)[places]
    return texts


def _text(value: Any) -> str:
    """A value such that those that are equal have the same text, of whatever types they are."""
    match value:
        case None:
            return NULL
        case float() if not isfinite(value):
            return NULL if value != value else f"n{value}"
        case int() | float() | Decimal():
            above, below = value.as_integer_ratio()
            return f"n{above}/{below}"
        case datetime():
            moment = value if value.tzinfo is None else value.astimezone(UTC)
            return f"t{moment.replace(tzinfo=None).isoformat()}"
        case date():
            return f"t{value.isoformat()}T00:00:00"
        case str():
            return f"s{value}"
        case bytes():
            return f"x{value.hex()}"
    return repr(value)
