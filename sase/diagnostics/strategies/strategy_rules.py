"""What a strategy says of a match that another one finds: the events that it may not skip.

A match fixes the run that makes it: what that has bound before each event, and which events it
ignores. The moves (docs/semantics.md, Runs) are the same under every strategy but for *ignore*; so
a strategy has the match if it allows to ignore each of these events, and otherwise these are the
reasons.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

import numpy as np

from sase.binding import BoundQuery, Schema
from sase.binding.bound import BoundComponent, Conjunct, ConjunctClass, Part, When, WindowKind
from sase.binding.parts import references
from sase.diagnostics.strategies.interpreter import Bound, Series, Values
from sase.engine.columns import Events
from sase.engine.kernels.sentinels import NOTHING
from sase.engine.operators.contract import span_of
from sase.lang.ast import StrategyName

# The series of the positive components that a run has entered or passed over.
Run = tuple[Series, ...]


@dataclass(frozen=True, slots=True)
class Kept:
    """An event that may not be skipped, and the variable that could have it, if that is why."""

    position: int
    variable: str | None = None
    begins: bool = False


class Rules:
    """A query and events, and what the strategies allow in them."""

    def __init__(self, query: BoundQuery, events: Events, schema: Schema) -> None:
        self.query, self.events = query, events
        self.values = Values(query, events, schema)
        self.ties = (np.arange(len(events)) if events.tie is None else events.tie).tolist()
        self.times = events.ts.tolist()
        self.codes = [
            self.values.attributes.codes([replace(test, value=None)]).tolist()
            for test in query.equivalences
        ]
        checked = (When.EVENT, When.FIRST, When.EVERY, When.FURTHER)
        self.conjuncts = [
            each
            for each in query.conjuncts
            if each.kind is not ConjunctClass.NEGATIVE and each.when in checked
        ]

    def kept(self, strategy: StrategyName, match: Run) -> list[Kept]:
        """The events that the run of a match ignores, and that a strategy does not let it."""
        found = []
        for run, position in self._ignored(match):
            match strategy:
                case StrategyName.STRICT_CONTIGUITY:
                    found.append(Kept(position))
                case StrategyName.PARTITION_CONTIGUITY:
                    found += [] if self.differs(run, position) else [Kept(position)]
                case StrategyName.SKIP_TILL_NEXT_MATCH:
                    found += self._wanted(run, position)
        return found

    def _ignored(self, match: Run) -> Iterator[tuple[Run, int]]:
        """The events between those of a match, with what is bound before them."""
        run: Run = ()
        before: int | None = None
        for number, series in enumerate(match):
            for place, position in enumerate(series):
                if before is not None:
                    yield from ((run, each) for each in range(before + 1, position))
                run, before = (*match[:number], series[: place + 1]), position

    def _wanted(self, run: Run, position: int) -> list[Kept]:
        """What skip till next match must take or begin."""
        inside = self._component(len(run) - 1)
        if inside.is_single:
            waiting = self._component(len(run))
            may = self._may_bind((*run, (position,)), begins=True)
            return [Kept(position, waiting.variable, begins=True)] if may else []
        taken = (*run[:-1], (*run[-1], position))
        is_full = inside.maximum is not None and len(run[-1]) >= inside.maximum
        may = not is_full and self._may_bind(taken, begins=False)
        return [Kept(position, inside.variable)] if may else []

    def _component(self, place: int) -> BoundComponent:
        return self.query.positives[place]

    # ------------------------------------------------------------ begin and take

    def _may_bind(self, run: Run, *, begins: bool) -> bool:
        """Whether the last event of a run could be bound there."""
        component = self._component(len(run) - 1)
        *earlier, position = (each for series in run for each in series)
        name = self.values.type_names[position]
        admitted = name is not None and (component.types is None or name in component.types)
        return (
            admitted
            and self.ties[earlier[-1]] < self.ties[position]
            and self.agrees(component, earlier, position)
            and self._is_within(earlier[0], position)
            and all(self._holds(each, run) for each in self._checked(component, begins))
        )

    def _checked(self, component: BoundComponent, begins: bool) -> list[Conjunct]:
        now = (When.EVENT, When.FIRST, When.EVERY) if begins else (When.EVERY, When.FURTHER)
        own = (each for each in self.conjuncts if each.component == component.index)
        return [each for each in own if each.when in now]

    def _holds(self, conjunct: Conjunct, run: Run) -> bool:
        """For the newest event of the last component, and every event of other series."""
        series = dict(zip((each.index for each in self.query.positives), run, strict=False))
        ranks = {
            each.part.rank
            for each in references(conjunct.condition)
            if each.component == conjunct.component
        }
        newest: dict[int, int] = {}
        if conjunct.component is not None and Part.CURRENT.rank in ranks:
            newest[conjunct.component] = len(run[-1]) - 1
        ranges = [
            range(1 if each.but_first else 0, len(series.get(each.component, ())))
            for each in conjunct.quantified
        ]
        numbers = [each.component for each in conjunct.quantified]
        return all(
            self.values.truth(
                conjunct.condition, Bound(series, newest | dict(zip(numbers, each, strict=True)))
            )
            for each in product(*ranges)
        )

    def agrees(self, component: BoundComponent, earlier: list[int], position: int) -> bool:
        """Whether it passes the tests with the other events of the run."""
        for test, codes in zip(self.query.equivalences, self.codes, strict=True):
            if codes[position] == NOTHING or not self._agree(codes, earlier, position):
                return False
            if test.value is not None and codes[position] >= 0:
                column = self.values.of(component.index, test.attribute, test.type.kind)
                literal = self.values.value(test.value, Bound({}))
                if column[position] != literal:
                    return False
        return True

    def _agree(self, codes: list[int], earlier: list[int], position: int) -> bool:
        """Where both declare the attribute, they agree in it."""
        code = codes[position]
        return code < 0 or all(codes[each] in (code,) or codes[each] < 0 for each in earlier)

    def differs(self, run: Run, position: int) -> bool:
        """Whether an event is of another partition than a run."""
        earlier = [each for series in run for each in series]
        return any(
            codes[position] < 0 or not self._agree(codes, earlier, position) for codes in self.codes
        )

    # ------------------------------------------------------------ the window

    def _is_within(self, first: int, last: int) -> bool:
        window = self.query.window
        if window is None:
            return True
        start, end = self._measure(first), self._measure(last)
        return start is not None and end is not None and end - start <= span_of(window)

    def _measure(self, position: int) -> int | None:
        window = self.query.window
        assert window is not None
        if window.kind is WindowKind.TIME:
            return int(self.times[position])
        return position if window.kind is WindowKind.EVENTS else self._ranks[position]

    @cached_property
    def _ranks(self) -> list[int | None]:
        """The place of each event in its partition."""
        seen: Counter[tuple[int, ...]] = Counter()
        ranks: list[int | None] = []
        for key in zip(*self.codes, strict=True):
            ranks.append(None if min(key) < 0 else seen[key])
            seen[key] += 1
        return ranks
