"""The automaton of a pattern with repeated groups: its states, and the edges between them."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from sase.binding.bound import BoundComponent, RepeatedGroup, When, ranks_of
from sase.engine.columns.arrays import Numbers
from sase.engine.expressions.group_series import GroupPlace
from sase.engine.kernels.groups import automaton as of
from sase.engine.kernels.groups.automaton import NfaGraph
from sase.engine.kernels.jit.signatures import frozen
from sase.engine.kernels.kleene.run_nodes import BEGIN, FINISH, HEAD, MOMENTS, TAKE
from sase.engine.kernels.sentinels import NOTHING
from sase.engine.operators.programs.set_states import SetStates, bits

# The moments at which a conjunct is asked, by `When`.
MOMENTS_OF = {
    When.EVENT: (BEGIN,),
    When.FIRST: (BEGIN,),
    When.EVERY: (BEGIN, TAKE),
    When.FURTHER: (TAKE,),
    When.WHOLE: (FINISH,),
}


@dataclass(frozen=True)
class NfaState:
    """A state: a component by itself, or an element of a branch of a group.

    `number` is its own, `level` that of the component of the pattern, `group` counts groups alone,
    `slot` is the number of the variable.
    """

    number: int
    component: BoundComponent
    level: int
    group: int | None = None
    branch: int = 0
    element: int = 0
    slot: int = 0


@dataclass(frozen=True)
class _Check:
    """A moment at which conditions are asked; from the second iteration on it is a later one."""

    moment: int
    group: int | None = None


@dataclass(frozen=True)
class _Path:
    """What must hold on the way from a state, and what a run waits for on it."""

    checks: tuple[_Check, ...] = ()
    group: int | None = None
    least: int = 0
    most: int | None = None
    is_first: bool = True
    repeats: bool = False

    def past(self, *checks: _Check) -> _Path:
        """Past something that is left empty, or finished."""
        return replace(self, checks=(*self.checks, *checks))


@dataclass(frozen=True)
class _Edge:
    path: _Path
    target: int = NOTHING
    is_take: bool = False
    begins: bool = False
    later: tuple[_Check, ...] = ()
    inside: bool = False


@dataclass(frozen=True)
class GroupStates:
    """The states of a pattern, by level, branch and element, and how they follow one another.

    Words of nodes begin at `at`: those that all nodes have, two of each group, and those of sets.
    """

    components: tuple[BoundComponent, ...]
    tests: int

    @property
    def at(self) -> int:
        """The first word of nodes behind the codes of the tests."""
        return HEAD + self.tests

    @cached_property
    def levels(self) -> tuple[int, ...]:
        """The levels of groups."""
        found = enumerate(self.components)
        return tuple(level for level, each in found if each.group is not None)

    @property
    def words(self) -> int:
        """How many words there are before those of conditions, with the codes of the tests."""
        return self._words if self.members is None else self.members.words

    @property
    def _words(self) -> int:
        return self.tests + of.OWN_WORDS + of.WORDS_OF_GROUP * len(self.levels)

    @cached_property
    def members(self) -> SetStates | None:
        """The members of sets among the states, if there are any."""
        found = SetStates(self.flat, self._words)
        return found if found.sets else None

    def set_of(self, state: NfaState) -> tuple[int, ...]:
        """The states of its set; none of a component by itself."""
        if self.members is None:
            return ()
        own = self.members.elements[self.members.element_of[state.number]]
        return own if len(own) > 1 else ()

    def count_at(self, group: int) -> int:
        """The word of how many iterations there are."""
        return self.at + of.OWN_WORDS + of.WORDS_OF_GROUP * group

    def before_at(self, group: int) -> int:
        """The word of the node before the iteration at hand."""
        return self.count_at(group) + 1

    @cached_property
    def states(self) -> tuple[NfaState, ...]:
        """All states, those of earlier levels first."""
        return self._numbered(0, self.components, negated=False)

    @cached_property
    def negatives(self) -> tuple[NfaState, ...]:
        """The negative elements of iterations, numbered behind the states."""
        return self._numbered(len(self.states), (*self.components, *self.flat), negated=True)

    def _numbered(
        self, first: int, others: Sequence[BoundComponent], *, negated: bool
    ) -> tuple[NfaState, ...]:
        """States by level, branch and element, with indexes that no other component has."""
        found, index = list[NfaState](), 1 + max(each.index for each in others)
        for level, component in enumerate(self.components):
            if component.group is None:
                found += [] if negated else [NfaState(len(found), component, level)]
                continue
            for branch, each in enumerate(component.group.branches):
                for place, element in enumerate(each.elements):
                    if element.negated == negated:
                        at = level, self.levels.index(level), branch, place, each.variables[place]
                        own = replace(element, index=index + len(found))
                        found.append(NfaState(first + len(found), own, *at))
        return tuple(found)

    def group(self, group: int) -> RepeatedGroup:
        """What is repeated."""
        found = self.components[self.levels[group]].group
        assert found is not None
        return found

    def of_branch(self, group: int, branch: int) -> list[NfaState]:
        """The states of a branch of a group."""
        return [each for each in self.states if (each.group, each.branch) == (group, branch)]

    @cached_property
    def flat(self) -> tuple[BoundComponent, ...]:
        """The components of the states."""
        return tuple(each.component for each in self.states)

    @cached_property
    def numbers(self) -> dict[int, int]:
        """The states of components that are no groups, by their indexes in the pattern."""
        return {each.component.index: each.number for each in self.states if each.group is None}

    @cached_property
    def places(self) -> dict[int, GroupPlace]:
        """Where nodes know of groups, by the indexes of these in the pattern."""
        return {self.components[level].index: self._place(g) for g, level in enumerate(self.levels)}

    def _place(self, group: int) -> GroupPlace:
        own = [each for each in self.states if each.group == group]
        slots, branches = (
            tuple(tuple(s.number for s in own if getattr(s, kind) == n) for n in range(count))
            for kind, count in (
                ("slot", len(self.group(group).variables)),
                ("branch", len(self.group(group).branches)),
            )
        )
        words = self.count_at(group), self.before_at(group)
        return GroupPlace(group, own[-1].number, *words, slots, branches)

    # ------------------------------------------------------------ moments

    @property
    def moments(self) -> int:
        """How many moments there are: those of states, and the ends of groups."""
        return of.PHASES * len(self.states) + len(self.levels)

    def end_of(self, group: int) -> int:
        """The moment at which a group is finished."""
        return of.PHASES * len(self.states) + group

    def moments_of(
        self, state: NfaState, when: When, iterations: When = When.EVERY
    ) -> Iterator[int]:
        """The moments at which a condition of a state is asked."""
        first, later = of.PHASES * state.number, of.PHASES * state.number + MOMENTS
        phases = {When.EVERY: (first, later), When.FURTHER: (later,), When.FIRST: (first,)}
        for phase in phases[iterations] if state.group is not None else (first,):
            yield from (phase + moment for moment in MOMENTS_OF[when])

    # ------------------------------------------------------------ arrays

    def automaton(
        self, asked: Container[int], fresh: Sequence[tuple[int, int, int]], awaited: Sequence[int]
    ) -> NfaGraph:
        """The automaton, with checks of the moments at which something is asked."""
        edges, checks = list[list[int]](), list[tuple[int, int]]()
        rows = [self._row(state, edges, checks, asked) for state in (*self.states, None)]
        return NfaGraph(
            frozen(np.array(rows, np.int64)),
            _table(edges, of.EDGE_WIDTH),
            _table(checks, 2),
            _table(fresh, 3),
            frozen(np.array(awaited, np.int64)),
            self.at,
            NOTHING if self.members is None else self.members.at,
        )

    def _row(
        self,
        state: NfaState | None,
        edges: list[list[int]],
        checks: list[tuple[int, int]],
        asked: Container[int],
    ) -> list[int]:
        found = list(self._behind(state))
        ends = [each for each in found if each.target == NOTHING]
        onward = [each for each in found if each.target != NOTHING]
        places = [len(edges), len(edges) + len(onward), len(edges) + len(found)]
        edges += [self._lowered(each, checks, asked) for each in (*onward, *ends)]
        behind = [places[0], places[1], places[1], places[2]]
        if state is None:
            return [0, 0, 0, *[NOTHING] * 7, *behind, NOTHING, 0, NOTHING, NOTHING]
        component, group = state.component, state.group
        outer = self.components[state.level]
        most = NOTHING if component.maximum is None else component.maximum
        limit = NOTHING if group is None or outer.maximum is None else outer.maximum
        words = (NOTHING,) * 3
        if group is not None:
            words = group, self.count_at(group), self.before_at(group)
        place = state.level, state.branch, state.slot, self.rank(state)
        least, own = component.minimum, self.set_of(state)
        held = (0, NOTHING, NOTHING)
        if own and self.members is not None:
            count_at = self.members.count_at(state.number)
            held = bits(own), count_at, self.members.entry(own)
        return [least, most, int(not component.is_single), *words, *place, *behind, limit, *held]

    def rank(self, state: NfaState) -> int:
        """The place of its variable among all, in the order of first writing."""
        level, own = state.level, self.set_of(state)
        if own:
            ranks = ranks_of(self.flat)
            level = self.states[own[0]].level + sorted(ranks[n] for n in own).index(
                ranks[state.number]
            )
        return (
            sum(
                1 if each.group is None else len(each.group.variables)
                for each in self.components[:level]
            )
            + state.slot
        )

    def _lowered(
        self, edge: _Edge, checks: list[tuple[int, int]], asked: Container[int]
    ) -> list[int]:
        path = edge.path
        counted = NOTHING if path.group is None else self.count_at(path.group)
        most = NOTHING if path.most is None else path.most
        places = list[int]()
        for given in (path.checks, edge.later):
            places.append(len(checks))
            checks += [
                (each.moment, NOTHING if each.group is None else self.count_at(each.group))
                for each in given
                if each.moment in asked
                or (each.group is not None and each.moment + MOMENTS in asked)
            ]
            places.append(len(checks))
        flags = int(path.is_first), int(path.repeats), int(edge.inside)
        head = edge.target, int(edge.is_take), int(edge.begins), counted, path.least, most
        return [*head, *places, *flags]

    # ------------------------------------------------------------ edges

    def _finish(self, state: NfaState) -> _Check:
        return _Check(of.PHASES * state.number + FINISH, state.group)

    def _behind(self, state: NfaState | None) -> Iterator[_Edge]:
        """The edges from a state, or from the root."""
        if state is None:
            yield from self._outer(0, _Path())
            return
        own = self.set_of(state) or (state.number,)
        for each in (self.states[number] for number in own):
            if not each.component.is_single:
                yield _Edge(_Path(), each.number, is_take=True, inside=len(own) > 1)
            if each is not state:
                yield _Edge(_Path(), each.number, inside=True)
        path = _Path((self._finish(self.states[own[0]]),))
        if state.group is None:
            yield from self._outer(self.states[own[-1]].level + 1, path)
        else:
            branch = self.of_branch(state.group, state.branch)
            yield from self._rest(branch[branch.index(state) + 1 :], state, path)

    def _rest(self, rest: list[NfaState], state: NfaState, path: _Path) -> Iterator[_Edge]:
        """The rest of an iteration, and what may follow it."""
        assert state.group is not None
        if rest:
            yield _Edge(path, rest[0].number)
            if rest[0].component.minimum == 0:
                passed = replace(path.past(self._finish(rest[0])), is_first=False)
                yield from self._rest(rest[1:], state, passed)
            return
        group, outer = state.group, self.components[state.level]
        again = replace(path, group=group, most=outer.maximum, is_first=True, repeats=True)
        for branch in range(len(self.group(group).branches)):
            yield from self._iteration(group, branch, again)
        left = replace(path, group=group, least=outer.minimum).past(_Check(self.end_of(group)))
        yield from self._outer(state.level + 1, left)

    def _outer(self, level: int, path: _Path) -> Iterator[_Edge]:
        """What begins at a level, or behind it if that may be empty."""
        if level == len(self.components):
            yield _Edge(path)
            return
        component = self.components[level]
        if component.group is None:
            state = self.states[self.numbers[component.index]]
            members = self.set_of(state)
            for number in members or (state.number,):
                yield _Edge(path, number)
            if component.minimum == 0 and not members:
                passed = replace(path.past(self._finish(state)), is_first=False)
                yield from self._outer(level + 1, passed)
            return
        group = self.levels.index(level)
        for branch in range(len(component.group.branches)):
            yield from self._iteration(group, branch, path)
        if component.minimum == 0:
            passed = replace(path.past(_Check(self.end_of(group))), is_first=False)
            yield from self._outer(level + 1, passed)

    def _iteration(self, group: int, branch: int, path: _Path) -> Iterator[_Edge]:
        """The beginnings of an iteration: its first element, or past what of it may be empty."""
        later: tuple[_Check, ...] = ()
        for state in self.of_branch(group, branch):
            yield _Edge(path, state.number, begins=True, later=later)
            if state.component.minimum > 0:
                return
            later = (*later, self._finish(state))
            path = replace(path, is_first=False)


def _table(rows: Sequence[Sequence[int]], width: int) -> Numbers:
    return frozen(np.array(rows, np.int64).reshape(-1, width))
