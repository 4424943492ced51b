"""SASE++ 2014, classes of predicates, with imprecise time: over how much a predicate lets pass."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.core.checks import CPU_RATE, every
from experiments.core.experiment import Experiment, Finding, Plot, Point, Size
from experiments.figures.imprecise import CLOSED, PANELS, SOURCE, query, stream, ways
from experiments.figures.imprecise import rises_with_the_threshold as rises
from experiments.figures.postponing import CLASSES

THRESHOLDS = ("", "0.9", "0.999")


def points(size: Size) -> Iterator[Point]:
    """The least value first, by class and threshold."""
    events, window = size.of((500_000, 30_000), (50_000, 3_000), (2_000, 100))
    for predicate_class, predicate in CLASSES.items():
        for threshold in THRESHOLDS:
            for value in size.of((200, 600, 900), (600, 900), (900,)):
                text = query(window, threshold, predicate.format(value=value))
                panel = f"{predicate_class}, {PANELS[threshold]}"
                yield Point(value, ways(text, (CLOSED,)), stream(size, events), events, panel)


EXPERIMENT = Experiment(
    "ip_theta",
    "Figure 5, with imprecise time: classes of predicates",
    f"{SOURCE}, 6.2 and 6.3",
    "Postponing and early filters are of precise time in the paper. With imprecise time conditions"
    " are decided while candidates are found, and a threshold prunes these.",
    points,
    (Plot(CPU_RATE, "events/s of the processor", "value", log_y=True),),
    (
        Finding(
            "a higher threshold is at least as fast (within 1.2)",
            every(
                *(
                    rises(CLOSED, 1.2, [f"{each}, {PANELS[threshold]}" for threshold in THRESHOLDS])
                    for each in CLASSES
                )
            ),
        ),
    ),
    ("matches", "Confidence_s", "RunEvaluation_s"),
)
