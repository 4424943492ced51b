"""The routes of records about plans: the plan of a recipe, and the change of a rewrite.

`plan` is the plan of the option `recipe`. `before` is the basic plan after the rewrites of the
option `given`, in order, and `after` the same after the option `rewrite`, or why that declined;
both are run, and must find the matches of `matches`. A rewrite is `name` or `name(on=attribute)`.
"""

from __future__ import annotations

import re
from dataclasses import replace
from textwrap import wrap
from typing import Any

import sase
from sase.binding import bind
from sase.lang.parser import parse_query
from sase.planning.counting import ways_of_counting
from sase.planning.driver import RewriteCall, Trace
from sase.planning.explain import described
from sase.planning.explain.forms import explained_form, form_text
from sase.planning.explain.text import tree
from sase.planning.optimizer import Optimized, optimized
from sase.planning.plan.basic import basic_plan, without_overlaps
from sase.planning.plan.nodes import Operator
from sase.planning.recipes import Recipe, read_recipe
from sase.source import Source
from tests import routes
from tests.casefile import Case

_CALL = re.compile(r"(\w+)(?:\((\w+)=(.*)\))?")


def plan(case: Case) -> list[str]:
    """The plan of a recipe."""
    recipe = read_recipe(case.options.get("recipe", "optimized"))
    return _tree(case, optimized(recipe, _basic(case)))


def form(case: Case) -> list[str]:
    """How matches are counted."""
    basic, recipe = _basic(case), read_recipe(case.options.get("recipe", "optimized"))
    ways = ways_of_counting(basic, recipe, explodes=True, is_number=True)
    return wrap(form_text(explained_form("count", ways, basic, None)) or "", 96)


def before(case: Case) -> list[str]:
    """The plan that a rewrite is given."""
    return _tree(case, Optimized(_given(case)))


def after(case: Case) -> list[str]:
    """The plan that a rewrite makes of it."""
    trace = _rewritten(case)
    declined = trace.steps[-1].declined
    return _tree(case, Optimized(trace)) if declined is None else [f"declined: {declined}"]


def matches_before(case: Case) -> list[str] | None:
    """The matches of the plan to which a rewrite is given."""
    return _found(case, _given(case).plan) if "rewrite" in case.options else None


def matches_after(case: Case) -> list[str] | None:
    """The matches of the plan that a rewrite made."""
    return _found(case, _rewritten(case).plan) if "rewrite" in case.options else None


def _basic(case: Case) -> Operator:
    source = Source(case.query, "query")
    parameters = case.params or None
    bound = bind(parse_query(case.query), routes.schema(case), source=source, parameters=parameters)
    is_apart = case.options.get("output") == "non_overlap"
    return without_overlaps(basic_plan(bound), bound) if is_apart else basic_plan(bound)


def _given(case: Case) -> Trace:
    calls = [call(text) for text in case.options.get("given", "").split(" ") if text]
    trace = Trace.of(_basic(case)).after(calls)
    assert all(step.applied for step in trace.steps), trace.steps
    return trace


def _rewritten(case: Case) -> Trace:
    return _given(case).after([call(case.options["rewrite"])])


def call(text: str) -> RewriteCall:
    """A rewrite and its parameter."""
    found = _CALL.fullmatch(text)
    assert found is not None, text
    name, parameter, value = found.groups()
    return RewriteCall(name, ((parameter, value),) if parameter else ())


def _tree(case: Case, made: Optimized) -> list[str]:
    return tree(described(case.query, Recipe("", "", ()), made))


def _found(case: Case, operators: Operator) -> list[str]:
    table: list[dict[str, Any]] = routes.rows(case)
    compiled = sase.compile(case.query, table, plan="basic", **routes.keywords(case))
    matches = replace(compiled, operators=operators).run(table)
    return routes.match_lines(case, routes.results(matches))
