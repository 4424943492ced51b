"""The matcher: composes the operators of a plan, and hands them blocks of events and the time.

A batch is a stream that is pushed as one piece: both go through `_run`, block by block.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from typing import Any, TypeAlias

import numpy as np

from sase.engine.blocks.block import Block, Watermark
from sase.engine.blocks.builder import BlockBuilder, loader_of
from sase.engine.blocks.dictionary import PlanDictionary, TypeDictionary
from sase.engine.blocks.event_buffer import EventBuffer
from sase.engine.columns import Events
from sase.engine.columns.arrays import Numbers
from sase.engine.columns.input import Inputs
from sase.engine.columns.quarantine import Quarantine
from sase.engine.columns.slice import taken
from sase.engine.columns.timestamps import raw_moment, shown_moment
from sase.engine.expressions import Interner
from sase.engine.operators import open_operators
from sase.engine.operators.contract import Context, OperatorState
from sase.engine.operators.transformation import Results
from sase.engine.pipeline.fused.push import Straight
from sase.engine.pipeline.fused.scan import of_pieces, short_way
from sase.engine.pipeline.reorder_buffer import Arrived, Reorder
from sase.engine.pipeline.warnings import Notes
from sase.engine.plan import EnginePlan
from sase.engine.report import Report, together
from sase.engine.results.batch import MatchBatch, ResultBatch, ResultSchema
from sase.engine.results.matches import Matches
from sase.engine.results.repr import matcher_line
from sase.engine.results.row_history import HistorySegment, RowHistory
from sase.engine.stopwatch import Stopwatch
from sase.errors import SaseError
from sase.planning.nodes import chain

Counted: TypeAlias = list[tuple[str, dict[str, Any]]]
END = 2**63 - 1


class Matcher:
    """Finds the matches of a plan in events that are pushed as they come.

    Row numbers in what `push`, `advance` and `finish` return count from the first row pushed.
    """

    def __init__(
        self,
        plan: EnginePlan,
        *,
        streaming: bool = True,
        begin: int = 0,
        watch: Callable[[int], object] = lambda rows: None,
        clock: Callable[[], int] | None = None,
    ) -> None:
        self._plan = plan
        # Is told, block by block, how many rows have been searched.
        self._watch = watch
        components = (*plan.positives, *plan.negatives)
        mentioned = (name for component in components for name in component.types or ())
        self._types = TypeDictionary(plan.schema, mentioned)
        coding = PlanDictionary(self._types, Interner(), streaming=streaming)
        store, made = EventBuffer(plan.options.stack), plan.made
        self._context = Context(
            plan.schema, plan.options, plan.positives, plan.negatives, coding, store, cache=made
        )
        self._operators: list[OperatorState] = open_operators(plan.operators, self._context)
        self._names = [type(node).__name__ for node in reversed(chain(plan.operators))]
        # Reads a clock that only runs forward, if one is handed in.
        self._stopwatch = None if clock is None else Stopwatch(clock, len(self._operators) + 1)
        # Where nothing is kept of events their positions are their numbers.
        self._keeps = self._context.buffer.is_needed
        if self._keeps:
            self._context.buffer.keep("position")
        self._top: Any = self._operators[-1]
        self._front = BlockBuilder(
            components,
            len(plan.positives),
            coding,
            plan.ranked,
            dense=self._keeps,
            every=plan.watches_all,
        )
        # The position of the first event, where those before are searched apart.
        self._front.at.events = self._forgotten = begin
        self._loader = loader_of(plan, coding, plan.on_bad_row)
        # What is loaded again is good, and does not come as it is pushed.
        self._load_again = loader_of(plan, coding, "error").load
        self._reorder = Reorder(plan.lateness, plan.schema.seq, self._load_again)
        self._quarantine = Quarantine() if plan.on_bad_row == "quarantine" else None
        self.shape = ResultSchema.of(plan, coding.texts)
        self._history, self._oldest = RowHistory(), 0
        # The order key of the last event, and how far time has come.
        self._last: tuple[int, ...] | None = None
        self._time = -END - 1
        self._notes = Notes(plan, self._context.overflows)
        self._is_undelivered = self._is_finished = False
        # What the operators of others counted, which searched other events.
        self._others: tuple[Counted, ...] = ()
        self._sweep = short_way(self)
        self._straight = Straight.of(self) if streaming else None

    # ------------------------------------------------------------ what callers use

    def push(self, batch: object) -> Matches:
        """The matches that some more rows complete: known as soon as nothing can come before them.

        Rows that are late (docs/semantics.md, Late rows) go to `late`.
        """
        self._check_open()
        results = None if self._straight is None else self._straight.push(batch)
        if results is not None:
            return self._matches(results)
        return self._push(self.opened(batch), None)

    def push_numbered(self, inputs: Inputs, rows: Numbers) -> Matches:
        """The same with row numbers, for rows that do not come as in the input."""
        self._check_open()
        return self._push(inputs, rows)

    def push_ordered(self, events: object) -> Matches:
        """The same for rows of which none comes before any of an earlier push: none has to wait."""
        self._check_open()
        inputs, loaded, rows = self._good(self.opened(events), None)
        return self._matches(self._go_on([Arrived(inputs, loaded, self._front.at.events, rows)]))

    def _push(self, inputs: Inputs, rows: Numbers | None) -> Matches:
        count = inputs.num_rows
        inputs, events, rows = self._good(inputs, rows)
        return self._matches(self._go_on(self._reorder.push(inputs, events, count, rows)))

    def _good(self, inputs: Inputs, rows: Numbers | None) -> tuple[Inputs, Events, Numbers | None]:
        """The rows without the bad ones, the events that they are, and the numbers of the rows."""
        events, count = self._loaded(inputs), inputs.num_rows
        if self._quarantine is not None:
            first = self._reorder.arrived
            numbers = np.arange(first, first + count) if rows is None else rows
            self._quarantine.take(inputs, events.refused, numbers)
            if events.refused is not None:
                good = events.refused.others(count)
                inputs, rows = taken(inputs, good), numbers[good]
                events = self._load_again(inputs)
        return inputs, events, rows

    def advance(self, to: object) -> Matches:
        """The matches that become known when time passes without an event, up to a timestamp.

        Rows before it that come later are late. An integer is in raw units, as results have times,
        a float in seconds where the column has such. For timestamps and dates also what Python,
        numpy, pandas and pyarrow have for them, or ISO text: in UTC without a zone, rounded down.
        """
        self._check_open()
        raw = raw_moment(to, self._loader.time, self._plan.schema.time)
        return self._matches(list(self._go_on(self._reorder.advance(raw))))

    def finish(self) -> Matches:
        """The matches that become known because no event is to come."""
        self._check_open()
        results = list(self._go_on(self._reorder.finish()))
        self._is_finished = True
        return self._matches([*results, *self._end()])

    def stream(self, reader: object) -> Any:
        """A pyarrow RecordBatchReader of the matches in one of events: a push for each batch.

        A batch of events is read when its matches are; at its end the matcher is finished.
        """
        from sase.engine.pipeline.reader import streamed

        self._check_open()
        return streamed(self, reader)

    def snapshot(self) -> bytes:
        """The state, from which `Plan.restore` makes a matcher that goes on here, anywhere."""
        from sase.engine.pipeline.checkpoint import snapshot

        return snapshot(self)

    @property
    def rows(self) -> int:
        """How many rows were pushed, late ones included."""
        return self._reorder.arrived

    @property
    def late(self) -> Any:
        """A pyarrow Table of the rows that were late, as given, and in `#row` their numbers."""
        return self._reorder.late.table()

    def take_late(self) -> Any:
        """What `late` is, which then begins anew: else all late rows are kept for ever."""
        late = self.late
        self._reorder.late.clear()
        return late

    def __repr__(self) -> str:
        late, time = self._reorder.late.count, max(self._time, self._reorder.floor)
        facts = [f"{late:,} of them late"] if late else []
        facts += [f"time {shown_moment(time, self._loader.time)}"] if time > -END - 1 else []
        return matcher_line(self._plan, self.rows, [*facts, *["finished"] * self._is_finished])

    def opened(self, events: object) -> Inputs:
        """The tables of events, which a query compiled without a schema may not understand."""
        inputs = self._loader.opened(events).drained()
        if self._plan.lacking is not None and not all(t.is_open for t in inputs.tables):
            self._plan.check_known(has_tables=inputs.typed)
        return inputs

    def load(self, events: object, threads: int = 1) -> tuple[Inputs, Events]:
        """Events of any kind as the engine reads them, sorted where they are not."""
        inputs = self.opened(events)
        return inputs, self._loaded(inputs, threads)

    def _loaded(self, inputs: Inputs, threads: int = 1) -> Events:
        """Events as the engine reads them; results are shown as what their columns hold."""
        before, events = self._loader.known, self._loader.load(inputs, threads)
        if self._loader.known is not before:
            self.shape = self.shape.knowing(self._loader.known)
        return events

    def search(self, inputs: Inputs, events: Events) -> Generator[ResultBatch, None, Report]:
        """The matches in events that are all there is, after one part without any."""
        history = self.take(inputs, events)
        yield MatchBatch(self.shape, history)
        for results in self.results(events):
            yield MatchBatch(self.shape, history, (results,))
        return self.report()

    def take(self, inputs: Inputs, events: Events) -> RowHistory:
        """Remember all events there are, and put the bad rows among them aside."""
        self._check_open()
        self._is_finished = True
        rows = inputs.numbers
        self._history = RowHistory((HistorySegment.of(0, inputs, events, rows),))
        if self._quarantine is not None:
            numbers = np.arange(inputs.num_rows) if rows is None else rows
            self._quarantine.take(inputs, events.refused, numbers)
        return self._history

    def results(self, *pieces: Events) -> Iterator[Results]:
        """What is found in events, of which this or another one remembers the input.

        Pieces follow each other, and simultaneous events are in the same one.
        """
        self._is_finished = True
        self._sweep = of_pieces(self._sweep, len(pieces))
        for events in pieces:
            yield from self._run(events)
        yield from self._end()

    def merge(self, other: Matcher, positions: Numbers | None = None) -> None:
        """Take over what another one noted of events that have these positions, or their own."""
        self._notes.merge(other._notes, self._history, positions)
        self._others += (other.counters,)

    @property
    def counters(self) -> Counted:
        """What each operator has counted, from the first on."""
        own = [(n, each.counters()) for n, each in zip(self._names, self._operators, strict=True)]
        return [together(counted) for counted in zip(own, *self._others, strict=True)]

    @property
    def timings(self) -> tuple[tuple[str, int], ...]:
        """What the clock counted in each operator alone, behind what taking in events took."""
        if self._stopwatch is None:
            return ()
        return tuple(zip(["Front", *self._names], self._stopwatch.spent, strict=True))

    # ------------------------------------------------------------ the loop

    def _go_on(self, arrived: list[Arrived]) -> Iterator[Results]:
        """The results of rows that have come into order, and of the time that has passed."""
        for inputs, events, first, rows in arrived:
            if first != self._front.at.events and rows is None:
                rows = np.arange(first, first + len(events))
            self._note_order(events)
            piece = HistorySegment.of(self._front.at.events, inputs, events, rows)
            self._history = self._history.with_piece(piece)
            yield from self._run(events)
        if self._reorder.floor > self._time and not self._is_done():
            self._time = self._reorder.floor
            yield from self._pass(Watermark(self._time, self._front.at.events))

    def _run(self, events: Events) -> Iterator[Results]:
        """The results of events that follow those before, block by block."""
        if self._is_done():
            return
        begin = 0 if self._sweep is None else (yield from self._sweep.over(events))
        blocks, watch = self._blocks(events, begin), self._stopwatch
        for block in blocks if watch is None else watch.pulled(0, blocks):
            yield from self._through("push", block)
            yield from self._pass(Watermark(int(events.ts[block.range.end - 1]), block.end))
            self._watch(self._front.at.events)
            if self._is_done():
                return

    def _blocks(self, events: Events, begin: int) -> Iterator[Block]:
        """The blocks of events, of which the store has what operators asked to be kept."""
        for block in self._front.blocks(events, self._plan.options.block, begin):
            if self._keeps:
                self._context.buffer.remember(block)
            if self._notes.unseen:
                self._notes.note_types(block.events, block.rows)
            yield block

    def _pass(self, clock: Watermark) -> Iterator[Results]:
        """Let time pass, and now and then forget what no event to come can need."""
        yield from self._through("advance", clock)
        store = self._context.buffer
        for overflows in self._context.overflows:
            overflows.collect(lambda place: int(store.numbers("position")[place]))
        if self._context.overflows and self._history.pieces:  # else another one has the input
            self._notes.note_rows(self._history)
        self._forget_now_and_then()

    def _forget_now_and_then(self) -> None:
        if self._front.at.events - self._forgotten >= self._plan.options.stack:
            self._forgotten = self._front.at.events
            self._forget()

    def _forget(self) -> None:
        """Give up what stands before the first event that some operator may need."""
        at, store = self._front.at, self._context.buffer
        known = [operator.horizon() for operator in self._operators]
        end = at.numbers if self._keeps else at.events
        horizon = min((each for each in known if each is not None), default=end)
        self._context.dictionary.recycle(horizon)
        self._oldest = at.events if horizon == end else horizon
        if self._keeps:
            if horizon < end:
                self._oldest = int(store.numbers("position")[horizon & store.mask])
            store.free(horizon)

    def _through(self, step: str, argument: Block | Watermark) -> Iterator[Results]:
        """What comes out of the last operator."""
        below: Iterator[Any] = iter(())
        for number, operator in enumerate(self._operators, 1):
            taking = getattr(operator, step)
            if self._stopwatch is None:
                below = taking(argument, below)
            else:
                below = self._stopwatch.timed(number, taking, argument, below)
        return below

    def _end(self) -> Iterator[Results]:
        if not self._is_done():
            yield from self._pass(Watermark(END, self._front.at.events, is_final=True))

    def _is_done(self) -> bool:
        return bool(self._top.is_done)

    # ------------------------------------------------------------ checks

    def _check_open(self) -> None:
        if self._is_finished:
            raise SaseError("this matcher is finished: open another one with  plan.open()")

    def _note_order(self, events: Events) -> None:
        """How far time has come, and whether it stood still between the last events and these."""
        if not len(events.ts):
            return
        if self._order_key(events, 0) == self._last:
            self._front.at.ties -= 1
        self._last = self._order_key(events, -1)
        self._time = max(self._time, self._last[0])

    def _order_key(self, events: Events, place: int) -> tuple[int, ...]:
        """The order key of an event."""
        time, sequence = int(events.ts[place]), self._plan.schema.seq
        return (time,) if sequence is None else (time, int(events.columns[sequence].values[place]))

    # ------------------------------------------------------------ the report

    def _matches(self, results: Iterable[Results]) -> Matches:
        found = tuple(results)  # which may bring more history
        matches = Matches.of([MatchBatch(self.shape, self._history, found)], self.report())
        self._history = self._history.since(self._oldest)
        return matches

    def report(self, *, is_cut: bool = False) -> Report:
        """What there is to say of all that was searched so far, if not `is_cut` by a limit."""
        total, bad, table = (0, 0, None) if self._quarantine is None else self._quarantine.news()
        is_at_the_end = self._is_finished and not (is_cut or self._is_done())
        return Report(
            # Where rows were pushed, some may be late, and some wait.
            rows=self._reorder.arrived or self._front.at.events + total,
            bad=total if self._is_finished else bad,
            quarantined=table,
            late=self._reorder.late.count,
            warnings=tuple(self._notes.warnings(of_types=is_at_the_end)),
            counters=tuple(self.counters) if self._is_finished else (),
            timings=self.timings,
            is_complete=not (is_cut or self._is_done()),
        )
