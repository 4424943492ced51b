"""Rewrite a query: its beginning, the opposite of a condition, a negation as a component."""

from __future__ import annotations

from dataclasses import replace

from sase.binding import bound
from sase.binding.conditions import OPPOSITES, combined
from sase.binding.parts import references
from sase.binding.schema import Schema


def bare(query: bound.BoundQuery) -> bound.BoundQuery:
    """Drop RETURN and LIMIT, which do not affect matches."""
    return replace(query, columns=None, type_name=None, limit=None)


def beginning(query: bound.BoundQuery, levels: int) -> bound.BoundQuery:
    """Keep the first positive components and their conditions; the last must have an event."""
    *before, last = query.positives[:levels]
    kept = last if last.minimum else _started(last)
    return _partial(query, (*before, kept), last, ())


def ending(query: bound.BoundQuery, level: int) -> bound.BoundQuery:
    """Keep the positive components from one on, which may be unfinished."""
    first, *rest = query.positives[level:]
    return _partial(query, (_started(first), *rest), first, (bound.When.FIRST, bound.When.WHOLE))


def starting(query: bound.BoundQuery, level: int) -> bound.BoundQuery:
    """Keep the positive components up to one, which may be unfinished."""
    *before, last = query.positives[: level + 1]
    return _partial(query, (*before, _started(last)), last, (bound.When.WHOLE,))


def _started(component: bound.BoundComponent) -> bound.BoundComponent:
    """Make a component need only one event so far."""
    if component.is_single:
        return component
    return replace(component, minimum=1, is_series=True)


def _partial(
    query: bound.BoundQuery,
    kept: tuple[bound.BoundComponent, ...],
    unfinished: bound.BoundComponent,
    unknown: tuple[bound.When, ...],
) -> bound.BoundQuery:
    """Keep some components, and the conditions that are decided already."""
    indexes = {component.index for component in kept}
    left_out = () if unfinished.is_single else unknown
    return replace(
        query,
        components=kept,
        conjuncts=tuple(
            c
            for c in query.conjuncts
            if c.references
            and set(c.references) <= indexes
            and not (c.component == unfinished.index and c.when in left_out)
        ),
        negations=(),
        having=None,
        confidence=any_confidence(query),
    )


def any_confidence(query: bound.BoundQuery) -> bound.BoundConfidence | None:
    """Accept matches of any confidence, with imprecise time."""
    return None if query.confidence is None else bound.BoundConfidence(None, strict=False)


def as_positive(query: bound.BoundQuery, index: int) -> bound.BoundQuery:
    """Make a negative component positive, so that its events are in the matches."""
    return replace(
        query,
        components=tuple(
            replace(c, negated=False) if c.index == index else c for c in query.components
        ),
        conjuncts=tuple(
            conjunct(c.condition) if index in c.references else c for c in query.conjuncts
        ),
    )


def with_group(
    query: bound.BoundQuery, negation: bound.BoundNegation, place: int
) -> bound.BoundQuery:
    """Insert the components of a negative group into a query without negative components."""
    own = query.components
    components = (*own[:place], *negation.components, *own[place:])
    asked = (conjunct(each.condition) for each in negation.conjuncts)
    return replace(query, components=components, conjuncts=(*query.conjuncts, *asked))


def with_condition(
    query: bound.BoundQuery, condition: bound.Condition, schema: Schema
) -> bound.BoundQuery:
    """Add a condition, for events whose types declare what it reads."""
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


def _declaring(
    component: bound.BoundComponent, lacking: set[str], schema: Schema
) -> bound.BoundComponent:
    if not lacking:
        return component
    admitted = component.types or schema.type_names or ()
    return replace(component, types=tuple(name for name in admitted if name not in lacking))


def conjunct(condition: bound.Condition) -> bound.Conjunct:
    """Classify a condition on positive components."""
    used = tuple(sorted({each.component for each in references(condition)}))
    if not used:
        return bound.Conjunct(condition, bound.ConjunctClass.CONSTANT)
    kind = bound.ConjunctClass.SINGLE if len(used) == 1 else bound.ConjunctClass.SEVERAL
    return bound.Conjunct(condition, kind, used, used[-1])


def opposite(condition: bound.Condition) -> bound.Condition:
    """Negate a condition; comparisons with NULL satisfy the opposite, too."""
    match condition:
        case bound.Truth(value=value):
            return bound.Truth(not value)
        case bound.All(operands=operands):
            return combined(bound.Any, [*map(opposite, operands)], condition.span)
        case bound.Any(operands=operands):
            return bound.All(tuple(map(opposite, operands)))
        case bound.NullTest(operand=operand, negated=negated):
            return bound.NullTest(operand, not negated)
        case bound.Comparison(operator=sign, left=left, right=right):
            return _or_null(bound.Comparison(OPPOSITES[sign], left, right), left, right)
        case bound.Between(operand=operand, low=low, high=high, negated=negated):
            return _or_null(bound.Between(operand, low, high, not negated), operand, low, high)
        case bound.Membership(operand=operand, values=values, negated=negated):
            return _or_null(bound.Membership(operand, values, not negated), operand)
        case bound.Like(operand=operand, pattern=pattern, negated=negated):
            return _or_null(bound.Like(operand, pattern, not negated), operand)


def _or_null(condition: bound.Condition, *values: bound.Expression) -> bound.Condition:
    tests = (bound.NullTest(each, False) for each in values if not isinstance(each, bound.Constant))
    return combined(bound.Any, [condition, *tests], condition.span)


def keys_of(
    test: bound.EquivalenceTest, query: bound.BoundQuery, schema: Schema
) -> tuple[bound.Reference, ...]:
    """The attributes that a test reads, of each positive component that may declare them."""
    found = []
    for component in query.positives:
        attribute = test.attribute_of(component.index)
        if attribute is None:
            continue
        names = component.types or schema.type_names or ()
        lacking = frozenset(name for name in names if not schema.declares(name, attribute))
        if not names or len(lacking) < len(names):
            found.append(
                bound.Reference(test.type, component.index, bound.Part.EVENT, attribute, lacking)
            )
    return tuple(found)


def differing(
    test: bound.EquivalenceTest, query: bound.BoundQuery, schema: Schema
) -> list[bound.Condition]:
    """Conditions that some event has another value than a test fixes, one for each case.

    If all types declare the attribute, this is one condition. Otherwise there is one for each
    component, because `with_condition` excludes events of types that lack the attribute.
    """
    assert test.value is not None
    keys = keys_of(test, query, schema)
    differ = [opposite(bound.Comparison("=", key, test.value)) for key in keys]
    if any(key.undeclared_by for key in keys):
        return differ
    return [combined(bound.Any, differ, test.value.span)]
