"""Build the automaton of a pattern: states, edges, bounds of counts, and moments of checks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate

from sase.binding.bound import (
    Aggregate,
    All,
    Between,
    BoundComponent,
    BoundQuery,
    Comparison,
    Condition,
    Conjunct,
    ConjunctClass,
    Constant,
    IterationConjunct,
    MemberCheck,
    Part,
    When,
    elements_of,
    ranks_of,
)
from sase.binding.conditions.parts import conjoined
from sase.lang.ast import TURNED, StrategyName
from sase.planning.automaton.automaton import (
    END,
    START,
    At,
    Bind,
    Check,
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
from sase.planning.automaton.iteration_paths import is_of_one_event

# ---------------------------------------------------------------- bounds

# A least number is a bound under every strategy, a greatest one only under skip till any match.
# Under the others a run must take each event that it can, and may then not be left.
#
#     SEQ(A a, B+ b[], C c) WHERE skip_till_next_match {b.len <= 2}      A B B B C has no match
#     SEQ(A a, B{1,2} b[], C c) WHERE skip_till_next_match {a.v = a.v}   A B B B C has one
# Greater numbers stay conditions: a graph of matches has a slot for each count up to the least.
LONGEST = 64


def bounded(query: BoundQuery) -> BoundQuery:
    """Turn conditions on lengths in WHERE and HAVING into bounds; drop those that bounds imply."""
    bounds = _Bounds(query.components, query.strategy is StrategyName.SKIP_TILL_ANY_MATCH)
    # A condition on each iteration also holds without iterations, which a bound would exclude. A
    # condition on an alternative of `!(P OR Q)` may have a length alone left in another one.
    conjuncts = tuple(
        each
        for each in query.conjuncts
        if each.quantified or each.kind is ConjunctClass.NEGATIVE or not bounds.take(each.condition)
    )
    having = query.having
    # A run of earliest_maximal moves on before HAVING is checked, and would then ignore fewer
    # events.
    if query.strategy is not StrategyName.EARLIEST_MAXIMAL:
        having = _joined(each for each in conjoined(having) if not bounds.take(each))
    return replace(query, components=bounds.components, conjuncts=conjuncts, having=having)


def _joined(conditions: Iterable[Condition]) -> Condition | None:
    found = tuple(conditions)
    if len(found) < 2:
        return found[0] if found else None
    return All(found)


class _Bounds:
    """The components, with bounds narrowed by conditions on lengths."""

    def __init__(self, components: tuple[BoundComponent, ...], has_greatest: bool) -> None:
        self.components, self._has_greatest = components, has_greatest

    def take(self, condition: Condition) -> bool:
        """Narrow a bound by a condition on a length; return whether the bound replaces it."""
        match condition:
            case Comparison(operator=operator, left=Aggregate() as length, right=Constant() as to):
                return self._narrowed(length, *_limits(operator, to.value))
            case Comparison(operator=operator, left=Constant() as to, right=Aggregate() as length):
                return self._narrowed(length, *_limits(TURNED[operator], to.value))
            case Between(
                operand=Aggregate() as length, low=Constant() as low, high=Constant() as high,
                negated=False,
            ):  # fmt: skip
                least, _ = _limits(">=", low.value)
                _, most = _limits("<=", high.value)
                return (
                    least is not None and most is not None and self._narrowed(length, least, most)
                )
        return False

    def _narrowed(self, length: Aggregate, least: int | None, most: int | None) -> bool:
        is_length = length.function == "count" and length.attribute is None and length.inner is None
        if not is_length or length.part is not Part.ALL or (least, most) == (None, None):
            return False
        place = next(n for n, c in enumerate(self.components) if c.index == length.component)
        old = self.components[place]
        minimum = max(old.minimum, least or 0)
        maximum = old.maximum
        if most is not None and self._has_greatest:
            maximum = most if maximum is None else min(maximum, most)
        if minimum > LONGEST or (maximum is not None and not max(minimum, 1) <= maximum):
            return False
        if maximum != old.maximum and maximum is not None and maximum > LONGEST:
            return False
        # A single event written with `?` stays nullable in results.
        new = replace(
            old, minimum=minimum, maximum=maximum, is_counted=old.is_counted or old.is_optional
        )
        self.components = (*self.components[:place], new, *self.components[place + 1 :])
        return most is None or self._has_greatest


def _limits(operator: str, value: object) -> tuple[int | None, int | None]:
    """The least and the greatest number that a comparison allows, if it bounds them."""
    if type(value) is not int:
        return None, None
    least = {">": value + 1, ">=": value, "=": value}.get(operator)
    most = {"<": value - 1, "<=": value, "=": value}.get(operator)
    return least, most


# ---------------------------------------------------------------- checks

# The moments of a state at which a condition is checked, by `When`.
MOMENTS = {
    When.EVENT: (At.BEGIN,),
    When.FIRST: (At.BEGIN,),
    When.EVERY: (At.BEGIN, At.TAKE),
    When.FURTHER: (At.TAKE,),
    When.WHOLE: (At.FINISH,),
}


def checks_of(
    automaton: PatternAutomaton,
    components: Sequence[BoundComponent],
    conjuncts: Sequence[Conjunct],
) -> Iterator[Check]:
    """All checks: of conjuncts on the pattern, then of those on iterations, by state."""
    levels = {component.index: level for level, component in enumerate(components)}
    states = {each.level: each.number for each in automaton.states}
    for conjunct in conjuncts:
        if conjunct.kind is ConjunctClass.CONSTANT or conjunct.component is None:
            for state in automaton.states:
                yield Check(conjunct.condition, Moment(At.BEGIN, state.number))
        elif conjunct.checks:
            for check in conjunct.checks:
                awaited = tuple(states[levels[each]] for each in check.awaited)
                yield from _member(conjunct, check, states[levels[check.component]], awaited)
        else:
            yield from _component(automaton, conjunct, states[levels[conjunct.component]])
    for each in automaton.states:
        group = components[each.level].group
        for own in () if group is None else group.branches[each.branch].conjuncts:
            if own.element == each.place:
                yield from _iteration(own, components[each.level].index, each)


def _member(
    conjunct: Conjunct, check: MemberCheck, state: int, awaited: tuple[int, ...]
) -> Iterator[Check]:
    """A condition that is checked where one of several members of a set is bound last."""
    own = check.component if At.TAKE in MOMENTS[check.when] else None
    for at in MOMENTS[check.when]:
        moment = Moment(at, state)
        yield Check(conjunct.condition, moment, own, check.quantified, awaited)


def _component(automaton: PatternAutomaton, conjunct: Conjunct, state: int) -> Iterator[Check]:
    group = automaton.elements[automaton.states[state].element].group
    if group is not None:
        moment = Moment(At.LEAVE, group)
        yield Check(conjunct.condition, moment, quantified=conjunct.quantified)
        return
    if conjunct.when is When.WHOLE:  # of a member of a set: when the set is left
        state = automaton.members(state)[0]
    own = conjunct.component if At.TAKE in MOMENTS[conjunct.when] else None
    for at in MOMENTS[conjunct.when]:
        yield Check(conjunct.condition, Moment(at, state), own, conjunct.quantified)


def _iteration(conjunct: IterationConjunct, group: int, state: PatternState) -> Iterator[Check]:
    """A condition that is decided at a state of an iteration."""
    own = state.slot if At.TAKE in MOMENTS[conjunct.when] else None
    quantified = conjunct.quantified
    if own is not None:
        quantified = tuple(q for q in quantified if (q.component, q.inner) != (group, own))
    for at in MOMENTS[conjunct.when]:
        yield Check(
            conjunct.condition,
            Moment(at, state.number),
            quantified=quantified,
            group=group,
            variable=own,
            iterations=conjunct.iterations,
            is_single=is_of_one_event(conjunct, state.slot),
        )


# ---------------------------------------------------------------- build

IGNORE = {
    StrategyName.STRICT_CONTIGUITY: Ignore.NEVER,
    StrategyName.PARTITION_CONTIGUITY: Ignore.OTHER_PARTITION,
    StrategyName.SKIP_TILL_NEXT_MATCH: Ignore.UNLESS_WAITED,
    StrategyName.SKIP_TILL_ANY_MATCH: Ignore.ANY,
    StrategyName.EARLIEST_MAXIMAL: Ignore.UNLESS_MOVED,
}


def automata_of(query: BoundQuery) -> tuple[PatternAutomaton, ...]:
    """The automata of the branches of a query, with the checks of all conditions."""
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
    """The rank of each component's first variable, by first occurrence."""
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
    """The edges from a state: through the rest of an iteration, and past optional elements."""

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
        """The edges to the rest of an iteration, to another one, and past the group."""
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
        """The edges to the first states of an element, and past it if it may be empty."""
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
        """The edges to the first element of an iteration, past optional ones at its start."""
        for branch in group.branches:
            edge = replace(path, begins=True)
            for state in branch:
                yield replace(edge, target=state)
                if self._of.states[state].count.least > 0:
                    break
                passed = (*edge.passed, Moment(At.FINISH, state))
                edge = replace(edge, waits=Waits.NEVER, passed=passed)


def _past(path: Edge, at: At, number: int) -> Edge:
    """A path past an optional element that stays empty."""
    return replace(path, waits=Waits.NEVER, finished=(*path.finished, Moment(at, number)))
