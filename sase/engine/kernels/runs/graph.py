"""An automaton that is given as data, and what of it a run knows where it is.

A state stands for a component. Of a repeated group the elements of every branch have states, and
edges lead from the last ones of an iteration to the first ones of the next. Of a set each member
has one, with edges to all of them: which may be taken a run knows by what it holds (SES).

    SEQ(X x, (SEQ(A a, B b))+ g[], Y y)        x ──► a ──► b ──► y
                                                     ▲     │
                                                     └─────┘  another iteration

A kernel that is compiled without groups, or without members of sets, has nothing of either.
"""

from __future__ import annotations

from typing import NamedTuple

from sase.engine.kernels.jit.compiler import inlined
from sase.engine.kernels.jit.signatures import IntRows, Ints, OutIntRows
from sase.engine.kernels.kleene import run_nodes as nodes
from sase.engine.kernels.kleene.run_nodes import Machine
from sase.engine.kernels.kleene.transitions import programs_hold
from sase.engine.kernels.sentinels import NOTHING

# Of a state, in `states`: the least and the most events, whether it is a series; its group, or
# NOTHING; the words of the iterations of that (how many, and the node before the one at hand);
# its level, its branch and its slot; its rank among variables; where its edges begin and end, and
# where those of matches that end there; the most iterations of its group, or NOTHING. Of a member
# of a set the states of that as bits, the word of how many events it has, and that of the node
# before the set, or NOTHING. Whether something else may follow, and as bits the states that may be
# begun next, and that may take an event. The last row is the root's.
LEAST, MOST, SERIES, GROUP_OF, COUNT_AT, BEFORE_AT, LEVEL_OF, BRANCH, SLOT, RANK = range(10)
FIRST_EDGE, LAST_EDGE, FIRST_END, LAST_END, MOST_ITERATIONS = range(10, 15)
MEMBERS, HELD_AT, ENTRY_AT, IS_FOLLOWED, NEXT_BEGINS, NEXT_TAKES = range(15, 21)
# Of an edge, in `edges`: the state that it leads to, and the moment there; whether that goes on
# with a series; whether it begins an iteration; the word of a count of iterations, or NOTHING, and
# the least and the most that it may be; the checks at the node before, and those at the new one;
# whether a run that can bind by it waits for that; whether it stays inside of a set.
TARGET, MOMENT, IS_TAKE, BEGINS, COUNTED, AT_LEAST, AT_MOST = range(7)
CHECKS, CHECKS_END, LATER, LATER_END, WAITS, INSIDE = range(7, 13)
EDGE_WIDTH = 13
NEVER, WHEN_FULL, ALWAYS = range(3)
# Of a check, in `checks`: its moment, and the word of a count of iterations, or NOTHING: from the
# second one on it is another moment.
ASKED, PHASE_AT = range(2)
# Moments of a state in a pattern with groups: at its first event, at a further one, at its end; the
# same again from the second iteration on.
PHASES = 2 * nodes.MOMENTS

# The words of a node behind those of the tests, where there are groups: two runs of the same events
# are of one class if these are bound to the same variables, and have one identity if iterations are
# the same, too; how many events the iteration at hand has.
CLASS, IDENTITY, SIZE = range(3)
OWN_WORDS = 3
# Then two words of each group: how many iterations, and the node before the one at hand.
WORDS_OF_GROUP = 2
# Changes that only groups have: an event where none is known yet; that of the first iteration.
FIRST_KNOWN, OF_FIRST_ITERATION = -1, -2
# The words of members of sets: as bits those that have events; those that can bind more; those that
# are below their least; and the node before. Then the node before each set, and counts of series.
HELD, OPEN, LACKS, BEFORE = range(4)
WORDS_OF_MEMBERS = 4


class RunGraph(NamedTuple):
    """States, edges, and the checks that these ask."""

    states: IntRows
    edges: IntRows
    checks: IntRows


class Groups(NamedTuple):
    """The words of a group that are new in each of its iterations; the first own word of nodes.

    A row has the group, and the begin and end of a range.
    """

    fresh: IntRows
    at: int


class Members(NamedTuple):
    """Of each condition the members of sets that it awaits, as bits; the first word of nodes."""

    awaited: Ints
    at: int


@inlined
def state_of(graph: RunGraph, cells: OutIntRows, node: int) -> int:
    """The state of a node, or of the root."""
    return int(graph.states.shape[0] - 1 if node == nodes.ROOT else cells[node, nodes.LEVEL])


@inlined
def can_grow(
    graph: RunGraph, members: Members | None, cells: OutIntRows, node: int, state: int
) -> bool:
    """Whether the component of a node, or a member of its set, can bind more."""
    own = graph.states[state]
    if members is not None and own[MEMBERS] != 0:
        return bool((cells[node, members.at + OPEN] & own[MEMBERS]) != 0)
    return bool(own[SERIES] == 1 and (own[MOST] < 0 or cells[node, nodes.LENGTH] < own[MOST]))


@inlined
def can_repeat(graph: RunGraph, cells: OutIntRows, node: int, state: int) -> bool:
    """Whether a state is in a group that is below its maximum."""
    own = graph.states[state]
    if own[GROUP_OF] == NOTHING:
        return False
    return bool(own[MOST_ITERATIONS] < 0 or cells[node, own[COUNT_AT]] < own[MOST_ITERATIONS])


@inlined
def counted(graph: RunGraph, cells: OutIntRows, node: int) -> int:
    """Return the length of the series that a run is inside of, as far as it matters."""
    own, length = graph.states[cells[node, nodes.LEVEL]], cells[node, nodes.LENGTH]
    return int(length if own[MOST] >= 0 else min(length, max(own[LEAST], 1)))


@inlined
def may_go_on(
    graph: RunGraph, groups: Groups | None, members: Members | None, cells: OutIntRows, node: int
) -> bool:
    """Whether a node may have more events behind it, so that it is a run."""
    state = cells[node, nodes.LEVEL]
    if graph.states[state, IS_FOLLOWED] == 1 or can_grow(graph, members, cells, node, state):
        return True
    if groups is not None:
        return can_repeat(graph, cells, node, state)
    return False


@inlined
def is_finished(
    graph: RunGraph, members: Members | None, cells: OutIntRows, node: int, state: int
) -> bool:
    """Whether the component of a node, or each member of its set, has as many events as it must."""
    own = graph.states[state]
    if members is not None and own[MEMBERS] != 0:
        return bool((cells[node, members.at + LACKS] & own[MEMBERS]) == 0)
    return bool(cells[node, nodes.LENGTH] >= own[LEAST])


@inlined
def all_hold(
    machine: Machine, graph: RunGraph, groups: Groups | None, cells: OutIntRows, first: int,
    end: int, node: int,
) -> bool:  # fmt: skip
    """Whether the conditions of some checks hold at a node."""
    for number in range(first, end):
        moment = graph.checks[number, ASKED]
        if groups is not None:
            phase = graph.checks[number, PHASE_AT]
            if phase != NOTHING and cells[node, phase] > 1:
                moment += nodes.MOMENTS
        if not programs_hold(machine, cells, moment, node, nodes.NO_EVENT):
            return False
    return True


@inlined
def is_allowed(
    machine: Machine, graph: RunGraph, groups: Groups | None, members: Members | None,
    cells: OutIntRows, node: int, state: int, e: int,
) -> bool:  # fmt: skip
    """Whether a run may take an edge by what it has bound; which members it holds is known."""
    edge = graph.edges[e]
    if members is not None and edge[INSIDE] == 1:
        return True
    if edge[IS_TAKE] == 1:
        most = graph.states[state, MOST]
        return bool(most < 0 or cells[node, nodes.LENGTH] < most)
    if node != nodes.ROOT and not is_finished(graph, members, cells, node, state):
        return False
    if groups is not None and edge[COUNTED] != NOTHING:
        count = cells[node, edge[COUNTED]]
        if count < edge[AT_LEAST] or 0 <= edge[AT_MOST] <= count:
            return False
    return all_hold(machine, graph, groups, cells, edge[CHECKS], edge[CHECKS_END], node)


@inlined
def is_whole(
    machine: Machine, graph: RunGraph, groups: Groups | None, members: Members | None,
    cells: OutIntRows, node: int,
) -> bool:  # fmt: skip
    """Whether all that is bound up to a node is a match."""
    state = cells[node, nodes.LEVEL]
    for e in range(graph.states[state, FIRST_END], graph.states[state, LAST_END]):
        if is_allowed(machine, graph, groups, members, cells, node, state, e):
            return True
    return False
