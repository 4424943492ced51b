"""The events of each component, and which of its own conditions stops how many of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from sase.binding import BoundQuery
from sase.binding.bound import BoundComponent, Comparison, Condition, Conjunct, When
from sase.diagnostics.attributes import Attributes, of_types
from sase.diagnostics.why_not.alternatives import Alternatives, alternatives_to
from sase.diagnostics.why_not.query_parts import PartKind, QueryPart, shown
from sase.diagnostics.why_not.relaxation import keys_of
from sase.engine.columns.arrays import Numbers


@dataclass(frozen=True)
class Stopped:
    """How many events of a component a part stops, and how many no other of its own does.

    `seen` is what there is instead, where nothing passes. A part may stop events only from being
    the first of a series.
    """

    part: QueryPart
    number: int
    alone: int
    seen: Alternatives | None = None
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
    """The candidates of every component, negative ones too."""
    events = attributes.events
    counts = np.bincount(events.types + 1, minlength=len(events.type_names) + 1)[1:]
    present = {
        name for name, count in zip(events.type_names, counts, strict=True) if count
    }  # fmt: skip
    return tuple(_candidates(each, query, parts, attributes, present) for each in query.components)


def _candidates(
    component: BoundComponent,
    query: BoundQuery,
    parts: Sequence[QueryPart],
    attributes: Attributes,
    present: set[str],
) -> ComponentCandidates:
    events = attributes.events
    types = events.type_names if component.types is None else component.types
    at = of_types(events, types)
    passing, stopped = _stopped(component, _own(component, query, parts), attributes, at)
    first, as_first = _stopped(
        component, _of_first(component, query, parts), attributes, passing, as_first=True
    )
    stopped += [*as_first, *_without_key(component, query, parts, attributes, passing)]
    unknown = tuple(name for name in component.types or () if name not in present)
    return ComponentCandidates(
        component,
        shown(component),
        len(at),
        len(passing),
        tuple(stopped),
        unknown,
        passing,
        len(first),
    )


def _stopped(
    component: BoundComponent,
    conditions: Sequence[tuple[QueryPart, Condition]],
    attributes: Attributes,
    at: Numbers,
    *,
    as_first: bool = False,
) -> tuple[Numbers, list[Stopped]]:
    """The events that pass conditions, and what stops the others."""
    truths = [attributes.truth(each, component, at) for _, each in conditions]
    fails = sum((~truth for truth in truths), start=np.zeros(len(at), np.int64))
    stopped = [
        Stopped(
            part,
            int((~truth).sum()),
            int((~truth & (fails == 1)).sum()),
            # Where some pass, the constant is not the mistake.
            None if truth.any() else alternatives_to(condition, at, attributes),
            as_first,
        )
        for (part, condition), truth in zip(conditions, truths, strict=True)
        if not truth.all()
    ]
    return at[fails == 0], stopped


def _own(
    component: BoundComponent, query: BoundQuery, parts: Sequence[QueryPart]
) -> list[tuple[QueryPart, Condition]]:
    """The conditions on its events alone, and the values that tests fix."""
    if component.negated:
        (part,) = (p for p in parts if p.kind is PartKind.NEGATION and p.number == component.index)
        own = [each for each in query.conjuncts if each.references == (component.index,)]
        return [(part, each.condition) for each in own]
    found: list[tuple[QueryPart, Condition]] = []
    for part in parts:
        if part.kind is PartKind.OWN and part.components == (component.index,):
            conjunct = query.conjuncts[part.number]
            if not is_of_first(conjunct, component):
                found.append((part, conjunct.condition))
        elif part.kind is PartKind.TEST:
            test = query.equivalences[part.number]
            keys = (key for key in keys_of(test, query) if key.component == component.index)
            if test.value is not None:
                found += [(part, Comparison("=", key, test.value)) for key in keys]
    return found


def _of_first(
    component: BoundComponent, query: BoundQuery, parts: Sequence[QueryPart]
) -> list[tuple[QueryPart, Condition]]:
    """The conditions on the first event of a series alone."""
    own = [p for p in parts if p.kind is PartKind.OWN and p.components == (component.index,)]
    conjuncts = [(part, query.conjuncts[part.number]) for part in own]
    return [(part, each.condition) for part, each in conjuncts if is_of_first(each, component)]


def is_of_first(conjunct: Conjunct, component: BoundComponent) -> bool:
    """Whether a condition on one event lets a series of several have others that fail it."""
    return conjunct.when is When.FIRST and component.maximum != 1


def _without_key(
    component: BoundComponent,
    query: BoundQuery,
    parts: Sequence[QueryPart],
    attributes: Attributes,
    passing: Numbers,
) -> list[Stopped]:
    """The events that agree with none, since what a test reads is NULL."""
    found = []
    for part in parts:
        is_alone = len(query.components) < 2 and component.is_single
        if part.kind is not PartKind.TEST or component.negated or is_alone:
            continue
        test = query.equivalences[part.number]
        if test.value is not None:
            continue
        names = {key.component: key.attribute for key in keys_of(test, query)}
        if component.index not in names:
            continue
        number = int((~attributes.is_known(names[component.index], passing)).sum())
        if number:
            found.append(Stopped(part, number, number))
    return found
