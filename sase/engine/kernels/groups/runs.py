"""The runs of an automaton, event by event: of a pattern with repeated groups, and sets beside.

Runs are kept as those of `runs` are: the last node that they have bound, in the list of their
partition, in the order of results. What a new event makes comes before what there was; of runs that
have bound the same events, that comes first whose variables, from the last event back, are written
first, and then the one with the shorter iterations.
"""

from __future__ import annotations

from sase.engine.kernels.groups import automaton as of
from sase.engine.kernels.groups.automaton import (
    GroupBuffer,
    NfaGraph,
    all_hold,
    bind_state,
    can_grow,
    held_by,
    is_allowed,
    is_whole,
    may_go_on,
    write_groups,
)
from sase.engine.kernels.groups.leading_runs import LeadingRuns, drop_followers
from sase.engine.kernels.jit.compiler import inlined, kernel
from sase.engine.kernels.jit.signatures import OutIntRows
from sase.engine.kernels.kleene import run_nodes as nodes
from sase.engine.kernels.kleene.run_nodes import (
    Machine,
    Runs,
    free_branch,
    free_node,
    link_run,
    new_node,
    remove_run,
    room_of,
)
from sase.engine.kernels.kleene.runs import (
    CROWDED,
    DONE,
    FULL,
    PATIENCE,
    PAUSED,
    WATCHED,
    Incoming,
    add_fresh,
    ignores,
    is_over,
    prune,
)
from sase.engine.kernels.kleene.transitions import comparisons_hold, fits
from sase.engine.kernels.sentinels import NOTHING
from sase.engine.kernels.sets.nodes import has_simultaneous, programs_accept
from sase.engine.kernels.window import window_start

# ---------------------------------------------------------------- one run


@inlined
def try_edge(
    machine: Machine, automaton: NfaGraph, runs: Runs, incoming: Incoming, i: int, before: int,
    e: int,
) -> bool:  # fmt: skip
    """Bind an event after a node by an edge, if all conditions allow it."""
    cells, edge = runs.cells, automaton.edges[e]
    target, is_take, begins = edge[of.TARGET], edge[of.IS_TAKE] == 1, edge[of.BEGINS] == 1
    own = automaton.states[target]
    moment = of.PHASES * target + (nodes.TAKE if is_take else nodes.BEGIN)
    if own[of.GROUP_OF] != NOTHING and cells[before, own[of.COUNT_AT]] + begins > 1:
        moment += nodes.MOMENTS
    if not comparisons_hold(machine, cells, moment, before, incoming.numbers[i]):
        return False
    if not is_allowed(machine, automaton, cells, before, e):
        return False
    node = new_node(runs)
    bind_state(
        machine, automaton, cells, node, before, target, incoming.numbers[i], is_take, begins
    )
    held = held_by(automaton, cells, node)
    if not (
        programs_accept(machine, automaton.awaited, held, cells, moment, node)
        and all_hold(machine, automaton, cells, edge[of.LATER], edge[of.LATER_END], node)
    ):
        free_node(runs, node)
        return False
    add_fresh(runs, incoming, i, before, node)
    return True


@inlined
def extend(
    machine: Machine, automaton: NfaGraph, runs: Runs, incoming: Incoming, i: int, node: int,
    bound: int,
) -> bool:  # fmt: skip
    """Bind an event in every way after a run or the root; return whether it did what it waits for.

    It waits for what begins next, of a group that is any of its branches. While it can bind more of
    a series or begin another iteration, it does not wait for what is behind that.
    """
    cells, is_root = runs.cells, node == nodes.ROOT
    state = automaton.states.shape[0] - 1 if is_root else cells[node, nodes.LEVEL]
    row = automaton.states[state]
    is_tied = not is_root and cells[node, nodes.TIE] == incoming.ties[i]
    if is_tied and row[of.MEMBERS] == 0:
        return False
    if not fits(machine, cells, node, incoming.numbers[i]):
        return False
    is_done = False
    can_take = not is_root and can_grow(automaton, cells, node)
    goes_on = not is_root and row[of.GROUP_OF] != NOTHING and can_repeat(automaton, cells, node)
    for e in range(row[of.FIRST_EDGE], row[of.LAST_EDGE]):
        edge = automaton.edges[e]
        is_take = edge[of.IS_TAKE] == 1
        bits = incoming.takes[i] if is_take else incoming.begins[i]
        if (bits >> edge[of.TARGET]) & 1 == 0:
            continue
        is_inside = edge[of.INSIDE] == 1
        if is_tied and (
            not is_inside or (is_take and has_simultaneous(cells, node, edge[of.TARGET]))
        ):
            continue
        if try_edge(machine, automaton, runs, incoming, i, node, e) and not is_root:
            is_first = edge[of.IS_FIRST] == 1
            leaves = automaton.states[edge[of.TARGET], of.GROUP_OF] != row[of.GROUP_OF]
            is_next = not can_take and not (leaves and goes_on)
            if is_take or is_inside or (is_first and (edge[of.REPEATS] == 1 or is_next)):
                is_done = True
    return is_done


@inlined
def can_repeat(automaton: NfaGraph, cells: OutIntRows, node: int) -> bool:
    """Whether the group of a node is below its maximum."""
    row = automaton.states[cells[node, nodes.LEVEL]]
    most = row[of.MOST_ITERATIONS]
    return bool(most < 0 or cells[node, row[of.COUNT_AT]] < most)


@inlined
def apply(
    machine: Machine, automaton: NfaGraph, runs: Runs, incoming: Incoming, i: int, node: int,
    bound: int,
) -> bool:  # fmt: skip
    """Apply an event to a run; return whether the run also stays as it is."""
    state, own = runs.state, False
    fresh = state[nodes.FRESH]
    state[nodes.STEPS] += 1
    if is_over(machine, runs, incoming, i, node, bound):
        state[nodes.EXPIRED] += 1
        return False
    if (incoming.begins[i] | incoming.takes[i]) != 0 and runs.cells[node, nodes.START] >= bound:
        own = extend(machine, automaton, runs, incoming, i, node, bound)
    stays = ignores(machine, runs, incoming, i, node, own)
    state[nodes.SPLIT] += max(state[nodes.FRESH] - fresh - 1 + int(stays), 0)
    return stays


# ---------------------------------------------------------------- the order of what is new


@inlined
def comes_before(automaton: NfaGraph, cells: OutIntRows, one: int, other: int) -> bool:
    """Whether a fresh node comes before one that was made before it, of the same events."""
    states, at = automaton.states, automaton.at
    rank = states[cells[one, nodes.LEVEL], of.RANK]
    than = states[cells[other, nodes.LEVEL], of.RANK]
    if rank != than:
        return bool(rank < than)
    before, after = cells[one, nodes.PREVIOUS], cells[other, nodes.PREVIOUS]
    if cells[before, at + of.CLASS] != cells[after, at + of.CLASS]:
        return False
    return bool(cells[one, at + of.SIZE] < cells[other, at + of.SIZE])


@inlined
def settle(automaton: NfaGraph, runs: Runs, begin: int) -> None:
    """Sort the fresh nodes of a group, and number their classes and identities."""
    cells, fresh, state, at = runs.cells, runs.fresh, runs.state, automaton.at
    for place in range(begin + 1, state[nodes.FRESH]):
        node, to = fresh[place], place
        while to > begin and comes_before(automaton, cells, node, fresh[to - 1]):
            fresh[to] = fresh[to - 1]
            to -= 1
        fresh[to] = node
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
                automaton.states[cells[node, nodes.LEVEL], of.RANK]
                == automaton.states[cells[other, nodes.LEVEL], of.RANK]
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
def step(machine: Machine, automaton: NfaGraph, runs: Runs, incoming: Incoming, i: int) -> None:
    """Apply an event to all runs of its partition; remove those that it ends."""
    cells, state, key = runs.cells, runs.state, incoming.keys[i]
    bound = window_start(incoming.measures[i], runs.rules.span)
    begin = state[nodes.FRESH]
    if incoming.begins[i] & runs.rules.first:
        extend(machine, automaton, runs, incoming, i, nodes.ROOT, bound)
        state[nodes.INITIATED] += state[nodes.FRESH] - begin
    ahead, node, group = NOTHING, runs.heads[key], NOTHING
    while node != NOTHING:
        after = cells[node, nodes.NEXT]
        if cells[node, nodes.GROUP] != group:
            settle(automaton, runs, begin)
            group, begin = cells[node, nodes.GROUP], state[nodes.FRESH]
        if apply(machine, automaton, runs, incoming, i, node, bound):
            ahead = node
        else:
            remove_run(runs, None, key, ahead, node)
        node = after
    settle(automaton, runs, begin)


@inlined
def commit(automaton: NfaGraph, runs: Runs, key: int) -> None:
    """Make runs of the fresh nodes that may grow, before those there were; free the others."""
    state = runs.state
    for place in range(state[nodes.FRESH] - 1, -1, -1):
        node = runs.fresh[place]
        if may_go_on(automaton, runs.cells, node):
            link_run(runs, key, node)
        else:
            free_branch(runs, node)
    state[nodes.MOST_LIVE] = max(state[nodes.MOST_LIVE], state[nodes.LIVE])
    state[nodes.FRESH] = state[nodes.LOOKED] = 0


@inlined
def is_shown(machine: Machine, automaton: NfaGraph, runs: Runs, place: int) -> bool:
    """Whether a fresh node is a match that no fresh node before it is, too."""
    cells, at = runs.cells, automaton.at + of.IDENTITY
    node = runs.fresh[place]
    if not is_whole(machine, automaton, cells, node):
        return False
    while place > 0 and cells[runs.fresh[place - 1], at] == cells[node, at]:
        place -= 1
        if is_whole(machine, automaton, cells, runs.fresh[place]):
            return False
    return True


@kernel
def advance_automaton(
    machine: Machine, automaton: NfaGraph, runs: Runs, leading: LeadingRuns, incoming: Incoming,
    written: GroupBuffer, most: int,
) -> int:  # fmt: skip
    """Apply events, on from where it stopped, and write the matches they complete.

    A run may become as many as `most` by an event.
    """
    cells, state = runs.cells, runs.state
    until = state[nodes.STEPS] + PATIENCE
    while state[nodes.AT] < incoming.numbers.shape[0]:
        if state[nodes.STEPS] >= until:
            return PAUSED
        i = state[nodes.AT]
        key = incoming.keys[i]
        is_watched = runs.rules.strategy == WATCHED or (incoming.begins[i] | incoming.takes[i]) != 0
        is_needed = key >= 0 and is_watched
        if is_needed and runs.rules.apart != nodes.ALL:
            is_needed = incoming.ties[i] > runs.taken[key]
        is_met = is_needed and (state[nodes.FRESH] > 0 or runs.heads[key] != NOTHING)
        if is_met or (is_needed and incoming.begins[i] & runs.rules.first):
            if state[nodes.FRESH] == 0:
                drop_followers(leading, automaton, runs, key, incoming.ties[i])
                if (runs.counts[key] + 1) * most > room_of(runs):
                    return CROWDED
                step(machine, automaton, runs, incoming, i)
            while state[nodes.LOOKED] < state[nodes.FRESH]:
                place = state[nodes.LOOKED]
                is_match = is_shown(machine, automaton, runs, place)
                if is_match and not write_groups(automaton, cells, runs.fresh[place], written):
                    return FULL
                state[nodes.LOOKED] += 1
                if is_match and runs.rules.apart == nodes.FIRST_ALONE:
                    prune(runs, key, incoming.ties[i])
            if state[nodes.FRESH] > 0:
                commit(automaton, runs, key)
        state[nodes.AT] += 1
    return DONE
