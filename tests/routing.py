"""The results with which each expectation of a `.case` file is compared, by the name of the route.

`matches` and `returns` hold every route by which results are found; the others have one.

Where the engine is to come, a line of `TO_COME` names the folder or the file of records. The naive
matcher alone runs them, and they fail as soon as checking does not refuse them as a whole; `error`
is the kind of mistake in a few words, until there is a message.
"""

from __future__ import annotations

from functools import partial

from sase.planning.recipes import recipe_names
from tests import plan_routes, routes, script_routes

TO_COME: tuple[str, ...] = ()
MATCHES: dict[str, routes.Route] = {
    "naive matcher": routes.naive_matches,
    **{f"engine by {recipe}": partial(routes.engine_matches, recipe) for recipe in recipe_names()},
    "engine in pushes of one": partial(routes.engine_matches, None),
    "engine before the rewrite": plan_routes.matches_before,
    "engine after the rewrite": plan_routes.matches_after,
}
RETURNS: dict[str, routes.Route] = {
    "naive matcher": routes.naive_returns,
    **{f"engine by {recipe}": partial(routes.engine_returns, recipe) for recipe in recipe_names()},
    "engine in pushes of one": partial(routes.engine_returns, None),
}
RESULTS: dict[str, routes.Route] = {
    "naive way": script_routes.naive_results,
    **{
        f"script by {recipe}": partial(script_routes.engine_results, recipe)
        for recipe in ("optimized", "basic", "unfused")
    },
    "script in pushes of one": partial(script_routes.engine_results, None),
    "script by three threads": partial(script_routes.engine_results, "optimized", threads=3),
}
ROUTES: dict[str, dict[str, routes.Route]] = {
    "matches": MATCHES,
    "returns": RETURNS,
    "count": {"naive matcher": routes.naive_count, "engine": routes.engine_count},
    "form": {"basic plan": plan_routes.form},
    "results": RESULTS,
    "error": {"binding": routes.errors},
    "warning": {"binding": routes.warnings},
    "tree": {"parser": routes.tree},
    "format": {"printer": routes.formatted},
    "plan": {"recipe": plan_routes.plan},
    "before": {"rewrites given": plan_routes.before},
    "after": {"rewrite": plan_routes.after},
}
