"""Evaluate runs with imprecise time: walk back by intervals to all candidates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from sase.binding.bound import BoundComponent, Placeholder
from sase.engine.blocks.block import Block, Watermark
from sase.engine.columns.arrays import Floats, Numbers, grown, grown_ring
from sase.engine.kernels.confidence import interval_walk as walk
from sase.engine.kernels.confidence.order import MOST_COEFFICIENTS
from sase.engine.kernels.jit.signatures import frozen
from sase.engine.kernels.kleene import candidates as of
from sase.engine.kernels.kleene.run_nodes import CROWDED, DONE, Incoming, Pattern
from sase.engine.kernels.sentinels import LATEST, NOTHING
from sase.engine.operators.bindings.bindings import Bindings
from sase.engine.operators.contract import Context, Counters, span_of
from sase.engine.operators.kleene.early_filters import EarlyProgram
from sase.engine.operators.kleene.evaluation import up_to_required
from sase.engine.operators.kleene.match_room import MatchRoom
from sase.engine.operators.kleene.walked_instances import WalkedInstances
from sase.engine.operators.programs.series_program import pattern_of
from sase.engine.snapshots.layout import Array
from sase.engine.snapshots.saved_state import Saved
from sase.planning.plan.nodes import RunEvaluation

# The initial capacity for a candidate's events.
FEW_STEPS = 64
NO_NUMBERS = np.zeros(0, np.int64)
NO_EVENTS = Incoming(*[NO_NUMBERS] * len(Incoming._fields))


class IntervalEvaluationState(WalkedInstances):
    """A running evaluation that yields candidates, their events in the order of the pattern.

    A possible last event is walked from once its time is over in every world.
    """

    layout = WalkedInstances.layout | dict(due=Array(None, 2, path=None))
    fields, begins, takes = walk.FIELDS, walk.BEGINS, walk.TAKES

    def __init__(self, node: RunEvaluation, context: Context) -> None:
        context.kernels.append(walk.advance_intervals)
        super().__init__(node, context)
        self._room = MatchRoom(self._memory, context.levels, context.options.chunk)
        self._early = EarlyProgram(context, node)
        levels, components = context.levels, node.components
        bounds = of.Bounds(
            span_of(node.window),
            int(node.window is not None),
            up_to_required(components, range(levels)),
            up_to_required(components, reversed(range(levels))),
            int(bool(node.conditions or self._rest)),
            of.ON_THE_WAY * bool(node.early),
            0,
            np.array(
                [up_to_required(components, reversed(range(n))) for n in range(levels)], np.int64
            ),
        )
        size = context.options.stack
        steps = min(size, FEW_STEPS) + 2
        self._walk = of.WalkBack(
            _pattern(components),
            bounds,
            np.zeros((size, walk.FIELDS + 2 * levels), np.int64),
            np.full((16 * levels, of.KNOWN), NOTHING, np.int64),
            np.zeros((steps, walk.STEP), np.int64),
            np.zeros((steps, of.WAY + levels), np.int64),
            self._program.cells(steps + 1),
            np.zeros(walk.STATE, np.int64),
        )
        least = node.least
        assert not isinstance(least, Placeholder), "a plan that runs has all parameters"
        self._likely = _likelihood(0.0 if least is None else float(least), steps)
        # A heap of possible last events.
        self._due = np.zeros((size, 2), np.int64)

    def push(self, block: Block, below: Iterator[Any]) -> Iterator[Bindings]:
        """Yield the candidates with a last event that is over before an event of a block."""
        self._seen += len(block)
        if self.node.nothing is None:
            assert block.until is not None
            incoming = self._admission.incoming(block)
            self._make_room_for_keys(self._context.dictionary.size(self.key))
            yield from self._walked(incoming, block.until, self._watermark.ts)

    def advance(self, watermark: Watermark, below: Iterator[Bindings]) -> Iterator[Bindings]:
        """Yield the candidates with a last event that is over."""
        self._watermark = watermark
        before = LATEST if watermark.is_final else watermark.ts
        yield from self._walked(NO_EVENTS, NO_NUMBERS, before)

    def _walked(self, incoming: Incoming, until: Numbers, before: int) -> Iterator[Bindings]:
        self._walk.state[of.AT] = 0
        machine, early = self._program.machine(), self._early.machine()
        until, why = np.ascontiguousarray(until), NOTHING
        while why != DONE:
            why = walk.advance_intervals(
                machine, early, self._walk, self._likely, incoming, until, self._due, before,
                self._room.written,
            )  # fmt: skip
            yield from self.flushed(why)
            self._context.check(0)
            if why == CROWDED:
                self._make_room()

    def _make_room_for_keys(self, keys: int) -> None:
        known, levels = self._walk.known, self._context.levels
        if keys * levels > len(known):
            room = max(keys * levels, 2 * len(known))
            self._walk = self._walk._replace(known=grown(known, room, NOTHING))

    def _make_room(self) -> None:
        """Double the full arrays."""
        found, levels = self._walk, self._context.levels
        state, size = found.state, len(found.cells)
        if state[of.COUNT] - state[of.TAIL] >= size:
            numbers = np.arange(state[of.TAIL], state[of.COUNT])
            found = found._replace(cells=grown_ring(found.cells, 2 * size, numbers))
        if state[walk.WAITING] + levels > len(self._due):
            self._due = grown(self._due, 2 * len(self._due) + levels)
        if state[of.DEPTH] + 1 >= len(found.steps):
            room = 2 * len(found.steps)
            found = found._replace(
                steps=grown(found.steps, room),
                ways=grown(found.ways, room),
                nodes=self._program.cells(room + 1),
            )
            self._likely = _likelihood(self._likely.least, room, self._likely.known)
        self._walk = found

    def horizon(self) -> int | None:
        """The oldest instance that may still be in a candidate."""
        if self._watermark.is_final:
            return None
        if self._walk.bounds.prunes:
            walk.evict_instances(self._walk, self._due, self._watermark.ts)
        return self._oldest()

    def counters(self) -> Counters:
        """Events, instances and live ones; walks, visits, candidates, rejections."""
        state = self._walk.state
        return {
            "events": self._seen,
            **self._counted_walks(),
            "unlikely": int(state[walk.UNLIKELY]),
            "matches": self._built,
            **self._counted(sum(array.nbytes for array in (*self._walk[2:], self._due))),
        }

    def _encoded(self) -> dict[str, Any]:
        return super()._encoded() | {"due": self._due[: self._walk.state[walk.WAITING]]}

    def _take(self, saved: Saved, values: Any) -> None:
        super()._take(saved, values)
        cells, due, state, levels = values.cells, values.due, values.state, self._context.levels
        keys = cells[:, walk.KEY]
        is_key = (keys >= 0) & ((keys + 1) * levels <= len(values.known))
        saved.check(bool(is_key.all()), "an instance is of no partition")
        saved.check(not cells[:, walk.IS_CHOSEN].any(), "a walk is under way")
        saved.check(len(due) == state[walk.WAITING], "there is not a row for each that waits")
        which = due[:, 1] // levels
        is_there = (which >= state[of.TAIL]) & (which < state[of.COUNT])
        saved.check(bool(is_there.all()), "no instance waits there")
        self._due = grown(due, max(len(self._due), 2 * len(due)))


def _likelihood(least: float, room: int, known: Floats | None = None) -> walk.Likelihood:
    """Memory for the probability of a number of steps, some of which may be known."""
    needed = room if least else 1
    bounds, size = 2 * needed + 2, (2 * needed + 2) * min(needed, MOST_COEFFICIENTS)
    steps = np.ones(room)
    if known is not None:
        steps[: len(known)] = known
    lo, hi = np.empty(needed, np.int64), np.empty(needed, np.int64)
    cuts, begins, counts = (np.empty(bounds, np.int64) for _ in range(3))
    values, weights, sums = np.empty(size), np.empty(size), np.empty(needed + 1)
    return walk.Likelihood(least, steps, lo, hi, cuts, begins, counts, values, weights, sums)


def _pattern(components: Sequence[BoundComponent]) -> Pattern:
    kinds = [
        0 if each.is_single else walk.SEQUENCE if each.is_sequence else walk.SET
        for each in components
    ]
    return pattern_of(components)._replace(kleene=frozen(np.array(kinds, np.int64)))
