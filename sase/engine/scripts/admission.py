"""The admission index: which queries some component of theirs admits an event to.

    type E4, attr2 = 7   →  queries 3, 17            an event is looked up once,
    type E4              →  queries 5, 8, 9          however many queries there are

A query is given the places of those events; what its own scan would reject at once never reaches
it. Where it counts all events, or takes most of them anyway, it is given all.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sase.binding.bound import (
    BoundComponent,
    Comparison,
    Conjunct,
    Constant,
    Part,
    Reference,
    When,
)
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
from sase.engine.plan import EnginePlan
from sase.planning.nodes import Negation, find
from sase.planning.traversal import within

# A query that takes one of so many events, or more, is given all: its own scan is as fast.
FEW_ARE = 16

# Values within such a range have their places in an array, those farther apart in a table.
NEAR = 1 << 12

# What a component asks of an event: one of its types, and mostly a value of one attribute.
Value: TypeAlias = "int | str"
# Where a condition on one event is asked of every event of a component, be it one or a series.
EVERY = (Part.EVENT, When.EVENT), (Part.CURRENT, When.EVERY)
KINDS: Mapping[Kind, type] = {Kind.INTEGER: int, Kind.STRING: str}


@dataclass(frozen=True, slots=True, order=True)
class Asked:
    """What an event must be for a component: of a type, and with a value, if one is named."""

    type: str
    attribute: str = ""
    value: Value = ""

    def __str__(self) -> str:
        value = f" {self.attribute} = {self.value!r}" if self.attribute else ""
        return f"{self.type}{value}"


def asked_by(plan: EnginePlan) -> frozenset[Asked] | None:
    """What some component of a plan asks; None if every event counts."""
    if plan.types_wanted is None or plan.watches_all or plan.ranked:
        return None
    return frozenset(_asked(plan))


def _asked(plan: EnginePlan) -> Iterator[Asked]:
    for branch in plan.branches or (plan,):
        values = _values(branch)
        for component in (*branch.positives, *branch.negatives):
            equality = values.get(component.index)
            for name in component.types or ():
                yield Asked(name) if equality is None else Asked(name, *equality)


def _values(plan: EnginePlan) -> dict[int, tuple[str, Value]]:
    """By component an attribute of which it asks one value, where every event of it must have it.

    Components of groups and sets are numbered by themselves: of these types alone are known.
    """
    components = (*plan.positives, *plan.negatives)
    negation = find(plan.operators, Negation)
    if (negation and negation.sequences) or any(not _is_plain(each) for each in components):
        return {}
    found = dict[int, tuple[str, Value]]()
    for each in within(plan.operators):
        if isinstance(each, Conjunct) and each.component is not None and not each.quantified:
            equality = _equality(each)
            if equality is not None and each.references == (each.component,):
                found.setdefault(each.component, equality)
    return found


def _is_plain(component: BoundComponent) -> bool:
    parts = component.group, component.inside, component.set_of
    return all(part is None for part in parts) and not component.is_sequence


def _equality(conjunct: Conjunct) -> tuple[str, Value] | None:
    """The attribute and the value of a conjunct that compares them at every event it speaks of."""
    condition = conjunct.condition
    if not isinstance(condition, Comparison) or condition.operator != "=":
        return None
    sides = condition.left, condition.right
    for one, other in (sides, sides[::-1]):
        if isinstance(one, Reference) and isinstance(other, Constant):
            is_known = other.type.kind in KINDS and other.value != INT64_MIN
            is_known &= one.undeclared_by == frozenset() and one.inner is None
            is_known &= (one.part, conjunct.when) in EVERY
            value = other.value
            return (one.attribute, value) if is_known and isinstance(value, int | str) else None
    return None


@dataclass(frozen=True, eq=False)
class AdmittedPart:
    """The events that concern a plan, by themselves, and their places among those given."""

    places: Numbers
    events: Events


class AdmissionIndex:
    """Deals out the events of an input to the plans that read it."""

    def __init__(self, plans: Sequence[EnginePlan]) -> None:
        self.asked = tuple(map(asked_by, plans))
        # Those of the types and columns of the last events, which most events share.
        self._buckets: tuple[object, _Buckets] | None = None
        # By attribute the texts that are asked for, and which of them the last dictionary has.
        self._texts = _texts_of(self.asked)
        self._known = dict[str, tuple[object, Numbers]]()
        self._names = sorted({each.attribute for some in self.asked for each in some or ()})

    def parts(self, events: Events) -> list[AdmittedPart | None]:
        """What of some events concerns each plan; None if all may."""
        is_all = np.array([each is None for each in self.asked], np.bool_)
        if is_all.all():
            return [None] * len(is_all)
        buckets, counts, hits, count = self._found(events)
        sizes = buckets.readers_counted(counts, len(is_all))
        is_all |= sizes * FEW_ARE > len(events)
        sizes[is_all] = 0
        first = np.cumsum([0, *sizes.tolist()])
        state = np.stack([np.full(len(is_all), NOTHING), np.where(is_all, NOTHING, first[:-1])])
        columns = _Rows.of(events)
        out = np.empty((1 + len(columns.rows), int(first[-1])), np.int64)
        deal(hits, count, buckets.readers, columns.rows, state, out)
        ends = zip(first.tolist(), state[NEXT].tolist(), strict=False)
        return [
            None if end < 0 else AdmittedPart(out[0, begin:end], columns.events(out[1:, begin:end]))
            for begin, end in ends
        ]

    def shared(self) -> dict[Asked, tuple[int, ...]]:
        """The numbers of the plans that ask the same of an event."""
        found = defaultdict[Asked, list[int]](list)
        for number, asked in enumerate(self.asked):
            for each in asked or ():
                found[each].append(number)
        return {each: tuple(found[each]) for each in sorted(found, key=str)}

    def _found(self, events: Events) -> tuple[_Buckets, Numbers, Numbers, int]:
        """The buckets, how many of the events each has, and the hits: so many of these."""
        usable = tuple(
            (name, kind)
            for name in self._names
            if (kind := _kind_of(events.columns.get(name))) is not None
        )
        key = events.type_names, usable
        if self._buckets is None or self._buckets[0] != key:
            self._buckets = key, _Buckets.of(self.asked, *key, self._texts)
        buckets = self._buckets[1]
        values = np.empty((len(usable), len(events)), np.int64)
        for row, (name, _) in zip(values, usable, strict=True):
            self._read(name, events.columns[name], row)
        types = np.ascontiguousarray(events.types.astype(np.int16, copy=False))
        counts = np.zeros(buckets.count + 1, np.int64)
        hits = np.empty((2, len(events) * buckets.most + 1), np.int64)
        tables = buckets.by_type, buckets.probes, buckets.near, buckets.table
        count = find_buckets(types, values, *tables, counts, hits)
        return buckets, counts[1:], hits, count

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


@dataclass(frozen=True, eq=False)
class _Buckets:
    """What plans ask of events of some types, as kernels take it.

    There are `count` buckets; `most` are the hits that one event can have.
    """

    by_type: Numbers
    probes: Numbers
    near: Numbers
    table: Numbers
    readers: Numbers
    count: int
    most: int

    @classmethod
    def of(
        cls,
        asked: Sequence[frozenset[Asked] | None],
        type_names: tuple[str, ...],
        usable: tuple[tuple[str, type], ...],
        texts: Mapping[str, dict[str, int]],
    ) -> _Buckets:
        """Those of what plans ask, as far as the columns of these events tell it."""
        kinds, codes = dict(usable), {name: code for code, name in enumerate(type_names)}
        readers = defaultdict[Asked, list[int]](list)
        for number, some in enumerate(asked):
            for each in some or ():
                if each.type in codes:
                    is_told = kinds.get(each.attribute) is type(each.value)
                    readers[each if is_told else Asked(each.type)].append(number)
        probes = sorted({(codes[each.type], each.attribute) for each in readers if each.attribute})
        by_type = np.full((3, len(type_names) + 1), NOTHING, np.int64)
        types = np.array([code for code, _ in probes], np.int64)
        for row, side in ((FIRST, "left"), (END, "right")):
            by_type[row] = np.searchsorted(types, np.arange(-1, len(type_names)), side)  # type: ignore[call-overload]
        by_probe: list[dict[int, int]] = [{} for _ in probes]
        for bucket, each in enumerate(readers):
            code, value = codes[each.type], each.value
            if not each.attribute:
                by_type[BUCKET, code + 1] = bucket
                continue
            value = value if isinstance(value, int) else texts[each.attribute][value]
            by_probe[probes.index((code, each.attribute))][value] = bucket
        places = {name: place for place, (name, _) in enumerate(usable)}
        near, apart = list[int](), list[tuple[int, int, int]]()
        laid = np.zeros((4, len(probes)), np.int64)
        for probe, ((_, name), values) in enumerate(zip(probes, by_probe, strict=True)):
            least = min(values)
            size = max(values) + 1 - least
            if size > NEAR:
                size = 0
                apart += [(probe, value, bucket) for value, bucket in values.items()]
            laid[:, probe] = places[name], least, size, len(near)
            near += [values.get(value, NOTHING) for value in range(least, least + size)]
        table = np.full((3, 4 << max(len(apart), 1).bit_length()), NOTHING, np.int64)
        fill_table(np.array(apart, np.int64).reshape(-1, 3).T.copy(), table)
        first = np.cumsum([0, *map(len, readers.values())]) + len(readers) + 1
        return cls(
            by_type,
            laid,
            np.array(near, np.int64),
            table,
            np.array([*first, *(each for some in readers.values() for each in some)], np.int64),
            len(readers),
            int((by_type[END] - by_type[FIRST]).max(initial=0)) + 1,
        )

    def readers_counted(self, counts: Numbers, readers: int) -> Numbers:
        """Count the events of each reader by those of buckets, one in two of them twice."""
        sizes = np.repeat(counts, np.diff(self.readers[: self.count + 1]))
        found = np.bincount(self.readers[self.count + 1 :], sizes, readers)
        return found.astype(np.int64)


@dataclass(frozen=True, eq=False)
class _Rows:
    """Events as rows of numbers, and what is made of these again.

    They are times and types, the order of those that tie, and each column, with its validity.
    """

    given: Events
    rows: Numbers

    @classmethod
    def of(cls, events: Events) -> _Rows:
        """The rows of events."""
        found: list[NDArray[Any]] = [events.ts, events.types]
        found += [each for each in (events.until, events.tie) if each is not None]
        for column in _columns_of(events):
            values = column.values
            found.append(values.view(np.int64) if values.dtype.kind == "f" else values)
            if column.valid is not None:
                found.append(column.valid)
        rows = np.empty((len(found), len(events)), np.int64)
        for row, values in zip(rows, found, strict=True):
            row[:] = values
        return cls(events, rows)

    def events(self, rows: Numbers) -> Events:
        """Some of the events, of which these are the rows."""
        given, left = self.given, iter(rows)
        ts, types = next(left), next(left).astype(np.int16)
        until = None if given.until is None else next(left)
        tie = None if given.tie is None else next(left)
        if tie is not None and len(tie):
            tie = tie - tie[0]
        taken = dict[EventColumn, EventColumn]()
        for column in _columns_of(given):
            values, valid = next(left), None
            if column.values.dtype.kind == "f":
                values = values.view(np.float64)
            if column.valid is not None:
                valid = next(left).astype(np.bool_)
            taken[column] = EventColumn(column.type, values, valid, column.dictionary)
        return replace(
            given,
            ts=ts,
            types=types,
            until=until,
            tie=tie,
            order=None,
            refused=None,
            columns={name: taken[column] for name, column in given.columns.items()},
            by_type={key: taken[column] for key, column in given.by_type.items()},
        )


def _columns_of(events: Events) -> tuple[EventColumn, ...]:
    """Every column once, though it may serve several types."""
    return tuple(dict.fromkeys((*events.columns.values(), *events.by_type.values())))


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
