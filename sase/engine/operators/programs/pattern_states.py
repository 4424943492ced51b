"""The automaton of a pattern, as tables for kernels."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sase.binding.bound import BoundComponent, IterationConjunct, RepeatedGroup, When
from sase.cached_property import cached_property
from sase.engine.columns.arrays import Numbers
from sase.engine.expressions.comparisons import BoundAt
from sase.engine.expressions.series import GroupPlace
from sase.engine.kernels.jit.signatures import frozen
from sase.engine.kernels.kleene.run_nodes import BEGIN, FINISH, HEAD, MOMENTS, TAKE
from sase.engine.kernels.runs import graph as of
from sase.engine.kernels.runs.graph import RunGraph
from sase.engine.kernels.sentinels import NOTHING
from sase.engine.operators.programs.set_states import SetStates, bits
from sase.lang.ast import StrategyName
from sase.planning.automaton.automaton import (
    END,
    START,
    At,
    Bind,
    Check,
    CountRange,
    Edge,
    Moment,
    PatternAutomaton,
    PatternState,
    Waits,
)
from sase.planning.automaton.build import automaton_of

PLACES = {At.BEGIN: BEGIN, At.TAKE: TAKE, At.FINISH: FINISH}
WAITS = {Waits.NEVER: of.NEVER, Waits.WHEN_FULL: of.WHEN_FULL, Waits.ALWAYS: of.ALWAYS}
MOMENT_OF = {Bind.BEGIN: At.BEGIN, Bind.TAKE: At.TAKE}


@dataclass(frozen=True)
class PatternStates:
    """The states of a pattern, and the words of nodes for its groups and sets.

    The words begin at `at`: those that all nodes have, two for each group, and those of sets.
    """

    components: tuple[BoundComponent, ...]
    tests: int
    automaton: PatternAutomaton

    @classmethod
    def of(cls, components: Sequence[BoundComponent], tests: int) -> PatternStates:
        """The states of components; they do not depend on which events a run may ignore."""
        automaton = automaton_of(components, StrategyName.SKIP_TILL_ANY_MATCH)
        return cls(tuple(components), tests, automaton)

    @property
    def at(self) -> int:
        """The first word of nodes after the codes of the tests."""
        return HEAD + self.tests

    @cached_property
    def levels(self) -> tuple[int, ...]:
        """The levels of groups."""
        found = enumerate(self.components)
        return tuple(level for level, each in found if each.group is not None)

    @property
    def words(self) -> int:
        """The number of words before those of conditions, with the codes of the tests."""
        return self._words if self.members is None else self.members.words

    @property
    def _words(self) -> int:
        own = of.OWN_WORDS + of.WORDS_OF_GROUP * len(self.levels)
        return self.tests + (own if self.levels else 0)

    @cached_property
    def members(self) -> SetStates | None:
        """The members of sets among the states, if there are any."""
        found = SetStates(self.flat, self._words)
        return found if found.sets else None

    @property
    def can_grow_at_end(self) -> bool:
        """Whether some match could bind more events at its end."""
        counts = [self.states[each].count for each in self.automaton.elements[-1].states]
        return any(each.least != each.most for each in counts)

    def may_grow(self, lengths: Numbers) -> NDArray[np.bool_]:
        """Whether each match could bind more events at its end, by its lengths by level."""
        last = [self.states[each] for each in self.automaton.elements[-1].states]
        bounds = [(each.level, each.count.most) for each in last]
        is_open = [lengths[n] < m if m is not None else lengths[n] >= 0 for n, m in bounds]
        return np.asarray(np.any(is_open, axis=0))

    def onward(self, state: int) -> int:
        """The states that may be bound after the element of a state, as bits."""
        edges = self.automaton.after(state)
        return bits({each.target for each in edges if not each.inside and each.target != END})

    def count_at(self, group: int) -> int:
        """The word with the number of iterations."""
        return self.at + of.OWN_WORDS + of.WORDS_OF_GROUP * group

    def before_at(self, group: int) -> int:
        """The word with the node before the current iteration."""
        return self.count_at(group) + 1

    @property
    def states(self) -> tuple[PatternState, ...]:
        """All states, those of earlier levels first."""
        return self.automaton.states

    @cached_property
    def negatives(self) -> tuple[PatternState, ...]:
        """The negative elements of iterations, numbered behind the states."""
        index = 1 + max(each.index for each in (*self.components, *self.flat))
        found = list[PatternState]()
        for group, level in enumerate(self.levels):
            for branch, each in enumerate(self.group(group).branches):
                for place, own in enumerate(each.elements):
                    if own.negated:
                        number, slot = len(self.states) + len(found), each.variables[place]
                        negative = replace(own, index=index + len(found))
                        at = self.automaton.groups[group].element, CountRange(0, 0), NOTHING
                        found.append(
                            PatternState(number, negative, level, *at, branch, place, slot)
                        )
        return tuple(found)

    def group(self, group: int) -> RepeatedGroup:
        """The repeated group of a number."""
        found = self.components[self.levels[group]].group
        assert found is not None
        return found

    def conjuncts(self, state: PatternState) -> Iterator[IterationConjunct]:
        """The conditions on an element of an iteration."""
        group = self.components[state.level].group
        for each in () if group is None else group.branches[state.branch].conjuncts:
            if each.element == state.place:
                yield each

    @cached_property
    def flat(self) -> tuple[BoundComponent, ...]:
        """The components of the states."""
        return tuple(each.component for each in self.states)

    @cached_property
    def numbers(self) -> dict[int, int]:
        """The states of components outside of groups, by their indexes in the pattern."""
        components = self.automaton.elements
        return {
            each.component.index: each.number
            for each in self.states
            if components[each.element].group is None
        }

    @cached_property
    def places(self) -> dict[int, GroupPlace]:
        """The words and states of groups, by the indexes of these in the pattern."""
        return {self.components[level].index: self._place(g) for g, level in enumerate(self.levels)}

    def _place(self, group: int) -> GroupPlace:
        own, branches = self.group(group), self.automaton.groups[group].branches
        states = [self.states[number] for each in branches for number in each]
        slots = tuple(
            tuple(each.number for each in states if each.slot == slot)
            for slot in range(len(own.variables))
        )
        words = self.count_at(group), self.before_at(group)
        entered = [each for each in self.automaton.edges if each.bind is Bind.BEGIN]
        begun = frozenset(each.target for each in entered if each.begins)
        others = frozenset(each.target for each in entered if not each.begins)
        beginning, following = begun - others, others - begun
        return GroupPlace(group, states[-1].number, *words, slots, branches, beginning, following)

    # ------------------------------------------------------------ moments

    @property
    def _phases(self) -> int:
        """The number of moments of each state."""
        return of.PHASES if self.levels else MOMENTS

    @property
    def moments(self) -> int:
        """The number of moments: those of states, and the ends of groups."""
        return self._phases * len(self.states) + len(self.levels)

    def end_of(self, group: int) -> int:
        """The moment at which a group is finished."""
        return self._phases * len(self.states) + group

    def binding_at(self, moment: int) -> BoundAt | None:
        """The state and place bound at a numbered moment, if an event is."""
        state, place = moment // self._phases, moment % MOMENTS
        return BoundAt(state, place) if place != FINISH and state < len(self.states) else None

    def moments_of(self, check: Check) -> Iterator[int]:
        """The numbers of the moments of a check, by the iterations in which it applies."""
        at, number = check.moment
        if at is At.LEAVE:
            yield self.end_of(number)
            return
        first = self._phases * number + PLACES[at]
        later = first + MOMENTS
        phases = {When.EVERY: (first, later), When.FURTHER: (later,), When.FIRST: (first,)}
        in_group = self.automaton.group_of(number) is not None
        yield from phases[check.iterations] if in_group else (first,)

    # ------------------------------------------------------------ arrays

    def graph(self, asked: Container[int]) -> RunGraph:
        """The automaton, with checks at the moments that have conditions."""
        edges, checks = list[list[int]](), list[tuple[int, int]]()
        rows = list[list[int]]()
        for state in (*self.states, None):
            found = self.automaton.after(START if state is None else state.number)
            ends = sum(each.target == END for each in found)
            last = len(edges) + len(found)
            behind = [len(edges), last - ends, last - ends, last]
            edges += [self._lowered(each, checks, asked) for each in found]
            rows.append([*self._head(state), *behind, *self._tail(state), *self._onward(found)])
        return RunGraph(
            frozen(np.array(rows, np.int64)), _table(edges, of.EDGE_WIDTH), _table(checks, 2)
        )

    @cached_property
    def first(self) -> int:
        """The states that a run may begin at, as bits."""
        return self.onward(START)

    def _onward(self, edges: Sequence[Edge]) -> list[int]:
        """Whether another element may follow, and the states that edges lead to by each move."""
        inner = [each for each in edges if each.target != END]
        begun, taken = (bits({each.target for each in inner if each.bind is kind}) for kind in Bind)
        is_followed = any(
            each.bind is Bind.BEGIN and not each.inside and not self.automaton.repeats(each)
            for each in inner
        )
        return [int(is_followed), begun, taken]

    def _head(self, state: PatternState | None) -> list[int]:
        """The row before the edges: bounds, words of its group, and places."""
        if state is None:
            return [0, 0, 0, *[NOTHING] * 7]
        group = self.automaton.elements[state.element].group
        words = (NOTHING,) * 3
        if group is not None:
            words = group, self.count_at(group), self.before_at(group)
        count = state.count.least, _bound(state.count.most)
        return [
            *count, int(state.is_series), *words,
            state.level, state.branch, state.slot, state.rank,
        ]  # fmt: skip

    def _tail(self, state: PatternState | None) -> list[int]:
        """The row after the edges: the most iterations, and words of the set."""
        if state is None:
            return [NOTHING, 0, NOTHING, NOTHING]
        group = self.automaton.group_of(state.number)
        most = NOTHING if group is None else _bound(group.iterations.most)
        if self.members is None or not self.automaton.is_of_set(state.number):
            return [most, 0, NOTHING, NOTHING]
        own = self.automaton.members(state.number)
        return [most, bits(own), self.members.count_at(state.number), self.members.entry(own)]

    def _lowered(
        self, edge: Edge, checks: list[tuple[int, int]], asked: Container[int]
    ) -> list[int]:
        counted, least, most = NOTHING, 0, NOTHING
        if edge.iterations is not None:
            group, (least, limit) = edge.iterations
            # Kernels test that iterations are below a number, and skip the test without one.
            counted, most = self.count_at(group), NOTHING if limit is None else limit + 1
        places = list[int]()
        for moments in (edge.finished, edge.passed):
            places.append(len(checks))
            checks += [each for each in map(self._check, moments) if self._is_asked(each, asked)]
            places.append(len(checks))
        moment = self._phases * edge.target + PLACES[MOMENT_OF[edge.bind]]
        head = edge.target, moment, int(edge.bind is Bind.TAKE), int(edge.begins)
        return [*head, counted, least, most, *places, WAITS[edge.waits], int(edge.inside)]

    def _check(self, moment: Moment) -> tuple[int, int]:
        """A moment, and the word of a count: from the second iteration on the moment differs."""
        if moment.at is At.LEAVE:
            return self.end_of(moment.number), NOTHING
        group = self.automaton.elements[self.states[moment.number].element].group
        counted = NOTHING if group is None else self.count_at(group)
        return self._phases * moment.number + FINISH, counted

    def _is_asked(self, check: tuple[int, int], asked: Container[int]) -> bool:
        moment, counted = check
        return moment in asked or (counted != NOTHING and moment + MOMENTS in asked)


def _bound(most: int | None) -> int:
    return NOTHING if most is None else most


def _table(rows: Sequence[Sequence[int]], width: int) -> Numbers:
    return frozen(np.array(rows, np.int64).reshape(-1, width))
