"""Find the events of each component, and what each of its own conditions stops."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from sase.binding import BoundQuery
from sase.binding.bound import BoundComponent, Comparison, Condition, Conjunct, Reference, When
from sase.diagnostics.attributes import Attributes, of_types
from sase.diagnostics.why_not.alternatives import SeenValues, alternatives_to
from sase.diagnostics.why_not.query_parts import PartKind, QueryPart, shown
from sase.diagnostics.why_not.relaxation import keys_of
from sase.engine.columns.arrays import Numbers

PartCondition: TypeAlias = tuple[QueryPart, Condition]


@dataclass(frozen=True)
class Stopped:
    """How many events of a component a part stops, and how many no other of its own does.

    `seen` is what there is instead, where nothing passes. A part may stop events only from being
    the first of a series.
    """

    part: QueryPart
    number: int
    alone: int
    seen: SeenValues | None = None
    as_first: bool = False


@dataclass(frozen=True)
class ComponentCandidates:
    """The events of a component's types, and those that pass its own conditions.

    `first` are those of a series that may be its first, and `unknown` its types that no event has.
    """

    component: BoundComponent
    text: str
    events: int
    passing: int
    stopped: tuple[Stopped, ...] = ()
    unknown: tuple[str, ...] = ()
    at: Numbers = field(default_factory=lambda: np.empty(0, np.int64), repr=False, compare=False)
    first: int = 0

    @property
    def is_barred(self) -> bool:
        """Whether it must bind an event, and none can be its first."""
        component = self.component
        return not (component.negated or self.first) and component.minimum > 0


def are_barred(
    candidates: Sequence[ComponentCandidates], left_out: QueryPart | None = None
) -> bool:
    """Whether there can be no match, since no event of a component passes, but for a part."""
    return any(
        all(stopped.part != left_out for stopped in each.stopped)
        for each in candidates
        if each.is_barred
    )


def candidates_of(
    query: BoundQuery, parts: Sequence[QueryPart], attributes: Attributes
) -> tuple[ComponentCandidates, ...]:
    """Find the candidates of every component, negative ones too."""
    events = attributes.events
    counts = np.bincount(events.types + 1, minlength=len(events.type_names) + 1)[1:]
    present = {events.type_names[code] for code in np.flatnonzero(counts).tolist()}
    filters = (_Filters(each, query, parts, attributes) for each in query.components)
    return tuple(each.candidates(present) for each in filters)


def is_of_first(conjunct: Conjunct, component: BoundComponent) -> bool:
    """Whether a condition on one event lets a series of several have others that fail it."""
    return conjunct.when is When.FIRST and component.maximum != 1


class _Filters:
    """The parts of a query that stop events of a component by themselves."""

    def __init__(
        self,
        component: BoundComponent,
        query: BoundQuery,
        parts: Sequence[QueryPart],
        attributes: Attributes,
    ) -> None:
        self._component, self._query, self._attributes = component, query, attributes
        self._parts = [p for p in parts if p.components in ((), (component.index,))]

    def candidates(self, present: Collection[str]) -> ComponentCandidates:
        """Filter the events of the component's types, of which some are `present`."""
        component, events = self._component, self._attributes.events
        at = of_types(events, events.type_names if component.types is None else component.types)
        passing, stopped = self._apply(self._own(), at)
        first, as_first = self._apply(self._of_first(), passing, as_first=True)
        return ComponentCandidates(
            component,
            shown(component),
            len(at),
            len(passing),
            (*stopped, *as_first, *self._without_key(passing)),
            tuple(name for name in component.types or () if name not in present),
            passing,
            len(first),
        )

    def _apply(
        self, conditions: Sequence[PartCondition], at: Numbers, *, as_first: bool = False
    ) -> tuple[Numbers, list[Stopped]]:
        """Return the events that pass conditions, and what stops the others."""
        truths = [self._attributes.truth(each, self._component, at) for _, each in conditions]
        fails = sum((~truth for truth in truths), start=np.zeros(len(at), np.int64))
        stopped = [
            Stopped(
                part,
                int((~truth).sum()),
                int((~truth & (fails == 1)).sum()),
                # Where some pass, the constant is not the mistake.
                None if truth.any() else alternatives_to(condition, at, self._attributes),
                as_first,
            )
            for (part, condition), truth in zip(conditions, truths, strict=True)
            if not truth.all()
        ]
        return at[fails == 0], stopped

    def _own(self) -> list[PartCondition]:
        """The conditions on each event alone, and the values that tests fix."""
        component, query = self._component, self._query
        if component.negated:
            (part,) = (p for p in self._parts if p.kind is PartKind.NEGATION)
            own = [each for each in query.conjuncts if each.references == (component.index,)]
            return [(part, each.condition) for each in own]
        found: list[PartCondition] = []
        for part in self._parts:
            if part.kind is PartKind.OWN and not self._is_of_first(part):
                found.append((part, query.conjuncts[part.number].condition))
            elif part.kind is PartKind.TEST:
                value, key = query.equivalences[part.number].value, self._key(part)
                if value is not None and key is not None:
                    found.append((part, Comparison("=", key, value)))
        return found

    def _of_first(self) -> list[PartCondition]:
        """The conditions on the first event of a series alone."""
        own = [part for part in self._parts if part.kind is PartKind.OWN]
        conjuncts = self._query.conjuncts
        return [(p, conjuncts[p.number].condition) for p in own if self._is_of_first(p)]

    def _is_of_first(self, part: QueryPart) -> bool:
        return is_of_first(self._query.conjuncts[part.number], self._component)

    def _key(self, part: QueryPart) -> Reference | None:
        """What a test reads of the component."""
        test, schema = self._query.equivalences[part.number], self._attributes.schema
        keys = keys_of(test, self._query, schema)
        return next((key for key in keys if key.component == self._component.index), None)

    def _without_key(self, passing: Numbers) -> Iterator[Stopped]:
        """Count the events that agree with none, since what a test reads is NULL."""
        if self._component.negated or (
            len(self._query.components) < 2 and self._component.is_single
        ):
            return
        for part in self._parts:
            if part.kind is PartKind.TEST and self._query.equivalences[part.number].value is None:
                key = self._key(part)
                number = 0 if key is None else self._attributes.count_nulls(key, passing)
                if number:
                    yield Stopped(part, number, number)
