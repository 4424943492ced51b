"""Passes over the graph of all matches of a partition, and the matches of given ranks."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sase.engine.kernels.jit.compiler import kernel, linked
from sase.engine.kernels.jit.signatures import (
    IntRows,
    Ints,
    Layout,
    OutIntCubes,
    OutIntRows,
    OutInts,
)

# ---------------------------------------------------------------- passes

# A node is a (place, slot) pair. A path from a slot that opens to one that closes is a match. If
# neighbours are not tested, every node at a strictly earlier place is followed by every later one
# with a fitting slot, and running sums replace the arcs. Otherwise `Links` lists the earlier places
# for each place and pair of components, ascending.

Places = Annotated[NDArray[np.int32], Layout("int32", 1)]
OutByteRows = Annotated[NDArray[np.uint8], Layout("uint8", 2, writable=True)]

# The bound of sums, so that a few can be added before the next check without overflow.
LIMIT = 2**61
# No component: only the matches are counted.
NO_LEVEL = -1
UNREACHABLE = -1


class Automaton(NamedTuple):
    """The slots, and from `bounds[s]` to `bounds[s + 1]` the sources and pairs of slot s.

    An event fits a slot if it has the bit with the number in `bits`; it is then one of the
    component in `levels`. Where `ties` is 1 a source is of a simultaneous event, at an earlier
    place; then the source is an earlier slot, too.
    """

    bits: Ints
    levels: Ints
    further: Ints
    opens: Ints
    closes: Ints
    bounds: Ints
    sources: Ints
    pairs: Ints
    ties: Ints


class EventPlaces(NamedTuple):
    """By place: the components it may begin and continue, and the first place not strictly earlier.

    `lowest` is the first place at which a match that ends here may begin.
    """

    begins: Ints
    takes: Ints
    before: Ints
    lowest: Ints


class Links(NamedTuple):
    """By tested pair p and place i the earlier places, `bounds[p, i]` to `bounds[p, i + 1]`."""

    bounds: IntRows
    places: Places


class GraphArrays(NamedTuple):
    """The nodes of a graph, and its arcs."""

    automaton: Automaton
    events: EventPlaces
    links: Links


class Frames(NamedTuple):
    """Final events with the same earliest first event `low`: places from `first`, `beyond` not."""

    low: Ints
    first: Ints
    beyond: Ints


@kernel
def lowest_places(measures: Ints, span: int, lowest: OutInts) -> None:
    """Raise the first place of each partition to that of a window that ends at a place."""
    least, low = np.iinfo(np.int64).min, 0
    for place in range(len(measures)):
        low = max(low, lowest[place])
        floor = measures[place] - span if measures[place] >= least + span else least
        while measures[low] < floor:
            low += 1
        lowest[place] = low


@linked
def fits(graph: GraphArrays, place: int, slot: int) -> bool:
    """Whether the event at a place fits a slot."""
    bits = (
        graph.events.takes[place] if graph.automaton.further[slot] else graph.events.begins[place]
    )
    return bool(bits >> graph.automaton.bits[slot] & 1)


@kernel
def reach(
    graph: GraphArrays, begin: int, end: int, latest: OutIntRows, best: OutIntRows
) -> None:  # fmt: skip
    """Write for each node the latest first place of a path to it, if that can be in a window.

    The nodes of some places are written, after those of all places before. `best` has two rows by
    slot for running maxima, of strictly earlier places and of simultaneous ones, at first
    `UNREACHABLE`. The slots of a place are visited downward, so that none follows another at the
    same place.
    """
    slots = len(graph.automaton.levels)
    for place in range(begin, end):
        if graph.events.before[place] == place:
            for slot in range(slots):
                best[0, slot] = max(best[0, slot], best[1, slot])
                best[1, slot] = UNREACHABLE
        for slot in range(slots - 1, -1, -1):
            found = UNREACHABLE
            if fits(graph, place, slot):
                found = _latest(graph, latest, best, place, slot)
            latest[place, slot] = found
            best[1, slot] = max(best[1, slot], found)


@linked
def _latest(graph: GraphArrays, latest: OutIntRows, best: OutIntRows, place: int, slot: int) -> int:
    """Return the latest first place of a path to a node, or `UNREACHABLE` within the window."""
    found = place if graph.automaton.opens[slot] else UNREACHABLE
    for at in range(graph.automaton.bounds[slot], graph.automaton.bounds[slot + 1]):
        source = graph.automaton.sources[at]
        if graph.links.bounds.shape[0] == 0:
            found = max(found, best[graph.automaton.ties[at], source])
        else:
            pair = graph.automaton.pairs[at]
            for arc in range(graph.links.bounds[pair, place], graph.links.bounds[pair, place + 1]):
                found = max(found, latest[graph.links.places[arc], source])
    return found if found >= graph.events.lowest[place] else UNREACHABLE


@kernel
def tally(
    graph: GraphArrays, frames: Frames, frame: int, stop: int, level: int, worth: Ints,
    modulus: int, sums: OutIntCubes, results: OutIntRows,
) -> int:  # fmt: skip
    """Count the matches that end at each place, and sum `worth` over their events of a component.

    Return the first frame with numbers that do not fit, or `stop`. With a `modulus` below 2³¹ (0
    for none) all numbers fit, as `worth` is then reduced, too. `sums` holds counts and sums by
    slot: by place of the frame if there are links, else of strictly earlier places and of
    simultaneous ones.
    """
    while frame < stop:
        if not _tally_frame(graph, frames, frame, level, worth, modulus, sums, results):
            return frame
        frame += 1
    return frame


@linked
def _tally_frame(
    graph: GraphArrays, frames: Frames, frame: int, level: int, worth: Ints, modulus: int,
    sums: OutIntCubes, results: OutIntRows,
) -> bool:  # fmt: skip
    """Tally one frame; return whether all its numbers fit."""
    low, first = frames.low[frame], frames.first[frame]
    linked = graph.links.bounds.shape[0] > 0
    if not linked:
        sums[:, :2] = 0
    for place in range(low, frames.beyond[frame]):
        if not linked and graph.events.before[place] == place:
            _close_group(sums)
        if place >= first:
            results[0, place] = 0
            results[1, place] = 0
        for slot in range(len(graph.automaton.levels) - 1, -1, -1):
            count, total = 0, 0
            if fits(graph, place, slot):
                count, total = _arriving(graph, low, sums, place, slot)
                if count > 0 and graph.automaton.levels[slot] == level:
                    if modulus == 0 and abs(float(worth[place])) * float(count) > LIMIT / 2:
                        return False
                    total += worth[place] * (count % modulus if modulus else count)
            if modulus:
                count, total = count % modulus, total % modulus
            elif count < 0 or abs(total) > LIMIT:
                return False
            if linked:
                sums[0, place - low, slot] = count
                sums[1, place - low, slot] = total
            else:
                sums[0, 1, slot] += count
                sums[1, 1, slot] += total
                if sums[0, 1, slot] > LIMIT or abs(sums[1, 1, slot]) > LIMIT:
                    return False
            if place >= first and graph.automaton.closes[slot]:
                results[0, place] += count
                results[1, place] += total
                if results[0, place] > LIMIT or abs(results[1, place]) > LIMIT:
                    return False
    return True


@linked
def _close_group(sums: OutIntCubes) -> None:
    """Close a group of simultaneous places: add its sums to those of earlier places."""
    for slot in range(sums.shape[2]):
        for kind in range(2):
            sums[kind, 0, slot] += sums[kind, 1, slot]
            sums[kind, 1, slot] = 0


@linked
def _arriving(
    graph: GraphArrays, low: int, sums: OutIntCubes, place: int, slot: int
) -> tuple[int, int]:
    """Return the paths to a node and their sum without the node's own; -1 past the limit."""
    count, total = int(graph.automaton.opens[slot]), 0
    for at in range(graph.automaton.bounds[slot], graph.automaton.bounds[slot + 1]):
        source = graph.automaton.sources[at]
        if graph.links.bounds.shape[0] == 0:
            count += sums[0, graph.automaton.ties[at], source]
            total += sums[1, graph.automaton.ties[at], source]
            if count > LIMIT or abs(total) > LIMIT:
                return -1, 0
            continue
        pair = graph.automaton.pairs[at]
        for arc in range(
            graph.links.bounds[pair, place + 1] - 1, graph.links.bounds[pair, place] - 1, -1
        ):
            row = graph.links.places[arc] - low
            if row < 0:
                break
            count += sums[0, row, source]
            total += sums[1, row, source]
            if count > LIMIT or abs(total) > LIMIT:
                return -1, 0
    return count, total


@kernel
def mark(
    graph: GraphArrays, latest: OutIntRows, low: int, first: int, begin: int, end: int,
    needed: OutIntRows, alive: OutByteRows,
) -> None:  # fmt: skip
    """Mark the nodes on matches that begin at `low` or later and end at `first` or later.

    The nodes at places from `begin` to `end` are marked, after those of all later places. Row 0 of
    `alive` is the place `low`. `needed` has two numbers by slot, for the marked nodes that the
    slot's nodes may lead to. The first is the first place that is not strictly earlier than one of
    these nodes, at first 0. The second is the first place of the last group of simultaneous ones
    among them, at first -1.
    """
    for place in range(end - 1, begin - 1, -1):
        for slot in range(len(graph.automaton.levels)):
            if latest[place, slot] < low:
                alive[place - low, slot] = 0
                continue
            is_end = place >= first and graph.automaton.closes[slot] != 0
            if is_end or place < needed[0, slot] or graph.events.before[place] == needed[1, slot]:
                alive[place - low, slot] = 1
            if alive[place - low, slot]:
                _mark_sources(graph, low, needed, alive, place, slot)


@linked
def _mark_sources(
    graph: GraphArrays, low: int, needed: OutIntRows, alive: OutByteRows, place: int, slot: int
) -> None:
    """Mark the sources of a node on a match, if a path from a start leads to them."""
    for at in range(graph.automaton.bounds[slot], graph.automaton.bounds[slot + 1]):
        source = graph.automaton.sources[at]
        if graph.links.bounds.shape[0] == 0:
            if graph.automaton.ties[at]:
                needed[1, source] = graph.events.before[place]
            else:
                needed[0, source] = max(needed[0, source], graph.events.before[place])
            continue
        pair = graph.automaton.pairs[at]
        for arc in range(
            graph.links.bounds[pair, place + 1] - 1, graph.links.bounds[pair, place] - 1, -1
        ):
            row = graph.links.places[arc] - low
            if row < 0:
                break
            alive[row, source] = 1


# ---------------------------------------------------------------- ranks


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
    """Count the paths to each node that begin at `low` or later; return whether all numbers fit."""
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
    """The last row before `stop` with a running count that is not above the rank."""
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
