"""SASE 2006, "other experiments": negation by an index after construction, pushed, and several."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.core.checks import Check, ahead, every, near
from experiments.core.experiment import Experiment, Finding, Point, Reason, Size
from experiments.core.ways import Make, listed
from experiments.figures.sequences import SOURCE, rate, stream

ONE, SEVERAL = "one negation", "two negations"
QUERIES = {
    ONE: ("E1 a, !(E2 b), E3 c", "E1 a, E3 c"),
    SEVERAL: ("E1 a, !(E2 b), E3 c, !(E4 d), E5 e", "E1 a, E3 c, E5 e"),
}
INDEX, PUSHED, WITHOUT = "index (NG)", "pushed", "without it"


def points(size: Size) -> Iterator[Point]:
    """By V1: few values make many sequences that negation looks at."""
    events = size.of(1_000_000, 200_000, 10_000)
    for panel, (query, positive) in QUERIES.items():
        for domain in size.of((10_000, 1_000, 300, 100, 50), (10_000, 100), (1_000, 100)):
            ways = {
                INDEX: _way(query, "composite_key"),
                PUSHED: _way(query, "negation_in_construction"),
            }
            yield Point(domain, ways, stream(events, domain), events, panel)
            # Another question, so that it is a point of its own.
            alone = {WITHOUT: _way(positive, "composite_key")}
            yield Point(domain, alone, stream(events, domain), events, panel)


def _way(steps: str, plan: str) -> Make:
    return listed(f"EVENT SEQ({steps}) WHERE [attr1] WITHIN 10000", plan)


def _parts(panel: str) -> tuple[Check, Check]:
    """That pushed negation costs more than none, and less than the index, at V1 = 10,000."""
    return (
        ahead(WITHOUT, PUSHED, 1.1, panel=panel, when=lambda x: x == 10_000),
        ahead(PUSHED, INDEX, 1.1, panel=panel, when=lambda x: x == 10_000),
    )


EXPERIMENT = Experiment(
    "negation",
    "Negation: an index after construction, pushed into it, one and several",
    f"{SOURCE}, 5.3",
    "The cost of negation is modest where intermediate results are few and can become significant"
    " otherwise, which suggests pushing it into sequence scan and construction.",
    points,
    (rate("V1"),),
    (
        Finding(
            "few intermediate results (V1 = 10,000): the index costs little (within 1.5)",
            every(
                *(
                    near(INDEX, WITHOUT, 1.5, panel=panel, when=lambda x: x == 10_000)
                    for panel in QUERIES
                )
            ),
            (
                Reason(
                    "A part of it is reading the events of the negated types, which costs where"
                    " negation is pushed as well; the index is the rest.",
                    every(*(check for panel in QUERIES for check in _parts(panel))),
                ),
            ),
        ),
        Finding(
            "many of them (V1 ≤ 100): it costs, at least a fifth more",
            every(
                *(
                    ahead(WITHOUT, INDEX, 1.2, panel=panel, when=lambda x: x <= 100)
                    for panel in QUERIES
                )
            ),
        ),
        Finding(
            "(ours) pushed into construction it is faster than by the index at V1 ≤ 100",
            every(
                *(ahead(PUSHED, INDEX, panel=panel, when=lambda x: x <= 100) for panel in QUERIES)
            ),
        ),
    ),
    ("sequences", "visited"),
)
