"""Bind a syntax tree to a schema; report every error that can be found before events are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain

from sase.base.texts import did_you_mean
from sase.binding.bound import BoundComponent, BoundConfidence, BoundQuery, Condition
from sase.binding.conditions.absent import asked_of_branch, asked_of_match
from sase.binding.conditions.conditions import bind_condition
from sase.binding.conditions.conjuncts import (
    bind_conjuncts,
    bind_equivalences,
    known_keys,
    top_level,
)
from sase.binding.conditions.forbidding import ForbiddingConjuncts
from sase.binding.conditions.iterations import with_conjuncts
from sase.binding.conditions.output import bind_columns, bind_limit, check_default_columns
from sase.binding.names.nested import of_one_event
from sase.binding.names.scope import Clause, Problems, Scope
from sase.binding.pattern.components import BoundBranch, BoundPattern, bind_pattern
from sase.binding.pattern.window import bind_window, check_negations
from sase.binding.schema import OPEN, Schema
from sase.errors import BindingError, QuerySyntaxError
from sase.lang import ast
from sase.lang.ast import StrategyName
from sase.lang.parser import parse_condition, parse_query
from sase.source import Source

# The only component, when conditions on single events are bound.
EVENT = BoundComponent(0, "event", named=False, types=None, is_any=True)


def bind(
    query: ast.Query,
    schema: Schema = OPEN,
    *,
    source: Source,
    parameters: Mapping[str, object] | None = None,
    flat: bool = False,
) -> BoundQuery:
    """Return the bound query; raise a `BindingError` with all of its problems.

    Without `parameters` a `:name` stays open; with them each must be given. `flat` also checks the
    columns of the flat output form.
    """
    problems = Problems(source)
    scope = Scope(schema, problems, bind_condition, parameters=parameters)
    bound = _bind(query, scope, flat)
    errors = problems.in_order("error")
    if errors or bound is None:
        raise BindingError(errors)
    return bound


def bind_text(
    text: str,
    schema: Schema = OPEN,
    *,
    name: str = "query",
    parameters: Mapping[str, object] | None = None,
    flat: bool = False,
) -> BoundQuery:
    """Parse and bind a text with one query."""
    source = Source(text, name)
    return bind(parse_query(text, name), schema, source=source, parameters=parameters, flat=flat)


def _confidence(query: ast.Query, pattern: BoundPattern, scope: Scope) -> BoundConfidence | None:
    if query.confidence is None and not scope.schema.is_imprecise:
        return None
    from sase.binding.pattern.imprecise import bind_confidence

    return bind_confidence(query, pattern, scope)


def _bind(query: ast.Query, scope: Scope, flat: bool) -> BoundQuery | None:
    _refuse_sources(query, scope)
    pattern = bind_pattern(query.pattern, scope)
    if pattern is None:
        return None
    _check_groups(query, pattern, scope)
    confidence = _confidence(query, pattern, scope)
    written, scopes = list(top_level(query.where)), [scope]
    for branch in pattern.branches:
        check_negations(branch, query.window, scope)
    if pattern.is_plain:
        branch = pattern.branches[0]
        scope.components, scope.choices = branch.components, _present(pattern, branch)
        bound = _bind_clauses(query, written, scope)
    else:
        open_ = dict.fromkeys(pattern.choices | _choices(pattern.components))
        scope.components, scope.choices = pattern.components, open_
        scope.alternatives = pattern.alternatives
        bound = _bind_clauses(query, written, scope)
        if not scope.problems.in_order("error"):
            scopes = [
                scope.of_branch(each.every, _present(pattern, each), each.alternatives)
                for each in pattern.branches
            ]
            made = tuple(
                _bind_branch(query, written, pattern, branch, own)
                for branch, own in zip(pattern.branches, scopes, strict=True)
            )
            bound = made[0] if len(made) == 1 else replace(bound, branches=made)
    _warn_of_never_true(scopes, scope)
    scope.clause = Clause.RETURN
    if query.output is None:
        check_default_columns(query, scope, flat)
    if confidence is not None:
        from sase.binding.pattern.imprecise import with_sequences

        bound = with_sequences(bound, query)
    return replace(
        bound,
        branches=tuple(replace(each, confidence=confidence) for each in bound.branches),
        confidence=confidence,
        limit=bind_limit(query.limit, scope) if query.limit is not None else None,
        definitions=_definitions(scope),
        warnings=tuple(scope.problems.in_order("warning")),
    )


def _present(pattern: BoundPattern, branch: BoundBranch) -> dict[str, int | None]:
    """The occurrences of each group with `?` in a branch; None if its iterations decide."""
    open_ = dict.fromkeys(_choices(branch.components))
    names = pattern.choices | _choices(pattern.components)
    return {**{name: int(name in branch.present) for name in names}, **open_}


def _choices(components: Sequence[BoundComponent]) -> frozenset[str]:
    """The variables of groups with `?` inside of repeated groups."""
    return frozenset[str]().union(*(each.group.choices for each in components if each.group))


def _names(components: Sequence[BoundComponent]) -> frozenset[str]:
    """The variables of components and those inside repeated groups."""
    return frozenset[str]().union(*(each.names for each in components))


def _bind_branch(
    query: ast.Query,
    written: list[ast.Expression],
    pattern: BoundPattern,
    branch: BoundBranch,
    scope: Scope,
) -> BoundQuery:
    """The query of one branch, without conditions on variables that it lacks."""
    absent = _names(pattern.components) - _names(scope.components) - scope.choices.keys()
    inside = [each.group.variables for each in pattern.components if each.group is not None]
    every = (*pattern.components, *chain.from_iterable(inside))
    negative = {each.variable for each in every if each.is_absent}
    asked = list(asked_of_branch(written, absent, negative))
    if query.strategy is not None:  # as its list may name variables of the whole pattern
        query = replace(query, strategy=replace(query.strategy, variables=()))
    forbidding = ForbiddingConjuncts(asked, branch, scope)
    bound = _bind_clauses(query, forbidding.rest, scope, counted=pattern.written)
    return replace(
        bound,
        components=forbidding.in_iterations(bound.components),
        conjuncts=(*bound.conjuncts, *forbidding.of_components()),
        negations=tuple(forbidding.negations()),
    )


def _warn_of_never_true(scopes: Sequence[Scope], whole: Scope) -> None:
    """Warn of branches that cannot match, at the first false condition of each."""
    first = {n: each.never_true[0] for n, each in enumerate(scopes, 1) if each.never_true}
    if len(first) == len(scopes):
        message = "this condition is never true: nothing can match"
        whole.problems.warning("never-true", message, first[1])
        return
    for span in dict.fromkeys(first.values()):
        numbers = [str(n) for n, each in first.items() if each == span]
        which = f"branch {numbers[0]}" if len(numbers) == 1 else f"branches {', '.join(numbers)}"
        message = f"this condition is never true in {which} of {len(scopes)}, which cannot match"
        whole.problems.warning("never-true", message, span)


def _bind_clauses(
    query: ast.Query, written: list[ast.Expression], scope: Scope, counted: int | None = None
) -> BoundQuery:
    """Bind a query's clauses to a scope's components, of which the pattern has `counted`."""
    tests = [node for node in written if isinstance(node, ast.Equivalence)]
    conditions = [node for node in written if not isinstance(node, ast.Equivalence)]
    scope.clause = Clause.WHERE
    equivalences = bind_equivalences(tests, scope)
    conjuncts, placed = bind_conjuncts(conditions, scope)
    # Conditions on negative sequences are bound with these.
    within = {each.index for each in scope.components if each.inside is not None}
    conjuncts = tuple(each for each in conjuncts if within.isdisjoint(each.references))
    if counted is not None and counted > len(scope.components) == 1:
        conjuncts = (*conjuncts, *known_keys(equivalences, scope.components[0], scope))
    strategy = _strategy(query.strategy, bool(tests), scope)
    window = bind_window(query.window, scope) if query.window else None
    _check_partition(query.window, bool(tests), scope)
    having = _having(query.having, scope)
    scope.clause = Clause.RETURN
    columns = bind_columns(query.output, scope) if query.output else None
    type_name = query.output.type_name if query.output else None
    return BoundQuery(
        tuple(c for c in with_conjuncts(scope.components, placed) if c.inside is None),
        strategy,
        equivalences,
        conjuncts,
        window,
        having,
        columns,
        type_name.text if type_name else None,
        None,
    )


def _refuse_sources(query: ast.Query, scope: Scope) -> None:
    """Refuse names of streams: a script resolves them before it binds a query."""
    if query.sources:
        first = query.sources[0]
        scope.problems.error(
            "unknown-stream",
            f"there is no stream `{first.text}`: a query by itself reads events that have no name",
            first.span,
            "leave FROM out, or give the text to  sase.Script  , with streams by name",
        )


def _check_groups(query: ast.Query, pattern: BoundPattern, scope: Scope) -> None:
    """Refuse the greedy strategy for patterns with repeated groups."""
    is_greedy = query.strategy and query.strategy.name is StrategyName.EARLIEST_MAXIMAL
    groups = [each for branch in pattern.branches for each in branch.components if each.group]
    if query.strategy and is_greedy and groups:
        scope.problems.error(
            "greedy-groups",
            "earliest_maximal is for patterns without repeated groups, and this has"
            f" {_quoted(groups[0])}",
            query.strategy.span,
            "use  skip_till_next_match , or ask in two queries: the outer one repeats the results"
            " of the inner one",
        )


def _quoted(group: BoundComponent) -> str:
    return f"`{group.variable}`" if group.named else "one"


def _strategy(strategy: ast.Strategy | None, has_tests: bool, scope: Scope) -> StrategyName:
    if strategy is None:
        return StrategyName.SKIP_TILL_ANY_MATCH
    if strategy.name is StrategyName.PARTITION_CONTIGUITY and not has_tests:
        scope.problems.error(
            "no-partition",
            "partition_contiguity needs an equivalence test, which makes the partitions",
            strategy.span,
            "add one, such as  [id] , or use  strict_contiguity",
        )
    if strategy.variables:
        _check_strategy_variables(strategy, scope)
    return strategy.name


def _check_strategy_variables(strategy: ast.Strategy, scope: Scope) -> None:
    positive = scope.positives
    earlier: set[str] = set()
    for name in strategy.variables:
        component = scope.component(name.text)
        inside = scope.inside(name.text)
        if component is None and inside is not None:
            message = f"`{name.text}` is in the group `{inside[0].variable}`, which represents it"
            hint = f"name the group alone:  ({', '.join(positive)})"
            scope.problems.error("strategy-variables", message, name.span, hint)
        elif component is None:
            message = f"no component of the pattern is called `{name.text}`"
            hints = did_you_mean(name.text, positive) or (f"there are {', '.join(positive)}",)
            scope.problems.error("unknown-variable", message, name.span, *hints)
        elif name.text in earlier:
            scope.problems.error(
                "strategy-variables",
                f"`{name.text}` is named twice",
                name.span,
                f"the list names every positive variable once:  ({', '.join(positive)})",
            )
        earlier.add(name.text)
    missing = [name for name in positive if name not in {v.text for v in strategy.variables}]
    if missing:
        scope.problems.error(
            "strategy-variables",
            f"the strategy is for the whole pattern, and {', '.join(missing)} is not in its list",
            strategy.span,
            f"name every positive variable,  ({', '.join(positive)}) , or leave the list out",
        )


def _check_partition(window: ast.Window | None, has_tests: bool, scope: Scope) -> None:
    if window is not None and window.per_partition and not has_tests:
        scope.problems.error(
            "no-partition",
            "EVENTS PER PARTITION needs an equivalence test, which makes the partitions",
            window.span,
            "add one, such as  [id] , or count all events with  EVENTS",
        )


def _having(node: ast.Expression | None, scope: Scope) -> Condition | None:
    if node is not None and scope.whole is not None:
        optional = (each for each in scope.whole.components if each.is_optional)
        absent = {each.variable for each in optional if scope.component(each.variable) is None}
        node = asked_of_match(node, absent)
    if node is None:
        return None
    scope.clause = Clause.HAVING
    return bind_condition(node, scope)


def bind_where(
    text: str, schema: Schema, *, name: str, parameters: Mapping[str, object] | None = None
) -> Condition:
    """Return the bound condition on single events, or raise an error that calls the text `name`."""
    problems = Problems(Source(text, name))
    condition = _on_events(Scope(schema, problems, bind_condition, parameters=parameters))
    if errors := problems.in_order("error"):
        raise BindingError(errors)
    return condition


def _on_events(scope: Scope) -> Condition:
    """Bind the whole text of a scope as a condition on events of any type."""
    scope.components, scope.clause = (EVENT,), Clause.TYPE
    source = scope.problems.source
    return bind_condition(of_one_event(parse_condition(source.text, source.name)), scope)


def _definitions(scope: Scope) -> tuple[tuple[str, Condition], ...]:
    """The conditions that define event types, in order; errors are added to the query's."""
    bound = []
    for name, text in scope.schema.definitions:
        problems = Problems(Source(text, f"types[{name!r}]"))
        try:
            inner = Scope(
                _untyped(scope.schema), problems, bind_condition, parameters=scope.parameters
            )
            bound.append((name, _on_events(inner)))
        except QuerySyntaxError as problem:
            problems.found += problem.diagnostics
        scope.problems.found += problems.found
    return tuple(bound)


def _untyped(schema: Schema) -> Schema:
    """The schema of events before their types are computed."""
    return replace(schema, types=None, type=None, definitions=())
