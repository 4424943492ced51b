"""The forms of matches: their columns, and the checks of these in snapshots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sase.binding.bound import BoundComponent
from sase.engine.operators.bindings.bindings import TIMES, Bindings, lengths_of
from sase.engine.snapshots.layout import Array, Sizes, StateField, kind
from sase.engine.snapshots.saved_state import Saved
from sase.planning.physical.forms import BindingForm


@kind
def Totals() -> StateField:
    """An array of numbers of iterations, the only row of a column."""
    row = Array("matches", low=0, high="events")
    return replace(row, read=lambda *how: row.read(*how)[None], save=lambda counts: counts[0])


@kind
def Shares() -> StateField:
    """Confidences, as an array of the bits of floats."""
    bits = Array("matches")

    def read(saved: Saved, now: Any, sizes: Sizes) -> Any:
        shares = bits.read(saved, now, sizes).view(np.float64)
        is_share = (shares > 0) & (shares <= 1)
        saved.check(bool(is_share.all()), "a confidence is above 0 and at most 1")
        return shares

    return replace(bits, read=read, save=lambda each: np.ascontiguousarray(each).view(np.int64))


@dataclass(frozen=True)
class SeriesForm:
    """Matches of any number of events of each component.

    The layout has the columns by their names in snapshots; the path is the name in `Bindings`.
    """

    levels: int
    detects = has_sets = False
    layout = dict(
        events=Array("events", low="live.first", high="live.last"),
        ends=Array("matches", low=1, high="events"),
        lengths=Array(".levels", "matches", low=0, high="events"),
    )

    @property
    def last_level(self) -> int:
        """The number of the last level."""
        return self.levels - 1

    @property
    def groups(self) -> int:
        """The rows of numbers of iterations: one for all groups together, or one for each."""
        return 1

    @property
    def columns(self) -> dict[str, tuple[str, StateField]]:
        """The columns of these matches, each with its name in snapshots."""
        fields = ((name, field) for name, field in self.layout.items() if name not in self.absent)
        return {field.path or name: (name, field) for name, field in fields}

    @property
    def absent(self) -> tuple[str, ...]:
        """Members of the layout that these matches do not have."""
        return ()

    def none(self) -> Bindings:
        """Bindings without a match."""
        rows = {"lengths": self.levels, "counts": self.groups, "times": TIMES}
        found = dict[str, Any]()
        for name in self.columns:
            shape = (rows[name], 0) if name in rows else 0
            found[name] = np.empty(shape, np.float64 if name == "confidences" else np.int64)
        return Bindings(**found)

    def checkpoint(self, bindings: Bindings) -> dict[str, Any]:
        """The arrays of all columns."""
        every = self.columns.items()
        return {name: field.save(getattr(bindings, column)) for column, (name, field) in every}

    def restored(self, saved: Saved) -> Bindings:
        """Matches from a checkpoint."""
        sizes = Sizes(self, saved.live)
        every = self.columns.items()
        read = {column: field.read(saved.part(n), None, sizes) for column, (n, field) in every}
        found = Bindings(**read)
        self.check(found, saved)
        return found

    def check(self, bindings: Bindings, saved: Saved) -> None:
        """Refuse inconsistent columns: every match has events, in the numbers of `lengths`."""
        whole = bindings.lengths.sum(axis=0)
        is_each = int(whole.sum()) == len(bindings.events)
        saved.check(is_each, "lengths are not those of the matches")
        saved.check(
            bool((whole > 0).all() and (np.cumsum(whole) == bindings.ends).all()), "ends differ"
        )
        if bindings.states is not None:
            is_same = bool((lengths_of(bindings) == bindings.lengths).all())
            saved.check(is_same, "slots are not those of the lengths")
        if bindings.sizes is not None:
            is_each = int(bindings.iterations.sum()) == len(bindings.sizes)
            saved.check(is_each, "iterations are not as many as matches have")


@dataclass(frozen=True)
class SetForm(SeriesForm):
    """Matches of patterns with sets, or of `earliest_maximal`."""

    detects: bool = False
    has_sets = True
    layout = SeriesForm.layout | dict(
        slots=Array("events", low=0, high=".last_level", path="states"),
        detected=Array("matches"),
    )

    @property
    def absent(self) -> tuple[str, ...]:
        """Members of the layout that these matches do not have."""
        return () if self.detects else ("detected",)


@dataclass(frozen=True)
class CandidateForm(SeriesForm):
    """Matches of imprecise time, in the order of the pattern; sets are in stream order."""

    layout = SeriesForm.layout | dict(times=Array(TIMES, "matches"), confidences=Shares())


@dataclass(frozen=True)
class IterationForm(SeriesForm):
    """Matches with repeated groups: `inside` has by level the slots of each branch of a group."""

    inside: tuple[tuple[tuple[int, ...], ...], ...]
    has_sets: bool = False
    layout = SeriesForm.layout | dict(
        slots=Array("events", low=0, high=".last_slot"),
        counts=Array(".groups", "matches", low=0, high="events"),
        sizes=Array("iterations", low=1, high="events"),
        branches=Array("iterations", low=0, path="kinds"),
        levels=Array("events", low=0, high=".last_level", path="states"),
    )

    @classmethod
    def of(cls, components: Sequence[BoundComponent]) -> IterationForm:
        """The form of a pattern's matches."""
        inside = tuple(map(_slots, components))
        return cls(len(components), inside, any(each.set_of is not None for each in components))

    @property
    def last_slot(self) -> int:
        """The greatest number of a variable in a group."""
        return max(slot for branches in self.inside for slots in branches for slot in slots)

    @property
    def groups(self) -> int:
        """The number of repeated groups."""
        return sum(1 for each in self.inside if each)

    @property
    def absent(self) -> tuple[str, ...]:
        """Members of the layout that these matches do not have."""
        return () if self.has_sets else ("levels",)

    def check(self, bindings: Bindings, saved: Saved) -> None:
        """Refuse iterations that do not fit the pattern, each in the order of its branch."""
        super().check(bindings, saved)
        own = bindings.by_level()
        at = iteration = 0
        for match in range(own.size):
            group = 0
            for level, branches in enumerate(self.inside):
                end = at + int(own.lengths[level, match])
                if not branches:
                    saved.check(not own.slots[at:end].any(), "a slot is of no group")
                    at = end
                    continue
                for each in range(iteration, iteration + int(own.counts[group, match])):
                    branch, size = int(own.kinds[each]), int(own.sizes[each])
                    saved.check(branch < len(branches), "there is no such branch")
                    slots = own.slots[at : at + size].tolist()
                    places = [branches[branch].index(s) for s in slots if s in branches[branch]]
                    is_whole = len(places) == len(slots) == size and places == sorted(places)
                    saved.check(is_whole, "an iteration is not that of its branch")
                    at += size
                saved.check(at == end, "iterations are not as long as their group")
                iteration += int(own.counts[group, match])
                group += 1


def opened_form(form: BindingForm, components: Sequence[BoundComponent]) -> SeriesForm | None:
    """The form of matches of any number of events; None for sequences."""
    match form:
        case BindingForm.SEQUENCES:
            return None
        case BindingForm.SERIES:
            return SeriesForm(len(components))
        case BindingForm.CANDIDATES:
            return CandidateForm(len(components))
        case BindingForm.SETS | BindingForm.DETECTED_SETS:
            return SetForm(len(components), form is BindingForm.DETECTED_SETS)
        case BindingForm.ITERATIONS:
            return IterationForm.of(components)


def _slots(component: BoundComponent) -> tuple[tuple[int, ...], ...]:
    """The variables of the positive elements of each branch of a group, by number."""
    return tuple(
        tuple(v for v, each in zip(b.variables, b.elements, strict=True) if not each.negated)
        for b in (component.group.branches if component.group else ())
    )
