"""The matches of given ranks where all counts of a frame fit into int64."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sase.engine.kernels.jit.signatures import frozen
from sase.engine.kernels.match_graph.passes import LIMIT
from sase.engine.kernels.match_graph.ranks import Counts, Found, count_paths, descend
from sase.engine.kernels.match_graph.ranks import Wanted as Ranks
from sase.engine.match_graph.binding import Binding
from sase.engine.match_graph.graph import Graph

# Places that are written at a time.
CHUNK = 2**14


class Wanted(NamedTuple):
    """The match of this rank among those that end at a place."""

    end: int
    rank: int


def small_matches(graph: Graph, frame: int, wanted: list[Wanted]) -> list[Binding] | None:
    """The matches of some ranks of a frame, or None if its counts do not fit."""
    low, beyond = int(graph.frames.low[frame]), int(graph.frames.beyond[frame])
    if max(each.rank for each in wanted) > LIMIT:
        return None
    slots, matrix = len(graph.slots), (graph.slots.arrays, graph.stream, graph.links, low)
    shape = (beyond - low, slots)
    counts = Counts(np.empty(shape, np.int64), np.empty((shape[0] + 1, slots), np.int64))
    if not count_paths(*matrix, beyond, counts):
        return None
    ends, ranks = np.array(wanted, np.int64).T
    sought = Ranks(frozen(ends), frozen(ranks))
    lengths = np.zeros((len(wanted), len(graph.slots.levels)), np.int64)
    bounds = np.zeros(len(wanted) + 1, np.int64)
    found = Found(np.empty(max(CHUNK, beyond - low), np.int64), bounds, lengths)
    bindings, done = list[Binding](), 0
    while done < len(wanted):
        bounds[done] = 0
        start, done = done, descend(*matrix, counts, sought, done, found)
        bindings += _bindings(graph, found, start, done)
    return bindings


def _bindings(graph: Graph, found: Found, start: int, stop: int) -> list[Binding]:
    """The matches that are written."""
    places = found.places[: found.bounds[stop]].tolist()
    bounds, lengths = found.bounds[start : stop + 1].tolist(), found.lengths[start:stop].tolist()
    return [
        graph.binding(tuple(places[first:last]), tuple(of))
        for first, last, of in zip(bounds, bounds[1:], lengths, strict=False)
    ]
