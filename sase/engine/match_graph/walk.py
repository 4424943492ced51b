"""Walk back from a final event over its matches, in the defined order.

The walk keeps the places so far and, for each, the slots from which a match can be completed. It
only steps to a place where one of these slots is reached from a start within the window, so every
step belongs to a match. The delay between two matches is:

- neighbours not tested: no place is visited in vain, since the places of a slot that a window
  reaches are its last ones. The delay is linear in the match's length times the slots.
- neighbours tested, no window: the same with the arcs of one match's events in place of slots.
- neighbours tested and a window: arcs to events whose paths all start too early are skipped; there
  are at most as many as arcs of the match's events.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from sase.engine.match_graph.candidates import Binding
from sase.engine.match_graph.graph import Graph

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
        """The matches whose last event is at a place."""
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
        """The matches whose first event is the last step, one for each assignment of components."""
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
