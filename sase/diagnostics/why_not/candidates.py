"""The events of each component, and which of its own conditions stops how many of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from sase.binding import BoundQuery, Schema
from sase.binding.bound import (
    BoundComponent,
    Comparison,
    Condition,
    Conjunct,
    EquivalenceTest,
    When,
)
from sase.diagnostics.why_not.alternatives import Seen, seen_by
from sase.diagnostics.why_not.query_parts import Kind, Part, shown
from sase.diagnostics.why_not.relaxation import keys_of
from sase.engine.blocks.block import Block, EventRange
from sase.engine.blocks.dictionary import PlanDictionary, TypeDictionary
from sase.engine.columns import Column, Events
from sase.engine.expressions import Interner, RowFilter, Vector, columns_needed
from sase.engine.kernels.sentinels import NOTHING

Mask: TypeAlias = NDArray[np.bool_]
Numbers: TypeAlias = NDArray[np.int64]
# Events whose attributes are looked at together.
PIECE = 1 << 18


@dataclass(frozen=True)
class Stopped:
    """How many events of a component a part stops, and how many no other of its own does.

    `seen` is what there is instead, where nothing passes. A part may stop events only from being
    the first of a series.
    """

    part: Part
    number: int
    alone: int
    seen: Seen | None = None
    as_first: bool = False


@dataclass(frozen=True)
class Candidates:
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


def are_barred(candidates: Sequence[Candidates], left_out: Part | None = None) -> bool:
    """Whether there can be no match, since no event of a component passes, but for a part."""
    return any(
        all(stopped.part != left_out for stopped in each.stopped)
        for each in candidates
        if each.is_barred
    )


class Attributes:
    """The attributes of events, and the truth of conditions on one of them."""

    def __init__(self, events: Events, schema: Schema, components: Sequence[BoundComponent]):
        mentioned = (name for each in components for name in each.types or ())
        self.events, self._known = events, TypeDictionary(schema, mentioned)
        self._coding = PlanDictionary(self._known, Interner(), streaming=False)

    def truth(self, condition: Condition, component: BoundComponent, places: Numbers) -> Mask:
        """Whether a condition on events of a component holds for those at some places."""
        known = self._known
        lacking = frozenset(
            need
            for need in columns_needed([condition])
            if component.types is None and known.unknown_types_lack(need[1])
        )
        test = RowFilter(condition, known.codes, self._coding.texts, lacking, known.unknown_type)
        found = np.empty(len(places), np.bool_)
        for begin in range(0, len(places), PIECE):
            block = self._block(places[begin : begin + PIECE])
            lanes: Mapping[tuple[int, str], Vector] = {
                need: block.vector(need[1]) for need in test.columns
            }
            found[begin : begin + PIECE] = test.truth(lanes, block.types)
        return found

    def lane(self, attribute: str, places: Numbers) -> Vector:
        """An attribute of the events at some places."""
        return self._block(places).vector(attribute)

    def codes(self, tests: Sequence[EquivalenceTest]) -> Numbers:
        """The codes of all events under tests, negative where they have none."""
        block = self._block(np.arange(len(self.events)))
        return block.codes(self._coding.key(tuple(tests)))

    def encoded(self, attribute: str, places: Numbers) -> Column | None:
        """The codes of strings at some places, without looking at more texts than are asked for."""
        column = self.events.columns.get(attribute)
        return None if column is None or column.dictionary is None else column.take(places)

    def is_known(self, attribute: str, places: Numbers) -> Mask:
        """Where an attribute is not NULL."""
        column = self.encoded(attribute, places)
        valid = self.lane(attribute, places).valid if column is None else column.valid
        return np.ones(len(places), np.bool_) if valid is None else valid

    def text_of(self, code: int) -> str | None:
        """The text that a lane of strings has as a code."""
        return None if code == NOTHING else self._coding.texts.texts[code]

    def _block(self, places: Numbers) -> Block:
        span = EventRange(self.events, 0, len(self.events), 0, 0)
        ts = self.events.ts[places]
        return Block(span, places, places, ts, places, places, self._coding)


def candidates_of(
    query: BoundQuery, parts: Sequence[Part], attributes: Attributes
) -> tuple[Candidates, ...]:
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
    parts: Sequence[Part],
    attributes: Attributes,
    present: set[str],
) -> Candidates:
    events = attributes.events
    types = events.type_names if component.types is None else component.types
    at = of_types(events, types)
    passing, stopped = _stopped(component, _own(component, query, parts), attributes, at)
    first, as_first = _stopped(
        component, _of_first(component, query, parts), attributes, passing, as_first=True
    )
    stopped += [*as_first, *_without_key(component, query, parts, attributes, passing)]
    unknown = tuple(name for name in component.types or () if name not in present)
    return Candidates(
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
    conditions: Sequence[tuple[Part, Condition]],
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
            None if truth.any() else seen_by(condition, at, attributes),
            as_first,
        )
        for (part, condition), truth in zip(conditions, truths, strict=True)
        if not truth.all()
    ]
    return at[fails == 0], stopped


def of_types(events: Events, types: Collection[str]) -> Numbers:
    """The places of the events of some types."""
    admitted = np.array([*(name in types for name in events.type_names), False])
    return np.flatnonzero(admitted[events.types])


def _own(
    component: BoundComponent, query: BoundQuery, parts: Sequence[Part]
) -> list[tuple[Part, Condition]]:
    """The conditions on its events alone, and the values that tests fix."""
    if component.negated:
        (part,) = (p for p in parts if p.kind is Kind.NEGATION and p.number == component.index)
        own = [each for each in query.conjuncts if each.references == (component.index,)]
        return [(part, each.condition) for each in own]
    found: list[tuple[Part, Condition]] = []
    for part in parts:
        if part.kind is Kind.OWN and part.components == (component.index,):
            conjunct = query.conjuncts[part.number]
            if not is_of_first(conjunct, component):
                found.append((part, conjunct.condition))
        elif part.kind is Kind.TEST:
            test = query.equivalences[part.number]
            keys = (key for key in keys_of(test, query) if key.component == component.index)
            if test.value is not None:
                found += [(part, Comparison("=", key, test.value)) for key in keys]
    return found


def _of_first(
    component: BoundComponent, query: BoundQuery, parts: Sequence[Part]
) -> list[tuple[Part, Condition]]:
    """The conditions on the first event of a series alone."""
    own = [p for p in parts if p.kind is Kind.OWN and p.components == (component.index,)]
    conjuncts = [(part, query.conjuncts[part.number]) for part in own]
    return [(part, each.condition) for part, each in conjuncts if is_of_first(each, component)]


def is_of_first(conjunct: Conjunct, component: BoundComponent) -> bool:
    """Whether a condition on one event lets a series of several have others that fail it."""
    return conjunct.when is When.FIRST and component.maximum != 1


def _without_key(
    component: BoundComponent,
    query: BoundQuery,
    parts: Sequence[Part],
    attributes: Attributes,
    passing: Numbers,
) -> list[Stopped]:
    """The events that agree with none, since what a test reads is NULL."""
    found = []
    for part in parts:
        is_alone = len(query.components) < 2 and component.is_single
        if part.kind is not Kind.TEST or component.negated or is_alone:
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
