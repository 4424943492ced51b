"""The admission index: the queries with a component that admits an event."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sase.binding.types import Kind
from sase.binding.values.folding import INT64_MIN
from sase.cached_property import cached_property
from sase.engine.columns import Events
from sase.engine.columns.arrays import Numbers
from sase.engine.columns.events import EventColumn
from sase.engine.kernels.scan.admission import (
    BUCKET,
    END,
    FIRST,
    NEXT,
    deal,
    fill_table,
    find_buckets,
)
from sase.engine.kernels.sentinels import NOTHING
from sase.engine.scripts.asking import KINDS, Asked, Asking, ValueRange
from sase.engine.scripts.rows import EventRows
from sase.engine.scripts.semi_join import BucketReaders, KeyedSequence, SemiJoin

# ---------------------------------------------------------------- intervals

# Integers within this range have their intervals in an array; a wider range is searched. If ranges
# cut a column into more intervals than this, events are found by their type alone.
NEAR, MOST = 1 << 12, 1 << 15


@dataclass(frozen=True)
class Intervals:
    """The intervals of a column: each begins at a cut, the first before all of them.

    cuts  10, 20        value  3  10  15  20  99
                     interval  0   1   1   2   2
    """

    attribute: str
    kind: Kind
    cuts: tuple[int | float, ...]

    @classmethod
    def of_all(cls, ranges: Iterable[tuple[str, ValueRange]]) -> tuple[Intervals, ...]:
        """The intervals of each attribute, cut at the bounds of the ranges in queries."""
        by_key = defaultdict[tuple[str, Kind], list[ValueRange]](list)
        for attribute, asked in ranges:
            by_key[attribute, asked.kind].append(asked)
        found = list[Intervals]()
        for key in sorted(by_key, key=str):
            bounds = {bound for each in by_key[key] for bound in (each.low, each.high)}
            own = cls(*key, tuple(sorted(bound for bound in bounds if bound is not None)))
            if sum(len(own.of_range(each)) for each in by_key[key]) <= MOST:
                found.append(own)
        return tuple(found)

    @property
    def key(self) -> tuple[str, Kind]:
        """The attribute, and the kind of its values."""
        return self.attribute, self.kind

    def of_range(self, asked: ValueRange) -> range:
        """The numbers of the intervals that make up a range."""
        first = 0 if asked.low is None else bisect_right(self.cuts, asked.low)
        end = len(self.cuts) if asked.high is None else bisect_right(self.cuts, asked.high) - 1
        return range(first, end + 1)

    def read(self, column: EventColumn, out: Numbers) -> None:
        """Write the number of the interval of each value; NULL is in none."""
        values = column.values
        if self._near is None:
            out[:] = np.searchsorted(self._cuts, values, "right")
        else:
            first, last = int(self._cuts[0]) - 1, int(self._cuts[-1])
            np.take(self._near, np.clip(values.astype(np.int64), first, last) - first, out=out)
        if column.valid is not None:
            out[~column.valid] = INT64_MIN
        if self.kind is Kind.FLOAT:
            out[np.isnan(values)] = INT64_MIN

    @cached_property
    def _cuts(self) -> NDArray[np.int64] | NDArray[np.float64]:
        if self.kind is Kind.INTEGER:
            return np.array(self.cuts, np.int64)
        return np.array(self.cuts, np.float64)

    @cached_property
    def _near(self) -> Numbers | None:
        """The interval of each value from the one before the first cut up to the last."""
        if self.kind is Kind.FLOAT or self.cuts[-1] - self.cuts[0] > NEAR:
            return None
        values = np.arange(int(self.cuts[0]) - 1, int(self.cuts[-1]) + 1)
        return np.searchsorted(self._cuts, values, "right")


# ---------------------------------------------------------------- admission

#     type E4, attr2 = 7   →  queries 3, 17            an event is looked up once,
#     type E4, attr5 < 10  →  query 4                  however many queries there are
#     type E4              →  queries 5, 8, 9
#
# A component with a condition on one of several values is in the bucket of each value. The bounds
# of all ranges of an attribute cut it into intervals, and a component is in the buckets of the
# intervals of its range. A query gets the places of the events in its buckets; events that its own
# scan would reject at once never reach it. A query that counts all events, or needs most of them,
# gets all. If it has a range, its interval is not looked up any more then.

# A query that needs more than one of this many events gets all: its own scan is as fast.
FEW_ARE = 16
# Events that are looked up and dealt out per step, so that their columns stay in the cache; and the
# most events dealt out in parts, as a multiple of all events.
STEP, MOST_DEALT = 1 << 15, 4

# Values within this range have their places in an array, others in a table.


@dataclass(frozen=True, eq=False)
class AdmittedPart:
    """The events that concern a plan, and their places among all events.

    If it `is_decided`, the scan of the plan admits every one of them.
    """

    places: Numbers
    events: Events
    is_decided: bool


class AdmissionIndex:
    """Deals out the events of an input to the plans that read it."""

    def __init__(
        self, asking: Sequence[Asking], sequences: Sequence[KeyedSequence | None] = ()
    ) -> None:
        self.asked = tuple(each.asked for each in asking)
        self._told_apart = np.array([each.told_apart for each in asking], np.bool_)
        self._decides = np.array([each.is_all for each in asking], np.bool_)
        # Reused buffers: fresh memory from the system costs more.
        self._hits = np.empty((2, 0), np.int64)
        # The buckets for the types and columns of the last events; most events have the same.
        self._buckets: tuple[object, _Buckets] | None = None
        # By attribute the texts in conditions, and their codes in the last dictionary.
        self._texts = _texts_of(self.asked)
        self._known = dict[str, tuple[object, Numbers]]()
        every = [each for some in self.asked for each in some or () if each.attribute]
        self._names = sorted({e.attribute for e in every if not isinstance(e.value, ValueRange)})
        # The columns that are cut into intervals; and the queries with a range that most events
        # match.
        self._intervals = Intervals.of_all(
            (e.attribute, e.value) for e in every if isinstance(e.value, ValueRange)
        )
        self._takes_most: frozenset[int] = frozenset()
        ranged = (any(isinstance(e.value, ValueRange) for e in some or ()) for some in self.asked)
        self._has_ranges = np.array([*ranged], np.bool_)
        # The plans with events that count only beside others, and their last semi-join.
        self._sequences = {n: each for n, each in enumerate(sequences) if each is not None}
        self._join: tuple[object, SemiJoin] | None = None

    def parts(self, events: Events) -> list[AdmittedPart | None]:
        """The events that concern each plan; None for a plan that gets all."""
        is_all = np.array([each is None for each in self.asked], np.bool_)
        if is_all.all():
            return [None] * len(is_all)
        buckets, counts, count = self._found(events)
        sizes = buckets.readers_counted(counts, len(is_all))
        near = self._neighbours(events, buckets, count, sizes)
        sizes[[*near]] = 0
        is_decided = self._decides & ~buckets.is_vague
        gains = is_decided & ~self._in_place(events)
        is_most = _too_many(sizes, len(events), gains) & ~self._told_apart
        if len(events) >= STEP:
            self._takes_most |= {*np.flatnonzero(is_most & self._has_ranges).tolist()}
        is_all |= is_most
        sizes[is_all] = 0
        first = np.cumsum([0, *sizes.tolist()])
        state = np.stack([np.full(len(is_all), NOTHING), np.where(is_all, NOTHING, first[:-1])])
        rows = EventRows(events, STEP)
        out = np.empty((1 + rows.count, int(first[-1])), np.int64)
        readers = buckets.of_readers(sizes > 0)
        cuts = [*range(0, len(events), STEP), len(events)] if first[-1] else [0]
        bounds = np.searchsorted(self._hits[0, :count], cuts).tolist()
        for (begin, end), (low, high) in zip(pairwise(cuts), pairwise(bounds), strict=True):
            given = rows.between(begin, end)
            deal(self._hits, low, high, readers, begin, given, state, out)
        ends = zip(first.tolist(), state[NEXT].tolist(), is_decided.tolist(), strict=False)
        dealt = [
            None
            if end < 0
            else AdmittedPart(out[0, begin:end], rows.events(out[1:, begin:end]), decided)
            for begin, end, decided in ends
        ]
        for number, places in near.items():
            dealt[number] = AdmittedPart(places, rows.at(places), bool(is_decided[number]))
        return dealt

    def _in_place(self, events: Events) -> NDArray[np.bool_]:
        """Mask the plans with scans of types and of a key in whole numbers, which are fast."""
        found = np.zeros(len(self.asked), np.bool_)
        for number, each in self._sequences.items():
            is_typed = not any(some.attribute for some in self.asked[number] or ())
            found[number] = is_typed and each.has_key(events, (Kind.INTEGER,))
        return found

    def _neighbours(
        self, events: Events, buckets: _Buckets, count: int, sizes: Numbers
    ) -> dict[int, Numbers]:
        """The places of events near others of their plans, for plans that ask for many events."""
        if len(events) < STEP:
            return {}
        sequences = {
            number: each
            for number, each in self._sequences.items()
            if sizes[number] * FEW_ARE > len(events) and each.has_key(events)
        }
        if not sequences:
            return {}
        key = buckets, tuple(sequences)
        if self._join is None or self._join[0] != key:
            self._join = key, SemiJoin(sequences, buckets.by_bucket, events.type_names)
        return self._join[1].neighbours(events, self._hits, count, MOST_DEALT * len(events))

    def shared(self) -> dict[Asked, tuple[int, ...]]:
        """The numbers of the plans that share a condition on an event."""
        found = defaultdict[Asked, list[int]](list)
        for number, asked in enumerate(self.asked):
            for each in asked or ():
                found[each].append(number)
        return {each: tuple(found[each]) for each in sorted(found, key=str)}

    def _found(self, events: Events) -> tuple[_Buckets, Numbers, int]:
        """The buckets, the number of events in each, and the number of hits."""
        usable = tuple(
            (name, kind)
            for name in self._names
            if (kind := _kind_of(events.columns.get(name))) is not None
        )
        cut = tuple(
            each
            for each in self._intervals
            if (column := events.columns.get(each.attribute)) is not None
            and column.type.kind is each.kind
        )
        key = events.type_names, usable, cut, self._takes_most
        if self._buckets is None or self._buckets[0] != key:
            self._buckets = key, _Buckets.of(self.asked, *key, self._texts)
        buckets = self._buckets[1]
        cut = buckets.cut
        if self._hits.shape[1] <= len(events) * buckets.most:
            self._hits = np.empty((2, len(events) * buckets.most + 1), np.int64)
        counts, count = np.zeros(buckets.count + 1, np.int64), 0
        values = np.empty((len(usable) + len(cut), min(STEP, len(events))), np.int64)
        tables = buckets.by_type, buckets.probes, buckets.near, buckets.table
        for begin in range(0, len(events), STEP):
            step = slice(begin, min(begin + STEP, len(events)))
            types = np.ascontiguousarray(events.types[step].astype(np.int16, copy=False))
            for row, (name, _) in zip(values[: len(usable)], usable, strict=True):
                self._read(name, events.columns[name].between(step), row[: len(types)])
            for row, intervals in zip(values[len(usable) :], cut, strict=True):
                intervals.read(events.columns[intervals.attribute].between(step), row[: len(types)])
            count = find_buckets(types, values, *tables, counts, begin, count, self._hits)
        return buckets, counts[1:], count

    def _read(self, name: str, column: EventColumn, row: Numbers) -> None:
        """Write the values of a column as the table has them; NULL matches none of these."""
        if column.dictionary is None:
            row[:] = column.values
        else:
            known = self._known.get(name)
            if known is None or known[0] is not column.dictionary:
                codes = np.append(_ranks(column.dictionary, self._texts.get(name, {})), NOTHING)
                known = self._known[name] = column.dictionary, codes
            row[:] = known[1][column.values]
        if column.valid is not None:
            row[~column.valid] = INT64_MIN


class _Bucket(NamedTuple):
    """A condition of several plans: a type, and a value or the interval of a kind."""

    code: int
    attribute: str = ""
    range_of: Kind | None = None
    value: int = 0

    @property
    def probe(self) -> tuple[int, str, str]:
        """The lookup of this bucket: a type of events, and a row of values."""
        return self.code, *_row_of(self.attribute, self.range_of)


def _row_of(attribute: str, range_of: Kind | None) -> tuple[str, str]:
    """The row of the values of an attribute, or of its intervals."""
    return attribute, "" if range_of is None else range_of.value


def _buckets_of(
    asked: Asked,
    code: int,
    kinds: Mapping[str, type],
    intervals: Mapping[tuple[str, Kind], Intervals],
    texts: Mapping[str, dict[str, int]],
) -> list[_Bucket] | None:
    """The buckets of a condition on events of a type; None if only the type can be looked up."""
    name, value = asked.attribute, asked.value
    if isinstance(value, ValueRange):
        own = intervals.get((name, value.kind))
        if own is None:
            return None
        return [_Bucket(code, name, value.kind, each) for each in own.of_range(value)]
    if not name or kinds.get(name) is not type(value):
        return None
    return [_Bucket(code, name, None, value if isinstance(value, int) else texts[name][value])]


@dataclass(frozen=True, eq=False)
class _Buckets:
    """The conditions of plans on events of some types, as arrays for kernels.

    There are `count` buckets; one event can have at most `most` hits. A reader `is_vague` if it
    gets more events than match its conditions, as its values cannot be looked up in the columns.
    """

    by_type: Numbers
    probes: Numbers
    near: Numbers
    table: Numbers
    readers: Numbers
    count: int
    most: int
    is_vague: NDArray[np.bool_]
    cut: tuple[Intervals, ...]
    by_bucket: BucketReaders

    @classmethod
    def of(
        cls,
        asked: Sequence[frozenset[Asked] | None],
        type_names: tuple[str, ...],
        usable: tuple[tuple[str, type], ...],
        cut: tuple[Intervals, ...],
        by_type_alone: frozenset[int],
        texts: Mapping[str, dict[str, int]],
    ) -> _Buckets:
        """Make buckets of the conditions of plans, as far as the columns of these events allow.

        Readers in `by_type_alone` get events by type, and not by the intervals of a range.
        """
        kinds, codes = dict(usable), {name: code for code, name in enumerate(type_names)}
        by_key = {each.key: each for each in cut}
        readers, is_vague = defaultdict[_Bucket, list[int]](list), np.zeros(len(asked), np.bool_)
        for number, some in enumerate(asked):
            told = (kinds, {} if number in by_type_alone else by_key, texts)
            for each in some or ():
                if each.type in codes:
                    buckets = _buckets_of(each, codes[each.type], *told)
                    for bucket in [_Bucket(codes[each.type])] if buckets is None else buckets:
                        readers[bucket].append(number)
                    is_vague[number] |= buckets is None and bool(each.attribute)
        cut = tuple(e for e in cut if any(e.key == (b.attribute, b.range_of) for b in readers))
        probes = sorted({each.probe for each in readers if each.attribute})
        by_type = np.full((3, len(type_names) + 1), NOTHING, np.int64)
        types = np.array([probe[0] for probe in probes], np.int64)
        for row, side in ((FIRST, "left"), (END, "right")):
            by_type[row] = np.searchsorted(types, np.arange(-1, len(type_names)), side)  # type: ignore[call-overload]
        by_probe: list[dict[int, int]] = [{} for _ in probes]
        place_of = {probe: place for place, probe in enumerate(probes)}
        for number, asked_for in enumerate(readers):
            if asked_for.attribute:
                by_probe[place_of[asked_for.probe]][asked_for.value] = number
            else:
                by_type[BUCKET, asked_for.code + 1] = number
        rows = [(name, "") for name, _ in usable] + [_row_of(*each.key) for each in cut]
        places = {row: place for place, row in enumerate(rows)}
        laid, near, table = _laid([places[name, of] for _, name, of in probes], by_probe)
        first = np.cumsum([0, *map(len, readers.values())]) + len(readers) + 1
        return cls(
            by_type,
            laid,
            near,
            table,
            np.array([*first, *(each for some in readers.values() for each in some)], np.int64),
            len(readers),
            int((by_type[END] - by_type[FIRST]).max(initial=0)) + 1,
            is_vague,
            cut,
            BucketReaders(
                tuple(map(tuple, readers.values())), tuple(type_names[e.code] for e in readers)
            ),
        )

    def of_readers(self, wanted: NDArray[np.bool_]) -> Numbers:
        """The readers of each bucket, as kernels take them, without those that are not wanted."""
        first, every = np.split(self.readers, [self.count + 1])
        kept = np.append(0, np.cumsum(wanted[every]))
        return np.append(kept[first - len(first)] + len(first), every[wanted[every]])

    def readers_counted(self, counts: Numbers, readers: int) -> Numbers:
        """Count the events of each reader by its buckets; an event in two of them counts twice."""
        sizes = np.repeat(counts, np.diff(self.readers[: self.count + 1]))
        found = np.bincount(self.readers[self.count + 1 :], sizes, readers)
        return found.astype(np.int64)


def _laid(rows: list[int], by_probe: list[dict[int, int]]) -> tuple[Numbers, Numbers, Numbers]:
    """Probes of rows of values, and their buckets: in an array, or in a table for a wide range."""
    near, apart = list[int](), list[tuple[int, int, int]]()
    laid = np.zeros((4, len(rows)), np.int64)
    for probe, (row, values) in enumerate(zip(rows, by_probe, strict=True)):
        least = min(values)
        size = max(values) + 1 - least
        if size > NEAR:
            size = 0
            apart += [(probe, value, bucket) for value, bucket in values.items()]
        laid[:, probe] = row, least, size, len(near)
        near += [values.get(value, NOTHING) for value in range(least, least + size)]
    table = np.full((3, 4 << max(len(apart), 1).bit_length()), NOTHING, np.int64)
    fill_table(np.array(apart, np.int64).reshape(-1, 3).T.copy(), table)
    return laid, np.array(near, np.int64), table


def _too_many(sizes: Numbers, count: int, gains: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Mask the readers that get all events: they need most, or the parts would take much memory.

    To find the events of a reader among all costs little compared with the work on each event. A
    reader `gains` if its own scan would test more than types and small numbers.
    """
    order = np.argsort(sizes, kind="stable")
    found = np.empty(len(sizes), np.bool_)
    found[order] = np.cumsum(sizes[order]) > MOST_DEALT * count
    return found | (sizes * np.where(gains, FEW_ARE // 4, FEW_ARE) > count)


def _kind_of(column: EventColumn | None) -> type | None:
    """The Python type by which values of a column are looked up, if they can be."""
    return None if column is None else KINDS.get(column.type.kind)


def _texts_of(asked: Sequence[frozenset[Asked] | None]) -> dict[str, dict[str, int]]:
    """The texts in conditions by attribute, numbered."""
    found = defaultdict[str, dict[str, int]](dict)
    for each in sorted({each for some in asked for each in some or ()}, key=str):
        if isinstance(each.value, str) and each.attribute:
            found[each.attribute].setdefault(each.value, len(found[each.attribute]))
    return found


def _ranks(dictionary: Any, texts: Mapping[str, int]) -> Numbers:
    """The number of each value of a dictionary among some texts."""
    values: list[str] = dictionary.to_pylist()
    return np.array([texts.get(value, NOTHING) for value in values], np.int64)
