"""An automaton of states that is given as data, and what its runs know beside what all runs do.

A state stands for a component. Of a repeated group the elements of every branch have states, and
edges lead from the last ones of an iteration to the first ones of the next. Of a set each member
has one, with edges to all of them: which may be taken a run knows by what it holds (`sets.nodes`).

    SEQ(X x, (SEQ(A a, B b))+ g[], Y y)        x ──► a ──► b ──► y
                                                     ▲     │
                                                     └─────┘  another iteration
"""

from __future__ import annotations

from typing import NamedTuple

from sase.engine.kernels.jit.compiler import inlined, linked
from sase.engine.kernels.jit.signatures import IntRows, Ints, OutIntRows, OutInts
from sase.engine.kernels.kleene import run_nodes as nodes
from sase.engine.kernels.kleene.run_nodes import Machine
from sase.engine.kernels.kleene.transitions import (
    change,
    note_codes,
    place_event,
    programs_hold,
)
from sase.engine.kernels.sentinels import NOTHING
from sase.engine.kernels.sets import nodes as set_nodes
from sase.engine.kernels.sets.nodes import hold

# Of a state, in `states`: the least and the most events, whether it is a series; its group, or
# NOTHING; the words of the iterations of that (how many, and the node before the one at hand);
# its level, its branch and its slot; its rank among variables; where its edges begin and end, and
# where those of matches that end there; the most iterations of its group, or NOTHING. Of a member
# of a set the states of that as bits, the word of how many events it has, and that of the node
# before the set, or NOTHING. The last row is the root's.
LEAST, MOST, SERIES, GROUP_OF, COUNT_AT, BEFORE_AT, LEVEL_OF, BRANCH, SLOT, RANK = range(10)
FIRST_EDGE, LAST_EDGE, FIRST_END, LAST_END, MOST_ITERATIONS = range(10, 15)
MEMBERS, HELD_AT, ENTRY_AT = range(15, 18)
# Of an edge, in `edges`: the state that it leads to; whether that goes on with a series; whether it
# begins an iteration; the word of a count of iterations, or NOTHING, and the least and the most
# that it may be; the checks at the node before, and those at the new one; whether it begins what a
# run waits for, and whether that is another iteration; whether it stays inside of a set.
TARGET, IS_TAKE, BEGINS, COUNTED, AT_LEAST, AT_MOST, CHECKS, CHECKS_END, LATER, LATER_END = range(
    10
)
IS_FIRST, REPEATS, INSIDE = range(10, 13)
EDGE_WIDTH = 13
# Of a check, in `checks`: its moment, and the word of a count of iterations, or NOTHING: from the
# second one on it is another moment.
MOMENT, PHASE_AT = range(2)
# Moments of a state: at its first event, at a further one, at its end; the same again from the
# second iteration on.
PHASES = 2 * nodes.MOMENTS

# The words of a node behind those of the tests: two runs of the same events are of one class if
# these are bound to the same variables, and have one identity if iterations are the same, too; how
# many events the iteration at hand has.
CLASS, IDENTITY, SIZE = range(3)
OWN_WORDS = 3
# Then two words of each group: how many iterations, and the node before the one at hand.
WORDS_OF_GROUP = 2

# Changes that only automata have: an event where none is known yet; that of the first iteration.
FIRST_KNOWN, OF_FIRST_ITERATION = -1, -2


class NfaGraph(NamedTuple):
    """States, edges, checks, and the words of a group that are new in each of its iterations.

    `fresh` has of each group the begins and ends of ranges of words. `awaited` are of each
    condition the states that must have events. `at` is the first of the words that all nodes have,
    `sets` that of what they hold of sets, NOTHING without any.
    """

    states: IntRows
    edges: IntRows
    checks: IntRows
    fresh: IntRows
    awaited: Ints
    at: int
    sets: int


class GroupBuffer(NamedTuple):
    """Matches: events with levels and slots, where each ends, lengths, and iterations by group.

    `sizes` and `branches` are of the iterations, one after the other. `totals` are how many
    matches, events and iterations there are, and how many matches were written before.
    """

    events: OutInts
    levels: OutInts
    slots: OutInts
    ends: OutInts
    lengths: OutIntRows
    counts: OutIntRows
    sizes: OutInts
    branches: OutInts
    totals: OutInts


# ---------------------------------------------------------------- binding


@inlined
def bind_state(
    machine: Machine, automaton: NfaGraph, cells: OutIntRows, node: int, before: int, state: int,
    event: int, is_take: bool, begins: bool,
) -> None:  # fmt: skip
    """Bind an event in a node after another one; order, place and start are not set."""
    known, new, own = cells[before], cells[node], automaton.states[state]
    place_event(cells, node, before, state, event)
    new[nodes.LENGTH] = known[nodes.LENGTH] + 1 if is_take else 1
    if begins:
        begin_iteration(automaton, cells, node, before, own[GROUP_OF])
    if own[MEMBERS] != 0:
        at, most = automaton.sets, own[MOST]
        hold(cells, node, before, at, state, own[HELD_AT], own[LEAST], most, own[MEMBERS],
             own[ENTRY_AT])  # fmt: skip
    size = automaton.at + SIZE
    new[size] = 0 if own[GROUP_OF] == NOTHING else 1 if begins else known[size] + 1
    place = event & machine.mask
    note_codes(machine, cells, node, place)
    first = nodes.entry(machine, nodes.CHANGES_OF, state, 0)
    for number in range(first, nodes.entry(machine, nodes.CHANGES_OF, state + 1, 0)):
        note(machine, number, cells, node, place)


@linked
def begin_iteration(
    automaton: NfaGraph, cells: OutIntRows, node: int, before: int, group: int
) -> None:
    """Count an iteration, and forget what was known of the one before alone."""
    at = automaton.at + OWN_WORDS + WORDS_OF_GROUP * group
    cells[node, at] += 1
    cells[node, at + 1] = before
    for number in range(automaton.fresh.shape[0]):
        if automaton.fresh[number, 0] == group:
            for word in range(automaton.fresh[number, 1], automaton.fresh[number, 2]):
                cells[node, word] = cells[nodes.ROOT, word]


@inlined
def note(machine: Machine, number: int, cells: OutIntRows, node: int, place: int) -> None:
    """Let a new node know of its own event."""
    at, words = machine.tables[0, nodes.CHANGES] + number, cells[node]
    kind, word = machine.tables[at, 0], nodes.HEAD + machine.tables[at, 1]
    if kind >= 0:
        change(machine, number, cells, node, place)
    elif kind == FIRST_KNOWN:
        if words[word] == NOTHING:
            words[word] = words[nodes.EVENT]
    elif words[machine.tables[at, 2]] == 1:
        words[word] = words[nodes.EVENT]


# ---------------------------------------------------------------- checks


@inlined
def all_hold(
    machine: Machine, automaton: NfaGraph, cells: OutIntRows, first: int, end: int, node: int
) -> bool:
    """Whether the conditions of some checks hold at a node."""
    for number in range(first, end):
        moment, phase = automaton.checks[number, MOMENT], automaton.checks[number, PHASE_AT]
        if phase != NOTHING and cells[node, phase] > 1:
            moment += nodes.MOMENTS
        if not programs_hold(machine, cells, moment, node, nodes.NO_EVENT):
            return False
    return True


@inlined
def is_allowed(machine: Machine, automaton: NfaGraph, cells: OutIntRows, node: int, e: int) -> bool:
    """Whether a run may take an edge by what it has bound."""
    edge, is_root = automaton.edges[e], node == nodes.ROOT
    if edge[INSIDE] == 1:
        bit, held = 1 << edge[TARGET], held_by(automaton, cells, node)
        if edge[IS_TAKE] == 0:
            return bool((held & bit) == 0)
        return bool((held & cells[node, automaton.sets + set_nodes.OPEN] & bit) != 0)
    own = automaton.states[automaton.states.shape[0] - 1 if is_root else cells[node, nodes.LEVEL]]
    if edge[IS_TAKE] == 1:
        return bool(own[MOST] < 0 or cells[node, nodes.LENGTH] < own[MOST])
    if not is_root and not is_finished(automaton, cells, node):
        return False
    if edge[COUNTED] != NOTHING:
        count = cells[node, edge[COUNTED]]
        if count < edge[AT_LEAST] or 0 <= edge[AT_MOST] <= count:
            return False
    return all_hold(machine, automaton, cells, edge[CHECKS], edge[CHECKS_END], node)


@inlined
def held_by(automaton: NfaGraph, cells: OutIntRows, node: int) -> int:
    """As bits the members of sets that have events."""
    if automaton.sets == NOTHING:
        return 0
    return int(cells[node, automaton.sets + set_nodes.HELD])


@inlined
def is_finished(automaton: NfaGraph, cells: OutIntRows, node: int) -> bool:
    """Whether the component of a node, or each member of its set, has as many events as it must."""
    own = automaton.states[cells[node, nodes.LEVEL]]
    if own[MEMBERS] == 0:
        return bool(cells[node, nodes.LENGTH] >= own[LEAST])
    return bool((cells[node, automaton.sets + set_nodes.LACKS] & own[MEMBERS]) == 0)


@inlined
def can_grow(automaton: NfaGraph, cells: OutIntRows, node: int) -> bool:
    """Whether the component of a node, or a member of its set, can bind more."""
    own = automaton.states[cells[node, nodes.LEVEL]]
    if own[MEMBERS] == 0:
        return bool(own[SERIES] == 1 and (own[MOST] < 0 or cells[node, nodes.LENGTH] < own[MOST]))
    return bool((cells[node, automaton.sets + set_nodes.OPEN] & own[MEMBERS]) != 0)


@inlined
def is_whole(machine: Machine, automaton: NfaGraph, cells: OutIntRows, node: int) -> bool:
    """Whether all that is bound up to a node is a match."""
    own = automaton.states[cells[node, nodes.LEVEL]]
    for e in range(own[FIRST_END], own[LAST_END]):
        if is_allowed(machine, automaton, cells, node, e):
            return True
    return False


@inlined
def may_go_on(automaton: NfaGraph, cells: OutIntRows, node: int) -> bool:
    """Whether a node may have more events behind it, so that it is a run."""
    if can_grow(automaton, cells, node):
        return True
    own = automaton.states[cells[node, nodes.LEVEL]]
    for e in range(own[FIRST_EDGE], own[LAST_EDGE]):
        edge = automaton.edges[e]
        if edge[IS_TAKE] == 1 or edge[INSIDE] == 1:
            continue
        if edge[REPEATS] == 0 or edge[AT_MOST] < 0 or cells[node, edge[COUNTED]] < edge[AT_MOST]:
            return True
    return False


# ---------------------------------------------------------------- matches


@linked
def write_groups(automaton: NfaGraph, cells: OutIntRows, node: int, written: GroupBuffer) -> bool:
    """Write the match that ends with a node, if there is room."""
    totals, counts, lengths = written.totals, written.counts, written.lengths
    count, first = totals[0], totals[2]
    end, groups, last = totals[1] + cells[node, nodes.DEPTH], counts.shape[0], first
    for group in range(groups):
        last += cells[node, automaton.at + OWN_WORDS + WORDS_OF_GROUP * group]
    if (
        count >= written.ends.shape[0]
        or end > written.events.shape[0]
        or last > written.sizes.shape[0]
    ):
        return False
    written.ends[count], totals[0], totals[1], totals[2] = end, count + 1, end, last
    for group in range(groups):
        counts[group, count] = cells[node, automaton.at + OWN_WORDS + WORDS_OF_GROUP * group]
    for level in range(lengths.shape[0]):
        lengths[level, count] = 0
    is_last = True
    while node != nodes.ROOT:
        own, end = automaton.states[cells[node, nodes.LEVEL]], end - 1
        written.events[end], written.slots[end] = cells[node, nodes.EVENT], own[SLOT]
        written.levels[end] = own[LEVEL_OF]
        lengths[own[LEVEL_OF], count] += 1
        before, group = cells[node, nodes.PREVIOUS], own[GROUP_OF]
        if group != NOTHING:
            if is_last:
                last -= 1
                written.sizes[last] = cells[node, automaton.at + SIZE]
                written.branches[last] = own[BRANCH]
            is_last = cells[node, own[BEFORE_AT]] == before
        else:
            is_last = True
        node = before
    return True
