"""(NFAb) The runs of a pattern with series or a strategy, event by event (SASE+, 4 and 5).

A run is the last node that it has bound (see `run_nodes`), in the list of its partition. The list
is in the order of results: what a new event makes comes before what there was, and among itself in
the order of the runs it comes from, so that matches need no sorting. Runs that have bound the same
events differ in the components alone: they are of one group, and a lower level comes first.
"""

from __future__ import annotations

from typing import NamedTuple

from sase.engine.kernels.jit.compiler import inlined, kernel
from sase.engine.kernels.jit.signatures import OutIntRows, OutInts
from sase.engine.kernels.kleene import run_nodes as nodes
from sase.engine.kernels.kleene.match_buffer import MatchBuffer, write_match
from sase.engine.kernels.kleene.run_nodes import (
    Machine,
    Merging,
    Runs,
    free_branch,
    free_merged,
    free_node,
    is_series,
    levels_of,
    link_run,
    most_of,
    new_node,
    remove_run,
    room_of,
)
from sase.engine.kernels.kleene.transitions import (
    bind,
    comparisons_hold,
    differs,
    fits,
    is_match,
    may_pass,
    may_proceed,
    programs_hold,
)
from sase.engine.kernels.sentinels import NOTHING
from sase.engine.kernels.window import window_start

# What a run may ignore. Of a contiguous partition either the ranks are known, or every event comes.
# Under `earliest_maximal` it is what no move is possible with (see `sets.runs`).
ANY, NEXT_MATCH, STRICT, RANKED, WATCHED, EARLIEST_MAXIMAL = range(6)

# Why the kernel stops: at the end, because the results need more room, or the nodes.
DONE, FULL, CROWDED, PAUSED = range(4)
# After so many steps of runs a kernel pauses, though nothing is full: an interrupt is heard then.
PATIENCE = 1 << 20


class Incoming(NamedTuple):
    """The events of a block: the levels they may begin and be taken at as bits, and their places.

    `keys` are partitions, `spots` what contiguity counts.
    """

    numbers: OutInts
    begins: OutInts
    takes: OutInts
    keys: OutInts
    measures: OutInts
    ties: OutInts
    spots: OutInts


# ---------------------------------------------------------------- one run


@inlined
def add_fresh(runs: Runs, incoming: Incoming, i: int, before: int, node: int) -> None:
    """Add a node in which an event is bound after another one to the fresh ones of its group."""
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
def try_bind(
    machine: Machine, runs: Runs, incoming: Incoming, i: int, before: int, level: int, moment: int
) -> bool:
    """Bind an event at a level after a node, if the conditions of the moment allow it."""
    cells, at = runs.cells, nodes.MOMENTS * level + moment
    if not comparisons_hold(machine, cells, at, before, incoming.numbers[i]):
        return False
    node = new_node(runs)
    bind(machine, cells, node, before, level, incoming.numbers[i])
    if not programs_hold(machine, cells, at, node, nodes.NO_EVENT):
        free_node(runs, node)
        return False
    add_fresh(runs, incoming, i, before, node)
    return True


@inlined
def extend(machine: Machine, runs: Runs, incoming: Incoming, i: int, node: int) -> bool:
    """Bind an event in every way after a run or the root; return whether it does what it waits for.

    Below its maximum a series waits for its next event, else a run waits for the next component.
    """
    cells = runs.cells
    is_simultaneous = node != nodes.ROOT and cells[node, nodes.TIE] == incoming.ties[i]
    if is_simultaneous or not fits(machine, cells, node, incoming.numbers[i]):
        return False
    level, own = cells[node, nodes.LEVEL], False
    inside = node != nodes.ROOT and is_series(machine, level)
    most = most_of(machine, level)
    can_take = inside and (most < 0 or cells[node, nodes.LENGTH] < most)
    at = level if can_take and (incoming.takes[i] >> level) & 1 else level + 1
    if at > level and node != nodes.ROOT and not may_proceed(machine, cells, node):
        return False
    while at < levels_of(machine):
        is_take = at == level
        bits, moment = (
            (incoming.takes[i], nodes.TAKE) if is_take else (incoming.begins[i], nodes.BEGIN)
        )
        if (bits >> at) & 1 and try_bind(machine, runs, incoming, i, node, at, moment):
            own = own or is_take or (at == level + 1 and not can_take)
        at += 1
        if (incoming.begins[i] >> at) == 0:
            break
        if is_take:
            if not may_proceed(machine, cells, node):
                break
        elif not may_pass(machine, cells, node, at - 1):
            break
    return own


@inlined
def initiate(machine: Machine, runs: Runs, incoming: Incoming, i: int) -> None:
    """Begin runs with an event."""
    fresh = runs.state[nodes.FRESH]
    extend(machine, runs, incoming, i, nodes.ROOT)
    runs.state[nodes.INITIATED] += runs.state[nodes.FRESH] - fresh


@inlined
def is_over(
    machine: Machine, runs: Runs, incoming: Incoming, i: int, node: int, bound: int
) -> bool:
    """Whether a run can bind nothing any more, from this event on."""
    cells, strategy = runs.cells, runs.rules.strategy
    if runs.rules.prunes == 1 and cells[node, nodes.START] < bound:
        return True
    if strategy == STRICT:
        return bool(incoming.spots[i] != cells[node, nodes.SPOT] + 1)
    if strategy == RANKED and incoming.spots[i] != cells[node, nodes.SPOT] + 1:
        return not differs(machine, cells, node, incoming.numbers[i])
    return False


@inlined
def ignores(machine: Machine, runs: Runs, incoming: Incoming, i: int, node: int, own: bool) -> bool:
    """Whether a run also stays as it is."""
    strategy = runs.rules.strategy
    if strategy == ANY:
        return True
    if strategy == NEXT_MATCH:
        return not own
    if strategy == STRICT:
        return False
    return differs(machine, runs.cells, node, incoming.numbers[i])


@inlined
def apply(machine: Machine, runs: Runs, incoming: Incoming, i: int, node: int, bound: int) -> bool:
    """Apply an event to a run; return whether the run also stays as it is."""
    state, own = runs.state, False
    fresh = state[nodes.FRESH]
    state[nodes.STEPS] += 1
    if is_over(machine, runs, incoming, i, node, bound):
        state[nodes.EXPIRED] += 1
        return False
    if (incoming.begins[i] | incoming.takes[i]) != 0 and runs.cells[node, nodes.START] >= bound:
        own = extend(machine, runs, incoming, i, node)
    stays = ignores(machine, runs, incoming, i, node, own)
    state[nodes.SPLIT] += max(state[nodes.FRESH] - fresh - 1 + int(stays), 0)
    return stays


# ---------------------------------------------------------------- the runs of a partition


@inlined
def sort_fresh(runs: Runs, begin: int) -> None:
    """Sort the fresh nodes of a group by level."""
    cells, fresh = runs.cells, runs.fresh
    for place in range(begin + 1, runs.state[nodes.FRESH]):
        node, to = fresh[place], place
        while to > begin and cells[fresh[to - 1], nodes.LEVEL] > cells[node, nodes.LEVEL]:
            fresh[to] = fresh[to - 1]
            to -= 1
        fresh[to] = node


@inlined
def step(machine: Machine, runs: Runs, merging: Merging | None, incoming: Incoming, i: int) -> None:
    """Apply an event to all runs of its partition; remove those that it ends."""
    cells, state, key = runs.cells, runs.state, incoming.keys[i]
    if incoming.begins[i] & runs.rules.first:
        state[nodes.GROUPS] += 1
        initiate(machine, runs, incoming, i)
    bound = window_start(incoming.measures[i], runs.rules.span)
    ahead, node, group, begin = NOTHING, runs.heads[key], NOTHING, state[nodes.FRESH]
    while node != NOTHING:
        after = cells[node, nodes.NEXT]
        if merging is None and cells[node, nodes.GROUP] != group:
            sort_fresh(runs, begin)
            group, begin = cells[node, nodes.GROUP], state[nodes.FRESH]
            state[nodes.GROUPS] += 1
        if apply(machine, runs, incoming, i, node, bound):
            ahead = node
        else:
            remove_run(runs, merging, key, ahead, node)
        node = after
    if merging is None:
        sort_fresh(runs, begin)


@inlined
def may_grow(machine: Machine, cells: OutIntRows, node: int) -> bool:
    """Whether a node may have more events behind it, so that it is a run."""
    last = levels_of(machine) - 1
    most = most_of(machine, last)
    can_take = is_series(machine, last) and (most < 0 or cells[node, nodes.LENGTH] < most)
    return bool(cells[node, nodes.LEVEL] < last or can_take)


@inlined
def commit(machine: Machine, runs: Runs, merging: Merging | None, key: int) -> None:
    """Make runs of the fresh nodes that may grow, before those there were; free the others."""
    cells, state = runs.cells, runs.state
    for place in range(state[nodes.FRESH] - 1, -1, -1):
        node = runs.fresh[place]
        if may_grow(machine, cells, node):
            link_run(runs, key, node)
        elif merging is None:
            free_branch(runs, node)
        else:
            free_merged(runs, merging, node)
    state[nodes.MOST_LIVE] = max(state[nodes.MOST_LIVE], state[nodes.LIVE])
    state[nodes.FRESH] = state[nodes.LOOKED] = 0


@inlined
def prune(runs: Runs, key: int, order: int) -> None:
    """End the runs of a partition, fresh ones too: those to come begin behind this order."""
    state = runs.state
    for place in range(state[nodes.FRESH]):
        free_branch(runs, runs.fresh[place])
    state[nodes.FRESH] = state[nodes.LOOKED] = 0
    while runs.heads[key] != NOTHING:
        remove_run(runs, None, key, NOTHING, runs.heads[key])
        state[nodes.EXPIRED] += 1
    runs.taken[key] = order


@inlined
def begins_by(runs: Runs, node: int, number: int, order: int) -> bool:
    """Whether a run begins at an event or before, or with one that is simultaneous to its last."""
    return bool(runs.cells[node, nodes.FIRST] <= number or runs.cells[node, nodes.TIE] <= order)


@kernel
def end_overlapping(runs: Runs, keys: OutInts, lasts: OutInts, applied: int) -> None:
    """End the runs of partitions that overlap the match that was taken last, and ends there.

    The fresh nodes are of the partition of the event that is `applied`, where it is not finished.
    """
    cells, state = runs.cells, runs.state
    for i in range(keys.shape[0]):
        key, last = keys[i], lasts[i]
        order = runs.taken[key]
        if key == applied and state[nodes.FRESH] > 0:
            kept = looked = 0
            for place in range(state[nodes.FRESH]):
                node = runs.fresh[place]
                if begins_by(runs, node, last, order):
                    free_branch(runs, node)
                    continue
                runs.fresh[kept] = node
                kept += 1
                looked += place < state[nodes.LOOKED]
            state[nodes.FRESH], state[nodes.LOOKED] = kept, looked
            state[nodes.AT] += kept == 0
        ahead, node = NOTHING, runs.heads[key]
        while node != NOTHING:
            after = cells[node, nodes.NEXT]
            if begins_by(runs, node, last, order):
                remove_run(runs, None, key, ahead, node)
                state[nodes.EXPIRED] += 1
            else:
                ahead = node
            node = after


# ---------------------------------------------------------------- the loop


@kernel
def advance_runs(machine: Machine, runs: Runs, incoming: Incoming, written: MatchBuffer) -> int:
    """Apply events, on from where it stopped, and write the matches they complete."""
    cells, state, levels = runs.cells, runs.state, levels_of(machine)
    until = state[nodes.STEPS] + PATIENCE
    while state[nodes.AT] < incoming.numbers.shape[0]:
        if state[nodes.STEPS] >= until:
            return PAUSED
        i = state[nodes.AT]
        key, apart = incoming.keys[i], runs.rules.apart != nodes.ALL
        is_watched = runs.rules.strategy == WATCHED or (incoming.begins[i] | incoming.takes[i]) != 0
        is_needed = key >= 0 and is_watched and not (apart and incoming.ties[i] <= runs.taken[key])
        # With fresh nodes it goes on where it was full: there may be no other runs any more.
        is_met = is_needed and (state[nodes.FRESH] > 0 or runs.heads[key] != NOTHING)
        if is_met or (is_needed and incoming.begins[i] & runs.rules.first):
            if state[nodes.FRESH] == 0:
                if (runs.counts[key] + 1) * levels > room_of(runs):
                    return CROWDED
                step(machine, runs, None, incoming, i)
            while state[nodes.LOOKED] < state[nodes.FRESH]:
                node = runs.fresh[state[nodes.LOOKED]]
                is_whole = is_match(machine, cells, node)
                if is_whole and not write_match(cells, node, written):
                    return FULL
                state[nodes.LOOKED] += 1
                if is_whole and runs.rules.apart == nodes.FIRST_ALONE:
                    prune(runs, key, incoming.ties[i])
            if state[nodes.FRESH] > 0:
                commit(machine, runs, None, key)
        state[nodes.AT] += 1
    return DONE


@inlined
def is_ended(runs: Runs, node: int, bound: int, spot: int) -> bool:
    """Whether a window or contiguity has ended a run, whatever comes."""
    cells, rules = runs.cells, runs.rules
    is_late = rules.prunes == 1 and cells[node, nodes.START] < bound
    return bool(is_late or (rules.strategy == STRICT and cells[node, nodes.SPOT] + 1 < spot))


@inlined
def remove_ended(runs: Runs, merging: Merging | None, bound: int, spot: int) -> int:
    """Remove the runs that a window or contiguity has ended; return the first event of others."""
    cells, first = runs.cells, NOTHING
    for key in range(runs.heads.shape[0]):
        ahead, node = NOTHING, runs.heads[key]
        while node != NOTHING:
            after = cells[node, nodes.NEXT]
            if is_ended(runs, node, bound, spot):
                runs.state[nodes.EXPIRED] += 1
                remove_run(runs, merging, key, ahead, node)
            else:
                ahead = node
                if first == NOTHING or cells[node, nodes.FIRST] < first:
                    first = cells[node, nodes.FIRST]
            node = after
    return int(first)


@kernel
def expire(runs: Runs, bound: int, spot: int) -> int:
    """Remove the runs that are ended; return the first event still needed."""
    return remove_ended(runs, None, bound, spot)
