"""The events that strategies let runs skip, in patterns with sets."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from sase.binding import BoundQuery, Schema
from sase.binding.bound import BoundComponent, Conjunct, MemberCheck, When, elements_of
from sase.diagnostics.strategies.strategy_rules import ForbiddenSkip, Run, StrategyRules
from sase.engine.columns import Events

# When conditions are checked: for an event that begins a component, or extends a series.
BEGINNING, TAKING = (When.EVENT, When.FIRST, When.EVERY), (When.EVERY, When.FURTHER)


class SetRules(StrategyRules):
    """Decides which events strategies let a run skip, with sets.

    A run has a series for each positive component; it is empty if nothing is bound.
    """

    def __init__(self, query: BoundQuery, events: Events, schema: Schema) -> None:
        super().__init__(query, events, schema)
        self._elements = elements_of(query.positives)

    def is_in_order(self, match: Run) -> bool:
        """Whether each series is in order, and the events of each element follow those before."""
        parts = [[match[level] for level in element] for element in self._elements]
        spans = [[each for series in part for each in series] for part in parts]
        spans = [each for each in spans if each]
        apart = all(max(one) < min(other) for one, other in pairwise(spans))
        return apart and all(list(series) == sorted({*series}) for series in match)

    def _ignored(self, match: Run) -> Iterator[tuple[Run, int]]:
        bound = sorted((at, level) for level, series in enumerate(match) for at in series)
        run: list[tuple[int, ...]] = [()] * len(match)
        before: int | None = None
        for position, level in bound:
            if before is not None:
                yield from ((tuple(run), each) for each in range(before + 1, position))
            run[level], before = (*run[level], position), position

    def _must_take(self, run: Run, position: int) -> list[ForbiddenSkip]:
        """The members that could bind an event: of the current element, or the next if full."""
        at = max(n for n, each in enumerate(self._elements) if any(run[level] for level in each))
        is_full = all(self._is_full(run, level) for level in self._elements[at])
        found = []
        for level in self._elements[at + is_full]:
            if not self._is_full(run, level) and self._could_bind(run, level, position):
                component = self.query.positives[level]
                found.append(ForbiddenSkip(position, component.variable, not run[level]))
        return found[:1]

    def _is_full(self, run: Run, level: int) -> bool:
        most = self.query.positives[level].maximum
        return most is not None and len(run[level]) >= most

    def _could_bind(self, run: Run, level: int, position: int) -> bool:
        """Whether an event could be the next one of a component."""
        component = self.query.positives[level]
        earlier = sorted(each for series in run for each in series)
        name = self.interpreter.type_names[position]
        admitted = name is not None and (component.types is None or name in component.types)
        return (
            admitted
            and self._is_behind(run, level, position)
            and self.agrees(component, earlier, position)
            and self._is_within(earlier[0], position)
            and all(self._lets(each, run, level, position) for each in self.conjuncts)
        )

    def _is_behind(self, run: Run, level: int, position: int) -> bool:
        """Whether an event is after those of earlier elements, and of its own series."""
        own = next(n for n, each in enumerate(self._elements) if level in each)
        before = [each for element in self._elements[:own] for each in element]
        ties = [self.ties[at] for each in (*before, level) for at in run[each]]
        return all(tie < self.ties[position] for tie in ties)

    def _lets(self, conjunct: Conjunct, run: Run, level: int, position: int) -> bool:
        """Whether a condition holds, if it applies to the event."""
        component = self.query.positives[level]
        when = _asked(conjunct, component)
        if when is None or when.when not in (TAKING if run[level] else BEGINNING):
            return True
        more = [(*run[level], position) if n == level else each for n, each in enumerate(run)]
        series = dict(zip((each.index for each in self.query.positives), more, strict=True))
        if not all(series[each] for each in when.awaited):
            return True
        newest = {component.index: len(run[level])}
        cases = self.interpreter.cases(conjunct.condition, series, newest)
        return all(self.interpreter.truth(conjunct.condition, each) for each in cases)


def _asked(conjunct: Conjunct, component: BoundComponent) -> MemberCheck | None:
    """Where a condition is checked for a component's events, or None."""
    if not conjunct.checks:
        own = conjunct.component == component.index
        return MemberCheck(component.index, conjunct.when, ()) if own else None
    return next((each for each in conjunct.checks if each.component == component.index), None)
