"""The matches that nodes are: which of them are shown, and how they are written."""

from __future__ import annotations

from typing import NamedTuple

from sase.engine.kernels.jit.compiler import inlined, linked
from sase.engine.kernels.jit.signatures import OutIntRows, OutInts
from sase.engine.kernels.kleene import run_nodes as nodes
from sase.engine.kernels.kleene.match_buffer import MatchBuffer
from sase.engine.kernels.kleene.run_nodes import Machine, Runs, free_branch
from sase.engine.kernels.runs import graph as of
from sase.engine.kernels.runs.graph import Groups, Members, RunGraph, is_whole, may_go_on
from sase.engine.kernels.runs.step import HEAD, Ended
from sase.engine.kernels.sentinels import NOTHING


class Listed(NamedTuple):
    """What is written of matches beside their events, where lengths do not tell what these are.

    Of each event its level and the slot of its variable; the event that closed a match, by its
    place among the incoming ones, or NOTHING; iterations by group, and their `sizes` and `branches`
    one after the other. `used` is how many iterations there are.
    """

    levels: OutInts
    slots: OutInts
    closes: OutInts
    counts: OutIntRows
    sizes: OutInts
    branches: OutInts
    used: OutInts


@linked
def write_listed(
    graph: RunGraph, groups: Groups | None, cells: OutIntRows, node: int, close: int,
    written: MatchBuffer, listed: Listed,
) -> bool:  # fmt: skip
    """Write the match that ends with a node, and what ended it, if there is room."""
    count, lengths, last = written.sizes[0], written.lengths, listed.used[0]
    end = written.sizes[1] + cells[node, nodes.DEPTH]
    if count >= written.ends.shape[0] or end > written.events.shape[0]:
        return False
    if groups is not None:
        for group in range(listed.counts.shape[0]):
            at = groups.at + of.OWN_WORDS + of.WORDS_OF_GROUP * group
            listed.counts[group, count] = cells[node, at]
            last += cells[node, at]
        if last > listed.sizes.shape[0]:
            return False
        listed.used[0] = last
    written.ends[count], listed.closes[count] = end, close
    written.sizes[0], written.sizes[1] = count + 1, end
    for level in range(lengths.shape[0]):
        lengths[level, count] = 0
    is_last = True
    while node != nodes.ROOT:
        own, before = graph.states[cells[node, nodes.LEVEL]], cells[node, nodes.PREVIOUS]
        end -= 1
        written.events[end], listed.levels[end] = cells[node, nodes.EVENT], own[of.LEVEL_OF]
        lengths[own[of.LEVEL_OF], count] += 1
        if groups is not None:
            listed.slots[end] = own[of.SLOT]
            is_grouped = own[of.GROUP_OF] != NOTHING
            if is_grouped and is_last:
                last -= 1
                listed.sizes[last] = cells[node, groups.at + of.SIZE]
                listed.branches[last] = own[of.BRANCH]
            is_last = not is_grouped or cells[node, own[of.BEFORE_AT]] == before
        node = before
    return True


@inlined
def is_shown(
    machine: Machine, graph: RunGraph, groups: Groups | None, members: Members | None,
    ended: Ended | None, runs: Runs, place: int,
) -> bool:  # fmt: skip
    """Whether a fresh node is a match by now, and with groups none that one before it is, too."""
    cells, node = runs.cells, runs.fresh[place]
    if ended is not None and may_go_on(graph, groups, members, cells, node):
        return False
    if not is_whole(machine, graph, groups, members, cells, node):
        return False
    if groups is not None:
        at = groups.at + of.IDENTITY
        while place > 0 and cells[runs.fresh[place - 1], at] == cells[node, at]:
            place -= 1
            if is_whole(machine, graph, groups, members, cells, runs.fresh[place]):
                return False
    return True


@inlined
def write_ended(
    graph: RunGraph, groups: Groups | None, runs: Runs, ended: Ended, close: int,
    written: MatchBuffer, listed: Listed,
) -> bool:  # fmt: skip
    """Write the runs that have ended, if there is room, and free them."""
    cells = runs.cells
    while ended.state[HEAD] != NOTHING:
        node = ended.state[HEAD]
        if not write_listed(graph, groups, cells, node, close, written, listed):
            return False
        ended.state[HEAD] = cells[node, nodes.NEXT]
        cells[node, nodes.NEEDED] -= 1
        free_branch(runs, node)
    return True
