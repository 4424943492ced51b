"""The short way of events that are loaded to the matches of lines that ask little of them.

Such are series of which a further event is compared with the one before it, or with none: rising
prices, or all events of a kind up to another one. The conditions on single events are decided for
many of them before, and one kernel goes from the columns to the matches. It keeps lines in a way of
its own, so that a run goes this way as a whole or not at all.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any
from weakref import proxy

import numpy as np
from numpy.typing import NDArray

from sase.engine.blocks.block import Block, EventRange, Watermark
from sase.engine.columns import Events
from sase.engine.kernels.jit.arrow_memory import forms_of
from sase.engine.operators.swept_evaluation import SweptEvaluationState
from sase.engine.operators.transformation import Results, TransformationState
from sase.engine.pipeline.fused.scan import NO_DIGITS, numbers_of_keys

if TYPE_CHECKING:
    from sase.engine.pipeline.matcher import Matcher

# There is a bit for each level in a byte, and for each key a line of the cache.
MOST_LEVELS, MOST_KEYS = 8, 1 << 16
# The conditions on single events are decided for so many blocks at once, as they take a byte each.
BLOCKS = 4
# Every event is gone through: of the first ones so large a share must be of the query's types.
FIRST, SHARE = 1 << 12, 1 / 3


class LineSweep:
    """Takes a matcher through events that are loaded, which are all there are."""

    is_whole = True

    def __init__(
        self, matcher: Matcher, evaluation: SweptEvaluationState, top: TransformationState
    ) -> None:
        # Not held: the matcher holds this, and both would stay until garbage is collected.
        self._matcher, self._evaluation, self._top = proxy(matcher), evaluation, top
        self._codes = matcher._context.dictionary.codes_of(evaluation.key)
        # The numbers of keys, once it is known that events can be swept.
        self._arrays: list[NDArray[Any]] | None = None

    @classmethod
    def of(cls, matcher: Matcher) -> LineSweep | None:
        """That of a matcher, if its plan has lines that ask little of events, and no more."""
        plan, context, (evaluation, *above) = matcher._plan, matcher._context, matcher._operators
        if not isinstance(evaluation, SweptEvaluationState) or len(above) != 1:
            return None
        (top,), tests, declare = above, evaluation.key.tests, matcher._types.declare
        assert isinstance(top, TransformationState)
        asks_more = (
            matcher._stopwatch is not None or plan.options.analyze
            or context.levels > MOST_LEVELS or plan.returned.limit is not None
            or (plan.ranked and set(plan.ranked) != set(tests)) or not evaluation.asks_little
        )  # fmt: skip
        if asks_more or any(t.attributes or declare(t.attribute) is not None for t in tests):
            return None
        return cls(matcher, evaluation, top)

    def prepare(self, events: Events) -> None:
        """Make ready for events what takes this thread only, and no kernel."""
        self.begins_whole(events)

    def over(self, events: Events) -> Generator[Results, None, int]:
        """The results of all events, or of none: how many were gone through."""
        if not self.begins_whole(events):
            return 0
        assert self._arrays is not None
        matcher, evaluation, at = self._matcher, self._evaluation, self._matcher._front.at
        keys, digits = forms_of(self._arrays), self._codes.digits
        digits, by_code = NO_DIGITS if digits is None else digits, self._states_of(events)
        position, size = at.events, matcher._plan.options.block
        for begin in range(0, len(events), BLOCKS * size):
            piece = self._block(events, begin, min(begin + BLOCKS * size, len(events)), position)
            states = _by_type(by_code, events.types[piece.rows])
            stream = evaluation.stream(piece, states, keys, digits)
            matcher._notes.note_types(events, piece.rows)
            for first in range(0, len(piece), size):
                end = min(first + size, len(piece))
                yield from self._top.results(evaluation.sweep(stream, end))
                at.events = at.numbers = position + begin + end
                evaluation.advance(Watermark(int(piece.ts[end - 1]), at.events), iter(()))
                matcher._watch(at.events)
                matcher._forget_now_and_then()
        yield from self._top.results(evaluation.rest())
        return len(events)

    def begins_whole(self, events: Events) -> bool:
        """Whether these events are swept: there are codes of all keys, and whole columns."""
        if self._arrays is None and self._pays(events) and not events.by_type:
            tests = self._evaluation.key.tests
            arrays = numbers_of_keys(events, tests)
            if arrays is None or (arrays and not self._fit(arrays, len(events))):
                return False
            keys = self._matcher._context.dictionary.size(self._evaluation.key)
            if keys > MOST_KEYS:
                return False
            is_ranked = bool(self._matcher._plan.ranked)
            if self._evaluation.begin(
                self._block(events, 0, len(events), 0), keys, is_ranked=is_ranked
            ):
                self._arrays = arrays
        return self._arrays is not None

    def _states_of(self, events: Events) -> NDArray[np.uint8]:
        """The levels that admit each type by its code; the last one is that of no type, -1."""
        states = self._matcher._front.states_of(events.type_names)
        return np.concatenate([states[1:], states[:1]]).astype(np.uint8)

    def _pays(self, events: Events) -> bool:
        """Whether enough events are of types that the query names."""
        types = events.types[:FIRST]
        if not len(types):
            return False
        known = np.count_nonzero(_by_type(self._states_of(events), types))
        return bool(known >= SHARE * len(types))

    def _fit(self, arrays: list[NDArray[Any]], events: int) -> bool:
        """Whether codes can be made of all keys themselves."""
        ranges = np.array([(each.min(), each.max()) for each in arrays], np.int64)
        return self._codes.is_open and self._codes.fit(ranges, events)

    def _block(self, events: Events, begin: int, end: int, position: int) -> Block:
        """All events of a piece, which are asked for their types and attributes alone."""
        # One number as an array, which is not repeated in memory.
        number, coding = (
            np.broadcast_to(np.int64(0), end - begin),
            self._matcher._context.dictionary,
        )
        span = EventRange(events, begin, end, position, self._matcher._front.at.ties)
        return Block(span, number, number, events.ts[begin:end], number, number, coding)


def _by_type(by_code: NDArray[np.uint8], types: NDArray[Any]) -> NDArray[np.uint8]:
    """What events have by the code of their type, of which there may be but one."""
    if len(by_code) == 2 and types.min() == 0:
        return np.full(len(types), by_code[0])
    found: NDArray[np.uint8] = by_code[types]
    return found
