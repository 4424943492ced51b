"""From a query and the schema of its events to a plan, and what statistics have to say in it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sase.api.checks import check_name, check_names, check_number, check_params, check_query
from sase.api.given import check_on_bad_row, check_output, is_of_files, readable, schema_of
from sase.api.plan import Plan
from sase.api.settled import bound_to_files
from sase.binding import Schema, bind_text
from sase.binding.bound import BoundQuery
from sase.binding.lateness import lateness_in
from sase.errors import PlanError
from sase.lang.ast import StrategyName
from sase.planning.basic import basic_plan
from sase.planning.driver import RewriteCall, Trace
from sase.planning.nodes import (
    Operator,
    RunEvaluation,
    Transformation,
    exchanged,
    find,
    the,
)
from sase.planning.optimizer import Optimized, optimized
from sase.planning.recipes import Recipe, read_recipe
from sase.planning.rewrites.partition_stacks import tests_of
from sase.planning.statistics import Statistics

if TYPE_CHECKING:
    from sase.engine.columns import Events
    from sase.engine.plan import EnginePlan

# What statistics are measured for: all tests and conditions that some plan may use.
_PREPARED = (RewriteCall("infer_equivalence_tests"), RewriteCall("derive_conditions"))


@dataclass(frozen=True)
class Compiled:
    """A bound query with its basic plan, of which a recipe makes a plan."""

    query: str
    bound: BoundQuery
    schema: Schema
    recipe: Recipe
    basic: Operator
    on_bad_row: str = "error"
    lateness: int | None = None

    def optimized(
        self, statistics: Statistics | None = None, off: Collection[str] = ()
    ) -> Optimized:
        """What the recipe makes of the basic plan."""
        return optimized(self.recipe, self.basic, statistics, off)

    @property
    def unoptimized(self) -> EnginePlan:
        """The basic plan for the engine: every plan of the query loads the same of the events."""
        return self.plan(Optimized.of(self.basic)).engine

    def plan(self, made: Optimized) -> Plan:
        """The plan as a value of its own."""
        return Plan(
            self.query,
            made.plan,
            self.schema,
            self.bound.definitions,
            self.recipe.name,
            made.steps,
            on_bad_row=self.on_bad_row,
            lateness=self.lateness,
            warnings=self.bound.warnings,
        )

    def measured(self, events: Events, sample: int) -> Statistics:
        """Statistics of events that are loaded, from a sample of so many of them."""
        from sase.engine.statistics import measured

        plan = self.plan(Optimized(self._prepared)).engine
        return measured(plan, events, tests=tests_of(self._prepared.plan), sample=sample)

    @property
    def has_runs(self) -> bool:
        """Whether it is of level 2."""
        return find(self.basic, RunEvaluation) is not None

    @property
    def may_explode(self) -> bool:
        """Whether a match has several events that nothing keeps apart, or a part of many."""
        if self.has_runs:
            return self.bound.strategy is StrategyName.SKIP_TILL_ANY_MATCH
        return len(self.bound.positives) > 1 and not tests_of(self._prepared.plan)

    @cached_property
    def _prepared(self) -> Trace:
        return Trace.of(self.basic).after(_PREPARED)


def compiled(
    query: str,
    schema: object,
    *,
    params: Mapping[str, object] | None,
    plan: str,
    limit: int | None,
    on_bad_row: str,
    output: str = "all",
    lateness: object = None,
    assumes: bool = False,
    flat: bool = False,
    **columns: Any,
) -> Compiled:
    """A query bound to the schema of events, or to a schema.

    What `assumes` that every type has the attributes of equivalence tests is not to be run.
    If attributes become columns, such as `x_id`, in a `flat` form, their names must not clash.
    """
    check_query(query)
    check_names(**columns)
    check_params(params)
    check_name("plan", plan, may_be_none=False)
    check_number("limit", limit)
    check_on_bad_row(on_bad_row)
    known, bound = _bound(query, schema, params or {}, on_bad_row == "quarantine", columns)
    allowed = None if lateness is None else lateness_in(lateness, known)
    if flat:
        bound = bind_text(query, known, parameters=dict(params or {}), flat=True)
    recipe = read_recipe(plan)
    check_output(output)
    basic = _limited(basic_plan(_with_all(bound) if assumes else bound), limit)
    if output == "non_overlap":
        whole = bound.strategy is StrategyName.STRICT_CONTIGUITY
        apart = () if whole else bound.equivalences
        basic = exchanged(basic, replace(the(basic, Transformation), apart=apart))
    return Compiled(query, bound, known, recipe, basic, on_bad_row, allowed)


def _bound(
    query: str,
    given: object,
    parameters: Mapping[str, object],
    judges: bool,
    columns: Mapping[str, Any],
) -> tuple[Schema, BoundQuery]:
    """The schema that events have, or that is given, and the query bound to it."""
    events = (
        given if isinstance(given, Schema) else readable(given, columns["time"], keeps_rows=judges)
    )

    def describe() -> Schema:
        return schema_of(events, mends=judges, **columns)

    if is_of_files(events):
        return bound_to_files(query, events, describe, dict(parameters), judges=judges)
    known = describe()
    return known, bind_text(query, known, parameters=dict(parameters))


def _with_all(bound: BoundQuery) -> BoundQuery:
    """The query as if every type declared the attributes of its equivalence tests."""
    every = (True,) * len(bound.components)
    tests = tuple(replace(test, declared=every) for test in bound.equivalences)
    return replace(bound, equivalences=tests)


def statistics_in(given: object) -> Statistics | None:
    """Statistics as a caller gives them: the value, or the path of a file of them."""
    if given is None or isinstance(given, Statistics):
        return given
    if not isinstance(given, str | Path):
        raise PlanError(f"stats={given!r}: give Statistics, or the path of a file of them")
    from sase.planning.statistics_file import statistics_from_json

    try:
        text = Path(given).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise PlanError(f"{given}: the statistics cannot be read: {problem}") from problem
    return statistics_from_json(text)


def _limited(plan: Operator, limit: int | None) -> Operator:
    """The plan with the lesser of two limits."""
    if limit is None:
        return plan
    top = the(plan, Transformation)
    assert top.limit is None or isinstance(top.limit, int)
    least = limit if top.limit is None else min(limit, top.limit)
    return exchanged(plan, replace(top, limit=int(least)))
