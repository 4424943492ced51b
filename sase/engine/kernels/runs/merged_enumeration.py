"""(NFAb) Enumerate the matches of merged runs, in the order of results.

A walk leads back from the last event over all nodes that may come before, the latest event first.
At each step, a frame belongs to one event. A way is a node of this event, with all events that were
chosen behind it. A frame has several ways if the same events are bound to different components, or
if nodes were not merged. Ways are ranked by the levels behind them, the last event's level first. A
way at a first event is a match. The walk only enters nodes from which a run begins within the
window, so every frame is part of a match.
"""

from __future__ import annotations

from sase.engine.kernels.jit.compiler import inlined, kernel, linked
from sase.engine.kernels.jit.signatures import OutIntRows
from sase.engine.kernels.kleene import run_nodes as nodes
from sase.engine.kernels.kleene.match_buffer import MatchBuffer, write_match
from sase.engine.kernels.kleene.run_nodes import (
    CROWDED,
    DONE,
    FULL,
    PATIENCE,
    PAUSED,
    WATCHED,
    Incoming,
    Machine,
    Merging,
    Runs,
    levels_of,
    room_of,
)
from sase.engine.kernels.runs.graph import RunGraph, is_whole
from sase.engine.kernels.runs.merged_runs import merge
from sase.engine.kernels.runs.step import commit, step
from sase.engine.kernels.sentinels import NOTHING, window_start

# The columns of a way: its node, the way behind it, its rank, the next node before it, and the edge
# to the node after that; the event and the level of its node; the number of chosen events.
PLACE, BEHIND, RANK, NEXT_NODE, NEXT_EDGE, OF_EVENT, OF_LEVEL, CHOSEN = range(8)
WAY = 8
# The columns of a frame: its first way, the place after its last way, and the next way that may be
# a match. A frame is replaced when all its ways are followed, but its ways stay: later ways refer
# to them.
BEGIN, END, LOOKED = range(3)
FRAME = 3


# ---------------------------------------------------------------- ways


@inlined
def follow_edge(merging: Merging, way: int) -> None:
    """Advance a way to the node of its next edge, without a check of the window."""
    row = merging.ways[way]
    edge = row[NEXT_EDGE]
    row[NEXT_NODE] = NOTHING
    if edge != NOTHING:
        row[NEXT_NODE], row[NEXT_EDGE] = (
            merging.edges[edge, nodes.TO],
            merging.edges[edge, nodes.AFTER],
        )


@inlined
def pass_dead(runs: Runs, merging: Merging, way: int, bound: int) -> None:
    """Advance a way past the nodes from which all runs begin too early."""
    row, cells = merging.ways[way], runs.cells
    while row[NEXT_NODE] > nodes.ROOT and cells[row[NEXT_NODE], nodes.START] < bound:
        follow_edge(merging, way)


@linked
def step_on(runs: Runs, merging: Merging, way: int, bound: int) -> None:
    """Advance a way to the next node before it that is within the window."""
    follow_edge(merging, way)
    pass_dead(runs, merging, way, bound)


@inlined
def fill_way(
    runs: Runs, merging: Merging, way: int, node: int, behind: int, rank: int, bound: int
) -> None:
    """Fill a way with a node, before the way `behind`."""
    row, cell = merging.ways[way], runs.cells[node]
    row[PLACE], row[BEHIND], row[RANK] = node, behind, rank
    row[NEXT_NODE], row[NEXT_EDGE] = cell[nodes.PREVIOUS], merging.links[node, nodes.HEAD_EDGE]
    row[OF_EVENT], row[OF_LEVEL] = cell[nodes.EVENT], cell[nodes.LEVEL]
    row[CHOSEN] = 1 if behind == NOTHING else merging.ways[behind, CHOSEN] + 1
    pass_dead(runs, merging, way, bound)


@inlined
def is_less(ways: OutIntRows, one: int, other: int) -> bool:
    """Whether a way comes before another one."""
    if ways[one, RANK] != ways[other, RANK]:
        return bool(ways[one, RANK] < ways[other, RANK])
    return bool(ways[one, OF_LEVEL] < ways[other, OF_LEVEL])


@linked
def rank_ways(merging: Merging, begin: int) -> None:
    """Sort the ways of a frame by the rank of the way behind them, then by level."""
    ways, end = merging.ways, merging.state[nodes.WAYS]
    for place in range(begin + 1, end):
        to = place
        while to > begin and is_less(ways, to, to - 1):
            for column in range(WAY):
                kept = ways[to, column]
                ways[to, column] = ways[to - 1, column]
                ways[to - 1, column] = kept
            to -= 1
    # RANK is still the rank of the way behind; it becomes the rank of the way itself.
    rank, first = 0, begin
    for place in range(begin, end):
        if place > begin and is_less(ways, first, place):
            for other in range(first, place):
                ways[other, RANK] = rank
            rank, first = rank + 1, place
    for other in range(first, end):
        ways[other, RANK] = rank


# ---------------------------------------------------------------- frames


@inlined
def set_frame(merging: Merging, number: int, begin: int) -> None:
    """Set the frame on top, with all ways from `begin` on."""
    frame, state = merging.frames[number], merging.state
    frame[BEGIN] = frame[LOOKED] = begin
    frame[END] = state[nodes.WAYS]
    state[nodes.FRAMES] = number + 1


@inlined
def start(machine: Machine, graph: RunGraph, runs: Runs, merging: Merging, bound: int) -> None:
    """Make the first frame, from the fresh nodes that are matches, if there are any."""
    state = merging.state
    for place in range(runs.state[nodes.FRESH]):
        node = runs.fresh[place]
        if is_whole(machine, graph, None, None, runs.cells, node):
            fill_way(runs, merging, state[nodes.WAYS], node, NOTHING, 0, bound)
            state[nodes.WAYS] += 1
    if state[nodes.WAYS] > 0:
        rank_ways(merging, 0)
        set_frame(merging, 0, 0)


@linked
def wrote_way(runs: Runs, merging: Merging, way: int, written: MatchBuffer) -> bool:
    """Write the match of a way and of the nodes before its node, if there is room."""
    cells, ways, node = runs.cells, merging.ways, merging.ways[way, PLACE]
    if cells[node, nodes.DEPTH] > 0 and ways[way, CHOSEN] == 1:
        return write_match(cells, node, written)
    count, used = written.sizes[0], written.sizes[1]
    before = max(cells[node, nodes.DEPTH], 1) - 1
    end = used + before + ways[way, CHOSEN]
    if count >= written.ends.shape[0] or end > written.events.shape[0]:
        return False
    written.ends[count] = end
    for level in range(written.lengths.shape[0]):
        written.lengths[level, count] = 0
    for place in range(used + before - 1, used - 1, -1):
        node = cells[node, nodes.PREVIOUS]
        written.events[place] = cells[node, nodes.EVENT]
        written.lengths[cells[node, nodes.LEVEL], count] += 1
    for place in range(used + before, end):
        written.events[place] = ways[way, OF_EVENT]
        written.lengths[ways[way, OF_LEVEL], count] += 1
        way = ways[way, BEHIND]
    written.sizes[0], written.sizes[1] = count + 1, end
    return True


@inlined
def is_chosen(runs: Runs, merging: Merging, way: int, several: int) -> bool:
    """Whether a way is one match, with nothing left to choose or to compare."""
    before = merging.ways[way, NEXT_NODE]
    is_one_run = several == 1 and runs.cells[merging.ways[way, PLACE], nodes.DEPTH] > 0
    return bool(before == nodes.ROOT or (before > nodes.ROOT and is_one_run))


@inlined
def descend(runs: Runs, merging: Merging, bound: int) -> None:
    """Follow the frame on top while it has one way, of merged runs, with one node before it."""
    cells, ways, state = runs.cells, merging.ways, merging.state
    frame = merging.frames[state[nodes.FRAMES] - 1]
    way = frame[BEGIN]
    if frame[END] > way + 1:
        return
    while ways[way, NEXT_NODE] > nodes.ROOT and ways[way, NEXT_EDGE] == NOTHING:
        if way + 1 >= ways.shape[0] or cells[ways[way, PLACE], nodes.DEPTH] > 0:
            break
        node = ways[way, NEXT_NODE]
        ways[way, NEXT_NODE] = NOTHING
        fill_way(runs, merging, way + 1, node, way, 0, bound)
        way += 1
    frame[BEGIN] = frame[LOOKED] = way
    frame[END] = state[nodes.WAYS] = way + 1


@linked
def latest(runs: Runs, merging: Merging, begin: int) -> tuple[int, int]:
    """Find the latest event to which ways lead back; count the nodes of it that they reach."""
    cells, ways, edges, event = runs.cells, merging.ways, merging.edges, NOTHING
    for way in range(begin, merging.state[nodes.WAYS]):
        if ways[way, NEXT_NODE] != NOTHING:
            event = max(event, cells[ways[way, NEXT_NODE], nodes.EVENT])
    count = 0
    for way in range(begin, merging.state[nodes.WAYS]):
        node, edge = ways[way, NEXT_NODE], ways[way, NEXT_EDGE]
        while node != NOTHING and cells[node, nodes.EVENT] == event:
            count += 1
            node = NOTHING
            if edge != NOTHING:
                node, edge = edges[edge, nodes.TO], edges[edge, nodes.AFTER]
    return event, count


@linked
def go_back(runs: Runs, merging: Merging, begin: int, event: int, bound: int) -> None:
    """Push a frame of the nodes of an event to which the ways of the frame on top lead back."""
    cells, ways, state = runs.cells, merging.ways, merging.state
    end, is_done = state[nodes.WAYS], True
    for way in range(begin, end):
        while ways[way, NEXT_NODE] != NOTHING and cells[ways[way, NEXT_NODE], nodes.EVENT] == event:
            fill_way(
                runs, merging, state[nodes.WAYS], ways[way, NEXT_NODE], way, ways[way, RANK], bound
            )
            state[nodes.WAYS] += 1
            step_on(runs, merging, way, bound)
        is_done = is_done and ways[way, NEXT_NODE] == NOTHING
    rank_ways(merging, end)
    set_frame(merging, state[nodes.FRAMES] - is_done, end)


@linked
def enumerate_matches(runs: Runs, merging: Merging, written: MatchBuffer, bound: int) -> int:
    """Write matches from where the last call had no room."""
    state, frames = merging.state, merging.frames
    while state[nodes.FRAMES] > 0:
        descend(runs, merging, bound)
        frame = frames[state[nodes.FRAMES] - 1]
        while frame[LOOKED] < frame[END]:
            way = frame[LOOKED]
            if is_chosen(runs, merging, way, frame[END] - frame[BEGIN]):
                if not wrote_way(runs, merging, way, written):
                    return FULL
                step_on(runs, merging, way, bound)
            frame[LOOKED] += 1
        event, count = latest(runs, merging, frame[BEGIN])
        if event == NOTHING:
            state[nodes.FRAMES] -= 1
            state[nodes.WAYS] = (
                0 if state[nodes.FRAMES] == 0 else frames[state[nodes.FRAMES] - 1, END]
            )
            continue
        if (
            state[nodes.FRAMES] >= frames.shape[0]
            or state[nodes.WAYS] + count > merging.ways.shape[0]
        ):
            return CROWDED
        go_back(runs, merging, frame[BEGIN], event, bound)
    return DONE


# ---------------------------------------------------------------- events


@inlined
def has_room(machine: Machine, runs: Runs, merging: Merging, key: int) -> bool:
    """Whether there is room for all runs that an event may make of the runs of a partition."""
    needed = (runs.counts[key] + 1) * levels_of(machine)
    edges = merging.edges.shape[0] - merging.state[nodes.EDGES] + merging.state[nodes.SPARE_EDGES]
    room = min(room_of(runs), edges, merging.buckets.shape[0] // 2, merging.ways.shape[0])
    return bool(needed < room)


@kernel
def advance_merged(
    machine: Machine, graph: RunGraph, runs: Runs, merging: Merging, incoming: Incoming,
    written: MatchBuffer,
) -> int:  # fmt: skip
    """Apply events from where the last call stopped, and write the matches that they complete."""
    state, rules = runs.state, runs.rules
    until = state[nodes.STEPS] + PATIENCE
    while state[nodes.AT] < incoming.numbers.shape[0]:
        if state[nodes.STEPS] >= until:
            return PAUSED
        i = state[nodes.AT]
        key = incoming.keys[i]
        is_watched = rules.strategy == WATCHED or (incoming.begins[i] | incoming.takes[i]) != 0
        is_new = merging.state[nodes.ENUMERATING] == 0 and key >= 0 and is_watched
        if is_new and (incoming.begins[i] & rules.first or runs.heads[key] != NOTHING):
            if not has_room(machine, runs, merging, key):
                return CROWDED
            merging.seen[key] = incoming.measures[i]
            step(machine, graph, None, None, merging, None, runs, incoming, i)
            merge(graph, runs, merging, key)
        if state[nodes.FRESH] > 0:
            bound = window_start(incoming.measures[i], rules.span)
            if merging.state[nodes.ENUMERATING] == 0:
                start(machine, graph, runs, merging, bound)
                merging.state[nodes.ENUMERATING] = int(merging.state[nodes.WAYS] > 0)
            if merging.state[nodes.ENUMERATING] == 1:
                why = enumerate_matches(runs, merging, written, bound)
                if why != DONE:
                    return int(why)
                merging.state[nodes.ENUMERATING] = 0
            commit(graph, None, None, merging, runs, key)
        state[nodes.AT] += 1
    return DONE
