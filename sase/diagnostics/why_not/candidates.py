"""Find the events of each component, the events that conditions reject, and other values."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from sase.base.texts import nearest
from sase.binding import BoundQuery, bound
from sase.binding.conditions.parts import references
from sase.binding.types import TIMES, Kind
from sase.binding.values.text import quoted
from sase.diagnostics.attributes import Attributes, of_types, python_value
from sase.diagnostics.why_not.query_parts import PartKind, QueryPart, keys_of, shown
from sase.diagnostics.why_not.value_format import format_value
from sase.engine.columns.arrays import Numbers
from sase.engine.expressions import Vector
from sase.engine.kernels.expressions.operations import EXACT

PartCondition: TypeAlias = tuple[QueryPart, bound.Condition]
SHOWN = 3
# The most frequent texts, among which the most similar is sought.
COMPARED = 1000


@dataclass(frozen=True)
class Stopped:
    """The events that a part rejects, those it rejects `alone`, and the values `seen` instead.

    `seen` is set if nothing passes. A part may reject events only `as_first` of a series, or
    `by_null`: events that pass but have no key.
    """

    part: QueryPart
    number: int
    alone: int
    seen: SeenValues | None = None
    as_first: bool = False
    by_null: bool = False


@dataclass(frozen=True)
class ComponentCandidates:
    """Counts of a component's events: of its types, passing its conditions, `first` of a series.

    No event has one of the `unknown` types.
    """

    component: bound.BoundComponent
    text: str
    events: int
    passing: int
    stopped: tuple[Stopped, ...] = ()
    unknown: tuple[str, ...] = ()
    at: Numbers = field(default_factory=lambda: np.empty(0, np.int64), repr=False, compare=False)
    first: int = 0

    @property
    def must_bind(self) -> bool:
        """Whether every match has an event of it."""
        return not self.component.negated and self.component.minimum > 0

    @property
    def is_barred(self) -> bool:
        """Whether it must bind an event, but none can be its first."""
        return self.must_bind and not self.first


def are_barred(
    candidates: Sequence[ComponentCandidates], left_out: QueryPart | None = None
) -> bool:
    """Whether no match is possible, since a component has no event, even without a part."""
    return any(
        all(stopped.part != left_out for stopped in each.stopped)
        for each in candidates
        if each.is_barred
    )


def candidates_of(
    query: BoundQuery, parts: Sequence[QueryPart], attributes: Attributes
) -> tuple[ComponentCandidates, ...]:
    """Find the candidates of every component, including negative ones."""
    events = attributes.events
    counts = np.bincount(events.types + 1, minlength=len(events.type_names) + 1)[1:]
    present = {events.type_names[code] for code in np.flatnonzero(counts).tolist()}
    filters = (_Filters(each, query, parts, attributes) for each in query.components)
    return tuple(each.candidates(present) for each in filters)


def is_of_first(conjunct: bound.Conjunct, component: bound.BoundComponent) -> bool:
    """Whether a condition on one event applies only to the first of a series."""
    return conjunct.when is bound.When.FIRST and component.maximum != 1


class _Filters:
    """The parts of a query that reject single events of a component."""

    def __init__(
        self,
        component: bound.BoundComponent,
        query: BoundQuery,
        parts: Sequence[QueryPart],
        attributes: Attributes,
    ) -> None:
        self._component, self._query, self._attributes = component, query, attributes
        self._parts = [p for p in parts if p.components in ((), (component.index,))]

    def candidates(self, present: Collection[str]) -> ComponentCandidates:
        """Filter the events of the component's types; `present` are the types that occur."""
        component, events = self._component, self._attributes.events
        at = of_types(events, component.types)
        own, of_first = self._own()
        passing, stopped = self._apply(own, at)
        first, as_first = self._apply(of_first, passing, as_first=True)
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
        """Return the events that pass conditions, and the conditions that reject the others."""
        truths = [self._attributes.truth(each, self._component, at) for _, each in conditions]
        fails = sum((~truth for truth in truths), start=np.zeros(len(at), np.int64))
        stopped = [
            Stopped(
                part,
                int((~truth).sum()),
                int((~truth & (fails == 1)).sum()),
                # If some events pass, the constant is probably right.
                None if truth.any() else alternatives_to(condition, at, self._attributes),
                as_first,
            )
            for (part, condition), truth in zip(conditions, truths, strict=True)
            if not truth.all()
        ]
        return at[fails == 0], stopped

    def _own(self) -> tuple[list[PartCondition], list[PartCondition]]:
        """The conditions on single events, with fixed values; those on the first of a series."""
        component, query = self._component, self._query
        if component.negated:
            (part,) = (p for p in self._parts if p.kind is PartKind.NEGATION)
            own = [each for each in query.conjuncts if each.references == (component.index,)]
            return [(part, each.condition) for each in own], []
        found: list[PartCondition] = []
        of_first: list[PartCondition] = []
        for part in self._parts:
            if part.kind is PartKind.OWN:
                conjunct = query.conjuncts[part.number]
                conditions = of_first if is_of_first(conjunct, component) else found
                conditions.append((part, conjunct.condition))
            elif part.kind is PartKind.TEST:
                value, key = query.equivalences[part.number].value, self._key(part)
                if value is not None and key is not None:
                    found.append((part, bound.Comparison("=", key, value)))
        return found, of_first

    def _key(self, part: QueryPart) -> bound.Reference | None:
        """The attribute of the component that a test reads."""
        test, schema = self._query.equivalences[part.number], self._attributes.schema
        return next(iter(keys_of(test, [self._component], schema)), None)

    def _without_key(self, passing: Numbers) -> Iterator[Stopped]:
        """Count the events that agree with none, since their key is NULL."""
        if self._component.negated or (
            len(self._query.components) < 2 and self._component.is_single
        ):
            return
        for part in self._parts:
            if part.kind is PartKind.TEST and self._query.equivalences[part.number].value is None:
                key = self._key(part)
                number = 0 if key is None else self._attributes.count_nulls(key, passing)
                if number:
                    yield Stopped(part, number, number, by_null=True)


# ---------------------------------------------------------------- values that occur instead


@dataclass(frozen=True)
class SeenValues:
    """Values of an attribute with counts, or the `span` of numbers; and the `nearest` text."""

    attribute: str
    values: tuple[tuple[str, int], ...] = ()
    distinct: int = 0
    nearest: str | None = None
    span: tuple[str, str] | None = None

    def __str__(self) -> str:
        if not self.distinct:
            return f"{self.attribute} is always NULL"
        if self.span is not None:
            low, high = self.span
            text = f"{self.attribute} ranges from {low} to {high}" if low != high else ""
            text = text or f"{self.attribute} is always {low}"
            is_inside = self.nearest is not None and self.nearest not in self.span
            return f"{text}, the nearest is {self.nearest}" if is_inside else text
        listed = ", ".join(f"{value} ({count:,})" for value, count in self.values)
        more = f" and {self.distinct - SHOWN:,} others" if self.distinct > SHOWN else ""
        hint = f"; did you mean {self.nearest}?" if self.nearest is not None else ""
        return f"{self.attribute} is {listed}{more}{hint}"


def alternatives_to(
    condition: bound.Condition, at: Numbers, attributes: Attributes
) -> SeenValues | None:
    """The values that occur where a condition on one attribute fails; None for several."""
    read = {each for each in references(condition) if isinstance(each, bound.Reference)}
    if len({each.attribute for each in read}) != 1:
        return None
    reference = next(iter(read))
    given = [each.value for each in _constants(condition)]
    texts = [each for each in given if isinstance(each, str)]
    column = attributes.encoded(reference.attribute, at)
    if column is not None:
        codes = column.values[column.values >= 0]
        return _of_texts(reference.attribute, codes, lambda n: column.dictionary[n].as_py(), texts)
    vector = attributes.vector(reference.attribute, at)
    if not isinstance(vector.tag, int) or reference.type.kind is Kind.BOOLEAN:
        return None
    values = vector.values if vector.valid is None else vector.values[vector.valid]
    if not len(values):
        return SeenValues(reference.attribute)
    if reference.type.kind is Kind.STRING:
        return _of_texts(reference.attribute, values, attributes.text_of, texts)
    numbers = [each for each in given if isinstance(each, int | float)]
    return _of_numbers(reference, vector, values, numbers)


def _constants(condition: bound.Condition) -> list[bound.Constant]:
    found: list[bound.Expression] = []
    match condition:
        case bound.Comparison(left=left, right=right):
            found = [left, right]
        case bound.Membership(values=values):
            found = [*values]
        case bound.Between(low=low, high=high):
            found = [low, high]
        case bound.Like(pattern=pattern):
            found = [pattern]
        case bound.Any(operands=operands):
            return [each for operand in operands for each in _constants(operand)]
    return [each for each in found if isinstance(each, bound.Constant)]


def _of_texts(
    name: str, codes: Numbers, text_of: Callable[[int], str | None], given: list[str]
) -> SeenValues:
    if not len(codes):
        return SeenValues(name)
    used, counts = np.unique(codes, return_counts=True)
    most = np.argsort(-counts, kind="stable")[:COMPARED]
    found = [(text_of(int(used[n])) or "", int(counts[n])) for n in most]
    found.sort(key=lambda each: (-each[1], each[0]))
    near = (nearest(text, [value for value, _ in found]) for text in given)
    suggested = next((each for each in near if each is not None), None)
    shown = tuple((quoted(value), count) for value, count in found[:SHOWN])
    return SeenValues(name, shown, len(used), None if suggested is None else quoted(suggested))


def _of_numbers(
    reference: bound.Reference, vector: Vector, values: Any, given: list[int | float]
) -> SeenValues:
    tag = vector.tag
    assert isinstance(tag, int)
    kind = reference.type

    def text(number: Any) -> str:
        return format_value(python_value(number.item(), tag, kind.kind), kind)

    near = None
    if given:
        # Converts to the unit of the column: constants of time are in nanoseconds.
        scale = 10.0 ** (tag - EXACT) if tag >= EXACT else 1.0
        target = float(given[0]) * scale / (1e9 if kind.kind in TIMES else 1.0)
        near = text(values[np.argmin(np.abs(values.astype(np.float64) - target))])
    distinct = int(values.min() != values.max()) + 1
    return SeenValues(
        reference.attribute, (), distinct, near, (text(values.min()), text(values.max()))
    )
