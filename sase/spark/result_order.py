"""Sort keys of results, as columns for a second step over the results of all parts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sase.engine.operators.bindings import Bindings, ends_of
from sase.engine.results.batch import MatchBatch

Numbers = NDArray[np.int64]
# What results are ordered by, between which events each lies, and its partition.
ORDER, SPAN, PARTITION = "#order", "#span", "#partition"
# What a result is ordered by first: when it is known, and the time and `seq` of its last event.
HEAD = 3
# Where an event could be named, there is none: it is before all.
NO_EVENT = -(2**63)


def sequence(found: MatchBatch, positions: Numbers) -> Numbers:
    """The numbers that order simultaneous events, of events by position."""
    name, history = found.shape.schema.seq, found.history
    assert name is not None, "the order of results depends on it"
    numbers = history.column(name, history.places(positions), None).cast(pa.int64())
    return np.asarray(numbers.to_numpy())


def heads_of(found: MatchBatch) -> Numbers:
    """The leading sort keys of each result, and the position of its last event."""
    positions = found.positions
    _, last = ends_of(positions)
    *_, known = found.moments(positions)
    times, numbers = found.history.times(last), sequence(found, last)
    return np.stack([known, times, numbers, last], axis=1)


def order_of(found: MatchBatch, heads: Numbers, follows: Numbers, part: int) -> pa.Array:
    """The sort keys of results (docs/semantics.md, Order of results), as lists of integers.

    Behind the head stands whether another result of the part with the same last event is before
    it, and at the end the part and the position of that event, which say whether two are the same.
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
    for number, (begin, end) in enumerate(zip(positions.begins, positions.ends, strict=True)):
        key = known[number, : HEAD + 1].tolist()
        for place in range(end - 2, begin - 1, -1):
            key += [~times[place], ~sequences[place]]
        key += [NO_EVENT, *positions.lengths[::-1, number], *known[number, HEAD + 1 :]]
        keys.append(key)
    return pa.array(keys, pa.list_(pa.int64()))


def span_of(found: MatchBatch) -> pa.Array:
    """The time and `seq` of the first event of each result and of the last."""
    columns = []
    for positions in ends_of(found.positions):
        columns += [found.history.times(positions), sequence(found, positions)]
    return _lists(columns)


def results_of(orders: pa.ListArray) -> Numbers:
    """Of each result what it is ordered by first, and the part and the position of its last event.

    These are of lists that `order_of` has made.
    """
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
