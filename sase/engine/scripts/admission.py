"""The admission index: which queries some component of theirs admits an event to.

    type E4, attr2 = 7   →  queries 3, 17            an event is looked up once,
    type E4, attr5 < 10  →  query 4                  however many queries there are
    type E4              →  queries 5, 8, 9

A component that asks for one of several values stands under each of them. All bounds of ranges of
an attribute cut it into intervals, and a component stands under those of its range. A query is
given the places of those events; what its own scan would reject at once never reaches it. Where it
counts all events, or takes most of them anyway, it is given all; where it asks for a range it is no
longer looked for then.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sase.binding.folding import INT64_MIN
from sase.binding.types import Kind
from sase.engine.columns import Events
from sase.engine.columns.arrays import Numbers
from sase.engine.columns.events import EventColumn
from sase.engine.kernels.scan.dispatch import (
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
from sase.engine.scripts.event_rows import EventRows
from sase.engine.scripts.intervals import Intervals

# A query that takes one of so many events, or more, is given all: its own scan is as fast.
FEW_ARE = 16
# So many events at a time are looked up and dealt out, that their columns stay in the cache; and so
# many times as many as there are may be dealt out of some.
STEP, MOST_DEALT = 1 << 15, 4

# Values within such a range have their places in an array, those farther apart in a table.
NEAR = 1 << 12


@dataclass(frozen=True, eq=False)
class AdmittedPart:
    """The events that concern a plan, by themselves, and their places among those given.

    Where it `is_decided` the scan of the plan admits every one of them.
    """

    places: Numbers
    events: Events
    is_decided: bool


class AdmissionIndex:
    """Deals out the events of an input to the plans that read it."""

    def __init__(self, asking: Sequence[Asking]) -> None:
        self.asked = tuple(each.asked for each in asking)
        self._told_apart = np.array([each.told_apart for each in asking], np.bool_)
        self._decides = np.array([each.is_all for each in asking], np.bool_)
        # Buffers that are written anew each time: what is fresh from the system costs more.
        self._hits = np.empty((2, 0), np.int64)
        # Those of the types and columns of the last events, which most events share.
        self._buckets: tuple[object, _Buckets] | None = None
        # By attribute the texts that are asked for, and which of them the last dictionary has.
        self._texts = _texts_of(self.asked)
        self._known = dict[str, tuple[object, Numbers]]()
        every = [each for some in self.asked for each in some or () if each.attribute]
        self._names = sorted({e.attribute for e in every if not isinstance(e.value, ValueRange)})
        # The columns that are cut into intervals; and who takes most events of its range.
        self._intervals = Intervals.of_all(
            (e.attribute, e.value) for e in every if isinstance(e.value, ValueRange)
        )
        self._takes_most: frozenset[int] = frozenset()
        ranged = (any(isinstance(e.value, ValueRange) for e in some or ()) for some in self.asked)
        self._has_ranges = np.array([*ranged], np.bool_)

    def parts(self, events: Events) -> list[AdmittedPart | None]:
        """What of some events concerns each plan; None if all may."""
        is_all = np.array([each is None for each in self.asked], np.bool_)
        if is_all.all():
            return [None] * len(is_all)
        buckets, counts, count = self._found(events)
        sizes = buckets.readers_counted(counts, len(is_all))
        is_decided = self._decides & ~buckets.is_vague
        is_most = _too_many(sizes, len(events), is_decided) & ~self._told_apart
        if len(events) >= STEP:
            self._takes_most |= {*np.flatnonzero(is_most & self._has_ranges).tolist()}
        is_all |= is_most
        sizes[is_all] = 0
        first = np.cumsum([0, *sizes.tolist()])
        state = np.stack([np.full(len(is_all), NOTHING), np.where(is_all, NOTHING, first[:-1])])
        rows = EventRows(events, STEP)
        out = np.empty((1 + rows.count, int(first[-1])), np.int64)
        cuts = [*range(0, len(events), STEP), len(events)]
        bounds = np.searchsorted(self._hits[0, :count], cuts).tolist()
        for (begin, end), (low, high) in zip(pairwise(cuts), pairwise(bounds), strict=True):
            given = rows.between(begin, end)
            deal(self._hits, low, high, buckets.readers, begin, given, state, out)
        ends = zip(first.tolist(), state[NEXT].tolist(), is_decided.tolist(), strict=False)
        return [
            None
            if end < 0
            else AdmittedPart(out[0, begin:end], rows.events(out[1:, begin:end]), decided)
            for begin, end, decided in ends
        ]

    def shared(self) -> dict[Asked, tuple[int, ...]]:
        """The numbers of the plans that ask the same of an event."""
        found = defaultdict[Asked, list[int]](list)
        for number, asked in enumerate(self.asked):
            for each in asked or ():
                found[each].append(number)
        return {each: tuple(found[each]) for each in sorted(found, key=str)}

    def _found(self, events: Events) -> tuple[_Buckets, Numbers, int]:
        """The buckets, how many of the events each has, and how many hits were written."""
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
        """Write the values of a column as the table has them; NULL is none of these."""
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
    """What several plans ask of an event: its type, and a value or the interval of a kind."""

    code: int
    attribute: str = ""
    range_of: Kind | None = None
    value: int = 0

    @property
    def probe(self) -> tuple[int, str, str]:
        """Where it is looked for: among the events of a type, in a row of values."""
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
    """The buckets of what is asked of events of a type; None where the type alone is told."""
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
    """What plans ask of events of some types, as kernels take it.

    There are `count` buckets; `most` are the hits that one event can have. A reader `is_vague` that
    is given more than it asked for, since columns are not what their values can be looked up in.
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
        """Those of what plans ask, as far as the columns of these events tell it.

        Some are given what they ask for `by_type_alone`, and not by the intervals of a range.
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
        )

    def readers_counted(self, counts: Numbers, readers: int) -> Numbers:
        """Count the events of each reader by those of buckets, one in two of them twice."""
        sizes = np.repeat(counts, np.diff(self.readers[: self.count + 1]))
        found = np.bincount(self.readers[self.count + 1 :], sizes, readers)
        return found.astype(np.int64)


def _laid(rows: list[int], by_probe: list[dict[int, int]]) -> tuple[Numbers, Numbers, Numbers]:
    """Probes of rows of values, and the buckets of these: in an array, or in a table if apart."""
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


def _too_many(sizes: Numbers, count: int, is_decided: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Who is given all of so many events, as it takes most; or so that what is dealt stays small.

    To find its events among all costs little beside what others look at each of them for.
    """
    order = np.argsort(sizes, kind="stable")
    found = np.empty(len(sizes), np.bool_)
    found[order] = np.cumsum(sizes[order]) > MOST_DEALT * count
    return found | (sizes * np.where(is_decided, FEW_ARE // 4, FEW_ARE) > count)


def _kind_of(column: EventColumn | None) -> type | None:
    """What the values of a column are compared as, if they can be looked up."""
    return None if column is None else KINDS.get(column.type.kind)


def _texts_of(asked: Sequence[frozenset[Asked] | None]) -> dict[str, dict[str, int]]:
    """By attribute the texts that are asked for, numbered."""
    found = defaultdict[str, dict[str, int]](dict)
    for each in sorted({each for some in asked for each in some or ()}, key=str):
        if isinstance(each.value, str) and each.attribute:
            found[each.attribute].setdefault(each.value, len(found[each.attribute]))
    return found


def _ranks(dictionary: Any, texts: Mapping[str, int]) -> Numbers:
    """Which of some texts each value of a dictionary is."""
    values: list[str] = dictionary.to_pylist()
    return np.array([texts.get(value, NOTHING) for value in values], np.int64)
