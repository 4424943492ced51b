"""An automaton as data, and the words of a node that describe the state of a run.

A state belongs to a component. In a repeated group, the elements of every branch have states, and
edges lead from the last states of an iteration to the first states of the next one. In a set, each
member has a state with edges to all members. The members that a run holds decide which of these
edges it may take (SES).

    SEQ(X x, (SEQ(A a, B b))+ g[], Y y)        x ──► a ──► b ──► y
                                                     ▲     │
                                                     └─────┘  another iteration

A kernel that is compiled without groups, or without members of sets, has no code for them.
"""

from __future__ import annotations

from typing import NamedTuple

from sase.engine.kernels.jit.compiler import inlined
from sase.engine.kernels.jit.signatures import IntRows, Ints, OutIntRows
from sase.engine.kernels.kleene import run_nodes as nodes
from sase.engine.kernels.kleene.predicates import programs_hold
from sase.engine.kernels.kleene.run_nodes import Machine
from sase.engine.kernels.sentinels import NOTHING

# The columns of `states`: the least and the most events; whether it is a series; its group, or
# NOTHING; the words of its group (the number of iterations, and the node before the current one);
# its level, its branch and its slot; its rank among variables; the start and the end of its edges,
# and of the edges of matches that end there; the most iterations of its group, or NOTHING. Then,
# for a member of a set: the states of the set as bits; the word of its number of events, and the
# word of the node before the set, or NOTHING. Then whether another event may follow; as bits, the
# states that may begin next, and the states that may take a further event. The last row is the
# root's.
LEAST, MOST, SERIES, GROUP_OF, COUNT_AT, BEFORE_AT, LEVEL_OF, BRANCH, SLOT, RANK = range(10)
FIRST_EDGE, LAST_EDGE, FIRST_END, LAST_END, MOST_ITERATIONS = range(10, 15)
MEMBERS, HELD_AT, ENTRY_AT, IS_FOLLOWED, NEXT_BEGINS, NEXT_TAKES = range(15, 21)
# The columns of `edges`: the target state and its moment; whether the edge continues a series;
# whether it begins an iteration; the word of a count of iterations, or NOTHING, and the least and
# the most of that count; the checks at the node before the edge, and those at the new node; whether
# a run that can bind by the edge waits for that; whether the edge stays inside of a set.
TARGET, MOMENT, IS_TAKE, BEGINS, COUNTED, AT_LEAST, AT_MOST = range(7)
CHECKS, CHECKS_END, LATER, LATER_END, WAITS, INSIDE = range(7, 13)
EDGE_WIDTH = 13
NEVER, WHEN_FULL, ALWAYS = range(3)
# The columns of `checks`: its moment; the word of a count of iterations, or NOTHING. From the
# second iteration on, the moment is MOMENTS later.
ASKED, PHASE_AT = range(2)
# The moments of a state in a pattern with groups: its first event, a further event, its end; then
# the same from the second iteration on.
PHASES = 2 * nodes.MOMENTS

# The words of a node in a pattern with groups, after the words of the tests. Two runs of the same
# events have the same class if these are bound to the same variables. They have the same identity
# if their iterations are equal, too. SIZE is the number of events of the current iteration.
CLASS, IDENTITY, SIZE = range(3)
OWN_WORDS = 3
# Then each group has two words: the number of iterations, and the node before the current one.
WORDS_OF_GROUP = 2
# Changes that exist only with groups: set an event if none is set yet; set it in iteration 1.
FIRST_KNOWN, OF_FIRST_ITERATION = -1, -2
# The words of members of sets. The first three have a bit for each member: it has events; it can
# bind more; it is below its least number. BEFORE is the previous node. The node before each set and
# the counts of series follow.
HELD, OPEN, LACKS, BEFORE = range(4)
WORDS_OF_MEMBERS = 4


class RunGraph(NamedTuple):
    """States, edges, and the checks to which edges refer."""

    states: IntRows
    edges: IntRows
    checks: IntRows


class Groups(NamedTuple):
    """The words to reset in each iteration of a group, and the first word of groups in a node.

    A row of `fresh` has the group, and the start and the end of a range of words.
    """

    fresh: IntRows
    at: int


class Members(NamedTuple):
    """The members of sets that a condition awaits, as bits; the first word of members in nodes."""

    awaited: Ints
    at: int


@inlined
def state_of(graph: RunGraph, cells: OutIntRows, node: int) -> int:
    """Return the state of a node, or of the root."""
    return int(graph.states.shape[0] - 1 if node == nodes.ROOT else cells[node, nodes.LEVEL])


@inlined
def can_grow(
    graph: RunGraph, members: Members | None, cells: OutIntRows, node: int, state: int
) -> bool:
    """Whether the component of a node, or a member of its set, can bind more events."""
    own = graph.states[state]
    if members is not None and own[MEMBERS] != 0:
        return bool((cells[node, members.at + OPEN] & own[MEMBERS]) != 0)
    return bool(own[SERIES] == 1 and (own[MOST] < 0 or cells[node, nodes.LENGTH] < own[MOST]))


@inlined
def can_repeat(graph: RunGraph, cells: OutIntRows, node: int, state: int) -> bool:
    """Whether a state is in a group with fewer iterations than its maximum."""
    own = graph.states[state]
    if own[GROUP_OF] == NOTHING:
        return False
    return bool(own[MOST_ITERATIONS] < 0 or cells[node, own[COUNT_AT]] < own[MOST_ITERATIONS])


@inlined
def counted(graph: RunGraph, cells: OutIntRows, node: int) -> int:
    """Return the length of the series of a node, capped where more events make no difference."""
    own, length = graph.states[cells[node, nodes.LEVEL]], cells[node, nodes.LENGTH]
    return int(length if own[MOST] >= 0 else min(length, max(own[LEAST], 1)))


@inlined
def may_go_on(
    graph: RunGraph, groups: Groups | None, members: Members | None, cells: OutIntRows, node: int
) -> bool:
    """Whether further events may be bound after a node, so that it is a run."""
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
    """Whether the component of a node, or each member of its set, has enough events."""
    own = graph.states[state]
    if members is not None and own[MEMBERS] != 0:
        return bool((cells[node, members.at + LACKS] & own[MEMBERS]) == 0)
    return bool(cells[node, nodes.LENGTH] >= own[LEAST])


@inlined
def all_hold(
    machine: Machine, graph: RunGraph, groups: Groups | None, cells: OutIntRows, first: int,
    end: int, node: int,
) -> bool:  # fmt: skip
    """Whether the conditions of a range of checks hold at a node."""
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
    """Whether a run may take an edge; `extend` has already checked edges inside of a set."""
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
    """Whether the events up to a node are a match."""
    state = cells[node, nodes.LEVEL]
    for e in range(graph.states[state, FIRST_END], graph.states[state, LAST_END]):
        if is_allowed(machine, graph, groups, members, cells, node, state, e):
            return True
    return False
