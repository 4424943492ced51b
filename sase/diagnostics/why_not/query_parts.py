"""The parts of a query that can stop a match, and the query without some or with the opposite."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction
from typing import TypeAlias

from sase.binding import bound
from sase.binding.conditions.conditions import OPPOSITES, combined
from sase.binding.conditions.parts import conjoined, references
from sase.binding.schema import Schema
from sase.binding.values.text import condition_text, quantifier_text, test_text, window_text
from sase.lang.ast import STRATEGIES, StrategyName
from sase.lang.printer import spelled_type
from sase.source import Span

# ---------------------------------------------------------------- relaxation


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
    """Add a condition, for events of types that declare the attributes it reads."""
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
    test: bound.EquivalenceTest, components: Sequence[bound.BoundComponent], schema: Schema
) -> tuple[bound.Reference, ...]:
    """The attributes that a test reads, of each component that may declare them."""
    found = []
    for component in components:
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
    keys = keys_of(test, query.positives, schema)
    differ = [opposite(bound.Comparison("=", key, test.value)) for key in keys]
    if any(key.undeclared_by for key in keys):
        return differ
    return [combined(bound.Any, differ, test.value.span)]


# ---------------------------------------------------------------- query parts

# A negative component, or a negative sequence.
Negative: TypeAlias = bound.BoundComponent | bound.BoundNegation
ANY = len(STRATEGIES) - 1


class PartKind(Enum):
    """The kind of a part."""

    CONSTANT = "condition on no event"
    OWN = "condition on one event"
    TEST = "equivalence test"
    WINDOW = "window"
    RELATION = "condition on several events"
    LEAST = "least number of events"
    MOST = "greatest number of events"
    STRATEGY = "strategy"
    NEGATION = "negative component"
    CONFIDENCE = "confidence"
    HAVING = "HAVING"


@dataclass(frozen=True, slots=True)
class QueryPart:
    """A part by kind and number: of a conjunct, test or component, or the strategy used instead.

    `components` are those that it reads; empty if it concerns all.
    """

    kind: PartKind
    number: int
    text: str
    components: tuple[int, ...] = ()


def parts_of(query: bound.BoundQuery, text: str) -> tuple[QueryPart, ...]:
    """List the parts of a query, with their text, in the order of application."""
    found = [
        *_conjuncts(query, text),
        *(
            QueryPart(PartKind.TEST, n, f"[{test_text(each)}]")
            for n, each in enumerate(query.equivalences)
        ),
        *(
            QueryPart(
                PartKind.NEGATION,
                number_of(each),
                negative_text(each),
                tuple(c.index for c in components_of(each)),
            )
            for each in negatives_of(query)
        ),
    ]
    found += _of_series(query)
    if query.strategy is not STRATEGIES[ANY]:
        found.append(QueryPart(PartKind.STRATEGY, ANY, query.strategy.value))
    if query.window is not None:
        found.append(QueryPart(PartKind.WINDOW, 0, f"WITHIN {window_text(query.window)}"))
    if query.confidence is not None and query.confidence.threshold is not None:
        found.append(QueryPart(PartKind.CONFIDENCE, 0, confidence_text(query.confidence)))
    if asked := conjoined(query.having):
        written = " AND ".join(_written(each, each.span, text, query) for each in asked)
        found.append(QueryPart(PartKind.HAVING, 0, f"HAVING {written}"))
    order = list(PartKind)
    return tuple(sorted(found, key=lambda part: (order.index(part.kind), part.number)))


def _of_series(query: bound.BoundQuery) -> Iterator[QueryPart]:
    """Yield the bounds of quantifiers; the bound of one event is always kept."""
    for each in query.positives:
        name, own = _bare(each), (each.index,)
        if each.minimum > 1:
            yield QueryPart(PartKind.LEAST, each.index, f"at least {each.minimum} {name}", own)
        if each.is_series and each.maximum is not None:
            yield QueryPart(PartKind.MOST, each.index, f"at most {each.maximum} {name}", own)


def looser(query: bound.BoundQuery) -> Iterator[tuple[str, QueryPart]]:
    """Yield the strategies between the query's and the loosest, each as a part."""
    if query.strategy not in STRATEGIES:
        return
    for number in range(STRATEGIES.index(query.strategy) + 1, ANY):
        name = STRATEGIES[number]
        if query.equivalences or name is not StrategyName.PARTITION_CONTIGUITY:
            yield name.value, QueryPart(PartKind.STRATEGY, number, query.strategy.value)


def without(query: bound.BoundQuery, parts: Collection[QueryPart]) -> bound.BoundQuery:
    """Relax a query: remove some parts, and the parts that depend on them.

    Negative components and groups may need the window, and their conditions need them. Without a
    partition, windows and contiguity refer to all events.
    """
    gone = {kind: {part.number for part in parts if part.kind is kind} for kind in PartKind}
    removed = gone[PartKind.OWN] | gone[PartKind.RELATION] | gone[PartKind.CONSTANT]
    negatives = gone[PartKind.NEGATION]
    if gone[PartKind.WINDOW]:
        negatives = negatives | set(map(number_of, at_the_edges(query)))
    tests = tuple(
        each for n, each in enumerate(query.equivalences) if n not in gone[PartKind.TEST]
    )  # fmt: skip
    return replace(
        query,
        components=tuple(
            replace(
                c,
                minimum=1 if c.index in gone[PartKind.LEAST] else c.minimum,
                maximum=None if c.index in gone[PartKind.MOST] else c.maximum,
            )
            for c in query.components
            if c.index not in negatives
        ),
        strategy=_strategy(query.strategy, gone[PartKind.STRATEGY], has_tests=bool(tests)),
        conjuncts=tuple(
            each
            for n, each in enumerate(query.conjuncts)
            if n not in removed and not negatives & set(each.references)
        ),
        equivalences=tests,
        negations=tuple(
            replace(
                each,
                position=sum(c.index not in negatives for c in query.components[: each.position]),
            )
            for each in query.negations
            if number_of(each) not in negatives
        ),
        window=None if gone[PartKind.WINDOW] else _window(query.window, has_tests=bool(tests)),
        having=None if gone[PartKind.HAVING] else query.having,
        confidence=any_confidence(query) if gone[PartKind.CONFIDENCE] else query.confidence,
    )


def confidence_text(confidence: bound.BoundConfidence) -> str:
    """The clause with the confidence that matches need."""
    threshold = confidence.threshold
    assert isinstance(threshold, Fraction), "a query that runs has all parameters"
    return f"WITH CONFIDENCE {'>' if confidence.strict else '>='} {float(threshold):g}"


def at_the_edges(query: bound.BoundQuery) -> tuple[Negative, ...]:
    """Return the negative elements before the first required event and after the last."""
    required = [n for n, c in enumerate(query.components) if not c.negated and c.minimum]
    first, last = required[0], required[-1]
    return (
        *(c for n, c in enumerate(query.components) if c.negated and not first < n < last),
        *(each for each in query.negations if not first < each.position <= last),
    )


def negatives_of(query: bound.BoundQuery) -> tuple[Negative, ...]:
    """All negative elements: components, then sequences."""
    return (*query.negatives, *query.negations)


def plain_group(query: bound.BoundQuery, number: int) -> bound.BoundNegation | None:
    """The negative sequence of a number, if all its events are single ones between two others."""
    group = next((each for each in query.negations if number_of(each) == number), None)
    if group is None or group in at_the_edges(query):
        return None
    return group if all(c.is_single and not c.negated for c in group.components) else None


def components_of(negative: Negative) -> tuple[bound.BoundComponent, ...]:
    """The components of a negative element."""
    return negative.components if isinstance(negative, bound.BoundNegation) else (negative,)


def number_of(negative: Negative) -> int:
    """The number of a negative element as a part: the index of its first component."""
    return components_of(negative)[0].index


def negative_text(negative: Negative) -> str:
    """The text of a negative element."""
    if isinstance(negative, bound.BoundComponent):
        return f"!({shown(negative)})"
    inside = (negative_text(c) if c.negated else shown(c) for c in negative.components)
    return f"!(SEQ({', '.join(inside)}))"


def needing_window(query: bound.BoundQuery) -> str:
    """Name the negative components and groups that need the window."""
    edges = " and ".join(map(negative_text, at_the_edges(query)))
    return f", and with it {edges}" if edges and query.window is not None else ""


def shown(component: bound.BoundComponent) -> str:
    """A component as text."""
    return _bare(component, quantifier_text(component))


def _bare(component: bound.BoundComponent, quantifier: str = "") -> str:
    names = ", ".join(map(spelled_type, component.types or ())) or "ANY"
    test = f"ANY({names})" if component.is_any and component.types is not None else names
    return f"{test}{quantifier} {component.variable}" if component.named else f"{test}{quantifier}"


_KINDS = {bound.ConjunctClass.CONSTANT: PartKind.CONSTANT, bound.ConjunctClass.SINGLE: PartKind.OWN}


def _conjuncts(query: bound.BoundQuery, text: str) -> list[QueryPart]:
    """List the conditions; those on a negative component belong to it."""
    return [
        QueryPart(
            _KINDS.get(each.kind, PartKind.RELATION),
            n,
            _written(each.condition, each.span, text, query),
            each.references,
        )
        for n, each in enumerate(query.conjuncts)
        if each.kind is not bound.ConjunctClass.NEGATIVE
    ]


def _written(condition: bound.Condition, span: Span, text: str, query: bound.BoundQuery) -> str:
    """The text of a condition; derived ones are printed."""
    names = {each.index: each.variable for each in query.components}
    return " ".join(text[slice(*span)].split()) or condition_text(condition, names)


def _window(window: bound.BoundWindow | None, *, has_tests: bool) -> bound.BoundWindow | None:
    if window is None or has_tests or window.kind is not bound.WindowKind.PARTITION_EVENTS:
        return window
    return replace(window, kind=bound.WindowKind.EVENTS)


def _strategy(strategy: StrategyName, others: Collection[int], *, has_tests: bool) -> StrategyName:
    """The loosest of other strategies, if there are some."""
    found = STRATEGIES[max(others)] if others else strategy
    is_partial = found is StrategyName.PARTITION_CONTIGUITY and not has_tests
    return StrategyName.STRICT_CONTIGUITY if is_partial else found
