"""(NFAb) Runs that behave alike from now on are one, from the event on at which they become so.

Two runs are alike (SASE+, 5.3) if they have bound the same last event at the same level, and agree
on all that conditions still to come read of them. The node of that event stands for both, and has
both nodes before it. Its start is the latest one, so it is over when all its runs are.

    a1 ◄── a2 ◄── a3 ◄── z4        a1 a2 a3 z4, a2 a3 z4 and a3 z4 are one run: of a2 and a3
    root ◄─┘      │                a new run begins, which is at once like the one there is
    root ◄────────┘

A node with several before it has the first of them as others have it, and edges for the rest: the
root first, and then the later event first. `fanning` follows them.
"""

from __future__ import annotations

from typing import NamedTuple

from sase.engine.kernels.jit.compiler import inlined, kernel, linked
from sase.engine.kernels.jit.signatures import IntRows, OutIntRows, OutInts
from sase.engine.kernels.kleene.run_nodes import (
    DEPTH,
    EVENT,
    FIRST,
    LENGTH,
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
    EXPIRED,
    FRESH,
    GROUPS,
    LIVE,
    MADE,
    MOST_LIVE,
    STEPS,
    USED,
    Incoming,
    Rules,
    Runs,
    free_node,
    go_on,
    goes_on,
    ignores,
    is_ended,
    is_over,
    link_run,
    remove_run,
)
from sase.engine.kernels.sentinels import NOTHING
from sase.engine.kernels.window import window_start

# A node does not need its first event, so it knows its partition instead.
KEY = FIRST
# The depth of a node that stands for several runs; of those that follow it it is negative, too.
SEVERAL = -(2**40)
# Of a node the first and the last of its edges; of an edge the node and the next edge.
HEAD_EDGE, LAST_EDGE = range(2)
TO, AFTER = range(2)
# Of a bucket when it was filled, and the node.
STAMP, NODE = range(2)
# Of the state: edges ever used, the first free one, edges free; runs merged into others; the frames
# and ways of the matches of an event, and whether they are being told.
EDGES, FREE_EDGE, SPARE_EDGES, MERGED, FRAMES, WAYS, TELLING = range(7)
STATE = 7
LOW_HALF, FACTOR = 2**31 - 1, 1_000_003


class Merging(NamedTuple):
    """What makes runs alike, the edges, and of each partition the last measure.

    A row of `needed` has for a level the number of columns of nodes that must be the same, and
    these. `buckets` find nodes of an event that are alike. `frames` and `ways`: see `fanning`.
    """

    needed: IntRows
    links: OutIntRows
    edges: OutIntRows
    buckets: OutIntRows
    seen: OutInts
    frames: OutIntRows
    ways: OutIntRows
    state: OutInts


# ---------------------------------------------------------------- nodes


@inlined
def shelve_edge(merging: Merging, edge: int) -> None:
    """An edge may be used for another node."""
    merging.edges[edge, AFTER], merging.state[FREE_EDGE] = merging.state[FREE_EDGE], edge
    merging.state[SPARE_EDGES] += 1


@linked
def let_go(runs: Runs, merging: Merging, node: int) -> None:
    """Let a node go if nothing needs it, and those before it that only it needed."""
    cells, edges = runs.cells, merging.edges
    if node == ROOT or cells[node, NEEDED] > 0:
        return
    cells[node, NEXT] = NOTHING
    top = node
    while top != NOTHING:
        gone = top
        top = cells[gone, NEXT]
        before, edge = cells[gone, PREVIOUS], merging.links[gone, HEAD_EDGE]
        free_node(runs, gone)
        while before != NOTHING:
            if before != ROOT:
                cells[before, NEEDED] -= 1
                if cells[before, NEEDED] == 0:
                    cells[before, NEXT], top = top, before
            before = NOTHING
            if edge != NOTHING:
                before, after = edges[edge, TO], edges[edge, AFTER]
                shelve_edge(merging, edge)
                edge = after


@inlined
def join(runs: Runs, merging: Merging, node: int, other: int) -> None:
    """Let a node stand for another fresh one as well: that has only one node before it."""
    cells, edges, state = runs.cells, merging.edges, merging.state
    edge = state[FREE_EDGE]
    if edge == NOTHING:
        edge = state[EDGES]
        state[EDGES] += 1
    else:
        state[FREE_EDGE] = edges[edge, AFTER]
        state[SPARE_EDGES] -= 1
    edges[edge, TO], edges[edge, AFTER] = cells[other, PREVIOUS], NOTHING
    link = merging.links[node]
    if link[HEAD_EDGE] == NOTHING:
        link[HEAD_EDGE] = edge
    else:
        edges[link[LAST_EDGE], AFTER] = edge
    link[LAST_EDGE] = edge
    cells[node, START] = max(cells[node, START], cells[other, START])
    cells[node, DEPTH] = SEVERAL
    free_node(runs, other)


# ---------------------------------------------------------------- runs that are alike


@inlined
def counted(pattern: Pattern, cells: OutIntRows, node: int) -> int:
    """The length of the series that a run is inside of, as far as it matters."""
    level = cells[node, LEVEL]
    length = cells[node, LENGTH]
    return int(length if pattern.most[level] >= 0 else min(length, max(pattern.least[level], 1)))


@linked
def are_alike(pattern: Pattern, merging: Merging, cells: OutIntRows, one: int, other: int) -> bool:
    """Whether nodes of one event agree on their level and all that is still read of them."""
    level = cells[one, LEVEL]
    if cells[other, LEVEL] != level:
        return False
    if counted(pattern, cells, one) != counted(pattern, cells, other):
        return False
    needed = merging.needed[level]
    for place in range(1, 1 + needed[0]):
        if cells[one, needed[place]] != cells[other, needed[place]]:
            return False
    return True


@linked
def hashed(pattern: Pattern, merging: Merging, cells: OutIntRows, node: int) -> int:
    """A number that is the same for nodes that are alike; it stays far within int64."""
    level = cells[node, LEVEL]
    found = level * FACTOR + (counted(pattern, cells, node) & LOW_HALF)
    needed = merging.needed[level]
    for place in range(1, 1 + needed[0]):
        word = cells[node, needed[place]]
        found = ((found & LOW_HALF) * FACTOR) ^ ((word ^ (word >> 31)) & LOW_HALF)
    return int((found ^ (found >> 20)) & LOW_HALF)


@linked
def merge(pattern: Pattern, runs: Runs, merging: Merging, key: int) -> None:
    """Of the fresh nodes keep one for all that are alike, and note their partition."""
    cells, state, buckets = runs.cells, runs.state, merging.buckets
    mask, kept = buckets.shape[0] - 1, 0
    state[GROUPS] += 1
    for place in range(state[FRESH]):
        node = runs.fresh[place]
        cells[node, KEY] = key
        merging.links[node, HEAD_EDGE] = merging.links[node, LAST_EDGE] = NOTHING
    if state[FRESH] < 2:
        return
    for place in range(state[FRESH]):
        node = runs.fresh[place]
        at = hashed(pattern, merging, cells, node) & mask
        while buckets[at, STAMP] == state[GROUPS]:
            if are_alike(pattern, merging, cells, buckets[at, NODE], node):
                break
            at = (at + 1) & mask
        if buckets[at, STAMP] == state[GROUPS]:
            join(runs, merging, buckets[at, NODE], node)
            state[MADE] -= 1
            merging.state[MERGED] += 1
        else:
            buckets[at, STAMP], buckets[at, NODE] = state[GROUPS], node
            runs.fresh[kept] = node
            kept += 1
    state[FRESH] = kept


# ---------------------------------------------------------------- moves


@inlined
def move(
    machine: Machine,
    pattern: Pattern,
    rules: Rules,
    runs: Runs,
    merging: Merging,
    incoming: Incoming,
    i: int,
) -> None:
    """All moves of all runs of a partition by an event; what is over goes."""
    cells, state, key = runs.cells, runs.state, incoming.keys[i]
    merging.seen[key] = incoming.measures[i]
    if incoming.begins[i] & rules.first:
        go_on(machine, pattern, runs, incoming, i, ROOT)
    bound = window_start(incoming.measures[i], rules.span)
    ahead, node = NOTHING, runs.heads[key]
    while node != NOTHING:
        after, stays = cells[node, NEXT], False
        state[STEPS] += 1
        if is_over(machine, rules, runs, incoming, i, node):
            state[EXPIRED] += 1
        else:
            own = False
            if (incoming.begins[i] | incoming.takes[i]) != 0 and cells[node, START] >= bound:
                own = go_on(machine, pattern, runs, incoming, i, node)
            stays = ignores(machine, rules, runs, incoming, i, node, own)
        if stays:
            ahead = node
        else:
            remove_run(runs, key, ahead, node)
            let_go(runs, merging, node)
        node = after
    merge(pattern, runs, merging, key)


@linked
def settle(pattern: Pattern, runs: Runs, merging: Merging, key: int) -> None:
    """The fresh nodes become runs, before those there were, if they can go on."""
    cells, state = runs.cells, runs.state
    for place in range(state[FRESH] - 1, -1, -1):
        node = runs.fresh[place]
        if goes_on(pattern, cells, node):
            link_run(runs, key, node)
        else:
            let_go(runs, merging, node)
    state[MOST_LIVE] = max(state[MOST_LIVE], state[LIVE])
    state[FRESH] = 0


# ---------------------------------------------------------------- what is over


@linked
def cut(runs: Runs, merging: Merging, node: int, bound: int) -> None:
    """Forget the nodes before a node from which all runs begin too early."""
    cells, edges, link = runs.cells, merging.edges, merging.links[node]
    ahead, edge = NOTHING, link[HEAD_EDGE]
    while edge != NOTHING:
        before, after = edges[edge, TO], edges[edge, AFTER]
        if before != ROOT and cells[before, START] < bound:
            if ahead == NOTHING:
                link[HEAD_EDGE] = after
            else:
                edges[ahead, AFTER] = after
            if after == NOTHING:
                link[LAST_EDGE] = ahead
            shelve_edge(merging, edge)
            cells[before, NEEDED] -= 1
            let_go(runs, merging, before)
        else:
            ahead = edge
        edge = after
    before, edge = cells[node, PREVIOUS], link[HEAD_EDGE]
    if before != ROOT and cells[before, START] < bound:
        # The node itself begins late enough, so one of those before it does.
        cells[node, PREVIOUS], link[HEAD_EDGE] = edges[edge, TO], edges[edge, AFTER]
        shelve_edge(merging, edge)
        cells[before, NEEDED] -= 1
        let_go(runs, merging, before)


@kernel
def expire_merged(runs: Runs, merging: Merging, rules: Rules, bound: int, spot: int) -> int:
    """Let go what a window or contiguity has ended; the first event still needed."""
    cells, state, first = runs.cells, runs.state, NOTHING
    for key in range(runs.heads.shape[0]):
        ahead, node = NOTHING, runs.heads[key]
        while node != NOTHING:
            after = cells[node, NEXT]
            if is_ended(rules, runs, node, bound, spot):
                state[EXPIRED] += 1
                remove_run(runs, key, ahead, node)
                let_go(runs, merging, node)
            else:
                ahead = node
            node = after
    for node in range(1, state[USED]):
        if cells[node, EVENT] == NOTHING or rules.prunes == 0:
            continue
        least = max(bound, window_start(merging.seen[cells[node, KEY]], rules.span))
        if cells[node, START] >= least:
            cut(runs, merging, node, least)
    for node in range(1, state[USED]):
        event = cells[node, EVENT]
        if event != NOTHING and (first == NOTHING or event < first):
            first = event
    return int(first)
