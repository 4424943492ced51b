"""(NFAb) Keep runs that never fork as lines: each line has its own list of events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sase.binding.bound import Part, WindowKind
from sase.engine.blocks.block import Block
from sase.engine.columns.arrays import Numbers, grown, grown_ring
from sase.engine.kernels.expressions.operations import FLOAT, INTEGER, NULL
from sase.engine.kernels.jit.arrow_memory import forms_of
from sase.engine.kernels.jit.signatures import frozen
from sase.engine.kernels.kleene import line_scan as scan
from sase.engine.kernels.kleene import line_store as store
from sase.engine.kernels.kleene.run_nodes import (
    FULL,
    LEVEL,
    NEXT_MATCH,
    PAUSED,
    PREVIOUS,
    ROOT,
    STRICT,
    Incoming,
    Machine,
)
from sase.engine.kernels.sentinels import EARLIEST, LATEST, NOTHING
from sase.engine.operators.bindings.bindings import Bindings
from sase.engine.operators.bindings.columnar import ColumnarBindings
from sase.engine.operators.contract import span_of
from sase.engine.operators.kleene.evaluation import RunCode, wanted
from sase.engine.operators.kleene.match_room import Formed, MatchRoom, bindings_of, fewest
from sase.engine.operators.kleene.run_operator import NodeStore, RunStep, SeriesSink
from sase.engine.operators.kleene.saved_lines import FIRST, OF_KEY, OF_LINE, restored, saved_lines
from sase.engine.snapshots.layout import SAME, Array, Number
from sase.engine.snapshots.saved_state import MOST_COUNTED, Saved

# Below this number of lines, room grows to four times as many lines at once.
FEW_LINES = 1 << 17
# A ring with fewer entries is also enlarged if the entries of ended lines fill it.
FEW_ENTRIES = 1 << 13
# The initial words of the heap.
HEAP = 1 << 14
MEASURES = {
    WindowKind.TIME: scan.BY_TIME,
    WindowKind.EVENTS: scan.BY_PLACE,
    WindowKind.PARTITION_EVENTS: scan.BY_RANK,
}
# These orders are decided as the opposite ones, on inverted values.
TURNED = {store.BELOW: store.ABOVE, store.NOT_ABOVE: store.NOT_BELOW}
NO_VALUES = frozen(np.zeros(0, np.int64))
# The fields of a key that has no line.
NEW_KEY = np.zeros(store.KEY_FIELDS, np.int64)
NEW_KEY[[store.HEAD, store.BAR, store.UNTIL, store.TAKEN]] = NOTHING, LATEST, LATEST, EARLIEST
# Lines use their own kernels.
LINE_STEP = RunStep(None)


class FusedStore(NodeStore):
    """Runs that are kept between blocks, or between streams of loaded events."""

    # The columns of events that are compared, once the events are fused.
    _compared: Sequence[NDArray[Any]] | None = None

    def stream(
        self, block: Block, states: NDArray[np.uint8], keys: Numbers, digits: Numbers
    ) -> scan.LineStream:
        """Return the next events; `digits` make codes of the numbers of `keys`.

        This decides the conditions on each event of a component and on its first event.
        """
        assert self._compared is not None
        self.rewind()
        admission, span = self._code.admission, block.range
        takes = admission.always.narrow_bits(block, states)
        return scan.LineStream(
            frozen(admission.first.narrow_bits(block, takes)),
            frozen(takes),
            frozen(forms_of(self._compared)),
            frozen(keys),
            frozen(digits),
            frozen(block.events.ts),
            frozen(block.events.ties),
            span.begin,
            span.position + span.begin,
            span.tie,
        )


class LineRoom(MatchRoom):
    """Room for the matches of lines, which are columnar."""

    def __init__(self, code: RunCode) -> None:
        context, self._check = code.context, code.check_memory
        is_series = [not each.is_single for each in context.components]
        # The level of the series, or the number of levels if there is none.
        self.series = is_series.index(True) if any(is_series) else context.levels
        # Each match has room for more events if events are loaded. There is room for few matches if
        # the matches that are taken end lines.
        events = 8 if context.dictionary.streaming else 32
        super().__init__(code.memory, context.levels, fewest(code.taken, context), events=events)

    def resize(self, matches: int, events: int) -> None:
        """Make room for numbers of matches and events; the old room must be empty."""
        self.written = store.LineMatches(
            np.empty((self._levels, matches), np.int64),
            np.empty(events, np.int64),
            np.empty(matches, np.int64),
            self.sizes,
        )

    def enlarge(self) -> None:
        """Make room for twice as many matches, all of which one event may complete."""
        matches, events = 2 * len(self.written.ends), 2 * len(self.written.events)
        self._check(8 * (self._levels * matches + events))
        self.resize(matches, events)

    def flush(self, why: int, formed: Formed = bindings_of) -> Bindings | None:
        """Take out all matches; if those of one event did not fit, enlarge the room."""
        written, levels, series = self.written, self._levels, self.series
        matches, events, earlier = (int(size) for size in self.sizes)
        if not matches:
            if why == FULL:
                self.enlarge()
            return None
        self.sizes[:] = 0, 0, earlier + matches
        memory, is_full = self._memory, 2 * matches > len(written.ends)
        found, room = memory.detach(written.events, events)
        copy = memory.copy if is_full else np.ndarray.copy
        self.written = written._replace(events=room)
        ends = copy(written.ends[:matches])
        every, singles = range(levels), written.singles[:, :matches]
        bound = [found if level == series else copy(singles[level]) for level in every]
        return ColumnarBindings(bound, [ends if level == series else None for level in every])


class LineSink(SeriesSink):
    """The sink for the matches of lines."""

    def __init__(self, code: RunCode) -> None:
        self.step, self.room = LINE_STEP, LineRoom(code)


class LineStore(FusedStore):
    """Runs as lines, over blocks or fused."""

    layout = dict(
        lines=Array("lines", len(OF_LINE), path=None),
        events=Array(None, path=None),
        nodes=Array("lines", "._program.width", path=None),
        keys=Array(None, len(OF_KEY), path=None),
        counts=Array(SAME, low=0, high=MOST_COUNTED, path="counts"),
        kind=Number(path="_rules.kind"),
    )

    _room: LineRoom

    def __init__(self, code: RunCode, step: RunStep, room: LineRoom) -> None:
        context = code.context
        # If a path declines loaded events, the other kernel runs.
        is_fused = context.options.fused and not context.dictionary.streaming
        self.kernel = scan.fused_lines if is_fused else scan.advance_lines
        self._code, self._program, self._taken = code, code.program, code.taken
        self._room, self._series, self._levels = room, room.series, context.levels
        self._strategy, conditions = code.admission.strategy, code.program.code
        assert not conditions.ranges, "a line has only its last event and its noted values"
        self._gate = conditions.gate(self._series)
        self._rules, self._values = self._line_rules(), NO_VALUES
        self._asks = store.COMPARISONS if conditions.moments else store.NO_QUESTION
        self._asks = store.PROGRAMS if conditions.asks else self._asks
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
        self._piece = np.empty(scan.READ, np.int64)

    def _line_rules(self) -> store.LineRules:
        window, series, code = self._code.node.window, self._series, self._program.code
        accepted, is_next = 0, False
        repeated = self._code.context.components[series] if series < self._levels else None
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
            apart=wanted(self._taken),
        )

    # ------------------------------------------------------------ block by block

    def note(self, block: Block) -> None:
        """Note the values that decide first on a further event of the series, if of one kind."""
        self._values = NO_VALUES
        if self._gate != NOTHING and self._strategy == NEXT_MATCH:
            vector = block.vector(self._program.code.comparison(self._gate)[1])
            if self._is_comparable(vector.tag, vector.valid):
                self._values = frozen(np.ascontiguousarray(vector.values).view(np.int64))

    def _is_comparable(self, tag: int | NDArray[Any], valid: object) -> bool:
        """Whether values are numbers of one kind; all later values must have this kind, too."""
        if valid is not None or not isinstance(tag, int) or tag not in (INTEGER, FLOAT):
            return False
        if self._rules.kind == NULL:
            self._rules = self._rules._replace(kind=tag)
        return self._rules.kind == tag

    def rewind(self) -> None:
        """Continue with the first of several events."""
        self._lines.counts[store.EVENT] = 0

    def step(self, machine: Machine, incoming: Incoming) -> int:
        """Apply events until the kernel stops; return its reason."""
        gate = self._gate if self._strategy == NEXT_MATCH else NOTHING
        conditions = store.LineConditions(machine, self._nodes, gate, self._asks, self._values)
        why = scan.advance_lines(
            self._rules, incoming, conditions, self._lines, self._room.written,
            len(incoming.numbers),
        )  # fmt: skip
        return PAUSED if self._made_room(why) else int(why)

    def end_overlapping(self, incoming: Incoming, keys: Numbers, lasts: Numbers) -> None:
        """End the lines that overlap the last matches taken of partitions."""
        assert self._taken is not None
        scan.end_overlapping_lines(self._lines, self._taken.orders, keys, lasts)

    # ------------------------------------------------------------ fused

    def begin(self, events: Block, keys: int, *, is_ranked: bool) -> bool:
        """Fuse over events with dense keys, if the compared values are numbers of one kind."""
        compared = []
        if self._gate != NOTHING:
            vector = events.raw_vector(self._program.code.comparison(self._gate)[1])
            if not self._is_comparable(vector.tag, vector.valid):
                return False
            compared = [np.ascontiguousarray(vector.values)]
        self.make_room_for_keys(keys)
        self._rules, self._compared = self._rules._replace(ranked=int(is_ranked)), compared
        return True

    def push_stream(self, stream: scan.LineStream, end: int) -> int:
        """Apply events up to one until the kernel stops; return its reason."""
        why = scan.fused_lines(
            self._rules, stream, self._lines, self._room.written, self._piece, end
        )
        return PAUSED if self._made_room(why) else int(why)

    # ------------------------------------------------------------ room

    def make_room_for_keys(self, keys: int) -> None:
        """Make room for the fields of a number of partitions."""
        if self._taken is not None:
            self._taken.make_room(keys)
        known = len(self._lines.keys) // store.KEY_FIELDS
        if keys > known:
            more = _new_keys(max(keys - known, known))
            self._lines = self._lines._replace(keys=np.concatenate([self._lines.keys, more]))

    def _made_room(self, why: int) -> bool:
        """Double the room that a kernel lacked, except for results; return whether it did."""
        if why == store.NO_EXTENT:
            self._lines = self._lines._replace(heap=self._doubled(self._lines.heap))
        elif why == store.NO_LINE:
            self._make_room_for_lines()
        elif why == store.NO_ENTRY:
            self._make_room_for_entries()
        else:
            return False
        return True

    def _make_room_for_lines(self) -> None:
        """Make room for twice as many lines, or four times as many if they are few.

        The nodes grow only if lines are not fused: fused lines bind no nodes. Memory pages are
        allocated when they are used.
        """
        lines = self._lines
        rows = len(lines.spare) * (4 if len(lines.spare) < FEW_LINES else 2)
        self._code.check_memory((2 * store.FIELDS + 1) * 8 * rows)
        self._lines = lines._replace(
            cells=grown(lines.cells, rows * store.FIELDS),
            homes=grown(lines.homes, rows * store.FIELDS + store.SLACK),
            spare=grown(lines.spare, rows),
        )
        if self._compared is None:
            self._code.check_memory(self._nodes.nbytes * rows // len(self._nodes))
            self._nodes = grown(self._nodes, rows)

    def _make_room_for_entries(self) -> None:
        """Remove entries of ended lines from the ring; enlarge it if it is small or still full."""
        lines, counts = self._lines, self._lines.counts
        scan.keep_entries(self._rules, lines, EARLIEST, 0)
        oldest, behind = counts[store.OLDEST], counts[store.BEHIND]
        entries = lines.order.reshape(-1, 2)
        if 2 * (behind - oldest) > len(entries) or len(entries) < FEW_ENTRIES:
            self._code.check_memory(2 * lines.order.nbytes)
            order = grown_ring(entries, 2 * len(entries), np.arange(oldest, behind))
            self._lines = lines._replace(order=order.reshape(-1))

    def _doubled(self, array: Numbers) -> Numbers:
        self._code.check_memory(2 * array.nbytes)
        return grown(array, 2 * len(array))

    # ------------------------------------------------------------ time and state

    def expire(self, bound: int) -> int:
        """Expire lines; return their first event, NOTHING without lines or if events are loaded."""
        if self._strategy == STRICT:  # all lines without the last event may have ended
            scan.keep_entries(self._rules, self._lines, bound, self.spot)
        first = scan.expire_lines(self._rules, self._lines, bound, self.spot)
        return int(first) if self._compared is None else NOTHING

    @property
    def counts(self) -> Numbers:
        """The counters of lines, from `MADE` to `SPLIT`."""
        return self._lines.counts[store.MADE : store.SPLIT + 1]

    @property
    def bytes_held(self) -> int:
        """The bytes of the lines, their events and their nodes."""
        lines = self._lines
        held = [lines.cells, lines.homes, lines.heap, lines.order, self._nodes]
        return sum(each.nbytes for each in held)

    def _encoded(self) -> dict[str, Any]:
        return saved_lines(self._lines, self._nodes)

    def _take(self, saved: Saved, values: Any) -> None:
        nodes, kind = values.nodes, values.kind
        saved.check(kind in (NULL, INTEGER, FLOAT), "there is no such kind of numbers")
        level = nodes[:, LEVEL]
        is_level = (level >= NOTHING) & (level < self._levels)
        saved.check(bool(is_level.all()), "there is no such level")
        self._program.check_values(saved, nodes)
        behind = FIRST + len(nodes)
        rows = max(behind, len(self._nodes))
        self._rules = self._rules._replace(kind=kind)
        self._nodes = self._program.cells(rows)
        self._nodes[FIRST:behind] = nodes
        # A node only has its own event; the node before it is itself or the root.
        is_further = nodes[:, PREVIOUS] != ROOT
        self._nodes[FIRST:behind, PREVIOUS] = np.arange(FIRST, behind) * is_further
        # A line without a series has at most all events but the last one.
        most = self._levels - 1 if self._series == self._levels else MOST_COUNTED
        if self._rules.most >= 0 and self._series < self._levels:
            most = self._series + self._rules.most
        self._lines = restored(saved, values, rows, self._series, most, HEAP)


def _new_keys(count: int) -> Numbers:
    """Return the fields of keys that have no line."""
    keys = np.empty((count, store.KEY_FIELDS), np.int64)
    keys[:] = NEW_KEY
    return keys.ravel()
