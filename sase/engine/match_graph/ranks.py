"""Find the match of a given rank among those that end at an event, and draw samples by rank."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from math import ceil, floor, sqrt
from random import Random
from typing import NamedTuple

import numpy as np

from sase.engine.kernels.jit.signatures import frozen
from sase.engine.kernels.match_graph.passes import (
    LIMIT,
    Counts,
    MatchPlaces,
    RankQuery,
    count_paths,
    descend,
)
from sase.engine.match_graph.candidates import Binding
from sase.engine.match_graph.graph import Graph
from sase.engine.match_graph.totals import linked_counts, totals

# ---------------------------------------------------------------- ranks

# The rank among the paths to a node determines the path: it begins there, or passes an earlier
# node, with the counts of skipped nodes subtracted. Counts are exact, so a uniform rank gives a
# uniform match. Small numbers are handled by a kernel. Counts of many thousands of bits would fill
# the memory. So, if neighbours are not tested, only each `segment`-th running count is stored; the
# paths of all ranks are followed back together, one segment at a time, and its counts are
# recomputed.

NO_SLOTS = np.empty(0, np.int64)


class EndRank(NamedTuple):
    """A match, by its rank among those that end at a place."""

    end: int
    rank: int


def _small_matches(graph: Graph, frame: int, wanted: list[EndRank]) -> list[Binding] | None:
    """The matches of some ranks of a frame; None if its counts exceed int64."""
    low, beyond = int(graph.frames.low[frame]), int(graph.frames.beyond[frame])
    if max(each.rank for each in wanted) > LIMIT or not graph.options.in_int64:
        return None
    slots, matrix = len(graph.slots), (graph.arrays, low)
    shape = (beyond - low, slots)
    counts = Counts(np.empty(shape, np.int64), np.empty((shape[0] + 1, slots), np.int64))
    if not count_paths(*matrix, beyond, counts):
        return None
    ends, ranks = np.array(wanted, np.int64).T
    sought = RankQuery(frozen(ends), frozen(ranks))
    lengths = np.zeros((len(wanted), len(graph.slots.levels)), np.int64)
    bounds = np.zeros(len(wanted) + 1, np.int64)
    room = max(graph.options.chunk, beyond - low)
    found = MatchPlaces(np.empty(room, np.int64), np.empty(room, np.int64), bounds, lengths)
    bindings, done = list[Binding](), 0
    while done < len(wanted):
        bounds[done] = 0
        start, done = done, descend(*matrix, counts, sought, done, found)
        bindings += _bindings(graph, found, start, done)
    return bindings


def _bindings(graph: Graph, found: MatchPlaces, start: int, stop: int) -> list[Binding]:
    """The matches that the kernel wrote."""
    bounds, lengths = found.bounds[start : stop + 1].tolist(), found.lengths[start:stop].tolist()
    slots = found.slots if graph.slots.is_told else NO_SLOTS
    return [
        graph.binding(
            tuple(found.places[first:last].tolist()), tuple(of), tuple(slots[first:last].tolist())
        )
        for first, last, of in zip(bounds, bounds[1:], lengths, strict=False)
    ]


class _Search:
    """A path that is followed back."""

    def __init__(self, wanted: EndRank) -> None:
        self.end, self.rank = wanted
        self.nodes: list[tuple[int, int]] = []

    def binding(self, graph: Graph) -> Binding:
        lengths = [0] * len(graph.slots.levels)
        for _, slot in self.nodes:
            lengths[graph.slots.all[slot].level] += 1
        places, slots = (tuple(each) for each in zip(*reversed(self.nodes), strict=True))
        return graph.binding(places, tuple(lengths), slots)


def matches_of(graph: Graph, frame: int, wanted: list[EndRank]) -> list[Binding]:
    """The matches of some ranks of one frame."""
    found = _small_matches(graph, frame, wanted)
    if found is not None:
        return found
    searches = [_Search(each) for each in wanted]
    if graph.is_linked:
        _LinkedRanks(graph, frame).find(searches)
    else:
        _FreeRanks(graph, frame).find(searches)
    return [search.binding(graph) for search in searches]


class _LinkedRanks:
    """Ranks with tested neighbours: all counts of a frame are stored."""

    def __init__(self, graph: Graph, frame: int) -> None:
        self.graph, self.slots = graph, graph.slots
        self.low = int(graph.frames.low[frame])
        self.counts = linked_counts(graph, frame)
        self._known: dict[tuple[int, int], tuple[list[int], list[tuple[int, int]]]] = {}

    def find(self, searches: list[_Search]) -> None:
        """Follow all paths back."""
        for search in searches:
            search.nodes.append(self._last(search))
            while True:
                place, slot = search.nodes[-1]
                if self.slots.all[slot].opens:
                    if search.rank == 0:
                        break
                    search.rank -= 1
                bounds, nodes = self._former(place, slot)
                at = bisect_right(bounds, search.rank)
                search.rank -= bounds[at - 1] if at else 0
                search.nodes.append(nodes[at])

    def _last(self, search: _Search) -> tuple[int, int]:
        for slot, form in enumerate(self.slots.all):
            count = self.counts[search.end - self.low][slot] if form.closes else 0
            if search.rank < count:
                return search.end, slot
            search.rank -= count
        raise AssertionError("the rank is below the number of matches")

    def _former(self, place: int, slot: int) -> tuple[list[int], list[tuple[int, int]]]:
        """The nodes before a node, and running counts of the paths to them."""
        if (place, slot) not in self._known:
            nodes = [
                (former, source)
                for source, pair in self.slots.before[slot]
                for former in self.graph.earlier(place, pair).tolist()
                if former >= self.low and self.counts[former - self.low][source]
            ]
            counts = (self.counts[former - self.low][source] for former, source in nodes)
            self._known[place, slot] = list(accumulate(counts)), nodes
        return self._known[place, slot]


class _Segment(NamedTuple):
    """Running counts by slot for the places from `start` on; `opened` counts earlier groups."""

    start: int
    running: list[list[int]]
    opened: list[int]


class _FreeRanks:
    """Ranks without tested neighbours: counts are stored at segment bounds."""

    def __init__(self, graph: Graph, frame: int) -> None:
        self.graph, self.slots, self.segment = graph, graph.slots, graph.options.segment
        self.low, self.beyond = int(graph.frames.low[frame]), int(graph.frames.beyond[frame])
        self.before = graph.stream.before[self.low : self.beyond].tolist()
        self.reached = graph.reached(self.low, self.beyond)
        self.opens = [form.opens for form in self.slots.all]
        # Most paths continue in the repeated slot, the last of the sources.
        both = zip(self.slots.sources, self.slots.tied, strict=True)
        self.sources = [
            [*((each, False) for each in reversed(sources)), *((each, True) for each in tied)]
            for sources, tied in both
        ]
        self._present = self._first = _Segment(
            self.low, [[0] for _ in self.slots.all], [0] * len(self.slots)
        )
        # The running counts at the start of each segment, by slot.
        self.marks = [self._first]
        for _ in range((self.beyond - 1 - self.low) // self.segment):
            self.marks.append(self._after(self._filled(self.marks[-1])))
        self.starts = [
            [mark.running[slot][0] for mark in self.marks] for slot in range(len(self.slots))
        ]

    def find(self, searches: list[_Search]) -> None:
        """Follow all paths back, segment by segment from the last."""
        agenda: list[list[tuple[_Search, int | None]]] = [[] for _ in self.marks]
        for search in searches:
            agenda[(search.end - self.low) // self.segment].append((search, None))
        for number in reversed(range(len(agenda))):
            if agenda[number]:
                segment = self._filled(self.marks[number])
                for search, slot in agenda[number]:
                    left = self._within(segment, search, slot)
                    if left is not None:
                        earlier = bisect_right(self.starts[left], search.rank) - 1
                        agenda[earlier].append((search, left))

    def _within(self, segment: _Segment, search: _Search, slot: int | None) -> int | None:
        """Follow a path back to the start of a segment; return the slot to search before it."""
        start, running, before = segment.start, segment.running, self.before
        opens, sources, nodes, rank = self.opens, self.sources, search.nodes, search.rank
        if slot is None:
            slot, rank = self._last(segment, search)
            place = search.end
        else:
            at = bisect_right(running[slot], rank) - 1
            rank -= running[slot][at]
            place = start + at
        while True:
            nodes.append((place, slot))
            if opens[slot]:
                if rank == 0:
                    return None
                rank -= 1
            bound, own = before[place - self.low] - start, place - start
            for slot, is_tied in sources[slot]:  # noqa: B020 - those of the slot so far
                numbers = running[slot]
                count = numbers[bound] if bound >= 0 else segment.opened[slot]
                if is_tied:
                    earlier, count = count, numbers[own] - count
                if rank < count:
                    rank += earlier if is_tied else 0
                    break
                rank -= count
            if rank < numbers[0]:
                search.rank = rank
                return slot
            at = bisect_right(numbers, rank, 0, (own if is_tied else max(bound, 0)) + 1) - 1
            rank -= numbers[at]
            place = start + at

    def _last(self, segment: _Segment, search: _Search) -> tuple[int, int]:
        """The slot of the last event, and the rank among the paths to it."""
        rank, at = search.rank, search.end - segment.start
        for slot, form in enumerate(self.slots.all):
            if form.closes:
                count = segment.running[slot][at + 1] - segment.running[slot][at]
                if rank < count:
                    return slot, rank
                rank -= count
        raise AssertionError("the rank is below the number of matches")

    def _filled(self, mark: _Segment) -> _Segment:
        """Recompute all counts of a segment."""
        if self._present.start == mark.start and len(self._present.running[0]) > 1:
            return self._present
        start, running, opened = mark.start, [list(each) for each in mark.running], mark.opened
        forms, sources, tied = self.slots.all, self.slots.sources, self.slots.tied
        for place in range(start, min(start + self.segment, self.beyond)):
            bound = self.before[place - self.low] - start
            before = [each[bound] for each in running] if bound >= 0 else opened
            reached, own = self.reached[place - self.low], place - start
            for slot, numbers in enumerate(running):
                count = 0
                if slot in reached:
                    count = int(forms[slot].opens) + sum(before[s] for s in sources[slot])
                    count += sum(running[s][own] - before[s] for s in tied[slot])
                numbers.append(numbers[-1] + count)
        self._present = _Segment(start, running, opened)
        return self._present

    def _after(self, segment: _Segment) -> _Segment:
        """The start of the next segment."""
        start = segment.start + self.segment
        bound = self.before[start - self.low] - segment.start
        opened = [each[bound] for each in segment.running] if bound >= 0 else segment.opened
        return _Segment(start, [[each[-1]] for each in segment.running], opened)


# ---------------------------------------------------------------- sampling

# The normal quantile of a 95 % interval.
QUANTILE = 1.96


@dataclass(frozen=True)
class Estimate:
    """The number of matches, by the share of accepted samples.

    `low` and `high` bound it with 95 % confidence (Wilson's interval), `most` with certainty.
    """

    count: int
    low: int
    high: int
    most: int
    samples: int
    accepted: int


def exactly(count: int) -> Estimate:
    """An estimate that is exact."""
    return Estimate(count, count, count, count, 0, 0)


def estimated(most: int, samples: int, accepted: int) -> Estimate:
    """The estimate from accepted samples of `most` matches."""
    low, high = (most * Fraction(bound) for bound in wilson(samples, accepted))
    return Estimate(most * accepted // samples, floor(low), ceil(high), most, samples, accepted)


def wilson(samples: int, accepted: int) -> tuple[float, float]:
    """Wilson's interval of a share, which contains the share despite rounding."""
    share, square = accepted / samples, QUANTILE**2
    middle = share + square / (2 * samples)
    radius = QUANTILE * sqrt(share * (1 - share) / samples + square / (4 * samples**2))
    scale = 1 + square / samples
    low, high = (middle - radius) / scale, (middle + radius) / scale
    return min(max(low, 0.0), share), max(min(high, 1.0), share)


def drawn(graph: Graph, total: int, number: int, random: Random) -> list[Binding]:
    """Draw independent matches, each of `total` equally likely, with recomputed counts."""
    ranks = [random.randrange(total) for _ in range(number)]
    found: dict[int, Binding] = {}
    for frame, draws in _by_frame(graph, ranks).items():
        matches = matches_of(graph, frame, [wanted for _, wanted in draws])
        found |= {draw: match for (draw, _), match in zip(draws, matches, strict=True)}
    return [found[draw] for draw in range(number)]


def _by_frame(graph: Graph, ranks: list[int]) -> dict[int, list[tuple[int, EndRank]]]:
    """The draws by frame, with ranks among the matches of their final event."""
    order = sorted(range(len(ranks)), key=ranks.__getitem__, reverse=True)
    frames: dict[int, list[tuple[int, EndRank]]] = defaultdict(list)
    passed = 0
    for end, count, _ in totals(graph):
        if ranks[order[-1]] < passed + count:
            draws = frames[graph.frame_of(end)]
            while order and ranks[order[-1]] < passed + count:
                draw = order.pop()
                draws.append((draw, EndRank(end, ranks[draw] - passed)))
            if not order:
                break
        passed += count
    return frames
