"""(NFAb) Keep runs by contiguity that no event forks: in nodes by block, or fused as stretches."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sase.engine.blocks.block import Block
from sase.engine.columns.arrays import Numbers, grown, grown_records, zeros
from sase.engine.columns.kept_memory import reused
from sase.engine.kernels.expressions.operations import FLOAT, INTEGER
from sase.engine.kernels.jit.arrow_memory import BLOCK
from sase.engine.kernels.jit.signatures import frozen
from sase.engine.kernels.kleene import stretch_groups as groups
from sase.engine.kernels.kleene import stretches as kernel
from sase.engine.kernels.kleene.line_scan import BY_TIME, LineStream
from sase.engine.kernels.kleene.line_store import NO_LINE
from sase.engine.kernels.kleene.run_nodes import FULL, STRICT
from sase.engine.kernels.sentinels import LATEST, NOTHING
from sase.engine.operators.bindings.bindings import Bindings
from sase.engine.operators.bindings.columnar import ColumnarBindings
from sase.engine.operators.contract import span_of
from sase.engine.operators.kleene.evaluation import RunCode
from sase.engine.operators.kleene.line_store import MEASURES, FusedStore
from sase.engine.operators.kleene.match_room import Formed, MatchRoom, bindings_of, fewest
from sase.engine.operators.kleene.run_operator import SERIES_STEP, RunStep, SeriesSink
from sase.planning.reasoning.run_forms import NeighbourComparison, steps_of

# With at most this number of levels, a run takes one cache line, otherwise two.
FEW_LEVELS = 8 - groups.BEGINS
# The initial room for events, per match and level.
EVENTS_A_LEVEL = 4


class StretchRoom(MatchRoom):
    """Room for the matches of runs, which are columnar if the runs are fused."""

    def __init__(self, code: RunCode) -> None:
        super().__init__(code.memory, code.context.levels, fewest(code.taken, code.context))
        self._components, self._check = code.context.components, code.check_memory
        self.columns: groups.StretchMatches | None = None

    def begin(self, matches: int, events: int | None = None) -> None:
        """Make room for numbers of matches of fused runs, and of events of each level."""
        events = matches * EVENTS_A_LEVEL + BLOCK if events is None else events
        self.columns = groups.StretchMatches(
            np.empty((self._levels, events), np.int64),
            np.empty((self._levels, matches), np.int64),
            np.zeros(1 + self._levels, np.int64),
        )

    def flush(self, why: int, formed: Formed = bindings_of) -> Bindings | None:
        """Take out all matches; if those of one event did not fit, enlarge the room."""
        columns = self.columns
        if columns is None:
            return super().flush(why, formed)
        matches, *used = map(int, columns.sizes)
        columns.sizes[:] = 0
        if not matches:
            if why == FULL:
                levels, events = columns.bound.shape
                self._check(8 * 2 * events * levels)
                self.begin(2 * columns.stops.shape[1], 2 * events)
            return None
        self.sizes[2] += matches
        copy, stops = self._memory.copy, list[Numbers | None]()
        for level, each in enumerate(self._components):
            stops.append(None if each.maximum == 1 else copy(columns.stops[level, :matches]))
        bound = [copy(each[:n]) for each, n in zip(columns.bound, used, strict=True)]
        return ColumnarBindings(bound, stops)


class StretchSink(SeriesSink):
    """The sink for matches of runs by contiguity."""

    def __init__(self, code: RunCode) -> None:
        self.step, self.room = SERIES_STEP, StretchRoom(code)


class StretchStore(FusedStore):
    """Runs by contiguity: nodes by block, or fused as stretches with columnar matches."""

    _room: StretchRoom

    def __init__(self, code: RunCode, step: RunStep, room: StretchRoom) -> None:
        super().__init__(code, step, room)
        steps = steps_of(code.node)
        assert steps is not None
        self._steps: list[NeighbourComparison] = steps
        self._attributes = list(dict.fromkeys(each.attribute for each in steps))
        # These are set when runs are fused.
        self._stretches: groups.Stretches | None = None
        self._rules: groups.StretchRules | None = None
        self._read = np.empty(0, np.int64)
        self._stream: LineStream | None = None

    def begin(self, events: Block, keys: int, *, is_ranked: bool) -> bool:
        """Fuse over events with dense keys, if the compared values are numbers of one kind."""
        floats, compared = 0, list[NDArray[Any]]()
        for place, attribute in enumerate(self._attributes):
            vector = events.raw_vector(attribute)
            if vector.valid is not None or not isinstance(vector.tag, int):
                return False
            if vector.tag not in (INTEGER, FLOAT):
                return False
            floats |= (vector.tag == FLOAT) << place
            compared.append(np.ascontiguousarray(vector.values))
        self._rules, self._compared = self._stretch_rules(floats), compared
        rows, width = len(events), self._rules.width
        self._code.check_memory(8 * (rows + keys * (groups.KEY_FIELDS + width)))
        self._read = np.empty(kernel.ROOM, np.int64)
        self._room.begin(self._code.context.options.chunk)
        self._stretches = groups.Stretches(
            grown_records(np.zeros((0, groups.KEY_FIELDS + width), np.int64), keys).ravel(),
            zeros((groups.FIRST_GROUP + self._code.context.options.stack * width,)),
            reused((rows,)),  # each entry is written before it is read
            np.array([groups.FIRST_GROUP, NOTHING], np.int64),
            self._runs.state,
        )
        return True

    def _stretch_rules(self, floats: int) -> groups.StretchRules:
        components, window = self._code.context.components, self._code.node.window
        levels, moves = len(components), 0
        for level, component in enumerate(components):
            moves |= 1 << (groups.BEGIN + level) | (not component.is_single) << level
        orders = np.full((max(len(self._attributes), 1), 3), moves, np.int64)
        for level, is_first, attribute, accepted in self._steps:
            for order in range(3):
                if not (accepted >> order) & 1:
                    bit = 1 << (level + groups.BEGIN * is_first)
                    orders[self._attributes.index(attribute), order] &= ~bit
        # A run begins with one event and the level after it, or with a level of several events.
        sliding = 1 + (components[0].maximum == 1)
        first = components[sliding - 1]
        return groups.StretchRules(
            is_strict=int(self._runs.rules.strategy == STRICT),
            span=span_of(window),
            measure=BY_TIME if window is None else MEASURES[window.kind],
            levels=levels,
            width=8 if levels <= FEW_LEVELS else 16,
            sliding=sliding,
            join=int(first.minimum == 1 and first.maximum is None),
            moves=moves,
            floats=floats,
            least=frozen(np.array([each.minimum for each in components], np.int64)),
            most=frozen(
                np.array([LATEST if (m := c.maximum) is None else m for c in components], np.int64)
            ),
            orders=frozen(orders.ravel()),
        )

    def push_stream(self, stream: LineStream, end: int) -> int:
        """Apply events up to one until the kernel stops; return its reason."""
        columns = self._room.columns
        assert self._rules is not None and self._stretches is not None and columns is not None
        self._stream = stream
        why: int = kernel.fused_stretches(
            self._rules, stream, self._stretches, columns, self._read, end
        )
        if why == NO_LINE:
            cells = self._stretches.cells
            self._code.check_memory(2 * cells.nbytes)
            self._stretches = self._stretches._replace(cells=grown(cells, 2 * len(cells)))
        return why

    @property
    def bytes_held(self) -> int:
        """The bytes of the nodes, or of the stretches."""
        if self._stretches is None:
            return super().bytes_held
        held = [self._stretches.keys, self._stretches.cells, self._stretches.chain]
        return sum(each.nbytes for each in held)

    def expire(self, bound: int) -> int:
        """Expire runs; stretches need no event, because all events are loaded."""
        stream = self._stream
        if self._stretches is None or stream is None:
            return super().expire(bound)
        assert self._rules is not None
        # In a slice of time, the positions of events are greater than their rows.
        row = self.spot - (stream.position - stream.row)
        kernel.expire_stretches(self._rules, stream, self._stretches, bound, row)
        return NOTHING
