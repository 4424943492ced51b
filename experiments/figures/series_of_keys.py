"""Ours: series over many keys with few runs alive, under skip till next and any match."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

from experiments.core.checks import between
from experiments.core.experiment import Experiment, Finding, Plot, Point, Size
from experiments.core.ways import listed
from experiments.figures.sequences import stream

STRATEGIES = ("skip_till_next_match", "skip_till_any_match")
KEYS, LEAST = 10_000, 30e6


def points(size: Size) -> Iterator[Point]:
    """Both strategies, each by the optimizer's plan and by runs."""
    events = size.of(10_000_000, 300_000, 10_000)
    for strategy in STRATEGIES:
        where = f"{strategy} {{[attr1]}} WITHIN {size.of(100_000, 100_000, 10_000)}"
        query = f"EVENT SEQ(E1 a, E2+ b[], E3 c) WHERE {where}"
        ways = {plan: listed(query, plan) for plan in ("optimized", "nfab")}
        yield Point(strategy, ways, stream(events, KEYS), events)


EXPERIMENT = Experiment(
    "series_of_keys",
    "Series over 10,000 keys with few runs alive",
    "Ours",
    "what is cheap should stay cheap: 30 M events/s under skip till next match.",
    points,
    (Plot("events_per_s", "events/s", "", bars=True),),
    (Finding("skip till next match: 30 M events/s", between("optimized", LEAST, inf, of=max)),),
    ("held", "runs", "visited"),
)
