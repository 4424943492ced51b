"""Sort keys and partitions of results, as columns for a second step over all parts."""

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
from sase.engine.operators.bindings.forms import IterationForm
from sase.engine.operators.bindings.iteration_order import last_first, ranks_of
from sase.engine.operators.bindings.unions import BranchLevels
from sase.engine.results.batch import MatchBatch

# The columns of the sort key, of the first and last event, and of the partition.
ORDER, SPAN, PARTITION = "#order", "#span", "#partition"
# The number of leading sort keys: the time of detection, and the time and `seq` of the last event.
HEAD = 3
# The sort key at the end of the events; it is less than any event.
NO_EVENT = -(2**63)
Texts = NDArray[np.object_]
NULL, UNDECLARED = "0", "-"


def sequence(matches: MatchBatch, positions: Numbers) -> Numbers:
    """The numbers that order simultaneous events; for imprecise time, the latest times."""
    name, history = matches.shape.schema.seq, matches.history
    if matches.shape.schema.is_imprecise:
        return history.latest(positions)
    assert name is not None, "the order of results depends on it"
    numbers = history.column(name, history.places(positions), None).cast(pa.int64())
    return np.asarray(numbers.to_numpy())


def heads_of(matches: MatchBatch) -> Numbers:
    """The leading sort keys of each result, and the position of its last event."""
    positions = matches.positions
    last = last_of(positions)
    *_, known = matches.moments(positions)
    times, numbers = matches.history.times(last), sequence(matches, last)
    return np.stack([known, times, numbers, last], axis=1)


def order_of(matches: MatchBatch, heads: Numbers, follows: Numbers, part: int) -> pa.Array:
    """The sort keys of results (docs/semantics.md, Order of results), as lists of integers.

    After the leading keys, a flag says whether the result `follows` one with the same last event.
    The part and the position at the end of the list identify this event.
    """
    positions = matches.positions
    known = [*heads[:, :HEAD].T, follows]
    event = [np.full(len(heads), part, np.int64), heads[:, HEAD]]
    if isinstance(positions, Bindings):
        return _order_of_series(matches, positions, np.stack([*known, *event], axis=1))
    # Among earlier events, the more recent one is first.
    earlier = [
        ~each
        for level in range(len(positions) - 2, -1, -1)
        for each in (matches.history.times(positions[level]), sequence(matches, positions[level]))
    ]
    return _lists([*known, *earlier, *event])


def _order_of_series(matches: MatchBatch, positions: Bindings, known: Numbers) -> pa.Array:
    """The sort keys of matches with any number of events."""
    times = matches.history.times(positions.events)
    sequences = sequence(matches, positions.events)
    keys = []
    # Matches with the same events are ordered by variables, or within one branch by lengths.
    slots = positions.states
    iterations = _iterations(matches, positions)
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


def _iterations(matches: MatchBatch, positions: Bindings) -> list[list[int]] | None:
    """The variables and lengths of iterations of each match, from last to first."""
    if positions.counts is None:
        return None
    components = matches.shape.components
    if positions.branches is None:
        form = IterationForm.of(components)
        positions = BranchLevels.of(0, form, components, components).united(positions)
    ranked = ranks_of(components)[positions.states, positions.slots]
    return [each.tolist() for each in last_first(positions, ranked)]


def span_of(matches: MatchBatch) -> pa.Array:
    """The time and `seq` of the first and of the last event of each result."""
    columns = []
    for positions in (first_of(matches.positions), last_of(matches.positions)):
        columns += [matches.history.times(positions), sequence(matches, positions)]
    return _lists(columns)


def results_of(orders: pa.ListArray) -> Numbers:
    """The leading sort keys in lists of `order_of`, and the part and position of the last event."""
    ends = orders.offsets.to_numpy() - orders.offsets[0].as_py()
    flat = np.asarray(orders.flatten().to_numpy(), np.int64)
    begins, ends = ends[:-1, None], ends[1:, None]
    places = np.concatenate([begins + np.arange(HEAD), ends + np.arange(-2, 0)], axis=1)
    return np.asarray(flat[places])


def _lists(columns: Sequence[Numbers]) -> pa.Array:
    """Combine columns of integers into lists of the same length."""
    flat = np.stack(columns, axis=1)
    offsets = np.arange(0, flat.size + 1, flat.shape[1], dtype=np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(flat.ravel()))


# ---------------------------------------------------------------- partitions


def partitions_of(matches: MatchBatch, tests: Sequence[EquivalenceTest]) -> pa.Array:
    """The partition of each match by the original tests; one for all matches without tests."""
    known = [_agreed(matches, test) for test in tests]
    if len(known) == 1:
        return pa.array(known[0], pa.string())
    rows = zip(*known, strict=True) if known else [()] * len(matches)
    texts = ("".join(f"{len(each)}:{each}" for each in row) for row in rows)
    return pa.array(texts, pa.string(), size=len(matches))


def _agreed(matches: MatchBatch, test: EquivalenceTest) -> Texts:
    """The value on which the events of each match agree, from any event that declares it."""
    bound = as_bindings(matches.positions)
    if test.is_declared_by(matches.shape.components):
        return _values(matches, test.attribute, bound.first)
    texts = _values(matches, test.attribute, bound.events)
    if not len(texts):
        return texts
    rank = np.where(texts == UNDECLARED, 0, np.where(texts == NULL, 1, 2)).astype(np.int64)
    behind = np.arange(len(texts))[::-1]
    # The first event with the best value: a value before NULL, NULL before undeclared.
    best = np.maximum.reduceat(rank * len(texts) + behind, bound.begins)
    agreed: Texts = texts[::-1][best % len(texts)]
    return agreed


def _values(matches: MatchBatch, name: str, positions: Numbers) -> Texts:
    """An attribute of the events at positions."""
    history, schema = matches.history, matches.shape.schema
    texts = np.full(len(positions), UNDECLARED, np.object_)
    if schema.type_names is None:
        return _column(matches, name, positions, None)
    # One type at a time, because columns of the same name may have different types in tables.
    for type_name in schema.type_names:
        if schema.declares(type_name, name):
            at = np.flatnonzero(history.is_type(positions, frozenset([type_name])))
            if len(at):
                texts[at] = _column(matches, name, positions[at], type_name)
    return texts


def _column(matches: MatchBatch, name: str, positions: Numbers, type_name: str | None) -> Texts:
    types = None if type_name is None else (type_name,)
    values = matches.history.column(name, matches.history.places(positions), types).combine_chunks()
    if not pa.types.is_dictionary(values.type):
        values = values.dictionary_encode()
    distinct = [*map(_text, values.dictionary.to_pylist()), NULL]
    places = values.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
    texts: Texts = np.array(distinct, np.object_)[places]
    return texts


def _text(value: Any) -> str:
    """A text that is equal for equal values of any types."""
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
