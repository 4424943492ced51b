"""The states of a pattern with sets: which members have how many events.

Of `SET(C c, P+ p[]), B b` they are c, p, cp and b; a match is a path from the root, and every
binding is exactly one path, since the events of a match have one order.

    root ──► c ──► cp ⟲ p ──► b        closes: b
       └───► p ⟲ p ──► cp
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from sase.binding.bound import BoundComponent, elements_of
from sase.engine.kernels.jit.signatures import frozen
from sase.engine.kernels.match_graph.state_counts import Arcs


class SubsetState(NamedTuple):
    """An element, and how many events each of its members has: none of them is the root's.

    Where simultaneous events led to it, `fresh` are as bits the series that bound one of these.
    """

    element: int
    bound: tuple[int, ...]
    fresh: int | None = None


class Move(NamedTuple):
    """An event of a level, one that begins it or a further one, and the state that it leads to.

    With it an iteration of a group may begin.
    """

    level: int
    is_further: bool
    target: SubsetState
    begins: bool = False


ROOT = SubsetState(-1, ())


@dataclass(frozen=True)
class SubsetStates:
    """The automaton of components, some of which are members of sets."""

    components: Sequence[BoundComponent]

    @cached_property
    def elements(self) -> Sequence[tuple[int, ...]]:
        """The levels of each element."""
        return elements_of(self.components)

    def closes(self, state: SubsetState) -> bool:
        """Whether a match may end there."""
        rest = self.elements[state.element + 1 :]
        return state.element >= 0 and self._is_complete(state) and all(map(self._is_empty, rest))

    def moves(self, state: SubsetState) -> Iterator[Move]:
        """What an event may do that is later than those before."""
        yield from self._inside(state)
        if not self._is_complete(state):
            return
        for number in range(state.element + 1, len(self.elements)):
            yield from self._inside(unbound(number, self.elements[number]))
            if not self._is_empty(self.elements[number]):
                return

    def settled(self, state: SubsetState) -> SubsetState:
        """The state that is left when time goes on."""
        return state._replace(fresh=None)

    def refreshed(self, move: Move) -> SubsetState:
        """The state that a simultaneous event leads to."""
        return refreshed(self.components, move)

    def simultaneous(self, state: SubsetState) -> Iterator[Move]:
        """What another event of the same time may do."""
        return beside(self.components, self.elements[state.element], state)

    def _inside(self, state: SubsetState) -> Iterator[Move]:
        if state.element < 0:
            return iter(())
        return inside(self.components, self.elements[state.element], state)

    def _is_complete(self, state: SubsetState) -> bool:
        element = state.element
        return element < 0 or is_complete(self.components, self.elements[element], state)

    def _is_empty(self, element: Sequence[int]) -> bool:
        return all(self.components[level].minimum == 0 for level in element)


# ---------------------------------------------------------------- within a set


def unbound(element: int, levels: Sequence[int]) -> SubsetState:
    """The state in which no member of an element has an event."""
    return SubsetState(element, (0,) * len(levels))


def inside(
    components: Sequence[BoundComponent], levels: Sequence[int], state: SubsetState
) -> Iterator[Move]:
    """What an event may do among the members, at `levels`, of the element of a state."""
    for place, level in enumerate(levels):
        count, last = state.bound[place], highest(components[level])
        if count < last or components[level].maximum is None:
            more = min(count + 1, last)
            bound = (*state.bound[:place], more, *state.bound[place + 1 :])
            yield Move(level, count > 0, SubsetState(state.element, bound))


def is_complete(
    components: Sequence[BoundComponent], levels: Sequence[int], state: SubsetState
) -> bool:
    """Whether all members have as many events as they must."""
    pairs = zip(state.bound, levels, strict=True)
    return all(count >= components[level].minimum for count, level in pairs)


def refreshed(components: Sequence[BoundComponent], move: Move, before: int = 0) -> SubsetState:
    """The state that a simultaneous event leads to, `before` being as bits what others did."""
    is_series = components[move.level].maximum != 1
    return move.target._replace(fresh=before | int(is_series) << move.level)


def beside(
    components: Sequence[BoundComponent], levels: Sequence[int], state: SubsetState
) -> Iterator[Move]:
    """What another event of the same time may do: no series binds two of these."""
    assert state.fresh is not None
    for each in inside(components, levels, state._replace(fresh=None)):
        if not state.fresh >> each.level & 1:
            yield each._replace(target=refreshed(components, each, state.fresh))


def highest(component: BoundComponent) -> int:
    """Up to how many events of a component states tell apart."""
    return max(component.minimum, 1) if component.maximum is None else component.maximum


class CountingStates(Protocol):
    """States, what events may do in them, and what simultaneous events lead to."""

    @property
    def components(self) -> Sequence[BoundComponent]:
        """The components by level."""
        ...

    def closes(self, state: SubsetState) -> bool:
        """Whether a match may end there."""
        ...

    def moves(self, state: SubsetState) -> Iterator[Move]:
        """What an event may do that is later than those before."""
        ...

    def settled(self, state: SubsetState) -> SubsetState:
        """The state that is left when time goes on."""
        ...

    def refreshed(self, move: Move) -> SubsetState:
        """The state that a simultaneous event leads to."""
        ...

    def simultaneous(self, state: SubsetState) -> Iterator[Move]:
        """What another event of the same time may do."""
        ...


class StateTables(NamedTuple):
    """The states as kernels read them: arcs between those, and through simultaneous events."""

    alone: Arcs
    tied: Arcs
    settled: NDArray[np.int64]
    closes: NDArray[np.int64]


def tables(automaton: CountingStates, most_tied: int) -> StateTables:
    """The states that are reached, where at most so many events are simultaneous."""
    levels = len(automaton.components)
    numbers, alone = {ROOT: 0}, list[tuple[int, int, int]]()
    waiting = [ROOT]
    for state in waiting:
        for level, is_further, target, _ in automaton.moves(state):
            if target not in numbers:
                numbers[target] = len(numbers)
                waiting.append(target)
            alone.append((2 * level + is_further, numbers[state], numbers[target]))
    tied = list[tuple[int, int, int]]()

    def reach(
        state: SubsetState, move: Move, target: SubsetState, layer: list[SubsetState]
    ) -> None:
        if target not in numbers:
            numbers[target] = len(numbers)
            layer.append(target)
        tied.append((2 * move.level + move.is_further, numbers[state], numbers[target]))

    layer = list[SubsetState]()
    for state in waiting if most_tied > 1 else ():
        for move in automaton.moves(state):
            reach(state, move, automaton.refreshed(move), layer)
    for _ in range(most_tied - 1):
        further = list[SubsetState]()
        for state in layer:
            for move in automaton.simultaneous(state):
                reach(state, move, move.target, further)
        layer = further
    settled = [numbers[automaton.settled(state)] for state in numbers]
    closes = [int(automaton.closes(state)) for state in numbers]
    return StateTables(_arcs(alone, levels), _arcs(tied, levels), _column(settled), _column(closes))


def _arcs(found: list[tuple[int, int, int]], levels: int) -> Arcs:
    rows = np.array(sorted(found), np.int64).reshape(-1, 3)
    bounds = np.searchsorted(rows[:, 0], np.arange(2 * levels + 1))
    return Arcs(_column(bounds), _column(rows[:, 1]), _column(rows[:, 2]))


def _column(values: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int64]:
    return frozen(np.asarray(values, np.int64))
