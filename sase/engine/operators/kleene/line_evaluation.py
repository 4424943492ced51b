"""(NFAb) Runs that never fork: what each has bound is a list of its own."""

# long because: it is one state, gone through block by block or fused

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sase.binding.bound import Part, WindowKind
from sase.engine.blocks.block import Block, Key
from sase.engine.columns.arrays import Numbers, grown, grown_ring
from sase.engine.kernels.expressions.operations import FLOAT, INTEGER, NULL
from sase.engine.kernels.jit.arrow_memory import forms_of
from sase.engine.kernels.jit.signatures import frozen
from sase.engine.kernels.kleene import line_scan as scan
from sase.engine.kernels.kleene import line_store as store
from sase.engine.kernels.kleene.run_nodes import DONE, FULL, NEXT_MATCH, STRICT, Incoming
from sase.engine.kernels.sentinels import EARLIEST, LATEST, NOTHING
from sase.engine.operators.bindings.bindings import Bindings, ColumnarBindings, begins_of
from sase.engine.operators.contract import Checkpoint, Context, Counters, bound_of, span_of
from sase.engine.operators.kleene.match_room import FEWEST, MatchRoom
from sase.engine.operators.kleene.run_evaluation import IncrementalEvaluation, wanted
from sase.engine.operators.kleene.saved_lines import check_line_nodes, restored_lines, saved_lines
from sase.engine.operators.kleene.shared_line_stacks import SharedLineStacks
from sase.engine.operators.scan_filter import ScanFilter
from sase.engine.operators.taken_matches import TakenMatches
from sase.engine.snapshots.saved_state import MOST_COUNTED, Saved
from sase.planning.nodes import RunEvaluation

# Of fewer lines there is room for four times as many at once.
FEW_LINES = 1 << 17
# A ring of fewer entries is enlarged before the kernel has to stop again for those that are over.
FEW_ENTRIES = 1 << 13
# The words of the heap that there is room for at first.
HEAP = 1 << 14
MEASURES = {
    WindowKind.TIME: scan.BY_TIME,
    WindowKind.EVENTS: scan.BY_PLACE,
    WindowKind.PARTITION_EVENTS: scan.BY_RANK,
}
# The orders that turned about are others.
TURNED = {store.BELOW: store.ABOVE, store.NOT_ABOVE: store.NOT_BELOW}
NO_VALUES = frozen(np.zeros(0, np.int64))
# What is known of a key that has no line.
NEW_KEY = np.zeros(store.KEY_FIELDS, np.int64)
NEW_KEY[[store.HEAD, store.BAR, store.UNTIL, store.TAKEN]] = NOTHING, LATEST, LATEST, EARLIEST


class LineEvaluationState(IncrementalEvaluation):
    """A running evaluation of lines, over blocks or fused; `shown` matches are columnar."""

    def __init__(
        self,
        node: RunEvaluation,
        context: Context,
        taken: TakenMatches | None = None,
        *,
        shown: bool,
    ) -> None:
        # Where a path declines loaded events it is the other one.
        is_streaming = context.dictionary.streaming
        is_fused = context.options.fused and not is_streaming
        context.kernels.append(scan.fused_lines if is_fused else scan.advance_lines)
        super().__init__(node, context)
        code, chunk = self._program.code, context.options.chunk
        assert not code.ranges, "a line knows its last event alone, and what it has noted"
        self._levels, self._is_shown, self._taken = context.levels, shown, taken
        is_series = [not each.is_single for each in context.components]
        self._series = is_series.index(True) if any(is_series) else self._levels
        self._gate = code.gate(self._series)
        self._rules, self._values = self._line_rules(), NO_VALUES
        rows = max(context.options.stack, 2 * store.FIRST_LINE // store.FIELDS)
        self._nodes = self._program.cells(rows)
        counts = np.zeros(store.COUNTS, np.int64)
        counts[store.USED] = store.FIRST_LINE
        self._lines = store.Lines(
            np.zeros(rows * store.FIELDS, np.int64),
            np.empty(rows * store.FIELDS + store.SLACK, np.int64),
            np.empty(rows, np.int64),
            _new_keys(0),
            np.empty(HEAP, np.int64),
            np.full(store.SIZES, NOTHING, np.int64),
            np.zeros(2 * store.FEWEST_ENTRIES, np.int64),
            counts,
        )
        # More events for each match where each chunk of results is shown by itself.
        # Few at once where those that are taken end lines.
        size = min(FEWEST, chunk) if taken is not None and taken.are_told else chunk
        self._output = store.LineMatches(
            np.empty((self._levels, size), np.int64),
            np.empty(size * (8 if is_streaming else 32), np.int64),
            np.empty(size, np.int64),
            np.zeros(2, np.int64),
        )
        self._piece = np.empty(scan.READ, np.int64)
        # What is compared of events in columns, once these are fused.
        self._compared: list[NDArray[Any]] | None = None
        # Where lines share what they take, once it is known that no event keeps them apart.
        self._stacks: SharedLineStacks | None = None

    def _line_rules(self) -> store.LineRules:
        window, series, code = self._window, self._series, self._program.code
        accepted, is_next = 0, False
        repeated = self._context.components[series] if series < self._levels else None
        if self._gate != NOTHING:
            accepted, _ = code.comparison(self._gate)
            is_next = code.compared_part(self._gate) is Part.PREVIOUS
        return store.LineRules(
            strategy=self._strategy,
            span=span_of(window),
            measure=scan.BY_TIME if window is None else MEASURES[window.kind],
            ranked=0,
            levels=self._levels,
            series=series,
            least=repeated.minimum if repeated is not None else 1,
            most=NOTHING if repeated is None or repeated.maximum is None else repeated.maximum,
            accepted=TURNED.get(accepted, accepted),
            renews=int(is_next),
            kind=NULL,
            turned=int(accepted in TURNED),
            listed=series if self._is_shown else 0,
            whole=int(not self._is_shown),
            apart=wanted(self._taken),
        )

    def _match_room(self, matches: int) -> MatchRoom:
        """None: they are written in a way of their own."""
        return super()._match_room(0)

    # ------------------------------------------------------------ block by block

    def push(self, block: Block, below: Iterator[Any]) -> Iterator[Bindings]:
        """Yield the matches that the events of a block complete."""
        if self._taken is not None:
            self._taken.note(block)
        return super().push(block, below)

    def _incoming(self, block: Block, spots: Numbers) -> Incoming:
        """Also what a further event of the series is asked first, where that is of one kind."""
        self._values = NO_VALUES
        if self._gate != NOTHING and self._strategy == NEXT_MATCH:
            vector = block.vector(self._program.code.comparison(self._gate)[1])
            if self._is_comparable(vector.tag, vector.valid):
                self._values = frozen(np.ascontiguousarray(vector.values).view(np.int64))
        return super()._incoming(block, spots)

    def _is_comparable(self, tag: int | NDArray[Any], valid: object) -> bool:
        """Whether values are numbers of one kind, which is that of all that come after."""
        if valid is not None or not isinstance(tag, int) or tag not in (INTEGER, FLOAT):
            return False
        if self._rules.kind == NULL:
            self._rules = self._rules._replace(kind=tag)
        return self._rules.kind == tag

    def _advance(self, incoming: Incoming) -> Iterator[Bindings]:
        """Yield the matches that events complete."""
        gate = self._gate if self._strategy == NEXT_MATCH else NOTHING
        machine, code = self._program.machine(), self._program.code
        asks = store.COMPARISONS if code.moments else store.NO_QUESTION
        asks = store.PROGRAMS if code.asks else asks
        self._lines.counts[store.EVENT], why = 0, NOTHING
        while why != DONE:
            conditions = store.LineConditions(machine, self._nodes, gate, asks, self._values)
            why = scan.advance_lines(
                self._rules, incoming, conditions, self._lines, self._output, len(incoming.numbers)
            )  # fmt: skip
            found = int(self._output.sizes[0])
            yield from self._made_room(why)
            self._end_overlapping(found if why == FULL else 0)
        yield from self._results()
        self._end_overlapping(0)

    def _end_overlapping(self, found: int) -> None:
        """End what overlaps matches that were taken of so many; find more where most are."""
        if self._taken is None or not self._taken.are_told:
            return
        numbers, lasts, taken = self._taken.told()
        scan.end_overlapping_lines(self._lines, self._taken.orders, numbers, lasts)
        if found and 4 * taken >= found and len(self._output.ends) < self._context.options.chunk:
            self._double_output()

    def _results(self) -> Iterator[Bindings]:
        """What was written, if anything was."""
        output, levels = self._output, self._levels
        matches, events = (int(size) for size in output.sizes)
        self._built += matches
        output.sizes[:] = 0
        if not matches:
            return
        memory, is_full = self._memory, 2 * matches > len(output.ends)
        found, room = memory.detach(output.events, events)
        copy = memory.copy if is_full else np.ndarray.copy
        self._output = output._replace(events=room)
        ends, series = copy(output.ends[:matches]), self._series
        if self._is_shown:
            every = range(levels)
            singles = output.singles[:, :matches]
            bound = [found if level == series else copy(singles[level]) for level in every]
            yield ColumnarBindings(bound, [ends if level == series else None for level in every])
        else:
            lengths = np.ones((levels, matches), np.int64)
            if series < levels:
                lengths[series] = ends - begins_of(ends) - (levels - 1)
            yield Bindings(found, ends, lengths)

    # ------------------------------------------------------------ fused

    @property
    def key(self) -> Key:
        """The key by which lines are kept apart."""
        return self._key

    def begin_shared(self, keys: int) -> None:
        """Fuse over events with dense keys; all lines that are at a level take the same ones."""
        assert self._gate == NOTHING and not self._program.code.moments
        self._stacks = SharedLineStacks(self._levels, keys, self._check_memory)
        self._compared = []

    def begin(self, events: Block, keys: int, *, is_ranked: bool) -> bool:
        """Fuse over events with dense keys, if what is compared are numbers of one kind."""
        compared = []
        if self._gate != NOTHING:
            vector = events.raw_vector(self._program.code.comparison(self._gate)[1])
            if not self._is_comparable(vector.tag, vector.valid):
                return False
            compared = [np.ascontiguousarray(vector.values)]
        self._make_room_for_keys(keys)
        self._rules, self._compared = self._rules._replace(ranked=int(is_ranked)), compared
        return True

    def stream(
        self, block: Block, states: NDArray[np.uint8], keys: Numbers, digits: Numbers
    ) -> scan.LineStream:
        """The events that are to be taken in next; of the numbers of `keys` `digits` make codes."""
        assert self._compared is not None
        self._lines.counts[store.EVENT] = 0
        if self._stacks is not None:
            self._stacks.begin()
        self._seen += int(np.count_nonzero(states))
        return stream_of((self._always, self._first), self._compared, block, states, keys, digits)

    def push_stream(self, stream: scan.LineStream, end: int) -> Iterator[Bindings]:
        """Apply events up to one, and yield what they complete when the buffer is full."""
        why = NOTHING
        while why != DONE:
            if self._stacks is not None:
                why = self._stacks.push(self._rules, stream, self._output, end)
            else:
                why = scan.fused_lines(
                    self._rules, stream, self._lines, self._output, self._piece, end
                )
            yield from self._made_room(why)

    def make_room_for_keys(self, keys: int) -> None:
        """Make room for more keys, where lines share what they take."""
        assert self._stacks is not None
        self._stacks.make_room_for_keys(keys)

    def rest(self) -> Iterator[Bindings]:
        """Yield what is still in the buffer."""
        return self._results()

    # ------------------------------------------------------------ room

    def _make_room_for_keys(self, keys: int) -> None:
        if self._taken is not None:
            self._taken.make_room(keys)
        known = len(self._lines.keys) // store.KEY_FIELDS
        if keys > known:
            more = _new_keys(max(keys - known, known))
            self._lines = self._lines._replace(keys=np.concatenate([self._lines.keys, more]))

    def _made_room(self, why: int) -> Iterator[Bindings]:
        """Make room for twice as much of what there was too little for, or yield results."""
        self._context.check(0)
        if why == FULL and self._output.sizes[0]:
            yield from self._results()
        elif why == FULL:
            self._double_output()
        elif self._stacks is not None and why != DONE:
            self._stacks.make_room(why)
        elif why == store.NO_EXTENT:
            self._lines = self._lines._replace(heap=self._doubled(self._lines.heap))
        elif why == store.NO_LINE:
            self._make_room_for_lines()
        elif why == store.NO_ENTRY:
            self._make_room_for_entries()

    def _make_room_for_lines(self) -> None:
        """Make room for twice as many lines, or more where they are few; pages come when needed.

        Nodes of theirs are bound of blocks alone, where conditions ask anything.
        """
        lines = self._lines
        rows = len(lines.spare) * (4 if len(lines.spare) < FEW_LINES else 2)
        self._check_memory((2 * store.FIELDS + 1) * 8 * rows)
        self._lines = lines._replace(
            cells=grown(lines.cells, rows * store.FIELDS),
            homes=grown(lines.homes, rows * store.FIELDS + store.SLACK),
            spare=grown(lines.spare, rows),
        )
        if self._compared is None:
            self._check_memory(self._nodes.nbytes * rows // len(self._nodes))
            self._nodes = grown(self._nodes, rows)

    def _make_room_for_entries(self) -> None:
        """Leave no entry of a line that is over in the ring; enlarge it if small or still full."""
        lines, counts = self._lines, self._lines.counts
        scan.keep_entries(self._rules, lines, EARLIEST, 0)
        oldest, behind = counts[store.OLDEST], counts[store.BEHIND]
        entries = lines.order.reshape(-1, 2)
        if 2 * (behind - oldest) > len(entries) or len(entries) < FEW_ENTRIES:
            self._check_memory(2 * lines.order.nbytes)
            order = grown_ring(entries, 2 * len(entries), np.arange(oldest, behind))
            self._lines = lines._replace(order=order.reshape(-1))

    def _double_output(self) -> None:
        singles, events = 2 * len(self._output.ends), 2 * len(self._output.events)
        self._check_memory(8 * (self._levels * singles + events))
        self._output = self._output._replace(
            singles=np.empty((self._levels, singles), np.int64),
            events=np.empty(events, np.int64),
            ends=np.empty(singles, np.int64),
        )

    def _doubled(self, array: Numbers) -> Numbers:
        self._check_memory(2 * array.nbytes)
        return grown(array, 2 * len(array))

    # ------------------------------------------------------------ time and state

    def horizon(self) -> int | None:
        """The first event of any line, once those that are over are gone; none of dense keys."""
        bound = EARLIEST if self._watermark.is_final else bound_of(self._watermark, self._window)
        spot = self._watermark.position
        if self._stacks is not None:
            return self._stacks.oldest()
        if self._strategy == STRICT:  # all but those of the last event may be over
            scan.keep_entries(self._rules, self._lines, bound, spot)
        first = scan.expire_lines(self._rules, self._lines, bound, spot)
        if self._compared is not None:
            return None
        needed = None if first == NOTHING else int(first)
        return needed if self._taken is None else self._taken.horizon(needed)

    def counters(self) -> Counters:
        """Count events, lines made and alive, steps, and matches; of shared ones what is known."""
        if self._stacks is not None:
            return {
                "events": self._seen, "initiated": self._stacks.initiated, "matches": self._built
            }  # fmt: skip
        lines = self._lines
        held = [lines.cells, lines.homes, lines.heap, lines.order, self._nodes, self._output.events]
        return self._counters(
            lines.counts[store.MADE : store.SPLIT + 1], sum([each.nbytes for each in held])
        )

    def checkpoint(self) -> Checkpoint:
        """The lines, and their events."""
        lines = self._lines
        used = int(lines.counts[store.USED])
        cells, heap, free = saved_lines(lines)
        counts = lines.counts[: store.SAVED].copy()
        counts[store.FREE] = free
        return {
            **super().checkpoint(),
            "lines": cells,
            "keys": lines.keys,
            "heap": heap,
            "free": lines.free,
            "counts": counts,
            "nodes": self._nodes[: used // store.FIELDS],
            "kind": self._rules.kind,
            **({} if self._taken is None else {"taken": self._taken.checkpoint()}),
        }

    def restore(self, saved: Saved) -> None:
        """Continue from a checkpoint."""
        super().restore(saved)
        nodes = saved.part("nodes").array(None, self._program.width)
        kind = saved.part("kind").number()
        saved.check(kind in (NULL, INTEGER, FLOAT), "there is no such kind of numbers")
        check_line_nodes(saved, nodes, self._levels)
        self._program.check_values(saved, nodes)
        rows = max(len(nodes), len(self._nodes))
        self._rules = self._rules._replace(kind=kind)
        self._nodes = self._program.cells(rows)
        self._nodes[1 : len(nodes)] = nodes[1:]
        # One without a series has all but the last event.
        most = self._levels - 1 if self._series == self._levels else MOST_COUNTED
        if self._rules.most >= 0 and self._series < self._levels:
            most = self._series + self._rules.most
        self._lines = restored_lines(saved, len(nodes), rows, self._series, most, HEAP)
        if self._taken is not None:
            self._taken.restore(saved.part("taken"))


def _new_keys(count: int) -> Numbers:
    """What is known of keys that have no line."""
    keys = np.empty((count, store.KEY_FIELDS), np.int64)
    keys[:] = NEW_KEY
    return keys.ravel()


def stream_of(
    filters: tuple[ScanFilter, ScanFilter],
    compared: Sequence[NDArray[Any]],
    block: Block,
    states: NDArray[np.uint8],
    keys: Numbers,
    digits: Numbers,
) -> scan.LineStream:
    """The events of a block: conditions on each of a component, and on its first, are decided."""
    always, first = filters
    takes, span = always.narrow_bits(block, states), block.range
    return scan.LineStream(
        frozen(first.narrow_bits(block, takes)),
        frozen(takes),
        frozen(forms_of(compared)),
        frozen(keys),
        frozen(digits),
        frozen(block.events.ts),
        frozen(block.events.ties),
        span.begin,
        span.position + span.begin,
        span.tie,
    )
