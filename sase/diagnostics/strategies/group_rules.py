"""The events that skip till next match lets runs skip, in patterns with repeated groups."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from sase.binding import BoundQuery, Schema
from sase.binding.bound import (
    BoundComponent,
    Conjunct,
    IterationBranch,
    IterationConjunct,
    RepeatedGroup,
    When,
)
from sase.diagnostics.strategies.interpreter import Iteration, Series
from sase.diagnostics.strategies.set_rules import BEGINNING, TAKING, SetRules
from sase.diagnostics.strategies.strategy_rules import ForbiddenSkip, StrategyRules
from sase.engine.columns import Events

# The binding of a component: its events, or iterations with the events of each variable.
Bound: TypeAlias = Series | tuple[Iteration, ...]


class Step(NamedTuple):
    """An event bound by a component; in a group by an element of an iteration's branch."""

    position: int
    level: int
    iteration: int = 0
    branch: int = 0
    element: int = 0


class GroupRules(StrategyRules):
    """Decides which events skip till next match lets a run skip, with repeated groups."""

    def must_take(self, match: Sequence[Any]) -> list[ForbiddenSkip] | None:
        """The events that a match ignores but must not; None if that is unknown.

        For a group a match has the series of each positive variable, by iteration. The branch of
        each iteration must be unique, and no group may be left out: each of its branches could
        start.
        """
        steps = list[Step]()
        for level, bound in enumerate(match):
            group = self.query.positives[level].group
            own = _steps(level, bound, group)
            is_passed_over = group is not None and not bound and any(match[level:])
            if own is None or is_passed_over:
                return None
            steps += own
        found = []
        for place in range(1, len(steps)):
            for position in range(steps[place - 1].position + 1, steps[place].position):
                found += self._forbidden(steps[:place], position)
        return found

    def _forbidden(self, run: list[Step], position: int) -> list[ForbiddenSkip]:
        """What the run must do with an event before it binds a later one."""
        for step in self._moves(run):
            if self._may(run, step._replace(position=position)):
                begins = self._count(run, step) == 0
                return [ForbiddenSkip(position, self._element(step).variable, begins)]
        return []

    # ------------------------------------------------------------ moves

    def _moves(self, run: list[Step]) -> Iterator[Step]:
        """The steps that a run could take with an event, before conditions are checked."""
        last = run[-1]
        component, element = self.query.positives[last.level], self._element(last)
        count, group = self._count(run, last), component.group
        is_full = element.maximum is not None and count >= element.maximum
        following = [] if group is None else _following(group.branches[last.branch], last.element)
        if not is_full:
            yield last
        elif following:
            yield last._replace(element=following[0])
        elif group is None:
            yield from self._beginnings(last.level + 1)
        if group is None:
            return
        elements = group.branches[last.branch].elements
        is_finished = count >= element.minimum
        is_finished &= all(elements[each].minimum == 0 for each in following)
        if is_finished and (component.maximum is None or last.iteration + 1 < component.maximum):
            if self._is_left(run, last, group):
                yield from self._beginnings(last.level, last.iteration + 1)
        elif is_full and not following:
            yield from self._beginnings(last.level + 1)

    def _beginnings(self, level: int, iteration: int = 0) -> Iterator[Step]:
        """The first step of a component; of a group one for each branch of an iteration."""
        group = self.query.positives[level].group
        if group is None:
            yield Step(-1, level)
            return
        for branch, each in enumerate(group.branches):
            yield Step(-1, level, iteration, branch, _following(each, -1)[0])

    def _element(self, step: Step) -> BoundComponent:
        component = self.query.positives[step.level]
        if component.group is None:
            return component
        return component.group.branches[step.branch].elements[step.element]

    def _count(self, run: list[Step], step: Step) -> int:
        """The number of events that a step's element has bound in its iteration."""
        return sum(each[1:] == step[1:] for each in run)

    # ------------------------------------------------------------ conditions

    def _may(self, run: list[Step], step: Step) -> bool:
        """Whether a run could bind an event in a step."""
        element, position = self._element(step), step.position
        earlier = [each.position for each in run]
        name = self.interpreter.type_names[position]
        return (
            name is not None
            and (element.types is None or name in element.types)
            and self.ties[earlier[-1]] < self.ties[position]
            and self.agrees(self.query.positives[step.level], earlier, position)
            and self._is_within(earlier[0], position)
            and self._all_hold([*run, step], step, self._asked(run, step))
        )

    def _asked(self, run: list[Step], step: Step) -> list[Conjunct | IterationConjunct]:
        now = TAKING if self._count(run, step) else BEGINNING
        component = self.query.positives[step.level]
        if component.group is None:
            own = (each for each in self.conjuncts if each.component == component.index)
            return [each for each in own if each.when in now]
        conjuncts = component.group.branches[step.branch].conjuncts
        return [
            each
            for each in conjuncts
            if each.element == step.element and each.when in now and _is_asked(each, step)
        ]

    def _is_left(self, run: list[Step], last: Step, group: RepeatedGroup) -> bool:
        """Whether the conditions on the finished iteration hold."""
        branch = group.branches[last.branch]
        whole: list[Conjunct | IterationConjunct] = [
            each
            for each in branch.conjuncts
            if each.when is When.WHOLE
            and each.element >= last.element
            and not branch.elements[each.element].is_absent
            and _is_asked(each, last)
        ]
        return self._all_hold(run, last, whole)

    def _all_hold(
        self, run: list[Step], step: Step, asked: Sequence[Conjunct | IterationConjunct]
    ) -> bool:
        bound = self._bound(run)
        component = self.query.positives[step.level]
        at: dict[Any, int] = {component.index: len(bound[component.index]) - 1}
        if component.group is not None:
            at = {component.index: step.iteration}
            variable = component.group.branches[step.branch].variables[step.element]
            at[component.index, variable] = self._count(run, step) - 1
        return all(
            self.interpreter.truth(each.condition, case)
            for each in asked
            for case in self.interpreter.quantified(each.quantified, bound, at)
        )

    def _bound(self, run: list[Step]) -> Mapping[int, Bound]:
        """The binding of each component, by index."""
        found: dict[int, Any] = {each.index: () for each in self.query.positives}
        for step in run:
            component = self.query.positives[step.level]
            own, group = found[component.index], component.group
            if group is None:
                found[component.index] = (*own, step.position)
                continue
            if step.iteration == len(own):
                own = (*own, Iteration(step.branch, ((),) * len(group.variables)))
            series = list(own[-1].series)
            variable = group.branches[step.branch].variables[step.element]
            series[variable] = (*series[variable], step.position)
            found[component.index] = (*own[:-1], Iteration(step.branch, tuple(series)))
        return found


def _steps(level: int, bound: Sequence[Any], group: RepeatedGroup | None) -> list[Step] | None:
    """The events of a component in order; None if an iteration fits two branches."""
    if group is None:
        return [Step(position, level) for position in bound]
    variables = [n for n, each in enumerate(group.variables) if not each.is_absent]
    found = []
    for number, iteration in enumerate(bound):
        series = dict(zip(variables, iteration, strict=True))
        branches = [n for n, each in enumerate(group.branches) if _may_be_of(each, series)]
        if len(branches) != 1:
            return None
        branch = group.branches[branches[0]]
        found += [
            Step(position, level, number, branches[0], element)
            for element in _following(branch, -1)
            for position in series[branch.variables[element]]
        ]
    return found


def _may_be_of(branch: IterationBranch, series: Mapping[int, Sequence[int]]) -> bool:
    """Whether a branch can have bound these events."""
    own = {branch.variables[each]: branch.elements[each] for each in _following(branch, -1)}
    bound = {variable for variable, events in series.items() if events}
    return {variable for variable, each in own.items() if each.minimum > 0} <= bound <= {*own}


def _following(branch: IterationBranch, element: int) -> list[int]:
    """The places of the positive elements after one."""
    behind = range(element + 1, len(branch.elements))
    return [each for each in behind if not branch.elements[each].is_absent]


def _is_asked(conjunct: IterationConjunct, step: Step) -> bool:
    """Whether a conjunct applies to a step's iteration."""
    if conjunct.iterations is When.EVERY:
        return True
    return (conjunct.iterations is When.FIRST) == (step.iteration == 0)


def rules_of(query: BoundQuery, events: Events, schema: Schema) -> StrategyRules:
    """The strategy rules for a query."""
    if query.has_sets:
        return SetRules(query, events, schema)
    return (GroupRules if query.has_groups else StrategyRules)(query, events, schema)
