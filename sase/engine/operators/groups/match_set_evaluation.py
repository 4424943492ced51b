"""(SASE++) Collapsed evaluation of patterns with repeated groups."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sase.binding.bound import Part
from sase.binding.parts import with_values
from sase.cached_property import cached_property
from sase.engine.columns.arrays import Numbers
from sase.engine.match_graph import Edge, Neighbours
from sase.engine.match_graph.slots import SlotAutomaton
from sase.engine.operators.bindings.bindings import Bindings
from sase.engine.operators.bindings.groups import GroupBindings
from sase.engine.operators.groups.events import GroupEvents
from sase.engine.operators.kleene.match_set_evaluation import (
    BEGINS,
    TIE,
    MatchSetEvaluationState,
    NeighbourConditions,
    PreviousAndCurrent,
    filter_of_pairs,
)
from sase.planning.automaton.automaton import PatternState
from sase.planning.iteration_paths import Adjacent, Element, absent_in, adjacent_in, adjacent_to


class GroupMatchSetState(GroupEvents, MatchSetEvaluationState):
    """A collapsed evaluation that collects events for the states of an automaton to count.

    Those of negative elements are among them, so that a pair of others knows what is between.
    """

    @cached_property
    def _elements(self) -> Sequence[PatternState]:
        """The states of the automaton, and what may not be between two of them."""
        return (*self._states.states, *self._states.negatives)

    # ------------------------------------------------------------ neighbours

    def _tested(self) -> NeighbourConditions:
        """The conditions on neighbours: events of one iteration, or of two in a row."""
        found, flat = NeighbourConditions(), replace(self._context, components=self._flat)
        for each in self._adjacent():
            one, other = self._element(each.earlier), self._element(each.later)
            condition = with_values(
                each.condition,
                lambda value, one=one, other=other: replace(  # type: ignore[misc]
                    value,
                    component=(one if value.part is Part.PREVIOUS else other).component.index,
                ),
            )
            pair = self._pair(each.earlier, each.later, begins=each.begins)
            rows = {other.component.index: 1, one.component.index: 0}
            found.add(pair, filter_of_pairs(flat, condition, PreviousAndCurrent, rows))
        return found

    def _adjacent(self) -> Iterator[Adjacent]:
        for level in range(len(self.node.components)):
            yield from adjacent_in(self.node.components, level)
        for conjunct in self.node.early:
            yield from adjacent_to(conjunct, self.node.components)

    def _element(self, at: Element) -> PatternState:
        """The state of an element, or what is negative."""
        where = at.level, at.branch, at.element
        return next(e for e in self._elements if (e.level, e.branch, e.place) == where)

    def _pair(self, earlier: Element, later: Element, *, begins: bool) -> Neighbours:
        """Neighbours, the later of which begins an iteration, or does not."""
        one, other = self._element(earlier).number, self._element(later).number
        return Neighbours(one, other, one == other and not begins, begins)

    @cached_property
    def _absent(self) -> Mapping[Neighbours, list[int]]:
        """The bits of what must not be between neighbours."""
        found = defaultdict[Neighbours, list[int]](list)
        for level, component in enumerate(self.node.components):
            for each in absent_in(component, level):
                pair = self._pair(each.earlier, each.later, begins=False)
                found[pair].append(self._element(each.negative).number)
        return dict(found)

    @property
    def tests_neighbours(self) -> bool:
        """Whether it depends on each other which events may be neighbours in a match."""
        return super().tests_neighbours or bool(self._absent)

    def _edge(self, events: Numbers) -> Edge:
        """Whether neighbours in a match may stand at two places of a partition."""
        holds, ties = super()._edge(events), events[TIE]
        sides: tuple[Literal["left", "right"], ...] = "left", "right"
        before, behind = (np.searchsorted(ties, ties, side) for side in sides)
        counts = {
            bit: np.concatenate([[0], np.cumsum(events[BEGINS] >> bit & 1)])
            for bits in self._absent.values()
            for bit in bits
        }

        def may_be(earlier: Numbers, later: Numbers, pair: Neighbours) -> NDArray[np.bool_]:
            found = holds(earlier, later, pair)
            for bit in self._absent.get(pair, ()):
                found &= counts[bit][before[later]] == counts[bit][behind[earlier]]
            return found

        return may_be

    # ------------------------------------------------------------ matches

    def _formed(self, found: Bindings, slots: Numbers, automaton: SlotAutomaton) -> Bindings:
        """Matches with their iterations, which events begin."""
        states, forms = self._states.states, automaton.all
        begins = np.array([form.begins for form in forms], np.bool_)[slots]
        bits = np.array([form.bit for form in forms], np.int64)[slots]
        levels = np.array([form.level for form in forms], np.int64)[slots]
        is_group = np.array([each.group is not None for each in self.node.components])
        matches = np.repeat(np.arange(found.size), np.diff(found.ends, prepend=0))
        counts = np.zeros((int(is_group.sum()), found.size), np.int64)
        np.add.at(counts, ((np.cumsum(is_group) - 1)[levels[begins]], matches[begins]), 1)
        iterations = (np.cumsum(begins) - 1)[is_group[levels]]
        return GroupBindings(
            found.events,
            found.ends,
            found.lengths,
            np.array([each.slot for each in states], np.int64)[bits],
            counts,
            np.bincount(iterations, minlength=int(begins.sum())).astype(np.int64),
            np.array([each.branch for each in states], np.int64)[bits[begins]],
            levels if self.node.has_sets else None,
        )
