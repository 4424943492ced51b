"""The public function that explains why a query finds no match, or few matches."""

from __future__ import annotations

import time as clocks
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from functools import partial
from typing import TYPE_CHECKING, Unpack

from sase.api.checks import check_events, guard_of, limits_of
from sase.api.compiled_query import CompiledQuery, compile_query
from sase.api.compiled_script import CompiledScript, script_of
from sase.api.plan import DEFAULT_PLAN
from sase.api.script_inputs import Sources
from sase.binding import Schema
from sase.binding.binder import bind_where
from sase.binding.bound import Condition
from sase.binding.input_options import InputKeywords, takes_input_options
from sase.engine.pipeline.limits import EXPLANATION, RunGuard, check_of, working
from sase.errors import PlanError
from sase.planning.driver import RewriteCall
from sase.planning.plan.nodes import branches_of
from sase.planning.recipes import Recipe, read_recipe

if TYPE_CHECKING:
    from sase.diagnostics.why_not.why_not import WhyNot

# The near misses that are shown, the partial matches of each search, and the seconds for all.
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
    """Explain why a query finds no match, or few: which conditions fail, and near misses.

    `where` is a condition on the attributes of events. `from_` and `to` are times, both included.
    Only events that meet these are searched. `near` is how many near misses are shown, `most` how
    many partial matches each search may find, and `seconds` how long all searches may take by
    `clock`. A number that was cut off by these limits is reported with "at least".

    Each branch of a pattern with choices is explained, with an equal part of the seconds, and one
    iteration of each repeated group. `timeout` and `max_memory` limit the whole call. Of a script,
    the `statement` of this name is explained, or else the only result; `streams` are the inputs
    with names. The other keywords are those of `match`.

    Examples:
        >>> events = [{"ts": 1, "type": "A"}, {"ts": 99, "type": "B"}]
        >>> sase.why("EVENT SEQ(A a, B b) WITHIN 10", events).words[-1]
        'without WITHIN 10 there would be 1 match'
    """
    from sase.diagnostics.why_not.budget import Budget
    from sase.diagnostics.why_not.explain import explain

    _check(near, most, seconds)
    guard = guard_of(limits_of(timeout, max_memory), clocks.perf_counter_ns, EXPLANATION)
    check_events(events, streams)
    with working(guard):
        script, read = script_of(query, events, streams, params, plan, options, guard)
        whole = _of_statement(script, read, statement, guard)
        known, about = _of_iteration(whole)
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
    """A statement as a query by itself over the events that it reads."""
    statement = script.chosen(name)
    if read is None:
        raise PlanError("a schema has no events, and only these say why: give them")
    if script.lone is not None:
        return script.lone
    own = script.alone(read, guard)[statement.name]
    return compile_query(statement.written, own, params=script.params, plan=script.recipe)


def _of_iterations(
    compiled: CompiledQuery,
    restrictions: Sequence[Condition],
    most: int,
    seconds: float,
    clock: Callable[[], float],
    guard: RunGuard | None,
) -> Iterator[str]:
    """Reasons why groups do not repeat often enough for a match."""
    if not compiled.bound.has_groups:
        return
    from sase.diagnostics.why_not.branches import too_few_iterations
    from sase.diagnostics.why_not.budget import Budget

    assert compiled.source.events is not None, "a schema has no events"
    asked = list(_branches(compiled))
    for each in asked:
        yield from too_few_iterations(
            each.bound,
            each.unoptimized,
            compiled.source.events,
            restrictions,
            recipe=read_recipe(DEFAULT_PLAN),
            budget=Budget(most, seconds / len(asked), clock, check_of(guard)),
        )


def _told(compiled: CompiledQuery, found: list[WhyNot], about: tuple[str, ...]) -> WhyNot:
    """The explanation of a query from those of its branches, after the sentences `about` it."""
    from sase.diagnostics.why_not.branches import of_branches

    whole = of_branches(compiled.bound, found) if compiled.bound.branches else found[0]
    return replace(whole, words=(*about, *whole.words)) if about else whole


def _of_iteration(compiled: CompiledQuery) -> tuple[CompiledQuery, str]:
    """The query, or for repeated groups the query of one iteration with a note on it."""
    from sase.diagnostics.why_not.branches import of_one_iteration

    if not compiled.bound.has_groups:
        return compiled, ""
    once, about = of_one_iteration(compiled.query)
    return compiled.of_text(once), about


def _branches(compiled: CompiledQuery) -> Iterator[CompiledQuery]:
    """The queries to explain: one for each branch, or the query itself."""
    bound = compiled.bound
    if not bound.branches:
        yield compiled
        return
    for branch, basic in zip(bound.branches, branches_of(compiled.basic), strict=True):
        yield replace(compiled, bound=replace(branch, definitions=bound.definitions), basic=basic)


def _check(*bounds: float) -> None:
    if min(bounds) < 0:
        raise PlanError("near, most and seconds are not negative")


def _recipe_of(compiled: CompiledQuery) -> Recipe:
    """For sequences, the recipe without runs, because every plan finds the same matches.

    For runs, it is the default recipe, which stores no runs if there are too many.
    """
    recipe = compiled.recipe
    if compiled.has_runs:
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
    """The conditions on the searched events, those of the times included."""
    name = schema.time.replace("`", "``")
    found = [
        bind_where(f"`{name}` {sign} {_moment(given, schema)}", schema, name=option)
        for option, sign, given in (("from", ">=", first), ("to", "<=", last))
        if given is not None
    ]
    if where is not None:
        found.append(bind_where(where, schema, name="where", parameters=params))
    return found


def _moment(value: object, schema: Schema) -> str:
    """A time in the syntax of the language; seconds as floats become microseconds."""
    if schema.has_raw_time:
        try:
            number = float(str(value))
        except ValueError as problem:
            raise PlanError(
                f"the time {value!r} is no number, and `{schema.time}` holds numbers"
            ) from problem
        is_float = schema.time_type.kind.value == "float"
        return str(round(number * 1e6)) if is_float else str(value)
    text = value.isoformat() if isinstance(value, date) else str(value)
    return f"TIMESTAMP '{text}'"
