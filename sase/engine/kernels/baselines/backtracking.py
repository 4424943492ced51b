"""(NFAb) The runs of a pattern one at a time, depth first, for comparison (SASE+, 5.2.3).

One run at a time goes on, over the events of a block that are of its partition, until it fails or
has met them all. Where it moves and might as well have stayed, what it was waits on a stack with
the place to read on from; when the run is done, the latest that waits is taken up again.

    events   a1   a2   b3         a1 ── a2 ── b3         a1 a2 waits while a1 a2 b3 goes on,
                                   └─── b3               then a1 reads a2 and b3 once more

So matches do not come in the order of results: those of a block are sorted before they are told.
What has met all events of its partition waits in its list for the next block.
"""

from __future__ import annotations

from typing import NamedTuple

from sase.engine.kernels.jit.compiler import inlined, kernel, linked
from sase.engine.kernels.jit.signatures import OutIntRows, OutInts
from sase.engine.kernels.kleene.match_buffer import MatchBuffer, write_match
from sase.engine.kernels.kleene.run_nodes import (
    EVENT,
    LEVEL,
    NEEDED,
    NEXT,
    PREVIOUS,
    ROOT,
    START,
    Machine,
    Pattern,
)
from sase.engine.kernels.kleene.runs import (
    CROWDED,
    DONE,
    EXPIRED,
    FRESH,
    FULL,
    LIVE,
    MOST_LIVE,
    PATIENCE,
    PAUSED,
    SPARE,
    STEPS,
    USED,
    Incoming,
    Rules,
    Runs,
    free_branch,
    go_on,
    goes_on,
    ignores,
    is_over,
)
from sase.engine.kernels.kleene.transitions import is_match
from sase.engine.kernels.sentinels import NOTHING
from sase.engine.kernels.window import window_start

# Of a run that waits: its node, the place to read on from, and where its partition ends.
NODE, PLACE, STOP = range(3)
# Of the state: the place to begin at next, runs that wait, matches found and how many of them are
# written; how often a run that waited was taken up again.
AT, WAITING, FOUND, TOLD, BACKTRACKED = range(5)
STATE = 5


class RunSearch(NamedTuple):
    """The events of a block by partition and where each partition ends; what waits; matches.

    `spare` is room to sort them.
    """

    order: OutInts
    stops: OutInts
    waiting: OutIntRows
    matches: OutInts
    spare: OutInts
    state: OutInts


# ---------------------------------------------------------------- runs


@inlined
def wait(search: RunSearch, node: int, place: int, stop: int) -> None:
    """Put a run onto the stack."""
    row = search.waiting[search.state[WAITING]]
    row[NODE], row[PLACE], row[STOP] = node, place, stop
    search.state[WAITING] += 1


@linked
def dropped(runs: Runs, node: int) -> None:
    """Let a run go."""
    runs.state[LIVE] -= 1
    runs.cells[node, NEEDED] -= 1
    free_branch(runs, node)


@inlined
def take_on(
    machine: Machine, pattern: Pattern, runs: Runs, search: RunSearch, place: int, stop: int
) -> None:
    """The fresh nodes are matches, or runs that wait, the last of them to be taken up first."""
    cells, state = runs.cells, runs.state
    for number in range(state[FRESH]):
        node = runs.fresh[number]
        if is_match(machine, pattern, cells, node):
            cells[node, NEEDED] += 1
            search.matches[search.state[FOUND]] = node
            search.state[FOUND] += 1
        if goes_on(pattern, cells, node):
            cells[node, NEEDED] += 1
            state[LIVE] += 1
            wait(search, node, place, stop)
        else:
            free_branch(runs, node)
    state[MOST_LIVE] = max(state[MOST_LIVE], state[LIVE])
    state[FRESH] = 0


@inlined
def begin(
    machine: Machine,
    pattern: Pattern,
    rules: Rules,
    runs: Runs,
    incoming: Incoming,
    search: RunSearch,
) -> None:
    """The runs that begin with an event; with the first of a partition those that there are."""
    place = search.state[AT]
    i, stop = search.order[place], search.stops[place]
    if place == 0 or search.stops[place - 1] != stop:
        key = incoming.keys[i]
        node = runs.heads[key]
        runs.heads[key], runs.counts[key] = NOTHING, 0
        while node != NOTHING:
            wait(search, node, place, stop)
            node = runs.cells[node, NEXT]
    if incoming.begins[i] & rules.first:
        go_on(machine, pattern, runs, incoming, i, ROOT)
        take_on(machine, pattern, runs, search, place + 1, stop)
    search.state[AT] += 1


@inlined
def pursue(
    machine: Machine,
    pattern: Pattern,
    rules: Rules,
    runs: Runs,
    incoming: Incoming,
    search: RunSearch,
) -> None:
    """Take up the latest run that waits, until it fails, moves or has met all events."""
    cells, state = runs.cells, runs.state
    search.state[WAITING] -= 1
    row = search.waiting[search.state[WAITING]]
    node, place, stop = row[NODE], row[PLACE], row[STOP]
    stays = True
    while stays and place < stop and state[FRESH] == 0:
        i = search.order[place]
        state[STEPS] += 1
        place += 1
        if is_over(machine, rules, runs, incoming, i, node):
            state[EXPIRED] += 1
            stays = False
        else:
            own, bound = False, window_start(incoming.measures[i], rules.span)
            if (incoming.begins[i] | incoming.takes[i]) != 0 and cells[node, START] >= bound:
                own = go_on(machine, pattern, runs, incoming, i, node)
            stays = ignores(machine, rules, runs, incoming, i, node, own)
    if stays and state[FRESH] > 0:
        wait(search, node, place, stop)
        search.state[BACKTRACKED] += 1
    elif stays:
        key = incoming.keys[search.order[stop - 1]]
        cells[node, NEXT], runs.heads[key] = runs.heads[key], node
        runs.counts[key] += 1
    if state[FRESH] > 0:
        take_on(machine, pattern, runs, search, place, stop)
    if not stays:
        dropped(runs, node)


@kernel
def advance_backtracking(
    machine: Machine,
    pattern: Pattern,
    rules: Rules,
    runs: Runs,
    incoming: Incoming,
    search: RunSearch,
) -> int:
    """Find the matches that the events of a block complete, on from where it was crowded."""
    state, levels = runs.state, pattern.least.shape[0]
    until = state[STEPS] + PATIENCE
    while search.state[WAITING] > 0 or search.state[AT] < search.order.shape[0]:
        arriving = 0
        if search.state[WAITING] == 0:
            arriving = runs.counts[incoming.keys[search.order[search.state[AT]]]]
        room = runs.cells.shape[0] - state[USED] + state[SPARE]
        is_crowded = room <= levels or runs.fresh.shape[0] <= levels
        is_crowded |= search.state[WAITING] + arriving + levels >= search.waiting.shape[0]
        is_crowded |= search.state[FOUND] + levels >= search.matches.shape[0]
        if is_crowded:
            return CROWDED
        if state[STEPS] >= until:
            return PAUSED
        if search.state[WAITING] > 0:
            pursue(machine, pattern, rules, runs, incoming, search)
        else:
            begin(machine, pattern, rules, runs, incoming, search)
    return DONE


# ---------------------------------------------------------------- the order of results


@linked
def comes_before(cells: OutIntRows, one: int, other: int) -> bool:
    """Whether a match is told before another one.

    What ends first; of those that end alike what is shorter, or goes on back with a later event;
    of the same events what has the last of them at a lower level, then the one before it.
    """
    if cells[one, EVENT] != cells[other, EVENT]:
        return bool(cells[one, EVENT] < cells[other, EVENT])
    levels = 0
    while one != other:
        if one == ROOT or other == ROOT:
            return one == ROOT
        if cells[one, EVENT] != cells[other, EVENT]:
            return bool(cells[one, EVENT] > cells[other, EVENT])
        if levels == 0:
            levels = cells[one, LEVEL] - cells[other, LEVEL]
        one, other = cells[one, PREVIOUS], cells[other, PREVIOUS]
    return levels < 0


@kernel
def sort_found(runs: Runs, search: RunSearch) -> None:
    """Bring the matches of a block into the order of results: runs of 1, 2, 4, … are merged."""
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
    """Write matches, on from where there was no more room."""
    while search.state[TOLD] < search.state[FOUND]:
        node = search.matches[search.state[TOLD]]
        if not write_match(runs.cells, node, written):
            return FULL
        runs.cells[node, NEEDED] -= 1
        free_branch(runs, node)
        search.state[TOLD] += 1
    search.state[FOUND] = search.state[TOLD] = 0
    return DONE
