"""(NFAb) Runs by contiguity that no event forks: block by block in nodes, fused as stretches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sase.engine.blocks.block import Block, Key
from sase.engine.columns.arrays import Numbers, grown, grown_records, zeros
from sase.engine.columns.kept_memory import reused
from sase.engine.kernels.expressions.operations import FLOAT, INTEGER
from sase.engine.kernels.jit.arrow_memory import BLOCK
from sase.engine.kernels.jit.signatures import frozen
from sase.engine.kernels.kleene import run_nodes as nodes
from sase.engine.kernels.kleene import stretch_groups as groups
from sase.engine.kernels.kleene import stretches as kernel
from sase.engine.kernels.kleene.line_scan import BY_TIME, LineStream
from sase.engine.kernels.kleene.line_store import NO_LINE
from sase.engine.kernels.kleene.run_nodes import DONE, FULL, STRICT
from sase.engine.kernels.sentinels import LATEST, NOTHING
from sase.engine.operators.bindings.bindings import Bindings, ColumnarBindings
from sase.engine.operators.contract import Context, Counters, span_of
from sase.engine.operators.kleene.line_evaluation import MEASURES, stream_of
from sase.engine.operators.kleene.run_evaluation import RunEvaluationState
from sase.engine.operators.taken_matches import TakenMatches
from sase.planning.nodes import RunEvaluation
from sase.planning.stretches import NeighbourComparison, steps_of

# A run takes a line of the cache, or two of more levels.
FEW_LEVELS = 8 - groups.BEGINS
# So many events of a match there is room for at first.
EVENTS_A_LEVEL = 4


class StretchEvaluationState(RunEvaluationState):
    """A running evaluation of stretches; `shown` matches are results as they are."""

    def __init__(
        self, node: RunEvaluation, context: Context, taken: TakenMatches | None, *, shown: bool
    ) -> None:
        super().__init__(node, context, taken)
        self._is_shown = shown
        steps = steps_of(node)
        assert steps is not None
        self._steps: list[NeighbourComparison] = steps
        self._attributes = list(dict.fromkeys(each.attribute for each in steps))
        # Once it is fused.
        self._stretches: groups.Stretches | None = None
        self._compared: list[NDArray[Any]] = []
        self._rules: groups.StretchRules | None = None
        self._read = np.empty(0, np.int64)
        self._found = self._output(0, 0)
        self._stream: LineStream | None = None

    @property
    def key(self) -> Key:
        """The key by which runs are kept apart."""
        return self._key

    def begin(self, events: Block, keys: int, *, is_ranked: bool) -> bool:
        """Fuse over events with dense keys, if what is compared are numbers of one kind."""
        floats = 0
        for place, attribute in enumerate(self._attributes):
            vector = events.raw_vector(attribute)
            if vector.valid is not None or not isinstance(vector.tag, int):
                return False
            if vector.tag not in (INTEGER, FLOAT):
                return False
            floats |= (vector.tag == FLOAT) << place
            self._compared.append(np.ascontiguousarray(vector.values))
        self._rules = self._stretch_rules(floats)
        rows, width = len(events), self._rules.width
        self._check_memory(8 * (rows + keys * (groups.KEY_FIELDS + width)))
        self._read = np.empty(kernel.ROOM, np.int64)
        chunk = self._context.options.chunk
        self._found = self._output(chunk, chunk * EVENTS_A_LEVEL + BLOCK)
        self._stretches = groups.Stretches(
            grown_records(np.zeros((0, groups.KEY_FIELDS + width), np.int64), keys).ravel(),
            zeros((groups.FIRST_GROUP + self._context.options.stack * width,)),
            reused((rows,)),  # of an event what it has is written before it is read
            np.array([groups.FIRST_GROUP, NOTHING], np.int64),
            self._runs.state,
        )
        return True

    def _stretch_rules(self, floats: int) -> groups.StretchRules:
        components, window = self._context.components, self._window
        levels, moves = len(components), 0
        for level, component in enumerate(components):
            moves |= 1 << (groups.BEGIN + level) | (not component.is_single) << level
        orders = np.full((max(len(self._attributes), 1), 3), moves, np.int64)
        for level, is_first, attribute, accepted in self._steps:
            for order in range(3):
                if not (accepted >> order) & 1:
                    bit = 1 << (level + groups.BEGIN * is_first)
                    orders[self._attributes.index(attribute), order] &= ~bit
        # What a run begins with: one event and the level behind it, or a level of several.
        sliding = 1 + (components[0].maximum == 1)
        first = components[sliding - 1]
        return groups.StretchRules(
            is_strict=int(self._strategy == STRICT),
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

    def stream(
        self, block: Block, states: NDArray[np.uint8], keys: Numbers, digits: Numbers
    ) -> LineStream:
        """The events that are to be taken in next; of the numbers of `keys` `digits` make codes."""
        self._runs.state[nodes.AT] = 0
        self._seen += int(np.count_nonzero(states))
        return stream_of((self._always, self._first), self._compared, block, states, keys, digits)

    def push_stream(self, stream: LineStream, end: int) -> Iterator[Bindings]:
        """Apply events up to one, and yield what they complete when the buffer is full."""
        assert self._rules is not None and self._stretches is not None
        self._stream, why = stream, NOTHING
        while why != DONE:
            why = kernel.fused_stretches(
                self._rules, stream, self._stretches, self._found, self._read, end
            )
            self._context.check(0)
            if why == FULL and self._found.sizes[0]:
                yield from self.rest()
            elif why == FULL:
                self._double_output()
            elif why == NO_LINE:
                cells = self._stretches.cells
                self._check_memory(2 * cells.nbytes)
                self._stretches = self._stretches._replace(cells=grown(cells, 2 * len(cells)))

    def rest(self) -> Iterator[Bindings]:
        """Yield what is still in the buffer."""
        matches, *used = map(int, self._found.sizes)
        self._found.sizes[:] = 0
        self._built += matches
        if matches:
            copy, stops = self._memory.copy, list[Numbers | None]()
            for level, each in enumerate(self._context.components):
                known = None if each.maximum == 1 else copy(self._found.stops[level, :matches])
                stops.append(known)
            bound = [copy(each[:n]) for each, n in zip(self._found.bound, used, strict=True)]
            yield ColumnarBindings(bound, stops)

    def _double_output(self) -> None:
        levels, events = self._found.bound.shape
        self._check_memory(8 * 2 * events * levels)
        self._found = self._output(2 * self._found.stops.shape[1], 2 * events)

    def _output(self, matches: int, events: int) -> groups.StretchMatches:
        """A buffer for so many matches, and so many events of each level."""
        levels = self._context.levels
        return groups.StretchMatches(
            np.empty((levels, events), np.int64),
            np.empty((levels, matches), np.int64),
            np.zeros(1 + levels, np.int64),
        )

    def counters(self) -> Counters:
        """Count events, runs made and alive, steps, and matches."""
        held = [self._runs.cells]
        if self._stretches is not None:
            held = [self._stretches.keys, self._stretches.cells, self._stretches.chain]
        counted = self._runs.state[nodes.MADE : nodes.SPLIT + 1]
        return self._counters(counted, sum(each.nbytes for each in held))

    def _expire(self, bound: int) -> int:
        """Expire runs; of stretches no event is needed, as all are loaded."""
        stream = self._stream
        if self._stretches is None or stream is None:
            return super()._expire(bound)
        assert self._rules is not None
        # In a slice of time the positions of events are behind their rows.
        row = self._watermark.position - (stream.position - stream.row)
        kernel.expire_stretches(self._rules, stream, self._stretches, bound, row)
        return NOTHING
