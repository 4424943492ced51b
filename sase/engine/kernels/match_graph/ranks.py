"""The matches of given ranks, by walking back over counts of paths that fit into int64."""

from __future__ import annotations

from typing import NamedTuple

from sase.engine.kernels.jit.compiler import kernel, linked
from sase.engine.kernels.jit.signatures import IntRows, Ints, OutIntRows, OutInts
from sase.engine.kernels.match_graph.passes import LIMIT, Automaton, EventPlaces, Links, fits


class Counts(NamedTuple):
    """By place from `low` and by slot the paths to a node, and to all places before it."""

    paths: OutIntRows
    running: OutIntRows


class Wanted(NamedTuple):
    """Final events, and ranks among the matches that end there."""

    ends: Ints
    ranks: Ints


class Found(NamedTuple):
    """The places of match n, ascending, from `bounds[n]` to `bounds[n + 1]`; lengths by level."""

    places: OutInts
    bounds: OutInts
    lengths: OutIntRows


@kernel
def count_paths(
    automaton: Automaton, stream: EventPlaces, links: Links, low: int, beyond: int, counts: Counts
) -> bool:
    """Count the paths to each node that begin at `low` or later: whether all numbers fit."""
    slots = len(automaton.levels)
    for slot in range(slots):
        counts.running[0, slot] = 0
    for place in range(low, beyond):
        row = place - low
        for slot in range(slots):
            count = 0
            if fits(automaton, stream, place, slot):
                count = int(automaton.opens[slot])
                for at in range(automaton.bounds[slot], automaton.bounds[slot + 1]):
                    count += _through(automaton, stream, links, low, counts, place, at)
                    if count > LIMIT:
                        return False
            counts.paths[row, slot] = count
            counts.running[row + 1, slot] = counts.running[row, slot] + count
            if counts.running[row + 1, slot] > LIMIT:
                return False
    return True


@linked
def _through(
    automaton: Automaton,
    stream: EventPlaces,
    links: Links,
    low: int,
    counts: Counts,
    place: int,
    at: int,
) -> int:
    """The paths to the nodes before one in its source number `at`; beyond the limit, some of them.

    Without links the nodes of a source are all those at strictly earlier places.
    """
    source, count = automaton.sources[at], 0
    if links.bounds.shape[0] == 0:
        return counts.running[max(stream.before[place] - low, 0), source]  # type: ignore[no-any-return]
    pair = automaton.pairs[at]
    for arc in range(links.bounds[pair, place + 1] - 1, links.bounds[pair, place] - 1, -1):
        if links.places[arc] < low or count > LIMIT:
            break
        count += counts.paths[links.places[arc] - low, source]
    return count


@kernel
def descend(
    automaton: Automaton,
    stream: EventPlaces,
    links: Links,
    low: int,
    counts: Counts,
    wanted: Wanted,
    number: int,
    found: Found,
) -> int:
    """Write matches from `number` on, and return the first for which there is no room.

    `found.bounds[number]` is where to begin.
    """
    while number < len(wanted.ends):
        start = found.bounds[number]
        place, rank = wanted.ends[number], wanted.ranks[number]
        if start + place - low + 1 > len(found.places):
            return number
        slot, rank = _last(automaton, counts, place - low, rank)
        stop = start
        while True:
            found.places[stop] = place
            found.lengths[number, automaton.levels[slot]] += 1
            stop += 1
            if automaton.opens[slot]:
                if rank == 0:
                    break
                rank -= 1
            place, slot, rank = _former(automaton, stream, links, low, counts, place, slot, rank)
        _reverse(found.places, start, stop)
        number += 1
        found.bounds[number] = stop
    return number


@linked
def _last(automaton: Automaton, counts: Counts, row: int, rank: int) -> tuple[int, int]:
    """The slot of the last event, and the rank among the paths to it."""
    for slot in range(len(automaton.levels)):
        if automaton.closes[slot]:
            if rank < counts.paths[row, slot]:
                return slot, rank
            rank -= counts.paths[row, slot]
    return -1, rank


@linked
def _former(
    automaton: Automaton,
    stream: EventPlaces,
    links: Links,
    low: int,
    counts: Counts,
    place: int,
    slot: int,
    rank: int,
) -> tuple[int, int, int]:
    """The node before a node on the path of a rank, and the rank among the paths to that."""
    for at in range(automaton.bounds[slot], automaton.bounds[slot + 1]):
        source = automaton.sources[at]
        count = _through(automaton, stream, links, low, counts, place, at)
        if rank >= count:
            rank -= count
        elif links.bounds.shape[0] == 0:
            row = _row(counts.running, source, stream.before[place] - low, rank)
            return low + row, source, rank - counts.running[row, source]
        else:
            pair = automaton.pairs[at]
            for arc in range(links.bounds[pair, place + 1] - 1, -1, -1):
                former = int(links.places[arc])
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
    """Turn a part of an array round."""
    while stop - start > 1:
        stop -= 1
        places[start], places[stop] = places[stop], places[start]
        start += 1
