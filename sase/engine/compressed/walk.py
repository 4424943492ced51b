"""Walks back from a final event over its matches, in the defined order.

The walk keeps the places so far and, for each, the slots from which the rest can be finished. It
only ever steps to a place where one of these slots is reached from a start within the window, so
every step belongs to a match. Hence the delay between two matches:

- neighbours not tested: no place is looked at in vain, since the places of a slot that a window
  reaches are its last ones. The delay is linear in the length of the match times the slots.
- neighbours tested, no window: the same with all arcs of the events of one match for the slots.
- neighbours tested and a window: arcs to events whose paths all start too early are looked at and
  left out; there are at most as many as arcs of the events of the match.
- finished bindings tested (`accepts`): no bound; any number of matches can be refused in between.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from sase.engine.compressed.binding import Binding
from sase.engine.compressed.graph import Graph

# A place and, as bits, the slots it may stand in.
_Step = tuple[int, int]


class Walk:
    """The matches of one partition by final event."""

    def __init__(self, graph: Graph) -> None:
        self.graph, self.slots = graph, graph.slots
        self._opening = self.slots.mask([slot.opens for slot in self.slots.all])
        self._closing = self.slots.mask([slot.closes for slot in self.slots.all])
        self._former: dict[int, NDArray[np.int64]] = {}

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
        """The slots that a path from a start in the window reaches."""
        return sum(1 << s for s, at in enumerate(self.graph.latest[place].tolist()) if at >= low)

    def _earlier(self, step: _Step, low: int) -> Iterator[_Step]:
        """What may come right before, the more recent first."""
        return self._by_arcs(step, low) if self.graph.is_linked else self._by_slot(step, low)

    def _by_slot(self, step: _Step, low: int) -> Iterator[_Step]:
        place, mask = step
        wanted = 0
        for slot in _bits(mask):
            wanted |= self.slots.source_masks[slot]
        below, sources = int(self.graph.stream.before[place]), list(_bits(wanted))
        while sources:
            former = {slot: int(self._previous(slot)[below]) for slot in sources}
            below = max(former.values())
            found = self._reached(below, low) & wanted if below >= low else 0
            if found:
                yield below, found
            # Further down the paths to a slot only start earlier.
            sources = [s for s in sources if former[s] < below or found >> s & 1]
            sources = [s for s in sources if former[s] >= low]

    def _previous(self, slot: int) -> NDArray[np.int64]:
        """For each number of places the last of them that reaches a slot, or -1."""
        if slot not in self._former:
            column = self.graph.latest[:, slot]
            places = np.where(column >= 0, np.arange(len(column)), -1)
            self._former[slot] = np.concatenate([[-1], np.maximum.accumulate(places)])
        return self._former[slot]

    def _by_arcs(self, step: _Step, low: int) -> Iterator[_Step]:
        place, mask = step
        found: dict[int, int] = {}
        for slot in _bits(mask):
            for source in self.slots.sources[slot]:
                arcs = self.graph.earlier(place, self.slots.pair(source, slot))
                reached = arcs[self.graph.latest[arcs, source] >= low]
                for former in reached.tolist():
                    found[former] = found.get(former, 0) | 1 << source
        yield from sorted(found.items(), reverse=True)

    def _finished(self, steps: list[_Step]) -> Iterator[Binding]:
        """The matches whose first event is the last step: one for each way to cut the places."""
        if not steps[-1][1] & self._opening:
            return
        places = tuple(place for place, _ in reversed(steps))
        cuts = sorted(self._cuts(steps), key=lambda lengths: lengths[::-1])
        yield from (Binding(self.graph.number, places, lengths) for lengths in cuts)

    def _cuts(self, steps: list[_Step]) -> list[tuple[int, ...]]:
        """The lengths of the components for every path of slots through the steps.

        A cut that can be begun can be finished, so there are never more than at the end.
        """
        place, mask = steps[-1]
        empty = (0,) * len(self.slots.levels)
        partial = [(slot, self._longer(empty, slot)) for slot in _bits(mask & self._opening)]
        for later, allowed in reversed(steps[:-1]):
            partial = [
                (slot, self._longer(lengths, slot))
                for slot in _bits(allowed)
                for source, lengths in partial
                if self._leads(place, source, later, slot)
            ]
            place = later
        return [lengths for _, lengths in partial]

    def _longer(self, lengths: tuple[int, ...], slot: int) -> tuple[int, ...]:
        level = self.slots.all[slot].level
        return (*lengths[:level], lengths[level] + 1, *lengths[level + 1 :])

    def _leads(self, place: int, source: int, later: int, slot: int) -> bool:
        if not self.slots.source_masks[slot] >> source & 1:
            return False
        if not self.graph.is_linked:
            return True
        arcs = self.graph.earlier(later, self.slots.pair(source, slot))
        at = int(np.searchsorted(arcs, place))
        return at < len(arcs) and int(arcs[at]) == place


def _bits(mask: int) -> Iterator[int]:
    """The slots of a mask, from the first."""
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest
