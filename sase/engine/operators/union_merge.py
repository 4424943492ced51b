"""Merge the matches of branches, each of which finds them in order, with few of them in hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from sase.engine.columns.arrays import Numbers
from sase.engine.operators.union_bindings import UnionBindings


class BranchMerge:
    """What some branches find, merged as far as no branch can find anything before.

    `ordered` gives the places of matches in order, of the same ones that of the first branch;
    from each branch at least so many matches are taken `at_once`, if it has them.
    """

    def __init__(
        self,
        branches: list[Iterator[UnionBindings]],
        levels: int,
        ordered: Callable[[UnionBindings], Numbers],
        at_once: int,
    ) -> None:
        self._live = dict(enumerate(branches))
        self._levels, self._ordered, self._at_once = levels, ordered, at_once

    def matches(self) -> Iterator[UnionBindings]:
        """Yield the matches in order, each once."""
        hungry, held = set(self._live), list[UnionBindings]()
        while True:
            held += [part for branch in sorted(hungry) for part in self._taken(branch)]
            if not held:
                return
            whole = UnionBindings.united(held, self._levels)
            whole = whole.at(self._ordered(whole))
            if not self._live:
                yield whole
                return
            # The last match in hand of each branch that goes on: what it finds comes behind that.
            ends = {branch: _last(whole, branch) for branch in self._live}
            end = min(ends.values())
            hungry = {branch for branch, place in ends.items() if place == end}
            count = _before(whole, end)
            if count:
                yield whole.at(slice(0, count))
            held = [whole.at(slice(count, None))]

    def _taken(self, branch: int) -> Iterator[UnionBindings]:
        """The next matches of a branch, which is over where it has no more."""
        count, left = 0, self._live.get(branch)
        while left is not None and count < self._at_once:
            part = next(left, None)
            if part is None:
                del self._live[branch]
                return
            count += part.size
            yield part


def _last(found: UnionBindings, branch: int) -> int:
    """The place of the last match of a branch; -1 if it has none."""
    places = np.flatnonzero(found.branches == branch)
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
