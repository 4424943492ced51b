"""Build blocks: admit events by type, and number, rank and classify them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from sase.binding.bound import BoundComponent, Condition
from sase.engine.blocks.block import Block, EventRange, Tests
from sase.engine.blocks.dictionary import PlanDictionary
from sase.engine.columns import Events, Inputs, Loader
from sase.engine.columns.arrays import Numbers, grown
from sase.engine.expressions import RowFilter
from sase.engine.kernels.jit.signatures import frozen
from sase.engine.kernels.scan.admission import PLACE, STATE, TIME, admit, rank
from sase.engine.kernels.scan.neighbours import admit_places
from sase.engine.kernels.sentinels import NOTHING
from sase.engine.resources import Check, keep_freed_memory, no_check
from sase.engine.snapshots.layout import Array, Count, Declared, IfThere, Number, Own
from sase.engine.snapshots.saved_state import MOST_COUNTED, Saved
from sase.engine.sources import open_tables
from sase.engine.sources.text_times import with_times_of
from sase.planning.engine_plan import EnginePlan

# The least capacity for admitted events.
FEW = 1 << 12
# The state of an event for an evaluation that sees every event: no component need admit it.
WATCHED = 1 << 62


@dataclass
class StreamPosition(Declared):
    """Counts of the stream so far: events, distinct order keys, and assigned event numbers."""

    layout = dict(
        events=Count(path="events"),
        ties=Number(-MOST_COUNTED, MOST_COUNTED, path="ties"),
        numbers=Count(path="numbers"),
    )
    events: int = 0
    ties: int = 0
    numbers: int = 0

    def _take(self, saved: Saved, values: Any) -> None:
        saved.check(values.numbers <= values.events, "there are more numbers than events")
        super()._take(saved, values)


class BlockBuilder(Declared):
    """Builds blocks of the events that some component admits.

    `components` are in the order of their bits. Events are ranked in their partitions under the
    `ranked` tests; without a rank they are in no match (docs/semantics.md, Windows). Event numbers
    are positions, or `dense`. With `every`, blocks include events that no component admits.
    """

    layout = dict(
        at=Own(path="at"),
        counts=Array(None, low=0, high=MOST_COUNTED),
        ranks=IfThere(Own(), path="_rank_coding"),
    )

    def __init__(
        self,
        components: Sequence[BoundComponent],
        positives: int,
        coding: PlanDictionary,
        ranked: Tests,
        *,
        dense: bool,
        every: bool = False,
    ) -> None:
        keep_freed_memory()
        self.components, self.positives, self._dense = components, positives, dense
        self._every = every
        self.coding, self.ranked = coding, ranked
        # A dictionary of its own, since events of any type are ranked.
        self._rank_coding: PlanDictionary | None = None
        if ranked:
            self._rank_coding = PlanDictionary(
                coding.type_dictionary, streaming=coding.streaming, key_texts=coding.shared_texts
            )
            self._rank_key = self._rank_coding.key(ranked)
        self.at = StreamPosition()
        self._counts = np.zeros(0, np.int64)
        self._states: tuple[tuple[str, ...], Numbers] | None = None
        self._usual = FEW

    @property
    def counts_admitted(self) -> bool:
        """Whether exactly the events that components admit by type get event numbers."""
        return not self._every

    def blocks(
        self, events: Events, size: int, first: int = 0, only: Numbers | None = None
    ) -> Iterator[Block]:
        """Yield the blocks of events that follow those seen before, from place `first` on.

        With `only`, blocks have just the events at these places.
        """
        at, count = self.at, len(events.ts)
        position, tie = at.events - first, at.ties
        for begin in range(first, count, size):
            end = min(begin + size, count)
            block = self._block(EventRange(events, begin, end, position, tie), only)
            at.numbers += len(block.places)
            at.events = position + end
            yield block
        at.events = position + count
        if count:
            at.ties += count if events.tie is None else int(events.tie[-1]) + 1

    def recycle(self, horizon: int) -> None:
        """Forget partitions without an event from the horizon on: their ranks may start again."""
        if self._rank_coding is not None:
            self._rank_coding.recycle(horizon)
            self._counts = self._counts[: self._rank_coding.size(self._rank_key)]

    def _block(self, span: EventRange, only: Numbers | None) -> Block:
        events, begin, end = span.events, span.begin, span.end
        if only is None:
            places, states, ts = self._admitted(events, begin, end)
        else:
            assert not self.ranked, "events are ranked among all"
            first, last = np.searchsorted(only, (begin, end))
            places, states, ts = self._admitted_of(events, only[first:last])
        block = self._make(span, places, states, ts)
        if self.ranked:
            if len(block) == end - begin:
                block.ranks = self._ranks(block)
            else:
                places, ts = np.arange(begin, end), events.ts[begin:end]
                every = self._make(span, places, places, ts)
                block.ranks = self._ranks(every)[block.places - begin]
            block.states[block.ranks == NOTHING] &= -1 << self.positives
        return block

    def _admitted(self, events: Events, begin: int, end: int) -> tuple[Numbers, Numbers, Numbers]:
        """Places, states and times of admitted events; room is made for as many as before."""
        types = events.types[begin:end].astype(np.int16, copy=False)
        ts, states = events.ts[begin:end], self.states_of(events.type_names)
        if len(states) == 2 and states[1] and types.min() == 0:  # one type, and every event has it
            return np.arange(begin, end), np.full(end - begin, states[1]), ts.copy()
        room = min(end - begin, self._usual + self._usual // 4) + 1
        out = np.empty((3, room), np.int64)
        count = admit(types, ts, states, begin, out)
        if count == room:
            out = np.empty((3, end - begin + 1), np.int64)
            count = admit(types, ts, states, begin, out)
        self._usual = max(count, FEW)
        return out[PLACE, :count], out[STATE, :count], out[TIME, :count]

    def _admitted_of(self, events: Events, places: Numbers) -> tuple[Numbers, Numbers, Numbers]:
        """Places, states and times of admitted events among those at some places."""
        out = np.empty((2, len(places) + 1), np.int64)
        count = admit_places(events.types, self.states_of(events.type_names), places, out)
        places, states = out[:, :count]
        return places, states, events.ts[places]

    def _make(self, span: EventRange, places: Numbers, states: Numbers, ts: Numbers) -> Block:
        positions = places + span.position if span.position else places
        first, count = self.at.numbers, len(places)
        is_all = count == span.end - span.begin and span.position + span.begin == first
        numbers = np.arange(first, first + count) if self._dense and not is_all else positions
        return Block(span, places, states, ts, positions, numbers, self.coding)

    def states_of(self, type_names: tuple[str, ...]) -> Numbers:
        """The components that admit each type, as bits, by code plus one."""
        if self._states is None or self._states[0] != type_names:
            found = states_by_type(self.components, type_names, every=self._every)
            self._states = (type_names, frozen(found))
        return self._states[1]

    def _ranks(self, block: Block) -> Numbers:
        """The rank of every event in its partition."""
        coding, key = self._rank_coding, self._rank_key
        assert coding is not None, "only ranked events have a rank"
        codes, size = coding.codes(block, key), coding.size(key)
        if size > len(self._counts):
            self._counts = grown(self._counts, size)
        ranks = np.empty(len(codes), np.int64)
        rank(codes, self._counts, ranks)
        return ranks


def any_of(components: Sequence[BoundComponent]) -> BoundComponent:
    """A component that admits every event that one of these admits."""
    types = None
    if all(each.types is not None for each in components):
        types = tuple(dict.fromkeys(name for each in components for name in each.types or ()))
    return BoundComponent(0, "", named=False, types=types)


def states_by_type(
    components: Sequence[BoundComponent], type_names: Sequence[str], *, every: bool
) -> Numbers:
    """The components that admit each type, as bits, by code plus one."""
    places = {name: place for place, name in enumerate(type_names, 1)}
    found = [WATCHED if every else 0] * (len(places) + 1)
    for bit, component in enumerate(components):
        for name in places if component.types is None else component.types:
            if name in places:
                found[places[name]] |= 1 << bit
    return np.array(found, np.int64)


def loader_of(
    plan: EnginePlan,
    coding: PlanDictionary,
    on_bad_row: str,
    more: Sequence[str] = (),
    between: Check = no_check,
) -> Loader:
    """A loader of the columns that a plan reads, and of some more."""
    seq = () if plan.schema.seq_column is None else (plan.schema.seq_column,)
    return Loader(
        plan.schema,
        (*plan.attributes, *seq, *more),
        classify=lambda events: classified(events, plan.definitions, coding),
        on_bad_row=on_bad_row,
        check=plan.check_types,
        made=plan.cache,
        opener=partial(_opened, plan),
        between=between,
    )


def _opened(plan: EnginePlan, events: object, *, keeps_rows: bool = False) -> Inputs:
    """Open a piece of events, in which times may be texts."""
    inputs = open_tables(events, keeps_rows=keeps_rows, **plan.reading)
    return with_times_of(inputs, plan.schema, judges=keeps_rows)


def classified(
    events: Events, definitions: Sequence[tuple[str, Condition]], coding: PlanDictionary
) -> tuple[np.typing.NDArray[np.int16], tuple[str, ...]]:
    """The types of events by conditions: the first one that holds decides."""
    names = tuple(name for name, _ in definitions)
    types = np.full(len(events), -1, np.int16)
    places = np.arange(len(events))
    span = EventRange(events, 0, len(events), 0, 0)
    block = Block(span, places, places, events.ts, places, places, coding, _types=types)
    for code, (_, condition) in reversed(list(enumerate(definitions))):
        test = RowFilter(condition, {}, coding.texts)
        vectors = {need: block.vector(need[1]) for need in test.columns}
        types[test.truth(vectors, types)] = code
    return types, names
