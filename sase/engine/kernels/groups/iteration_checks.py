"""HAVING, RETURN and negation of matches with repeated groups, which are bound once more."""

from __future__ import annotations

from typing import NamedTuple

from sase.engine.kernels.jit.compiler import kernel, linked
from sase.engine.kernels.jit.signatures import OutFlags, OutIntCubes, OutIntRows, OutInts
from sase.engine.kernels.kleene import run_nodes as nodes
from sase.engine.kernels.kleene.predicates import condition_at
from sase.engine.kernels.kleene.residual_checks import is_forbidden
from sase.engine.kernels.kleene.run_nodes import Machine
from sase.engine.kernels.kleene.transitions import programs_hold
from sase.engine.kernels.runs.binding import bind
from sase.engine.kernels.runs.graph import Groups, Members, RunGraph
from sase.engine.kernels.scan.negation_index import Gap, NegativeIndex, Stored
from sase.engine.kernels.sentinels import NOTHING


class GroupMatches(NamedTuple):
    """The matches of `GroupBindings`; `lasts` has room for the last node of each iteration."""

    events: OutInts
    slots: OutInts
    ends: OutInts
    lengths: OutIntRows
    counts: OutIntRows
    sizes: OutInts
    branches: OutInts
    lasts: OutInts


class Shape(NamedTuple):
    """What a match is rebuilt by.

    The automaton; of each level its group, or NOTHING, and its state, or the first of its branches;
    of each branch of a group where its states begin, by slot.
    """

    graph: RunGraph
    words: Groups
    members: Members
    groups: OutInts
    states: OutInts
    branches: OutIntRows


@linked
def rebuilt(
    machine: Machine, shape: Shape, cells: OutIntRows, matches: GroupMatches,
    number: int, iteration: int,
) -> int:  # fmt: skip
    """Bind a match in nodes, of whose iterations this one is the first; return the last node."""
    at = matches.ends[number - 1] if number > 0 else 0
    node = nodes.ROOT
    for level in range(matches.lengths.shape[0]):
        group, count = shape.groups[level], matches.lengths[level, number]
        left, state, branch = 0, shape.states[level], 0
        for place in range(count):
            begins = is_take = False
            if group == NOTHING:
                is_take = place > 0
            else:
                begins = left == 0
                if begins:
                    left, branch = matches.sizes[iteration], matches.branches[iteration]
                    iteration += 1
                state = shape.branches[shape.states[level] + branch, matches.slots[at]]
                is_take = not begins and cells[node, nodes.LEVEL] == state
                left -= 1
                matches.lasts[iteration - 1] = node + 1
            bind(
                machine, shape.graph, shape.words, shape.members, cells, node + 1, node, state,
                matches.events[at], is_take, begins,
            )  # fmt: skip
            node += 1
            at += 1
    return node


@linked
def iterations_of(matches: GroupMatches, number: int) -> int:
    """How many iterations a match has."""
    found = 0
    for group in range(matches.counts.shape[0]):
        found += matches.counts[group, number]
    return found


@kernel
def select_groups(
    machine: Machine, shape: Shape, cells: OutIntRows, matches: GroupMatches,
    keep: OutFlags,
) -> None:  # fmt: skip
    """Whether all conditions hold, for each match."""
    iteration = 0
    for number in range(keep.shape[0]):
        node = rebuilt(machine, shape, cells, matches, number, iteration)
        keep[number] = programs_hold(machine, cells, 0, node, nodes.NO_EVENT)
        iteration += iterations_of(matches, number)


@kernel
def evaluate_groups(
    machine: Machine, shape: Shape, cells: OutIntRows, matches: GroupMatches,
    found: OutIntRows, out: OutIntCubes,
) -> None:  # fmt: skip
    """Write tag and bits of each value of each match; its program leaves it in `found`."""
    iteration = 0
    for number in range(out.shape[1]):
        node = rebuilt(machine, shape, cells, matches, number, iteration)
        for value in range(out.shape[0]):
            condition_at(machine.condition, machine.arrays, cells, value, node, nodes.NO_EVENT)
            out[value, number, 0], out[value, number, 1] = found[0, 0], found[0, 1]
        iteration += iterations_of(matches, number)


@kernel
def forbid_groups(
    machine: Machine, shape: Shape, cells: OutIntRows, matches: GroupMatches,
    ordered: OutInts, index: NegativeIndex, gap: Gap, stored: Stored, at_end: bool, keep: OutFlags,
) -> None:  # fmt: skip
    """Clear `keep` for the matches that an event forbids, those with the gap `at_end` or others.

    Their gaps go by the `ordered` events, while they are bound level by level.
    """
    iteration = 0
    for number in range(keep.shape[0]):
        begin, end = matches.ends[number - 1] if number > 0 else 0, matches.ends[number]
        split = begin
        for level in range(gap.levels[0] + 1):
            split += matches.lengths[level, number]
        if keep[number] and (split == end) == at_end:
            node = rebuilt(machine, shape, cells, matches, number, iteration)
            keep[number] = not is_forbidden(
                machine, cells, node, ordered[begin:end],
                split - begin, index, gap, stored,
            )  # fmt: skip
        iteration += iterations_of(matches, number)


@kernel
def forbid_iterations(
    machine: Machine, shape: Shape, cells: OutIntRows, matches: GroupMatches,
    index: NegativeIndex, gap: Gap, stored: Stored, given: OutInts, place: OutInts, keep: OutFlags,
) -> None:  # fmt: skip
    """Clear `keep` for the matches an iteration of which has an event where there must be none.

    `place`: the group, its level, the branch, and the slots of the elements around. The last of
    `given` is where conditions read the iteration that they are asked of.
    """
    iteration, group, level, branch = 0, place[0], place[1], place[2]
    for number in range(keep.shape[0]):
        behind = iteration + iterations_of(matches, number)
        if keep[number]:
            node, begin = nodes.NO_EVENT, matches.ends[number - 1] if number > 0 else 0
            events = matches.events[begin : matches.ends[number]]
            first = iteration
            for before in range(group):
                first += matches.counts[before, number]
            at = 0
            for before in range(level):
                at += matches.lengths[before, number]
            for each in range(first, first + matches.counts[group, number]):
                end = at + matches.sizes[each]
                if matches.branches[each] == branch and keep[number]:
                    if node == nodes.NO_EVENT:
                        node = rebuilt(machine, shape, cells, matches, number, iteration)
                    split = at
                    while matches.slots[begin + split] != place[4]:
                        split += 1
                    given[given.shape[0] - 1] = matches.lasts[each]
                    keep[number] = not is_forbidden(
                        machine, cells, node, events, split, index, gap, stored
                    )
                at = end
        iteration = behind
