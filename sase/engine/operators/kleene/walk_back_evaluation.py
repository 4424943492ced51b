"""(SASE++) Postponed evaluation: collect events, and walk back from the last one of a match."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from sase.binding.bound import BoundComponent
from sase.engine.blocks.block import Block
from sase.engine.columns.arrays import grown_ring
from sase.engine.kernels.kleene import candidates as of
from sase.engine.kernels.kleene.run_nodes import CROWDED, DONE, FULL, Incoming
from sase.engine.kernels.kleene.walk_back import advance_walks
from sase.engine.kernels.sentinels import EARLIEST, NOTHING
from sase.engine.operators.bindings.bindings import Bindings
from sase.engine.operators.contract import Context, Counters, bound_of, span_of
from sase.engine.operators.kleene.early_filters import EarlyProgram
from sase.engine.operators.kleene.evaluation import up_to_required
from sase.engine.operators.kleene.run_evaluation import wanted
from sase.engine.operators.kleene.walked_instances import WalkedInstances
from sase.engine.operators.programs.series_program import pattern_of
from sase.engine.operators.taken_matches import TakenMatches
from sase.engine.snapshots.layout import Own
from sase.engine.snapshots.saved_state import Saved
from sase.planning.nodes import RunEvaluation

NONE_TAKEN = np.zeros(0, np.int64)


class WalkBackEvaluationState(WalkedInstances):
    """A running evaluation under skip till any match that holds events instead of runs.

    Where matches must not overlap others that are `taken`, each of these ends events.
    """

    layout = WalkedInstances.layout | dict(taken=Own(path=None))
    kernel = staticmethod(advance_walks)

    def __init__(
        self, node: RunEvaluation, context: Context, taken: TakenMatches | None = None
    ) -> None:
        self._taken = taken
        super().__init__(node, context)
        self._early = EarlyProgram(context, node)
        self._unsafe = self._program.code.without([each.condition for each in node.safe])
        levels, components = context.levels, node.components
        bounds = of.Bounds(
            span_of(node.window),
            # Ranks of another partition do not compare.
            int(self._prunes() and not node.counts_in_partitions),
            up_to_required(components, range(levels)),
            up_to_required(components, reversed(range(levels))),
            int(self._binds),
            self._asks(components),
            wanted(taken),
            np.array(
                [up_to_required(components, reversed(range(n))) for n in range(levels)], np.int64
            ),
        )
        size = context.options.stack
        self._walk = of.WalkBack(
            pattern_of(components),
            bounds,
            np.zeros((size, of.FIELDS + 2 * levels), np.int64),
            unknown(16 * levels),
            np.zeros((size, of.STEP), np.int64),
            np.zeros((2 * size + levels, of.WAY + levels), np.int64),
            self._program.cells(size + 1),  # the root, and the first event of a walk
            np.zeros(of.STATE, np.int64),
        )

    def push(self, block: Block, below: Iterator[Any]) -> Iterator[Bindings]:
        """Yield the matches that a block completes."""
        self._seen += len(block)
        if self._taken is not None:
            self._taken.note(block)
        if self.node.nothing is not None:
            return
        incoming = self._incoming(block, block.positions)
        if self.node.discarding:  # which tells what an event begins from what it goes on with
            incoming = incoming._replace(begins=incoming.begins.copy())
        self._make_room_for_keys(self._context.dictionary.size(self._key))
        yield from self._walked(incoming)

    def _walked(self, incoming: Incoming) -> Iterator[Bindings]:
        """Add events, and yield the matches that they complete."""
        machine, early = self._program.machine(), self._early.machine()
        unsafe = machine._replace(tables=self._unsafe)
        taken = NONE_TAKEN if self._taken is None else self._taken.orders
        self._walk.state[of.AT] = 0
        why = NOTHING
        while why != DONE:
            why = advance_walks(
                machine, unsafe, early, self._walk, incoming, taken, self._room.written
            )
            yield from self._flush(why)
            self._end_overlapping(incoming, why)
            self._context.check(0)
            if why == CROWDED:
                self._make_room()

    def _end_overlapping(self, incoming: Incoming, why: int) -> None:
        """End what overlaps the matches that were taken meanwhile."""
        if self._taken is None or not self._taken.are_told:
            return
        keys, _, taken = self._taken.told()
        state = self._walk.state
        walked = int(incoming.keys[state[of.AT]]) if state[of.DEPTH] else NOTHING
        of.end_overlapping(self._walk, self._taken.orders, keys, walked)
        if why == FULL:
            self._room.fit(taken, self._context.options.chunk)

    def _asks(self, components: Sequence[BoundComponent]) -> int:
        """As bits what conditions there are."""
        node = self.node
        of_number = any(each.minimum > 1 for each in components)
        is_left = self._rest or any(edge.conjunct not in node.safe for edge in node.conditions)
        return (
            of.ON_THE_WAY * bool(node.early)
            | of.OF_CANDIDATES * bool(node.dismissing or of_number)
            | of.SAFE * bool(node.safe)
            | of.UNSAFE * bool(is_left)
            | of.OF_EARLIER * bool(node.discarding)
        )

    def _make_room_for_keys(self, keys: int) -> None:
        known, levels = self._walk.known, self._context.levels
        more = keys * levels - len(known)
        if more > 0:
            known = np.concatenate([known, unknown(max(more, len(known)))])
            self._walk = self._walk._replace(known=known)
        if self._taken is not None:
            self._taken.make_room(keys)

    def _make_room(self) -> None:
        """Double what is full."""
        found = self._walk
        state, size = found.state, len(found.cells)
        cells, steps, ways, nodes = found.cells, found.steps, found.ways, found.nodes
        if state[of.COUNT] - state[of.TAIL] >= size:
            numbers = np.arange(state[of.TAIL], state[of.COUNT])
            cells = grown_ring(cells, 2 * size, numbers)
        if state[of.DEPTH] + 2 >= len(steps):
            steps = np.append(steps, np.zeros_like(steps), axis=0)
        if state[of.DEPTH] + 3 >= len(nodes):
            nodes = self._program.cells(2 * len(nodes))
        if cells is found.cells and steps is found.steps and nodes is found.nodes:
            ways = np.append(ways, np.zeros_like(ways), axis=0)
        self._walk = found._replace(cells=cells, steps=steps, ways=ways, nodes=nodes)

    def horizon(self) -> int | None:
        """The oldest instance."""
        found = self._walk
        if self._watermark.is_final:
            return None
        if found.bounds.prunes or self._taken is not None:
            bound = bound_of(self._watermark, self._window) if found.bounds.prunes else EARLIEST
            of.evict(found.cells, found.state, bound)
        first = self._oldest()
        return first if self._taken is None else self._taken.horizon(first)

    def counters(self) -> Counters:
        """Events, instances and live ones; walks, visits, matches bound, what filters saved."""
        state = self._walk.state
        return {
            "events": self._seen,
            **self._counted_walks(),
            "dismissed": int(state[of.DISMISSED]),
            "safe": int(state[of.SAFE_WALKS]),
            "matches": self._built,
            **self._counted(sum(array.nbytes for array in self._walk[2:])),
        }

    def _encoded(self) -> dict[str, Any]:
        taken = {} if self._taken is None else {"taken": self._taken}
        return super()._encoded() | taken

    def _take(self, saved: Saved, values: Any) -> None:
        super()._take(saved, values)
        if self._taken is not None:
            self._taken.make_room(len(values.known) // self._context.levels)


def unknown(rows: int) -> np.typing.NDArray[np.int64]:
    """The initial state of levels of partitions."""
    return np.tile(np.array([NOTHING, EARLIEST, EARLIEST, NOTHING], np.int64), (rows, 1))
