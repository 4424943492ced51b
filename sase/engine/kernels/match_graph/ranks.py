"""The matches of given ranks, by walking back over counts of paths that fit into int64."""

from __future__ import annotations

from typing import NamedTuple

from sase.engine.kernels.jit.compiler import kernel, linked
from sase.engine.kernels.jit.signatures import IntRows, Ints, OutIntRows, OutInts
from sase.engine.kernels.match_graph.passes import LIMIT, GraphArrays, fits


class Counts(NamedTuple):
    """By place from `low` and by slot the paths to a node, and to all places before it."""

    paths: OutIntRows
    running: OutIntRows


class RankQuery(NamedTuple):
    """Final events, and ranks among the matches that end there."""

    ends: Ints
    ranks: Ints


class MatchPlaces(NamedTuple):
    """Places and slots of match n, ascending, from `bounds[n]` to `bounds[n + 1]`; its lengths."""

    places: OutInts
    slots: OutInts
    bounds: OutInts
    lengths: OutIntRows


@kernel
def count_paths(graph: GraphArrays, low: int, beyond: int, counts: Counts) -> bool:
    """Count the paths to each node that begin at `low` or later: whether all numbers fit."""
    slots = len(graph.automaton.levels)
    for slot in range(slots):
        counts.running[0, slot] = 0
    for place in range(low, beyond):
        row = place - low
        for slot in range(slots):
            count = 0
            if fits(graph, place, slot):
                count = int(graph.automaton.opens[slot])
                for at in range(graph.automaton.bounds[slot], graph.automaton.bounds[slot + 1]):
                    count += _through(graph, low, counts, place, at)
                    if count > LIMIT:
                        return False
            counts.paths[row, slot] = count
            counts.running[row + 1, slot] = counts.running[row, slot] + count
            if counts.running[row + 1, slot] > LIMIT:
                return False
    return True


@linked
def _through(graph: GraphArrays, low: int, counts: Counts, place: int, at: int) -> int:
    """Count the paths to the nodes before one in its source number `at`, as far as the limit."""
    source, count = graph.automaton.sources[at], 0
    if graph.links.bounds.shape[0] == 0:
        earlier = counts.running[max(graph.events.before[place] - low, 0), source]
        if graph.automaton.ties[at]:
            return counts.running[place - low, source] - earlier  # type: ignore[no-any-return]
        return earlier  # type: ignore[no-any-return]
    pair = graph.automaton.pairs[at]
    for arc in range(
        graph.links.bounds[pair, place + 1] - 1, graph.links.bounds[pair, place] - 1, -1
    ):
        if graph.links.places[arc] < low or count > LIMIT:
            break
        count += counts.paths[graph.links.places[arc] - low, source]
    return count


@kernel
def descend(
    graph: GraphArrays, low: int, counts: Counts, query: RankQuery, number: int, found: MatchPlaces
) -> int:
    """Write matches from `number` on, at its bound; return the first that does not fit."""
    while number < len(query.ends):
        start = found.bounds[number]
        place, rank = query.ends[number], query.ranks[number]
        if start + place - low + 1 > len(found.places):
            return number
        slot, rank = _last(graph, counts, place - low, rank)
        stop = start
        while True:
            found.places[stop], found.slots[stop] = place, slot
            found.lengths[number, graph.automaton.levels[slot]] += 1
            stop += 1
            if graph.automaton.opens[slot]:
                if rank == 0:
                    break
                rank -= 1
            place, slot, rank = _former(graph, low, counts, place, slot, rank)
        _reverse(found.places, start, stop)
        _reverse(found.slots, start, stop)
        number += 1
        found.bounds[number] = stop
    return number


@linked
def _last(graph: GraphArrays, counts: Counts, row: int, rank: int) -> tuple[int, int]:
    """The slot of the last event, and the rank among the paths to it."""
    for slot in range(len(graph.automaton.levels)):
        if graph.automaton.closes[slot]:
            if rank < counts.paths[row, slot]:
                return slot, rank
            rank -= counts.paths[row, slot]
    return -1, rank


@linked
def _former(
    graph: GraphArrays, low: int, counts: Counts, place: int, slot: int, rank: int
) -> tuple[int, int, int]:
    """The node before a node on the path of a rank, and the rank among the paths to that."""
    for at in range(graph.automaton.bounds[slot], graph.automaton.bounds[slot + 1]):
        source = graph.automaton.sources[at]
        count = _through(graph, low, counts, place, at)
        if rank >= count:
            rank -= count
        elif graph.links.bounds.shape[0] == 0:
            group = max(graph.events.before[place] - low, 0)
            stop = group
            if graph.automaton.ties[at]:
                rank += counts.running[group, source]
                stop = place - low
            row = _row(counts.running, source, stop, rank)
            return low + row, source, rank - counts.running[row, source]
        else:
            pair = graph.automaton.pairs[at]
            for arc in range(graph.links.bounds[pair, place + 1] - 1, -1, -1):
                former = int(graph.links.places[arc])
                if rank < counts.paths[former - low, source]:
                    return former, source, rank
                rank -= counts.paths[former - low, source]
    return -1, -1, rank


@linked
def _row(running: IntRows, slot: int, stop: int, rank: int) -> int:
    """The last row before `stop` whose running count is not above the rank."""
    start = 0
    while stop - start > 1:
        middle = (start + stop) // 2
        if running[middle, slot] <= rank:
            start = middle
        else:
            stop = middle
    return start


@linked
def _reverse(places: OutInts, start: int, stop: int) -> None:
    """Reverse a part of an array."""
    while stop - start > 1:
        stop -= 1
        places[start], places[stop] = places[stop], places[start]
        start += 1
