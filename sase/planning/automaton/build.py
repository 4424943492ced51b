"""Build the automaton of a pattern; no other place does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate

from sase.binding.bound import (
    BoundComponent,
    BoundQuery,
    Conjunct,
    ConjunctClass,
    elements_of,
    ranks_of,
)
from sase.lang.ast import StrategyName
from sase.planning.automaton.automaton import (
    END,
    START,
    At,
    Bind,
    CountRange,
    Edge,
    Ignore,
    Moment,
    PatternAutomaton,
    PatternElement,
    PatternGroup,
    PatternState,
    Waits,
)
from sase.planning.automaton.bounds import bounded
from sase.planning.automaton.checks import checks_of

IGNORE = {
    StrategyName.STRICT_CONTIGUITY: Ignore.NEVER,
    StrategyName.PARTITION_CONTIGUITY: Ignore.OTHER_PARTITION,
    StrategyName.SKIP_TILL_NEXT_MATCH: Ignore.UNLESS_WAITED,
    StrategyName.SKIP_TILL_ANY_MATCH: Ignore.ANY,
    StrategyName.EARLIEST_MAXIMAL: Ignore.UNLESS_MOVED,
}


def automata_of(query: BoundQuery) -> tuple[PatternAutomaton, ...]:
    """The automata of the branches of a query, with all that is asked of what they bind."""
    return tuple(
        automaton_of(
            branch.positives,
            branch.strategy,
            [each for each in branch.conjuncts if each.kind is not ConjunctClass.NEGATIVE],
        )
        for branch in map(bounded, query.branches or (query,))
    )


def automaton_of(
    components: Sequence[BoundComponent],
    strategy: StrategyName,
    conjuncts: Sequence[Conjunct] = (),
) -> PatternAutomaton:
    """The automaton of positive components under a strategy, with the checks of conjuncts."""
    states, elements, groups = _states(components)
    bare = PatternAutomaton(states, elements, groups, (), IGNORE[strategy])
    edges = [
        edge
        for source in (*range(len(states)), START)
        for edge in sorted(_Edges(bare).behind(source), key=lambda edge: edge.target == END)
    ]
    checks = tuple(checks_of(bare, components, conjuncts))
    return replace(bare, edges=tuple(edges), checks=checks)


def _states(
    components: Sequence[BoundComponent],
) -> tuple[tuple[PatternState, ...], tuple[PatternElement, ...], tuple[PatternGroup, ...]]:
    states, elements, groups = list[PatternState](), list[PatternElement](), list[PatternGroup]()
    ranks, index = _ranks(components), 1 + max(each.index for each in components)
    for levels in elements_of(components):
        first, number, group = len(states), len(elements), components[levels[0]].group
        for level in levels if group is None else ():
            own = components[level]
            count = CountRange(own.minimum, own.maximum)
            states.append(PatternState(len(states), own, level, number, count, ranks[level]))
        for branch, each in enumerate(() if group is None else group.branches):
            for place in each.positive:
                own = replace(each.elements[place], index=index + len(states))
                count, slot = CountRange(own.minimum, own.maximum), each.variables[place]
                at = branch, place, slot
                rank = ranks[levels[0]] + slot
                states.append(PatternState(len(states), own, levels[0], number, count, rank, *at))
        if group is not None:
            groups.append(_group(components[levels[0]], number, states[first:]))
        own_group = None if group is None else len(groups) - 1
        elements.append(PatternElement(tuple(range(first, len(states))), own_group))
    return tuple(states), tuple(elements), tuple(groups)


def _ranks(components: Sequence[BoundComponent]) -> dict[int, int]:
    """Of each component the rank of its first variable, in the order of first writing."""
    written = ranks_of(components)
    order = sorted(range(len(components)), key=written.__getitem__)
    groups = [components[level].group for level in order]
    sizes = (1 if group is None else len(group.variables) for group in groups)
    return dict(zip(order, accumulate(sizes, initial=0), strict=False))


def _group(component: BoundComponent, element: int, states: Sequence[PatternState]) -> PatternGroup:
    assert component.group is not None
    branches = range(len(component.group.branches))
    of = tuple(tuple(each.number for each in states if each.branch == n) for n in branches)
    count = CountRange(component.minimum, component.maximum)
    return PatternGroup(component.variable, element, count, of)


class _Edges:
    """The edges behind a state: through the rest of an iteration, and past what may be empty."""

    def __init__(self, automaton: PatternAutomaton) -> None:
        self._of = automaton

    def behind(self, source: int) -> Iterator[Edge]:
        """All edges from a state, or from `START`."""
        if source == START:
            yield from self._outer(Edge(START, END), 0)
            return
        own, members = self._of.states[source], self._of.members(source)
        for member in members:
            inside = Edge(source, member, waits=Waits.ALWAYS, inside=len(members) > 1)
            if self._of.states[member].is_series:
                yield replace(inside, bind=Bind.TAKE)
            if member != source:
                yield inside
        path = Edge(source, END, leaves=True, finished=(Moment(At.FINISH, members[0]),))
        group = self._of.group_of(source)
        if group is None:
            yield from self._outer(path, own.element + 1)
        else:
            branch = group.branches[own.branch]
            yield from self._rest(path, group, branch[branch.index(source) + 1 :])

    def _rest(self, path: Edge, group: PatternGroup, rest: Sequence[int]) -> Iterator[Edge]:
        """The rest of an iteration, another one, and what follows the group."""
        if rest:
            yield replace(path, target=rest[0])
            if self._of.states[rest[0]].count.least == 0:
                yield from self._rest(_past(path, At.FINISH, rest[0]), group, rest[1:])
            return
        number = self._of.groups.index(group)
        most = group.iterations.most
        below = CountRange(0, None if most is None else most - 1)
        again = replace(path, waits=Waits.ALWAYS, iterations=(number, below))
        yield from self._iteration(again, group)
        left = replace(path, iterations=(number, CountRange(group.iterations.least, None)))
        moments = (*path.finished, Moment(At.LEAVE, number))
        yield from self._outer(replace(left, finished=moments), group.element + 1)

    def _outer(self, path: Edge, element: int) -> Iterator[Edge]:
        """What an element begins with, or what follows it if that may be empty."""
        if element == len(self._of.elements):
            yield path
            return
        own = self._of.elements[element]
        if own.group is None:
            for state in own.states:
                yield replace(path, target=state)
            if all(self._of.states[state].count.least == 0 for state in own.states):
                yield from self._outer(_past(path, At.FINISH, own.states[0]), element + 1)
            return
        group = self._of.groups[own.group]
        yield from self._iteration(path, group)
        if group.iterations.least == 0:
            yield from self._outer(_past(path, At.LEAVE, own.group), element + 1)

    def _iteration(self, path: Edge, group: PatternGroup) -> Iterator[Edge]:
        """The beginnings of an iteration: its first element, or one behind what may be empty."""
        for branch in group.branches:
            edge = replace(path, begins=True)
            for state in branch:
                yield replace(edge, target=state)
                if self._of.states[state].count.least > 0:
                    break
                passed = (*edge.passed, Moment(At.FINISH, state))
                edge = replace(edge, waits=Waits.NEVER, passed=passed)


def _past(path: Edge, at: At, number: int) -> Edge:
    """The way past an optional element, which is left empty."""
    return replace(path, waits=Waits.NEVER, finished=(*path.finished, Moment(at, number)))
