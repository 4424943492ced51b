"""The shared graph of all matches, with its arcs where conditions test neighbours."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sase.cached_property import cached_property
from sase.engine.kernels.jit.signatures import frozen
from sase.engine.kernels.match_graph.passes import (
    UNREACHABLE,
    EventPlaces,
    Frames,
    GraphArrays,
    Links,
    mark,
    reach,
)
from sase.engine.match_graph.candidates import Binding, CandidateEvents, Edge, Neighbours
from sase.engine.match_graph.options import GRAPH_OPTIONS, GraphOptions
from sase.engine.match_graph.slots import SlotAutomaton
from sase.engine.resources import Check, is_too_much, no_check
from sase.errors import BudgetError

# ---------------------------------------------------------------- links

INT32 = 4
NO_LINKS = Links(frozen(np.empty((0, 0), np.int64)), frozen(np.empty(0, np.int32)))


def linked(
    slots: SlotAutomaton,
    stream: EventPlaces,
    tested: Edge | None,
    options: GraphOptions,
    check: Check = no_check,
) -> Links:
    """The arcs of the graph, or none if neighbours are not tested.

    Every pair of events in a window is tested once for each pair of components; only this step
    takes quadratic time and space. The counts use the arcs once for each window start.
    """
    if not slots.pairs or tested is None:
        return NO_LINKS
    bounds, places, kept = [], [], 0
    check(2 * INT64 * len(slots.pairs) * len(stream.before))
    for pair in slots.pairs:
        found, counts = _arcs(stream, _any if pair.tied else tested, pair, options, kept, check)
        bounds.append(kept + np.concatenate([[0], np.cumsum(counts)]))
        places.append(found)
        kept += len(found)
    check(INT32 * kept)
    return Links(frozen(np.stack(bounds)), frozen(np.concatenate(places)))


def _any(
    earlier: NDArray[np.int64], later: NDArray[np.int64], pair: Neighbours
) -> NDArray[np.bool_]:
    """Accept all pairs."""
    return np.ones(len(later), np.bool_)


def _arcs(
    stream: EventPlaces,
    edge: Edge,
    pair: Neighbours,
    options: GraphOptions,
    kept: int,
    check: Check,
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """The earlier places of each place, concatenated, and their numbers."""
    former = np.flatnonzero(((stream.begins | stream.takes) >> pair.earlier) & 1)
    entering = stream.takes if pair.further else stream.begins
    targets = np.flatnonzero((entering >> pair.later) & 1)
    lowest = np.maximum(stream.lowest, stream.before) if pair.tied else stream.lowest
    starts = np.searchsorted(former, lowest[targets])
    beyond = targets if pair.tied else stream.before[targets]
    widths = np.maximum(np.searchsorted(former, beyond) - starts, 0)
    counts = np.zeros(len(stream.before), np.int64)
    found = [np.empty(0, np.int32)]
    for chosen in _blocks(widths, options.pairs):
        owners = np.repeat(np.arange(chosen.start, chosen.stop), widths[chosen])
        if not len(owners):
            continue
        check(INT32 * sum(map(len, found)))  # to be concatenated
        offsets = np.cumsum(widths[chosen]) - widths[chosen]
        steps = np.arange(len(owners)) - np.repeat(offsets, widths[chosen])
        sources, ends = former[starts[owners] + steps], targets[owners]
        holds = edge(sources, ends, pair)
        found.append(sources[holds].astype(np.int32))
        counts += np.bincount(ends[holds], minlength=len(counts))
        kept += len(found[-1])
        if kept > options.arcs:
            raise BudgetError(
                f"more than {options.arcs:,} pairs of events may be neighbours in a match of a"
                " compressed set; a shorter window, or a condition that joins fewer events, is"
                " needed"
            )
    return np.concatenate(found), counts


def _blocks(widths: NDArray[np.int64], pairs: int) -> Iterator[slice]:
    """Blocks of targets with about `pairs` pairs, at least one target in each."""
    totals = np.cumsum(widths)
    start = 0
    while start < len(widths):
        done = totals[start - 1] if start else 0
        stop = max(int(np.searchsorted(totals, done + pairs, side="right")), start + 1)
        yield slice(start, stop)
        start = stop


# ---------------------------------------------------------------- graph

INT64 = 8
# The most copies of the nodes in memory during a pass, besides path counts.
COPIES = 3


class Graph:
    """Nodes are (place, slot) pairs; arcs lead to possible next events of a match.

    Arcs are listed only where neighbours are tested; otherwise they are ranges of places. A node
    belongs to the set if a path from a start leads to it; `latest` is the last first place of such
    a path. The places of a partition follow those of the one before, from `offsets[partition]` on.
    No path crosses partitions: windows and earlier events are within one.
    """

    def __init__(
        self,
        slots: SlotAutomaton,
        events: CandidateEvents,
        span: int | None,
        options: GraphOptions = GRAPH_OPTIONS,
        check: Check = no_check,
    ) -> None:
        self.slots, self.events, self.options = slots, events, options
        self.check = check
        self.offsets: list[int] = events.offsets.tolist()
        self.positions = events.positions
        self.stream = events.places(span)

    def __len__(self) -> int:
        return len(self.positions)

    def local(self, place: int) -> tuple[int, int]:
        """The partition of a place, and its place within."""
        partition = bisect_right(self.offsets, place) - 1
        return partition, place - self.offsets[partition]

    def binding(
        self, places: tuple[int, ...], lengths: tuple[int, ...], slots: tuple[int, ...]
    ) -> Binding:
        """A match with places within its partition, and slots if lengths are ambiguous."""
        partition, _ = self.local(places[0])
        offset = self.offsets[partition]
        own = tuple(place - offset for place in places) if offset else places
        return Binding(partition, own, lengths, slots if self.slots.is_told else ())

    @cached_property
    def links(self) -> Links:
        """The arcs, if neighbours are tested."""
        return linked(self.slots, self.stream, self.events.edge, self.options, self.check)

    @cached_property
    def arrays(self) -> GraphArrays:
        """The graph as kernels read it."""
        return GraphArrays(self.slots.arrays, self.stream, self.links)

    @property
    def is_linked(self) -> bool:
        """Whether neighbours are tested."""
        return len(self.links.bounds) > 0

    @cached_property
    def latest(self) -> NDArray[np.int64]:
        """For each place and slot the latest first place of a path; -1 if none is in a window."""
        size = len(self) * len(self.slots) * INT64
        check_memory(size)
        self.check(size)
        latest = np.empty((len(self), len(self.slots)), np.int64)
        best = np.full((2, len(self.slots)), UNREACHABLE)
        begin = 0
        for end in self.stops(np.arange(1, len(self) + 1), np.ones(len(self), np.int64)):
            self.check(0)
            reach(self.arrays, begin, end, latest, best)
            begin = end
        return latest

    def stops(self, beyond: NDArray[np.int64], widths: NDArray[np.int64]) -> list[int]:
        """Cut steps into blocks of about equal work; return the ends of the blocks.

        Step i covers `widths[i]` places up to `beyond[i]`. One step with many arcs can exceed a
        block.
        """
        work = widths * len(self.slots)
        if self.is_linked:
            bounds = self.links.bounds
            work = work + (bounds[:, beyond] - bounds[:, beyond - widths]).sum(axis=0)
        blocks = np.cumsum(work) // self.options.steps
        return [*(np.flatnonzero(np.diff(blocks)) + 1).tolist(), len(work)] if len(work) else []

    def _blocks(self, low: int, beyond: int) -> list[int]:
        """Cut places into blocks of about equal work; mostly there is one."""
        work = (beyond - low) * len(self.slots)
        if self.is_linked:
            work += int((self.links.bounds[:, beyond] - self.links.bounds[:, low]).sum())
        if work <= self.options.steps:
            return [low, beyond]
        places = np.arange(low + 1, beyond + 1)
        return [low, *(low + stop for stop in self.stops(places, np.ones_like(places)))]

    @cached_property
    def ends(self) -> NDArray[np.int64]:
        """The places where matches end, in order."""
        closing = np.asarray([slot.closes for slot in self.slots.all])
        return np.flatnonzero((self.latest[:, closing] >= 0).any(axis=1))

    @cached_property
    def frames(self) -> Frames:
        """Final events grouped by the first place of their windows."""
        return frames_of(self.stream, self.ends)

    def ends_of(self, frame: int, stop: int) -> NDArray[np.int64]:
        """The final events of some frames."""
        if frame == stop:
            return self.ends[:0]
        first, beyond = self.frames.first[frame], self.frames.beyond[stop - 1]
        return self.ends[slice(*np.searchsorted(self.ends, [first, beyond]))]

    def frame_of(self, end: int) -> int:
        """The frame of a final event."""
        return int(np.searchsorted(self.frames.first, end, side="right")) - 1

    def reached(self, low: int, beyond: int) -> list[list[int]]:
        """For each place, the slots that a path from a start at `low` or later reaches."""
        reached = self.latest[low:beyond] >= low
        places, slots = np.nonzero(reached)
        cuts = np.searchsorted(places, np.arange(beyond - low + 1)).tolist()
        flat = slots.tolist()
        return [flat[start:stop] for start, stop in pairwise(cuts)]

    def earlier(self, place: int, pair: int) -> NDArray[np.int32]:
        """The places that can precede one as neighbours of a pair of components."""
        start, stop = self.links.bounds[pair, place : place + 2]
        return self.links.places[start:stop]

    def alive(self, low: int, first: int, beyond: int) -> NDArray[np.bool_]:
        """The nodes on matches that begin at `low` or later and end from `first` to `beyond`."""
        self.check((beyond - low) * len(self.slots))
        alive = np.zeros((beyond - low, len(self.slots)), np.uint8)
        needed = np.zeros((2, len(self.slots)), np.int64)
        needed[1] = -1
        for begin, end in reversed(list(pairwise(self._blocks(low, beyond)))):
            mark(self.arrays, self.latest, low, first, begin, end, needed, alive)
            self.check(0)
        return alive.astype(bool)


def check_memory(size: int) -> None:
    """Refuse a graph that memory cannot hold."""
    if is_too_much(COPIES * size):
        raise BudgetError(
            f"the graph of all matches would take {COPIES * size:,} bytes, more than there are:"
            " fewer events, or a pattern with fewer states, take less"
        )


def frames_of(stream: EventPlaces, ends: NDArray[np.int64]) -> Frames:
    """Group final events by the first place of their windows."""
    lows, starts = np.unique(stream.lowest[ends], return_index=True)
    stops = np.append(starts[1:], len(ends))
    beyond = ends[stops - 1] + 1 if len(lows) else lows
    return Frames(frozen(lows), frozen(ends[starts]), frozen(beyond))
