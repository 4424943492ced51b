"""The buffer of matches, each of which is written from its last node."""

from __future__ import annotations

from typing import NamedTuple

from sase.engine.kernels.jit.arrow_memory import copy
from sase.engine.kernels.jit.compiler import inlined
from sase.engine.kernels.jit.signatures import OutIntRows, OutInts
from sase.engine.kernels.kleene.run_nodes import DEPTH, EVENT, LENGTH, LEVEL, PREVIOUS, ROOT, SHOWN


class MatchBuffer(NamedTuple):
    """Matches: their events one after the other, the end of each, and the lengths by level.

    `sizes` are the numbers of matches and events, and the number of matches written before.
    """

    events: OutInts
    ends: OutInts
    lengths: OutIntRows
    sizes: OutInts


@inlined
def write_match(cells: OutIntRows, node: int, written: MatchBuffer) -> bool:
    """Write the match that ends with a node, if there is room; copy the events it shares."""
    count, used, earlier = written.sizes[0], written.sizes[1], written.sizes[2]
    end, lengths = used + cells[node, DEPTH], written.lengths
    if count >= written.ends.shape[0] or end > written.events.shape[0]:
        return False
    written.ends[count] = end
    level = lengths.shape[0]
    while node != ROOT and cells[node, SHOWN] < earlier:
        level = level_reached(cells, node, level, lengths, count)
        end -= 1
        written.events[end] = cells[node, EVENT]
        cells[node, SHOWN] = earlier + count
        node = cells[node, PREVIOUS]
    other = cells[node, SHOWN] - earlier
    if node != ROOT:
        level = level_reached(cells, node, level, lengths, count)
        begin = written.ends[other - 1] if other > 0 else 0
        copy(written.events, begin, written.events, used, cells[node, DEPTH])
    for lower in range(level):
        lengths[lower, count] = lengths[lower, other] if node != ROOT else 0
    written.sizes[0], written.sizes[1] = count + 1, written.ends[count]
    return True


@inlined
def level_reached(cells: OutIntRows, node: int, level: int, lengths: OutIntRows, count: int) -> int:
    """Write the length of a node's level, on the way back from a higher level; return the level."""
    reached = cells[node, LEVEL]
    if reached < level:
        for between in range(reached + 1, level):
            lengths[between, count] = 0
        lengths[reached, count] = cells[node, LENGTH]
    return int(reached)
