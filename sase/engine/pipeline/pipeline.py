"""The pipeline: the operators of a plan, opened, and the loop that takes events through them.

A batch is a stream that is pushed as one piece: both go through `run`, block by block, or by a
fused path where the plan has one (see `fused`).
"""

# long because: the loop over blocks, what it evicts and what it reports are of one state
from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
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
from sase.engine.columns.input import Inputs
from sase.engine.columns.quarantine import Quarantine
from sase.engine.columns.time_column import time_type
from sase.engine.operators.contract import Context, HasBranches, OperatorState
from sase.engine.operators.opening import open_operators
from sase.engine.operators.transformation import Results
from sase.engine.pipeline.fused_path import FusedMeter, LoadedPath, PushedPath
from sase.engine.pipeline.reorder_buffer import Arrived, ReorderBuffer
from sase.engine.pipeline.shared_rows import SharedRows
from sase.engine.pipeline.stream_state import END, StreamState
from sase.engine.pipeline.warnings import RunWarnings
from sase.engine.report import FusedUse, Report, totals
from sase.engine.resources import Check, no_check
from sase.engine.results.batch import MatchBatch, ResultBatch, ResultSchema
from sase.engine.results.row_history import HistorySegment, RowHistory
from sase.engine.stopwatch import Stopwatch
from sase.planning.nodes import chain
from sase.planning.physical.operators import operators_of
from sase.planning.plan import EnginePlan
from sase.planning.shared_scans import operator_names

Counted: TypeAlias = list[tuple[str, dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class Slice:
    """The positions that one of several pipelines owns, and those that it reads: with its halo.

    It owns a match by its last event, or where `by_first` by its first one; of imprecise time by
    the time at which it is `detected`, from the one up to the other.
    """

    begin: int
    end: int
    first: int
    last: int
    by_first: bool = False
    detected: tuple[int, int] | None = None

    def owned(self, results: Results) -> Results:
        """Keep the results that the slice owns; of none, as where they were kept before, none."""
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
    """The types of a plan, which all of its runs share."""
    found: TypeDictionary | None = plan.cache.get(TypeDictionary)
    if found is None:
        found = plan.cache[TypeDictionary] = TypeDictionary(plan.schema, plan.components)
    return found


def _loading_again(plan: EnginePlan, dictionary: PlanDictionary) -> Callable[[Inputs], Events]:
    """What loads rows again, which are good and do not come as they are pushed; few runs do."""
    loaders: list[Loader] = []

    def load(inputs: Inputs) -> Events:
        if not loaders:
            loaders.append(loader_of(plan, dictionary, "error"))
        return loaders[0].load(inputs)

    return load


class Pipeline:
    """The opened operators of a plan, from the loading of events to results.

    The event that comes next has the position `at`. Of a time `slice` it reads the events, and
    yields the results that the slice owns. `watch` is told, block by block, how many rows have been
    searched; `clock` only runs forward; `check` is called between the pieces of a run, which it
    ends by an exception. `key_texts` and `conditions` are those of all plans that read the same
    stream.
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
        # What narrows blocks before anything of them is kept.
        self._windows: Any = self.operators[0] if plan.match_window is not None else None
        self._names = [type(node).__name__ for node in reversed(chain(plan.operators))]
        self.stopwatch = None if clock is None else self._timed_by(clock)
        self.keeps_events = self.context.buffer.is_needed  # else positions are their numbers
        if self.keeps_events:
            self.context.buffer.keep("position")
        # Of several branches each has states of its own: here an event counts or does not.
        admitting = components if plan.union is None else (any_of(components),)
        levels = len(plan.positives) if plan.union is None else 0
        self.builder = BlockBuilder(
            admitting, levels, self.dictionary, plan.ranked,
            dense=self.keeps_events, every=plan.watches_all,
        )  # fmt: skip
        self.at: StreamPosition = self.builder.at
        self._slice, self.at.events = slice, 0 if slice is None else slice.first
        self.state = StreamState(evicted=self.at.events)
        self.loader = loader_of(plan, self.dictionary, plan.on_bad_row, between=check)
        self.load_again = _loading_again(plan, self.dictionary)
        self.reorder_buffer = ReorderBuffer(plan.lateness, plan.schema, self.load_again)
        self.quarantine = Quarantine() if plan.on_bad_row == "quarantine" else None
        self.shape = ResultSchema.of(plan, self.dictionary.texts)
        self.warnings = RunWarnings(plan, self.context.overflows)
        # The counters of pipelines that searched other events.
        self._others: tuple[Counted, ...] = ()
        # What takes events by the drives of the plan, also those known to be admitted, and its use.
        self.loaded_path: LoadedPath | None = None
        self.admitted_path: LoadedPath | None = None
        self.pushed_path: PushedPath | None = None
        self._meters: dict[str, FusedMeter] = {}

    def _timed_by(self, clock: Callable[[], int]) -> Stopwatch:
        """What times the operators, those of branches behind all others."""
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
        """Whether no event to come can bring a result, since LIMIT is reached."""
        return bool(self.top.is_done)

    # ------------------------------------------------------------ loading

    def open_input(self, events: object) -> Inputs:
        """The tables of events, which a query compiled without a schema may not understand."""
        inputs, plan = self.loader.opened(events), self.plan
        drained = inputs.drained()
        if drained is not inputs:
            inputs = self.loader.proved(drained)
        if not all(table.is_open for table in inputs.tables):
            has_times = plan.lacks_unit and time_type(inputs, plan.schema.time) != UNKNOWN
            plan.check_known(has_tables=inputs.typed, has_times=has_times)
        return inputs

    def load(self, events: object, threads: int = 1) -> tuple[Inputs, Events]:
        """Events of any kind as the engine reads them, sorted where they are not."""
        inputs = self.open_input(events)
        return inputs, self.load_input(inputs, threads)

    def load_input(self, inputs: Inputs, threads: int = 1) -> Events:
        """Load tables that it opened; results are shown as what their columns hold."""
        before, events = self.loader.known, self.loader.load_opened(inputs, threads)
        if self.loader.known is not before:
            self.shape = self.shape.with_types(self.loader.known)
        return events

    def coded(self, events: Events, threads: int = 1) -> Events:
        """The events with codes of the keys for which the path over loaded events wants such."""
        names = [] if self.loaded_path is None else self.loaded_path.uncoded(events)
        if not names:
            return events
        from sase.engine.columns.value_codes import number_codes  # with kernels that few runs load

        def step() -> Events:
            columns = {name: events.columns[name].values for name in names}
            return events.with_codes({n: number_codes(v, threads) for n, v in columns.items()})

        return step() if self.stopwatch is None else self.stopwatch.during(1, step)

    def bind_input(self, inputs: Inputs, events: Events) -> RowHistory:
        """Remember events that are all there are, and put the bad rows among them aside."""
        self.state.check_open()
        self.state.is_finished = True
        rows = inputs.numbers
        self.warnings.note_whole(events)
        self.state.history = RowHistory((HistorySegment.of(0, inputs, events, rows),))
        if self.quarantine is not None:
            numbers = np.arange(inputs.num_rows) if rows is None else rows
            self.quarantine.take(inputs, events.refused, numbers)
        return self.state.history

    # ------------------------------------------------------------ batches

    def search(self, inputs: Inputs, events: Events) -> Generator[ResultBatch, None, Report]:
        """Yield the matches in events that are all there are, after one part without any."""
        history = self.bind_input(inputs, events)
        yield MatchBatch(self.shape, history)
        for results in self.results(events):
            yield MatchBatch(self.shape, history, (results,))
        return self.report()

    def results(self, *pieces: Events) -> Iterator[Results]:
        """Yield the results of events, whose input this or another pipeline remembers.

        Pieces follow each other, and simultaneous events are in the same one.
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
        """Search no branch that needs a type that no event has, where they are all there are."""
        if self.plan.union is None or self.plan.definitions:
            return
        types = {name for each in pieces for name in each.type_names}
        for each in self.operators:
            if isinstance(each, HasBranches):
                each.leave_out(types)

    def expect_pieces(self) -> None:
        """Take events in several pieces: by no path that needs all of them at once."""
        if self.loaded_path is not None and self.loaded_path.needs_all:
            self.loaded_path = None

    def merge(self, other: Pipeline, positions: Numbers | None = None) -> None:
        """Take over the counters and warnings of a pipeline, whose events have these positions."""
        self.warnings.merge(other.warnings, self.state.history, positions)
        self._others += (other.counters,)
        for use in other.fused:
            self.meter(use.path).add(use)

    # ------------------------------------------------------------ the loop

    def ingest(self, arrived: list[Arrived]) -> Iterator[Results]:
        """Yield the results of rows that have come into order, and of the time that has passed."""
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
        """Yield the results of rows that others have loaded, and brought into order."""
        known = self.loader.known
        self.loader.adopt(shared.loader)
        if self.loader.known is not known:
            self.shape = self.shape.with_types(self.loader.known)
        events = shared.events
        segment = HistorySegment(
            self.at.events, len(events), shared.read, shared.rows, none=shared.none
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
            is_counted &= self._windows is None  # which gives numbers to fewer
            admitted = self.at.numbers - before if is_counted else None
            self.warnings.note_next(events, follows=follows, admitted=admitted)

    def run(self, events: Events) -> Iterator[Results]:
        """Yield the results of events that follow those before."""
        yield from self._run(events, self.loaded_path)

    def _run(self, events: Events, path: LoadedPath | None) -> Iterator[Results]:
        """The same, by a path where there is one."""
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
            path.meter.matches += len(results)
            yield results
        last, meter = first + taken, path.meter
        meter.events += taken if self._slice is None else self._slice.count(first, last)
        if watch is not None:
            meter.spend(watch.total - before)
        return taken

    def end(self) -> Iterator[Results]:
        """Yield the results that are known because no event is to come."""
        if not self.is_done():
            yield from self._advance(Watermark(END, self.at.events, is_final=True))

    def _blocks(self, made: Iterator[Block]) -> Iterator[Block]:
        """Blocks, of which the event buffer has what operators asked to be kept."""
        for block in made:
            if self.warnings.unseen:
                self.warnings.note_types(block.events, block.rows)
            if self._windows is not None:
                self._narrow(block)
            if self.keeps_events:
                self.context.buffer.append_block(block)
            yield block

    def _narrow(self, block: Block) -> None:
        """Leave of a block what match windows hand on; event numbers stay dense, if they are."""
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
        """What comes out of the last operator."""
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
        """Evict state, once there have been as many events as a stack begins with."""
        if self.at.events - self.state.evicted >= self.plan.options.stack:
            self.state.evicted = self.at.events
            self.evict()

    def pass_time(self, to: int) -> None:
        """Evict what no event from a time on needs, where nothing comes of the time itself."""
        if self.is_done():
            self.dictionary.recycle(self.at.events)
            return
        for found in self.ingest(self.reorder_buffer.advance(to)):
            assert not len(found), "nothing comes of this time"
        self.evict()

    def evict(self) -> None:
        """Free what stands before the first event that some operator may need."""
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
        """Recycle codes of texts that no event has; results so far keep the texts of theirs."""
        self.dictionary.recycle_texts()
        self.shape = replace(self.shape, texts=self.dictionary.texts.texts)

    # ------------------------------------------------------------ the report

    def meter(self, path: str) -> FusedMeter:
        """Return what counts the events, matches and time of a fused path."""
        return self._meters.setdefault(path, FusedMeter(path))

    @property
    def fused(self) -> tuple[FusedUse, ...]:
        """What became of the fused paths that were shown events."""
        uses = [meter.use for meter in self._meters.values()]
        return tuple([use for use in uses if use is not None])

    @property
    def counters(self) -> Counted:
        """What each operator has counted, from the first on; those of branches come first."""
        own: Counted = []
        for name, each in zip(self._names, self.operators, strict=True):
            if self.plan.union is not None and isinstance(each, HasBranches):
                own += each.operators()
            own.append((name, each.counters()))
        return [totals(counted) for counted in zip(own, *self._others, strict=True)]

    @property
    def timings(self) -> tuple[tuple[str, int], ...]:
        """What the clock counted in each operator alone, behind what taking in events took."""
        if self.stopwatch is None:
            return ()
        names = ["BlockBuilder", *self._names, *operator_names(self.plan.operators)]
        return tuple(zip(names, self.stopwatch.spent, strict=False))  # its own stand there again

    def report(self, *, is_cut: bool = False) -> Report:
        """What there is to say of all that was searched so far, if not `is_cut` by a limit."""
        return self.reporting(is_cut=is_cut)()

    def reporting(
        self, *, is_cut: bool = False, news: Iterable[str] | None = None
    ) -> Callable[[], Report]:
        """What makes the report of now, later; of warnings only the `news`, if there are these."""
        total, bad, table = (0, 0, None) if self.quarantine is None else self.quarantine.news()
        is_finished, is_done = self.state.is_finished, self.is_done()
        if news is None:
            news = self.warnings.warnings(of_types=is_finished and not (is_cut or is_done))
        return partial(
            Report,
            # Where rows were pushed, some may be late, and some wait.
            rows=self.reorder_buffer.arrived or self.at.events + total,
            bad=total if is_finished else bad,
            quarantined=table,
            late=self.reorder_buffer.late.count,
            warnings=tuple(news),
            counters=tuple(self.counters) if is_finished else (),
            fused=self.fused if is_finished else (),
            timings=self.timings,
            is_complete=not (is_cut or is_done),
        )
