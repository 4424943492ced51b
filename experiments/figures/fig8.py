"""Figure 8 of SASE 2006: Basic against AIS over V1; more types simulate its selectivity."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.core.checks import ahead, narrows
from experiments.core.experiment import Experiment, Finding, Point, Size
from experiments.core.ways import in_batches, listed
from experiments.figures.sequences import SOURCE, TYPES, paper_rate, rate, stream, template

WINDOW = 10_000


def types_for(domain: int, length: int = 3) -> int:
    """The number of types in place of the selectivity of an equivalence test (5.2)."""
    return round(TYPES * domain ** ((length - 1) / length))


def points(size: Size) -> Iterator[Point]:
    """V1 = 10,000 first, which is the lightest."""
    events = size.of(1_000_000, 100_000, 2_000)
    window = size.of(WINDOW, WINDOW, 200)
    domains = size.of((10_000, 5_000, 1_000, 500, 100), (10_000, 1_000, 100), (1_000, 100))
    for domain in domains:
        query = template(3, window=window)
        probes = (in_batches(window),)
        yield Point(
            domain,
            {
                "Basic": listed(query, "basic_windows", probes=probes),
                "AIS": listed(query, "ais_windows", probes=probes),
            },
            stream(events, domain, types=types_for(domain)),
            events,
        )


EXPERIMENT = Experiment(
    "fig8",
    "Figure 8: Basic and AIS over V1",
    f"{SOURCE}, experiment 1",
    "AIS is 18 times as fast as Basic at V1 = 100, and they come close at 10,000.",
    points,
    (rate("V1"), paper_rate("V1")),
    (
        Finding("AIS is at least as fast as Basic everywhere", ahead("AIS", "Basic")),
        Finding(
            "AIS is many times (here: at least 5) as fast at V1 = 100",
            ahead("AIS", "Basic", 5, when=lambda x: x == 100),
        ),
        Finding(
            "the lead is smaller at V1 = 10,000 than at 100",
            narrows("AIS", "Basic"),
        ),
    ),
    ("paper_events_per_s", "visited"),
)
