"""(NFAb) The runs of a pattern one at a time, depth first, for comparison (SASE+, 5.2.3).

One run at a time reads the events of its partition in a block, until it fails or has read them all.
When it forks, its former state is pushed onto a stack with the place of the next event to read.
When the run is done, the last one pushed is popped.

    events   a1   a2   b3         a1 ── a2 ── b3         a1 a2 waits while a1 a2 b3 continues,
                                   └─── b3               then a1 reads a2 and b3 again

So matches are not found in the order of results: those of a block are sorted before they are
written. A run that has read all events of its partition waits in its list for the next block.
"""

from __future__ import annotations

from typing import NamedTuple

from sase.engine.kernels.jit.compiler import inlined, kernel, linked
from sase.engine.kernels.jit.signatures import OutIntRows, OutInts
from sase.engine.kernels.kleene import run_nodes as nodes
from sase.engine.kernels.kleene.match_buffer import MatchBuffer, write_match
from sase.engine.kernels.kleene.run_nodes import (
    CROWDED,
    DONE,
    FULL,
    PATIENCE,
    PAUSED,
    Incoming,
    Machine,
    Runs,
    free_branch,
    levels_of,
)
from sase.engine.kernels.runs.graph import RunGraph, is_whole, may_go_on
from sase.engine.kernels.runs.step import STAYS, apply, initiate
from sase.engine.kernels.sentinels import NOTHING, window_start

# Fields of a run on the stack: its node, the next place to read, the end of its partition, and the
# number of its next move there.
NODE, PLACE, STOP, MOVE = range(4)
WAITING_WIDTH = 4
# Fields of the state: the next place to begin at; the numbers of runs on the stack, and of matches
# found and written; forks; events that were read again; the first place that no run has read; the
# place of the last event of the match that is the first of its partition so far.
AT, WAITING, FOUND, WRITTEN, BACKTRACKED, REREAD, REACHED, ENDS = range(8)
STATE = 8


class RunSearch(NamedTuple):
    """Events by partition and the end of each; the stack; matches; `spare` room to sort them."""

    order: OutInts
    stops: OutInts
    waiting: OutIntRows
    matches: OutInts
    spare: OutInts
    state: OutInts


# ---------------------------------------------------------------- runs


@inlined
def push(search: RunSearch, node: int, place: int, stop: int) -> None:
    """Push a run onto the stack."""
    row = search.waiting[search.state[WAITING]]
    row[NODE], row[PLACE], row[STOP], row[MOVE] = node, place, stop, 0
    search.state[WAITING] += 1


@inlined
def push_fresh(
    machine: Machine, graph: RunGraph, runs: Runs, search: RunSearch, place: int, stop: int
) -> None:
    """Note the fresh nodes that are matches; push those that are runs, to be resumed."""
    cells, state = runs.cells, runs.state
    for number in range(state[nodes.FRESH]):
        node = runs.fresh[number]
        if is_whole(machine, graph, None, None, cells, node):
            cells[node, nodes.NEEDED] += 1
            search.matches[search.state[FOUND]] = node
            search.state[FOUND] += 1
        if may_go_on(graph, None, None, cells, node):
            cells[node, nodes.NEEDED] += 1
            state[nodes.LIVE] += 1
            push(search, node, place, stop)
        else:
            free_branch(runs, node)
    state[nodes.MOST_LIVE] = max(state[nodes.MOST_LIVE], state[nodes.LIVE])
    state[nodes.FRESH] = 0


@inlined
def push_kept(runs: Runs, incoming: Incoming, search: RunSearch) -> None:
    """Before the first event of a partition push its waiting runs."""
    place = search.state[AT]
    i, stop = search.order[place], search.stops[place]
    if place == 0 or search.stops[place - 1] != stop:
        key = incoming.keys[i]
        node = runs.heads[key]
        runs.heads[key], runs.counts[key] = NOTHING, 0
        while node != NOTHING:
            push(search, node, place, stop)
            node = runs.cells[node, nodes.NEXT]


@inlined
def begin(
    machine: Machine, graph: RunGraph, runs: Runs, incoming: Incoming, search: RunSearch
) -> None:
    """Push the runs that begin with an event."""
    push_kept(runs, incoming, search)
    place = search.state[AT]
    i, stop = search.order[place], search.stops[place]
    if incoming.begins[i] & runs.rules.first:
        initiate(machine, graph, None, None, runs, incoming, i)
        push_fresh(machine, graph, runs, search, place + 1, stop)
    search.state[AT] += 1


@inlined
def read(
    machine: Machine, graph: RunGraph, runs: Runs, incoming: Incoming, search: RunSearch, node: int,
    place: int,
) -> bool:  # fmt: skip
    """Apply the event at a place to a run; return whether it also stays unchanged."""
    i = search.order[place]
    if place < search.state[REACHED]:
        search.state[REREAD] += 1
    else:
        search.state[REACHED] = place + 1
    bound = window_start(incoming.measures[i], runs.rules.span)
    return apply(machine, graph, None, None, runs, None, incoming, i, node, bound) == STAYS


@inlined
def keep_waiting(runs: Runs, incoming: Incoming, search: RunSearch, node: int, stop: int) -> None:
    """Keep a run that has read all events for those of the next block."""
    key = incoming.keys[search.order[stop - 1]]
    runs.cells[node, nodes.NEXT], runs.heads[key] = runs.heads[key], node
    runs.counts[key] += 1


@inlined
def end_run(runs: Runs, node: int) -> None:
    """End a run, and free the nodes that only it needed."""
    runs.state[nodes.LIVE] -= 1
    runs.cells[node, nodes.NEEDED] -= 1
    free_branch(runs, node)


@inlined
def resume(
    machine: Machine, graph: RunGraph, runs: Runs, incoming: Incoming, search: RunSearch
) -> None:
    """Pop a run, and advance it until it fails, forks or has read all events."""
    state = runs.state
    search.state[WAITING] -= 1
    row = search.waiting[search.state[WAITING]]
    node, place, stop = row[NODE], row[PLACE], row[STOP]
    stays = True
    while stays and place < stop and state[nodes.FRESH] == 0:
        stays = read(machine, graph, runs, incoming, search, node, place)
        place += 1
    if stays and state[nodes.FRESH] > 0:
        push(search, node, place, stop)
        search.state[BACKTRACKED] += 1
    elif stays:
        keep_waiting(runs, incoming, search, node, stop)
    if state[nodes.FRESH] > 0:
        push_fresh(machine, graph, runs, search, place, stop)
    if not stays:
        end_run(runs, node)


@inlined
def is_crowded(machine: Machine, runs: Runs, incoming: Incoming, search: RunSearch) -> bool:
    """Whether there may be too little room for the runs that the next event makes."""
    state, levels, arriving = runs.state, levels_of(machine), 0
    if search.state[WAITING] == 0:
        arriving = runs.counts[incoming.keys[search.order[search.state[AT]]]]
    room = runs.cells.shape[0] - state[nodes.USED] + state[nodes.SPARE]
    lacks = room <= levels or runs.fresh.shape[0] <= levels
    lacks |= search.state[WAITING] + arriving + levels >= search.waiting.shape[0]
    return bool(lacks or search.state[FOUND] + levels >= search.matches.shape[0])


@kernel
def advance_backtracking(
    machine: Machine, graph: RunGraph, runs: Runs, incoming: Incoming, search: RunSearch
) -> int:
    """Find the matches that the events of a block complete, from the last stop on."""
    state = runs.state
    until = state[nodes.STEPS] + PATIENCE
    while search.state[WAITING] > 0 or search.state[AT] < search.order.shape[0]:
        if is_crowded(machine, runs, incoming, search):
            return CROWDED
        if state[nodes.STEPS] >= until:
            return PAUSED
        if search.state[WAITING] > 0:
            resume(machine, graph, runs, incoming, search)
        else:
            begin(machine, graph, runs, incoming, search)
    return DONE


# ---------------------------------------------------------------- the order of results


@linked
def comes_before(cells: OutIntRows, one: int, other: int) -> bool:
    """Whether a match comes before another one in results.

    The match with the earlier last event comes first. If these are equal, events are compared
    backward: the later one comes first, and a match that has no more events precedes. With equal
    events the lower level of the last different one decides.
    """
    if cells[one, nodes.EVENT] != cells[other, nodes.EVENT]:
        return bool(cells[one, nodes.EVENT] < cells[other, nodes.EVENT])
    levels = 0
    while one != other:
        if one == nodes.ROOT or other == nodes.ROOT:
            return one == nodes.ROOT
        if cells[one, nodes.EVENT] != cells[other, nodes.EVENT]:
            return bool(cells[one, nodes.EVENT] > cells[other, nodes.EVENT])
        if levels == 0:
            levels = cells[one, nodes.LEVEL] - cells[other, nodes.LEVEL]
        one, other = cells[one, nodes.PREVIOUS], cells[other, nodes.PREVIOUS]
    return levels < 0


@kernel
def sort_found(runs: Runs, search: RunSearch) -> None:
    """Sort the matches of a block in the order of results: merge runs of 1, 2, 4, … matches."""
    cells, matches, spare = runs.cells, search.matches, search.spare
    count, size = search.state[FOUND], 1
    while size < count:
        for low in range(0, count, 2 * size):
            middle, high = min(low + size, count), min(low + 2 * size, count)
            one, other = low, middle
            for place in range(low, high):
                is_one = other >= high or (
                    one < middle and not comes_before(cells, matches[other], matches[one])
                )
                spare[place] = matches[one] if is_one else matches[other]
                one, other = (one + 1, other) if is_one else (one, other + 1)
        for place in range(count):
            matches[place] = spare[place]
        size *= 2


@kernel
def write_found(runs: Runs, search: RunSearch, written: MatchBuffer) -> int:
    """Write matches, from the last stop on."""
    while search.state[WRITTEN] < search.state[FOUND]:
        node = search.matches[search.state[WRITTEN]]
        if not write_match(runs.cells, node, written):
            return FULL
        runs.cells[node, nodes.NEEDED] -= 1
        free_branch(runs, node)
        search.state[WRITTEN] += 1
    search.state[FOUND] = search.state[WRITTEN] = 0
    return DONE
