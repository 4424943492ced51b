"""docs/semantics.md, Imprecise time: candidates, and their confidence by worlds.

Every world is written out: one time for each event that matters, and in it the rules of precise
time say whether the candidate is a match.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import fields, replace
from decimal import Decimal
from fractions import Fraction
from functools import partial
from itertools import combinations, permutations, product
from math import prod
from typing import Any

from sase.lang import ast
from sase.lang.ast import IndexKind, StrategyName
from tests.naive.conditions import condition, conjuncts, holds, is_checked
from tests.naive.expressions import Event, Series, references
from tests.naive.negation import has_negated_end, is_forbidden, window_of
from tests.naive.problem import Bound, Problem, events_in, least, most, passes
from tests.naive.results import Match, order_key, result, scope_of_result
from tests.naive.union import Found
from tests.naive.values import literal
from tests.naive.windows import saturated

OF_ORDER = (IndexKind.FIRST, IndexKind.PREVIOUS, IndexKind.LAST, IndexKind.BEFORE_CURRENT,
            IndexKind.UP_TO_CURRENT)  # fmt: skip


def imprecise_matches(
    query: ast.Query, problems: Sequence[Problem], parameters: Mapping[str, object]
) -> list[Match]:
    """The matches, with their confidence, before LIMIT; times are events' `time` to `until`."""
    found = imprecise_found(query, problems, parameters)
    return [imprecise_result(query, *each) for each in found]


def imprecise_found(
    query: ast.Query, problems: Sequence[Problem], parameters: Mapping[str, object]
) -> list[tuple[Found, Fraction]]:
    """The same as bound events and how likely they are a match, in the order of results."""
    _refuse(query, problems)
    threshold, ordered = _threshold(query.confidence, parameters), ordered_series(query)
    first: dict[object, tuple[Found, Fraction]] = {}
    for problem in problems:
        for bound in candidates(problem, ordered):
            found, likelihood = Found(problem, bound), confidence(problem, bound, ordered)
            if likelihood > 0 and _reaches(likelihood, threshold, query.confidence):
                first.setdefault(found.mapping, (found, likelihood))
    kept = [each for each in first.values() if _passes_having(query, *each)]
    return sorted(kept, key=_order_key)


def ordered_series(query: ast.Query) -> set[str]:
    """The variables of series of which something that is written depends on the order."""
    clauses = (query.where, query.having, query.output)
    indexed = [each for each in references(clauses) if isinstance(each, ast.Indexed)]
    indexed = [each for each in indexed if each.index.kind in OF_ORDER]
    for call in _nodes(clauses):
        if isinstance(call, ast.Call) and call.function.text.lower() in ("first", "last"):
            indexed += [each for each in call.arguments if isinstance(each, ast.Indexed)]
    return {each.variable.text for each in indexed}


# ---------------------------------------------------------------- candidates


def candidates(problem: Problem, ordered: Set[str]) -> Iterator[Bound]:
    """Every way to bind different events that fulfils the conditions that do not depend on time."""
    components = [problem.components[number] for number in problem.positives]
    for bound in _bindings(components, problem.stream.events, ordered):
        events, binding = events_in(bound), problem.binding(bound)
        scope = problem.scope_of(binding)
        if (
            events
            and all(problem.agrees(event, events[:n]) for n, event in enumerate(events))
            and all(
                holds(each, scope)
                for each in problem.p_plus
                if is_checked(each, problem.last_step(each), binding)
            )
        ):
            yield bound


def _bindings(
    components: Sequence[ast.Component], events: Series, ordered: Set[str]
) -> Iterator[Bound]:
    if not components:
        yield ()
        return
    for series in _series(components[0], events, ordered):
        others = tuple(event for event in events if event not in series)
        for rest in _bindings(components[1:], others, ordered):
            yield (series, *rest)


def _series(component: ast.Component, events: Series, ordered: Set[str]) -> Iterator[Series]:
    """Sets, listed in the order of the stream, or sequences."""
    fitting = [event for event in events if passes(component, event)]
    variable = component.variable
    ways: Any = permutations if variable and variable.text in ordered else combinations
    for count in range(least(component), int(min(most(component), len(fitting))) + 1):
        yield from ways(fitting, count)


# ---------------------------------------------------------------- worlds


def confidence(problem: Problem, bound: Bound, ordered: Set[str]) -> Fraction:
    """The share of the worlds in which the candidate is a match."""
    own = [event for series in bound for event in series]
    others = [e for e in problem.stream.events if e not in own and _may_forbid(problem, e)]
    good = 0
    for times in product(*map(_times, own)):
        moved = dict(zip(own, times, strict=True))
        if _is_in_order(problem, _steps(problem, bound, ordered), moved):
            good += sum(
                not is_forbidden(
                    *_world(problem, bound, {**moved, **dict(zip(others, rest, strict=True))})
                )
                for rest in product(*map(_times, others))
            )
    return Fraction(good, prod(len(_times(event)) for event in (*own, *others)))


def _times(event: Event) -> range:
    return range(event.time, event.until + 1)


def _may_forbid(problem: Problem, event: Event) -> bool:
    """Whether it is of a negative component, or of one in a negative group."""
    tests = [problem.components[number] for number in problem.negatives]
    tests += [each.component for own in problem.forbidding for each in own.group.elements]
    return any(passes(test, event) for test in tests)


def _steps(problem: Problem, bound: Bound, ordered: Set[str]) -> list[Series]:
    """The parts that follow one another: single events, and those of a set together."""
    steps: list[Series] = []
    for series, number in zip(bound, problem.positives, strict=True):
        variable = problem.components[number].variable
        is_ordered = bool(variable and variable.text in ordered)
        steps += [(event,) for event in series] if is_ordered else [series] if series else []
    return steps


def _is_in_order(problem: Problem, steps: Sequence[Series], times: Mapping[Event, int]) -> bool:
    """Whether the steps are strictly in their order, and the window holds."""
    spans = [(min(t), max(t)) for t in ([times[event] for event in step] for step in steps)]
    follow = all(before[1] < after[0] for before, after in zip(spans, spans[1:], strict=False))
    window, length = problem.window, spans[-1][1] - spans[0][0]
    return follow and (window is None or window.below(length, window.length))


def _world(problem: Problem, bound: Bound, times: Mapping[Event, int]) -> tuple[Problem, Bound]:
    """The problem, and the candidate, with the times of a world."""
    ordered = sorted(times, key=lambda event: times[event])
    placed = {
        event: replace(event, time=times[event], key=(times[event],), position=position)
        for position, event in enumerate(ordered)
    }
    stream = replace(problem.stream, events=tuple(placed.values()))
    moved = tuple(tuple(placed[event] for event in series) for series in bound)
    return replace(problem, stream=stream), moved


# ---------------------------------------------------------------- conditions on a match


def _threshold(clause: ast.Confidence | None, parameters: Mapping[str, object]) -> Fraction:
    if clause is None:
        return Fraction(0)
    threshold = Fraction(str(literal(clause.threshold, parameters)))
    if not 0 < threshold <= 1:
        raise ValueError(f"a confidence of {threshold}")
    return threshold


def _reaches(likelihood: Fraction, threshold: Fraction, clause: ast.Confidence | None) -> bool:
    return likelihood > threshold if clause and clause.strict else likelihood >= threshold


def _passes_having(query: ast.Query, found: Found, likelihood: Fraction) -> bool:
    scope = scope_of_result(found)
    parts = [with_confidence(part, likelihood) for part in conjuncts(query.having)]
    return all(holds(condition(part, scope), scope) for part in parts)


def with_confidence(node: Any, likelihood: Fraction) -> Any:
    """An expression in which the name `confidence` by itself is a number."""
    if isinstance(node, ast.Attribute) and node.variable is None:
        is_it = node.name.text == "confidence"
        return ast.Float(Decimal(repr(float(likelihood)))) if is_it else node
    if isinstance(node, tuple):
        return tuple(with_confidence(part, likelihood) for part in node)
    if not isinstance(node, ast.Node):
        return node
    parts = {each.name: getattr(node, each.name) for each in fields(node) if each.name != "span"}
    return replace(
        node, **{name: with_confidence(part, likelihood) for name, part in parts.items()}
    )


def _nodes(node: object) -> Iterator[ast.Node]:
    if isinstance(node, tuple):
        for part in node:
            yield from _nodes(part)
    elif isinstance(node, ast.Node):
        yield node
        for each in fields(node):
            yield from _nodes(getattr(node, each.name))


# ---------------------------------------------------------------- results


def _listed(found: Found) -> Series:
    """Its events in the order of the pattern."""
    return tuple(event for series in found.bound for event in series)


def imprecise_detected_at(found: Found) -> int:
    """The greatest hi, or with a negated end when the window is over in every world."""
    latest = max(event.until for event in _listed(found))
    if not has_negated_end(found.problem, found.bound):
        return latest
    window = window_of(found.problem)
    first = next(series for series in found.bound if series)
    return max(latest, saturated(min(event.until for event in first) + window.length))


def _order_key(pair: tuple[Found, Fraction]) -> tuple[Any, ...]:
    found, _ = pair
    return (imprecise_detected_at(found), *order_key(found, _listed(found)))


def imprecise_result(query: ast.Query, found: Found, likelihood: Fraction) -> Match:
    clock = found.problem.stream.clock
    series = [each for each in found.bound if each]
    return replace(
        result(query, found, partial(with_confidence, likelihood=likelihood)),
        detected_at=clock.value(imprecise_detected_at(found)),
        ts_start=clock.value(min(event.time for event in series[0])),
        ts_end=clock.value(max(event.until for event in series[-1])),
        confidence=likelihood,
    )


def _refuse(query: ast.Query, problems: Sequence[Problem]) -> None:
    """docs/semantics.md, Imprecise time: constructs that have no meaning there."""
    if query.strategy and query.strategy.name != StrategyName.SKIP_TILL_ANY_MATCH:
        raise ValueError("imprecise time and another strategy than skip_till_any_match")
    if query.window and query.window.events:
        raise ValueError("imprecise time and a window in EVENTS")
    if any(problem.pattern.repeated for problem in problems):
        raise ValueError("imprecise time and a repeated group")
    if any(element.of_set is not None for each in problems for element in each.elements):
        raise ValueError("imprecise time and a set")
