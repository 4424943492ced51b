"""The public function that explains why a query finds no match, or so few."""

from __future__ import annotations

import time as clocks
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from functools import partial
from typing import TYPE_CHECKING, Unpack

from sase.api.checks import check_events
from sase.api.compiled_query import CompiledQuery, compile_query
from sase.api.compiled_script import CompiledScript, script_of
from sase.api.limits import guard_of, limits_of
from sase.api.plan import DEFAULT_PLAN
from sase.api.script_inputs import Sources
from sase.binding import Schema
from sase.binding.binder import bind_where
from sase.binding.bound import Condition
from sase.binding.input_options import InputKeywords, takes_input_options
from sase.engine.pipeline.limits import EXPLANATION, RunGuard, check_of, working
from sase.errors import PlanError
from sase.planning.driver import RewriteCall
from sase.planning.nodes import branches_of
from sase.planning.recipes import Recipe, read_recipe

if TYPE_CHECKING:
    from sase.diagnostics.why_not.why_not import WhyNot

# Near misses that are shown, partial matches of each search, and seconds for all of them.
NEAR, MOST, SECONDS = 10, 5_000_000, 10.0


@takes_input_options
def why(
    query: str,
    events: object = None,
    *,
    statement: str | None = None,
    streams: Mapping[str, object] | None = None,
    where: str | None = None,
    from_: int | float | date | str | None = None,
    to: int | float | date | str | None = None,
    near: int = NEAR,
    most: int = MOST,
    seconds: float = SECONDS,
    timeout: object = None,
    max_memory: object = None,
    clock: Callable[[], float] = clocks.monotonic,
    params: Mapping[str, object] | None = None,
    plan: str = DEFAULT_PLAN,
    **options: Unpack[InputKeywords],
) -> WhyNot:
    """Why a query finds no match in events, or so few: what stops how many, and near misses.

    `where` is a condition on the attributes of events, `from_` and `to` are times, both included:
    only such events are looked at. `near` is how many near misses are shown, `most` how many
    partial matches each search may find, and `seconds` how long all of them may take by `clock`;
    what these bounds end is said with "at least". Of a pattern with choices each branch is asked,
    for an equal part of the seconds; of one with repeated groups, what stops one iteration of each.
    `timeout` and `max_memory` bound all of it, and end it with an error. Of a script it is asked
    of the `statement` of that name, or of the only result, over what this reads; `streams` are
    inputs that have names. The other keywords are those of `match`.
    """
    from sase.diagnostics.why_not.budget import Budget
    from sase.diagnostics.why_not.explain import explain

    _check(near, most, seconds)
    guard = guard_of(limits_of(timeout, max_memory), clocks.perf_counter_ns, EXPLANATION)
    check_events(events, streams)
    with working(guard):
        script, read = script_of(query, events, streams, params, plan, options, guard)
        whole = _of_statement(script, read, statement, guard)
        compiled = partial(compile_query, source=whole.source, params=params, plan=plan)
        known, about = _of_iteration(whole.query, whole, compiled)
    assert known.source.events is not None, "a schema has no events"
    restrictions = _restrictions(known.schema, where, from_, to, params or {})
    asked = list(_branches(known))
    with working(guard):
        budget = partial(Budget, most, seconds / len(asked), clock, check_of(guard))
        found = [
            explain(
                each.bound, known.query, each.unoptimized, known.source.events, restrictions,
                recipe=_recipe_of(each), budget=budget(), near=near,
            )
            for each in asked
        ]  # fmt: skip
        counted = tuple(_of_iterations(whole, restrictions, most, seconds, clock, guard))
    return _told(known, found, (about, *counted) if about else ())


def _of_statement(
    script: CompiledScript, read: Sources | None, name: str | None, guard: RunGuard | None
) -> CompiledQuery:
    """A statement as a query by itself over what it reads."""
    statement = script.chosen(name)
    if read is None:
        raise PlanError("a schema has no events, and only these say why: give them")
    if script.lone is not None:
        return script.lone
    own = script.alone(read, guard)[statement.name]
    return compile_query(statement.written, own, params=script.params, plan=script.recipe)


def _of_iterations(
    known: CompiledQuery,
    restrictions: Sequence[Condition],
    most: int,
    seconds: float,
    clock: Callable[[], float],
    guard: RunGuard | None,
) -> Iterator[str]:
    """Where groups repeat too seldom for there to be a match."""
    if not known.bound.has_groups:
        return
    from sase.diagnostics.why_not.budget import Budget
    from sase.diagnostics.why_not.iterations import too_few_iterations

    assert known.source.events is not None, "a schema has no events"
    asked = list(_branches(known))
    for each in asked:
        yield from too_few_iterations(
            each.bound,
            each.unoptimized,
            known.source.events,
            restrictions,
            recipe=read_recipe(DEFAULT_PLAN),
            budget=Budget(most, seconds / len(asked), clock, check_of(guard)),
        )


def _told(known: CompiledQuery, found: list[WhyNot], about: tuple[str, ...]) -> WhyNot:
    """The explanation of a query by those of its branches, and what it is about."""
    from sase.diagnostics.why_not.branches import of_branches

    whole = of_branches(known.bound, found) if known.bound.branches else found[0]
    return replace(whole, words=(*about, *whole.words)) if about else whole


def _of_iteration(
    query: str, known: CompiledQuery, compiled: Callable[[str], CompiledQuery]
) -> tuple[CompiledQuery, str]:
    """The query, or where groups repeat that of one iteration, with what this leaves aside."""
    from sase.diagnostics.why_not.one_iteration import of_one_iteration

    if not known.bound.has_groups:
        return known, ""
    once, about = of_one_iteration(query)
    return compiled(once), about


def _branches(known: CompiledQuery) -> Iterator[CompiledQuery]:
    """The queries that are asked: that of each branch, or the query itself."""
    bound = known.bound
    if not bound.branches:
        yield known
        return
    for branch, basic in zip(bound.branches, branches_of(known.basic), strict=True):
        yield replace(known, bound=replace(branch, definitions=bound.definitions), basic=basic)


def _check(*bounds: float) -> None:
    if min(bounds) < 0:
        raise PlanError("near, most and seconds are not negative")


def _recipe_of(known: CompiledQuery) -> Recipe:
    """The recipe, where it is one of runs, for sequences: every plan finds the same.

    Of runs the default one keeps none where there are too many.
    """
    recipe = known.recipe
    if known.has_runs:
        return read_recipe(DEFAULT_PLAN)
    kept = tuple(
        entry
        for entry in recipe.entries
        if not (isinstance(entry, RewriteCall) and entry.rewrite == "evaluate_runs")
    )
    return replace(recipe, entries=kept)


def _restrictions(
    schema: Schema, where: str | None, first: object, last: object, params: Mapping[str, object]
) -> list[Condition]:
    """The conditions on events that are looked at, and the times as ones on the time column."""
    name = schema.time.replace("`", "``")
    found = [
        bind_where(f"`{name}` {sign} {_moment(given, schema)}", schema, name=option)
        for option, sign, given in (("from", ">=", first), ("to", "<=", last))
        if given is not None
    ]
    if where is not None:
        found.append(bind_where(where, schema, name="where", parameters=params))
    return found


def _moment(given: object, schema: Schema) -> str:
    """A time as the language writes it; seconds as floats are microseconds to conditions."""
    if schema.has_raw_time:
        try:
            number = float(str(given))
        except ValueError as problem:
            raise PlanError(
                f"the time {given!r} is no number, and `{schema.time}` holds numbers"
            ) from problem
        is_float = schema.time_type.kind.value == "float"
        return str(round(number * 1e6)) if is_float else str(given)
    text = given.isoformat() if isinstance(given, date) else str(given)
    return f"TIMESTAMP '{text}'"
