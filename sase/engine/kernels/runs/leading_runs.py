"""Of runs that go on alike the leading one alone, where the first match ends all others.

Runs are in the order of results. One that stands behind another, is at the same state, agrees with
it in all that is still read of either, and has not begun later, is a match only with an event with
which the other is one, too, and then it comes after it. So the first match is none of its own.

    SEQ((SEQ(B b, C c))+ g[], D d)     b1 c2, b3 c4 and b1 c2 b3 c4 all wait for d: the latter
                                       is behind b3 c4, and has begun before; so has b1 c2
"""

from __future__ import annotations

from typing import NamedTuple

from sase.engine.kernels.jit.compiler import inlined, linked
from sase.engine.kernels.jit.signatures import IntRows, OutIntRows
from sase.engine.kernels.kleene import run_nodes as nodes
from sase.engine.kernels.kleene.run_nodes import Runs, remove_run
from sase.engine.kernels.runs.graph import RunGraph, counted
from sase.engine.kernels.sentinels import NOTHING

# Of a row of `read`: the word of nodes; from which number on it is all the same, or NOTHING; and
# the word of the node whose it is, or NOTHING: of the one before the iteration at hand.
WORD, CAP, BACK = range(3)
READ_WIDTH = 3
# Of a row of `seen` when it was filled, and the node.
STAMP, NODE = range(2)
# Of fewer runs none is looked for.
FEWEST = 4
LOW_HALF, FACTOR = 2**31 - 1, 1_000_003


class LeadingRuns(NamedTuple):
    """What of nodes is still read, no row if more than can be said; and places for nodes, by hash.

    Of two nodes that need the same place the later one has it: then some runs stay that need not.
    """

    read: IntRows
    seen: OutIntRows


@inlined
def known(leading: LeadingRuns, cells: OutIntRows, node: int, row: int) -> int:
    """Return what a node knows of a row, as far as it matters."""
    back, cap = leading.read[row, BACK], leading.read[row, CAP]
    value = cells[node if back == NOTHING else cells[node, back], leading.read[row, WORD]]
    return int(value if cap == NOTHING else min(value, cap))


@linked
def place_of(leading: LeadingRuns, graph: RunGraph, cells: OutIntRows, node: int) -> int:
    """Return the place of a node by what is read of it; far within int64."""
    found = cells[node, nodes.LEVEL] * FACTOR + (counted(graph, cells, node) & LOW_HALF)
    for row in range(leading.read.shape[0]):
        value = known(leading, cells, node, row)
        found = ((found & LOW_HALF) * FACTOR) ^ ((value ^ (value >> 31)) & LOW_HALF)
    return int((found ^ (found >> 20)) & (leading.seen.shape[0] - 1))


@linked
def go_on_alike(
    leading: LeadingRuns, graph: RunGraph, cells: OutIntRows, one: int, other: int
) -> bool:
    """Whether nodes agree on their state and all that is still read of them."""
    if cells[one, nodes.LEVEL] != cells[other, nodes.LEVEL]:
        return False
    if counted(graph, cells, one) != counted(graph, cells, other):
        return False
    for row in range(leading.read.shape[0]):
        if known(leading, cells, one, row) != known(leading, cells, other, row):
            return False
    return True


@inlined
def drop_followers(leading: LeadingRuns, graph: RunGraph, runs: Runs, key: int, order: int) -> None:
    """Remove the runs of a partition from which no first match comes, before an event is applied.

    None may be simultaneous with the event: that it cannot go on with one tells a run apart.
    """
    cells, state = runs.cells, runs.state
    if runs.rules.apart != nodes.FIRST_ALONE or leading.read.shape[0] == 0:
        return
    if runs.counts[key] < FEWEST or cells[runs.heads[key], nodes.TIE] >= order:
        return
    state[nodes.GROUPS] += 1
    ahead, node = NOTHING, runs.heads[key]
    while node != NOTHING:
        after = cells[node, nodes.NEXT]
        seen = leading.seen[place_of(leading, graph, cells, node)]
        is_behind = seen[STAMP] == state[nodes.GROUPS] and go_on_alike(
            leading, graph, cells, seen[NODE], node
        )
        if is_behind and cells[seen[NODE], nodes.START] >= cells[node, nodes.START]:
            remove_run(runs, None, key, ahead, node)
            state[nodes.EXPIRED] += 1
        else:
            seen[STAMP], seen[NODE] = state[nodes.GROUPS], node
            ahead = node
        node = after
