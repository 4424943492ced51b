"""The parts of the formulas: components, conditions P+ and P-, window, strategy, stream."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

from sase.lang import ast
from sase.lang.ast import StrategyName
from tests.naive.conditions import Condition, conjuncts, names, present
from tests.naive.equivalence import Test, differs_alone, fits, fits_all
from tests.naive.events import Stream
from tests.naive.expressions import Event, Scope, Series
from tests.naive.iterations import Iterations, of_iterations
from tests.naive.pattern import Branch, Element, NegativeGroup, Pattern, unrolled, written_out
from tests.naive.windows import Window, window

Bound: TypeAlias = tuple[Series, ...]  # one series for each positive component, in order


@dataclass(frozen=True)
class Forbidding:
    """A negative group: its place among the elements of the branch, and its conditions."""

    group: NegativeGroup
    position: int
    conditions: tuple[Condition, ...]
    scope: Scope  # of the elements of the branch, and behind them those of the group

    def number(self, place: int) -> int:
        """The number of an element of the group in its scope."""
        return len(self.scope.components) - len(self.group.elements) + place

    @property
    def positives(self) -> list[int]:
        """Which of its elements are positive."""
        return self._are(negated=False)

    @property
    def negatives(self) -> list[int]:
        """Which of its elements are negative."""
        return self._are(negated=True)

    def _are(self, *, negated: bool) -> list[int]:
        elements = enumerate(self.group.elements)
        return [place for place, each in elements if each.component.negated == negated]

    @property
    def own(self) -> list[Condition]:
        """The conditions that mention no negative component inside of it."""
        inner = {self.number(place) for place in self.negatives}
        return [each for each in self.conditions if not each.components & inner]

    def of_inner(self, place: int) -> list[Condition]:
        """The conditions that mention this negative component inside of it."""
        return [each for each in self.conditions if self.number(place) in each.components]


@dataclass(frozen=True)
class Problem:
    """A branch of a query, with a number of iterations of each repeated group, and a stream."""

    stream: Stream
    pattern: Pattern
    elements: tuple[Element, ...]
    tests: tuple[Test, ...]
    conditions: tuple[Condition, ...]
    window: Window | None
    strategy: StrategyName
    scope: Scope
    forbidding: tuple[Forbidding, ...]
    iterations: Iterations
    written: Branch

    @cached_property
    def components(self) -> tuple[ast.Component, ...]:
        """The components of the branch."""
        return tuple(element.component for element in self.elements)

    @cached_property
    def positives(self) -> list[int]:
        """The numbers of the positive components: c1 … cn."""
        return [n for n, component in enumerate(self.components) if not component.negated]

    @cached_property
    def negatives(self) -> list[int]:
        """The numbers of the negative components."""
        return [n for n, component in enumerate(self.components) if component.negated]

    @cached_property
    def p_plus(self) -> list[Condition]:
        """docs/semantics.md, Conjuncts: the conditions that mention no negative component."""
        negatives = set(self.negatives)
        return [each for each in self.conditions if not each.components & negatives]

    def p_minus(self, number: int) -> list[Condition]:
        """The conditions that mention the negative component of this number."""
        return [each for each in self.conditions if number in each.components]

    @property
    def null_is_out(self) -> bool:
        """docs/semantics.md, Equivalence tests: whether NULL as a key is in no match."""
        written = self.pattern.elements
        is_series = written[0].component.quantifier is not None
        return len(written) > 1 or is_series or bool(self.pattern.repeated)

    @property
    def is_level_1(self) -> bool:
        """docs/semantics.md, Sequences, gives the meaning: no series, skip till any match."""
        plain = all(component.quantifier is None for component in self.components)
        return plain and self.strategy == StrategyName.SKIP_TILL_ANY_MATCH

    @cached_property
    def steps(self) -> list[list[int]]:
        """The positive components that follow one another; members of a set are one step."""
        found: list[list[int]] = []
        for number in self.positives:
            of_set = self.elements[number].of_set
            if of_set is not None and found and self.elements[found[-1][0]].of_set == of_set:
                found[-1].append(number)
            else:
                found.append([number])
        return found

    @cached_property
    def places(self) -> list[list[int]]:
        """For each positive component its step, as places among the positive ones."""
        places = [[self.positives.index(number) for number in step] for step in self.steps]
        return [step for step in places for _ in step]

    @cached_property
    def by_last_step(self) -> dict[tuple[int, ...], list[Condition]]:
        """The conditions of `p_plus` by their last identifier."""
        found: dict[tuple[int, ...], list[Condition]] = {}
        for each in self.p_plus:
            found.setdefault(tuple(self.last_step(each)), []).append(each)
        return found

    def last_step(self, condition: Condition) -> list[int]:
        """The last identifier of a condition in the pattern: a component, or members of a set."""
        if not condition.parts:
            return []
        number = max(condition.components)
        return next((step for step in self.steps if number in step), [number])

    def binding(self, bound: Bound, **more: Series) -> dict[int, Series]:
        """The bindings of each component, by its number."""
        return dict(zip(self.positives, bound, strict=False))

    def scope_of(self, bound: Mapping[int, Series]) -> Scope:
        """Where expressions about a (partial) match are read."""
        return self.scope.with_bound(bound)

    def agrees(self, event: Event, others: Series) -> bool:
        """docs/semantics.md, Equivalence tests: the event passes each with the others."""
        return all(
            fits(test, event, self.null_is_out, self.scope)
            and fits_all(test, event, others, self.scope)
            for test in self.tests
        )

    def differs(self, event: Event, others: Series) -> bool:
        """docs/semantics.md, Strategies: by partition contiguity it is of another partition."""
        return any(
            differs_alone(test, event) or not fits_all(test, event, others, self.scope)
            for test in self.tests
        )


def passes(component: ast.Component, event: Event) -> bool:
    """The type test of a component."""
    match component.test:
        case ast.TypeTest(ast.Name(name)):
            return event.type == name
        case ast.AnyTest(names):
            return event.type is not None and (
                not names or event.type in {name.text for name in names}
            )


def events_in(bound: Bound) -> Series:
    """All events of a match, in the order of the stream."""
    events = (event for series in bound for event in series)
    return tuple(sorted(events, key=lambda event: event.position))


def least(component: ast.Component) -> int:
    """How many events a component binds at least."""
    return component.quantifier.minimum if component.quantifier else 1


def most(component: ast.Component) -> float:
    """How many events a component binds at most."""
    if component.quantifier is None:
        return 1
    return float("inf") if component.quantifier.maximum is None else component.quantifier.maximum


# ---------------------------------------------------------------- reading the tree


def state(
    query: ast.Query, stream: Stream, parameters: Mapping[str, object]
) -> tuple[Problem, ...]:
    """Read the clauses of a query, for each branch of its pattern."""
    if len(query.sources) > 1:
        raise NotImplementedError("FROM with several streams")
    pattern, parts = written_out(query.pattern), conjuncts(query.where)
    tests = _tests(parts, parameters)
    strategy = query.strategy.name if query.strategy else StrategyName.SKIP_TILL_ANY_MATCH
    if strategy == StrategyName.EARLIEST_MAXIMAL and pattern.repeated:
        raise ValueError("earliest_maximal of a repeated group")
    if strategy == StrategyName.PARTITION_CONTIGUITY and not tests:
        raise ValueError("partition contiguity needs an equivalence test")
    length = window(query.window, stream, tests, parameters)
    written = [part for part in parts if not isinstance(part, ast.Equivalence)]

    def of_branch(
        branch: Branch, whole: Branch, asked: list[ast.Expression], own: list[ast.Expression]
    ) -> Problem:
        scope = _scope(pattern, branch, parameters, stream)
        conditions = tuple(each for part in own for each in of_iterations(part, branch, scope))
        groups = tuple(_forbidding(asked, branch, scope))
        return Problem(
            stream, pattern, branch.elements, tests, conditions, length, strategy, scope, groups,
            branch.iterations, whole,
        )  # fmt: skip

    begun, stated = strategy == StrategyName.SKIP_TILL_NEXT_MATCH, list[Problem]()
    for branch in pattern.branches:
        asked = list(_asked(written, pattern, branch))
        own = [part for part in asked if not names(part) & pattern.forbidding]
        for each in unrolled(branch, len(stream.events), begun=begun):
            stated.append(of_branch(each, branch, asked, own))
    return tuple(stated)


def _scope(
    pattern: Pattern, branch: Branch, parameters: Mapping[str, object], stream: Stream
) -> Scope:
    """Where expressions about the elements of a branch are read."""
    repeated = {group.name: 0 for group in pattern.repeated}
    repeated |= {group.name: len(chosen) for group, chosen in branch.iterations}
    return Scope(
        tuple(element.component for element in branch.elements),
        parameters,
        stream.clock.raw_unit,
        groups={group: int(group in branch.groups) for group in pattern.groups} | repeated,
        of_several_types=pattern.of_several_types,
    )


def _asked(
    written: list[ast.Expression], pattern: Pattern, branch: Branch
) -> Iterator[ast.Expression]:
    """docs/semantics.md, Absent conditions: the conjuncts that concern a branch."""
    absent = pattern.names - branch.names
    for conjunct in written:
        remaining = present(conjunct, absent)
        if remaining is not None and not names(conjunct) & absent & pattern.negative_names:
            yield remaining


def _forbidding(asked: list[ast.Expression], branch: Branch, scope: Scope) -> Iterator[Forbidding]:
    """docs/semantics.md, Negative groups: each with the conjuncts that mention its variables."""
    for place, group in enumerate(branch.parts):
        if isinstance(group, NegativeGroup):
            position = sum(isinstance(part, Element) for part in branch.parts[:place])
            inner = tuple(element.component for element in group.elements)
            inside = replace(scope, components=(*scope.components, *inner))
            own = _of_group(asked, group)
            conditions = tuple(
                each for p in own for each in of_iterations(p, branch, inside, group.iteration)
            )
            yield Forbidding(group, position, conditions, inside)


def _of_group(asked: list[ast.Expression], group: NegativeGroup) -> Iterator[ast.Expression]:
    """A condition on another branch of the same written group is absent."""
    negated = {each.name for each in group.written if each.component.negated}
    for conjunct in asked:
        if names(conjunct) & group.names and not names(conjunct) & group.others & negated:
            remaining = present(conjunct, group.others)
            if remaining is not None:
                yield remaining


def _tests(parts: list[ast.Expression], parameters: Mapping[str, object]) -> tuple[Test, ...]:
    """`[a, b]` is `[a] AND [b]`."""
    return tuple(
        Test(test.attribute.text, test.value)
        for part in parts
        if isinstance(part, ast.Equivalence)
        for test in part.tests
    )
