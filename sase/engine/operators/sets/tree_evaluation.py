"""(Tree) Evaluation of patterns with sets by joins: conjunctions in a set, sequences between."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from sase.binding.bound import ranks_of
from sase.engine.blocks.block import Block
from sase.engine.columns.arrays import Numbers
from sase.engine.kernels.kleene.run_nodes import MOMENTS
from sase.engine.kernels.sentinels import EARLIEST
from sase.engine.operators.bindings.sets import SetBindings, SetForm
from sase.engine.operators.contract import Context, Counters, bound_of
from sase.engine.operators.kleene.evaluation import RunEvaluationBase
from sase.engine.operators.programs.series_program import SeriesProgram
from sase.engine.operators.residual_filter import ResidualFilter
from sase.engine.operators.run_joins import RunJoins, by_join
from sase.engine.snapshots.saved_state import Saved
from sase.planning.nodes import RunEvaluation
from sase.planning.trees import set_joins


class SetTreeEvaluationState(RunEvaluationBase):
    """A buffer of each component and of each join: every round joins what is new in them."""

    layout = RunEvaluationBase.layout | RunJoins.layout

    def __init__(self, node: RunEvaluation, context: Context) -> None:
        super().__init__(node, context)
        joins, written = set_joins(node.components), [edge.conjunct for edge in node.conditions]
        groups = by_join(written, node.components, joins)
        checking = ResidualFilter(context, self._rest, groups, context.levels)
        self._joins = RunJoins(context, joins, node.window, checking)
        self._ranks = np.array(ranks_of(node.components), np.int64)
        self.form = SetForm(context.levels, detects=False)

    def _programmed(self) -> SeriesProgram:
        """Nothing: joins decide all conditions."""
        return SeriesProgram(self._context, self._rest, [], MOMENTS * self._context.levels)

    # ------------------------------------------------------------ matches

    def push(self, block: Block, below: Iterator[Any]) -> Iterator[SetBindings]:
        """Yield the matches that the events of a block complete."""
        self._seen += len(block)
        if self.node.nothing is not None:
            return
        incoming = self._incoming(block, block.positions)
        self._joins.widen(self._context.dictionary.size(self._key))
        arrivals = block.arrivals(incoming.begins, incoming.keys, incoming.measures)
        for records in self._joins.rounds(arrivals):
            found = self._ordered(records)
            self._built += found.size
            chunk = self._context.options.chunk
            for first in range(0, found.size, chunk):
                yield found.between(first, first + chunk)

    def _ordered(self, rows: Numbers) -> SetBindings:
        """The matches of a round, in the order of results."""
        levels = self._context.levels
        slots = np.argsort(rows, axis=1)
        events = np.take_along_axis(rows, slots, axis=1)
        ranks = self._ranks[slots]
        order = np.lexsort((*ranks.T, *(-events.T[:-1]), events.T[-1]))
        return SetBindings(
            np.ascontiguousarray(events[order]).reshape(-1),
            levels * np.arange(1, len(rows) + 1),
            np.ones((levels, len(rows)), np.int64),
            np.ascontiguousarray(slots[order]).reshape(-1),
        )

    # ------------------------------------------------------------ time and state

    def horizon(self) -> int | None:
        """The oldest event of any record, once those are given up whose window has passed."""
        self._evict()
        return self._joins.oldest()

    def _evict(self) -> None:
        """Give up what is in no match to come."""
        bound = EARLIEST if self._watermark.is_final else bound_of(self._watermark, self._window)
        self._joins.evict(bound)

    def counters(self) -> Counters:
        """Count events, records of all joins, pairs that they tried, and matches."""
        return {
            "events": self._seen,
            **self._joins.counters(),
            "matches": self._built,
            **self._counted(self._joins.size),
        }

    def _encoded(self) -> dict[str, Any]:
        self._evict()
        return self._joins.state(self._context.dictionary.size(self._key))

    def _take(self, saved: Saved, values: Any) -> None:
        super()._take(saved, values)
        self._joins.take(values.tried)
