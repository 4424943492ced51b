"""(NFAb) Backtracking as printed: a run that is put off reads its event again (SASE+, 5.2.3).

If an event allows a run several moves, the run makes one of them. Its former state is pushed with
the event and the number of the next move. The moves are first to proceed, the furthest first, then
to take, then to ignore. When the continued run has failed or is a match, the last pushed run reads
on, beginning with that event itself.

    a+ b c over e1 e2 e3 …    ρ1: e1 e2, then e3 as b; it fails at e4, which is no c
                              ρ2, put off with (e1 e2, e3): reads e3 again, takes it, reads e4 …

If matches must be `apart`, the runs of a partition read only to the end of the match that is the
first so far. When no run is left, that match is taken, and all runs of the partition end.
"""

from __future__ import annotations

from sase.engine.kernels.baselines.backtracking import (
    AT,
    BACKTRACKED,
    ENDS,
    FOUND,
    MOVE,
    NODE,
    PLACE,
    STOP,
    WAITING,
    RunSearch,
    comes_before,
    end_run,
    is_crowded,
    keep_waiting,
    push,
    push_kept,
    read,
)
from sase.engine.kernels.jit.compiler import inlined, kernel
from sase.engine.kernels.kleene import run_nodes as nodes
from sase.engine.kernels.kleene.run_nodes import (
    CROWDED,
    DONE,
    PATIENCE,
    PAUSED,
    Incoming,
    Machine,
    Runs,
    free_branch,
)
from sase.engine.kernels.runs.graph import RunGraph, is_whole, may_go_on
from sase.engine.kernels.runs.step import initiate, prune
from sase.engine.kernels.sentinels import NOTHING


@inlined
def note_match(runs: Runs, search: RunSearch, node: int, place: int) -> None:
    """Note a match that ends at a place; if matches must be apart only the first one."""
    cells, state = runs.cells, search.state
    if state[ENDS] == NOTHING:
        search.matches[state[FOUND]] = node
        cells[node, nodes.NEEDED] += 1
        state[FOUND] += 1
        if runs.rules.apart == nodes.FIRST_ALONE:
            state[ENDS] = place
        return
    before = search.matches[state[FOUND] - 1]
    if comes_before(cells, node, before):
        search.matches[state[FOUND] - 1], state[ENDS] = node, place
        cells[node, nodes.NEEDED] += 1
        cells[before, nodes.NEEDED] -= 1
        free_branch(runs, before)


@inlined
def go_on(
    machine: Machine,
    graph: RunGraph,
    runs: Runs,
    search: RunSearch,
    node: int,
    place: int,
    stop: int,
) -> None:
    """Note a fresh node that ends at a place if it is a match; push it if it is a run."""
    cells, state = runs.cells, runs.state
    is_run = may_go_on(graph, None, None, cells, node)
    if is_run:
        cells[node, nodes.NEEDED] += 1
        state[nodes.LIVE] += 1
        state[nodes.MOST_LIVE] = max(state[nodes.MOST_LIVE], state[nodes.LIVE])
        push(search, node, place + 1, stop)
    if is_whole(machine, graph, None, None, cells, node):
        note_match(runs, search, node, place)
    if not is_run:
        free_branch(runs, node)


@inlined
def begin_reading(
    machine: Machine, graph: RunGraph, runs: Runs, incoming: Incoming, search: RunSearch
) -> None:
    """Push the runs that begin with an event after the last match that was taken."""
    push_kept(runs, incoming, search)
    place = search.state[AT]
    i, stop = search.order[place], search.stops[place]
    overlaps = (
        runs.rules.apart == nodes.FIRST_ALONE and incoming.ties[i] <= runs.taken[incoming.keys[i]]
    )
    if not overlaps and incoming.begins[i] & runs.rules.first:
        initiate(machine, graph, None, None, runs, incoming, i)
        for number in range(runs.state[nodes.FRESH]):
            go_on(machine, graph, runs, search, runs.fresh[number], place, stop)
        runs.state[nodes.FRESH] = 0
    search.state[AT] += 1


@inlined
def choose(runs: Runs, move: int) -> int:
    """Return the fresh node of a move, or none for the unchanged run; free the others."""
    state, chosen = runs.state, NOTHING
    for number in range(state[nodes.FRESH]):
        if number == state[nodes.FRESH] - 1 - move:
            chosen = runs.fresh[number]
        else:
            free_branch(runs, runs.fresh[number])
            state[nodes.MADE] -= 1
    state[nodes.FRESH] = 0
    return chosen


@inlined
def resume_reading(
    machine: Machine, graph: RunGraph, runs: Runs, incoming: Incoming, search: RunSearch
) -> None:
    """Pop a run, and let it read until it fails, moves or has read all allowed events."""
    state = runs.state
    search.state[WAITING] -= 1
    row = search.waiting[search.state[WAITING]]
    node, place, stop, move = row[NODE], row[PLACE], row[STOP], row[MOVE]
    is_bounded = search.state[ENDS] != NOTHING
    end = min(stop, search.state[ENDS] + 1) if is_bounded else stop
    stays = True
    while stays and place < end and state[nodes.FRESH] == 0:
        stays = read(machine, graph, runs, incoming, search, node, place)
        place += 1
    if state[nodes.FRESH] > 0:
        moves = state[nodes.FRESH] + int(stays)
        if move > 0:  # the moves are counted already
            state[nodes.SPLIT] -= moves - 1
        if move + 1 < moves:
            push(search, node, place - 1, stop)
            search.waiting[search.state[WAITING] - 1, MOVE] = move + 1
            search.state[BACKTRACKED] += 1
        chosen = choose(runs, move)
        if chosen == NOTHING:
            push(search, node, place, stop)
        else:
            go_on(machine, graph, runs, search, chosen, place - 1, stop)
            if move + 1 == moves:
                end_run(runs, node)
    elif stays and not is_bounded:
        keep_waiting(runs, incoming, search, node, stop)
    else:
        end_run(runs, node)


@inlined
def take_first(runs: Runs, incoming: Incoming, search: RunSearch) -> None:
    """Take the first match of a partition, and end the runs that overlap it."""
    last = search.order[search.state[ENDS]]
    prune(runs, incoming.keys[last], incoming.ties[last])
    search.state[ENDS] = NOTHING


@kernel
def advance_rereading(
    machine: Machine, graph: RunGraph, runs: Runs, incoming: Incoming, search: RunSearch
) -> int:
    """Find the matches that the events of a block complete, from the last stop on."""
    state, known = runs.state, search.state
    until = state[nodes.STEPS] + PATIENCE
    while known[WAITING] > 0 or known[ENDS] != NOTHING or known[AT] < search.order.shape[0]:
        if known[WAITING] == 0 and known[ENDS] != NOTHING and known[AT] > known[ENDS]:
            take_first(runs, incoming, search)
            continue
        if is_crowded(machine, runs, incoming, search):
            return CROWDED
        if state[nodes.STEPS] >= until:
            return PAUSED
        if known[WAITING] > 0:
            resume_reading(machine, graph, runs, incoming, search)
        else:
            begin_reading(machine, graph, runs, incoming, search)
    return DONE
