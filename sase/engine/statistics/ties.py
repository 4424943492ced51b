"""Count ties: the share of a query's events that are simultaneous with another one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from sase.base.interface import option
from sase.binding.schema import MERGED_ORDER, ROW_ORDER
from sase.engine.columns import Events
from sase.engine.columns.arrays import Mask, Numbers, TypeCodes
from sase.engine.snapshots.saved_state import MOST_COUNTED, Saved
from sase.planning.engine_plan import EnginePlan
from sase.planning.plan.nodes import SequenceScan, Union, find, reading

# More than MANY events are sampled in SLICE-sized ranges at equal distances; if fewer than LEAST
# events of the query's types are found, all are counted.
MANY, SLICE, LEAST = 1 << 16, 1 << 12, 1 << 10
# A share above one in SHARE makes the order of simultaneous events matter.
SHARE = 20
FEW_TYPES = 8


class _SeenTypes(NamedTuple):
    """The types that a query reads: their codes, and a mask by code plus one (0 for no type)."""

    names: tuple[str, ...]
    codes: list[int]
    mask: Mask

    def among(self, types: TypeCodes) -> Mask:
        """Mark the events of these types that the query reads."""
        found: Mask = self.mask[types.astype(np.intp) + 1]
        return found


def _keys_of(plan: EnginePlan) -> tuple[str, ...]:
    """The attributes on which all events of a match agree."""
    if find(plan.operators, Union) is not None:
        return ()
    components = (*plan.positives, *plan.negatives)
    tests = (each for each in reading(plan.operators).tests if not each.attributes)
    return tuple(t.attribute for t in tests if t.is_declared_by(components))


def _alike(plan: EnginePlan) -> frozenset[str] | None:
    """The types of which a match, with its negative components, may have two; None for all."""
    components = (*plan.positives, *plan.negatives)
    if find(plan.operators, SequenceScan) is None or any(c.types is None for c in components):
        return None
    every = Counter(name for each in components for name in each.types or ())
    return frozenset(name for name, count in every.items() if count > 1)


class TieShare:
    """Counts events of some types, and those that share their order key with another.

    Without `types` every event counts. A stream is counted piece by piece. If all events are given
    at once, only events that agree on `keys` tie, and two events of one type only if it is in
    `alike`, the types of which a match may have two; None means all.
    """

    def __init__(
        self,
        types: frozenset[str] | None,
        keys: tuple[str, ...] = (),
        alike: frozenset[str] | None = None,
    ) -> None:
        self.events = self.tied = 0
        self.is_sample = self._is_by_key = False
        self._keys, self._alike = keys, alike
        self._types = types
        self._seen: _SeenTypes | None = None
        # The number of events with the last order key, or a function that returns the last events.
        self._last: int | Callable[[], Events] = 0

    @classmethod
    def of(cls, plan: EnginePlan) -> TieShare | None:
        """Return the counter for a plan; None if its matches cannot depend on ties.

        They cannot for a single event without negations, or if rows order all events.
        """
        has_several = plan.has_series or len(plan.positives) + len(plan.negatives) > 1
        if plan.schema.is_ordered_by_row or not has_several:
            return None
        return cls(plan.types_wanted, _keys_of(plan), _alike(plan))

    @property
    def is_large(self) -> bool:
        """Whether more than a twentieth of the events tie."""
        return self.tied * SHARE > self.events

    def measure(self, events: Events) -> None:
        """Count events given all at once; sample if they are many."""
        if events.tie is None:
            return
        count, ranges = len(events), [(0, len(events))]
        if count > MANY:
            begins = np.linspace(0, count - SLICE, MANY // SLICE, dtype=np.int64).tolist()
            ranges = [(begin, begin + SLICE) for begin in begins]
            for begin, end in ranges:
                self._add(events, begin, end)
            self.is_sample = self.events >= LEAST
        if not self.is_sample:
            self.events, self.tied, ranges = 0, 0, [(0, count)]
            self._add(events, 0, count)
        self._keys = tuple(name for name in self._keys if name in events.columns)
        if self.is_large and (self._keys or self._alike is not None):
            self.tied = sum([self._confused(events, begin, end) for begin, end in ranges])
            self._is_by_key = True

    def _confused(self, events: Events, begin: int, end: int) -> int:
        """The number of events in a range that tie with one that could be in the same match."""
        assert events.tie is not None
        seen = self._is_seen(events, begin, end)
        places = np.arange(begin, end) if seen is None else begin + np.flatnonzero(seen)
        marks = [events.tie[places]]
        for name in self._keys:
            column = events.columns[name].take(places)
            valid = column.valid if column.dictionary is None else column.values >= 0
            if valid is not None:
                places, column = places[valid], column.take(np.flatnonzero(valid))
                marks = [each[valid] for each in marks]  # NULL agrees with nothing
            marks.append(column.values)
        marks = [events.types[places], *marks[::-1]]
        order = np.lexsort(marks)
        types, *keys = (each[order] for each in marks)
        is_new = np.any([each[1:] != each[:-1] for each in keys], axis=0)
        groups = np.concatenate([[0], np.cumsum(is_new)])[: len(order)]
        sizes = np.bincount(groups, minlength=1)
        others = np.bincount(groups[1:], (types[1:] != types[:-1]) & ~is_new, len(sizes)) > 0
        among = [self._alike is None or name in self._alike for name in events.type_names]
        found = (sizes[groups] > 1) & (others[groups] | np.array([*among, True])[types])
        return int(np.count_nonzero(found))

    def add(self, events: Events, *, follows: bool, admitted: int | None = None) -> None:
        """Count the next events of a stream; `follows` if the first ties with the last one before.

        `admitted` is the number of events that components admit, if known.
        """
        if not len(events):
            return
        if follows or events.tie is not None:
            self._add(events, 0, len(events), self._before() if follows else 0)
            return
        if admitted is None or self._types is None:
            admitted = self._count_seen(events)
        self.events += admitted
        code = int(events.types[-1])
        name = events.type_names[code] if code >= 0 else None  # no type
        self._last = int(self._types is None or name in self._types)

    def pass_by(self, count: int, admitted: int, last: Callable[[], Events]) -> None:
        """Count events of a stream without ties, `admitted` of which components admit.

        `last` returns them on demand.
        """
        self.events += count if self._types is None else admitted
        self._last = last

    def _add(self, events: Events, begin: int, end: int, before: int = 0) -> None:
        """Count the events of a range; `before` events had its first order key."""
        if begin == end:
            return
        seen, tie = self._is_seen(events, begin, end), events.tie
        ranks: Numbers = np.arange(begin, end) if tie is None else tie[begin:end]
        first, last = ranks[0], ranks[-1]
        ranks = ranks if seen is None else ranks[seen]
        self.events += len(ranks)
        self._last = before if first == last else 0
        if not len(ranks):
            return
        starts = np.flatnonzero(ranks[1:] != ranks[:-1]) + 1
        sizes = np.diff(np.concatenate([[0], starts, [len(ranks)]]))
        counted = 0
        if before and ranks[0] == first:
            sizes[0] += before
            counted = before if before > 1 else 0
        self.tied += int(sizes[sizes > 1].sum()) - counted
        self._last = int(sizes[-1]) if ranks[-1] == last else 0

    def _before(self) -> int:
        """The number of events counted with the last order key."""
        if isinstance(self._last, int):
            return self._last
        events = self._last()
        seen = self._is_seen(events, len(events) - 1, len(events))
        return 1 if seen is None else int(seen[-1])

    def _count_seen(self, events: Events) -> int:
        """The number of events that the query reads."""
        seen = self._seen_of(events.type_names)
        if seen is None:
            return len(events)
        if len(seen.codes) > FEW_TYPES:
            return int(np.count_nonzero(seen.among(events.types)))
        # Comparing with each code is far faster than a lookup.
        return sum([int(np.count_nonzero(events.types == code)) for code in seen.codes])

    def _is_seen(self, events: Events, begin: int, end: int) -> Mask | None:
        """Mark the events of a range that the query reads; None for all."""
        seen = self._seen_of(events.type_names)
        return None if seen is None else seen.among(events.types[begin:end])

    def _seen_of(self, names: tuple[str, ...]) -> _SeenTypes | None:
        """The types among names that the query reads; None for all."""
        if self._types is None:
            return None
        if self._seen is None or self._seen.names != names:
            wanted = [name in self._types for name in names]
            codes = [code for code, is_seen in enumerate(wanted) if is_seen]
            self._seen = _SeenTypes(names, codes, np.array([False, *wanted]))
        return self._seen

    def warning(self, seq: str | None) -> str:
        """Describe the share of ties, its meaning, and a remedy."""
        percent = round(100 * self.tied / self.events)
        if self.tied < self.events:
            percent = min(percent, 99)
        share = f"{percent} % of the {self.events:,} events that the query sees"
        if self.is_sample:
            share = f"{percent} % of a sample of {self.events:,} events that the query sees"
        is_named = seq not in (None, MERGED_ORDER)
        key, kind = (f"time and `{seq}`", " without repeating") if is_named else ("time", "")
        keys = " and ".join(f"`{name}`" for name in self._keys)
        of = f" of the same {keys}" if self._is_by_key else f", whatever their {keys}"
        of = of if keys else ""
        by_row = option("seq", ROW_ORDER)
        return (
            f"{share} share their {key} with another{of}, and neither of two such events is before"
            f" the other: name with  {option('seq')}  a column of integers that numbers events"
            f"{kind}, or say  {by_row}  if they stand in their order in the input"
        )

    def checkpoint(self) -> list[int]:
        """The counts."""
        return [self.events, self.tied, self._before()]

    def restore(self, saved: Saved) -> None:
        """Continue from a checkpoint."""
        events, tied, last = saved.parts(3)
        self.events = events.number(0, MOST_COUNTED)
        self.tied = tied.number(0, self.events)
        self._last = last.number(0, self.events)
