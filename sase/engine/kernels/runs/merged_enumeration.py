"""(NFAb) Enumerate the matches for which merged runs stand, in the order of results.

From the last event a walk goes back to all nodes that may come before, those of the latest event
first. At each step it stands at one event, in a frame: a way is a node of it, with all that was
chosen behind. There are several where the same events are of different components, or were not
merged; they rank by the levels behind, the last event's first. Where a way is at a first event it
is a match. Only nodes are entered from which a run begins within the window, so every frame is
part of a match.
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
from sase.engine.kernels.sentinels import NOTHING
from sase.engine.kernels.window import window_start

# Of a way: its node, the way behind it, its rank, the next node to go back to, and the edge to the
# one after that; the event and level of the node, and how many events are chosen.
PLACE, BEHIND, RANK, NEXT_NODE, NEXT_EDGE, OF_EVENT, OF_LEVEL, CHOSEN = range(8)
WAY = 8
# Of a frame its first way, the one after the last, and the next one that may be a match. A frame
# all of whose ways are gone back is no more, though its ways stand behind others.
BEGIN, END, LOOKED = range(3)
FRAME = 3


# ---------------------------------------------------------------- ways


@inlined
def follow_edge(merging: Merging, way: int) -> None:
    """Advance a way to the node of its next edge, whatever begins there."""
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
    """Pass over the nodes from which all runs begin too early."""
    row, cells = merging.ways[way], runs.cells
    while row[NEXT_NODE] > nodes.ROOT and cells[row[NEXT_NODE], nodes.START] < bound:
        follow_edge(merging, way)


@linked
def step_on(runs: Runs, merging: Merging, way: int, bound: int) -> None:
    """Advance a way to the next node that it may go back to."""
    follow_edge(merging, way)
    pass_dead(runs, merging, way, bound)


@inlined
def fill_way(
    runs: Runs, merging: Merging, way: int, node: int, behind: int, rank: int, bound: int
) -> None:
    """Make a way of a node before another way."""
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
    """Sort the ways of a frame by what is behind, then by level."""
    ways, end = merging.ways, merging.state[nodes.WAYS]
    for place in range(begin + 1, end):
        to = place
        while to > begin and is_less(ways, to, to - 1):
            for column in range(WAY):
                kept = ways[to, column]
                ways[to, column] = ways[to - 1, column]
                ways[to - 1, column] = kept
            to -= 1
    # What was the rank of the way behind becomes that of this one, from the first way on.
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
    """Set the frame on top, of all ways from one on."""
    frame, state = merging.frames[number], merging.state
    frame[BEGIN] = frame[LOOKED] = begin
    frame[END] = state[nodes.WAYS]
    state[nodes.FRAMES] = number + 1


@inlined
def start(machine: Machine, graph: RunGraph, runs: Runs, merging: Merging, bound: int) -> None:
    """Make the frame of the matches that the fresh nodes are, if any is one."""
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
    """Write the match of a way and of what comes before its node, if there is room."""
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
    """Whether a way has a match, of which nothing more needs to be chosen or compared."""
    before = merging.ways[way, NEXT_NODE]
    is_one_run = several == 1 and runs.cells[merging.ways[way, PLACE], nodes.DEPTH] > 0
    return bool(before == nodes.ROOT or (before > nodes.ROOT and is_one_run))


@inlined
def descend(runs: Runs, merging: Merging, bound: int) -> None:
    """Go back from the frame on top while it has one way with one node before, of several runs."""
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
    """Find the latest event to which ways may go back; count the nodes of it they come to."""
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
    """Push a frame of the nodes of an event to which the ways of the frame on top go back."""
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
    """Write matches, on from where there was no room."""
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
    """Whether there is room for all that the runs of a partition may become by an event."""
    needed = (runs.counts[key] + 1) * levels_of(machine)
    edges = merging.edges.shape[0] - merging.state[nodes.EDGES] + merging.state[nodes.SPARE_EDGES]
    room = min(room_of(runs), edges, merging.buckets.shape[0] // 2, merging.ways.shape[0])
    return bool(needed < room)


@kernel
def advance_merged(
    machine: Machine, graph: RunGraph, runs: Runs, merging: Merging, incoming: Incoming,
    written: MatchBuffer,
) -> int:  # fmt: skip
    """Apply events, on from where it stopped, and write the matches they complete."""
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
