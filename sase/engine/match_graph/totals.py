"""Count the matches that end at each event, and sum over their events, by window start.

A match is a path: the paths to a node are those to all nodes before it, plus one if a match may
begin there. Sums over the events of a component follow the same recurrence: the sums of these
paths, plus the node's weight for each path.

The kernel counts in int64. Frames with larger numbers are counted modulo several primes, up to some
thousand bits, and beyond that in Python integers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sase.engine.kernels.match_graph.passes import LIMIT, NO_LEVEL, tally
from sase.engine.match_graph.graph import Graph
from sase.engine.match_graph.residues import Residues


@dataclass(frozen=True)
class EndCount:
    """The number of matches that end at an event, with its place in the partition and position."""

    partition: int
    place: int
    position: int
    count: int


class Stretch(NamedTuple):
    """A range of places of one partition; `is_alone`: matches begin only at its first place."""

    low: int
    beyond: int
    is_alone: bool = False

    def opens(self, place: int) -> bool:
        """Whether a match may begin at a place."""
        return not self.is_alone or place == self.low


@dataclass(frozen=True)
class EndLists:
    """The places, by component, of the matches that end at an event."""

    partition: int
    place: int
    position: int
    places: tuple[list[int], ...]


@dataclass(frozen=True)
class PairLists:
    """The number and places of the matches that begin at one place and end at another."""

    partition: int
    first: int
    last: int
    count: int
    places: tuple[list[int], ...]


class Weights(NamedTuple):
    """The weights of a component's events, by place."""

    level: int
    worth: Sequence[int]


class Total(NamedTuple):
    """The number of matches that end at a place, and the sum over their events."""

    place: int
    matches: int
    sum: int


INT64 = 8
# Places counted in Python integers between checks.
LOOK = 1 << 8
NO_WEIGHTS = Weights(NO_LEVEL, ())


class _Pass:
    """Passes of the kernel over the frames of a graph."""

    def __init__(self, graph: Graph, weights: Weights) -> None:
        self.graph, self.weights = graph, weights
        longest = int((graph.frames.beyond - graph.frames.low).max(initial=0))
        rows = longest if graph.is_linked else 2
        graph.check(2 * INT64 * (rows * len(graph.slots) + len(graph)))
        self._sums = np.empty((2, rows, len(graph.slots)), np.int64)
        self.results = np.zeros((2, len(graph)), np.int64)
        self._largest = max(map(abs, weights.worth), default=0)

    def exact(self, frame: int) -> int:
        """Count frames from this one on; return the first that overflows, or their number."""
        if self._largest >= LIMIT or not self.graph.options.in_int64:
            return frame
        return self._run(frame, len(self.graph.frames.low), self.weights.worth, 0)

    def modular(self, frame: int, stop: int) -> Iterator[Total]:
        """The totals of frames with bounded numbers."""
        ends = self.graph.ends_of(frame, stop)
        residues = Residues(self.bits(frame, stop))
        for prime in residues.primes:
            self._run(frame, stop, [each % prime for each in self.weights.worth], prime)
            residues.add(self.results[:, ends])
        yield from map(Total, ends.tolist(), *residues.numbers())

    def bits(self, frame: int, stop: int) -> int:
        """An upper bound of the bits of all numbers."""
        graph, frames = self.graph, self.graph.frames
        widest = int((frames.beyond[frame:stop] - frames.low[frame:stop]).max())
        counts = graph.slots.bits(widest)
        if self.weights.level == NO_LEVEL:
            return counts + 1
        bare = _Pass(graph, NO_WEIGHTS)
        if bare.exact(frame) >= stop:
            counts = int(bare.results[0, graph.ends_of(frame, stop)].max()).bit_length()
        return counts + self._largest.bit_length() + widest.bit_length() + 1

    def _run(self, frame: int, stop: int, worth: Sequence[int], modulus: int) -> int:
        graph, numbers = self.graph, np.asarray(worth, np.int64)
        frames = graph.frames
        beyond = frames.beyond[frame:stop]
        begin = frame
        for end in graph.stops(beyond, beyond - frames.low[frame:stop]):
            graph.check(0)
            done = tally(
                graph.arrays, frames, frame, begin + end, self.weights.level, numbers, modulus,
                self._sums, self.results,
            )  # fmt: skip
            if done < begin + end:
                return done
            frame = begin + end
        return stop


def count_all(graph: Graph) -> int:
    """The number of all matches."""
    found = 0
    for each in _pieces(graph, NO_WEIGHTS):
        if isinstance(each, Total):
            found += each.matches
        else:  # in halves, of which the sums fit
            of_ends = each[1]
            found += (int((of_ends >> 32).sum()) << 32) + int((of_ends & 0xFFFFFFFF).sum())
    return found


def totals(graph: Graph, weights: Weights = NO_WEIGHTS) -> Iterator[Total]:
    """The totals of each place where a match ends, in order."""
    for each in _pieces(graph, weights):
        if isinstance(each, Total):
            yield each
        else:
            yield from map(Total, *each.tolist())


def _pieces(graph: Graph, weights: Weights) -> Iterator[Total | NDArray[np.int64]]:
    """The totals one by one, or those of many places as three rows."""
    frames, frame, work = len(graph.frames.low), 0, _Pass(graph, weights)
    options = graph.options
    while frame < frames:
        done = work.exact(frame)
        ends = graph.ends_of(frame, done)
        yield np.stack([ends, *work.results[:, ends]])
        if done == frames:
            return
        frame = min(done + options.batch, frames)
        if work.bits(done, frame) <= options.modular_bits:
            yield from work.modular(done, frame)
        else:
            frame = done + 1
            yield from _large_frame(graph, weights, done)


def _large_frame(graph: Graph, weights: Weights, frame: int) -> Iterator[Total]:
    """The totals of one frame in Python integers."""
    graph.check(0)
    ends = set(graph.ends_of(frame, frame + 1).tolist())
    closing = [slot for slot, form in enumerate(graph.slots.all) if form.closes]
    paths = _linked_paths if graph.is_linked else _free_paths
    for place, counts, sums in paths(graph, weights, _stretch(graph, frame)):
        if place in ends:
            yield Total(place, sum(counts[s] for s in closing), sum(sums[s] for s in closing))


def _stretch(graph: Graph, frame: int) -> Stretch:
    return Stretch(int(graph.frames.low[frame]), int(graph.frames.beyond[frame]))


def paths_from(graph: Graph, start: int) -> Iterator[tuple[int, list[int]]]:
    """The numbers of paths from one place to each slot of the places in its window."""
    partition, _ = graph.local(start)
    lowest = graph.stream.lowest[start : graph.offsets[partition + 1]]
    stretch = Stretch(start, start + int(np.searchsorted(lowest, start, side="right")), True)
    paths = _linked_paths if graph.is_linked else _free_paths
    for place, counts, _ in paths(graph, NO_WEIGHTS, stretch):
        yield place, counts


_Paths = Iterator[tuple[int, list[int], list[int]]]


def _free_paths(graph: Graph, weights: Weights, stretch: Stretch) -> _Paths:
    """Paths to each slot by place, and their sums; running sums replace the arcs."""
    forms, sources, tied = graph.slots.all, graph.slots.sources, graph.slots.tied
    low, beyond = stretch.low, stretch.beyond
    before = graph.stream.before[low:beyond].tolist()
    opened, fresh, nothing = _Pair.zero(len(forms)), _Pair.zero(len(forms)), [0] * len(forms)
    for place, reached in enumerate(graph.reached(low, beyond), low):
        if not place % LOOK:
            graph.check(0)
        if before[place - low] == place:
            opened.add(fresh)
            fresh = _Pair.zero(len(forms))
        counts, sums = nothing.copy(), nothing.copy()
        for slot in reached:
            counts[slot] = int(forms[slot].opens and stretch.opens(place))
            counts[slot] += sum(opened.counts[s] for s in sources[slot])
            counts[slot] += sum(fresh.counts[s] for s in tied[slot])
            if weights.level != NO_LEVEL:
                sums[slot] = sum(opened.sums[s] for s in sources[slot])
                sums[slot] += sum(fresh.sums[s] for s in tied[slot])
                if forms[slot].level == weights.level:
                    sums[slot] += weights.worth[place] * counts[slot]
        fresh.add(_Pair(counts, sums))
        yield place, counts, sums


class _Pair(NamedTuple):
    """Counts and sums by slot."""

    counts: list[int]
    sums: list[int]

    @classmethod
    def zero(cls, slots: int) -> _Pair:
        return cls([0] * slots, [0] * slots)

    def add(self, other: _Pair) -> None:
        for mine, theirs in zip(self, other, strict=True):
            for slot, number in enumerate(theirs):
                if number:
                    mine[slot] += number


def _linked_paths(graph: Graph, weights: Weights, stretch: Stretch) -> _Paths:
    """Paths to each slot by place, and their sums, over the arcs."""
    forms, before = graph.slots.all, graph.slots.before
    low, beyond = stretch.low, stretch.beyond
    done: list[_Pair] = []
    for place, reached in enumerate(graph.reached(low, beyond), low):
        graph.check(0)
        here = _Pair.zero(len(forms))
        for slot in reached:
            here.counts[slot] = int(forms[slot].opens and stretch.opens(place))
            for source, pair in before[slot]:
                arcs = graph.earlier(place, pair)
                rows = (arcs[np.searchsorted(arcs, low) :] - low).tolist()
                here.counts[slot] += sum(done[row].counts[source] for row in rows)
                if weights.level != NO_LEVEL:
                    here.sums[slot] += sum(done[row].sums[source] for row in rows)
            if forms[slot].level == weights.level:
                here.sums[slot] += weights.worth[place] * here.counts[slot]
        done.append(here)
        yield place, here.counts, here.sums


def linked_counts(graph: Graph, frame: int) -> list[list[int]]:
    """The paths to each node of a frame with tested neighbours, by place and slot."""
    return [counts for _, counts, _ in _linked_paths(graph, NO_WEIGHTS, _stretch(graph, frame))]
