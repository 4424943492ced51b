"""(SASE++) The edges of match graphs of patterns with repeated groups."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sase.binding.bound import Part
from sase.binding.conditions.parts import with_values
from sase.cached_property import cached_property
from sase.engine.columns.arrays import Numbers
from sase.engine.match_graph import CandidateEvents, Edge, Neighbours
from sase.engine.match_graph.slots import SlotAutomaton
from sase.engine.operators.bindings.bindings import Bindings
from sase.engine.operators.kleene.match_set_evaluation import (
    GraphEdges,
    NeighbourConditions,
    PreviousAndCurrent,
    filter_of_pairs,
)
from sase.planning.automaton.automaton import PatternState
from sase.planning.automaton.iteration_paths import (
    Adjacent,
    Element,
    absent_in,
    adjacent_in,
    adjacent_to,
)


class GroupEdges(GraphEdges):
    """The pairs of events that may be neighbours in an iteration, or across two adjacent ones.

    Events of negative elements are collected, too, to find those between a pair of neighbours.
    """

    # ------------------------------------------------------------ neighbours

    def _asked(self) -> NeighbourConditions:
        """The conditions on neighbours: events of one iteration, or of two adjacent ones."""
        found, flat = NeighbourConditions(), self._code.admission.context
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
        for level in range(len(self._code.node.components)):
            yield from adjacent_in(self._code.node.components, level)
        for conjunct in self._code.node.early:
            yield from adjacent_to(conjunct, self._code.node.components)

    def _element(self, at: Element) -> PatternState:
        """The state of an element; a negative element has one, too."""
        where = at.level, at.branch, at.element
        return next(
            e for e in self._code.admission.elements if (e.level, e.branch, e.place) == where
        )

    def _pair(self, earlier: Element, later: Element, *, begins: bool) -> Neighbours:
        """A pair of neighbours; with `begins` the later one begins an iteration."""
        one, other = self._element(earlier).number, self._element(later).number
        return Neighbours(one, other, one == other and not begins, begins)

    @cached_property
    def _absent(self) -> Mapping[Neighbours, list[int]]:
        """The bits of negative elements that must have no event between neighbours."""
        found = defaultdict[Neighbours, list[int]](list)
        for level, component in enumerate(self._code.node.components):
            for each in absent_in(component, level):
                pair = self._pair(each.earlier, each.later, begins=False)
                found[pair].append(self._element(each.negative).number)
        return dict(found)

    @property
    def are_tested(self) -> bool:
        """Whether a condition or a negation restricts the pairs of neighbours."""
        return super().are_tested or bool(self._absent)

    def edge(self, numbers: Numbers, events: CandidateEvents) -> Edge:
        """A function that decides whether events at two places of a partition may be neighbours."""
        holds = super().edge(numbers, events)
        bounds, sizes = events.tie_bounds, np.diff(events.tie_bounds)
        before, behind = np.repeat(bounds[:-1], sizes), np.repeat(bounds[1:], sizes)
        counts = {
            bit: np.concatenate([[0], np.cumsum(events.begins >> bit & 1)])
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

    def formed(self, bindings: Bindings, slots: Numbers, automaton: SlotAutomaton) -> Bindings:
        """Matches with their iterations, found by the events that begin them."""
        states, forms = self._code.states.states, automaton.all
        begins = np.array([form.begins for form in forms], np.bool_)[slots]
        bits = np.array([form.bit for form in forms], np.int64)[slots]
        levels = np.array([form.level for form in forms], np.int64)[slots]
        is_group = np.array([each.group is not None for each in self._code.node.components])
        matches = np.repeat(np.arange(bindings.size), np.diff(bindings.ends, prepend=0))
        counts = np.zeros((int(is_group.sum()), bindings.size), np.int64)
        np.add.at(counts, ((np.cumsum(is_group) - 1)[levels[begins]], matches[begins]), 1)
        iterations = (np.cumsum(begins) - 1)[is_group[levels]]
        return replace(
            bindings,
            states=levels if self._code.node.has_sets else None,
            slots=np.array([each.slot for each in states], np.int64)[bits],
            counts=counts,
            sizes=np.bincount(iterations, minlength=int(begins.sum())).astype(np.int64),
            kinds=np.array([each.branch for each in states], np.int64)[bits[begins]],
        )
