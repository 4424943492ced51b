"""Check the nodes of runs in a checkpoint: every number by which a kernel goes on is what it says.

root ◄── x1 ◄── a2 ◄── z5     PREVIOUS leads to an earlier event, so every way back ends at the
          ▲                   root; NEEDED is how many nodes and runs lead to a node, so that
          └───── a4           none is freed that is needed; runs of a key are a list of their own
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sase.engine.columns.arrays import Numbers
from sase.engine.kernels.kleene import run_nodes as of
from sase.engine.kernels.sentinels import NOTHING
from sase.engine.snapshots.saved_state import MOST_COUNTED, Saved, lists_of

# Edges of nodes that stand for several runs: the node, and one before it.
Edges = tuple[Numbers, Numbers]
NO_EDGES: Edges = (np.zeros(0, np.int64), np.zeros(0, np.int64))


def check_runs(
    saved: Saved,
    runs: of.Runs,
    levels: int,
    built: int,
    edges: Edges = NO_EDGES,
    *,
    goes_back: bool = False,
) -> Numbers:
    """Check nodes, lists and counts; the nodes in use. `goes_back` if levels may fall."""
    cells, state = runs.cells, runs.state
    used = int(state[of.USED])
    cells = cells[:used]
    saved.check(((state >= NOTHING) & (state <= MOST_COUNTED)).all(), "counts are none")
    saved.check(not (state[of.FRESH] or state[of.LOOKED]), "an event is under way")
    is_used = cells[:, of.EVENT] != NOTHING
    is_used[of.ROOT] = False
    nodes = np.flatnonzero(is_used)
    _check_nodes(saved, cells, nodes, levels)
    if not goes_back:
        _check_levels(saved, cells, nodes)
    saved.check((cells[nodes, of.SHOWN] < built).all(), "a match is shown that is not made")
    _check_lists(saved, runs, cells, nodes, edges)
    _check_free(saved, runs, cells, is_used)
    return nodes


def check_depths(saved: Saved, cells: Numbers, nodes: Numbers, *, lengths: bool = True) -> None:
    """Check how many events lead to each node, where one does to each, and `lengths` of series."""
    before = cells[nodes, of.PREVIOUS]
    depths = np.where(before == of.ROOT, 0, cells[before, of.DEPTH])
    saved.check((cells[nodes, of.DEPTH] == depths + 1).all(), "a depth is not that of its node")
    saved.check_events(cells[nodes, of.FIRST])
    if lengths:
        check_lengths(saved, cells, nodes)


def check_lengths(saved: Saved, cells: Numbers, nodes: Numbers) -> None:
    """Check of nodes of one run which event of its series each is."""
    before = cells[nodes, of.PREVIOUS]
    goes_on = (before != of.ROOT) & (cells[before, of.LEVEL] == cells[nodes, of.LEVEL])
    lengths = np.where(goes_on, cells[before, of.LENGTH], 0) + 1
    saved.check((cells[nodes, of.LENGTH] == lengths).all(), "a length is not that of its node")


def _check_nodes(saved: Saved, cells: Numbers, nodes: Numbers, levels: int) -> None:
    """Check the events, levels and ways back of nodes."""
    before = cells[nodes, of.PREVIOUS]
    saved.check_events(cells[nodes, of.EVENT])
    saved.check(((before >= of.ROOT) & (before < len(cells))).all(), "a node leads nowhere")
    known = before != of.ROOT
    earlier = cells[before[known], of.EVENT]
    is_back = (earlier != NOTHING) & (earlier < cells[nodes[known], of.EVENT])
    saved.check(is_back.all(), "a node leads to one that is not before it")
    level, length = cells[nodes, of.LEVEL], cells[nodes, of.LENGTH]
    saved.check(((level >= 0) & (level < levels)).all(), "there is no such level")
    saved.check(((length > 0) & (length <= MOST_COUNTED)).all(), "a length is none")


def _check_levels(saved: Saved, cells: Numbers, nodes: Numbers) -> None:
    """Check that levels never fall."""
    nodes = nodes[cells[nodes, of.PREVIOUS] != of.ROOT]
    falls = cells[cells[nodes, of.PREVIOUS], of.LEVEL] > cells[nodes, of.LEVEL]
    saved.check(not falls.any(), "a level is before one that it is behind")


def _check_lists(saved: Saved, runs: of.Runs, cells: Numbers, nodes: Numbers, edges: Edges) -> None:
    """Check that runs are in the list of their key, and that nodes know what needs them."""
    needs = np.bincount(cells[nodes, of.PREVIOUS], minlength=len(cells))
    needs += np.bincount(edges[1], minlength=len(cells))
    listed = cells[nodes, of.NEEDED] - needs[nodes]
    saved.check(((listed == 0) | (listed == 1)).all(), "a node is needed by more or fewer")
    owners = lists_of(runs.heads, cells[:, of.NEXT], nodes[listed == 1], saved)
    counts = np.bincount(owners, minlength=len(runs.heads))
    saved.check((counts == runs.counts).all(), "a key has more runs or fewer")
    saved.check(runs.state[of.LIVE] == len(owners), "there are more runs or fewer")


def _check_free(saved: Saved, runs: of.Runs, cells: Numbers, is_used: NDArray[np.bool_]) -> None:
    """Check that the list of free nodes has them all."""
    is_used = is_used.copy()
    is_used[of.ROOT] = True
    free = np.flatnonzero(~is_used)
    lists_of(runs.state[of.FREE : of.FREE + 1], cells[:, of.NEXT], free, saved)
    saved.check(runs.state[of.SPARE] == len(free), "there are more free nodes or fewer")


def check_starts(saved: Saved, cells: Numbers, nodes: Numbers, edges: Edges) -> None:
    """Check that of the nodes before one that stands for several, one begins as late as it says."""
    above = np.concatenate([nodes, edges[0]])
    before = np.concatenate([cells[nodes, of.PREVIOUS], edges[1]])
    latest = np.full(len(cells), np.iinfo(np.int64).min)
    np.maximum.at(
        latest, above, np.where(before == of.ROOT, cells[above, of.START], cells[before, of.START])
    )
    saved.check(
        (cells[nodes, of.START] <= latest[nodes]).all(), "a node begins after all before it"
    )
