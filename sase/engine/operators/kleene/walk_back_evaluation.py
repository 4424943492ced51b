"""(SASE++) Postponed evaluation: collect events, and walk back from the last one of a match."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from sase.binding.bound import BoundComponent
from sase.engine.blocks.block import Block
from sase.engine.columns.arrays import Numbers, grown_ring
from sase.engine.kernels.kleene import candidates as of
from sase.engine.kernels.kleene.run_nodes import CROWDED, DONE, Incoming
from sase.engine.kernels.kleene.walk_back import advance_walks
from sase.engine.kernels.sentinels import EARLIEST, NOTHING
from sase.engine.operators.bindings.bindings import Bindings
from sase.engine.operators.contract import Context, Counters, span_of
from sase.engine.operators.kleene.early_filters import EarlyProgram
from sase.engine.operators.kleene.evaluation import RunCode, up_to_required, wanted
from sase.engine.operators.kleene.match_room import MatchRoom, fewest
from sase.engine.operators.kleene.walked_instances import WalkedInstances
from sase.engine.operators.programs.series_program import pattern_of
from sase.engine.operators.taken_matches import TakenMatches
from sase.engine.snapshots.layout import Declared
from sase.engine.snapshots.saved_state import Saved
from sase.planning.plan.nodes import RunEvaluation

if TYPE_CHECKING:  # for its kernels, which walks without joins never load
    from sase.engine.operators.kleene.joined_events import JoinedEvents

NONE_TAKEN = np.zeros(0, np.int64)


class WalkBackEvaluationState(WalkedInstances):
    """A running evaluation under skip till any match that keeps events instead of runs.

    If matches must not overlap those that are `taken`, each taken match ends events. If events are
    joined, the walks use the events of new records, and no event is kept here.
    """

    def __init__(
        self,
        node: RunEvaluation,
        context: Context,
        joins: Callable[[RunCode], JoinedEvents] | None = None,
        taken: TakenMatches | None = None,
    ) -> None:
        context.kernels.append(advance_walks)
        super().__init__(node, context, taken)
        self._room = MatchRoom(self._memory, context.levels, fewest(taken, context))
        self._early = EarlyProgram(context, node)
        self._unsafe = self._program.code.without([each.condition for each in node.safe])
        levels, components = context.levels, node.components
        bounds = of.Bounds(
            span_of(node.window),
            # Ranks of different partitions do not compare.
            int(self._code.prunes and not node.counts_in_partitions),
            up_to_required(components, range(levels)),
            up_to_required(components, reversed(range(levels))),
            int(bool(node.conditions or self._rest)),
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
        self._joined = None if joins is None else joins(self._code)

    def push(self, block: Block, below: Iterator[Any]) -> Iterator[Bindings]:
        """Yield the matches that a block completes."""
        self._seen += len(block)
        if self._taken is not None:
            self._taken.note(block)
        if self.node.nothing is not None:
            return
        incoming = self._admission.incoming(block)
        if self._joined is not None:
            chosen = self._joined.chosen(block, incoming) if len(block) else None
            if chosen is not None:
                yield from self._walked_anew(*chosen)
            return
        if self.node.discarding:  # the kernel clears bits of `begins`
            incoming = incoming._replace(begins=incoming.begins.copy())
        self._make_room_for_keys(self._context.dictionary.size(self.key))
        yield from self._walked(incoming)

    def _walked_anew(self, older: Incoming, newer: Incoming, keys: int) -> Iterator[Bindings]:
        """Yield the matches of some events that end with one of the newer events."""
        walk, known = self._walk, unknown(self._context.levels * keys)
        # Matches that end with an older event were already found.
        self._walk = walk._replace(known=known, bounds=walk.bounds._replace(last=0))
        yield from self._walked(older)
        self._walk = self._walk._replace(bounds=walk.bounds)
        yield from self._walked(newer)
        self._forget()

    def _forget(self) -> None:
        """Forget the events of walks; LIMIT may have stopped within a walk."""
        state = self._walk.state
        state[of.TAIL] = state[of.COUNT]
        state[of.DEPTH] = state[of.WAYS] = 0
        self._walk = self._walk._replace(known=unknown(self._context.levels))

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
            yield from self.flushed(why)
            self._end_overlapping(partial(self._end_walks, incoming), why)
            self._context.check(0)
            if why == CROWDED:
                self._make_room()

    def _end_walks(self, incoming: Incoming, keys: Numbers, lasts: Numbers) -> None:
        """End the events and walks that overlap the last matches taken of partitions."""
        assert self._taken is not None
        state = self._walk.state
        walked = int(incoming.keys[state[of.AT]]) if state[of.DEPTH] else NOTHING
        of.end_overlapping(self._walk, self._taken.orders, keys, walked)

    def _asks(self, components: Sequence[BoundComponent]) -> int:
        """Return the kinds of conditions that exist, as bits."""
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
        """Double the arrays that are full."""
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
        """Return the oldest kept event, after events are dropped that no later match has."""
        found = self._walk
        if self._watermark.is_final:
            return None
        if self._joined is not None:
            self._evict_joined()
            return self._joined.oldest()
        if found.bounds.prunes or self._taken is not None:
            bound = self._bound if found.bounds.prunes else EARLIEST
            of.evict(found.cells, found.state, bound)
        first = self._oldest()
        return first if self._taken is None else self._taken.horizon(first)

    def counters(self) -> Counters:
        """Count events, instances, walks, visits, and matches, and the effect of filters."""
        state, joined = self._walk.state, self._joined
        held = sum(array.nbytes for array in self._walk[2:])
        return {
            "events": self._seen,
            **self._counted_walks(),
            "dismissed": int(state[of.DISMISSED]),
            "safe": int(state[of.SAFE_WALKS]),
            "matches": self._built,
            **self._counted(held if joined is None else held + joined.size),
            **({} if joined is None else joined.counters()),
        }

    def _evict_joined(self) -> None:
        """Drop the joined events that no later record has."""
        if self._joined is not None and self._walk.bounds.prunes and not self._watermark.is_final:
            self._joined.evict(self._bound)

    def _encoded(self) -> dict[str, Any]:
        if self._joined is not None:
            self._evict_joined()
            self._forget()
        return super()._encoded()

    def _owned(self) -> Sequence[Declared]:
        return () if self._joined is None else (self._joined,)

    def _take(self, saved: Saved, values: Any) -> None:
        super()._take(saved, values)
        if self._taken is not None:
            self._taken.make_room(len(values.known) // self._context.levels)


def unknown(rows: int) -> np.typing.NDArray[np.int64]:
    """Return the initial state of the levels of partitions."""
    return np.tile(np.array([NOTHING, EARLIEST, EARLIEST, NOTHING], np.int64), (rows, 1))
