"""(NFAb) Run evaluation: advance the runs of a query with series or a strategy."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from sase.engine.blocks.block import Block
from sase.engine.columns.arrays import Numbers, grown
from sase.engine.kernels.kleene import run_nodes as nodes
from sase.engine.kernels.runs import advance as of
from sase.engine.kernels.runs.graph import FIRST_EDGE, LAST_EDGE
from sase.engine.kernels.sentinels import EARLIEST, NOTHING
from sase.engine.operators.bindings.bindings import Bindings
from sase.engine.operators.contract import Checkpoint, Context, Counters, bound_of, span_of
from sase.engine.operators.kleene.evaluation import RunEvaluationBase
from sase.engine.operators.kleene.saved_automaton import check_automaton_runs
from sase.engine.operators.taken_matches import TakenMatches
from sase.engine.resources import is_too_much
from sase.engine.snapshots.saved_state import MOST_COUNTED, Saved
from sase.errors import BudgetError
from sase.lang.ast import StrategyName
from sase.planning.nodes import RunEvaluation

STRATEGIES = {
    StrategyName.SKIP_TILL_ANY_MATCH: nodes.ANY,
    StrategyName.SKIP_TILL_NEXT_MATCH: nodes.NEXT_MATCH,
    StrategyName.STRICT_CONTIGUITY: nodes.STRICT,
    StrategyName.PARTITION_CONTIGUITY: nodes.RANKED,
    StrategyName.EARLIEST_MAXIMAL: nodes.EARLIEST_MAXIMAL,
}
TOO_MANY = (
    "the runs of this query need more memory than there is: narrow its conditions, give it a"
    " smaller WITHIN, or a stricter strategy such as skip_till_next_match"
)
# Where every run may ignore every event, matches need not be found run by run.
WITHOUT_RUNS = (
    '; the default plan keeps no runs, and output="compressed" (--output compressed) counts matches'
    " without a list of them"
)


def _check_memory(context: Context, needed: int, *, is_any: bool) -> None:
    """Refuse to take memory for runs that there is too little of."""
    context.check(needed)
    if is_too_much(needed):
        raise BudgetError(TOO_MANY + WITHOUT_RUNS * is_any)


class IncrementalEvaluation(RunEvaluationBase):
    """An evaluation that applies each event to the runs there are."""

    def __init__(self, node: RunEvaluation, context: Context) -> None:
        super().__init__(node, context)
        self._strategy = _strategy(node)
        # Not a method: parts of this that are given it would hold this.
        self._check_memory = partial(_check_memory, context, is_any=self._strategy == nodes.ANY)

    def push(self, block: Block, below: Iterator[Any]) -> Iterator[Bindings]:
        """Yield the matches that the events of a block complete."""
        self._seen += len(block)
        if self.node.nothing is not None:
            return
        spots = block.positions
        if self._strategy == nodes.RANKED:
            assert block.ranks is not None
            spots = block.ranks
        incoming = self._incoming(block, spots)
        self._make_room_for_keys(self._context.dictionary.size(self._key))
        yield from self._advance(incoming)

    def _advance(self, incoming: nodes.Incoming) -> Iterator[Bindings]:
        """Yield the matches that events complete."""
        raise NotImplementedError

    def _make_room_for_keys(self, keys: int) -> None:
        """Make room for what is known of so many partitions."""
        raise NotImplementedError

    def _counters(self, counts: Numbers, bytes_held: int) -> Counters:
        """Name events, matches, and the counts from `MADE` to `SPLIT`."""
        made, alive, most_alive, expired, steps, initiated, split = map(int, counts)
        return {
            "events": self._seen,
            "runs": made,
            "initiated": initiated,
            "split": split,
            "alive": alive,
            "most_alive": most_alive,
            "expired": expired,
            "steps": steps,
            "matches": self._built,
            **self._counted(bytes_held),
        }


class RunEvaluationState(IncrementalEvaluation):
    """A running evaluation of runs that share their beginnings.

    Where matches must not overlap others that are `taken`, each of these ends runs.
    """

    kernel: Any = staticmethod(of.advance_chain)

    def __init__(
        self, node: RunEvaluation, context: Context, taken: TakenMatches | None = None
    ) -> None:
        self._taken = taken
        super().__init__(node, context)
        size, span = context.options.stack, span_of(node.window)
        self._graph, self._groups, self._members = self._program.automaton
        self._most = int(
            (self._graph.states[:, LAST_EDGE] - self._graph.states[:, FIRST_EDGE]).max()
        )
        self._runs = nodes.Runs(
            nodes.Rules(
                self._strategy, span, int(self._prunes()), self._states.first, wanted(taken)
            ),
            self._program.cells(size),
            np.full(16, NOTHING, np.int64),
            np.zeros(16, np.int64),
            np.zeros(0, np.int64) if self._taken is None else self._taken.orders,
            np.zeros(size, np.int64),
            np.zeros(nodes.STATE, np.int64),
        )
        self._runs.state[nodes.USED], self._runs.state[nodes.FREE] = 1, NOTHING

    def push(self, block: Block, below: Iterator[Any]) -> Iterator[Bindings]:
        """Yield the matches that the events of a block complete."""
        if self._taken is not None:
            self._taken.note(block)
        return super().push(block, below)

    def _advance(self, incoming: nodes.Incoming) -> Iterator[Bindings]:
        """Yield the matches that events complete."""
        machine, state = self._program.machine(), self._runs.state
        state[nodes.AT] = 0
        why = NOTHING
        while why != nodes.DONE:
            why = self._step(machine, incoming)
            self._context.check(0)
            if why != nodes.PAUSED:
                yield from self._flush(why)
                self._end_overlapping(incoming, why)
            if why == nodes.CROWDED:
                self._make_room_for_event(int(incoming.keys[state[nodes.AT]]))

    def _end_overlapping(self, incoming: nodes.Incoming, why: int) -> None:
        """End what overlaps the matches that were taken meanwhile."""
        if self._taken is None or not self._taken.are_told:
            return
        keys, lasts, taken = self._taken.told()
        state = self._runs.state
        applied = int(incoming.keys[state[nodes.AT]]) if state[nodes.FRESH] else NOTHING
        of.end_overlapping(self._runs, keys, lasts, applied)
        if why == nodes.FULL:
            self._room.fit(taken, self._context.options.chunk)

    def _step(self, machine: nodes.Machine, incoming: nodes.Incoming) -> int:
        """Apply events until the kernel stops; why it did."""
        return of.advance_chain(
            machine, self._graph, None, None, None, None, self._runs, incoming, self._most,
            self._room.written, None,
        )  # fmt: skip

    # ------------------------------------------------------------ room

    def _make_room_for_keys(self, keys: int) -> None:
        runs, room = self._runs, max(keys, 2 * len(self._runs.heads))
        if keys > len(runs.heads):
            heads, counts = grown(runs.heads, room, NOTHING), grown(runs.counts, room)
            self._runs = runs._replace(heads=heads, counts=counts)
        if self._taken is not None:
            self._taken.make_room(keys)
            self._runs = self._runs._replace(taken=self._taken.orders)

    def _make_room_for_event(self, key: int) -> None:
        """Make room for all that the runs of a partition may become by an event."""
        self._make_room_for_nodes((int(self._runs.counts[key]) + 1) * self._most)

    def _make_room_for_nodes(self, needed: int) -> None:
        """Make room for the nodes that an event may make, and one more to try."""
        runs = self._runs
        size = len(runs.cells)
        while size - int(runs.state[nodes.USED]) + int(runs.state[nodes.SPARE]) <= needed:
            size *= 2
        cells, fresh = runs.cells, runs.fresh
        if size > len(cells):
            self._check_memory(8 * size * self._program.width)
            cells = grown(runs.cells, size)
        if needed >= len(fresh):
            fresh = np.zeros(1 << needed.bit_length(), np.int64)
        self._runs = runs._replace(cells=cells, fresh=fresh)

    # ------------------------------------------------------------ time and state

    def horizon(self) -> int | None:
        """The oldest event of any run, once expired ones are freed."""
        bound = EARLIEST if self._watermark.is_final else bound_of(self._watermark, self._window)
        found = self._expire(bound)
        first = None if found == NOTHING else found
        return first if self._taken is None else self._taken.horizon(first)

    def _expire(self, bound: int) -> int:
        """Expire runs; return the oldest event still needed."""
        return int(of.expire(self._runs, bound, self._watermark.position))

    def counters(self) -> Counters:
        """Count events, runs made and alive, steps, and matches."""
        return self._counters(
            self._runs.state[nodes.MADE : nodes.SPLIT + 1], self._runs.cells.nbytes
        )

    def checkpoint(self) -> Checkpoint:
        """The runs."""
        runs = self._runs
        return {
            **super().checkpoint(),
            "cells": runs.cells[: int(runs.state[nodes.USED])],
            "heads": runs.heads,
            "counts": runs.counts,
            "state": runs.state,
            **({} if self._taken is None else {"taken": self._taken.checkpoint()}),
        }

    def restore(self, saved: Saved) -> None:
        """Continue from a checkpoint; behind LIMIT, which may end an event halfway, with none."""
        super().restore(saved)
        state = saved.part("state").array(nodes.STATE, low=NOTHING, high=MOST_COUNTED)
        if saved.live.is_done:
            state[nodes.USED], state[nodes.FREE], state[nodes.SPARE] = 1, NOTHING, 0
            self._runs = self._runs._replace(state=state)
            return
        kept = saved.part("cells").array(None, self._program.width)
        cells = self._program.cells(max(len(kept), len(self._runs.cells)))
        cells[1 : len(kept)] = kept[1:]  # the root is that of the plan
        self._program.check_values(saved, kept[1:])
        heads = saved.part("heads").array(None, low=NOTHING)
        counts = saved.part("counts").array(len(heads))
        saved.check(0 < state[nodes.USED] == len(kept), "there is not a row for each node")
        self._runs = self._runs._replace(cells=cells, heads=heads, counts=counts, state=state)
        self._check(saved)
        if self._taken is not None:
            self._taken.restore(saved.part("taken"))
            self._taken.make_room(len(heads))
            self._runs = self._runs._replace(taken=self._taken.orders)

    def _check(self, saved: Saved) -> None:
        """Refuse runs that lead anywhere else than runs do."""
        check_automaton_runs(saved, self._runs, self._states, self._program.automaton, self._built)


def wanted(taken: TakenMatches | None) -> int:
    """Which matches are wanted of those that overlap."""
    if taken is None:
        return nodes.ALL
    return nodes.FIRST_TAKEN if taken.are_told else nodes.FIRST_ALONE


def _strategy(node: RunEvaluation) -> int:
    if node.is_alone:
        return nodes.ANY
    return nodes.WATCHED if node.is_watched else STRATEGIES[node.strategy]
