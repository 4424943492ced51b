"""SASE++ 2014, classes of predicates, with imprecise time: over how much a predicate lets pass."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.core.checks import CPU_RATE, Check, ahead, every
from experiments.core.experiment import Experiment, Finding, Plot, Point, Size
from experiments.core.ways import Make, cost_by_operator, listed
from experiments.figures.imprecise import PANELS, SOURCE, TIME, query, stream
from experiments.figures.imprecise import rises_with_the_threshold as rises
from experiments.figures.postponing import CLASSES

THRESHOLDS = ("", "0.5", "0.9", "0.999")
POSTPONED, FILTERED, DP = "postponing", "early filters", "DP"
# Of the other classes the recipe with filters has the plan of postponing.
DECIDED_EARLY = ("true-value consistent", "inconsistent")
# Each a recipe, and the rewrites without all of which it is another one's plan.
RECIPES: dict[str, tuple[str, tuple[str, ...]]] = {
    POSTPONED: ("postponed", ()),
    FILTERED: ("postponed_filters", ("unfold_aggregates", "filter_early")),
    DP: ("dp", ("prune_by_confidence",)),
}


def points(size: Size) -> Iterator[Point]:
    """The least value first, by class and threshold."""
    events, window, length = size.of(
        (1_000_000, 50_000, 5_000), (100_000, 5_000, 500), (2_000, 100, 5)
    )
    data = stream(size, events, length)
    for predicate_class, predicate in CLASSES.items():
        for threshold in THRESHOLDS:
            for value in size.of((200, 600, 900), (600, 900), (900,)):
                text = query(window, threshold, predicate.format(value=value))
                yield Point(value, _ways(text), data, events, panel(predicate_class, threshold))


def _ways(text: str) -> dict[str, Make]:
    probes = (cost_by_operator,)
    return {
        name: listed(text, plan, needs=needs, probes=probes, time=TIME)
        for name, (plan, needs) in RECIPES.items()
    }


def panel(predicate_class: str, threshold: str) -> str:
    """The name of the panel of a class and a threshold."""
    return f"{predicate_class}, {PANELS[threshold]}"


def for_each(
    one: str, other: str, thresholds: tuple[str, ...], classes: tuple[str, ...] = tuple(CLASSES)
) -> Check:
    """That the one is at least as fast as the other, within 1.1, for each class."""
    return every(
        *(
            ahead(one, other, 1 / 1.1, y=CPU_RATE, panel=panel(each, threshold))
            for each in classes
            for threshold in thresholds
        )
    )


EXPERIMENT = Experiment(
    "ip_theta",
    "Figure 5, with imprecise time: classes of predicates",
    f"{SOURCE}, 6.2 and 6.3",
    "Postponing and early filters are of precise time in the paper, and DP of one class. (All three"
    " walk back over intervals, here so long that some overlap: 5,000 of a window of 50,000 units."
    " Postponing decides conditions and confidence when a candidate is whole.)",
    points,
    (Plot(CPU_RATE, "events/s of the processor", "value", log_y=True),),
    (
        Finding(
            "early filters are at least as fast as postponing (within 1.1), for classes that"
            " the recipe decides early",
            for_each(FILTERED, POSTPONED, THRESHOLDS, DECIDED_EARLY),
        ),
        Finding(
            "with thresholds DP is at least as fast as postponing (within 1.1)",
            for_each(DP, POSTPONED, THRESHOLDS[1:]),
        ),
        Finding(
            "the higher the threshold the faster is DP (within 1.2)",
            every(*(rises(DP, 1.2, [panel(each, t) for t in THRESHOLDS[1:]]) for each in CLASSES)),
        ),
    ),
    ("visited", "Confidence_s", "RunEvaluation_s"),
)
