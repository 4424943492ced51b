"""A query bound to its events, with its basic plan; a recipe turns this into the plan of a run."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from sase.api.binding import bound_to
from sase.api.checks import check_number, check_output, check_params, check_query
from sase.api.plan import DEFAULT_PLAN, Plan
from sase.base.files import read_text
from sase.binding import Schema
from sase.binding.bound import BoundQuery
from sase.binding.input_options import check_name
from sase.binding.lateness import lateness_in
from sase.binding.values.literals import Given, constants
from sase.cached_property import cached_property
from sase.engine.sources.discovered import Discovered
from sase.errors import PlanError
from sase.lang.ast import StrategyName
from sase.planning.driver import RewriteCall, Trace
from sase.planning.engine_plan import Options
from sase.planning.optimizer import Optimized, optimized
from sase.planning.plan.basic import basic_plan, without_overlaps
from sase.planning.plan.nodes import (
    Operator,
    RunEvaluation,
    Transformation,
    branches_of,
    exchanged,
    find,
    require,
)
from sase.planning.recipes import Recipe, read_recipe
from sase.planning.rewrites.partition_stacks import tests_of
from sase.planning.statistics import Statistics, united

if TYPE_CHECKING:
    from sase.engine.columns import Events
    from sase.planning.engine_plan import EnginePlan

# Statistics are measured for all tests and conditions that a plan may use. This is the number of
# branches with statistics; each of them takes its own sample.
MOST_MEASURED = 8
_PREPARED = (RewriteCall("infer_equivalence_tests"), RewriteCall("derive_conditions"))


@dataclass(frozen=True)
class CompiledQuery:
    """A bound query with its basic plan and its source."""

    query: str
    bound: BoundQuery
    source: Discovered
    recipe: Recipe
    basic: Operator
    lateness: int | None = None
    params: tuple[tuple[str, Given], ...] = ()
    # The parameters as the caller gave them.
    values: Mapping[str, object] = field(default_factory=dict, repr=False)

    @property
    def schema(self) -> Schema:
        """The schema of the source."""
        return self.source.schema

    def optimized(
        self,
        statistics: Statistics | None = None,
        off: Collection[str] = (),
        *,
        loaded: bool = False,
    ) -> Optimized:
        """Apply the recipe to the basic plan; `loaded` says that all events are in memory."""
        if statistics is not None:
            statistics = replace(statistics, loaded=loaded)
        return optimized(self.recipe, self.basic, statistics, off)

    @cached_property
    def unoptimized(self) -> EnginePlan:
        """The basic plan for the engine; it reads all columns."""
        return self.plan(Optimized.of(self.basic)).engine

    @cached_property
    def reading(self) -> EnginePlan:
        """The basic plan; its columns are pruned if the recipe prunes, as those of every plan."""
        prunes = [each for each in self.recipe.entries if each == RewriteCall("prune_columns")]
        return self.plan(Optimized(Trace.of(self.basic).after(prunes))).engine

    @property
    def on_bad_row(self) -> str:
        """The policy for bad rows."""
        return self.source.names.on_bad_row

    def plan(self, made: Optimized) -> Plan:
        """Return the plan as a public value."""
        return Plan(
            self.query,
            made.plan,
            self.schema,
            self.bound.definitions,
            self.recipe.name,
            made.steps,
            Options(fused=self.recipe.fused, reading=self.source.names.reading),
            on_bad_row=self.on_bad_row,
            lateness=self.lateness,
            warnings=self.bound.warnings,
            params=self.params,
        )

    def measured(self, events: Events, sample: int) -> Statistics:
        """Measure statistics of loaded events on a sample of this size."""
        from sase.engine.statistics import measured

        plan = self.plan(Optimized(self._prepared)).engine
        parts = [
            measured(each, events, tests=tests_of(each.operators), sample=sample)
            for each in plan.branches[:MOST_MEASURED] or (plan,)
        ]
        return united(parts) if len(parts) > 1 else parts[0]

    def returning(self, output: str, limit: int | None = None) -> CompiledQuery:
        """The same query with this form of results, and at most `limit` results."""
        if output != "non_overlap" and limit is None:
            return self
        basic, top = self.basic, require(self.basic, Transformation)
        if limit is not None:
            assert top.limit is None or isinstance(top.limit, int)
            top = replace(top, limit=int(limit if top.limit is None else min(limit, top.limit)))
            basic = exchanged(basic, top)
        if output == "non_overlap":
            basic = without_overlaps(basic, self.bound)
        return replace(self, basic=basic)

    def of_text(self, query: str) -> CompiledQuery:
        """Another query over the same events, with the same recipe and parameters."""
        source, bound = bound_to(query, self.source, self.values)
        return replace(self, query=query, bound=bound, source=source, basic=basic_plan(bound))

    @property
    def has_runs(self) -> bool:
        """Whether the query or one of its branches is evaluated by runs."""
        return any(find(each, RunEvaluation) is not None for each in branches_of(self.basic))

    @property
    def may_explode(self) -> bool:
        """Whether a match has several events without a common key, or a part with many events."""
        if self.has_runs:
            return self.bound.strategy is StrategyName.SKIP_TILL_ANY_MATCH
        return len(self.bound.positives) > 1 and not tests_of(self._prepared.plan)

    @cached_property
    def _prepared(self) -> Trace:
        return Trace.of(self.basic).after(_PREPARED)


def compile_query(
    query: str,
    source: Discovered,
    *,
    params: Mapping[str, object] | None = None,
    plan: str = DEFAULT_PLAN,
    limit: int | None = None,
    output: str = "all",
    lateness: object = None,
    assumes: bool = False,
    flat: bool = False,
) -> CompiledQuery:
    """Bind a query to events or to a schema, and make its basic plan.

    With `assumes`, every type is taken to have the attributes of equivalence tests; such a plan
    must not run. With `flat`, attributes are columns of results, such as `x_id`, so their names
    must differ.
    """
    check_query(query)
    check_params(params)
    check_name("plan", plan, may_be_none=False)
    check_number("limit", limit)
    check_output(output)
    values = dict(params or {})
    source, bound = bound_to(query, source, values, flat=flat)
    if output == "non_overlap" and bound.confidence is not None:
        raise PlanError(
            'output="non_overlap" takes of matches that overlap the first, and with imprecise time'
            ' that differs from world to world: use "all", "count" or "compressed"'
        )
    allowed = None if lateness is None else lateness_in(lateness, source.schema, source.unit_hint)
    basic = basic_plan(_declaring_all(bound) if assumes else bound)
    recipe, given = read_recipe(plan), constants(values)
    known = CompiledQuery(query, bound, source, recipe, basic, allowed, given, values)
    return known.returning(output, limit)


def _declaring_all(bound: BoundQuery) -> BoundQuery:
    """The query as if every type declared the attributes of its equivalence tests."""
    every = (True,) * len(bound.components)
    tests = tuple(replace(test, declared=every) for test in bound.equivalences)
    branches = tuple(map(_declaring_all, bound.branches))
    return replace(bound, equivalences=tests, branches=branches)


def statistics_in(value: object) -> Statistics | None:
    """Return the statistics that a caller gives as a value or as the path of a file."""
    if value is None or isinstance(value, Statistics):
        return value
    if not isinstance(value, str | Path):
        raise PlanError(f"stats={value!r}: give Statistics, or the path of a file of them")
    from sase.planning.serialisation import statistics_from_json

    try:
        text = read_text(Path(value))
    except (OSError, UnicodeDecodeError) as problem:
        raise PlanError(f"{value}: the statistics cannot be read: {problem}") from problem
    return statistics_from_json(text)
