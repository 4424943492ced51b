"""Check queries on imprecise time: forms without a meaning there, and the confidence threshold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from decimal import Decimal
from fractions import Fraction

from sase.base.interface import option
from sase.binding.bound import BoundConfidence, BoundQuery, Placeholder
from sase.binding.names.scope import Scope
from sase.binding.pattern.components import BoundPattern
from sase.binding.values.literals import as_written, bind_literal, exact
from sase.lang import ast
from sase.lang.ast import IndexKind, StrategyName

# The indexes that depend on the order of a series.
OF_ORDER = frozenset(IndexKind) - {IndexKind.CURRENT, IndexKind.ALL, IndexKind.OTHER}
FIRST_OR_LAST = ("first", "last")


def bind_confidence(
    query: ast.Query, pattern: BoundPattern, scope: Scope
) -> BoundConfidence | None:
    """Return the WITH CONFIDENCE clause, None for precise time; report errors of imprecise time."""
    clause, schema = query.confidence, scope.schema
    if not schema.is_imprecise:
        if clause is not None:
            scope.problems.error(
                "confidence-of-precise-time",
                f"WITH CONFIDENCE is for imprecise time, and the time of these events is"
                f" `{schema.time}` alone: every match is certain",
                clause.span,
                "leave it out, or name the columns of the earliest and the latest time: "
                f" {option('time', 'lo', 'hi')}",
            )
        return None
    _check_strategy(query.strategy, scope)
    _check_window(query.window, scope)
    _check_components(pattern, scope)
    if clause is None:
        return BoundConfidence(None, strict=False)
    return BoundConfidence(_threshold(clause, scope), clause.strict)


def with_sequences(bound: BoundQuery, query: ast.Query) -> BoundQuery:
    """Mark the series for which the query depends on the order of events."""
    ordered = ordered_series(query)

    def marked(one: BoundQuery) -> BoundQuery:
        components = tuple(
            replace(each, is_sequence=each.is_series and each.named and each.variable in ordered)
            for each in one.components
        )
        return replace(one, components=components, branches=tuple(map(marked, one.branches)))

    return marked(bound)


def ordered_series(query: ast.Query) -> frozenset[str]:
    """The variables for which the query depends on the order of their events."""
    found = set()
    for node in _nodes((query.where, query.having, query.output)):
        if isinstance(node, ast.Indexed) and node.index.kind in OF_ORDER:
            found.add(node.variable.text)
        if isinstance(node, ast.Call) and node.function.text in FIRST_OR_LAST:
            found |= {each.variable.text for each in _nodes(node) if isinstance(each, ast.Indexed)}
    return frozenset(found)


def _nodes(part: object) -> Iterator[ast.Node]:
    if isinstance(part, tuple):
        for each in part:
            yield from _nodes(each)
    elif isinstance(part, ast.Node):
        yield part
        for field in fields(part):
            yield from _nodes(getattr(part, field.name))


def _check_strategy(strategy: ast.Strategy | None, scope: Scope) -> None:
    if strategy is not None and strategy.name is not StrategyName.SKIP_TILL_ANY_MATCH:
        scope.problems.error(
            "imprecise-time",
            f"{strategy.name.value} asks which event is the next, and with imprecise time that"
            " differs from world to world",
            strategy.span,
            "use  skip_till_any_match , or the precise time of one column",
        )


def _check_window(window: ast.Window | None, scope: Scope) -> None:
    if window is not None and window.events:
        scope.problems.error(
            "imprecise-time",
            "a window in EVENTS counts places in the stream, and with imprecise time events have"
            " none",
            window.span,
            "write a window in time, such as  WITHIN 10 minutes",
        )


def _check_components(pattern: BoundPattern, scope: Scope) -> None:
    components = [each for branch in pattern.branches for each in branch.components]
    for what, found in (
        ("a SET", [each for each in components if each.set_of is not None]),
        ("a repeated group", [each for each in components if each.group is not None]),
    ):
        if found:
            scope.problems.error(
                "imprecise-time",
                f"{what} has no meaning with imprecise time",
                found[0].span,
                "write single components and series, and choices with OR",
            )


def _threshold(clause: ast.Confidence, scope: Scope) -> Fraction | Placeholder | None:
    """The confidence to reach, above 0 and at most 1."""
    written = clause.threshold
    if isinstance(written, ast.Parameter):
        literal = bind_literal(written, scope)
        if isinstance(literal, Placeholder) or literal is None:
            return literal
        given = literal.value
        value = None
        if isinstance(given, int | float | Decimal) and not isinstance(given, bool):
            value = as_written(given)
        text = str(given) if isinstance(given, Decimal) else repr(given)
        shown = f", and `:{written.name}` is {text}"
    else:
        value, shown = exact(written), ""
    if value is not None and 0 < value <= 1:
        return value
    scope.problems.error(
        "bad-confidence",
        f"a confidence is a number above 0 and at most 1{shown}",
        written.span,
        "matches that are possible at all are found without it",
    )
    return None
