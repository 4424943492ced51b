"""The states of a pattern with repeated groups: the iteration, and the element that is bound in it.

Of `(SEQ(B b, C c))+ g[]` they are b and c, and b comes behind c again. A match is a path from the
root, and every binding is exactly one path, as each iteration is of one branch. Of a set beside
groups the states are those of its members (`SubsetStates`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from sase.binding.bound import BoundComponent, elements_of
from sase.engine.match_graph.states import (
    Move,
    SubsetState,
    beside,
    highest,
    inside,
    is_complete,
    refreshed,
    unbound,
)


@dataclass(frozen=True)
class IterationStates:
    """The automaton of components, some of which are groups.

    Of a state `element` is a component or a set. `bound` are of a component the iterations, the
    branch of the iteration at hand, the place in that, and how many events there are at it; of a
    set how many events each member has.
    """

    written: Sequence[BoundComponent]

    @cached_property
    def elements(self) -> Sequence[tuple[int, ...]]:
        """What is written of each element."""
        return elements_of(self.written)

    @cached_property
    def parts(self) -> tuple[tuple[tuple[BoundComponent, ...], ...], ...]:
        """What an iteration of each branch is of; of what is no group the components themselves."""
        return tuple(map(self._branches, self.elements))

    def _branches(self, element: tuple[int, ...]) -> tuple[tuple[BoundComponent, ...], ...]:
        group = self.written[element[0]].group
        if group is None:
            return (tuple(self.written[level] for level in element),)
        branches = group.branches
        return tuple(tuple(each.elements[n] for n in each.positive) for each in branches)

    @cached_property
    def components(self) -> tuple[BoundComponent, ...]:
        """The components by level, those of groups one after the other."""
        return tuple(part for parts in self.parts for branch in parts for part in branch)

    @cached_property
    def _first(self) -> dict[tuple[int, int], int]:
        """The first level of each branch of each element."""
        branches = [(n, b) for n, parts in enumerate(self.parts) for b in range(len(parts))]
        sizes = (len(self.parts[number][branch]) for number, branch in branches)
        return dict(zip(branches, accumulate(sizes, initial=0), strict=False))

    def closes(self, state: SubsetState) -> bool:
        """Whether a match may end there."""
        rest = range(state.element + 1, len(self.elements))
        return state.element >= 0 and self._is_left(state) and all(map(self._may_be_empty, rest))

    def moves(self, state: SubsetState) -> Iterator[Move]:
        """What an event may do that is later than those before."""
        if state.element >= 0:
            yield from self._within(state)
            if not self._is_left(state):
                return
        for number in range(state.element + 1, len(self.elements)):
            yield from self._entered(number)
            if not self._may_be_empty(number):
                return

    def settled(self, state: SubsetState) -> SubsetState:
        """The state that is left when time goes on."""
        return state._replace(fresh=None)

    def refreshed(self, move: Move) -> SubsetState:
        """The state that a simultaneous event leads to."""
        if self._is_set(move.target.element):
            return refreshed(self.components, move)
        return move.target._replace(fresh=0)

    def simultaneous(self, state: SubsetState) -> Iterator[Move]:
        """What another event of the same time may do: be bound by another member of a set."""
        if self._is_set(state.element):
            yield from beside(self.components, self._levels(state.element), state)

    # ------------------------------------------------------------ elements

    def _is_set(self, element: int) -> bool:
        return len(self.elements[element]) > 1

    def _may_be_empty(self, element: int) -> bool:
        return not any(self.written[level].minimum for level in self.elements[element])

    def _levels(self, element: int) -> range:
        """The levels of a set."""
        first = self._first[element, 0]
        return range(first, first + len(self.elements[element]))

    def _own(self, element: int) -> BoundComponent:
        """What is written of an element that is no set."""
        (level,) = self.elements[element]
        return self.written[level]

    def _entered(self, element: int) -> Iterator[Move]:
        """The events that an element may begin with."""
        if self._is_set(element):
            levels = self._levels(element)
            return inside(self.components, levels, unbound(element, levels))
        return self._iteration(element, 1)

    def _within(self, state: SubsetState) -> Iterator[Move]:
        """What an event may do in the element at hand."""
        number = state.element
        if self._is_set(number):
            yield from inside(self.components, self._levels(number), state)
            return
        iterations, branch, place, count = state.bound
        own, part = self._own(number), self.parts[number][branch][place]
        if part.maximum is None or count < part.maximum:
            yield self._move(number, (iterations, branch, place, count), begins=False)
        if count < part.minimum or own.group is None:
            return
        yield from self._begun(number, (iterations, branch, place + 1), begins=False)
        if self._is_through(state) and (own.maximum is None or iterations < own.maximum):
            yield from self._iteration(number, min(iterations + 1, highest(own)))

    def _iteration(self, number: int, iterations: int) -> Iterator[Move]:
        """The events that a component may begin with, or another iteration of it."""
        for branch in range(len(self.parts[number])):
            yield from self._begun(number, (iterations, branch, 0), begins=True)

    def _begun(self, number: int, at: tuple[int, int, int], *, begins: bool) -> Iterator[Move]:
        """The events that the rest of an iteration may go on with."""
        iterations, branch, place = at
        for each in range(place, len(self.parts[number][branch])):
            yield self._move(number, (iterations, branch, each, 0), begins=begins)
            if self.parts[number][branch][each].minimum:
                return

    def _move(self, number: int, at: tuple[int, int, int, int], *, begins: bool) -> Move:
        """One more event where there are some already, or none."""
        iterations, branch, place, count = at
        more = min(count + 1, highest(self.parts[number][branch][place]))
        target = SubsetState(number, (iterations, branch, place, more))
        begins = begins and self._own(number).group is not None
        return Move(self._first[number, branch] + place, count > 0, target, begins)

    def _is_through(self, state: SubsetState) -> bool:
        """Whether the iteration may end."""
        _, branch, place, count = state.bound
        first, *rest = self.parts[state.element][branch][place:]
        return count >= first.minimum and not any(each.minimum for each in rest)

    def _is_left(self, state: SubsetState) -> bool:
        """Whether the element may end."""
        if self._is_set(state.element):
            return is_complete(self.components, self._levels(state.element), state)
        own, iterations = self._own(state.element), state.bound[0]
        return self._is_through(state) and (own.group is None or iterations >= own.minimum)
