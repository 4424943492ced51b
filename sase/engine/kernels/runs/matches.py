"""Matches of runs: which are shown, which runs lead, and how matches are written."""

from __future__ import annotations

from typing import NamedTuple

from sase.engine.kernels.jit.compiler import inlined, linked
from sase.engine.kernels.jit.signatures import IntRows, OutIntRows, OutInts
from sase.engine.kernels.kleene import run_nodes as nodes
from sase.engine.kernels.kleene.match_buffer import MatchBuffer
from sase.engine.kernels.kleene.run_nodes import Machine, Runs, free_branch, remove_run
from sase.engine.kernels.runs import graph as of
from sase.engine.kernels.runs.graph import Groups, Members, RunGraph, counted, is_whole, may_go_on
from sase.engine.kernels.runs.step import HEAD, Ended
from sase.engine.kernels.sentinels import NOTHING

# ---------------------------------------------------------------- leading runs

# Runs are in the order of results. Take a run behind another run at the same state. Both agree in
# all values that are still read, and the run behind has not begun later. An event that makes the
# run behind a match makes the other run a match, too, and that match comes first. So the run behind
# never gives the first match.
#
#     SEQ((SEQ(B b, C c))+ g[], D d)     b1 c2, b3 c4 and b1 c2 b3 c4 all wait for d: the last one
#                                        is behind b3 c4, and has begun before it; so has b1 c2

# The columns of `read`: the word of a node; the number from which on all values are equal, or
# NOTHING; NOTHING, or the word of the node before the current iteration if the value is read there.
WORD, CAP, BACK = range(3)
READ_WIDTH = 3
# The columns of `seen`: the stamp of when a row was filled, and the node.
STAMP, NODE = range(2)
# With fewer runs, no run is dropped.
FEWEST = 4
LOW_HALF, FACTOR = 2**31 - 1, 1_000_003


class LeadingRuns(NamedTuple):
    """The words of nodes that are still read, and a hash table of nodes.

    `read` is empty if rows cannot describe all that is read; then no run is dropped. If two nodes
    need the same place, the later one gets it: then some runs stay that could be dropped.
    """

    read: IntRows
    seen: OutIntRows


@inlined
def known(leading: LeadingRuns, cells: OutIntRows, node: int, row: int) -> int:
    """Return the value of a row at a node, up to its cap."""
    back, cap = leading.read[row, BACK], leading.read[row, CAP]
    value = cells[node if back == NOTHING else cells[node, back], leading.read[row, WORD]]
    return int(value if cap == NOTHING else min(value, cap))


@linked
def place_of(leading: LeadingRuns, graph: RunGraph, cells: OutIntRows, node: int) -> int:
    """Return the place of a node by a hash of its values; the hash cannot overflow int64."""
    found = cells[node, nodes.LEVEL] * FACTOR + (counted(graph, cells, node) & LOW_HALF)
    for row in range(leading.read.shape[0]):
        value = known(leading, cells, node, row)
        found = ((found & LOW_HALF) * FACTOR) ^ ((value ^ (value >> 31)) & LOW_HALF)
    return int((found ^ (found >> 20)) & (leading.seen.shape[0] - 1))


@linked
def go_on_alike(
    leading: LeadingRuns, graph: RunGraph, cells: OutIntRows, one: int, other: int
) -> bool:
    """Whether two nodes agree on their state and on all values that are still read."""
    if cells[one, nodes.LEVEL] != cells[other, nodes.LEVEL]:
        return False
    if counted(graph, cells, one) != counted(graph, cells, other):
        return False
    for row in range(leading.read.shape[0]):
        if known(leading, cells, one, row) != known(leading, cells, other, row):
            return False
    return True


@inlined
def drop_followers(leading: LeadingRuns, graph: RunGraph, runs: Runs, key: int, order: int) -> None:
    """Remove the runs of a partition that cannot give the first match, before an event is applied.

    No run is removed if the last event of one is simultaneous with the event. Such a run cannot
    bind the event, while a run that is otherwise alike can.
    """
    cells, state = runs.cells, runs.state
    if runs.rules.apart != nodes.FIRST_ALONE or leading.read.shape[0] == 0:
        return
    if runs.counts[key] < FEWEST or cells[runs.heads[key], nodes.TIE] >= order:
        return
    state[nodes.GROUPS] += 1
    ahead, node = NOTHING, runs.heads[key]
    while node != NOTHING:
        after = cells[node, nodes.NEXT]
        seen = leading.seen[place_of(leading, graph, cells, node)]
        is_behind = seen[STAMP] == state[nodes.GROUPS] and go_on_alike(
            leading, graph, cells, seen[NODE], node
        )
        if is_behind and cells[seen[NODE], nodes.START] >= cells[node, nodes.START]:
            remove_run(runs, None, key, ahead, node)
            state[nodes.EXPIRED] += 1
        else:
            seen[STAMP], seen[NODE] = state[nodes.GROUPS], node
            ahead = node
        node = after


# ---------------------------------------------------------------- matches


class Listed(NamedTuple):
    """The parts of matches that are written beside their events, where lengths do not give them.

    Each event has its level and the slot of its variable. `closes` is the place of the event that
    closed a match among the incoming events, or NOTHING. `counts` are the iterations by group.
    Their `sizes` and `branches` follow one after the other. `used` is the number of iterations.
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
    """Write the match that ends with a node, and the event that closed it, if there is room."""
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
    """Whether to write a fresh node as a match now; of equal ones with groups only the first."""
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
