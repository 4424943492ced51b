"""Matches of the branches of a pattern, by the variables of the whole."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sase.cached_property import cached_property
from sase.engine.columns.arrays import Mask, Numbers
from sase.engine.operators.bindings.bindings import Bindings, as_bindings, ranges
from sase.engine.operators.bindings.candidates import (
    CandidateBindings,
    CandidateForm,
    Likely,
)
from sase.engine.operators.bindings.forms import opened_form
from sase.engine.operators.bindings.groups import GroupBindings
from sase.engine.operators.bindings.sets import SetBindings, SetForm
from sase.engine.operators.bindings.union_iterations import (
    GroupLevels,
    UnionIterations,
    levels_of_events,
)
from sase.engine.snapshots.saved_state import Saved
from sase.planning.nodes import Union, reading
from sase.planning.physical.forms import form_of

# Branches are 256 at most, but snapshots have them as they have all numbers.
BranchNumbers: TypeAlias = NDArray[np.int16 | np.int64]


@dataclass(frozen=True)
class BranchLevels:
    """Which variable of the whole pattern each level of a branch is, and how many there are."""

    branch: int
    slots: Numbers
    count: int
    groups: GroupLevels | None = None
    sets: SetForm | None = None
    is_likely: bool = False

    def united(self, found: Numbers | Bindings) -> UnionBindings:
        """The matches of the branch by the variables of the whole."""
        native = as_bindings(found)
        lengths = np.zeros((self.count, native.size), np.int64)
        lengths[self.slots] = native.lengths
        detected = None
        if isinstance(native, SetBindings):
            slots, detected = self.slots[native.slots], native.detected
        else:
            known = native.levels if isinstance(native, GroupBindings) else None
            slots = self.slots[levels_of_events(native, known)]
        branches = np.full(native.size, self.branch)
        events, ends = np.ascontiguousarray(native.events), np.asarray(native.ends)
        iterations = None
        if self.groups is not None:
            assert isinstance(native, GroupBindings)
            iterations = self.groups.united(native)
        likely = native.likely if isinstance(native, CandidateBindings) else None
        return UnionBindings(
            events, ends, lengths, slots, branches, (), iterations, detected, likely
        )

    def native(self, found: UnionBindings) -> Bindings:
        """Matches of this branch alone, as its operators know them."""
        lengths = np.ascontiguousarray(found.lengths[self.slots])
        if self.sets is not None:
            levels = self._levels(found)
            return SetBindings(found.events, found.ends, lengths, levels, found.detected)
        plain = Bindings(found.events, found.ends, lengths)
        if found.likely is not None:
            likely = found.likely.times, found.likely.confidences
            return CandidateBindings(found.events, found.ends, lengths, *likely)
        if self.groups is None:
            return plain
        return self.groups.native(plain, found.known_iterations, self._levels(found))

    def _levels(self, found: UnionBindings) -> Numbers:
        """The level of the branch that binds each event."""
        return np.argsort(self.slots)[np.searchsorted(np.sort(self.slots), found.slots)]


def levels_of(union: Union) -> list[BranchLevels]:
    """The levels of each branch, as variables of the whole pattern."""
    keys = [each.key for each in union.components]
    found = []
    for number, branch in enumerate(union.branches):
        own = reading(branch).components
        slots = np.array([keys.index(each.key) for each in own], np.int64)
        groups, form = GroupLevels.of(own, union.components), opened_form(form_of(branch), own)
        of_sets = form if isinstance(form, SetForm) else None
        is_likely = isinstance(form, CandidateForm)
        found.append(BranchLevels(number, slots, len(keys), groups, of_sets, is_likely))
    return found


class UnionBindings(Bindings):
    """Matches with the branch of each; `slots` are the variables of the events.

    `lengths` are by the variable of the whole pattern, in whatever order a branch has them.
    `values` are tags and bits of the columns of RETURN, once they are known. `iterations` are those
    of repeated groups, None where no match has any. Under `earliest_maximal` it is known when each
    match was `detected`, with imprecise time how `likely` it is, too.
    """

    iterations: UnionIterations | None = None
    detected: Numbers | None = None
    likely: Likely | None = None

    def __init__(
        self,
        events: Numbers,
        ends: Numbers,
        lengths: Numbers,
        slots: Numbers,
        branches: BranchNumbers,
        values: tuple[Numbers, ...] = (),
        iterations: UnionIterations | None = None,
        detected: Numbers | None = None,
        likely: Likely | None = None,
    ) -> None:
        super().__init__(events, ends, lengths)
        self._slots, self.branches, self.values = slots, branches, values
        self.iterations, self.detected, self.likely = iterations, detected, likely

    @property
    def known_iterations(self) -> UnionIterations:
        """The iterations, none of them where no match has any."""
        return self.iterations or UnionIterations.none(len(self.events), self.size)

    @property
    def slots(self) -> Numbers:
        """The variable of each event."""
        return self._slots

    @classmethod
    def general(cls) -> type[Bindings]:
        """What such and others of a union are joined as."""
        return UnionBindings

    @classmethod
    def united(cls, parts: Sequence[UnionBindings], levels: int) -> UnionBindings:
        """Concatenate."""
        plain = Bindings.united(parts, levels)
        values = zip(*(part.values for part in parts), strict=True)
        times = [part.detected for part in parts if part.detected is not None]
        likely = [part.likely for part in parts if part.likely is not None]
        return cls(
            plain.events,
            plain.ends,
            plain.lengths,
            np.concatenate([part.slots for part in parts]),
            np.concatenate([part.branches for part in parts]).astype(np.int64, copy=False),
            tuple(map(np.concatenate, values)),
            UnionIterations.united([part.known_iterations for part in parts])
            if any(part.iterations for part in parts)
            else None,
            np.concatenate(times) if times else None,
            Likely.united(likely) if likely else None,
        )

    @property
    def nbytes(self) -> int:
        """The bytes of the arrays."""
        arrays = (self.slots, self.branches, *self.values)
        more = 0 if self.iterations is None else self.iterations.nbytes
        more += 0 if self.detected is None else self.detected.nbytes
        more += 0 if self.likely is None else self.likely.nbytes
        return super().nbytes + sum(each.nbytes for each in arrays) + more

    def _at(self, places: slice | NDArray[np.bool_ | np.int64]) -> UnionBindings:
        plain = super()._at(places)
        return UnionBindings(
            plain.events,
            plain.ends,
            plain.lengths,
            ranges(self.slots, self.ends, places),
            self.branches[places],
            tuple(value[places] for value in self.values),
            None if self.iterations is None else self.iterations.at(places, self.ends),
            None if self.detected is None else self.detected[places],
            None if self.likely is None else self.likely.at(places),
        )

    def at(self, places: slice | NDArray[np.bool_ | np.int64]) -> UnionBindings:
        """Some of the matches."""
        return self._at(places)

    def valued(self, values: tuple[Numbers, ...]) -> UnionBindings:
        """The same with the columns of RETURN."""
        parts = self.events, self.ends, self.lengths, self.slots, self.branches
        return UnionBindings(*parts, values, self.iterations, self.detected, self.likely)

    @property
    def canonical(self) -> UnionBindings:
        """The same with the events of each match by variable, wherever a branch lists them."""
        matches = np.repeat(np.arange(self.size), np.diff(self.ends, prepend=0))
        order = np.lexsort((self.slots, matches))
        events, slots = self.events[order], self.slots[order]
        return UnionBindings(events, self.ends, self.lengths, slots, self.branches)

    def mapped(self, change: Callable[[Numbers], Numbers]) -> UnionBindings:
        """Map the event numbers."""
        parts = change(self.events), self.ends, self.lengths, self.slots, self.branches
        return UnionBindings(*parts, self.values, self.iterations, self.detected, self.likely)

    def of_level(self, level: int) -> tuple[Numbers, Numbers]:
        """The events that a variable binds in all matches, and where those of each match end."""
        return self.events[self.slots == level], np.cumsum(self.lengths[level])

    def one_of_level(self, level: int) -> tuple[Numbers, Mask]:
        """The event of each match that a single component binds, and whether there is one."""
        known = self.lengths[level] > 0
        found = self.events[self.begins]
        found[known] = self.events[self.slots == level]
        return found, known

    def checkpoint(self) -> dict[str, Numbers]:
        """The arrays."""
        branches = self.branches.astype(np.int64)
        saved = {**super().checkpoint(), "slots": self.slots, "branches": branches}
        if self.detected is not None:
            saved["detected"] = self.detected
        if self.likely is not None:
            saved |= self.likely.checkpoint()
        return saved if self.iterations is None else {**saved, **self.iterations.checkpoint()}

    @classmethod
    def of_saved(cls, saved: Saved, levels: Sequence[BranchLevels]) -> UnionBindings:
        """Bindings from a checkpoint: each match is one of its branch."""
        found = Bindings.restored(saved, levels[0].count)
        branches = saved.part("branches").array(found.size, low=0, high=len(levels) - 1)
        slots = saved.part("slots").array(len(found.events), low=0, high=levels[0].count - 1)
        iterations = None
        if any(each.groups is not None for each in levels):
            iterations = UnionIterations.restored(saved, found)
        detects = any(each.sets is not None and each.sets.detects for each in levels)
        detected = saved.part("detected").array(found.size) if detects else None
        is_likely = any(each.is_likely for each in levels)
        likely = Likely.restored(saved, found.size) if is_likely else None
        restored = cls(
            found.events, found.ends, found.lengths, slots, branches, (), iterations, detected,
            likely,
        )  # fmt: skip
        for each in levels:
            own = restored.at(branches == each.branch)
            is_own = int(own.lengths[each.slots].sum()) == len(own.events)
            saved.check(is_own, "a match has events of another branch")
            native = each.native(own)
            if each.groups is not None:
                assert isinstance(native, GroupBindings)
                each.groups.form.check(native.by_level(), saved)
            made = each.united(native)
            is_whole = bool((made.lengths == own.lengths).all())
            is_same = len(made.slots) == len(own.slots) and bool((made.slots == own.slots).all())
            saved.check(is_whole and is_same, "a match is none of its branch")
            known = made.known_iterations.is_same_as(own.known_iterations)
            saved.check(known, "iterations are not those of their branch")
        return restored


class BranchSequences(UnionBindings):
    """Sequences of branches that have as many levels each, a row for each level.

    `table` is by branch and level the variable of the whole pattern, of which there are `count`.
    Events match by match are put together on demand.
    """

    def __init__(
        self,
        rows: Numbers,
        branches: BranchNumbers,
        table: Numbers,
        count: int,
        values: tuple[Numbers, ...] = (),
    ) -> None:
        self.rows, self.branches, self.table, self.count = rows, branches, table, count
        self.values = values

    @classmethod
    def united(cls, parts: Sequence[Any], levels: int) -> UnionBindings:
        """Concatenate."""
        first = parts[0]
        if any(part.table is not first.table for part in parts):
            return UnionBindings.united(parts, levels)
        rows = np.concatenate([part.rows for part in parts], axis=1)
        branches = np.concatenate([part.branches for part in parts])
        values = zip(*(part.values for part in parts), strict=True)
        return cls(rows, branches, first.table, first.count, tuple(map(np.concatenate, values)))

    @property
    def shape(self) -> tuple[int, int]:
        """Variables of the whole pattern, and matches."""
        return self.count, self.rows.shape[1]

    @property
    def nbytes(self) -> int:
        """The bytes of the arrays."""
        return sum(each.nbytes for each in (self.rows, self.branches, *self.values))

    @cached_property
    def events(self) -> Numbers:
        """The events of all matches."""
        return np.ascontiguousarray(self.rows.T).reshape(-1)

    @cached_property
    def ends(self) -> Numbers:
        """Where each match ends."""
        levels, count = self.rows.shape
        ends: Numbers = np.arange(1, count + 1, dtype=np.int64) * levels
        return ends

    @cached_property
    def slots(self) -> Numbers:
        """The variable of each event."""
        found: Numbers = self.table[self.branches].reshape(-1)
        return found

    @cached_property
    def lengths(self) -> Numbers:
        """How many events each variable binds."""
        found = np.zeros(self.shape, np.int64)
        for slots in self.table.T:
            found[slots[self.branches], np.arange(self.size)] = 1
        return found

    @property
    def first(self) -> Numbers:
        """The first event of each match."""
        first: Numbers = self.rows[0]
        return first

    @property
    def last(self) -> Numbers:
        """The last event of each match."""
        last: Numbers = self.rows[-1]
        return last

    def _at(self, places: slice | NDArray[np.bool_ | np.int64]) -> BranchSequences:
        return self._with(
            np.ascontiguousarray(self.rows[:, places]),
            self.branches[places],
            tuple(value[places] for value in self.values),
        )

    def valued(self, values: tuple[Numbers, ...]) -> BranchSequences:
        """The same with the columns of RETURN."""
        return self._with(self.rows, self.branches, values)

    def mapped(self, change: Callable[[Numbers], Numbers]) -> BranchSequences:
        """Map the event numbers."""
        rows = change(self.rows.reshape(-1)).reshape(self.rows.shape)
        return self._with(rows, self.branches, self.values)

    def _with(
        self, rows: Numbers, branches: BranchNumbers, values: tuple[Numbers, ...]
    ) -> BranchSequences:
        return BranchSequences(rows, branches, self.table, self.count, values)

    def of_level(self, level: int) -> tuple[Numbers, Numbers]:
        """The events that a variable binds in all matches, and where those of each match end."""
        events, known = self.one_of_level(level)
        return events[known], np.cumsum(known)

    def one_of_level(self, level: int) -> tuple[Numbers, Mask]:
        """The event of each match that a variable binds, and whether there is one."""
        is_there = (self.table == level)[self.branches]
        at = is_there.argmax(axis=1)
        return self.rows[at, np.arange(self.size)], is_there.any(axis=1)


def likely_of(found: Numbers | Bindings) -> Likely | None:
    """Times and confidences of matches of imprecise time; None of others."""
    return found.likely if isinstance(found, CandidateBindings | UnionBindings) else None
