"""Sort keys and partitions of results, as columns for a second step over those of all parts."""

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
from sase.engine.columns.arrays import Numbers
from sase.engine.operators.bindings.bindings import Bindings, as_bindings, first_of, last_of
from sase.engine.operators.bindings.groups import GroupBindings
from sase.engine.operators.bindings.sets import SetBindings
from sase.engine.operators.bindings.union_iterations import (
    GroupLevels,
    last_first,
    levels_of_events,
    ranks_of,
)
from sase.engine.operators.bindings.unions import UnionBindings
from sase.engine.results.batch import MatchBatch

# What results are ordered by, between which events each lies, and its partition.
ORDER, SPAN, PARTITION = "#order", "#span", "#partition"
# What a result is ordered by first: when it is known, and the time and `seq` of its last event.
HEAD = 3
# Where an event could be named, there is none: it is before all.
NO_EVENT = -(2**63)
Texts = NDArray[np.object_]
NULL, UNDECLARED = "0", "-"


def sequence(found: MatchBatch, positions: Numbers) -> Numbers:
    """The numbers that order simultaneous events, of events by position; or the latest times."""
    name, history = found.shape.schema.seq, found.history
    if found.shape.schema.is_imprecise:
        return history.latest(positions)
    assert name is not None, "the order of results depends on it"
    numbers = history.column(name, history.places(positions), None).cast(pa.int64())
    return np.asarray(numbers.to_numpy())


def heads_of(found: MatchBatch) -> Numbers:
    """The leading sort keys of each result, and the position of its last event."""
    positions = found.positions
    last = last_of(positions)
    *_, known = found.moments(positions)
    times, numbers = found.history.times(last), sequence(found, last)
    return np.stack([known, times, numbers, last], axis=1)


def order_of(found: MatchBatch, heads: Numbers, follows: Numbers, part: int) -> pa.Array:
    """The sort keys of results (docs/semantics.md, Order of results), as lists of integers.

    Behind the head stands whether it `follows` one of the same last event, which the part and the
    position at the end identify.
    """
    positions = found.positions
    known = [*heads[:, :HEAD].T, follows]
    event = [np.full(len(heads), part, np.int64), heads[:, HEAD]]
    if isinstance(positions, Bindings):
        return _order_of_series(found, positions, np.stack([*known, *event], axis=1))
    # Of earlier events the more recent comes first.
    earlier = [
        ~each
        for level in range(len(positions) - 2, -1, -1)
        for each in (found.history.times(positions[level]), sequence(found, positions[level]))
    ]
    return _lists([*known, *earlier, *event])


def _order_of_series(found: MatchBatch, positions: Bindings, known: Numbers) -> pa.Array:
    """The sort keys of matches of any number of events."""
    times = found.history.times(positions.events)
    sequences = sequence(found, positions.events)
    keys = []
    # Of matches with the same events the variables decide, or within one branch the lengths.
    slots = positions.slots if isinstance(positions, UnionBindings | SetBindings) else None
    iterations = _iterations(found, positions)
    for number, (begin, end) in enumerate(zip(positions.begins, positions.ends, strict=True)):
        key = known[number, : HEAD + 1].tolist()
        for place in range(end - 2, begin - 1, -1):
            key += [~times[place], ~sequences[place]]
        key.append(NO_EVENT)
        if iterations is not None:
            key += iterations[number]
        elif slots is None:
            key += positions.lengths[::-1, number].tolist()
        else:
            key += slots[begin:end][::-1].tolist()
        key += known[number, HEAD + 1 :].tolist()
        keys.append(key)
    return pa.array(keys, pa.list_(pa.int64()))


def _iterations(found: MatchBatch, positions: Bindings) -> list[list[int]] | None:
    """Of each match the variables of its events and the lengths of iterations, the last first."""
    components = found.shape.components
    if isinstance(positions, GroupBindings):
        groups = GroupLevels.of(components, components)
        assert groups is not None
        slots = levels_of_events(positions, positions.levels)
        iterations = groups.united(positions)
    elif isinstance(positions, UnionBindings) and positions.iterations is not None:
        slots, iterations = positions.slots, positions.iterations
    else:
        return None
    ranked = ranks_of(components)[slots, iterations.inner]
    return [each.tolist() for each in last_first(positions, ranked, iterations)]


def span_of(found: MatchBatch) -> pa.Array:
    """The time and `seq` of the first event of each result and of the last."""
    columns = []
    for positions in (first_of(found.positions), last_of(found.positions)):
        columns += [found.history.times(positions), sequence(found, positions)]
    return _lists(columns)


def results_of(orders: pa.ListArray) -> Numbers:
    """The leading sort keys in lists of `order_of`, and the part and position of the last event."""
    ends = orders.offsets.to_numpy() - orders.offsets[0].as_py()
    flat = np.asarray(orders.flatten().to_numpy(), np.int64)
    begins, ends = ends[:-1, None], ends[1:, None]
    places = np.concatenate([begins + np.arange(HEAD), ends + np.arange(-2, 0)], axis=1)
    return np.asarray(flat[places])


def _lists(columns: Sequence[Numbers]) -> pa.Array:
    """Columns of integers as one of lists of the same length."""
    flat = np.stack(columns, axis=1)
    offsets = np.arange(0, flat.size + 1, flat.shape[1], dtype=np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(flat.ravel()))


# ---------------------------------------------------------------- partitions


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
    if test.is_declared_by(found.shape.components):
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
        if schema.declares(type_name, name):
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
