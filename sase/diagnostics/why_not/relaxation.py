"""Rewrite a query: its beginning, the opposite of a condition, an absence as a presence."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

from sase.binding.bound import (
    All,
    Any,
    Between,
    BoundComponent,
    BoundQuery,
    Comparison,
    Condition,
    Conjunct,
    ConjunctClass,
    Constant,
    EquivalenceTest,
    Expression,
    Like,
    Membership,
    NullTest,
    Part,
    Reference,
    Truth,
    When,
)
from sase.binding.conditions import OPPOSITES
from sase.binding.parts import references
from sase.binding.schema import Schema


def bare(query: BoundQuery) -> BoundQuery:
    """Drop what does not decide about matches: RETURN and LIMIT."""
    return replace(query, columns=None, type_name=None, limit=None)


def beginning(query: BoundQuery, levels: int) -> BoundQuery:
    """Keep the first positive components and their conditions; the last one is not empty."""
    *before, last = query.positives[:levels]
    kept = last if last.minimum else _begun(last)
    return _partial(query, (*before, kept), last, ())


def ending(query: BoundQuery, level: int) -> BoundQuery:
    """Keep the positive components from one on, which may have bound one event so far."""
    first, *rest = query.positives[level:]
    return _partial(query, (_begun(first), *rest), first, (When.FIRST, When.WHOLE))


def starting(query: BoundQuery, level: int) -> BoundQuery:
    """Keep the positive components up to one, which may have bound one event so far."""
    *before, last = query.positives[: level + 1]
    return _partial(query, (*before, _begun(last)), last, (When.WHOLE,))


def _begun(component: BoundComponent) -> BoundComponent:
    """Let a component have bound an event."""
    if component.is_single:
        return component
    return replace(component, minimum=1, is_series=True)


def _partial(
    query: BoundQuery,
    kept: tuple[BoundComponent, ...],
    begun: BoundComponent,
    unknown: tuple[When, ...],
) -> BoundQuery:
    """Keep some components, and their conditions but for those not decided of one yet."""
    indexes = {component.index for component in kept}
    left_out = () if begun.is_single else unknown
    return replace(
        query,
        components=kept,
        conjuncts=tuple(
            c
            for c in query.conjuncts
            if c.references
            and set(c.references) <= indexes
            and not (c.component == begun.index and c.when in left_out)
        ),
        having=None,
    )


def as_positive(query: BoundQuery, index: int) -> BoundQuery:
    """Ask for the events of a negative component together with what they forbid."""
    return replace(
        query,
        components=tuple(
            replace(c, negated=False) if c.index == index else c for c in query.components
        ),
        conjuncts=tuple(
            conjunct(c.condition) if index in c.references else c for c in query.conjuncts
        ),
    )


def with_condition(query: BoundQuery, condition: Condition, schema: Schema) -> BoundQuery:
    """Add a condition, for events whose types declare what it reads."""
    if isinstance(condition, Truth):
        added = Conjunct(condition, ConjunctClass.CONSTANT)
        return replace(query, conjuncts=(*query.conjuncts, added))
    lacking: dict[int, set[str]] = {}
    for each in references(condition):
        lacking.setdefault(each.component, set()).update(each.undeclared_by or ())
    return replace(
        query,
        components=tuple(
            _declaring(c, lacking.get(c.index, set()), schema) for c in query.components
        ),
        conjuncts=(*query.conjuncts, conjunct(condition)),
    )


def _declaring(component: BoundComponent, lacking: set[str], schema: Schema) -> BoundComponent:
    if not lacking:
        return component
    admitted = component.types or schema.type_names or ()
    return replace(component, types=tuple(name for name in admitted if name not in lacking))


def conjunct(condition: Condition) -> Conjunct:
    """Classify a condition on positive components."""
    used = tuple(sorted({each.component for each in references(condition)}))
    if not used:
        return Conjunct(condition, ConjunctClass.CONSTANT)
    kind = ConjunctClass.SINGLE if len(used) == 1 else ConjunctClass.SEVERAL
    return Conjunct(condition, kind, used, used[-1])


def opposite(condition: Condition) -> Condition:
    """Negate a condition: what it compares with NULL satisfies the opposite, too."""
    match condition:
        case Truth(value=value):
            return Truth(not value)
        case All(operands=operands):
            return _any(tuple(map(opposite, operands)))
        case Any(operands=operands):
            return All(tuple(map(opposite, operands)))
        case NullTest(operand=operand, negated=negated):
            return NullTest(operand, not negated)
        case Comparison(operator=sign, left=left, right=right):
            return _or_null(Comparison(OPPOSITES[sign], left, right), left, right)
        case Between(operand=operand, low=low, high=high, negated=negated):
            return _or_null(Between(operand, low, high, not negated), operand, low, high)
        case Membership(operand=operand, values=values, negated=negated):
            return _or_null(Membership(operand, values, not negated), operand)
        case Like(operand=operand, pattern=pattern, negated=negated):
            return _or_null(Like(operand, pattern, not negated), operand)


def _or_null(condition: Condition, *values: Expression) -> Condition:
    tests = [NullTest(value, False) for value in values if not isinstance(value, Constant)]
    return _any((condition, *tests))


def _any(conditions: Collection[Condition]) -> Condition:
    """Join conditions to one disjunction, none directly inside it."""
    return Any(tuple(operand for each in conditions for operand in _operands(each)))


def _operands(condition: Condition) -> Iterator[Condition]:
    if isinstance(condition, Any):
        yield from condition.operands
    else:
        yield condition


def keys_of(test: EquivalenceTest, query: BoundQuery, schema: Schema) -> tuple[Reference, ...]:
    """Return what a test reads of each positive component of which some type may declare it."""
    found = []
    for component in query.positives:
        attribute = test.attribute_of(component.index)
        if attribute is not None and test.declared[component.index] is not False:
            names = component.types or schema.type_names or ()
            lacking = frozenset(name for name in names if not _declares(schema, name, attribute))
            found.append(Reference(test.type, component.index, Part.EVENT, attribute, lacking))
    return tuple(found)


def _declares(schema: Schema, type_name: str, attribute: str) -> bool:
    declared = schema.attributes(type_name)
    return declared is None or attribute in declared


def differing(test: EquivalenceTest, query: BoundQuery, schema: Schema) -> Condition:
    """Require of some event another value than a test fixes."""
    assert test.value is not None
    keys = keys_of(test, query, schema)
    return _any(tuple(opposite(Comparison("=", key, test.value)) for key in keys))
