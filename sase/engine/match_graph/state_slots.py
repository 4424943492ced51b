"""The graph of an automaton of states: a slot for each event that leads to a state.

Of `SET(C c, P+ p[])` they are c, p, cp by c, cp by p, and so on: a match is a path, and every
binding is exactly one. An event that is simultaneous with the one before it leads on within a set.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

from sase.engine.match_graph.slots import Slot, SlotAutomaton
from sase.engine.match_graph.states import ROOT, CountingStates, Move, SubsetState


class StateSlots(SlotAutomaton):
    """The slots of states; events that are bound may be simultaneous where they are `tied`.

    Of each slot there are its `moves`. By the `ranks` of levels matches of the same events are
    ordered; `owners` are the components of levels, where one may have several.
    """

    is_told = True

    def __init__(
        self,
        automaton: CountingStates,
        ranks: Sequence[int],
        owners: Sequence[int] | None = None,
        *,
        are_tied: bool,
    ) -> None:
        self._states, self._are_tied, self.ranks = automaton, are_tied, ranks
        levels = range(len(automaton.components)) if owners is None else owners
        begun = list(self._after(ROOT))
        self.moves = self._reached(begun)
        numbers = {move: number for number, move in enumerate(self.moves)}
        opening = set(begun)
        super().__init__(
            range(1 + max(levels)),
            [
                Slot(
                    levels[move.level],
                    move.level,
                    move.is_further,
                    opens=move in opening,
                    closes=automaton.closes(move.target),
                    begins=move.begins,
                )
                for move in self.moves
            ],
            _sources(numbers, (self._after(automaton.settled(m.target)) for m in self.moves)),
            _sources(numbers, (self._beside(m.target) for m in self.moves)),
        )

    def order(self, lengths: tuple[int, ...], path: tuple[int, ...]) -> Any:
        """By the variables of events from the last one back, then by the lengths of iterations."""
        steps = [self.moves[slot] for slot in reversed(path)]
        return [self.ranks[step.level] for step in steps], _iterations(steps)

    def _after(self, state: SubsetState) -> Iterator[Move]:
        """What a later event may do."""
        for move in self._states.moves(state):
            yield move._replace(target=self._states.refreshed(move)) if self._are_tied else move

    def _beside(self, state: SubsetState) -> Iterable[Move]:
        """What a simultaneous event may do."""
        return self._states.simultaneous(state) if self._are_tied else ()

    def _reached(self, begun: Sequence[Move]) -> list[Move]:
        """All that events may do, those that simultaneous events come to behind what they left."""
        found, waiting = set(begun), list(dict.fromkeys(begun))
        for move in waiting:
            left = self._states.settled(move.target)
            for each in chain(self._after(left), self._beside(move.target)):
                if each not in found:
                    found.add(each)
                    waiting.append(each)
        return sorted(waiting, key=lambda move: _bound(move.target))


def _bound(state: SubsetState) -> tuple[int, int]:
    """How far a state is; a simultaneous event leads further."""
    return state.element, sum(state.bound) + (state.fresh or 0).bit_count()


def _sources(
    numbers: dict[Move, int], following: Iterator[Iterable[Move]]
) -> list[tuple[int, ...]]:
    """The slots before each, by what may come behind each."""
    found: list[list[int]] = [[] for _ in numbers]
    for source, moves in enumerate(following):
        for move in moves:
            found[numbers[move]].append(source)
    return [tuple(sources) for sources in found]


def _iterations(steps: Sequence[Move]) -> list[int]:
    """How many events each iteration has, with those behind it, from the last one back."""
    found, size = list[int](), 0
    for step in steps:
        size += 1
        if step.begins:
            found.append(size)
            size = 0
    return found
