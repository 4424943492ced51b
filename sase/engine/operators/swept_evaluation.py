"""(NFAb) Lines of which little is asked, which a kernel takes from columns to their matches.

Lines go this way only where all events are there: a matcher that is pushed goes on block by block.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sase.binding.bound import Part, WindowKind
from sase.engine.blocks.block import Block, Key
from sase.engine.columns.arrays import Numbers
from sase.engine.kernels.expressions.operations import FLOAT, INTEGER
from sase.engine.kernels.jit.arrow_memory import forms_of
from sase.engine.kernels.jit.signatures import frozen
from sase.engine.kernels.kleene import fused_lines as of
from sase.engine.kernels.kleene import line_steps as steps
from sase.engine.kernels.kleene import line_store as heap
from sase.engine.kernels.kleene import runs
from sase.engine.kernels.sentinels import EARLIEST, LATEST, NOTHING
from sase.engine.operators.bindings import Bindings
from sase.engine.operators.contract import Counters, bound_of
from sase.engine.operators.line_evaluation import LineEvaluationState

# The lines and the places of the heap that there is room for at first.
LINES, HEAP = 256, 1 << 14
MEASURES = {
    WindowKind.TIME: of.BY_TIME,
    WindowKind.EVENTS: of.BY_PLACE,
    WindowKind.PARTITION_EVENTS: of.BY_RANK,
}
COUNTED = {
    runs.MADE: heap.MADE, runs.LIVE: heap.LIVE, runs.MOST_LIVE: heap.MOST_LIVE,
    runs.EXPIRED: heap.EXPIRED, runs.STEPS: heap.STEPS,
}  # fmt: skip
# The orders that turned about are others.
TURNED = {steps.BELOW: steps.ABOVE, steps.NOT_ABOVE: steps.NOT_BELOW}


class SweptEvaluationState(LineEvaluationState):
    """A running evaluation of lines, whose events are swept or come block by block: all of them."""

    # That of lines is compiled if events come block by block.
    kernel: ClassVar[Any] = staticmethod(of.sweep_lines)
    # More than elsewhere, as each chunk of results is shown by itself.
    events_a_match = 32

    _asked: steps.Asked | None = None
    _swept: heap.Swept
    # What is compared, and room for a piece of it.
    _compared: list[NDArray[Any]]
    _piece: Numbers

    @property
    def key(self) -> Key:
        """The key by which lines are kept apart."""
        return self._key

    @property
    def asks_little(self) -> bool:
        """Whether events are asked at most how a further one of the series compares.

        That is with the first one or the one before it, by the same attribute.
        """
        if not self._is_shown or self.node.nothing is not None:
            return False
        if self._always.may_overflow or self._first.may_overflow:
            return False
        asked, gate = self._program.code.moments, self._form.gate
        is_met = gate != NOTHING and self._program.code.meets(gate) is not None
        return not asked or (len(asked) == 1 and is_met)

    def begin(self, events: Block, keys: int, *, is_ranked: bool) -> bool:
        """Sweep events with codes of keys below a number, if what they are compared by allows it.

        That is so where it is a number of one kind, of each event.
        """
        compared = self._read(events)
        if compared is None:
            return False
        counts, known = np.zeros(heap.COUNTS, np.int64), np.zeros((keys, heap.KEY_FIELDS), np.int64)
        counts[heap.FREE], known[:, heap.HEAD] = NOTHING, NOTHING
        known[:, [heap.BAR, heap.UNTIL]] = LATEST
        self._swept = heap.Swept(
            np.empty(LINES * heap.FIELDS, np.int64),
            known.ravel(),
            np.empty(HEAP, np.int64),
            np.full(heap.PLACES, NOTHING, np.int64),
            counts,
        )
        self._compared, self._piece = compared, np.empty(of.READ, np.int64)
        self._asked = self._all_asked(is_ranked=is_ranked)
        return True

    def sweep(self, stream: of.Stream, end: int) -> Iterator[Bindings]:
        """Take in events up to one, and give what they complete when there is no more room."""
        assert self._asked is not None
        while True:
            why = of.sweep_lines(self._asked, stream, self._swept, self._output, self._piece, end)
            if why == runs.DONE:
                return
            if why == runs.FULL and self._output.sizes[0]:
                yield from self._results()
            else:
                self._enlarge(why)

    def rest(self) -> Iterator[Bindings]:
        """What was not given yet."""
        return self._results()

    def horizon(self) -> int | None:
        """None of what was swept: all events are there."""
        if self._asked is None:
            return super().horizon()
        bound = EARLIEST if self._clock.is_final else bound_of(self._clock, self._window)
        of.expire_swept(self._asked, self._swept, bound, self._clock.position)
        return None

    def counters(self) -> Counters:
        """The same, whichever way events came."""
        if self._asked is not None:
            for place, swept in COUNTED.items():
                self._runs.state[place] = self._swept.counts[swept]
        return super().counters()

    def _all_asked(self, *, is_ranked: bool) -> steps.Asked:
        rules, window, series, gate = self._rules, self._window, self._series, self._form.gate
        has_series, accepted, is_next = series < self._levels, 0, False
        if gate != NOTHING:
            accepted, _ = self._program.code.asked(gate)
            is_next = self._program.code.meets(gate) is Part.PREVIOUS
        return steps.Asked(
            rules.strategy,
            rules.span,
            of.BY_TIME if window is None else MEASURES[window.kind],
            int(is_ranked),
            self._levels,
            series,
            int(self._pattern.least[series]) if has_series else 1,
            int(self._pattern.most[series]) if has_series else NOTHING,
            TURNED.get(accepted, accepted),
            int(is_next),
            int(any(values.dtype.kind == "f" for values in self._compared)),
            int(accepted in TURNED),
        )

    def stream(
        self, block: Block, states: NDArray[np.uint8], keys: Numbers, digits: Numbers
    ) -> of.Stream:
        """The events that are to be swept next; of the numbers of `keys` `digits` make codes."""
        self._swept.counts[heap.EVENT] = 0
        self._seen += int(np.count_nonzero(states))
        takes = self._always.bits(block, states)
        span = block.range
        return of.Stream(
            frozen(self._first.bits(block, takes)),
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

    def _read(self, events: Block) -> list[NDArray[Any]] | None:
        """The numbers that are compared, if any are; None if they are no such ones."""
        if self._form.gate == NOTHING:
            return []
        lane = events.raw_vector(self._program.code.asked(self._form.gate)[1])
        is_plain = lane.valid is None and isinstance(lane.tag, int)
        if not is_plain or lane.tag not in (INTEGER, FLOAT):
            return None
        return [np.ascontiguousarray(lane.values)]

    def _enlarge(self, why: int) -> None:
        """Make room for twice as much of what there was too little for."""
        if why == runs.FULL:
            output = self._output
            singles, events = 2 * output.singles.shape[1], 2 * len(output.events)
            self._check_memory(8 * (self._levels * singles + events))
            self._output = output._replace(
                singles=np.empty((self._levels, singles), np.int64),
                events=np.empty(events, np.int64),
                ends=np.empty(singles, np.int64),
            )
            return
        name = "lines" if why == heap.NO_LINE else "heap"
        array = getattr(self._swept, name)
        self._check_memory(2 * array.nbytes)
        larger = np.empty(2 * len(array), np.int64)
        larger[: len(array)] = array
        self._swept = self._swept._replace(**{name: larger})
