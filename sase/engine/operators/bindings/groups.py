"""Matches of patterns with repeated groups: of what variable each event is, in which iteration."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sase.binding.bound import BoundComponent, RepeatedGroup
from sase.cached_property import cached_property
from sase.engine.columns.arrays import Numbers
from sase.engine.operators.bindings.bindings import Bindings, lengths_of, ranges
from sase.engine.snapshots.saved_state import Saved


class GroupBindings(Bindings):
    """Bindings whose components may be repeated groups, which bind the events of all iterations.

    `slots` has for each event the number of its variable in its group, 0 outside of groups;
    `counts` how many iterations each group has, in the order of the pattern; `sizes` and `branches`
    of these how many events they have, and the number of their branch: match by match, group by
    group, iteration by iteration. Of a pattern that also has sets `levels` are those that bind the
    events.
    """

    def __init__(
        self,
        events: Numbers,
        ends: Numbers,
        lengths: Numbers,
        slots: Numbers,
        counts: Numbers,
        sizes: Numbers,
        branches: Numbers,
        levels: Numbers | None = None,
    ) -> None:
        super().__init__(events, ends, lengths)
        self.slots, self.counts, self.sizes, self.branches = slots, counts, sizes, branches
        self.levels = levels

    @classmethod
    def united(cls, parts: Sequence[GroupBindings], levels: int) -> GroupBindings:
        """Concatenate at least one."""
        plain = Bindings.united(parts, levels)
        known = [part.levels for part in parts if part.levels is not None]
        return cls(
            plain.events,
            plain.ends,
            plain.lengths,
            np.concatenate([part.slots for part in parts]),
            np.concatenate([part.counts for part in parts], axis=1),
            np.concatenate([part.sizes for part in parts]),
            np.concatenate([part.branches for part in parts]),
            np.concatenate(known) if known else None,
        )

    @property
    def nbytes(self) -> int:
        """The bytes of the arrays."""
        more = self.slots, self.counts, self.sizes, self.branches, self.levels
        return super().nbytes + sum(each.nbytes for each in more if each is not None)

    def _at(self, places: slice | NDArray[np.bool_ | np.int64]) -> GroupBindings:
        plain = super()._at(places)
        iterations = np.cumsum(self.counts.sum(axis=0))
        return GroupBindings(
            plain.events,
            plain.ends,
            plain.lengths,
            ranges(self.slots, self.ends, places),
            np.ascontiguousarray(self.counts[:, places]),
            ranges(self.sizes, iterations, places),
            ranges(self.branches, iterations, places),
            None if self.levels is None else ranges(self.levels, self.ends, places),
        )

    def mapped(self, change: Callable[[Numbers], Numbers]) -> GroupBindings:
        """Map the event numbers."""
        more = self.slots, self.counts, self.sizes, self.branches, self.levels
        return GroupBindings(change(self.events), self.ends, self.lengths, *more)

    def checkpoint(self) -> dict[str, Numbers]:
        """The arrays."""
        more = {"slots": self.slots, "counts": self.counts}
        more |= {"sizes": self.sizes, "branches": self.branches}
        more |= {} if self.levels is None else {"levels": self.levels}
        return super().checkpoint() | more

    def by_level(self) -> GroupBindings:
        """The events of each match level by level, in stream order within one."""
        return self if self.levels is None else self._by_level

    @cached_property
    def _by_level(self) -> GroupBindings:
        assert self.levels is not None
        matches = np.repeat(np.arange(self.size), np.diff(self.ends, prepend=0))
        order = np.lexsort((self.levels, matches))
        slots, rest = self.slots[order], (self.counts, self.sizes, self.branches)
        return GroupBindings(self.events[order], self.ends, self.lengths, slots, *rest)

    def of_level(self, level: int) -> tuple[Numbers, Numbers]:
        """The events that a component binds in all matches, and where those of each match end."""
        if self.levels is None:
            return super().of_level(level)
        return self.events[self.levels == level], np.cumsum(self.lengths[level])

    def one_of_level(self, level: int) -> tuple[Numbers, NDArray[np.bool_]]:
        """The event of each match that a single component binds, and whether there is one."""
        return Bindings.one_of_level(self.by_level(), level)


@dataclass(frozen=True)
class IterationForm:
    """What matches of a pattern may hold: of each level the slots of the branches of its group."""

    levels: tuple[tuple[tuple[int, ...], ...], ...]
    has_sets: bool = False

    @classmethod
    def of(cls, components: Sequence[BoundComponent]) -> IterationForm | None:
        """That of a pattern; None of one without repeated groups."""
        if not any([each.group for each in components]):
            return None
        levels = tuple(() if c.group is None else _slots(c.group) for c in components)
        return cls(levels, any(each.set_of is not None for each in components))

    @property
    def groups(self) -> int:
        """How many repeated groups there are."""
        return sum(1 for each in self.levels if each)

    def none(self) -> GroupBindings:
        """No match."""
        empty, levels = np.empty(0, np.int64), len(self.levels)
        lengths, counts = (np.empty((n, 0), np.int64) for n in (levels, self.groups))
        places = empty if self.has_sets else None
        return GroupBindings(empty, empty, lengths, empty, counts, empty, empty, places)

    def restored(self, saved: Saved) -> GroupBindings:
        """Bindings from a checkpoint."""
        plain = Bindings.restored(saved, len(self.levels))
        most = len(plain.events)
        slots = saved.part("slots").array(most, low=0, high=most)
        counts = saved.part("counts").array(self.groups, plain.size, low=0, high=most)
        sizes = saved.part("sizes").array(int(counts.sum()), low=1, high=most)
        branches = saved.part("branches").array(len(sizes), low=0)
        levels = self._levels(saved, plain) if self.has_sets else None
        more = slots, counts, sizes, branches, levels
        found = GroupBindings(plain.events, plain.ends, plain.lengths, *more)
        self.check(found.by_level(), saved)
        return found

    def _levels(self, saved: Saved, plain: Bindings) -> Numbers:
        """The levels of events, which are as many as the lengths say."""
        levels = saved.part("levels").array(len(plain.events), low=0, high=len(self.levels) - 1)
        saved.check(
            bool((lengths_of(levels, plain) == plain.lengths).all()),
            "levels are not as lengths say",
        )
        return levels

    def check(self, found: GroupBindings, saved: Saved) -> None:
        """Refuse iterations that are not those of the pattern, each in the order of its branch."""
        at = iteration = 0
        for match in range(found.size):
            group = 0
            for level, branches in enumerate(self.levels):
                end = at + int(found.lengths[level, match])
                if not branches:
                    saved.check(not found.slots[at:end].any(), "a slot is of no group")
                    at = end
                    continue
                for each in range(iteration, iteration + int(found.counts[group, match])):
                    branch, size = int(found.branches[each]), int(found.sizes[each])
                    saved.check(branch < len(branches), "there is no such branch")
                    slots = found.slots[at : at + size].tolist()
                    places = [branches[branch].index(s) for s in slots if s in branches[branch]]
                    is_whole = len(places) == len(slots) == size and places == sorted(places)
                    saved.check(is_whole, "an iteration is not that of its branch")
                    at += size
                saved.check(at == end, "iterations are not as long as their group")
                iteration += int(found.counts[group, match])
                group += 1


def _slots(group: RepeatedGroup) -> tuple[tuple[int, ...], ...]:
    """The variables of the positive elements of each branch, by number."""
    return tuple(
        tuple(v for v, each in zip(b.variables, b.elements, strict=True) if not each.negated)
        for b in group.branches
    )
