"""Check the nodes of runs in a checkpoint: all numbers that kernels use must be consistent.

root ◄── x1 ◄── a2 ◄── z5     PREVIOUS leads to an earlier event, so every way back ends at
          ▲                   the root. NEEDED counts the nodes and runs that lead to a node,
          └───── a4           so no needed node is freed. The runs of a key are one list.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sase.engine.columns.arrays import Numbers
from sase.engine.kernels.kleene import run_nodes as of
from sase.engine.kernels.runs import graph as graph_of
from sase.engine.kernels.runs.graph import RunGraph
from sase.engine.kernels.sentinels import NOTHING
from sase.engine.operators.programs.pattern_states import PatternStates
from sase.engine.operators.programs.series_program import Automaton
from sase.engine.operators.programs.set_states import SetStates
from sase.engine.snapshots.saved_state import MOST_COUNTED, Saved, lists_of

# The edges of nodes of several runs: the node, and a node before it.
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
    """Check nodes, lists and counts; return the nodes in use. `goes_back` if levels may fall."""
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
    """Check the depths of nodes that have one node before them, and `lengths` of series."""
    before = cells[nodes, of.PREVIOUS]
    depths = np.where(before == of.ROOT, 0, cells[before, of.DEPTH])
    saved.check((cells[nodes, of.DEPTH] == depths + 1).all(), "a depth is not that of its node")
    saved.check_events(cells[nodes, of.FIRST])
    if lengths:
        check_lengths(saved, cells, nodes)


def check_lengths(saved: Saved, cells: Numbers, nodes: Numbers) -> None:
    """Check the place of each node in its series, for nodes of one run."""
    before = cells[nodes, of.PREVIOUS]
    goes_on = (before != of.ROOT) & (cells[before, of.LEVEL] == cells[nodes, of.LEVEL])
    lengths = np.where(goes_on, cells[before, of.LENGTH], 0) + 1
    saved.check((cells[nodes, of.LENGTH] == lengths).all(), "a length is not that of its node")


def _check_nodes(saved: Saved, cells: Numbers, nodes: Numbers, levels: int) -> None:
    """Check the events and levels of nodes, and the nodes before them."""
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
    """Check the runs in the list of each key, and how many nodes and runs need each node."""
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
    """Check that a node of several runs begins no later than the latest node before it."""
    above = np.concatenate([nodes, edges[0]])
    before = np.concatenate([cells[nodes, of.PREVIOUS], edges[1]])
    latest = np.full(len(cells), np.iinfo(np.int64).min)
    np.maximum.at(
        latest, above, np.where(before == of.ROOT, cells[above, of.START], cells[before, of.START])
    )
    saved.check(
        (cells[nodes, of.START] <= latest[nodes]).all(), "a node begins after all before it"
    )


# ---------------------------------------------------------------- states of automata


def check_automaton_runs(
    saved: Saved, runs: of.Runs, states: PatternStates, automaton: Automaton, built: int
) -> None:
    """Check that nodes follow one another as states do, and check their iterations."""
    graph, groups, members = automaton
    used = check_runs(saved, runs, len(states.states), built, goes_back=True)
    cells = runs.cells
    check_depths(saved, cells, used, lengths=False)
    before = cells[used, of.PREVIOUS]
    level, came = cells[used, of.LEVEL], cells[before, of.LEVEL]
    length, known = cells[used, of.LENGTH], cells[before, of.LENGTH]
    begins = _check_iterations(saved, cells, used, states)
    is_take = (before != of.ROOT) & (level == came) & (length == known + 1) & ~begins
    is_series = graph.states[level, graph_of.SERIES] == 1
    is_own = is_take & is_series | ~is_take & (length == 1)
    if states.members is not None:
        _check_members(saved, cells, used, states.members)
        is_member = graph.states[level, graph_of.MEMBERS] != 0
        held = cells[before, members.at + graph_of.HELD]
        is_take = np.where(is_member, (held >> level) & 1 == 1, is_take)
        is_own |= is_member
    saved.check(is_own.all(), "a length is not its own")
    _check_edges(saved, graph, level, came, is_take, begins)
    if not states.levels:
        return
    own = cells[:, groups.at : groups.at + graph_of.OWN_WORDS][used]
    is_counted = (own[:, : graph_of.SIZE] >= 0) & (own[:, : graph_of.SIZE] <= MOST_COUNTED)
    saved.check(is_counted.all(), "a node has no class")
    grouped = graph.states[level, graph_of.GROUP_OF] >= 0
    size = cells[before, groups.at + graph_of.SIZE] * ~begins + 1
    saved.check((own[:, graph_of.SIZE] == size * grouped).all(), "an iteration has other events")


def _check_iterations(
    saved: Saved, cells: Numbers, used: Numbers, states: PatternStates
) -> np.typing.NDArray[np.bool_]:
    """Check iteration counts and the nodes before iterations; return which nodes begin one."""
    begins = np.zeros(len(used), np.bool_)
    before = cells[used, of.PREVIOUS]
    numbers = [states.automaton.elements[each.element].group for each in states.states]
    groups = np.array([NOTHING if each is None else each for each in numbers], np.int64)
    own = groups[cells[used, of.LEVEL]]
    for group in range(len(states.levels)):
        count, back = states.count_at(group), states.before_at(group)
        is_new = (cells[used, count] == cells[before, count] + 1) & (cells[used, back] == before)
        is_old = (cells[used, count] == cells[before, count]) & (
            cells[used, back] == cells[before, back]
        )
        saved.check((is_new & (own == group) | is_old).all(), "iterations are counted otherwise")
        is_in = ~is_new & (own == group)
        saved.check((cells[used, count] > 0)[is_in].all(), "an event is of no iteration")
        begins |= is_new & (own == group)
    return begins


def _check_members(saved: Saved, cells: Numbers, used: Numbers, states: SetStates) -> None:
    """Check the words of members of sets, which follow from the node before."""
    at, own = states.at, cells[used]
    previous = own[:, of.PREVIOUS]
    before, level = cells[previous], own[:, of.LEVEL]
    is_member = np.isin(level, list(states.entries))
    words = slice(at, states.words + of.HEAD)
    is_kept = (own[:, words] == before[:, words]).all(axis=1)
    saved.check(bool((is_member | is_kept).all()), "the held values change outside of sets")
    own, previous, before = own[is_member], previous[is_member], before[is_member]
    level = level[is_member]
    held = before[:, at + graph_of.HELD]
    is_further = (held >> level) & 1 == 1
    saved.check(
        (own[:, at + graph_of.HELD] == held | (1 << level)).all(), "members are not those held"
    )
    saved.check(
        (own[:, at + graph_of.BEFORE] == previous).all(), "a node has another one before it"
    )
    length = np.where(is_further, before[:, of.LENGTH], 0) + 1
    for series in states.series:
        word, is_own = states.count_at(series), level == series
        saved.check((own[:, word] == before[:, word] + is_own).all(), "a count is another one")
        length[is_own] = own[is_own, word]
    saved.check((own[:, of.LENGTH] == length).all(), "a length is not that of its node")
    least = np.array([each.minimum for each in states.components])[level]
    most = np.array([each.maximum or np.iinfo(np.int64).max for each in states.components])[level]
    for word, is_cleared in ((graph_of.LACKS, length >= least), (graph_of.OPEN, length >= most)):
        given = before[:, at + word]
        expected = np.where(is_cleared, given & ~(1 << level), given)
        saved.check((own[:, at + word] == expected).all(), "members are open that are not")
    for each in states.sets:
        word = states.entry(each)
        members = sum(1 << n for n in each)
        enters = ((1 << level) & members != 0) & (held & members == 0)
        expected = np.where(enters, previous, before[:, word])
        saved.check((own[:, word] == expected).all(), "a set was entered elsewhere")


def _check_edges(
    saved: Saved,
    graph: RunGraph,
    level: Numbers,
    came: Numbers,
    is_take: np.typing.NDArray[np.bool_],
    begins: np.typing.NDArray[np.bool_],
) -> None:
    """Check that an edge leads from each state to the next."""
    known = np.zeros((len(graph.states), len(graph.states), 4), np.bool_)
    for state, row in enumerate(graph.states):
        for edge in graph.edges[row[graph_of.FIRST_EDGE] : row[graph_of.LAST_EDGE]]:
            kind = 2 * int(edge[graph_of.IS_TAKE]) + int(edge[graph_of.BEGINS])
            known[state, edge[graph_of.TARGET], kind] = True
    saved.check(known[came, level, 2 * is_take + begins].all(), "no edge leads to a state")
