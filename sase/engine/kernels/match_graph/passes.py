"""Passes over the graph of all matches of a partition: reach, counts, and what is on a match.

A node is a (place, slot) pair; a path from a slot that opens to one that closes is a match. Where
neighbours are not tested, every node at a strictly earlier place is followed by every later one
whose slot allows it, and running sums stand for the arcs. Otherwise `Links` lists the earlier
places for each place and pair of components, ascending.
"""

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
)

Places = Annotated[NDArray[np.int32], Layout("int32", 1)]
OutByteRows = Annotated[NDArray[np.uint8], Layout("uint8", 2, writable=True)]

# Sums stay below, so that a few can be added before the next check without an overflow.
LIMIT = 2**61
# No component: nothing is summed but the matches themselves.
NO_LEVEL = -1
UNREACHABLE = -1


class Automaton(NamedTuple):
    """The slots, and from `bounds[s]` to `bounds[s + 1]` the sources and pairs of slot s.

    An event may stand in a slot by its bit of that number, and is then one of the component
    `levels`. Where `ties` is 1 a source is of a simultaneous event, at an earlier place; then the
    source is an earlier slot, too.
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
    """By place: the components it may begin and go on, and the first place not strictly earlier.

    `lowest` is the first place that a match which ends here may begin at.
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


@linked
def fits(graph: GraphArrays, place: int, slot: int) -> bool:
    """Whether the event at a place may stand in a slot."""
    bits = (
        graph.events.takes[place] if graph.automaton.further[slot] else graph.events.begins[place]
    )
    return bool(bits >> graph.automaton.bits[slot] & 1)


@kernel
def reach(
    graph: GraphArrays, begin: int, end: int, latest: OutIntRows, best: OutIntRows
) -> None:  # fmt: skip
    """Write for each node the latest first place of a path to it, if that can lie in a window.

    Of some places, after all before them. `best` has two rows by slot for running maxima, of
    strictly earlier places and of simultaneous ones, at first `UNREACHABLE`. The slots of a place
    go downward, so that none follows another at the same place.
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

    Return the first frame whose numbers do not fit, or `stop`. Modulo a `modulus` below 2³¹ (0 for
    none), as `worth` is then, all fit. `sums` holds counts and sums by slot: by place of the frame
    where there are links, else of strictly earlier places and of simultaneous ones.
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

    Of places from `begin` to `end`, after all behind them. Row 0 of `alive` is the place `low`.
    `needed` is by slot the first place that is not strictly earlier than one of the nodes it leads
    to, and the first place of the
    simultaneous ones of those that it last led to, at first 0 and -1.
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
    """Mark the sources of a node on a match that a path from a start leads to."""
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
