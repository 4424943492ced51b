"""Nodes of patterns with sets, whose elements are the single states of an automaton (SES).

An element is a component by itself, or a set, of which a run may bind the members in any order: its
state is the set of members that have events, as bits of levels. A component is a set of one.

    SEQ(SET(C c, P+ p[]), B b)         {} ──c──► {c} ──p──► {c, p} ──b──► ...
                                        └───p──► {p} ──c─────▲
                                                 └p┘ further events of p
"""

from __future__ import annotations

from typing import NamedTuple

from sase.engine.kernels.jit.compiler import inlined, linked
from sase.engine.kernels.jit.signatures import IntRows, Ints, OutIntRows, OutInts
from sase.engine.kernels.kleene import run_nodes as nodes
from sase.engine.kernels.kleene.predicates import condition_at
from sase.engine.kernels.kleene.run_nodes import Machine, entry, least_of, most_of
from sase.engine.kernels.kleene.transitions import (
    comparison_holds,
    note_event,
    place_event,
    programs_hold,
)
from sase.engine.kernels.sentinels import NOTHING

# The words of a node behind those of the tests: as bits the levels that have events; those that can
# bind more; those that are below their least; and the node before.
HELD, OPEN, LACKS, BEFORE = range(4)
OWN_WORDS = 4
# Of an element its first level and the end of its levels; these as bits; whether it may be empty;
# the levels that may be bound next behind it, as bits; whether a match may end with it; the word of
# the node before the set, or NOTHING.
FIRST_LEVEL, END_LEVEL, MEMBERS, EMPTY, ONWARD, ENDS, ENTRY = range(7)
# Of a level its element, the word of how many events it has, or NOTHING where the length of the
# last node says it, and its rank among variables.
ELEMENT, COUNT_AT, RANK = range(3)
LEVEL_WIDTH = 3


class SetGraph(NamedTuple):
    """Elements and levels; of each condition the levels that it awaits; the first own word."""

    elements: IntRows
    levels: IntRows
    awaited: Ints
    at: int


class SetBuffer(NamedTuple):
    """Matches: their events and the levels of these, where each ends, and lengths by level.

    `closes` are the events that ended them, by their places among the incoming ones, or NOTHING.
    `sizes` are how many matches and events there are.
    """

    events: OutInts
    slots: OutInts
    ends: OutInts
    lengths: OutIntRows
    closes: OutInts
    sizes: OutInts


# ---------------------------------------------------------------- binding


@inlined
def hold(
    cells: OutIntRows, node: int, before: int, at: int, level: int, count_at: int, least: int,
    most: int, members: int, entry_at: int,
) -> None:  # fmt: skip
    """Note in a new node what it holds with one event more; its own words begin `at`."""
    known, new, bit = cells[before], cells[node], 1 << level
    held = known[at + HELD]
    count = 1
    if (held >> level) & 1 == 1:
        count += known[nodes.LENGTH] if count_at == NOTHING else known[count_at]
    if count_at != NOTHING:
        new[count_at] = count
    new[nodes.LENGTH] = count
    new[at + HELD] = held | bit
    new[at + BEFORE] = before
    if count >= least:
        new[at + LACKS] &= ~bit
    if 0 <= most <= count:
        new[at + OPEN] &= ~bit
    if entry_at != NOTHING and (held & members) == 0:
        new[entry_at] = before


@inlined
def bind_member(
    machine: Machine, graph: SetGraph, cells: OutIntRows, node: int, before: int, level: int,
    event: int,
) -> None:  # fmt: skip
    """Bind an event in a node after another one; order, place and start are not set."""
    place_event(cells, node, before, level, event)
    element = graph.elements[graph.levels[level, ELEMENT]]
    least, most = least_of(machine, level), most_of(machine, level)
    hold(cells, node, before, graph.at, level, graph.levels[level, COUNT_AT], least, most,
         element[MEMBERS], element[ENTRY])  # fmt: skip
    note_event(machine, cells, node, level, event & machine.mask)


@linked
def has_simultaneous(cells: OutIntRows, node: int, level: int) -> bool:
    """Whether the events that are simultaneous with a node's have one of a level."""
    tie = cells[node, nodes.TIE]
    while node != nodes.ROOT and cells[node, nodes.TIE] == tie:
        if cells[node, nodes.LEVEL] == level:
            return True
        node = cells[node, nodes.PREVIOUS]
    return False


# ---------------------------------------------------------------- conditions


@inlined
def comparisons_accept(
    machine: Machine, graph: SetGraph, cells: OutIntRows, moment: int, node: int, event: int
) -> bool:
    """Whether the comparisons of a moment that await no other member accept an event."""
    for condition in range(
        entry(machine, nodes.MOMENTS_AT, moment, 0), entry(machine, nodes.MOMENTS_AT, moment + 1, 0)
    ):
        check = machine.tables[machine.tables[0, nodes.CHECKS] + condition, nodes.PLAIN :]
        if (
            check[0] > 0
            and (graph.awaited[condition] & ~cells[node, graph.at + HELD]) == 0
            and not comparison_holds(machine, cells, check, node, event & machine.mask)
        ):
            return False
    return True


@inlined
def programs_accept(
    machine: Machine, awaited: Ints, held: int, cells: OutIntRows, moment: int, node: int
) -> bool:
    """Whether the other conditions of a moment that await no other member hold at a node."""
    for condition in range(
        entry(machine, nodes.MOMENTS_AT, moment, 0), entry(machine, nodes.MOMENTS_AT, moment + 1, 0)
    ):
        if (
            entry(machine, nodes.CHECKS, condition, nodes.PLAIN) == 0
            and (awaited[condition] & ~held) == 0
            and not condition_at(
                machine.condition, machine.arrays, cells, condition, node, nodes.NO_EVENT
            )
        ):
            return False
    return True


@inlined
def may_leave(machine: Machine, graph: SetGraph, cells: OutIntRows, node: int) -> bool:
    """Whether the element of a node may be left."""
    element = graph.levels[cells[node, nodes.LEVEL], ELEMENT]
    if cells[node, graph.at + LACKS] & graph.elements[element, MEMBERS]:
        return False
    moment = nodes.MOMENTS * graph.elements[element, FIRST_LEVEL] + nodes.FINISH
    return programs_hold(machine, cells, moment, node, nodes.NO_EVENT)


@inlined
def may_skip(machine: Machine, graph: SetGraph, cells: OutIntRows, node: int, element: int) -> bool:
    """Whether an element may stay empty after a node."""
    if graph.elements[element, EMPTY] == 0:
        return False
    moment = nodes.MOMENTS * graph.elements[element, FIRST_LEVEL] + nodes.FINISH
    return programs_hold(machine, cells, moment, node, nodes.NO_EVENT)


@inlined
def may_bind_more(graph: SetGraph, cells: OutIntRows, node: int) -> bool:
    """Whether a node may have more events behind it, so that it is a run."""
    element = graph.levels[cells[node, nodes.LEVEL], ELEMENT]
    is_last = element == graph.elements.shape[0] - 1
    return not is_last or (cells[node, graph.at + OPEN] & graph.elements[element, MEMBERS]) != 0


@inlined
def is_complete(machine: Machine, graph: SetGraph, cells: OutIntRows, node: int) -> bool:
    """Whether all that is bound up to a node is a match."""
    element = graph.levels[cells[node, nodes.LEVEL], ELEMENT]
    if graph.elements[element, ENDS] == 0 or not may_leave(machine, graph, cells, node):
        return False
    for later in range(element + 1, graph.elements.shape[0]):
        if not may_skip(machine, graph, cells, node, later):
            return False
    return True


# ---------------------------------------------------------------- matches


@inlined
def write_bound(cells: OutIntRows, node: int, close: int, written: SetBuffer) -> bool:
    """Write the match that ends with a node, and what ended it, if there is room."""
    count, end = written.sizes[0], written.sizes[1] + cells[node, nodes.DEPTH]
    lengths = written.lengths
    if count >= written.ends.shape[0] or end > written.events.shape[0]:
        return False
    written.ends[count], written.closes[count] = end, close
    written.sizes[0], written.sizes[1] = count + 1, end
    for level in range(lengths.shape[0]):
        lengths[level, count] = 0
    while node != nodes.ROOT:
        end -= 1
        written.events[end], written.slots[end] = cells[node, nodes.EVENT], cells[node, nodes.LEVEL]
        lengths[cells[node, nodes.LEVEL], count] += 1
        node = cells[node, nodes.PREVIOUS]
    return True
