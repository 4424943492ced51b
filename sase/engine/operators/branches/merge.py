"""Merge the matches of branches, each of which finds them in order, with few of them in hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

import numpy as np

from sase.engine.columns.arrays import Numbers
from sase.engine.operators.bindings.unions import UnionBindings

# What some branches find in order, by their numbers.
FoundByBranches: TypeAlias = tuple[tuple[int, ...], Iterator[UnionBindings]]


class BranchMerge:
    """What some scans find, merged as far as none can find anything before.

    `ordered` gives the places of matches in order, of the same ones that of the first branch;
    from each scan at least so many matches are taken `at_once`, if it has them.
    """

    def __init__(
        self,
        scans: list[FoundByBranches],
        levels: int,
        ordered: Callable[[UnionBindings], Numbers],
        at_once: int,
    ) -> None:
        self._live = dict(scans)
        self._levels, self._ordered, self._at_once = levels, ordered, at_once

    def matches(self) -> Iterator[UnionBindings]:
        """Yield the matches in order, each once."""
        hungry, held = set(self._live), list[UnionBindings]()
        while True:
            held += [part for branches in sorted(hungry) for part in self._taken(branches)]
            if not held:
                return
            whole = UnionBindings.united(held, self._levels)
            whole = whole.at(self._ordered(whole))
            if not self._live:
                yield whole
                return
            # The last match in hand of each scan that goes on: what it finds comes behind that.
            ends = {branches: _last(whole, branches) for branches in self._live}
            end = min(ends.values())
            hungry = {branches for branches, place in ends.items() if place == end}
            count = _before(whole, end)
            if count:
                yield whole.at(slice(0, count))
            held = [whole.at(slice(count, None))]

    def _taken(self, branches: tuple[int, ...]) -> Iterator[UnionBindings]:
        """The next matches of a scan, which is over where it has no more."""
        count, left = 0, self._live.get(branches)
        while left is not None and count < self._at_once:
            part = next(left, None)
            if part is None:
                del self._live[branches]
                return
            count += part.size
            yield part


def _last(found: UnionBindings, branches: tuple[int, ...]) -> int:
    """The place of the last match of some branches; -1 if they have none."""
    places = np.flatnonzero(np.isin(found.branches, branches))
    return int(places[-1]) if len(places) else -1


def _before(found: UnionBindings, place: int) -> int:
    """How many matches come before all of the same events as one: these may be told apart later."""
    if place < 0:
        return 0
    wanted = _events(found, place)
    while place > 0 and np.array_equal(_events(found, place - 1), wanted):
        place -= 1
    return place


def _events(found: UnionBindings, place: int) -> Numbers:
    events: Numbers = found.events[found.begins[place] : found.ends[place]]
    return events
