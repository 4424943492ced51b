"""The automaton with its counts unrolled: each binding of a match is exactly one path.

For `SEQ(A a, B{2,} b[])` the steps are a₁, b₁, b₂ and further events of b, as a loop:

    a₁ ──► b₁ ──► b₂ ⟲        begins: a₁        closes: b₂

A configuration has the number of events of the current component, or of each member of its set, and
the number of iterations of its group. Counts with the same possible continuations are merged.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from sase.cached_property import cached_property
from sase.planning.automaton.automaton import END, START, Bind, Edge, PatternAutomaton


class Configuration(NamedTuple):
    """The current state, and the counts of its component, of the members of its set, of its group.

    In a set the state is the first member that has an event. If simultaneous events led to it, the
    bits of `fresh` are the series that bound one of them.
    """

    state: int
    counts: tuple[int, ...] = ()
    iterations: int = 0
    fresh: int | None = None

    @property
    def settled(self) -> Configuration:
        """The configuration after time has advanced."""
        return self._replace(fresh=None)


class PathStep(NamedTuple):
    """An event bound at a state, perhaps a `further` one of its series, and the next configuration.

    It may begin an iteration of a group.
    """

    state: int
    further: bool
    begins: bool
    target: Configuration


ROOT = Configuration(START)


@dataclass(frozen=True)
class Unrolled:
    """The configurations of an automaton, and the possible steps of events from them.

    `are_tied` says whether a set may bind simultaneous events, one by one to different members.
    """

    automaton: PatternAutomaton
    are_tied: bool = False

    def steps(self, at: Configuration) -> Iterator[PathStep]:
        """The steps of an event that is later than those before."""
        for step in self._open_steps(at.settled):
            yield self._freshened(step, 0) if self.are_tied else step

    def beside(self, at: Configuration) -> Iterator[PathStep]:
        """The steps of another event of the same time: no series binds two of them."""
        if at.fresh is None or not self.automaton.is_of_set(at.state):
            return
        for step in self._open_steps(at.settled, inside=True):
            if not at.fresh >> step.state & 1:
                yield self._freshened(step, at.fresh)

    def closes(self, at: Configuration) -> bool:
        """Whether a match may end there."""
        return any(edge.target == END and self._is_open(at, edge) for edge in self._after(at))

    @cached_property
    def reached(self) -> tuple[PathStep, ...]:
        """All steps of paths, ordered by element and by the number of events bound."""
        found = dict.fromkeys(self.steps(ROOT))
        waiting = list(found)
        for step in waiting:
            for each in (*self.steps(step.target), *self.beside(step.target)):
                if each not in found:
                    found[each] = None
                    waiting.append(each)
        return tuple(sorted(found, key=self._distance))

    def _distance(self, step: PathStep) -> tuple[int, int]:
        _, counts, iterations, fresh = step.target
        place = self.automaton.states[step.state]
        return place.element, sum(counts) + iterations + place.place + (fresh or 0).bit_count()

    def _after(self, at: Configuration) -> tuple[Edge, ...]:
        return self.automaton.after(at.state)

    def _open_steps(self, at: Configuration, *, inside: bool = False) -> Iterator[PathStep]:
        for edge in self._after(at):
            if edge.target != END and (edge.inside or not inside) and self._is_open(at, edge):
                yield self._entered(at, edge)

    def _is_open(self, at: Configuration, edge: Edge) -> bool:
        if edge.leaves and not self._is_complete(at):
            return False
        if edge.iterations is not None and not edge.iterations[1].admits(at.iterations):
            return False
        if not self._stays(edge):
            return True
        count = at.counts[self.automaton.members(at.state).index(edge.target)]
        is_further = edge.bind is Bind.TAKE
        own = self.automaton.states[edge.target].count
        return is_further == (count > 0) and own.has_room(count + 1)

    def _is_complete(self, at: Configuration) -> bool:
        """Whether the component, or each member of the set, has its least number of events."""
        states = self.automaton.states
        members = zip(self.automaton.members(at.state), at.counts, strict=True)
        return all(count >= states[member].count.least for member, count in members)

    def _stays(self, edge: Edge) -> bool:
        """Whether an edge binds a further event, or another member of the set."""
        return edge.inside or edge.bind is Bind.TAKE

    def _entered(self, at: Configuration, edge: Edge) -> PathStep:
        target, members = self.automaton.states[edge.target], self.automaton.members(edge.target)
        counts = list(at.counts) if self._stays(edge) else [0] * len(members)
        own = members.index(edge.target)
        counts[own] = min(counts[own] + 1, target.count.cap)
        group, iterations = self.automaton.group_of(edge.target), 0
        if group is not None:
            before = at.iterations if self.automaton.repeats(edge) or not edge.begins else 0
            iterations = min(before + edge.begins, group.iterations.cap)
        first = next(member for member, count in zip(members, counts, strict=True) if count)
        found = Configuration(first, tuple(counts), iterations)
        return PathStep(edge.target, edge.bind is Bind.TAKE, edge.begins, found)

    def _freshened(self, step: PathStep, before: int) -> PathStep:
        """The step of a simultaneous event, with the series that bound one of these."""
        fresh = 0
        if self.automaton.is_of_set(step.state):
            is_series = self.automaton.states[step.state].count.most != 1
            fresh = before | is_series << step.state
        return step._replace(target=step.target._replace(fresh=fresh))
