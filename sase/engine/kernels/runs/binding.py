"""Bind an event in a node of a run, update the words of the node, and check its conditions."""

from __future__ import annotations

from sase.engine.kernels.jit.compiler import inlined, linked
from sase.engine.kernels.jit.signatures import Ints, OutIntRows
from sase.engine.kernels.kleene import run_nodes as nodes
from sase.engine.kernels.kleene.predicates import (
    change,
    comparison_holds,
    comparisons_hold,
    condition_at,
    note_codes,
    place_event,
    programs_hold,
)
from sase.engine.kernels.kleene.run_nodes import Machine, entry
from sase.engine.kernels.runs import graph as of
from sase.engine.kernels.runs.graph import Groups, Members, RunGraph
from sase.engine.kernels.sentinels import NOTHING


@inlined
def bind(
    machine: Machine, graph: RunGraph, groups: Groups | None, members: Members | None,
    cells: OutIntRows, node: int, before: int, state: int, event: int, is_take: bool, begins: bool,
) -> None:  # fmt: skip
    """Bind an event in a node after another node; `TIE`, `SPOT` and `START` are not set."""
    known, new = cells[before], cells[node]
    place_event(cells, node, before, state, event)
    new[nodes.LENGTH] = known[nodes.LENGTH] + 1 if is_take else 1
    if groups is not None:
        group, size = graph.states[state, of.GROUP_OF], groups.at + of.SIZE
        if begins:
            begin_iteration(groups, cells, node, before, group)
        new[size] = 0 if group == NOTHING else 1 if begins else known[size] + 1
    if members is not None and graph.states[state, of.MEMBERS] != 0:
        hold(graph, members, cells, node, before, state)
    place = event & machine.mask
    note_codes(machine, cells, node, place)
    first, end = entry(machine, nodes.CHANGES_OF, state, 0), nodes.CHANGES_OF
    for number in range(first, entry(machine, end, state + 1, 0)):
        if groups is not None:
            note(machine, number, cells, node, place)
        else:
            change(machine, number, cells, node, place)


@linked
def begin_iteration(groups: Groups, cells: OutIntRows, node: int, before: int, group: int) -> None:
    """Count an iteration, and reset the words that belong to a single iteration."""
    at = groups.at + of.OWN_WORDS + of.WORDS_OF_GROUP * group
    cells[node, at] += 1
    cells[node, at + 1] = before
    for number in range(groups.fresh.shape[0]):
        if groups.fresh[number, 0] == group:
            for word in range(groups.fresh[number, 1], groups.fresh[number, 2]):
                cells[node, word] = cells[nodes.ROOT, word]


@inlined
def note(machine: Machine, number: int, cells: OutIntRows, node: int, place: int) -> None:
    """Apply a change to the words of a new node; some changes exist only with groups."""
    at, words = machine.tables[0, nodes.CHANGES] + number, cells[node]
    kind, word = machine.tables[at, 0], nodes.HEAD + machine.tables[at, 1]
    if kind >= 0:
        change(machine, number, cells, node, place)
    elif kind == of.FIRST_KNOWN:
        if words[word] == NOTHING:
            words[word] = words[nodes.EVENT]
    elif words[machine.tables[at, 2]] == 1:
        words[word] = words[nodes.EVENT]


# ---------------------------------------------------------------- members of sets


@inlined
def hold(
    graph: RunGraph, members: Members, cells: OutIntRows, node: int, before: int, state: int
) -> None:
    """Update the words of a set in a new node, which binds one more event of a member."""
    known, new, own, at = cells[before], cells[node], graph.states[state], members.at
    held, bit, count, count_at = known[at + of.HELD], 1 << state, 1, own[of.HELD_AT]
    if held & bit:
        count += known[nodes.LENGTH] if count_at == NOTHING else known[count_at]
    if count_at != NOTHING:
        new[count_at] = count
    new[nodes.LENGTH] = count
    new[at + of.HELD] = held | bit
    new[at + of.BEFORE] = before
    if count >= own[of.LEAST]:
        new[at + of.LACKS] &= ~bit
    if 0 <= own[of.MOST] <= count:
        new[at + of.OPEN] &= ~bit
    if (held & own[of.MEMBERS]) == 0:
        new[own[of.ENTRY_AT]] = before


@linked
def has_simultaneous(cells: OutIntRows, node: int, state: int) -> bool:
    """Whether an event of a state is bound that is simultaneous with the event of a node."""
    tie = cells[node, nodes.TIE]
    while node != nodes.ROOT and cells[node, nodes.TIE] == tie:
        if cells[node, nodes.LEVEL] == state:
            return True
        node = cells[node, nodes.PREVIOUS]
    return False


@inlined
def may_tie(cells: OutIntRows, node: int, edge: Ints) -> bool:
    """Whether an edge may bind an event that is simultaneous with the event of a node."""
    is_further = edge[of.IS_TAKE] == 1
    return bool(
        edge[of.INSIDE] == 1 and not (is_further and has_simultaneous(cells, node, edge[of.TARGET]))
    )


# ---------------------------------------------------------------- conditions


@inlined
def comparisons_accept(
    machine: Machine, members: Members | None, cells: OutIntRows, moment: int, node: int, event: int
) -> bool:
    """Whether the comparisons of a moment, except those that await members, accept an event."""
    if members is None:
        return comparisons_hold(machine, cells, moment, node, event)
    held = cells[node, members.at + of.HELD]
    for condition in range(
        entry(machine, nodes.MOMENTS_AT, moment, 0), entry(machine, nodes.MOMENTS_AT, moment + 1, 0)
    ):
        check = machine.tables[machine.tables[0, nodes.CHECKS] + condition, nodes.PLAIN :]
        if (
            check[0] > 0
            and (members.awaited[condition] & ~held) == 0
            and not comparison_holds(machine, cells, check, node, event & machine.mask)
        ):
            return False
    return True


@inlined
def programs_accept(
    machine: Machine, members: Members | None, cells: OutIntRows, moment: int, node: int
) -> bool:
    """Whether the other conditions of a moment, except those that await members, hold."""
    if members is None:
        return programs_hold(machine, cells, moment, node, nodes.NO_EVENT)
    held = cells[node, members.at + of.HELD]
    for condition in range(
        entry(machine, nodes.MOMENTS_AT, moment, 0), entry(machine, nodes.MOMENTS_AT, moment + 1, 0)
    ):
        if (
            entry(machine, nodes.CHECKS, condition, nodes.PLAIN) == 0
            and (members.awaited[condition] & ~held) == 0
            and not condition_at(
                machine.condition, machine.arrays, cells, condition, node, nodes.NO_EVENT
            )
        ):
            return False
    return True
