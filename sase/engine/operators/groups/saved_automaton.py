"""Check the nodes of an automaton in a checkpoint, beside what is checked of all runs."""

from __future__ import annotations

import numpy as np

from sase.engine.columns.arrays import Numbers
from sase.engine.kernels.groups import automaton as of
from sase.engine.kernels.groups.automaton import NfaGraph
from sase.engine.kernels.kleene import run_nodes as nodes
from sase.engine.kernels.sentinels import NOTHING
from sase.engine.kernels.sets import nodes as set_nodes
from sase.engine.operators.kleene.saved_runs import check_depths, check_runs
from sase.engine.operators.programs.group_states import GroupStates
from sase.engine.operators.sets.saved_sets import check_members
from sase.engine.snapshots.saved_state import MOST_COUNTED, Saved


def check_automaton_runs(
    saved: Saved, runs: nodes.Runs, states: GroupStates, automaton: NfaGraph, built: int
) -> None:
    """Check that nodes follow one another as states do, and know of their iterations."""
    used = check_runs(saved, runs, len(states.states), built, goes_back=True)
    cells = runs.cells
    check_depths(saved, cells, used, lengths=False)
    before = cells[used, nodes.PREVIOUS]
    level, came = cells[used, nodes.LEVEL], cells[before, nodes.LEVEL]
    length, known = cells[used, nodes.LENGTH], cells[before, nodes.LENGTH]
    begins = _check_iterations(saved, cells, used, states)
    is_take = (before != nodes.ROOT) & (level == came) & (length == known + 1) & ~begins
    is_series = automaton.states[level, of.SERIES] == 1
    is_own = is_take & is_series | ~is_take & (length == 1)
    if states.members is not None:
        check_members(saved, cells, used, states.members, by_element=False)
        is_member = automaton.states[level, of.MEMBERS] != 0
        held = cells[before, automaton.sets + set_nodes.HELD]
        is_take = np.where(is_member, (held >> level) & 1 == 1, is_take)
        is_own |= is_member
    saved.check(is_own.all(), "a length is not its own")
    _check_edges(saved, automaton, level, came, is_take, begins)
    own = cells[:, automaton.at : automaton.at + of.OWN_WORDS][used]
    is_counted = (own[:, : of.SIZE] >= 0) & (own[:, : of.SIZE] <= MOST_COUNTED)
    saved.check(is_counted.all(), "a node has no class")
    grouped = automaton.states[level, of.GROUP_OF] >= 0
    size = cells[before, automaton.at + of.SIZE] * ~begins + 1
    saved.check((own[:, of.SIZE] == size * grouped).all(), "an iteration has other events")


def _check_iterations(
    saved: Saved, cells: Numbers, used: Numbers, states: GroupStates
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


def _check_edges(
    saved: Saved,
    automaton: NfaGraph,
    level: Numbers,
    came: Numbers,
    is_take: np.typing.NDArray[np.bool_],
    begins: np.typing.NDArray[np.bool_],
) -> None:
    """Check that an edge leads from each state to the next."""
    known = np.zeros((len(automaton.states), len(automaton.states), 4), np.bool_)
    for state, row in enumerate(automaton.states):
        for edge in automaton.edges[row[of.FIRST_EDGE] : row[of.LAST_EDGE]]:
            kind = 2 * int(edge[of.IS_TAKE]) + int(edge[of.BEGINS])
            known[state, edge[of.TARGET], kind] = True
    saved.check(known[came, level, 2 * is_take + begins].all(), "no edge leads to a state")
