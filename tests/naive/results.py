"""docs/semantics.md, Results: HAVING, the order, RETURN, and the form non_overlap."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sase.lang import ast
from sase.lang.ast import IndexKind, StrategyName
from tests.naive.conditions import condition, conjuncts, holds
from tests.naive.equivalence import partition_of_match
from tests.naive.expressions import Event, Scope, attributes_of, references, value
from tests.naive.negation import has_negated_end, window_of
from tests.naive.problem import Bound, Problem, events_in
from tests.naive.values import python


@dataclass(frozen=True)
class Match:
    """A result: row numbers of the input for each positive component, and the RETURN columns."""

    events: tuple[tuple[int, ...], ...]
    names: tuple[str, ...]
    detected_at: object
    ts_start: object
    ts_end: object
    values: Mapping[str, object] | None = None


def passes_having(problem: Problem, query: ast.Query, bound: Bound) -> bool:
    """HAVING filters finished matches; it may use aggregates over a[], but not a[i]."""
    scope = problem.scope_of(problem.binding(bound))
    for reference in references(query.having):
        _refuse_current(reference)
    return all(holds(condition(part, scope), scope) for part in conjuncts(query.having))


def _refuse_current(reference: ast.Attribute | ast.Indexed) -> None:
    allowed = (IndexKind.ALL, IndexKind.FIRST, IndexKind.LAST)
    if isinstance(reference, ast.Indexed) and reference.index.kind not in allowed:
        raise NotImplementedError("a[i] in HAVING")


# ---------------------------------------------------------------- order


def order(problem: Problem, found: list[Bound]) -> list[Bound]:
    """The results as construction meets them, walking back from each last event."""
    return sorted(found, key=lambda bound: order_key(problem, bound))


def order_key(problem: Problem, bound: Bound) -> tuple[Any, ...]:
    """Python's tuples put a proper prefix first: here, reversed, the proper suffix."""
    last, *earlier = reversed(events_in(bound))
    return (
        detected_at(problem, bound),
        last.position,
        tuple(-event.position for event in earlier),  # the more recent first
        tuple(len(series) for series in reversed(bound)),
    )


def detected_at(problem: Problem, bound: Bound) -> int:
    """ts(e1) + T for a negated end, otherwise ts(en)."""
    events = events_in(bound)
    if has_negated_end(problem, bound):
        return window_of(problem).end(events[0])
    return events[-1].time


def non_overlapping(problem: Problem, ordered: list[Bound]) -> list[Bound]:
    """docs/semantics.md, Output forms: in each partition the first, then the first after it, …"""
    whole_stream = problem.strategy == StrategyName.STRICT_CONTIGUITY
    last_taken: dict[tuple[object, ...], Event] = {}
    kept = []
    for bound in ordered:
        events = events_in(bound)
        key = () if whole_stream else partition_of_match(problem.tests, events)
        if key not in last_taken or last_taken[key] < events[0]:
            kept.append(bound)
            last_taken[key] = events[-1]
    return kept


# ---------------------------------------------------------------- results


def result(problem: Problem, query: ast.Query, bound: Bound) -> Match:
    """One result, in the terms of the caller."""
    events, clock = events_in(bound), problem.stream.clock
    scope = problem.scope_of(problem.binding(bound))
    return Match(
        events=tuple(tuple(event.row for event in series) for series in bound),
        names=tuple(_name(problem.components[n], n) for n in problem.positives),
        detected_at=clock.value(detected_at(problem, bound)),
        ts_start=clock.value(events[0].time),
        ts_end=clock.value(events[-1].time),
        values=_returned(query.output, scope) if query.output else None,
    )


def _name(component: ast.Component, number: int) -> str:
    """The variable, or type and position in the pattern: `A_1`, `ANY_2`."""
    if component.variable:
        return component.variable.text
    test = component.test
    return f"{test.name.text if isinstance(test, ast.TypeTest) else 'ANY'}_{number + 1}"


def _returned(output: ast.Output, scope: Scope) -> dict[str, object]:
    """RETURN: the listed columns."""
    names = [_column(item, number) for number, item in enumerate(output.items, start=1)]
    if len(set(names)) < len(names):
        raise ValueError(f"columns of the same name: {', '.join(names)}")
    values = [python(value(item.expression, scope)) for item in output.items]
    return dict(zip(names, values, strict=True))


def _column(item: ast.OutputItem, number: int) -> str:
    """The alias; `x_id` for x.id, `a_1_p`, `a_last_p`, `avg_a_p`; otherwise `column_1`."""
    if item.alias:
        return item.alias.text
    match item.expression:
        case ast.Attribute() | ast.Indexed() as reference:
            return _reference_name(reference)
        case ast.Call(ast.Name(function), (ast.Indexed() as reference,)):
            return f"{function}_{_reference_name(reference)}"
        case _:
            return f"column_{number}"


def _reference_name(reference: ast.Attribute | ast.Indexed) -> str:
    if isinstance(reference, ast.Attribute):
        names = [reference.variable, reference.name]
        return "_".join(name.text for name in names if name)
    middle = {IndexKind.FIRST: "1", IndexKind.LAST: "last"}.get(reference.index.kind)
    parts = (reference.variable.text, middle, *attributes_of(reference))
    return "_".join(part for part in parts if part)
