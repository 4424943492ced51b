"""Matches of patterns with repeated groups: of what variable each event is, in which iteration."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sase.binding.bound import BoundComponent, RepeatedGroup
from sase.engine.columns.arrays import Numbers
from sase.engine.operators.bindings import Bindings, ranges
from sase.engine.snapshots.saved_state import Saved


class GroupBindings(Bindings):
    """Bindings whose components may be repeated groups, which bind the events of all iterations.

    `slots` has for each event the number of its variable in its group, 0 outside of groups;
    `counts` how many iterations each group has, in the order of the pattern; `sizes` and `branches`
    of these how many events they have, and the number of their branch: match by match, group by
    group, iteration by iteration.
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
    ) -> None:
        super().__init__(events, ends, lengths)
        self.slots, self.counts, self.sizes, self.branches = slots, counts, sizes, branches

    @classmethod
    def united(cls, parts: Sequence[GroupBindings], levels: int) -> GroupBindings:
        """Concatenate at least one."""
        before = np.cumsum([0, *(len(part.events) for part in parts[:-1])])
        return cls(
            np.concatenate([part.events for part in parts]),
            np.concatenate([part.ends + n for part, n in zip(parts, before, strict=True)]),
            np.concatenate([part.lengths for part in parts], axis=1),
            np.concatenate([part.slots for part in parts]),
            np.concatenate([part.counts for part in parts], axis=1),
            np.concatenate([part.sizes for part in parts]),
            np.concatenate([part.branches for part in parts]),
        )

    @property
    def nbytes(self) -> int:
        """The bytes of the arrays."""
        more = self.slots, self.counts, self.sizes, self.branches
        return super().nbytes + sum(each.nbytes for each in more)

    def _at(self, places: slice | NDArray[np.bool_ | np.int64]) -> GroupBindings:
        lengths = np.ascontiguousarray(self.lengths[:, places])
        iterations = np.cumsum(self.counts.sum(axis=0))
        return GroupBindings(
            ranges(self.events, self.ends, places),
            np.cumsum(lengths.sum(axis=0)),
            lengths,
            ranges(self.slots, self.ends, places),
            np.ascontiguousarray(self.counts[:, places]),
            ranges(self.sizes, iterations, places),
            ranges(self.branches, iterations, places),
        )

    def mapped(self, change: Callable[[Numbers], Numbers]) -> GroupBindings:
        """Map the event numbers."""
        more = self.slots, self.counts, self.sizes, self.branches
        return GroupBindings(change(self.events), self.ends, self.lengths, *more)

    def checkpoint(self) -> dict[str, Numbers]:
        """The arrays."""
        more = {"slots": self.slots, "counts": self.counts}
        return super().checkpoint() | more | {"sizes": self.sizes, "branches": self.branches}


@dataclass(frozen=True)
class IterationForm:
    """What matches of a pattern may hold: of each level the slots of the branches of its group."""

    levels: tuple[tuple[tuple[int, ...], ...], ...]

    @classmethod
    def of(cls, components: Sequence[BoundComponent]) -> IterationForm | None:
        """That of a pattern; None of one without repeated groups."""
        if not any(each.group for each in components):
            return None
        return cls(tuple(() if c.group is None else _slots(c.group) for c in components))

    @property
    def groups(self) -> int:
        """How many repeated groups there are."""
        return sum(1 for each in self.levels if each)

    def none(self) -> GroupBindings:
        """No match."""
        empty, levels = np.empty(0, np.int64), len(self.levels)
        lengths, counts = (np.empty((n, 0), np.int64) for n in (levels, self.groups))
        return GroupBindings(empty, empty, lengths, empty, counts, empty, empty)

    def restored(self, saved: Saved) -> GroupBindings:
        """Bindings from a checkpoint."""
        plain = Bindings.restored(saved, len(self.levels))
        most = len(plain.events)
        slots = saved.part("slots").array(most, low=0, high=most)
        counts = saved.part("counts").array(self.groups, plain.size, low=0, high=most)
        sizes = saved.part("sizes").array(int(counts.sum()), low=1, high=most)
        branches = saved.part("branches").array(len(sizes), low=0)
        more = slots, counts, sizes, branches
        found = GroupBindings(plain.events, plain.ends, plain.lengths, *more)
        self.check(found, saved)
        return found

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
