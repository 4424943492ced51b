"""The arcs of the graph, if a condition tests neighbours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sase.engine.kernels.jit.signatures import frozen
from sase.engine.kernels.match_graph.passes import EventPlaces, Links
from sase.engine.match_graph.candidates import CandidateEvents, Edge, Neighbours
from sase.engine.match_graph.options import GraphOptions
from sase.engine.match_graph.slots import SlotAutomaton
from sase.engine.resources import Check, no_check
from sase.errors import BudgetError

INT32, INT64 = 4, 8
NO_LINKS = Links(frozen(np.empty((0, 0), np.int64)), frozen(np.empty(0, np.int32)))


def linked(
    slots: SlotAutomaton,
    stream: EventPlaces,
    partitions: Sequence[CandidateEvents],
    offsets: Sequence[int],
    options: GraphOptions,
    check: Check = no_check,
) -> Links:
    """The arcs of the graph, or none if neighbours are not tested.

    Every pair of events in a window is tested once for each pair of components; only this step
    takes quadratic time and space. The counts use the arcs once for each window start.
    """
    if not slots.pairs or all(each.edge is None for each in partitions):
        return NO_LINKS
    tested = _edge_of_all(partitions, np.asarray(offsets, np.int64))
    bounds, places, kept = [], [], 0
    check(2 * INT64 * len(slots.pairs) * len(stream.before))
    for pair in slots.pairs:
        found, counts = _arcs(stream, _any if pair.tied else tested, pair, options, kept, check)
        bounds.append(kept + np.concatenate([[0], np.cumsum(counts)]))
        places.append(found)
        kept += len(found)
    check(INT32 * kept)
    return Links(frozen(np.stack(bounds)), frozen(np.concatenate(places)))


def _any(
    earlier: NDArray[np.int64], later: NDArray[np.int64], pair: Neighbours
) -> NDArray[np.bool_]:
    """Accept all pairs."""
    return np.ones(len(later), np.bool_)


def _edge_of_all(partitions: Sequence[CandidateEvents], offsets: NDArray[np.int64]) -> Edge:
    """The tests of all partitions as one; pairs come partition by partition."""

    def holds(
        earlier: NDArray[np.int64], later: NDArray[np.int64], pair: Neighbours
    ) -> NDArray[np.bool_]:
        owners = np.searchsorted(offsets, later, side="right") - 1
        changes = np.flatnonzero(np.diff(owners)) + 1
        found = np.ones(len(later), np.bool_)
        for start, stop in pairwise([0, *changes.tolist(), len(later)]):
            edge, offset = partitions[owners[start]].edge, offsets[owners[start]]
            if edge is not None:
                places = earlier[start:stop] - offset, later[start:stop] - offset
                found[start:stop] = edge(*places, pair)
        return found

    return holds


def _arcs(
    stream: EventPlaces,
    edge: Edge,
    pair: Neighbours,
    options: GraphOptions,
    kept: int,
    check: Check,
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """The earlier places of each place, concatenated, and their numbers."""
    former = np.flatnonzero(((stream.begins | stream.takes) >> pair.earlier) & 1)
    entering = stream.takes if pair.further else stream.begins
    targets = np.flatnonzero((entering >> pair.later) & 1)
    lowest = np.maximum(stream.lowest, stream.before) if pair.tied else stream.lowest
    starts = np.searchsorted(former, lowest[targets])
    beyond = targets if pair.tied else stream.before[targets]
    widths = np.maximum(np.searchsorted(former, beyond) - starts, 0)
    counts = np.zeros(len(stream.before), np.int64)
    found = [np.empty(0, np.int32)]
    for chosen in _blocks(widths, options.pairs):
        owners = np.repeat(np.arange(chosen.start, chosen.stop), widths[chosen])
        if not len(owners):
            continue
        check(INT32 * sum(map(len, found)))  # to be concatenated
        offsets = np.cumsum(widths[chosen]) - widths[chosen]
        steps = np.arange(len(owners)) - np.repeat(offsets, widths[chosen])
        sources, ends = former[starts[owners] + steps], targets[owners]
        holds = edge(sources, ends, pair)
        found.append(sources[holds].astype(np.int32))
        counts += np.bincount(ends[holds], minlength=len(counts))
        kept += len(found[-1])
        if kept > options.arcs:
            raise BudgetError(
                f"more than {options.arcs:,} pairs of events may be neighbours in a match of a"
                " compressed set; a shorter window, or a condition that joins fewer events, is"
                " needed"
            )
    return np.concatenate(found), counts


def _blocks(widths: NDArray[np.int64], pairs: int) -> Iterator[slice]:
    """Blocks of targets with about `pairs` pairs, at least one target in each."""
    totals = np.cumsum(widths)
    start = 0
    while start < len(widths):
        done = totals[start - 1] if start else 0
        stop = max(int(np.searchsorted(totals, done + pairs, side="right")), start + 1)
        yield slice(start, stop)
        start = stop
