"""The events that may be in iterations of repeated groups, by the states that admit them."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sase.binding.bound import BoundComponent, Condition, IterationConjunct, Part, When, WindowKind
from sase.binding.parts import with_values
from sase.engine.blocks.block import Block
from sase.engine.blocks.builder import states_by_type
from sase.engine.columns.arrays import Numbers
from sase.engine.kernels.kleene import run_nodes as nodes
from sase.engine.kernels.sentinels import NOTHING
from sase.engine.operators.contract import Context
from sase.engine.operators.kleene.evaluation import RunEvaluationBase
from sase.engine.operators.scan_filter import ScanFilter
from sase.planning.automaton.automaton import PatternState
from sase.planning.iteration_paths import is_of_negative, is_of_one_event
from sase.planning.nodes import RunEvaluation


class GroupEvents(RunEvaluationBase):
    """What events may be in iterations: the states of the automaton that admit them."""

    def __init__(self, node: RunEvaluation, context: Context, **others: Any) -> None:
        self._by_type: tuple[tuple[str, ...], Numbers] | None = None
        counted = node.window is not None and node.window.kind is WindowKind.PARTITION_EVENTS
        self._is_ranked = counted or node.is_ranked
        super().__init__(node, context, **others)

    @property
    def _elements(self) -> Sequence[PatternState]:
        """What events may be, by bit."""
        return self._states.states

    @property
    def _flat(self) -> tuple[BoundComponent, ...]:
        """The components of the elements."""
        return tuple(each.component for each in self._elements)

    def _of_iterations(self) -> Iterator[tuple[PatternState, IterationConjunct]]:
        """What is asked of elements of iterations."""
        for each in self._elements:
            for conjunct in self._states.conjuncts(each):
                yield each, conjunct

    def _simple(self) -> tuple[ScanFilter, ScanFilter]:
        """The conditions on one event: on each of a state, and on its first alone."""
        flat = replace(self._context, components=self._flat)
        always: list[tuple[int, Condition]] = []
        first: list[tuple[int, Condition]] = []
        for conjunct in self.node.simple:
            assert conjunct.component is not None
            among = first if conjunct.when is When.FIRST else always
            among.append((conjunct.component, conjunct.condition))
        for state, asked in self._of_iterations():
            condition = condition_on_one(asked, state)
            if condition is not None:
                always.append((state.component.index, condition))
        for test in self.node.equivalences:
            if test.value is not None:
                always += flat.values(test, flat.components)
        return ScanFilter(flat, always), ScanFilter(flat, first)

    def _incoming(self, block: Block, spots: Numbers) -> nodes.Incoming:
        return super()._incoming(self._viewed(block), spots)

    def _viewed(self, block: Block) -> Block:
        """The block with the states of the automaton in place of those of components."""
        names = block.events.type_names
        if self._by_type is None or self._by_type[0] != names:
            self._by_type = names, states_by_type(self._flat, names, every=False)
        view = copy.copy(block)
        view.states = self._by_type[1][block.events.types[block.rows].astype(np.int64) + 1]
        # The ranks may be those that another branch counts by.
        if block.ranks is not None and self._is_ranked:
            view.states[block.ranks == NOTHING] = 0
        return view

    @property
    def _width(self) -> int:
        return len(self._elements)


def condition_on_one(conjunct: IterationConjunct, state: PatternState) -> Condition | None:
    """A condition on each event of an element alone, as one on a component by itself."""
    is_alone = is_of_negative if state.component.negated else is_of_one_event
    if not is_alone(conjunct, state.slot):
        return None
    index = state.component.index
    return with_values(
        conjunct.condition, lambda each: replace(each, component=index, part=Part.EVENT, inner=None)
    )
