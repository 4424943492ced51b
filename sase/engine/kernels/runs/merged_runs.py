"""(NFAb) Merge runs from the event on after which they behave alike.

Two runs are alike (SASE+, 5.3) if they have bound the same last event at the same level, and agree
on all values that later conditions read. One node of that event represents both runs, and has the
nodes before both. Its start is the latest start, so it is over when all its runs are over.

    a1 ◄── a2 ◄── a3 ◄── z4        a1 a2 a3 z4, a2 a3 z4 and a3 z4 are one run: at a2 and at a3
    root ◄─┘      │                a new run begins, and is at once like the existing run
    root ◄────────┘

A node with several nodes before it stores the first one as other nodes do, and the rest as edges:
the root first, and then the later event first. `merged_enumeration` follows them.
"""

from __future__ import annotations

from sase.engine.kernels.jit.compiler import inlined, kernel, linked
from sase.engine.kernels.jit.signatures import OutIntRows
from sase.engine.kernels.kleene import run_nodes as nodes
from sase.engine.kernels.kleene.run_nodes import (
    Merging,
    Runs,
    free_edge,
    free_merged,
    free_node,
)
from sase.engine.kernels.runs.advance import remove_ended
from sase.engine.kernels.runs.graph import RunGraph, counted, may_go_on
from sase.engine.kernels.sentinels import NOTHING, window_start

# A merged node does not need its first event, so this word holds its partition instead.
KEY = nodes.FIRST
# The depth of a node of several runs; the depth of the nodes after it is negative, too.
SEVERAL = -(2**40)
# The columns of a bucket: the stamp of when it was filled, and the node.
STAMP, NODE = range(2)
LOW_HALF, FACTOR = 2**31 - 1, 1_000_003


@inlined
def join(runs: Runs, merging: Merging, node: int, other: int) -> None:
    """Merge the fresh node `other`, which has only one node before it, into `node`."""
    cells, edges, state = runs.cells, merging.edges, merging.state
    edge = state[nodes.FREE_EDGE]
    if edge == NOTHING:
        edge = state[nodes.EDGES]
        state[nodes.EDGES] += 1
    else:
        state[nodes.FREE_EDGE] = edges[edge, nodes.AFTER]
        state[nodes.SPARE_EDGES] -= 1
    edges[edge, nodes.TO], edges[edge, nodes.AFTER] = cells[other, nodes.PREVIOUS], NOTHING
    link = merging.links[node]
    if link[nodes.HEAD_EDGE] == NOTHING:
        link[nodes.HEAD_EDGE] = edge
    else:
        edges[link[nodes.LAST_EDGE], nodes.AFTER] = edge
    link[nodes.LAST_EDGE] = edge
    cells[node, nodes.START] = max(cells[node, nodes.START], cells[other, nodes.START])
    cells[node, nodes.DEPTH] = SEVERAL
    free_node(runs, other)


@linked
def are_alike(graph: RunGraph, merging: Merging, cells: OutIntRows, one: int, other: int) -> bool:
    """Whether two nodes of one event agree on their level and all values that are still read."""
    level = cells[one, nodes.LEVEL]
    if cells[other, nodes.LEVEL] != level:
        return False
    if counted(graph, cells, one) != counted(graph, cells, other):
        return False
    needed = merging.needed[level]
    for place in range(1, 1 + needed[0]):
        if cells[one, needed[place]] != cells[other, needed[place]]:
            return False
    return True


@linked
def hash_node(graph: RunGraph, merging: Merging, cells: OutIntRows, node: int) -> int:
    """Hash the values that alike nodes have in common; the hash cannot overflow int64."""
    level = cells[node, nodes.LEVEL]
    found = level * FACTOR + (counted(graph, cells, node) & LOW_HALF)
    needed = merging.needed[level]
    for place in range(1, 1 + needed[0]):
        word = cells[node, needed[place]]
        found = ((found & LOW_HALF) * FACTOR) ^ ((word ^ (word >> 31)) & LOW_HALF)
    return int((found ^ (found >> 20)) & LOW_HALF)


@inlined
def bucket_of(graph: RunGraph, runs: Runs, merging: Merging, node: int) -> int:
    """Return the bucket of a node of this event that is like a node, or else an empty bucket."""
    mask = merging.buckets.shape[0] - 1
    at = hash_node(graph, merging, runs.cells, node) & mask
    while is_filled(runs, merging, at):
        if are_alike(graph, merging, runs.cells, merging.buckets[at, NODE], node):
            break
        at = (at + 1) & mask
    return int(at)


@inlined
def is_filled(runs: Runs, merging: Merging, at: int) -> bool:
    """Whether a bucket has a node of this event."""
    return bool(merging.buckets[at, STAMP] == runs.state[nodes.GROUPS])


@inlined
def keep(runs: Runs, merging: Merging, at: int, node: int, place: int) -> None:
    """Put a node that is like no other into a bucket, and at a place of the fresh nodes."""
    merging.buckets[at, STAMP], merging.buckets[at, NODE] = runs.state[nodes.GROUPS], node
    runs.fresh[place] = node


@inlined
def note_joined(graph: RunGraph, runs: Runs, merging: Merging, node: int) -> None:
    """Count a node that was merged into a node."""
    runs.state[nodes.MADE] -= 1
    merging.state[nodes.MERGED] += 1
    merging.state[nodes.MERGED_ALIVE] += int(may_go_on(graph, None, None, runs.cells, node))


@inlined
def note_fresh(runs: Runs, merging: Merging, key: int) -> None:
    """Set the partition of the fresh nodes, and that none of them is merged."""
    for place in range(runs.state[nodes.FRESH]):
        node = runs.fresh[place]
        runs.cells[node, KEY] = key
        merging.links[node, nodes.HEAD_EDGE] = merging.links[node, nodes.LAST_EDGE] = NOTHING


@inlined
def merge(graph: RunGraph, runs: Runs, merging: Merging, key: int) -> None:
    """Merge the fresh nodes that are alike; set their partition."""
    note_fresh(runs, merging, key)
    if runs.state[nodes.FRESH] > 1:
        merge_several(graph, runs, merging)


@linked
def merge_several(graph: RunGraph, runs: Runs, merging: Merging) -> None:
    """Merge the nodes that are alike among two or more fresh nodes."""
    kept = 0
    runs.state[nodes.GROUPS] += 1
    for place in range(runs.state[nodes.FRESH]):
        node = runs.fresh[place]
        at = bucket_of(graph, runs, merging, node)
        if is_filled(runs, merging, at):
            join(runs, merging, merging.buckets[at, NODE], node)
            note_joined(graph, runs, merging, merging.buckets[at, NODE])
        else:
            keep(runs, merging, at, node, kept)
            kept += 1
    runs.state[nodes.FRESH] = kept


@linked
def cut(runs: Runs, merging: Merging, node: int, bound: int) -> None:
    """Remove the nodes before a node from which all runs begin too early."""
    cells, edges, link = runs.cells, merging.edges, merging.links[node]
    ahead, edge = NOTHING, link[nodes.HEAD_EDGE]
    while edge != NOTHING:
        before, after = edges[edge, nodes.TO], edges[edge, nodes.AFTER]
        if before != nodes.ROOT and cells[before, nodes.START] < bound:
            if ahead == NOTHING:
                link[nodes.HEAD_EDGE] = after
            else:
                edges[ahead, nodes.AFTER] = after
            if after == NOTHING:
                link[nodes.LAST_EDGE] = ahead
            free_edge(merging, edge)
            cells[before, nodes.NEEDED] -= 1
            free_merged(runs, merging, before)
        else:
            ahead = edge
        edge = after
    before, edge = cells[node, nodes.PREVIOUS], link[nodes.HEAD_EDGE]
    if before != nodes.ROOT and cells[before, nodes.START] < bound:
        # The node itself begins late enough, so one of the nodes before it does.
        cells[node, nodes.PREVIOUS], link[nodes.HEAD_EDGE] = (
            edges[edge, nodes.TO],
            edges[edge, nodes.AFTER],
        )
        free_edge(merging, edge)
        cells[before, nodes.NEEDED] -= 1
        free_merged(runs, merging, before)


@kernel
def expire_merged(runs: Runs, merging: Merging, bound: int, spot: int) -> int:
    """Remove the ended runs; return the first event that is still needed."""
    cells, first, rules = runs.cells, NOTHING, runs.rules
    remove_ended(runs, merging, bound, spot)
    for node in range(1, runs.state[nodes.USED]):
        if cells[node, nodes.EVENT] == NOTHING or rules.prunes == 0:
            continue
        least = max(bound, window_start(merging.seen[cells[node, KEY]], rules.span))
        if cells[node, nodes.START] >= least:
            cut(runs, merging, node, least)
    for node in range(1, runs.state[nodes.USED]):
        event = cells[node, nodes.EVENT]
        if event != NOTHING and (first == NOTHING or event < first):
            first = event
    return int(first)
