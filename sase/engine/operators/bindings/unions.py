"""Matches of the branches of a pattern, by the variables of the whole pattern."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sase.binding.bound import BoundComponent
from sase.engine.columns.arrays import Numbers
from sase.engine.operators.bindings.bindings import TIMES, Bindings, as_bindings
from sase.engine.operators.bindings.forms import (
    CandidateForm,
    IterationForm,
    SeriesForm,
    Shares,
    Totals,
    opened_form,
)
from sase.engine.snapshots.layout import Array
from sase.engine.snapshots.saved_state import Saved
from sase.planning.physical.forms import form_of
from sase.planning.plan.nodes import Union, reading


@dataclass(frozen=True, eq=False)
class BranchLevels:
    """The variables of the whole pattern for the levels of a branch.

    `slots` is the variable of each level, `levels` the level of each variable. A variable of a
    group has one number in the group of the branch, and another one in the group of the whole
    pattern. `numbers` maps the first to the second, by level, and `own` the second to the first.
    """

    branch: int
    form: SeriesForm
    slots: Numbers
    levels: Numbers
    numbers: Numbers
    own: Numbers

    @classmethod
    def of(
        cls,
        branch: int,
        form: SeriesForm,
        components: Sequence[BoundComponent],
        whole: Sequence[BoundComponent],
    ) -> BranchLevels:
        """Map the components of a branch to those of the whole pattern."""
        keys = [each.key for each in whole]
        slots = np.array([keys.index(each.key) for each in components], np.int64)
        levels = np.zeros(len(keys), np.int64)
        levels[slots] = np.arange(len(slots))
        groups = [each.group for each in (*components, *whole)]
        most = max(len(each.variables) if each else 1 for each in groups)
        numbers, own = np.zeros((2, len(components), most), np.int64)
        for level, component in enumerate(components):
            united = whole[slots[level]].group
            if component.group is not None and united is not None:
                inside = [each.key for each in united.variables]
                for each in component.group.variables:
                    number = inside.index(each.key)
                    numbers[level, each.index], own[level, number] = number, each.index
        return cls(branch, form, slots, levels, numbers, own)

    @property
    def count(self) -> int:
        """The number of variables of the whole pattern."""
        return len(self.levels)

    @property
    def _owners(self) -> Numbers:
        """The variables of the groups of the branch."""
        assert isinstance(self.form, IterationForm)
        return self.slots[[bool(each) for each in self.form.inside]]

    def united(self, bindings: Numbers | Bindings) -> Bindings:
        """The matches of the branch, by the variables of the whole pattern."""
        native = as_bindings(bindings).general
        lengths = np.zeros((self.count, native.size), np.int64)
        lengths[self.slots] = native.lengths
        levels, branches = native.known_states, np.full(native.size, self.branch)
        made = replace(native, lengths=lengths, states=self.slots[levels], branches=branches)
        if native.counts is None:
            return made
        return replace(
            made,
            slots=self.numbers[levels, native.slots],
            counts=native.counts.sum(axis=0, keepdims=True),
            owners=np.repeat(np.tile(self._owners, made.size), native.counts.T.reshape(-1)),
        )

    def native(self, bindings: Bindings) -> Bindings:
        """Matches of this branch alone, by its own levels."""
        levels, slots, counts = self.levels[bindings.states], None, None
        is_grouped = isinstance(self.form, IterationForm)
        if is_grouped:
            slots = self.own[levels, np.minimum(bindings.slots, self.own.shape[1] - 1)]
            matches = np.repeat(np.arange(bindings.size), bindings.iterations)
            of_groups = (matches[bindings.owners == owner] for owner in self._owners)
            counts = np.stack([np.bincount(each, minlength=bindings.size) for each in of_groups])
        return replace(
            bindings.general,
            lengths=np.ascontiguousarray(bindings.lengths[self.slots]),
            states=levels if self.form.has_sets else None,
            slots=slots,
            counts=counts,
            sizes=bindings.sizes if is_grouped else None,
            kinds=bindings.kinds if is_grouped else None,
            owners=None,
            branches=None,
            values=None,
        )


def levels_of(union: Union) -> list[BranchLevels]:
    """The levels of each branch, as variables of the whole pattern."""
    found = []
    for number, branch in enumerate(union.branches):
        own = reading(branch).components
        form = opened_form(form_of(branch), own) or SeriesForm(len(own))
        found.append(BranchLevels.of(number, form, own, union.components))
    return found


@dataclass(frozen=True)
class UnionForm(SeriesForm):
    """Matches by the variables of the whole pattern, each with its branch."""

    branches: Sequence[BranchLevels]
    layout = SeriesForm.layout | dict(
        slots=Array("events", low=0, high=".last_level", path="states"),
        branches=Array("matches", low=0, high=".last_branch"),
        detected=Array("matches"),
        times=Array(TIMES, "matches"),
        confidences=Shares(),
        inner=Array("events", low=0, high=".last_slot", path="slots"),
        totals=Totals(path="counts"),
        sizes=Array("iterations", low=1, high="events"),
        owners=Array("iterations", low=0, high=".last_level"),
        kinds=Array("iterations", low=0),
    )

    @classmethod
    def of(cls, branches: Sequence[BranchLevels]) -> UnionForm:
        """The form of a pattern's matches."""
        return cls(branches[0].count, branches)

    @property
    def last_branch(self) -> int:
        """The number of the last branch."""
        return len(self.branches) - 1

    @property
    def last_slot(self) -> int:
        """The greatest number of a variable in a group."""
        return max(int(each.numbers.max()) for each in self.branches)

    @property
    def absent(self) -> tuple[str, ...]:
        """Members of the layout that these matches do not have."""
        forms, absent = [each.form for each in self.branches], list[str]()
        if not any(each.detects for each in forms):
            absent.append("detected")
        if not any(isinstance(each, CandidateForm) for each in forms):
            absent += "times", "confidences"
        if not any(isinstance(each, IterationForm) for each in forms):
            absent += "inner", "totals", "sizes", "owners", "kinds"
        return tuple(absent)

    def whole(self, bindings: Bindings) -> Bindings:
        """Matches with all columns; those of iterations are there even if no match has any."""
        return Bindings.united([self.none(), bindings])

    def check(self, bindings: Bindings, saved: Saved) -> None:
        """Refuse matches that do not fit their branches."""
        super().check(bindings, saved)
        for each in self.branches:
            own = bindings[:, bindings.branches == each.branch]
            is_own = int(own.lengths[each.slots].sum()) == len(own.events)
            saved.check(is_own, "a match has events of another branch")
            native = each.native(own)
            each.form.check(native, saved)
            made = self.whole(each.united(native))
            columns = ((getattr(own, name), getattr(made, name)) for name in self.columns)
            is_same = all(np.array_equal(*both) for both in columns)
            saved.check(is_same, "a match is none of its branch")
