"""The compressed match set: all matches under skip till any match, without a list."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from random import Random

import numpy as np
from numpy.typing import NDArray

from sase.cached_property import cached_property
from sase.engine.match_graph.aggregates import (
    Function,
    Number,
    ValuedPaths,
    Values,
    aggregated,
    plain,
)
from sase.engine.match_graph.candidates import Binding, CandidateEvents
from sase.engine.match_graph.graph import Graph
from sase.engine.match_graph.options import GRAPH_OPTIONS, GraphOptions
from sase.engine.match_graph.ranks import drawn
from sase.engine.match_graph.slots import SlotAutomaton
from sase.engine.match_graph.totals import (
    EndCount,
    EndLists,
    PairLists,
    count_all,
    paths_from,
    totals,
)
from sase.engine.resources import Check, no_check
from sase.errors import SaseError

# ---------------------------------------------------------------- walk

# The walk keeps the places so far and, for each, the slots from which a match can be completed. It
# only steps to a place where one of these slots is reached from a start within the window, so every
# step belongs to a match. The delay between two matches is:
#
#   - neighbours not tested: no place is visited in vain, since the places of a slot that a window
#     reaches are its last ones. The delay is linear in the match's length times the slots.
#   - neighbours tested, no window: the same with the arcs of one match's events in place of slots.
#   - neighbours tested and a window: arcs are skipped if all paths of their events start too early;
#     there are at most as many as arcs of the match's events.

# A place, and the mask of its possible slots.
_Step = tuple[int, int]


class GraphWalk:
    """Yields the matches of each final event."""

    def __init__(self, graph: Graph) -> None:
        self.graph, self.slots, self._linked = graph, graph.slots, graph.is_linked
        self._opening = self.slots.mask([slot.opens for slot in self.slots.all])
        self._closing = self.slots.mask([slot.closes for slot in self.slots.all])
        self._levels = [slot.level for slot in self.slots.all]
        self._are_tied = any(self.slots.tied)
        # Reading single numbers is faster from views than from arrays.
        self._before = graph.stream.before.data
        self._latest = [column.data for column in graph.latest.T.copy()]
        self._previous = [_previous(column).data for column in graph.latest.T]

    def ending(self, end: int) -> Iterator[Binding]:
        """The matches with their last event at a place."""
        low = int(self.graph.stream.lowest[end])
        steps = [(end, self._reached(end, low) & self._closing)]
        choices = [self._earlier(steps[0], low)]
        yield from self._finished(steps)
        while choices:
            step = next(choices[-1], None)
            if step is None:
                steps.pop()
                choices.pop()
                continue
            steps.append(step)
            choices.append(self._earlier(step, low))
            yield from self._finished(steps)

    def _reached(self, place: int, low: int) -> int:
        """The mask of slots that a path from a start in the window reaches."""
        return self.slots.mask([latest[place] >= low for latest in self._latest])

    def _earlier(self, step: _Step, low: int) -> Iterator[_Step]:
        """The possible previous steps, most recent first."""
        if self._linked:
            return self._by_arcs(step, low)
        place, mask = step
        earlier = self._before[place]
        found = self._down(self._wanted(mask, self.slots.source_masks), earlier, low, low)
        tied = self._wanted(mask, self.slots.tied_masks) if self._are_tied else 0
        return chain(self._down(tied, place, max(earlier, low), low), found) if tied else found

    @staticmethod
    def _wanted(mask: int, sources: tuple[int, ...]) -> int:
        """The mask of slots that may precede some."""
        wanted = 0
        for slot in _bits(mask):
            wanted |= sources[slot]
        return wanted

    def _down(self, wanted: int, below: int, floor: int, low: int) -> Iterator[_Step]:
        """The places of some slots, downwards from `below` to `floor`."""
        sources = list(_bits(wanted))
        while sources:
            former = [self._previous[slot][below] for slot in sources]
            below = max(former)
            if below < floor:
                return
            nearest = [slot for slot, place in zip(sources, former, strict=True) if place == below]
            found = [slot for slot in nearest if self._latest[slot][below] >= low]
            if found:
                yield below, sum(1 << slot for slot in found)
            if len(found) < len(nearest):
                # Earlier nodes of a slot have paths with earlier starts only.
                sources = [slot for slot in sources if slot in found or slot not in nearest]

    def _by_arcs(self, step: _Step, low: int) -> Iterator[_Step]:
        place, mask = step
        found: dict[int, int] = {}
        for slot in _bits(mask):
            for source, pair in self.slots.before[slot]:
                arcs = self.graph.earlier(place, pair)
                reached = arcs[self.graph.latest[arcs, source] >= low]
                for former in reached.tolist():
                    found[former] = found.get(former, 0) | 1 << source
        yield from sorted(found.items(), reverse=True)

    def _finished(self, steps: list[_Step]) -> Iterator[Binding]:
        """The matches with the last step as first event, one for each assignment of components."""
        if not steps[-1][1] & self._opening:
            return
        places = tuple(place for place, _ in reversed(steps))
        cuts = self._cuts(steps)
        if len(cuts) > 1:
            cuts.sort(key=lambda cut: self.slots.order(*cut))
        yield from (self.graph.binding(places, *cut) for cut in cuts)

    def _cuts(self, steps: list[_Step]) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
        """The lengths of components, and the slots, of every path through the steps."""
        last, found = len(steps) - 1, list[tuple[tuple[int, ...], tuple[int, ...]]]()
        branches = [[slot] for slot in _bits(steps[-1][1] & self._opening)]
        while branches:
            path = branches.pop()
            for at in range(len(path) - 1, last):
                following = self._following(steps[last - at][0], path[-1], steps[last - at - 1])
                others = following & (following - 1)
                branches += [[*path, other] for other in _bits(others)]
                path.append((following ^ others).bit_length() - 1)
            lengths = [0] * len(self.slots.levels)
            for slot in path:
                lengths[self._levels[slot]] += 1
            found.append((tuple(lengths), tuple(path)))
        return found

    def _following(self, place: int, slot: int, later: _Step) -> int:
        """The possible next slots; at least one is, so a single one needs no test."""
        is_tied = self._are_tied and place >= self._before[later[0]]
        targets = self.slots.tied_target_masks if is_tied else self.slots.target_masks
        following = later[1] & targets[slot]
        if not self._linked or following & (following - 1) == 0:
            return following
        return sum(
            1 << target
            for target in _bits(following)
            if self._is_arc(place, later[0], self.slots.pair(slot, target, is_tied=is_tied))
        )

    def _is_arc(self, place: int, later: int, pair: int) -> bool:
        arcs = self.graph.earlier(later, pair)
        at = int(np.searchsorted(arcs, place))
        return at < len(arcs) and int(arcs[at]) == place


def _previous(latest: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each place, the last place before it that reaches a slot, or -1."""
    places = np.where(latest >= 0, np.arange(len(latest)), -1)
    return np.concatenate([[-1], np.maximum.accumulate(places)])


def _bits(mask: int) -> Iterator[int]:
    """The slots of a mask, lowest first."""
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


# ---------------------------------------------------------------- match set

MATCHES_PER_CHECK = 1_000


@dataclass(frozen=True, eq=False)
class MatchSet:
    """All matches over some partitions, as paths of a graph."""

    graph: Graph

    @classmethod
    def over(
        cls,
        slots: SlotAutomaton,
        events: CandidateEvents,
        span: int | None = None,
        options: GraphOptions = GRAPH_OPTIONS,
        check: Check = no_check,
    ) -> MatchSet:
        """The matches of a pattern with first and last event at most `span` apart.

        `check` is called between the pieces of each pass, and may end it by an exception.
        """
        return cls(Graph(slots, events, span, options, check))

    # ------------------------------------------------------------ counts

    def count(self) -> int:
        """The exact number of matches."""
        return self._paths

    @cached_property
    def _paths(self) -> int:
        return count_all(self.graph)

    def counts_by_end(self) -> Iterator[EndCount]:
        """The matches that end at each event, by position; computed on demand for one partition."""
        counts = (
            EndCount(*self.graph.local(place), int(self.graph.positions[place]), count)
            for place, count, _ in totals(self.graph)
        )
        several = len(self.graph.offsets) > 2
        return iter(sorted(counts, key=lambda end: end.position)) if several else counts

    def collapsed(self, within: range | None = None) -> Iterator[EndLists]:
        """For final events at positions `within` a range, the places of matches by component."""
        for end in self._ends():
            partition, place = self.graph.local(end)
            position = int(self.graph.positions[end])
            if within is None or position in within:
                self.graph.check(0)
                yield EndLists(partition, place, position, self._held(end))

    def collapsed_pairs(self) -> Iterator[PairLists]:
        """For each first and final event, the number and places of its matches, by first event."""
        closing = [number for number, slot in enumerate(self.graph.slots.all) if slot.closes]
        ends = set(self.graph.ends.tolist())
        for start in self._starts():
            partition, first = self.graph.local(start)
            self.graph.check(0)
            reached = list[list[bool]]()
            for place, counts in paths_from(self.graph, start):
                reached.append([count > 0 for count in counts])
                count = sum(counts[slot] for slot in closing) if place in ends else 0
                if count:
                    alive = self.graph.alive(start, place, place + 1) & np.array(reached)
                    held = (alive[:, slots].any(axis=1) for slots in self.graph.slots.by_level)
                    places = tuple((np.flatnonzero(each) + first).tolist() for each in held)
                    last = first + place - start
                    yield PairLists(partition, first, last, count, places)

    def _starts(self) -> list[int]:
        """The places where matches may begin."""
        opening = np.asarray([slot.opens for slot in self.graph.slots.all])
        begins = self.graph.latest[:, opening] == np.arange(len(self.graph))[:, None]
        return np.flatnonzero(begins.any(axis=1)).tolist()

    # ------------------------------------------------------------ matches

    def __iter__(self) -> Iterator[Binding]:
        """The matches in the defined order, made on demand; for delays see `GraphWalk`."""
        return self.ending_from(0)

    def ending_from(self, position: int) -> Iterator[Binding]:
        """The matches that end at a position or later, in the defined order."""
        walk = GraphWalk(self.graph)
        ends = (end for end in self._ends() if self.graph.positions[end] >= position)
        matches = chain.from_iterable(map(walk.ending, ends))
        for number, match in enumerate(matches):
            if number % MATCHES_PER_CHECK == 0:
                self.graph.check(0)
            yield match

    def first(self, number: int) -> list[Binding]:
        """The first matches in the defined order."""
        return list(islice(self, number))

    def sample(self, number: int, seed: int = 0) -> list[Binding]:
        """Independent matches, each equally likely; equal for equal seeds."""
        if not number:
            return []
        if not self._paths:
            raise SaseError("there is no match to sample")
        return drawn(self.graph, self._paths, number, Random(seed))

    def _ends(self) -> list[int]:
        """The places where matches end, by position."""
        ends = self.graph.ends
        return ends[np.argsort(self.graph.positions[ends])].tolist()  # type: ignore[no-any-return]

    def _held(self, end: int) -> tuple[list[int], ...]:
        """For each component, the places of the matches that end at a place."""
        low, offset = int(self.graph.stream.lowest[end]), end - self.graph.local(end)[1]
        alive = self.graph.alive(low, end, end + 1)
        held = (alive[:, slots].any(axis=1) for slots in self.graph.slots.by_level)
        return tuple((np.flatnonzero(each) + (low - offset)).tolist() for each in held)

    # ------------------------------------------------------------ aggregates

    def aggregate(self, function: Function, level: int, values: Sequence[Values]) -> Number | None:
        """An aggregate over the events of a component in all matches together.

        `values` are by partition and place, None for NULL. The result is exact; a float is rounded
        once.
        """
        return aggregated([self.valued(level, values)], function)

    def valued(self, level: int, values: Sequence[Values]) -> ValuedPaths:
        """The values of a component, for an aggregate over several sets."""
        columns = [plain(of) for of in values]
        if list(map(len, columns)) != np.diff(self.graph.offsets).tolist():
            raise ValueError("an aggregate needs a value for each place of each partition")
        return ValuedPaths(self.graph, level, [value for column in columns for value in column])
