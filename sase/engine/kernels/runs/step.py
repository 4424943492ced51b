"""Apply an event to the runs of its partition (SASE+, 4 and 5).

A run is the last node that it has bound (see `run_nodes`), in the list of its partition. The list
is in the order of results, so matches need no sorting: the nodes of a new event come before the
older runs, in the order of the runs that they extend. Runs of the same events are one group. Within
a group, variables are compared from the last event back: the run with the variable that is written
first comes first. If all variables are equal, the run with the shorter iterations comes first.
"""

from __future__ import annotations

from typing import NamedTuple

from sase.engine.kernels.jit.compiler import inlined
from sase.engine.kernels.jit.signatures import OutIntRows, OutInts
from sase.engine.kernels.kleene import run_nodes as nodes
from sase.engine.kernels.kleene.predicates import differs, fits
from sase.engine.kernels.kleene.run_nodes import (
    ANY,
    EARLIEST_MAXIMAL,
    NEXT_MATCH,
    RANKED,
    STRICT,
    Incoming,
    Machine,
    Merging,
    Runs,
    free_branch,
    free_merged,
    free_node,
    link_run,
    new_node,
    remove_run,
    unlink_run,
)
from sase.engine.kernels.runs import graph as of
from sase.engine.kernels.runs.binding import (
    bind,
    comparisons_accept,
    may_tie,
    programs_accept,
)
from sase.engine.kernels.runs.graph import (
    Groups,
    Members,
    RunGraph,
    all_hold,
    can_grow,
    can_repeat,
    is_allowed,
    is_whole,
    may_go_on,
    state_of,
)
from sase.engine.kernels.sentinels import NOTHING, window_start

# The effect of an event on a run: it stays unchanged, it has moved on, or it can bind no more.
STAYS, MOVED, OVER = range(3)
# The state of ended runs: the first one to write; the next key to look at; whether an event that no
# variable admits may end runs of its partition, too.
HEAD, KEY, WATCHES = range(3)


class Ended(NamedTuple):
    """The runs of `earliest_maximal` that become matches by their end."""

    state: OutInts


# ---------------------------------------------------------------- one run


@inlined
def add_fresh(runs: Runs, incoming: Incoming, i: int, before: int, node: int) -> None:
    """Add a node, which binds an event after the node `before`, to the fresh nodes of its group."""
    cells, state = runs.cells, runs.state
    cells[before, nodes.NEEDED] += 1
    cells[node, nodes.TIE], cells[node, nodes.SPOT] = incoming.ties[i], incoming.spots[i]
    cells[node, nodes.START] = (
        incoming.measures[i] if before == nodes.ROOT else cells[before, nodes.START]
    )
    cells[node, nodes.GROUP] = state[nodes.GROUPS]
    runs.fresh[state[nodes.FRESH]] = node
    state[nodes.FRESH] += 1
    state[nodes.MADE] += 1


@inlined
def try_edge(
    machine: Machine, graph: RunGraph, groups: Groups | None, members: Members | None, runs: Runs,
    incoming: Incoming, i: int, before: int, state: int, e: int,
) -> bool:  # fmt: skip
    """Bind an event after a node by an edge, if all conditions allow it."""
    cells, edge, event = runs.cells, graph.edges[e], incoming.numbers[i]
    target, moment, begins = edge[of.TARGET], edge[of.MOMENT], False
    if groups is not None:
        own, begins = graph.states[target], edge[of.BEGINS] == 1
        if own[of.GROUP_OF] != NOTHING and cells[before, own[of.COUNT_AT]] + begins > 1:
            moment += nodes.MOMENTS
    if not comparisons_accept(machine, members, cells, moment, before, event):
        return False
    if not is_allowed(machine, graph, groups, members, cells, before, state, e):
        return False
    node, is_take = new_node(runs), edge[of.IS_TAKE] == 1
    bind(machine, graph, groups, members, cells, node, before, target, event, is_take, begins)
    if not programs_accept(machine, members, cells, moment, node):
        free_node(runs, node)
        return False
    if groups is not None and not all_hold(
        machine, graph, groups, cells, edge[of.LATER], edge[of.LATER_END], node
    ):
        free_node(runs, node)
        return False
    add_fresh(runs, incoming, i, before, node)
    return True


@inlined
def extend(
    machine: Machine, graph: RunGraph, groups: Groups | None, members: Members | None, runs: Runs,
    incoming: Incoming, i: int, node: int,
) -> bool:  # fmt: skip
    """Bind an event by every edge after a node; return whether the run waits for the event.

    A run waits for the component that begins next; of a group, for any of its branches. While it
    can bind more of a series or a set, or begin another iteration, it does not wait for the
    components behind that.
    """
    cells, state = runs.cells, state_of(graph, runs.cells, node)
    row, begins, takes = graph.states[state], incoming.begins[i], incoming.takes[i]
    is_in_set = False
    if members is not None and row[of.MEMBERS] != 0:
        is_in_set, held = True, cells[node, members.at + of.HELD]
        takes, begins = takes & held & cells[node, members.at + of.OPEN], begins & ~held
        if cells[node, members.at + of.LACKS] & row[of.MEMBERS] != 0:
            begins &= row[of.MEMBERS]
    if (begins & row[of.NEXT_BEGINS]) | (takes & row[of.NEXT_TAKES]) == 0:
        return False
    is_tied = node != nodes.ROOT and cells[node, nodes.TIE] == incoming.ties[i]
    if (is_tied and not is_in_set) or not fits(machine, cells, node, incoming.numbers[i]):
        return False
    is_full = not can_grow(graph, members, cells, node, state)
    repeats = is_done = False
    if groups is not None:
        repeats = can_repeat(graph, cells, node, state)
    for e in range(row[of.FIRST_EDGE], row[of.LAST_EDGE]):
        edge = graph.edges[e]
        is_take = edge[of.IS_TAKE] == 1
        if ((takes if is_take else begins) >> edge[of.TARGET]) & 1 == 0:
            continue
        if members is not None and is_tied and not may_tie(cells, node, edge):
            continue
        if try_edge(machine, graph, groups, members, runs, incoming, i, node, state, e):
            is_next = is_full
            if groups is not None:
                leaves = graph.states[edge[of.TARGET], of.GROUP_OF] != row[of.GROUP_OF]
                is_next = is_full and not (leaves and repeats)
            waits = edge[of.WAITS]
            is_done = is_done or waits == of.ALWAYS or (waits == of.WHEN_FULL and is_next)
    return is_done


@inlined
def initiate(
    machine: Machine, graph: RunGraph, groups: Groups | None, members: Members | None, runs: Runs,
    incoming: Incoming, i: int,
) -> None:  # fmt: skip
    """Begin runs with an event."""
    fresh = runs.state[nodes.FRESH]
    extend(machine, graph, groups, members, runs, incoming, i, nodes.ROOT)
    runs.state[nodes.INITIATED] += runs.state[nodes.FRESH] - fresh


@inlined
def is_over(
    machine: Machine, runs: Runs, ended: Ended | None, incoming: Incoming, i: int, node: int,
    bound: int,
) -> bool:  # fmt: skip
    """Whether a run can bind no event any more, from this event on."""
    cells, strategy = runs.cells, runs.rules.strategy
    is_late = cells[node, nodes.START] < bound
    if runs.rules.prunes == 1 and is_late:
        return True
    if ended is not None and is_late:
        # The window counts only the events of the run's own partition, which agree with its tests.
        return not differs(machine, cells, node, incoming.numbers[i])
    if strategy == STRICT:
        return bool(incoming.spots[i] != cells[node, nodes.SPOT] + 1)
    if strategy == RANKED and incoming.spots[i] != cells[node, nodes.SPOT] + 1:
        return not differs(machine, cells, node, incoming.numbers[i])
    return False


@inlined
def ignores(machine: Machine, runs: Runs, incoming: Incoming, i: int, node: int, own: bool) -> bool:
    """Whether a run also stays unchanged."""
    strategy = runs.rules.strategy
    if strategy == ANY:
        return True
    if strategy in (NEXT_MATCH, EARLIEST_MAXIMAL):
        return not own
    if strategy == STRICT:
        return False
    return differs(machine, runs.cells, node, incoming.numbers[i])


@inlined
def apply(
    machine: Machine, graph: RunGraph, groups: Groups | None, members: Members | None, runs: Runs,
    ended: Ended | None, incoming: Incoming, i: int, node: int, bound: int,
) -> int:  # fmt: skip
    """Apply an event to a run; return its effect: `STAYS`, `MOVED` or `OVER`."""
    state, own = runs.state, False
    fresh = state[nodes.FRESH]
    state[nodes.STEPS] += 1
    if is_over(machine, runs, ended, incoming, i, node, bound):
        state[nodes.EXPIRED] += 1
        return OVER
    if (incoming.begins[i] | incoming.takes[i]) != 0 and runs.cells[node, nodes.START] >= bound:
        own = extend(machine, graph, groups, members, runs, incoming, i, node)
    if ended is not None:
        own = state[nodes.FRESH] > fresh
    stays = ignores(machine, runs, incoming, i, node, own)
    state[nodes.SPLIT] += max(state[nodes.FRESH] - fresh - 1 + int(stays), 0)
    return STAYS if stays else MOVED


# ---------------------------------------------------------------- the order of new nodes


@inlined
def comes_before(
    graph: RunGraph, groups: Groups | None, cells: OutIntRows, one: int, other: int
) -> bool:
    """Whether a fresh node comes before an earlier fresh node of the same events."""
    rank = graph.states[cells[one, nodes.LEVEL], of.RANK]
    than = graph.states[cells[other, nodes.LEVEL], of.RANK]
    if groups is None or rank != than:
        return bool(rank < than)
    before, after, at = cells[one, nodes.PREVIOUS], cells[other, nodes.PREVIOUS], groups.at
    if cells[before, at + of.CLASS] != cells[after, at + of.CLASS]:
        return False
    return bool(cells[one, at + of.SIZE] < cells[other, at + of.SIZE])


@inlined
def settle(graph: RunGraph, groups: Groups | None, runs: Runs, begin: int) -> None:
    """Sort the fresh nodes of a group; number their classes and identities."""
    cells, fresh = runs.cells, runs.fresh
    for place in range(begin + 1, runs.state[nodes.FRESH]):
        node, to = fresh[place], place
        while to > begin and comes_before(graph, groups, cells, node, fresh[to - 1]):
            fresh[to] = fresh[to - 1]
            to -= 1
        fresh[to] = node
    if groups is not None:
        number_identities(graph, groups, runs, begin)


@inlined
def number_identities(graph: RunGraph, groups: Groups, runs: Runs, begin: int) -> None:
    """Number the classes and identities of the fresh nodes of a group, which are sorted."""
    cells, fresh, state, at = runs.cells, runs.fresh, runs.state, groups.at
    state[nodes.GROUPS] += 1
    group = state[nodes.GROUPS]
    for place in range(begin, state[nodes.FRESH]):
        node = fresh[place]
        before = cells[node, nodes.PREVIOUS]
        is_of_class = is_same = False
        if place > begin:
            other = fresh[place - 1]
            after = cells[other, nodes.PREVIOUS]
            is_of_class = (
                graph.states[cells[node, nodes.LEVEL], of.RANK]
                == graph.states[cells[other, nodes.LEVEL], of.RANK]
                and cells[before, at + of.CLASS] == cells[after, at + of.CLASS]
            )
            is_same = (
                is_of_class
                and cells[before, at + of.IDENTITY] == cells[after, at + of.IDENTITY]
                and cells[node, at + of.SIZE] == cells[other, at + of.SIZE]
            )
        state[nodes.GROUPS] += 1 - int(is_same)
        cells[node, nodes.GROUP] = group
        cells[node, at + of.IDENTITY] = state[nodes.GROUPS]
        cells[node, at + of.CLASS] = (
            cells[fresh[place - 1], at + of.CLASS] if is_of_class else state[nodes.GROUPS]
        )


# ---------------------------------------------------------------- the runs of a partition


@inlined
def end_run(
    machine: Machine, graph: RunGraph, groups: Groups | None, members: Members | None, ended: Ended,
    runs: Runs, key: int, ahead: int, node: int,
) -> None:  # fmt: skip
    """End a run of `earliest_maximal`; a run that is a match by its end waits to be written."""
    if is_whole(machine, graph, groups, members, runs.cells, node):
        unlink_run(runs, key, ahead, node)
        runs.cells[node, nodes.NEXT], ended.state[HEAD] = ended.state[HEAD], node
    else:
        remove_run(runs, None, key, ahead, node)


@inlined
def step(
    machine: Machine, graph: RunGraph, groups: Groups | None, members: Members | None,
    merging: Merging | None, ended: Ended | None, runs: Runs, incoming: Incoming, i: int,
) -> None:  # fmt: skip
    """Apply an event to all runs of its partition; remove those that it ends."""
    cells, state, key = runs.cells, runs.state, incoming.keys[i]
    begin = state[nodes.FRESH]
    if incoming.begins[i] & runs.rules.first:
        state[nodes.GROUPS] += 1
        initiate(machine, graph, groups, members, runs, incoming, i)
    bound = window_start(incoming.measures[i], runs.rules.span)
    ahead, node, group = NOTHING, runs.heads[key], NOTHING
    while node != NOTHING:
        after = cells[node, nodes.NEXT]
        if merging is None and cells[node, nodes.GROUP] != group:
            settle(graph, groups, runs, begin)
            group, begin = cells[node, nodes.GROUP], state[nodes.FRESH]
            state[nodes.GROUPS] += 1
        done = apply(machine, graph, groups, members, runs, ended, incoming, i, node, bound)
        if done == STAYS:
            ahead = node
        elif ended is not None and done == OVER:
            end_run(machine, graph, groups, members, ended, runs, key, ahead, node)
        else:
            remove_run(runs, merging, key, ahead, node)
        node = after
    if merging is None:
        settle(graph, groups, runs, begin)


@inlined
def commit(
    graph: RunGraph, groups: Groups | None, members: Members | None, merging: Merging | None,
    runs: Runs, key: int,
) -> None:  # fmt: skip
    """Make runs of the fresh nodes that may grow, before the older runs; free the others."""
    state = runs.state
    for place in range(state[nodes.FRESH] - 1, -1, -1):
        node = runs.fresh[place]
        if may_go_on(graph, groups, members, runs.cells, node):
            link_run(runs, key, node)
        elif merging is None:
            free_branch(runs, node)
        else:
            free_merged(runs, merging, node)
    state[nodes.MOST_LIVE] = max(state[nodes.MOST_LIVE], state[nodes.LIVE])
    state[nodes.FRESH] = state[nodes.LOOKED] = 0


@inlined
def prune(runs: Runs, key: int, order: int) -> None:
    """End all runs of a partition, and its fresh nodes; later runs must begin after this order."""
    state = runs.state
    for place in range(state[nodes.FRESH]):
        free_branch(runs, runs.fresh[place])
    state[nodes.FRESH] = state[nodes.LOOKED] = 0
    while runs.heads[key] != NOTHING:
        remove_run(runs, None, key, NOTHING, runs.heads[key])
        state[nodes.EXPIRED] += 1
    runs.taken[key] = order
