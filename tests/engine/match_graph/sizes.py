"""Pattern and events for which the numbers are known."""

from __future__ import annotations

import numpy as np

from sase.engine.match_graph import CandidateEvents, Edge, MatchSet
from sase.engine.match_graph.options import GRAPH_OPTIONS, GraphOptions
from tests.engine.match_graph.automata import slots_of

SERIES = slots_of(((1, None),))
ENCLOSED = slots_of(((1, 1), (1, None), (1, 1)))


def events(begins: list[int], takes: list[int], edge: Edge | None = None) -> CandidateEvents:
    """Events that follow each other, with the components that they may begin and go on."""
    places = np.arange(len(begins), dtype=np.int64)
    begin, take = np.array(begins, np.int64), np.array(takes, np.int64)
    return CandidateEvents(places, places, places, begin, take, edge)


def series(
    size: int,
    span: int | None = None,
    edge: Edge | None = None,
    options: GraphOptions = GRAPH_OPTIONS,
) -> MatchSet:
    """One Kleene component over events that all fit: 2^size - 1 matches without a window."""
    return MatchSet.over(SERIES, events([1] * size, [1] * size, edge), span, options)


def enclosed(size: int) -> MatchSet:
    """A, `size` events of B, C, for SEQ(A a, B+ b[], C c): 2^size - 1 matches."""
    begins, takes = [1, *[2] * size, 4], [0, *[2] * size, 0]
    return MatchSet.over(ENCLOSED, events(begins, takes))
