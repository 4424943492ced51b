"""The pipeline: the opened operators of a plan, and the loop that passes events through them.

A batch is a stream that is pushed as one piece. Both use `run`, block by block, or a fused path
where the plan has one (see `fused`).
"""

# long because: the loop over blocks, eviction and reports share one state
from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain as chained
from typing import Any, TypeAlias

import numpy as np

from sase.binding.types import UNKNOWN
from sase.engine.blocks.block import Block, Watermark
from sase.engine.blocks.builder import BlockBuilder, StreamPosition, any_of, loader_of
from sase.engine.blocks.dictionary import PlanDictionary, TypeDictionary
from sase.engine.blocks.event_buffer import EventBuffer
from sase.engine.blocks.key_texts import SharedTexts
from sase.engine.blocks.shared_conditions import ConditionsOf
from sase.engine.columns import Events, Loader
from sase.engine.columns.arrays import Numbers
from sase.engine.columns.arrow.input import Inputs
from sase.engine.columns.decode.quarantine import Quarantine
from sase.engine.columns.decode.time_column import time_type
from sase.engine.operators.contract import Context, HasBranches, OperatorState
from sase.engine.operators.opening import open_operators
from sase.engine.operators.transformation import Results
from sase.engine.pipeline.fused_path import LoadedPath, PushedPath
from sase.engine.pipeline.reorder_buffer import Arrived, ReorderBuffer
from sase.engine.pipeline.shared_rows import SharedRows
from sase.engine.pipeline.stream_state import END, StreamState
from sase.engine.pipeline.warnings import RunWarnings
from sase.engine.report import FusedUse, Report, totals
from sase.engine.resources import Check, no_check
from sase.engine.results.batch import MatchBatch, ResultBatch, ResultSchema
from sase.engine.results.row_history import HistorySegment, RowHistory
from sase.engine.stopwatch import Stopwatch
from sase.planning.engine_plan import EnginePlan
from sase.planning.physical.operators import operators_of

Counted: TypeAlias = list[tuple[str, dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class Slice:
    """The positions that one of several pipelines owns, and those that it reads: with its halo.

    It owns the matches with their last event in the slice, or with `by_first` their first event. Of
    imprecise time it owns the matches with their time of detection in the range `detected`.
    """

    begin: int
    end: int
    first: int
    last: int
    by_first: bool = False
    detected: tuple[int, int] | None = None

    def owned(self, results: Results) -> Results:
        """Keep the results that the slice owns."""
        if self.detected is not None:
            (low, high), known = self.detected, results.detected
            return results if known is None else results.at((known >= low) & (known <= high))
        owner = results.first if self.by_first else results.last
        if not len(results) or (owner.min() >= self.begin and owner.max() < self.end):
            return results
        return results.at((owner >= self.begin) & (owner < self.end))

    def count(self, first: int, last: int) -> int:
        """Count the events from one position up to another that the slice owns."""
        return max(min(last, self.end) - max(first, self.begin), 0)


def _types_of(plan: EnginePlan) -> TypeDictionary:
    """The types of a plan; all of its runs share them."""
    found: TypeDictionary | None = plan.cache.get(TypeDictionary)
    if found is None:
        found = plan.cache[TypeDictionary] = TypeDictionary(plan.schema, plan.components)
    return found


def _loading_again(plan: EnginePlan, dictionary: PlanDictionary) -> Callable[[Inputs], Events]:
    """A function that loads good rows again; its loader is made at the first call, in few runs."""
    loaders: list[Loader] = []

    def load(inputs: Inputs) -> Events:
        if not loaders:
            loaders.append(loader_of(plan, dictionary, "error"))
        return loaders[0].load(inputs)

    return load


class Pipeline:
    """The opened operators of a plan, from the loading of events to results.

    The next event has the position `at`. Of a time `slice` the pipeline reads the events, and
    yields the results that the slice owns. `watch` is called block by block with the number of
    searched rows. `clock` never runs backward. `check` is called between the pieces of a run, and
    ends the run by an exception. `key_texts` and `conditions` are those of all plans that read the
    same stream.
    """

    def __init__(
        self,
        plan: EnginePlan,
        *,
        streaming: bool = False,
        slice: Slice | None = None,
        watch: Callable[[int], object] = lambda rows: None,
        clock: Callable[[], int] | None = None,
        check: Check = no_check,
        key_texts: SharedTexts | None = None,
        conditions: ConditionsOf | None = None,
    ) -> None:
        self.plan, self.watch, self.check = plan, watch, check
        components = plan.components
        self.types = _types_of(plan)
        self.dictionary = PlanDictionary(self.types, streaming=streaming, key_texts=key_texts)
        self.context = Context(
            plan.schema,
            plan.options,
            plan.positives,
            plan.negatives,
            self.dictionary,
            EventBuffer(plan.options.stack),
            cache=plan.cache,
            check=check,
            aggregates=plan.aggregates or {},
            conditions=conditions,
        )
        self.operators: list[OperatorState] = open_operators(operators_of(plan), self.context)
        # Removes events from blocks before any of these are kept.
        self._windows: Any = self.operators[0] if plan.match_window is not None else None
        self.stopwatch = None if clock is None else self._timed_by(clock)
        self.keeps_events = self.context.buffer.is_needed  # else positions are event numbers
        if self.keeps_events:
            self.context.buffer.keep("position")
        # The states by level are separate for each branch: here an event is admitted or not.
        admitting = components if plan.union is None else (any_of(components),)
        levels = len(plan.positives) if plan.union is None else 0
        self.builder = BlockBuilder(
            admitting, levels, self.dictionary, plan.ranked,
            dense=self.keeps_events, every=plan.watches_all,
        )  # fmt: skip
        self.at: StreamPosition = self.builder.at
        self._in_pieces = streaming
        self._slice, self.at.events = slice, 0 if slice is None else slice.first
        self.state = StreamState(evicted=self.at.events)
        self.loader = loader_of(plan, self.dictionary, plan.on_bad_row, between=check)
        self.load_again = _loading_again(plan, self.dictionary)
        self.reorder_buffer = ReorderBuffer(plan.lateness, plan.schema, self.load_again)
        self.quarantine = Quarantine() if plan.on_bad_row == "quarantine" else None
        self.shape = ResultSchema.of(plan, self.dictionary.texts)
        self.warnings = RunWarnings(plan, self.context.overflows)
        self._rows_up_to: Callable[[int], int] = int
        # The counters of pipelines that searched other events.
        self._others: tuple[Counted, ...] = ()
        # The paths by the drives of the plan, and by that for admitted events, and their uses.
        self.loaded_path: LoadedPath | None = None
        self.admitted_path: LoadedPath | None = None
        self.pushed_path: PushedPath | None = None
        self._uses: dict[str, FusedUse] = {}

    def _timed_by(self, clock: Callable[[], int]) -> Stopwatch:
        """A stopwatch of the operators; those of branches come after all others."""
        stopwatch = Stopwatch(clock, len(self.operators) + 1)
        for each in self.operators:
            if isinstance(each, HasBranches):
                each.time_by(stopwatch)
        return stopwatch

    @property
    def top(self) -> Any:
        """The last operator, which yields results."""
        return self.operators[-1]

    def is_done(self) -> bool:
        """Whether no later event can bring a result, since LIMIT is reached."""
        return bool(self.top.is_done)

    @property
    def has_all(self) -> bool:
        """Whether the next events are all events of the run."""
        return self.state.is_finished and not self._in_pieces

    # ------------------------------------------------------------ loading

    def open_input(self, events: object) -> Inputs:
        """Open events as tables; a query compiled without a schema may refuse them."""
        inputs, plan = self.loader.opened(events), self.plan
        drained = inputs.drained()
        if drained is not inputs:
            inputs = self.loader.proved(drained)
        if not all(table.is_open for table in inputs.tables):
            has_times = plan.lacks_unit and time_type(inputs, plan.schema.time) != UNKNOWN
            plan.check_known(has_tables=inputs.typed, has_times=has_times)
        return inputs

    def load(
        self, events: object, threads: int = 1, only: frozenset[str] | None = None
    ) -> tuple[Inputs, Events]:
        """Load events of any kind, and sort them if they are not sorted.

        If `only` some types count, events of others may be left out, or have any values.
        """
        inputs = self.open_input(events)
        return inputs, self.load_input(inputs, threads, only)

    def load_input(
        self, inputs: Inputs, threads: int = 1, only: frozenset[str] | None = None
    ) -> Events:
        """Load tables that were opened; results show values by the types of their columns."""
        before, events = self.loader.known, self.loader.load_opened(inputs, threads, only)
        if self.loader.known is not before:
            self.shape = self.shape.with_types(self.loader.known)
        return events

    def coded(self, events: Events, threads: int = 1, parts: int = 1) -> Events:
        """The events with codes of the keys that the path over parts of them needs coded."""
        names = [] if self.loaded_path is None else self.loaded_path.uncoded(events, parts)
        if not names:
            return events
        from sase.engine.columns.decode.value_codes import (
            number_codes,  # with kernels that few runs load
        )

        def step() -> Events:
            columns = {name: events.columns[name].values for name in names}
            return events.with_codes({n: number_codes(v, threads) for n, v in columns.items()})

        return step() if self.stopwatch is None else self.stopwatch.during(1, step)

    def bind_input(self, inputs: Inputs, events: Events) -> RowHistory:
        """Remember complete events, and put the bad rows among them in quarantine."""
        self.state.check_open()
        self.state.is_finished = True
        rows = inputs.numbers
        self._rows_up_to = events.rows_up_to
        self.warnings.note_whole(events)
        self.state.history = RowHistory((HistorySegment.of(0, inputs, events, rows),))
        if self.quarantine is not None:
            numbers = np.arange(inputs.num_rows) if rows is None else rows
            self.quarantine.take(inputs, events.refused, numbers)
        return self.state.history

    # ------------------------------------------------------------ batches

    def search(self, inputs: Inputs, events: Events) -> Generator[ResultBatch, None, Report]:
        """Yield the matches in complete events, after one empty part."""
        history = self.bind_input(inputs, events)
        yield MatchBatch(self.shape, history)
        for results in self.results(events):
            yield MatchBatch(self.shape, history, (results,))
        return self.report()

    def results(self, *pieces: Events) -> Iterator[Results]:
        """Yield the results of events; this or another pipeline remembers their input.

        Pieces are consecutive, and simultaneous events are in the same one.
        """
        self.state.is_finished = True
        if self._windows is not None:
            self._windows.end = self.at.events + sum(map(len, pieces))
        if len(pieces) > 1:
            self.expect_pieces()
        self._leave_out(pieces)
        for events in pieces:
            yield from self.run(events)
        yield from self.end()

    def _leave_out(self, pieces: Iterable[Events]) -> None:
        """Leave out each branch that needs a type without events; the events are complete."""
        if self.plan.union is None or self.plan.definitions:
            return
        types = {name for each in pieces for name in each.type_names}
        for each in self.operators:
            if isinstance(each, HasBranches):
                each.leave_out(types)

    def expect_pieces(self) -> None:
        """Prepare for events in several pieces: drop a path that needs all of them at once."""
        self._in_pieces = True
        if self.loaded_path is not None and self.loaded_path.needs_all:
            self.loaded_path = None

    def merge(self, other: Pipeline, positions: Numbers | None = None) -> None:
        """Take over the counters and warnings of a pipeline, and the positions of its events."""
        self.warnings.merge(other.warnings, self.state.history, positions)
        self._others += (other.counters,)
        for use in other.fused:
            self.use_of(use.path).add(use)

    # ------------------------------------------------------------ the loop

    def ingest(self, arrived: list[Arrived]) -> Iterator[Results]:
        """Yield the results of rows that were put in order, and of the time that has passed."""
        state = self.state
        for inputs, events, first, rows in arrived:
            if first != self.at.events and rows is None:
                rows = np.arange(first, first + len(events))
            segment = HistorySegment.of(self.at.events, inputs, events, rows)
            yield from self._take(events, segment, self.loaded_path)
        if self.reorder_buffer.floor > state.watermark and not self.is_done():
            state.watermark = self.reorder_buffer.floor
            yield from self._advance(Watermark(state.watermark, self.at.events))

    def ingest_shared(self, shared: SharedRows) -> Iterator[Results]:
        """Yield the results of rows that were loaded and put in order for several plans."""
        known = self.loader.known
        self.loader.adopt(shared.loader)
        if self.loader.known is not known:
            self.shape = self.shape.with_types(self.loader.known)
        events = shared.events
        segment = HistorySegment(
            self.at.events, len(events), shared.read, shared.rows, none=shared.none, events=events
        )
        path = (shared.is_admitted and self.admitted_path) or self.loaded_path
        conditions = self.context.conditions
        if conditions is None:
            yield from self._take(events, segment, path)
        else:
            with conditions.giving(events, shared.whole, shared.places):
                yield from self._take(events, segment, path)

    def _take(
        self, events: Events, segment: HistorySegment, path: LoadedPath | None
    ) -> Iterator[Results]:
        """Yield the results of events in order, and remember their input."""
        state = self.state
        follows, before = self._note_order(events), self.at.numbers
        state.history = state.history.with_piece(segment)
        first = before if self.keeps_events else self.at.events
        self.dictionary.texts.now = first + len(events) - 1
        yield from self._run(events, path)
        if len(events.ts):
            is_counted = self.builder.counts_admitted and not self.is_done()
            is_counted &= self._windows is None  # match windows number fewer events
            admitted = self.at.numbers - before if is_counted else None
            self.warnings.note_next(events, follows=follows, admitted=admitted)

    def run(self, events: Events) -> Iterator[Results]:
        """Yield the results of events that follow those before."""
        yield from self._run(events, self.loaded_path)

    def _run(self, events: Events, path: LoadedPath | None) -> Iterator[Results]:
        """Yield the results of events, by a path where there is one."""
        if self.is_done():
            return
        begin = 0 if path is None else (yield from self._run_fused(path, events))
        made = self.builder.blocks(events, self.plan.options.block, begin)
        yield from self.run_blocks(events, made)

    def run_blocks(self, events: Events, made: Iterator[Block]) -> Generator[Results, None, None]:
        """Yield the results of the blocks of events."""
        blocks, stopwatch = self._blocks(made), self.stopwatch
        for block in blocks if stopwatch is None else stopwatch.pulled(0, blocks):
            yield from self._through("push", block)
            yield from self._advance(Watermark(int(events.ts[block.range.end - 1]), block.end))
            self.watch(self.at.events)
            self.check(0)
            if self.is_done():
                return

    def _run_fused(self, path: LoadedPath, events: Events) -> Generator[Results, None, int]:
        """Yield the results of a fused path, and return how many of the events it took."""
        first, watch = self.at.events, self.stopwatch
        steps, before = path.run(events), 0 if watch is None else watch.total
        if watch is not None:
            steps = watch.pulled(0, steps)
        while True:
            try:
                results = next(steps)
            except StopIteration as end:
                taken: int = end.value
                break
            results = results if self._slice is None else self._slice.owned(results)
            path.use.matches += len(results)
            yield results
        last, use = first + taken, path.use
        use.events += taken if self._slice is None else self._slice.count(first, last)
        if watch is not None:
            use.spend(watch.total - before)
        return taken

    def end(self) -> Iterator[Results]:
        """Yield the results that become certain because no event will come."""
        if not self.is_done():
            yield from self._advance(Watermark(END, self.at.events, is_final=True))

    def _blocks(self, made: Iterator[Block]) -> Iterator[Block]:
        """Blocks; the event buffer keeps the values that operators need later."""
        for block in made:
            if self.warnings.unseen:
                self.warnings.note_types(block.events, block.rows)
            if self._windows is not None:
                self._narrow(block)
            if self.keeps_events:
                self.context.buffer.append_block(block)
            yield block

    def _narrow(self, block: Block) -> None:
        """Leave in a block the events that match windows pass on, and number them if needed."""
        first, windows = self.at.numbers - len(block), self._windows
        if self.stopwatch is None:
            windows.push(block, iter(()))
        else:
            self.stopwatch.during(1, lambda: windows.push(block, iter(())))
        if self.keeps_events:
            self.at.numbers = first + len(block)
            block.numbers = np.arange(first, self.at.numbers)

    def _advance(self, clock: Watermark) -> Iterator[Results]:
        """Advance the watermark of all operators, and now and then evict state."""
        yield from self._through("advance", clock)
        store, overflows = self.context.buffer, self.context.overflows
        for each in overflows:
            each.collect(lambda slot: int(store.numbers("position")[slot]))
        if overflows and self.state.history.pieces:  # else another pipeline has the input
            self.warnings.note_rows(self.state.history)
        self.evict_when_due()

    def _through(self, step: str, argument: Block | Watermark) -> Iterator[Results]:
        """The results of the last operator."""
        below: Iterator[Any] = iter(())
        for number, operator in enumerate(self.operators, 1):
            if operator is self._windows and step == "push":
                continue
            taking = getattr(operator, step)
            if self.stopwatch is None:
                below = taking(argument, below)
            else:
                below = self.stopwatch.timed(number, taking, argument, below)
        return below if self._slice is None else map(self._slice.owned, below)

    def _note_order(self, events: Events) -> bool:
        """Raise the watermark, and return whether the first event ties with the last before."""
        if not len(events.ts):
            return False
        state, schema = self.state, self.plan.schema
        ties = not (schema.is_ordered_by_row or schema.is_imprecise)
        follows = ties and self._order_key(events, 0) == state.last
        self.at.ties -= follows
        state.last = self._order_key(events, -1)
        state.watermark = max(state.watermark, state.last[0])
        return follows

    def _order_key(self, events: Events, place: int) -> tuple[int, ...]:
        time, sequence = int(events.ts[place]), self.plan.schema.seq_column
        return (time,) if sequence is None else (time, int(events.columns[sequence].values[place]))

    # ------------------------------------------------------------ eviction

    def evict_when_due(self) -> None:
        """Evict state after as many events as a stack begins with."""
        if self.at.events - self.state.evicted >= self.plan.options.stack:
            self.state.evicted = self.at.events
            self.evict()

    def pass_time(self, to: int) -> None:
        """Evict the state that no event from a time on needs; the time itself brings no results."""
        if self.is_done():
            self.dictionary.recycle(self.at.events)
            return
        for found in self.ingest(self.reorder_buffer.advance(to)):
            assert not len(found), "nothing comes of this time"
        self.evict()

    def evict(self) -> None:
        """Free the state before the first event that some operator may need."""
        at, store, state = self.at, self.context.buffer, self.state
        known = [operator.horizon() for operator in self.operators]
        end = at.numbers if self.keeps_events else at.events
        horizon = min([each for each in known if each is not None], default=end)
        self.dictionary.recycle(horizon)
        self.builder.recycle(horizon)
        state.oldest = at.events if horizon == end else horizon
        if self.keeps_events:
            if horizon < end:
                state.oldest = int(store.numbers("position")[horizon & store.mask])
            store.free(horizon)

    def recycle_texts(self) -> None:
        """Recycle codes of texts that no event has; earlier results keep their texts."""
        self.dictionary.recycle_texts()
        self.shape = replace(self.shape, texts=self.dictionary.texts.texts)

    # ------------------------------------------------------------ the report

    def use_of(self, path: str) -> FusedUse:
        """Return the counter of the events, matches and time of a fused path."""
        return self._uses.setdefault(path, FusedUse(path))

    @property
    def fused(self) -> tuple[FusedUse, ...]:
        """The uses of the fused paths that were tried."""
        uses = self._uses.values()
        return tuple([use for use in uses if use.events or use.refused is not None])

    @property
    def counters(self) -> Counted:
        """The counters of each operator, from the first on; those of branches come first."""
        branches = (each.counted() for each in self.operators if isinstance(each, HasBranches))
        counted = [*chained(*branches), *(each.counters() for each in self.operators)]
        names = (each.name for each in self.plan.placed)
        own = zip(names, counted, strict=True)
        return [totals(some) for some in zip(own, *self._others, strict=True)]

    @property
    def timings(self) -> tuple[tuple[str, int], ...]:
        """The time in each operator alone, after the time of loading events."""
        if self.stopwatch is None:
            return ()
        first, *spent = self.stopwatch.spent
        own = len(self.operators)
        names = ["BlockBuilder", *(each.name for each in self.plan.placed)]
        return tuple(zip(names, [first, *spent[own:], *spent[:own]], strict=True))

    def report(self, *, is_cut: bool = False) -> Report:
        """The report of all that was searched so far; `is_cut` if a limit ended the search."""
        return self.reporting(is_cut=is_cut)()

    def reporting(
        self, *, is_cut: bool = False, news: Iterable[str] | None = None
    ) -> Callable[[], Report]:
        """Return a function that makes the report of now later; `news` replace the warnings."""
        total, bad, table = (0, 0, None) if self.quarantine is None else self.quarantine.news()
        is_finished, is_done = self.state.is_finished, self.is_done()
        if news is None:
            news = self.warnings.warnings(of_types=is_finished and not (is_cut or is_done))
        return partial(
            Report,
            # Of pushed rows some may be late, and some wait.
            rows=self.reorder_buffer.arrived or self._rows_up_to(self.at.events) + total,
            bad=total if is_finished else bad,
            quarantined=table,
            late=self.reorder_buffer.late.count,
            warnings=tuple(news),
            counters=tuple(self.counters) if is_finished else (),
            fused=self.fused if is_finished else (),
            timings=self.timings,
            is_complete=not (is_cut or is_done),
        )
