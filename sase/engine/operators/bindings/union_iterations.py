"""Iterations of repeated groups in matches of several branches, by the variables of the whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sase.binding.bound import BoundComponent
from sase.engine.columns.arrays import Numbers
from sase.engine.operators.bindings.bindings import Bindings, ranges
from sase.engine.operators.bindings.groups import GroupBindings, IterationForm
from sase.engine.snapshots.saved_state import Saved

# What a match without some iteration has in its place: it comes before all.
NONE = 0
LATEST = np.iinfo(np.int64).max


@dataclass(frozen=True, eq=False)
class UnionIterations:
    """The iterations of some matches, match by match.

    `inner` is beside the events the number of the variable in its group, 0 outside of groups;
    `totals` how many iterations each match has. Of these `sizes` are the numbers of their events,
    `owners` the variables of their groups, and `kinds` their branches, as the branch of the match
    numbers them.
    """

    inner: Numbers
    totals: Numbers
    sizes: Numbers
    owners: Numbers
    kinds: Numbers

    @classmethod
    def none(cls, events: int, matches: int) -> UnionIterations:
        """No iteration in so many events and matches."""
        empty = np.empty(0, np.int64)
        return cls(np.zeros(events, np.int64), np.zeros(matches, np.int64), empty, empty, empty)

    @classmethod
    def united(cls, parts: Sequence[UnionIterations]) -> UnionIterations:
        """Concatenate."""
        arrays = zip(*((p.inner, p.totals, p.sizes, p.owners, p.kinds) for p in parts), strict=True)
        return cls(*map(np.concatenate, arrays))

    @property
    def nbytes(self) -> int:
        """The bytes of the arrays."""
        return sum(each.nbytes for each in self.checkpoint().values())

    def at(self, places: slice | NDArray[np.bool_ | np.int64], ends: Numbers) -> UnionIterations:
        """Those of some matches, whose events had these ends."""
        last = np.cumsum(self.totals)
        own = (ranges(each, last, places) for each in (self.sizes, self.owners, self.kinds))
        return UnionIterations(ranges(self.inner, ends, places), self.totals[places], *own)

    def counts(self, owner: int) -> Numbers:
        """How many iterations of a group each match has."""
        matches = np.repeat(np.arange(len(self.totals)), self.totals)
        return np.bincount(matches[self.owners == owner], minlength=len(self.totals))

    def checkpoint(self) -> dict[str, Numbers]:
        """The arrays."""
        return {
            "inner": self.inner,
            "totals": self.totals,
            "sizes": self.sizes,
            "owners": self.owners,
            "kinds": self.kinds,
        }

    def is_same_as(self, other: UnionIterations) -> bool:
        """Whether all numbers are the same."""
        pairs = zip(self.checkpoint().values(), other.checkpoint().values(), strict=True)
        return all(np.array_equal(one, each) for one, each in pairs)

    @classmethod
    def restored(cls, saved: Saved, found: Bindings) -> UnionIterations:
        """Iterations from a checkpoint, of matches that are restored."""
        most = len(found.events)
        inner = saved.part("inner").array(most, low=0, high=most)
        totals = saved.part("totals").array(found.size, low=0, high=most)
        count = int(totals.sum())
        saved.check(count <= most, "there are more iterations than events")
        sizes = saved.part("sizes").array(count, low=1, high=most)
        owners = saved.part("owners").array(count, low=0, high=found.shape[0] - 1)
        kinds = saved.part("kinds").array(count, low=0)
        return cls(inner, totals, sizes, owners, kinds)


@dataclass(frozen=True, eq=False)
class GroupLevels:
    """The repeated groups of a branch: their variables in the whole, and the numbers in them.

    `numbers` is by level of the branch and variable in its group the number in that of the whole.
    """

    form: IterationForm
    owners: tuple[int, ...]
    levels: tuple[int, ...]
    numbers: Numbers

    @classmethod
    def of(
        cls, own: Sequence[BoundComponent], whole: Sequence[BoundComponent]
    ) -> GroupLevels | None:
        """Those of a branch with such components; None if it has no repeated group."""
        form = IterationForm.of(own)
        if form is None:
            return None
        keys = [each.key for each in whole]
        most = max(len(each.group.variables) for each in own if each.group)
        numbers = np.zeros((len(own), most), np.int64)
        owners, levels = list[int](), list[int]()
        for level, component in enumerate(own):
            if component.group is not None:
                owners.append(keys.index(component.key))
                levels.append(level)
                united = whole[owners[-1]].group
                assert united is not None
                inside = [each.key for each in united.variables]
                for each in component.group.variables:
                    numbers[level, each.index] = inside.index(each.key)
        return cls(form, tuple(owners), tuple(levels), numbers)

    def united(self, found: GroupBindings) -> UnionIterations:
        """The iterations of matches of the branch, by the variables of the whole."""
        inner = self.numbers[levels_of_events(found, found.levels), found.slots]
        owners = np.repeat(np.tile(self.owners, found.size), found.counts.T.reshape(-1))
        totals = found.counts.sum(axis=0)
        return UnionIterations(inner, totals, found.sizes, owners.astype(np.int64), found.branches)

    def native(
        self, plain: Bindings, iterations: UnionIterations, levels: Numbers
    ) -> GroupBindings:
        """Matches of the branch alone, as its operators know them; by `levels` of its events."""
        known = levels if self.form.has_sets else None
        of_events = levels_of_events(plain, known)
        slots = np.zeros(len(plain.events), np.int64)
        for level in self.levels:
            here = of_events == level
            order = np.argsort(self.numbers[level], kind="stable")
            places = np.searchsorted(self.numbers[level], iterations.inner[here], sorter=order)
            slots[here] = order[np.minimum(places, len(order) - 1)]
        counts = np.stack([iterations.counts(owner) for owner in self.owners])
        return GroupBindings(
            plain.events,
            plain.ends,
            plain.lengths,
            slots,
            counts,
            iterations.sizes,
            iterations.kinds,
            known,
        )


def levels_of_events(found: Bindings, known: Numbers | None) -> Numbers:
    """The level of each event of matches; what is not `known` follows from their lengths."""
    if known is not None:
        return known
    levels = np.tile(np.arange(found.shape[0]), found.size)
    return np.repeat(levels, np.ascontiguousarray(found.lengths.T).reshape(-1))


def ranks_of(components: Sequence[BoundComponent]) -> Numbers:
    """By variable and number in its group, its place among all that are written."""
    inside = [each.group.variables if each.group else () for each in components]
    ranks = np.zeros((len(components), max(map(len, inside), default=0) + 1), np.int64)
    places = {
        (slot, number): variable.span.start
        for slot, (component, variables) in enumerate(zip(components, inside, strict=True))
        for number, variable in enumerate(variables or (component,))
    }
    for rank, place in enumerate(sorted(places, key=lambda each: places[each])):
        ranks[place] = rank
    return ranks


def last_first(found: Bindings, ranked: Numbers, iterations: UnionIterations) -> list[Numbers]:
    """Of each match the ranks of its events and the sizes of its iterations, the last one first."""
    last = np.cumsum(iterations.totals)
    pairs = zip(found.begins, found.ends, last - iterations.totals, last, strict=True)
    return [
        np.concatenate([ranked[begin:end][::-1], iterations.sizes[first:stop][::-1]])
        for begin, end, first, stop in pairs
    ]


def with_sizes(
    found: Bindings, ranked: Numbers, iterations: UnionIterations
) -> tuple[Numbers, Numbers, Numbers]:
    """Events, their ranks, and ends, as matches are ordered: the sizes of iterations decide last.

    They stand before the events of each match, as many in each, at events that are later than all:
    so of two matches of which one is a suffix of the other the shorter one still comes first.
    """
    most = int(iterations.totals.max(initial=0))
    ends = found.ends + most * np.arange(1, found.size + 1)
    events = np.full(len(found.events) + most * found.size, LATEST)
    ranks = np.full(len(events), NONE)
    lengths = found.ends - found.begins
    places = np.arange(len(found.events)) + most * np.repeat(np.arange(1, found.size + 1), lengths)
    events[places], ranks[places] = found.events, ranked
    # The sizes stand right before the first event, the last iteration nearest to it.
    last = np.cumsum(iterations.totals)
    number = np.arange(len(iterations.sizes)) - np.repeat(last, iterations.totals)
    starts = np.repeat(ends - lengths, iterations.totals)
    ranks[starts + number] = iterations.sizes
    return events, ranks, ends
