"""Experiment 4 of SASE 2006: simple and other conditions, pushed or in Selection."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.core.checks import ahead, near
from experiments.core.experiment import Experiment, Finding, Plot, Point, Size
from experiments.core.ways import listed
from experiments.figures.sequences import SOURCE, rate, stream, template

NOTHING, SIMPLE, ALL = "in Selection", "simple ones pushed", "all pushed"
RECIPES = {
    NOTHING: "conditions_in_selection",
    SIMPLE: "dynamic_filtering",
    ALL: "all_conditions_pushed",
}


def points(size: Size) -> Iterator[Point]:
    """By the share of events that the simple condition admits; those of attr3 are 0 to 999."""
    events = size.of(1_000_000, 200_000, 10_000)
    for admitted in size.of((1, 10, 100, 500, 1_000), (10, 1_000), (100, 1_000)):
        where = f"[attr1, attr2] AND b.attr3 < {admitted} AND a.attr4 < c.attr4"
        query = template(3, where)
        ways = {name: listed(query, plan) for name, plan in RECIPES.items()}
        yield Point(admitted / 1_000, ways, stream(events, 10), events)


EXPERIMENT = Experiment(
    "conditions",
    "Simple and other conditions, pushed or not",
    f"{SOURCE}, experiment 4",
    "Pushing simple predicates always helps; once they and the equivalence tests are pushed, the"
    " other predicates cost little in Selection.",
    points,
    (
        rate("share of events that the simple condition admits"),
        Plot("sequences", "sequences built", "share of events admitted", log_x=True, log_y=True),
    ),
    (
        Finding(
            "pushing simple conditions never costs (within 1.1)",
            ahead(SIMPLE, NOTHING, 1 / 1.1),
        ),
        Finding(
            "where they admit at most a tenth, it pays",
            ahead(SIMPLE, NOTHING, 1.1, when=lambda x: x <= 0.1),
        ),
        Finding("pushing the others too changes little (within 1.5)", near(ALL, SIMPLE, 1.5)),
    ),
    ("sequences", "visited"),
)
