"""The semi-join of a script: an event reaches a statement only near events of its other components.

    SEQ(A a, B b, C c) WHERE [k] WITHIN 10        k = 1:  A …… B …………………… C     none is dealt out
                                                  k = 2:      A … B … C         all three are

For an event, each other component needs an event with the same key within the window: on the side
of the sequence where the component is. All statements share one table of the last such times.
Keys are hashed to slots, so that an event may be dealt out in vain, but none is left out.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from itertools import groupby
from operator import or_
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sase.binding.bound import WindowKind
from sase.binding.types import Kind
from sase.engine.columns import Events
from sase.engine.columns.arrays import Numbers
from sase.engine.kernels.jit.signatures import frozen
from sase.engine.kernels.scan.hashing import FACTOR
from sase.engine.kernels.scan.semi_join import (
    BUCKET,
    MOST_COLUMNS,
    PLACE,
    JoinInput,
    JoinTables,
    find_followers,
    find_predecessors,
    select_neighbours,
)
from sase.engine.kernels.sentinels import ANY_SPAN
from sase.engine.scripts.asking import Asking
from sase.engine.scripts.matching_forms import MatchingForm
from sase.planning.engine_plan import EnginePlan
from sase.planning.plan.nodes import SequenceScan

# The place of the sequence of a plan in its cache.
KEYED = "keyed sequence"
# The kinds of keys that have numbers which are equal where the values are.
KEY_KINDS = Kind.INTEGER, Kind.STRING
# The bits of a slot: the times of some ten components fit in the cache.
BITS = 13
# The sample of events in which the semi-join is tried, and the share of its events that it may
# leave of a statement: then to scan the others takes longer than the semi-join.
SAMPLE, LEFT = 1 / 8, 1 / 2
# Events per step of hashing.
STEP = 1 << 13
# The share of the room that the sample may fill, since the other events may be different.
SURE = 3 / 4
# Spans of one class differ at most by this factor.
ALIKE = 4


class KeyedSequence(NamedTuple):
    """The types of each component of a plan, the attributes of its key, and its span of time."""

    levels: tuple[frozenset[str], ...]
    key: tuple[str, ...]
    span: int

    @classmethod
    def of(cls, plan: EnginePlan) -> KeyedSequence | None:
        """Return those of a plan if an event counts only as part of a match; computed once."""
        if KEYED not in plan.cache:
            plan.cache[KEYED] = cls._made(plan)
        found: KeyedSequence | None = plan.cache[KEYED]
        return found

    @classmethod
    def _made(cls, plan: EnginePlan) -> KeyedSequence | None:
        scan, form = plan.scan, MatchingForm(plan)
        if not isinstance(scan, SequenceScan) or not scan.partitions or len(scan.components) < 2:
            return None
        if plan.negatives or plan.is_narrowed or plan.schema.is_imprecise or form.may_overflow:
            return None
        if form.span is None or form.window is None or form.window.kind is not WindowKind.TIME:
            return None
        if Asking.of(plan).asked is None or form.span == ANY_SPAN:
            return None
        key = scan.partitions[0]
        if any(test.attributes for test in key):
            return None
        levels = tuple(frozenset(each.types or ()) for each in scan.components)
        return cls(levels, tuple(test.attribute for test in key), form.span)

    def has_key(self, events: Events, kinds: Container[Kind] = KEY_KINDS) -> bool:
        """Whether events have the columns of the key, of such kinds."""
        columns = [events.columns.get(name) for name in self.key]
        return all(each is not None and each.type.kind in kinds for each in columns)


class _TimeColumn(NamedTuple):
    """A column of the table of times: the key, a class of spans, and the types of a component."""

    key: tuple[str, ...]
    span: int
    types: tuple[str, ...]


class _Entry(NamedTuple):
    """A level of a reader that admits the events of a bucket, and the columns that it needs."""

    bucket: int
    reader: int
    before: int
    after: int


@dataclass(frozen=True)
class BucketReaders:
    """The readers of each bucket, and the type of its events."""

    readers: tuple[tuple[int, ...], ...]
    types: tuple[str, ...]


class SemiJoin:
    """Finds the events of readers with sequences that are near events of their other components."""

    def __init__(
        self,
        sequences: Mapping[int, KeyedSequence],
        buckets: BucketReaders,
        type_names: tuple[str, ...],
    ) -> None:
        self._sequences, self._buckets, self._type_names = sequences, buckets, type_names
        self._spans = classes_of(each.span for each in sequences.values())
        # Components without a column are taken to be near.
        every = dict.fromkeys(c for each in sequences.values() for c in self._columns_of(each))
        columns = sorted([*every][:MOST_COLUMNS])
        self._bits = {each: 1 << number for number, each in enumerate(columns)}
        self._keys = tuple(dict.fromkeys(each.key for each in columns))
        by_bucket = enumerate(zip(buckets.readers, buckets.types, strict=True))
        self._entries = [e for number, each in by_bucket for e in self._placed(number, *each)]
        self._tables = JoinTables(*map(frozen, self._written(columns)))

    def _written(self, columns: list[_TimeColumn]) -> Iterator[Numbers]:
        """The classes of columns with one key and span, and by type the columns of its events."""
        classes, end = list[tuple[int, ...]](), 0
        for (key, span), some in groupby(columns, key=lambda each: (each.key, each.span)):
            first, end = end, end + len([*some])
            classes.append((self._keys.index(key), span, first, end))
        places = [(n, self._keys.index(each.key), each.types) for n, each in enumerate(columns)]
        noted = [
            [(column, key) for column, key, types in places if name in types]
            for name in self._type_names
        ]
        yield np.array(classes, np.int64).T
        yield np.cumsum([0, 0, *map(len, noted)])  # no columns without a type
        yield np.array([each for some in noted for each in some], np.int64).reshape(-1, 2).T

    def _columns_of(self, sequence: KeyedSequence) -> list[_TimeColumn]:
        span = self._spans[sequence.span]
        return [_TimeColumn(sequence.key, span, tuple(sorted(types))) for types in sequence.levels]

    def _placed(self, bucket: int, readers: Iterable[int], type_name: str) -> Iterator[_Entry]:
        """The entries of a bucket: each reader for each level that admits its events."""
        for reader in readers:
            if reader in self._sequences:
                sequence = self._sequences[reader]
                bits = [self._bits.get(each, 0) for each in self._columns_of(sequence)]
                for level, types in enumerate(sequence.levels):
                    if type_name in types:
                        before, after = bits[:level], bits[level + 1 :]
                        yield _Entry(bucket, reader, reduce(or_, before, 0), reduce(or_, after, 0))

    def neighbours(
        self, events: Events, hits: Numbers, count: int, most: int
    ) -> dict[int, Numbers]:
        """The places of the events that remain of `count` hits, by reader.

        It has the readers of which few events remain in a sample, so that at most `most` remain in
        all.
        """
        few = self._that_pay(events, hits, count, most)
        if not few:
            return {}
        join = self
        if len(few) < len(self._sequences):
            join = SemiJoin(few, self._buckets, self._type_names)
        return join.remaining(events, len(events), hits, count, most) or {}

    def _that_pay(
        self, events: Events, hits: Numbers, count: int, most: int
    ) -> dict[int, KeyedSequence]:
        """The sequences of the readers of which few events remain in a sample."""
        size = int(len(events) * SAMPLE)
        count = int(np.searchsorted(hits[PLACE, :count], size))
        left = self.remaining(events, size, hits, count, count * len(self._entries))
        assert left is not None, "there is room for all"
        by_bucket = np.bincount(hits[BUCKET, :count], minlength=len(self._buckets.types))
        entries = np.array(self._entries, np.int64)  # with columns as in `_Entry`
        asked = np.bincount(entries[:, 1], by_bucket[entries[:, 0]])
        sizes = {n: len(some) for n, some in left.items() if len(some) <= LEFT * asked[n]}
        order = sorted(sizes, key=sizes.__getitem__)
        whole = np.cumsum([sizes[number] for number in order]) <= most * SAMPLE * SURE
        few = {*order[: np.count_nonzero(whole)]}
        return {number: each for number, each in self._sequences.items() if number in few}

    def remaining(
        self, events: Events, size: int, hits: Numbers, count: int, most: int
    ) -> dict[int, Numbers] | None:
        """The places of the first `size` events that remain, by reader; None of more than `most`.

        Events before the first one and after the last one are not known: any may be there.
        """
        if not size:
            return {}
        types = events.types.astype(np.int16, copy=False)
        slots = np.empty((len(self._keys), size), np.int64)
        for key, row in zip(self._keys, slots, strict=True):
            _slots(events, key, row)
        reading = JoinInput(frozen(events.ts), frozen(types), frozen(slots))
        known = hits, count, reading, self._tables
        by_bucket = np.bincount(hits[BUCKET, :count], minlength=len(self._buckets.types))
        ends, places = np.cumsum(by_bucket), np.empty(count, np.int64)
        masks, bounds = np.empty((2, count), np.int64), [0, *ends.tolist()]
        times = np.full((1 << BITS, len(self._bits)), events.ts[size - 1], np.int64)
        find_followers(*known, times, ends, places, masks[1])
        times[:] = events.ts[0]
        find_predecessors(*known, times, ends, masks[0])
        found: dict[int, list[Numbers]] = {each: [places[:0]] for each in self._sequences}
        out = np.empty(int(by_bucket.max(initial=0)) + 1, np.int64)
        for bucket, reader, before, after in self._entries:
            begin, end = bounds[bucket : bucket + 2]
            written = select_neighbours(places, masks, begin, end, before, after, out)
            found[reader].append(out[:written].copy())
            most -= written
            if most < 0:
                return None
        return {number: _in_order(some) for number, some in found.items()}


def _in_order(parts: list[Numbers]) -> Numbers:
    """Places of several buckets by rising place, each once."""
    places = np.sort(np.concatenate(parts), kind="stable")  # which merges sorted parts
    again = places[1:] == places[:-1]
    return places[np.append(True, ~again)] if again.any() else places


def classes_of(spans: Iterable[int]) -> dict[int, int]:
    """Classes of similar spans: by span the greatest one of its class."""
    classes = list[list[int]]()
    for span in sorted({*spans}):
        if not classes or span > classes[-1][0] * ALIKE:
            classes.append([])
        classes[-1].append(span)
    return {span: some[-1] for some in classes for span in some}


def _slots(events: Events, key: tuple[str, ...], out: Numbers) -> None:
    """Write the slot of the key of each event; a collision only deals out more events."""
    columns = [events.columns[name].keys for name in key]
    for begin in range(0, len(out), STEP):
        end = min(begin + STEP, len(out))
        mixed: NDArray[Any] = np.zeros(end - begin, np.uint64)
        for values in columns:
            mixed += values[begin:end].astype(np.int64).view(np.uint64)
            mixed *= np.uint64(FACTOR)
        out[begin:end] = mixed >> np.uint64(64 - BITS)
