"""Merge the matches of branches; each branch yields them in order, and few are held at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

import numpy as np

from sase.engine.columns.arrays import Numbers
from sase.engine.operators.bindings.bindings import Bindings

# The matches of some branches in order, with the numbers of the branches.
FoundByBranches: TypeAlias = tuple[tuple[int, ...], Iterator[Bindings]]


class BranchMerge:
    """Merges the matches of several scans, as far as no scan can yield an earlier match.

    `ordered` returns the places of matches in order; of equal matches only that of the first
    branch. From each scan at least `at_once` matches are read at a time, if it has them.
    """

    def __init__(
        self,
        scans: list[FoundByBranches],
        ordered: Callable[[Bindings], Numbers],
        at_once: int,
    ) -> None:
        self._live, self._ordered, self._at_once = dict(scans), ordered, at_once

    def matches(self) -> Iterator[Bindings]:
        """Yield the matches in order, each once."""
        hungry, held = set(self._live), list[Bindings]()
        while True:
            held += [part for branches in sorted(hungry) for part in self._taken(branches)]
            if not held:
                return
            whole = Bindings.joined(held)
            whole = whole[:, self._ordered(whole)]
            if not self._live:
                yield whole
                return
            # The last held match of each live scan: its next matches come after that one.
            ends = {branches: _last(whole, branches) for branches in self._live}
            end = min(ends.values())
            hungry = {branches for branches, place in ends.items() if place == end}
            count = _before(whole, end)
            if count:
                yield whole[:, :count]
            held = [whole[:, count:]]

    def _taken(self, branches: tuple[int, ...]) -> Iterator[Bindings]:
        """Read the next matches of a scan; the scan has ended if it yields no more."""
        count, left = 0, self._live.get(branches)
        while left is not None and count < self._at_once:
            part = next(left, None)
            if part is None:
                del self._live[branches]
                return
            count += part.size
            yield part


def _last(bindings: Bindings, branches: tuple[int, ...]) -> int:
    """The place of the last match of some branches; -1 if they have none."""
    places = np.flatnonzero(np.isin(bindings.branches, branches))
    return int(places[-1]) if len(places) else -1


def _before(bindings: Bindings, place: int) -> int:
    """Count the matches before all those with the same events: later copies may come."""
    if place < 0:
        return 0
    wanted = _events(bindings, place)
    while place > 0 and np.array_equal(_events(bindings, place - 1), wanted):
        place -= 1
    return place


def _events(bindings: Bindings, place: int) -> Numbers:
    events: Numbers = bindings.events[bindings.begins[place] : bindings.ends[place]]
    return events
