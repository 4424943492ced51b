"""Split a query into the parts that can stop a match, and build the query without some."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction

from sase.binding import bound
from sase.binding.parts import conjoined
from sase.binding.text import condition_text, quantifier_text, test_text, window_text
from sase.diagnostics.why_not.relaxation import any_confidence
from sase.lang.ast import STRATEGIES, StrategyName
from sase.lang.names import spelled_type
from sase.source import Span

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
            QueryPart(PartKind.NEGATION, c.index, f"!({shown(c)})", (c.index,))
            for c in query.negatives
        ),
        *(
            QueryPart(
                PartKind.NEGATION,
                number_of(each),
                group_text(each),
                tuple(c.index for c in each.components),
            )
            for each in query.negations
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
    """Relax a query: remove some parts, and what depends on them.

    Negative components and groups may need the window, and their conditions need them. Without a
    partition, windows and contiguity refer to all events.
    """
    gone = {kind: {part.number for part in parts if part.kind is kind} for kind in PartKind}
    removed = gone[PartKind.OWN] | gone[PartKind.RELATION] | gone[PartKind.CONSTANT]
    negatives = gone[PartKind.NEGATION]
    if gone[PartKind.WINDOW]:
        negatives = negatives | {each.index for each in at_the_edges(query)}
        negatives |= {number_of(each) for each in groups_at_the_edges(query)}
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


def at_the_edges(query: bound.BoundQuery) -> tuple[bound.BoundComponent, ...]:
    """Return the negative components before the first required event and after the last."""
    required = [each.index for each in query.positives if each.minimum]
    first, last = required[0], required[-1]
    return tuple(c for c in query.negatives if not first < c.index < last)


def groups_at_the_edges(query: bound.BoundQuery) -> tuple[bound.BoundNegation, ...]:
    """Return the negative sequences before the first required event and after the last."""
    required = [n for n, c in enumerate(query.components) if not c.negated and c.minimum]
    first, last = required[0], required[-1]
    return tuple(each for each in query.negations if not first < each.position <= last)


def number_of(negation: bound.BoundNegation) -> int:
    """The number of a negative sequence as a part: the index of its first component."""
    return negation.components[0].index


def group_text(negation: bound.BoundNegation) -> str:
    """A negative sequence as text."""
    inside = (f"!({shown(c)})" if c.negated else shown(c) for c in negation.components)
    return f"!(SEQ({', '.join(inside)}))"


def needing_window(query: bound.BoundQuery) -> str:
    """Name the negative components and groups that need the window."""
    texts = [f"!({shown(each)})" for each in at_the_edges(query)]
    edges = " and ".join([*texts, *map(group_text, groups_at_the_edges(query))])
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
