"""docs/semantics.md, Results: HAVING, the order, RETURN, and the form non_overlap."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, TypeVar

from sase.lang import ast
from sase.lang.ast import IndexKind, StrategyName
from tests.naive.conditions import condition, conjuncts, holds
from tests.naive.equivalence import partition_of_match
from tests.naive.expressions import (
    Event,
    Scope,
    Series,
    attributes_of,
    events_of,
    references,
    value,
)
from tests.naive.iterations import resolved
from tests.naive.negation import has_negated_end, window_of
from tests.naive.pattern import Element
from tests.naive.problem import Problem
from tests.naive.runs import is_final
from tests.naive.union import Found, union
from tests.naive.values import literal, python
from tests.naive.windows import passed

T = TypeVar("T")


@dataclass(frozen=True)
class Match:
    """A result: row numbers of the input for each positive variable, and the RETURN columns.

    Of a repeated group it has for each iteration those of each variable inside.
    """

    events: tuple[Any, ...]
    names: tuple[str, ...]
    detected_at: object
    ts_start: object
    ts_end: object
    values: Mapping[str, object] | None = None
    confidence: Fraction | None = None


def passes_having(query: ast.Query, found: Found) -> bool:
    """HAVING filters finished matches; it may use aggregates over a[], but not a[i]."""
    scope = scope_of_result(found)
    for reference in references(query.having):
        _refuse_current(reference)
    parts = [resolved(part, found.problem.iterations) for part in conjuncts(query.having)]
    return all(holds(condition(part, scope), scope) for part in parts)


def scope_of_result(found: Found) -> Scope:
    """All variables of the written pattern; in HAVING and RETURN nothing is absent."""
    problem, columns = found.problem, found.problem.pattern.columns
    bound = {(each.iteration, each.name): series for each, series in found.parts}
    single = [column for column in columns if isinstance(column, Element)]
    single += [element for element, _ in found.parts if element.iteration]
    return replace(
        problem.scope,
        components=tuple(column.component for column in single),
        bound={n: bound.get((each.iteration, each.name), ()) for n, each in enumerate(single)},
    )


def _refuse_current(reference: ast.Attribute | ast.Indexed) -> None:
    allowed = (IndexKind.ALL, IndexKind.FIRST, IndexKind.LAST)
    if isinstance(reference, ast.Indexed) and reference.index.kind not in allowed:
        raise NotImplementedError("a[i] in HAVING")


def precise(
    query: ast.Query, stated: Sequence[Problem], parameters: Mapping[str, object], output: str
) -> list[Found]:
    """The results where time is precise, in order: HAVING, the output format, LIMIT."""
    if query.confidence is not None:
        raise ValueError("WITH CONFIDENCE and precise time")
    ordered = order([each for each in union(stated) if passes_having(query, each)])
    if output == "non_overlap":
        ordered = non_overlapping(ordered)
    return first(query, ordered, parameters)


def first(query: ast.Query, ordered: list[T], parameters: Mapping[str, object]) -> list[T]:
    """docs/semantics.md, Clauses in order: LIMIT n keeps the first n results."""
    if query.limit is None:
        return ordered
    count = literal(query.limit, parameters)
    if not isinstance(count, int):
        raise NotImplementedError(f"LIMIT {count!r}")
    return ordered[:count]


# ---------------------------------------------------------------- order


def order(found: list[Found]) -> list[Found]:
    """The results as construction meets them, walking back from each last event."""
    return sorted(found, key=lambda each: (detected_at(each), *order_key(each, each.events)))


def order_key(found: Found, events: Series) -> tuple[Any, ...]:
    """Python's tuples put a proper prefix first: here, reversed, the proper suffix.

    With the same events the match comes first that, from the last event back, first binds one to
    the variable that is written earlier, then the one with the shorter iterations."""
    last, *earlier = reversed(events)
    first: dict[str, int] = {}
    for element in found.problem.pattern.elements:
        first.setdefault(element.name, element.place)
    of_event = {event: each for each, series in found.parts for event in series}
    elements = [of_event[event] for event in events]
    variables = [first[element.name] for element in elements]
    iterations = Counter(element.iteration for element in elements)
    return (
        last.position,
        tuple(-event.position for event in earlier),  # the more recent first
        tuple(reversed(variables)),
        tuple(number for iteration, number in reversed(iterations.items()) if iteration),
    )


def detected_at(found: Found) -> int:
    """ts(e1) + T for a negated end, and where the match has ended with its window, or ts(en)."""
    problem, events = found.problem, found.events
    if has_negated_end(problem, found.bound):
        return window_of(problem).end(events[0])
    takes_all = problem.strategy == StrategyName.EARLIEST_MAXIMAL
    if takes_all and not is_final(problem, found.bound):
        return passed(problem.window, problem.tests, events[0], problem.stream.events)
    return events[-1].time


def non_overlapping(ordered: list[Found]) -> list[Found]:
    """docs/semantics.md, Output forms: in each partition the first, then the first after it, …"""
    last_taken: dict[tuple[object, ...], Event] = {}
    kept = []
    for found in ordered:
        problem, events = found.problem, found.events
        whole_stream = problem.strategy == StrategyName.STRICT_CONTIGUITY
        key = () if whole_stream else partition_of_match(problem.tests, events)
        if key not in last_taken or last_taken[key] < events[0]:
            kept.append(found)
            last_taken[key] = events[-1]
    return kept


# ---------------------------------------------------------------- results


def result(
    query: ast.Query, found: Found, known: Callable[[Any], Any] = lambda item: item
) -> Match:
    """One result, in the terms of the caller; `known` puts known values into an expression."""
    events, clock = found.events, found.problem.stream.clock
    return Match(
        events=_rows(found.mapping),
        names=tuple(column.name for column in found.problem.pattern.columns),
        detected_at=clock.value(detected_at(found)),
        ts_start=clock.value(events[0].time),
        ts_end=clock.value(events[-1].time),
        values=_returned(query.output, found, known) if query.output else None,
    )


def _rows(bound: Any) -> Any:
    """Events as rows, however deep they stand."""
    return bound.row if isinstance(bound, Event) else tuple(map(_rows, bound))


def _returned(output: ast.Output, found: Found, known: Callable[[Any], Any]) -> dict[str, object]:
    """RETURN: the listed columns."""
    scope = scope_of_result(found)
    output_items = [each for item in output.items for each in _expanded(item, found)]
    names = [_column(item, number) for number, item in enumerate(output_items, start=1)]
    if len(set(names)) < len(names):
        raise ValueError(f"columns of the same name: {', '.join(names)}")
    items = [resolved(known(item.expression), found.problem.iterations) for item in output_items]
    values = [_of_events(item, scope) or [python(value(item, scope))] for item in items]
    return dict(zip(names, (each for (each,) in values), strict=True))


def _of_events(item: ast.Expression, scope: Scope) -> list[object]:
    """In a list the value of `a[].p`, `a[2].p` or `median(a[].p)`; an empty one for others."""
    match item:
        case ast.Call(ast.Name("median"), (ast.Indexed() as reference,)):
            listed = _listed(reference, scope)
            known = [float(each) for each in listed if each is not None and each == each]
            return [statistics.median(known) if known else None]
        case ast.Indexed(_, ast.Index(IndexKind.ALL), ast.Name(), ()):
            return [_listed(item, scope)]
        case ast.Indexed(_, ast.Index(IndexKind.OTHER, text), ast.Name(), ()) if text.isdigit():
            every = replace(item, index=ast.Index(IndexKind.ALL))
            return [dict(enumerate(_listed(every, scope), start=1)).get(int(text))]
    return []


def _listed(reference: ast.Indexed, scope: Scope) -> list[Any]:
    """The values as the events have them."""
    (name,) = attributes_of(reference)
    return [each.raw(name) for each in events_of(reference, scope)]


def _expanded(item: ast.OutputItem, found: Found) -> list[ast.OutputItem]:
    """`x.*` as the attributes of one wide table."""
    if not isinstance(item.expression, ast.AllAttributes):
        return [item]
    names = dict.fromkeys(name for each in found.events for name in each.values)
    variable = item.expression.variable
    return [ast.OutputItem(ast.Attribute(ast.Name(name), variable)) for name in names]


def _column(item: ast.OutputItem, number: int) -> str:
    """The alias; `x_id` for x.id, `a_1_p`, `a_last_p`, `avg_a_p`; otherwise `column_1`."""
    if item.alias:
        return item.alias.text
    match item.expression:
        case ast.Attribute() | ast.Indexed() | ast.InGroup() as reference:
            return _reference_name(reference)
        case ast.Call(ast.Name(function), (ast.Indexed() | ast.InGroup() as reference,)):
            return f"{function}_{_reference_name(reference)}"
        case _:
            return f"column_{number}"


def _reference_name(reference: ast.Attribute | ast.Indexed | ast.InGroup) -> str:
    if isinstance(reference, ast.Attribute):
        names = [reference.variable, reference.name]
        return "_".join(name.text for name in names if name)
    middle = {IndexKind.FIRST: "1", IndexKind.LAST: "last"}.get(reference.index.kind)
    if isinstance(reference, ast.InGroup):
        inside = (reference.group.text, middle, _reference_name(reference.reference))
        return "_".join(part for part in inside if part)
    parts = (reference.variable.text, middle, *attributes_of(reference))
    return "_".join(part for part in parts if part)
