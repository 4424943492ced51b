"""The states of a pattern with repeated groups: the iteration, and the element that is bound in it.

Of `(SEQ(B b, C c))+ g[]` they are b and c, and b comes behind c again. A match is a path from the
root, and every binding is exactly one path, as each iteration is of one branch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from sase.binding.bound import BoundComponent
from sase.engine.match_graph.states import Move, SubsetState, highest


@dataclass(frozen=True)
class IterationStates:
    """The automaton of components, some of which are groups.

    Of a state `element` is the component, and `bound` the iterations, the branch of the iteration
    at hand, the place in that, and how many events there are at it.
    """

    written: Sequence[BoundComponent]

    @cached_property
    def parts(self) -> tuple[tuple[tuple[BoundComponent, ...], ...], ...]:
        """What an iteration of each branch is of, or a component by itself."""
        return tuple(
            ((each,),)
            if each.group is None
            else tuple(
                tuple(branch.elements[place] for place in branch.positive)
                for branch in each.group.branches
            )
            for each in self.written
        )

    @cached_property
    def components(self) -> tuple[BoundComponent, ...]:
        """The components by level, those of groups one after the other."""
        return tuple(part for parts in self.parts for branch in parts for part in branch)

    @cached_property
    def _first(self) -> dict[tuple[int, int], int]:
        """The first level of each branch of each component."""
        branches = [(n, b) for n, parts in enumerate(self.parts) for b in range(len(parts))]
        sizes = (len(self.parts[number][branch]) for number, branch in branches)
        return dict(zip(branches, accumulate(sizes, initial=0), strict=False))

    def closes(self, state: SubsetState) -> bool:
        """Whether a match may end there."""
        rest = self.written[state.element + 1 :]
        return state.element >= 0 and self._is_left(state) and not any(c.minimum for c in rest)

    def moves(self, state: SubsetState) -> Iterator[Move]:
        """What an event may do that is later than those before."""
        if state.element >= 0:
            yield from self._within(state)
            if not self._is_left(state):
                return
        for number in range(state.element + 1, len(self.written)):
            yield from self._iteration(number, 1)
            if self.written[number].minimum:
                return

    def _within(self, state: SubsetState) -> Iterator[Move]:
        """What an event may do in the component at hand."""
        number, (iterations, branch, place, count) = state.element, state.bound
        own, part = self.written[number], self.parts[number][branch][place]
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

    def settled(self, state: SubsetState) -> SubsetState:
        """The state that is left when time goes on."""
        return state._replace(fresh=None)

    def refreshed(self, move: Move) -> SubsetState:
        """The state that a simultaneous event leads to."""
        return move.target._replace(fresh=0)

    def simultaneous(self, state: SubsetState) -> Iterator[Move]:
        """Nothing: all events of a match are strictly one after the other."""
        return iter(())

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
        begins = begins and self.written[number].group is not None
        return Move(self._first[number, branch] + place, count > 0, target, begins)

    def _is_through(self, state: SubsetState) -> bool:
        """Whether the iteration may end."""
        _, branch, place, count = state.bound
        first, *rest = self.parts[state.element][branch][place:]
        return count >= first.minimum and not any(each.minimum for each in rest)

    def _is_left(self, state: SubsetState) -> bool:
        """Whether the component may end."""
        own, iterations = self.written[state.element], state.bound[0]
        return self._is_through(state) and (own.group is None or iterations >= own.minimum)
