"""Check the nodes of runs in a checkpoint: every number by which a kernel goes on is what it says.

root ◄── x1 ◄── a2 ◄── z5     PREVIOUS leads to an earlier event, so every way back ends at the
          ▲                   root; NEEDED is how many nodes and runs lead to a node, so that
          └───── a4           none is freed that is needed; runs of a key are a list of their own
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sase.engine.columns.arrays import Numbers
from sase.engine.kernels.kleene import runs as of
from sase.engine.kernels.kleene.run_nodes import (
    DEPTH,
    EVENT,
    FIRST,
    LENGTH,
    LEVEL,
    NEEDED,
    NEXT,
    PREVIOUS,
    ROOT,
    SHOWN,
    START,
)
from sase.engine.kernels.sentinels import NOTHING
from sase.engine.saved_state import MOST_COUNTED, Saved, lists_of

# Edges of nodes that stand for several runs: the node, and one before it.
Edges = tuple[Numbers, Numbers]
NO_EDGES: Edges = (np.zeros(0, np.int64), np.zeros(0, np.int64))


def check_runs(
    saved: Saved, runs: of.Runs, levels: int, built: int, edges: Edges = NO_EDGES
) -> Numbers:
    """Check nodes, lists and counts; the nodes in use."""
    cells, state = runs.cells, runs.state
    used = int(state[of.USED])
    cells = cells[:used]
    saved.check(((state >= NOTHING) & (state <= MOST_COUNTED)).all(), "counts are none")
    saved.check(not state[of.FRESH] and not state[of.LOOKED], "an event is under way")
    is_used = cells[:, EVENT] != NOTHING
    is_used[ROOT] = False
    nodes = np.flatnonzero(is_used)
    _check_nodes(saved, cells, nodes, levels)
    saved.check((cells[nodes, SHOWN] < max(built, 1)).all(), "a match is shown that is not made")
    _check_lists(saved, runs, cells, nodes, edges)
    _check_free(saved, runs, cells, is_used)
    return nodes


def check_depths(saved: Saved, cells: Numbers, nodes: Numbers) -> None:
    """Check how many events lead to each node, where one does to each."""
    before = cells[nodes, PREVIOUS]
    depths = np.where(before == ROOT, 0, cells[before, DEPTH])
    saved.check((cells[nodes, DEPTH] == depths + 1).all(), "a depth is not that of its node")
    saved.check_events(cells[nodes, FIRST])


def _check_nodes(saved: Saved, cells: Numbers, nodes: Numbers, levels: int) -> None:
    """Check the events, levels and ways back of nodes."""
    before = cells[nodes, PREVIOUS]
    saved.check_events(cells[nodes, EVENT])
    saved.check(((before >= ROOT) & (before < len(cells))).all(), "a node leads nowhere")
    known = before != ROOT
    earlier = cells[before[known], EVENT]
    is_back = (earlier != NOTHING) & (earlier < cells[nodes[known], EVENT])
    saved.check(is_back.all(), "a node leads to one that is not before it")
    level, length = cells[nodes, LEVEL], cells[nodes, LENGTH]
    saved.check(((level >= 0) & (level < levels)).all(), "there is no such level")
    saved.check(((length > 0) & (length <= MOST_COUNTED)).all(), "a length is none")
    falls = cells[before[known], LEVEL] > level[known]
    saved.check(not falls.any(), "a level is before one that it is behind")


def _check_lists(saved: Saved, runs: of.Runs, cells: Numbers, nodes: Numbers, edges: Edges) -> None:
    """Check that runs are in the list of their key, and that nodes know what needs them."""
    needs = np.bincount(cells[nodes, PREVIOUS], minlength=len(cells))
    needs += np.bincount(edges[1], minlength=len(cells))
    listed = cells[nodes, NEEDED] - needs[nodes]
    saved.check(((listed == 0) | (listed == 1)).all(), "a node is needed by more or fewer")
    owners = lists_of(runs.heads, cells[:, NEXT], nodes[listed == 1], saved)
    counts = np.bincount(owners, minlength=len(runs.heads))
    saved.check((counts == runs.counts).all(), "a key has more runs or fewer")
    saved.check(runs.state[of.LIVE] == len(owners), "there are more runs or fewer")


def _check_free(saved: Saved, runs: of.Runs, cells: Numbers, is_used: NDArray[np.bool_]) -> None:
    """Check that the list of free nodes has them all."""
    is_used = is_used.copy()
    is_used[ROOT] = True
    free = np.flatnonzero(~is_used)
    lists_of(runs.state[of.FREE : of.FREE + 1], cells[:, NEXT], free, saved)
    saved.check(runs.state[of.SPARE] == len(free), "there are more free nodes or fewer")


def check_starts(saved: Saved, cells: Numbers, nodes: Numbers, edges: Edges) -> None:
    """Check that of the nodes before one that stands for several, one begins as late as it says."""
    above = np.concatenate([nodes, edges[0]])
    before = np.concatenate([cells[nodes, PREVIOUS], edges[1]])
    latest = np.full(len(cells), np.iinfo(np.int64).min)
    np.maximum.at(
        latest, above, np.where(before == ROOT, cells[above, START], cells[before, START])
    )
    saved.check((cells[nodes, START] <= latest[nodes]).all(), "a node begins after all before it")
