"""(Tree) Evaluation of patterns with sets by joins: conjunctions in a set, sequences between."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from sase.binding.bound import ranks_of
from sase.engine.blocks.block import Block
from sase.engine.columns.arrays import Numbers
from sase.engine.operators.bindings.bindings import Bindings
from sase.engine.operators.conditions import ResidualFilter
from sase.engine.operators.contract import Context, Counters
from sase.engine.operators.kleene.evaluation import RunEvaluationBase
from sase.engine.operators.kleene.match_room import MatchRoom
from sase.engine.operators.run_joins import RunJoins, by_join
from sase.engine.snapshots.saved_state import Saved
from sase.planning.plan.nodes import RunEvaluation
from sase.planning.plan.trees import set_joins


class SetTreeEvaluationState(RunEvaluationBase):
    """A buffer of each component and of each join: every round joins the new records."""

    layout = RunEvaluationBase.layout | RunJoins.layout

    def __init__(self, node: RunEvaluation, context: Context) -> None:
        super().__init__(node, context, joins=True)
        self._room = MatchRoom(self._memory, context.levels, context.options.chunk)
        joins, written = set_joins(node.components), [edge.conjunct for edge in node.conditions]
        groups = by_join(written, node.components, joins)
        checking = ResidualFilter(context, self._rest, groups, context.levels)
        self._joins = RunJoins(context, joins, node.window, checking)
        self._ranks = np.array(ranks_of(node.components), np.int64)

    # ------------------------------------------------------------ matches

    def push(self, block: Block, below: Iterator[Any]) -> Iterator[Bindings]:
        """Yield the matches that the events of a block complete."""
        self._seen += len(block)
        if self.node.nothing is not None:
            return
        incoming = self._admission.incoming(block)
        self._joins.widen(self._context.dictionary.size(self.key))
        arrivals = block.arrivals(incoming.begins, incoming.keys, incoming.measures)
        for records in self._joins.rounds(arrivals):
            found = self._ordered(records)
            self._built += found.size
            chunk = self._context.options.chunk
            for first in range(0, found.size, chunk):
                yield found[:, first : first + chunk]

    def _ordered(self, rows: Numbers) -> Bindings:
        """The matches of a round, in the order of results."""
        levels = self._context.levels
        slots = np.argsort(rows, axis=1)
        events = np.take_along_axis(rows, slots, axis=1)
        ranks = self._ranks[slots]
        order = np.lexsort((*ranks.T, *(-events.T[:-1]), events.T[-1]))
        return Bindings(
            np.ascontiguousarray(events[order]).reshape(-1),
            levels * np.arange(1, len(rows) + 1),
            np.ones((levels, len(rows)), np.int64),
            np.ascontiguousarray(slots[order]).reshape(-1),
        )

    # ------------------------------------------------------------ time and state

    def horizon(self) -> int | None:
        """The oldest event of any record, after records with a past window are dropped."""
        self._evict()
        return self._joins.oldest()

    def _evict(self) -> None:
        """Drop the records that are in no later match."""
        self._joins.evict(self._bound)

    def counters(self) -> Counters:
        """Count events, records of all joins, pairs that were tried, and matches."""
        return {
            "events": self._seen,
            **self._joins.counters(),
            "matches": self._built,
            **self._counted(self._joins.size),
        }

    def _encoded(self) -> dict[str, Any]:
        self._evict()
        return super()._encoded() | self._joins.state(self._context.dictionary.size(self.key))

    def _take(self, saved: Saved, values: Any) -> None:
        super()._take(saved, values)
        self._joins.take(values.tried)
