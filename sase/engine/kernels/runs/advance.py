"""Apply the events of a block to the runs, and write the matches that they complete."""

from __future__ import annotations

from sase.engine.kernels.jit.compiler import inlined, kernel
from sase.engine.kernels.jit.signatures import OutIntRows, OutInts
from sase.engine.kernels.kleene import run_nodes as nodes
from sase.engine.kernels.kleene.match_buffer import MatchBuffer, write_match
from sase.engine.kernels.kleene.run_nodes import (
    CROWDED,
    DONE,
    FULL,
    PATIENCE,
    PAUSED,
    STRICT,
    WATCHED,
    Incoming,
    Machine,
    Merging,
    Runs,
    free_branch,
    remove_run,
    room_of,
)
from sase.engine.kernels.runs.graph import Groups, Members, RunGraph
from sase.engine.kernels.runs.matches import (
    LeadingRuns,
    Listed,
    drop_followers,
    is_shown,
    write_ended,
    write_listed,
)
from sase.engine.kernels.runs.step import HEAD, KEY, WATCHES, Ended, commit, end_run, prune, step
from sase.engine.kernels.sentinels import NOTHING


@inlined
def is_met(runs: Runs, ended: Ended | None, incoming: Incoming, i: int) -> bool:
    """Whether an event may begin or change a run, or is already applied in part."""
    key, first = incoming.keys[i], incoming.begins[i] & runs.rules.first
    is_watched = runs.rules.strategy == WATCHED or (incoming.begins[i] | incoming.takes[i]) != 0
    is_under_way = runs.state[nodes.FRESH] > 0
    if ended is not None:
        is_watched = is_watched or ended.state[WATCHES] == 1
        is_under_way = is_under_way or ended.state[HEAD] != NOTHING
    if key < 0 or not is_watched:
        return False
    if runs.rules.apart != nodes.ALL and incoming.ties[i] <= runs.taken[key]:
        return False
    return bool(is_under_way or first != 0 or runs.heads[key] != NOTHING)


def _advance(
    machine: Machine, graph: RunGraph, groups: Groups | None, members: Members | None,
    ended: Ended | None, leading: LeadingRuns | None, runs: Runs, incoming: Incoming, most: int,
    written: MatchBuffer, listed: Listed | None,
) -> int:  # fmt: skip
    """Apply events from where the last call stopped; an event makes at most `most` runs of one."""
    cells, state = runs.cells, runs.state
    until = state[nodes.STEPS] + PATIENCE
    while state[nodes.AT] < incoming.numbers.shape[0]:
        if state[nodes.STEPS] >= until:
            return PAUSED
        i = state[nodes.AT]
        if is_met(runs, ended, incoming, i):
            key = incoming.keys[i]
            is_new = state[nodes.FRESH] == 0
            if ended is not None:
                is_new = is_new and ended.state[HEAD] == NOTHING
            if is_new:
                if leading is not None:
                    drop_followers(leading, graph, runs, key, incoming.ties[i])
                if (runs.counts[key] + 1) * most > room_of(runs):
                    return CROWDED
                step(machine, graph, groups, members, None, ended, runs, incoming, i)
            if (
                ended is not None
                and listed is not None
                and not write_ended(graph, groups, runs, ended, i, written, listed)
            ):
                return FULL
            while state[nodes.LOOKED] < state[nodes.FRESH]:
                node = runs.fresh[state[nodes.LOOKED]]
                is_match = is_shown(
                    machine, graph, groups, members, ended, runs, state[nodes.LOOKED]
                )
                if listed is None:
                    if is_match and not write_match(cells, node, written):
                        return FULL
                else:
                    if is_match and not write_listed(
                        graph, groups, cells, node, NOTHING, written, listed
                    ):
                        return FULL
                state[nodes.LOOKED] += 1
                if is_match and runs.rules.apart == nodes.FIRST_ALONE:
                    prune(runs, key, incoming.ties[i])
            if state[nodes.FRESH] > 0:
                commit(graph, groups, members, None, runs, key)
        state[nodes.AT] += 1
    return DONE


advance_chain = kernel(_advance, absent=["groups", "members", "ended", "leading", "listed"])
advance_groups = kernel(_advance, absent=["ended"])
advance_sets = kernel(_advance, absent=["groups", "ended", "leading"])
advance_maximal = kernel(_advance, absent=["groups", "leading"])


# ---------------------------------------------------------------- the end of runs


@inlined
def is_ended(runs: Runs, node: int, bound: int, spot: int) -> bool:
    """Whether the window or strict contiguity has ended a run."""
    cells, rules = runs.cells, runs.rules
    is_late = rules.prunes == 1 and cells[node, nodes.START] < bound
    return bool(is_late or (rules.strategy == STRICT and cells[node, nodes.SPOT] + 1 < spot))


@inlined
def remove_ended(runs: Runs, merging: Merging | None, bound: int, spot: int) -> int:
    """Remove the runs that are ended by window or contiguity; return the first event of others."""
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
    """Remove the ended runs; return the first event that is still needed."""
    return remove_ended(runs, None, bound, spot)


@kernel
def end_runs(
    machine: Machine, graph: RunGraph, members: Members, runs: Runs, ended: Ended, bound: int,
    spot: int, is_final: bool, written: MatchBuffer, listed: Listed,
) -> int:  # fmt: skip
    """End the runs that the window or contiguity has ended, from a key on; write the matches."""
    cells = runs.cells
    while ended.state[KEY] < runs.heads.shape[0]:
        key = ended.state[KEY]
        ahead, node = NOTHING, runs.heads[key]
        while node != NOTHING:
            after = cells[node, nodes.NEXT]
            if is_final or is_ended(runs, node, bound, spot):
                runs.state[nodes.EXPIRED] += 1
                end_run(machine, graph, None, members, ended, runs, key, ahead, node)
            else:
                ahead = node
            node = after
        if not write_ended(graph, None, runs, ended, NOTHING, written, listed):
            return FULL
        ended.state[KEY] += 1
    return DONE


@kernel
def oldest_of(cells: OutIntRows, heads: OutInts, found: OutInts) -> None:
    """Write the first event of all runs and its measure into `found`, or `NOTHING` for both."""
    found[0] = found[1] = NOTHING
    for key in range(heads.shape[0]):
        node = heads[key]
        while node != NOTHING:
            if found[0] == NOTHING or cells[node, nodes.FIRST] < found[0]:
                found[0], found[1] = cells[node, nodes.FIRST], cells[node, nodes.START]
            node = cells[node, nodes.NEXT]


# ---------------------------------------------------------------- runs that overlap a match


@inlined
def begins_by(runs: Runs, node: int, number: int, order: int) -> bool:
    """Whether a run begins at event `number` or before, or has no event after `order`."""
    return bool(runs.cells[node, nodes.FIRST] <= number or runs.cells[node, nodes.TIE] <= order)


@kernel
def end_overlapping(runs: Runs, keys: OutInts, lasts: OutInts, applied: int) -> None:
    """End the runs that overlap the last chosen match of their partition.

    `lasts` has the last event of each of these matches. The fresh nodes belong to the partition
    `applied`, if an event of it is applied only in part.
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
