"""The throughput of SASE 2006, batches of W until it converges, beside a whole stream at once."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.core.checks import near, within
from experiments.core.experiment import Experiment, Finding, Plot, Point, Reason, Size, Verdict
from experiments.core.results import Results
from experiments.core.ways import in_batches, listed
from experiments.figures.sequences import SOURCE, rate, stream, template

PAPER = "paper_events_per_s"

WINDOW = 10_000


def points(size: Size) -> Iterator[Point]:
    """Q1 over V1, by two recipes."""
    events = size.of(1_000_000, 200_000, 5_000)
    window = size.of(WINDOW, WINDOW, 500)
    query, probes = template(3, "[attr1]", window), (in_batches(window),)
    for domain in size.of((10_000, 1_000, 100, 50), (10_000, 100), (100,)):
        ways = {name: listed(query, name, probes=probes) for name in ("pais", "optimized")}
        yield Point(domain, ways, stream(events, domain), events)


def alike(results: Results) -> Verdict:
    """That both definitions give the same within 1.5."""
    required = within(1.5)
    rows = [row for row in results.measured if row.get(PAPER)]
    ratios = [row["events_per_s"] / row[PAPER] for row in rows]
    told = ", ".join(
        f"{ratio:.2f} ({row['way']}, V1 = {row['x']})"
        for ratio, row in zip(ratios, rows, strict=True)
    )
    holds = all(1 / 1.5 <= ratio <= 1.5 for ratio in ratios) if ratios else None
    return Verdict(holds, f"whole stream : batches = {told}", required)


def a_push_costs(results: Results) -> Verdict:
    """That a batch takes longer than its share of the stream, by about as much everywhere."""
    required = "the most at most 2.5 times the least"
    rows = [row for row in results.measured if row.get(PAPER)]
    more = [1e6 * WINDOW * (1 / row[PAPER] - 1 / row["events_per_s"]) for row in rows]
    least, most = min(more, default=0), max(more, default=0)
    told = (
        f"{least:.0f} to {most:.0f} µs more for a batch of {WINDOW:,} than its share of the whole"
    )
    return Verdict(0 < most <= 2.5 * least if more else None, told, required)


EXPERIMENT = Experiment(
    "batches_of_w",
    "Throughput by the paper's definition and by ours",
    f"{SOURCE}, 5.1",
    "Throughput is the average over the last six batches of W events, once it changes by less than"
    " 5 % for three of them. Ours is that of a whole stream, its events in memory.",
    points,
    (rate("V1"), Plot(PAPER, "events/s by the paper's batches of W", "V1", log_x=True, log_y=True)),
    (
        Finding(
            "both definitions give the same within 1.5",
            alike,
            (
                Reason(
                    "What a push costs by itself is paid with each batch of W, and is about the"
                    " same (within 2.5) however few matches there are.",
                    a_push_costs,
                ),
            ),
        ),
        Finding(
            "the recipes compare alike by both (pais near optimized, within 1.5)",
            near("pais", "optimized", 1.5, y=PAPER),
        ),
    ),
    (PAPER,),
)
