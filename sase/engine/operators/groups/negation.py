"""Negative elements inside of repeated groups, checked in the iterations of finished matches."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sase.binding.bound import BoundComponent, Condition, IterationConjunct, Part
from sase.binding.conditions.parts import references, with_values
from sase.engine.blocks.block import Block, Watermark
from sase.engine.blocks.builder import states_by_type
from sase.engine.columns.arrays import Numbers
from sase.engine.expressions.series import Term
from sase.engine.kernels.groups.iteration_checks import forbid_iterations
from sase.engine.operators.bindings.bindings import Bindings
from sase.engine.operators.conditions import ScanFilter
from sase.engine.operators.contract import Context, bound_of
from sase.engine.operators.groups.checks import GroupCheck
from sase.engine.operators.negative_sequences import IndexedEvents
from sase.engine.operators.programs.pattern_states import PatternStates
from sase.engine.snapshots.layout import Declared, Each, Own
from sase.planning.plan.negatives import NegativeComponent
from sase.planning.plan.nodes import Negation, RunEvaluation

if TYPE_CHECKING:
    from sase.engine.operators.groups.iteration_sequences import IterationSequence


@dataclass(frozen=True)
class _Place:
    """A negative element: its group and branch, its slot, and those around it."""

    component: BoundComponent
    group: int
    level: int
    branch: int
    slot: int
    before: int
    after: int
    conjuncts: tuple[IterationConjunct, ...]


class IterationAbsences(Declared):
    """The indexes of all negative elements of repeated groups."""

    layout = dict(indexes=Each(Own(), path="_every"))

    def __init__(self, node: RunEvaluation, context: Context, states: PatternStates) -> None:
        places = list(_places(context, states))
        own = replace(context, components=(), negatives=tuple(p.component for p in places))
        self._window = node.window
        self._components = own.negatives
        self._by_type: tuple[tuple[str, ...], Numbers] | None = None
        self._absences = [_IterationAbsence(place, node, own, context, states) for place in places]
        simple = [each for absence in self._absences for each in absence.simple]
        self._conditions = ScanFilter(own, simple)
        self._sequences = _sequences(node, context, states)
        self._every = (*self._absences, *self._sequences)

    def insert(self, block: Block) -> None:
        """Add the events of a block."""
        for sequence in self._sequences:
            sequence.insert_block(block)
        if not self._absences:
            return
        names = block.events.type_names
        if self._by_type is None or self._by_type[0] != names:
            self._by_type = names, states_by_type(self._components, names, every=False)
        view = copy.copy(block)
        view.states = self._by_type[1][block.events.types[block.rows].astype(np.int64) + 1]
        states = self._conditions.states(view)
        for each in self._absences:
            each.insert(view, states)

    def passing(self, bindings: Bindings) -> Bindings:
        """The matches without a forbidding event or sequence in any iteration."""
        if not self._every:
            return bindings
        keep = np.ones(bindings.size, np.bool_)
        for each in self._absences:
            each.forbid(bindings, keep)
        for sequence in self._sequences:
            sequence.forbid_in_iterations(bindings, keep)
        return bindings if keep.all() else bindings[:, keep]

    def evict(self, watermark: Watermark) -> None:
        """Drop the events before any later match."""
        for each in self._every:
            each.evict(bound_of(watermark, self._window))

    def oldest(self) -> int | None:
        """The oldest event."""
        known = [each.oldest() for each in self._every]
        return min((each for each in known if each is not None), default=None)


def _sequences(
    node: RunEvaluation, context: Context, states: PatternStates
) -> tuple[IterationSequence, ...]:
    """The negative sequences; their kernels are loaded only if a group has one."""
    groups = (states.group(number) for number in range(len(states.levels)))
    if not any(each.forbidding for each in groups):
        return ()
    from sase.engine.operators.groups.iteration_sequences import iteration_sequences

    return tuple(iteration_sequences(node, context, states))


class _IterationAbsence(IndexedEvents):
    """The index of a negative element, with its conditions."""

    def __init__(
        self,
        place: _Place,
        node: RunEvaluation,
        own: Context,
        context: Context,
        states: PatternStates,
    ) -> None:
        tests = node.equivalences
        negation = NegativeComponent(place.component, 0, 0, equivalences=tests)
        super().__init__(negation, Negation(node, (negation,), node.window), own)
        at_hand = context.components[place.level].index
        self.simple: list[tuple[int, Condition]] = list(own.negative_conditions(negation))
        terms = list[Term]()
        for each in place.conjuncts:
            if all(_is_of(value, at_hand, place.slot) for value in references(each.condition)):
                self.simple.append((place.component.index, _alone(each.condition, place)))
                continue
            terms.append(
                Term(
                    each.condition,
                    judged=at_hand,
                    quantified=each.quantified,
                    at_hand=at_hand,
                    own_variable=place.slot,
                    given=True,
                )
            )
        self._check = GroupCheck(context, self.rest, terms, 1)
        where = place.group, place.level, place.branch, place.before, place.after
        self._place = np.array(where, np.int64)

    def forbid(self, bindings: Bindings, keep: np.typing.NDArray[np.bool_]) -> None:
        """Clear `keep` for the matches that some event forbids."""
        arguments, given = self._check.arguments(bindings), self._check.program.cursors
        forbid_iterations(
            *arguments, self.arrays, self.gap, self.stored(), given, self._place, keep
        )


def _places(context: Context, states: PatternStates) -> Any:
    """All negative elements, with indexes of their own."""
    every = (*(each.component for each in states.states), *context.components, *context.negatives)
    index = 1 + max(each.index for each in every)
    for group, level in enumerate(states.levels):
        for number, branch in enumerate(states.group(group).branches):
            for place, element in enumerate(branch.elements):
                if not element.negated:
                    continue
                positive = [n for n, each in enumerate(branch.elements) if not each.negated]
                before = max(n for n in positive if n < place)
                after = min(n for n in positive if n > place)
                yield _Place(
                    replace(element, index=index),
                    group,
                    level,
                    number,
                    branch.variables[place],
                    branch.variables[before],
                    branch.variables[after],
                    tuple(each for each in branch.conjuncts if each.element == place),
                )
                index += 1


def _is_of(value: Any, group: int, slot: int) -> bool:
    """Whether a value reads a variable of this group: another group may use the same number."""
    is_inside = value.component == group and value.inner is not None
    return is_inside and value.inner.variable == slot


def _alone(condition: Condition, place: _Place) -> Condition:
    """A condition on the event alone, as one on a component by itself."""
    index = place.component.index
    return with_values(
        condition, lambda each: replace(each, component=index, part=Part.EVENT, inner=None)
    )
