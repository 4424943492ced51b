"""Plans of queries over one wide table, and hand-made statistics of its events."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from sase.binding import bind_text
from sase.binding.schema_file import schema_from
from sase.planning.cost.cardinality import Cardinalities
from sase.planning.driver import RewriteCall
from sase.planning.optimizer import Optimized, optimized
from sase.planning.physical.runs import CHOSEN
from sase.planning.plan.basic import basic_plan
from sase.planning.plan.nodes import Operator
from sase.planning.recipes import read_recipe
from sase.planning.rewrites import REWRITES
from sase.planning.statistics import (
    Admission,
    Agreement,
    AttributeStatistics,
    Selectivity,
    Statistics,
    TypeStatistics,
)

TABLE = schema_from(
    {"columns": {**dict.fromkeys(["ts", "many", "few", "v", "w"], "integer"), "name": "string"}}
)
# Each rewrite, and each choice of an algorithm.
CHOICES = {name: RewriteCall("use_algorithm", (("name", name),)) for name in CHOSEN}
CALLS = (*(RewriteCall(name) for name in REWRITES if name != "use_algorithm"), *CHOICES.values())


def basic(query: str) -> Operator:
    """The basic plan of a query."""
    return basic_plan(bind_text(query, TABLE))


def made(
    query: str,
    statistics: Statistics | None = None,
    recipe: str = "optimized",
    off: Collection[str] = (),
) -> Optimized:
    """The plan that a recipe makes of a query."""
    return optimized(read_recipe(recipe), basic(query), statistics, off)


def written(folder: Path, rewrites: str) -> str:
    """A recipe of the user's own, as the path of a file."""
    path = folder / "own.toml"
    path.write_text(f"rewrites = [{rewrites}]", encoding="utf-8")
    return str(path)


def figures(query: str, statistics: Statistics, recipe: str = "optimized") -> Cardinalities:
    """The expected figures of the plan of a query by a recipe without statistics."""
    return Cardinalities(made(query, recipe=recipe).plan, statistics)


def known(
    *,
    span: int = 100_000,
    admissions: dict[str, float] | None = None,
    agreements: dict[tuple[str, str], float] | None = None,
    selectivities: dict[str, float] | None = None,
    values: dict[str, int] | None = None,
    **rows: int,
) -> Statistics:
    """Statistics of a number of events of each type, with attributes of evenly spread values.

    `agreements` are by attributes and variables, each a text of names with blanks between.
    """
    attributes = tuple(
        AttributeStatistics(name, 0, count, 1 / count) for name, count in (values or {}).items()
    )
    return Statistics(
        sum(rows.values()),
        0,
        span - 1,
        tuple(TypeStatistics(name, count, attributes) for name, count in rows.items()),
        tuple(Admission(name, share) for name, share in (admissions or {}).items()),
        tuple(
            Agreement(tuple(names.split()), tuple(variables.split()), share)
            for (names, variables), share in (agreements or {}).items()
        ),
        tuple(Selectivity(text, share) for text, share in (selectivities or {}).items()),
        "a sample",
        1_000,
    )
