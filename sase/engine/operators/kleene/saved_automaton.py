"""Check the nodes of an automaton in a checkpoint, beside what is checked of all runs."""

from __future__ import annotations

import numpy as np

from sase.engine.columns.arrays import Numbers
from sase.engine.kernels.kleene import run_nodes as nodes
from sase.engine.kernels.runs import graph as of
from sase.engine.kernels.runs.graph import RunGraph
from sase.engine.kernels.sentinels import NOTHING
from sase.engine.operators.kleene.saved_runs import check_depths, check_runs
from sase.engine.operators.programs.pattern_states import PatternStates
from sase.engine.operators.programs.series_program import Automaton
from sase.engine.operators.programs.set_states import SetStates
from sase.engine.snapshots.saved_state import MOST_COUNTED, Saved


def check_automaton_runs(
    saved: Saved, runs: nodes.Runs, states: PatternStates, automaton: Automaton, built: int
) -> None:
    """Check that nodes follow one another as states do, and know of their iterations."""
    graph, groups, members = automaton
    used = check_runs(saved, runs, len(states.states), built, goes_back=True)
    cells = runs.cells
    check_depths(saved, cells, used, lengths=False)
    before = cells[used, nodes.PREVIOUS]
    level, came = cells[used, nodes.LEVEL], cells[before, nodes.LEVEL]
    length, known = cells[used, nodes.LENGTH], cells[before, nodes.LENGTH]
    begins = _check_iterations(saved, cells, used, states)
    is_take = (before != nodes.ROOT) & (level == came) & (length == known + 1) & ~begins
    is_series = graph.states[level, of.SERIES] == 1
    is_own = is_take & is_series | ~is_take & (length == 1)
    if states.members is not None:
        _check_members(saved, cells, used, states.members)
        is_member = graph.states[level, of.MEMBERS] != 0
        held = cells[before, members.at + of.HELD]
        is_take = np.where(is_member, (held >> level) & 1 == 1, is_take)
        is_own |= is_member
    saved.check(is_own.all(), "a length is not its own")
    _check_edges(saved, graph, level, came, is_take, begins)
    if not states.levels:
        return
    own = cells[:, groups.at : groups.at + of.OWN_WORDS][used]
    is_counted = (own[:, : of.SIZE] >= 0) & (own[:, : of.SIZE] <= MOST_COUNTED)
    saved.check(is_counted.all(), "a node has no class")
    grouped = graph.states[level, of.GROUP_OF] >= 0
    size = cells[before, groups.at + of.SIZE] * ~begins + 1
    saved.check((own[:, of.SIZE] == size * grouped).all(), "an iteration has other events")


def _check_iterations(
    saved: Saved, cells: Numbers, used: Numbers, states: PatternStates
) -> np.typing.NDArray[np.bool_]:
    """Check counts of iterations and the nodes before them; the nodes that begin one."""
    begins = np.zeros(len(used), np.bool_)
    before = cells[used, nodes.PREVIOUS]
    numbers = [states.automaton.elements[each.element].group for each in states.states]
    groups = np.array([NOTHING if each is None else each for each in numbers], np.int64)
    own = groups[cells[used, nodes.LEVEL]]
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
    """Check what nodes know of members of sets, which follows from the node before."""
    at, own = states.at, cells[used]
    previous = own[:, nodes.PREVIOUS]
    before, level = cells[previous], own[:, nodes.LEVEL]
    is_member = np.isin(level, list(states.entries))
    words = slice(at, states.words + nodes.HEAD)
    is_kept = (own[:, words] == before[:, words]).all(axis=1)
    saved.check(bool((is_member | is_kept).all()), "what is held changes outside of sets")
    own, previous, before = own[is_member], previous[is_member], before[is_member]
    level = level[is_member]
    held = before[:, at + of.HELD]
    is_further = (held >> level) & 1 == 1
    saved.check((own[:, at + of.HELD] == held | (1 << level)).all(), "members are not those held")
    saved.check((own[:, at + of.BEFORE] == previous).all(), "a node has another one before it")
    length = np.where(is_further, before[:, nodes.LENGTH], 0) + 1
    for series in states.series:
        word, is_own = states.count_at(series), level == series
        saved.check((own[:, word] == before[:, word] + is_own).all(), "a count is another one")
        length[is_own] = own[is_own, word]
    saved.check((own[:, nodes.LENGTH] == length).all(), "a length is not that of its node")
    least = np.array([each.minimum for each in states.components])[level]
    most = np.array([each.maximum or np.iinfo(np.int64).max for each in states.components])[level]
    for word, is_cleared in ((of.LACKS, length >= least), (of.OPEN, length >= most)):
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
        for edge in graph.edges[row[of.FIRST_EDGE] : row[of.LAST_EDGE]]:
            kind = 2 * int(edge[of.IS_TAKE]) + int(edge[of.BEGINS])
            known[state, edge[of.TARGET], kind] = True
    saved.check(known[came, level, 2 * is_take + begins].all(), "no edge leads to a state")
