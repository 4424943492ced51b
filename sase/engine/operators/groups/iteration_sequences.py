"""Negative sequences inside of repeated groups, searched in iterations of finished matches."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sase.binding.bound import BoundNegation, Conjunct
from sase.engine.blocks.block import Block
from sase.engine.blocks.builder import states_by_type
from sase.engine.columns.arrays import Numbers
from sase.engine.expressions.series import Term
from sase.engine.kernels.groups.forbidden_groups import ASKED, forbid_iterations_by_sequences
from sase.engine.kernels.jit.signatures import frozen
from sase.engine.operators.bindings.bindings import Bindings, match_arrays
from sase.engine.operators.conditions import ScanFilter
from sase.engine.operators.contract import Context
from sase.engine.operators.groups.sequences import GroupSequencesInGaps
from sase.engine.operators.programs.pattern_states import PatternStates
from sase.planning.plan.negatives import NegativeSequence
from sase.planning.plan.nodes import Negation, RunEvaluation


class IterationSequence(GroupSequencesInGaps):
    """A negative sequence that is searched in each iteration of a branch."""

    def __init__(
        self,
        negation: BoundNegation,
        where: tuple[int, int, int, int],
        node: RunEvaluation,
        context: Context,
    ) -> None:
        sequence = NegativeSequence(
            negation.components, 0, 0, negation.conjuncts, node.equivalences
        )
        self._at_hand = context.components[where[1]].index
        inside = replace(context, negatives=(*context.negatives, *negation.components))
        super().__init__(sequence, Negation(node, (), node.window, sequences=(sequence,)), inside)
        self._place = np.array((*where, 0), np.int64)
        # The states of a block tell if an event may be in the group; only this finds its
        # components.
        self._bits = frozen(np.arange(self.count))
        self._components = negation.components
        own = replace(context, components=(), negatives=negation.components)
        self._conditions = ScanFilter(own, own.negative_conditions(sequence))
        self._by_type: tuple[tuple[str, ...], Numbers] | None = None

    def insert_block(self, block: Block) -> None:
        """Add the events of a block."""
        names = block.events.type_names
        if self._by_type is None or self._by_type[0] != names:
            self._by_type = names, states_by_type(self._components, names, every=False)
        view = copy.copy(block)
        view.states = self._by_type[1][block.events.types[block.rows].astype(np.int64) + 1]
        self.insert(view, self._conditions.states(view))

    def forbid_in_iterations(self, bindings: Bindings, keep: NDArray[np.bool_]) -> None:
        """Clear `keep` for the matches with an iteration that has a match of this sequence."""
        bound, self._place[ASKED] = bindings.by_level(), 0
        self._matches = self._iterations(bound), match_arrays(bound)
        self.forbid(bindings, keep, at_end=False)

    def _term(self, conjunct: Conjunct, term: Term) -> Term:
        return replace(super()._term(conjunct, term), at_hand=self._at_hand, given=True)

    def _search_gaps(self, bindings: Any, keep: NDArray[np.bool_], *, at_end: bool) -> int:
        program, (iterations, matches) = self._program, self._matches
        return forbid_iterations_by_sequences(
            program.machine(), iterations, self._cells, matches,
            self._lists, self.arrays, self.gap, self.stored(), self._search, self._first,
            program.cursors, self._place, keep,
        )  # fmt: skip


def iteration_sequences(
    node: RunEvaluation, context: Context, states: PatternStates
) -> Iterator[IterationSequence]:
    """The negative sequences of all iterations, each with its place."""
    for group, level in enumerate(states.levels):
        for number, branch in enumerate(states.group(group).branches):
            for negation in branch.negations:
                behind = next(
                    n
                    for n in range(negation.position, len(branch.elements))
                    if not branch.elements[n].negated
                )
                where = group, level, number, branch.variables[behind]
                yield IterationSequence(negation, where, node, context)
