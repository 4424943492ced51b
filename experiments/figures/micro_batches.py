"""Ours: the size of micro-batches against throughput and latency."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
import pyarrow as pa

import sase
from experiments.core.checks import Check
from experiments.core.experiment import (
    Experiment,
    Finding,
    Outcome,
    Plot,
    Point,
    Size,
    Verdict,
    Way,
)
from experiments.core.results import Results
from experiments.core.ways import Make
from experiments.figures.sequences import rate, stream, template

PUSH, WINDOW, KEYS = "push", 10_000, 1_000
PUSHED_PER_SECOND, P99_MS = 20e6, 1.0


def pushed(text: str, batch: int) -> Make:
    """A stream pushed into a new matcher, in batches that are made before the clock starts."""

    def make(table: pa.Table) -> Way:
        plan = sase.compile(text, table)
        batches = table.combine_chunks().to_batches(max_chunksize=batch)

        def run() -> tuple[int, list[float]]:
            now, matcher, found = time.perf_counter, plan.open(), 0
            marks = [now()]
            for each in batches:
                found += len(matcher.push(each))
                marks.append(now())
            found += len(matcher.finish())
            return found, marks

        return Way(run, _told)

    return make


def _told(found: tuple[int, list[float]]) -> Outcome:
    matches, marks = found
    p50, p99, longest = (1_000 * np.quantile(np.diff(marks), q) for q in (0.5, 0.99, 1.0))
    figures = {"p50_ms": float(p50), "p99_ms": float(p99), "longest_ms": float(longest)}
    return Outcome(matches, None, figures)


def points(size: Size) -> Iterator[Point]:
    """Large batches first."""
    events = size.of(2_000_000, 200_000, 5_000)
    sizes = size.of(
        (100_000, 30_000, 10_000, 3_000, 1_000, 300, 100, 10), (100_000, 1_000, 100), (1_000, 100)
    )
    for batch in sizes:
        ways = {PUSH: pushed(template(3, "[attr1]", WINDOW), batch)}
        yield Point(batch, ways, stream(events, KEYS), events)


def target(y: str, holds: str, limit: float) -> Check:
    """That a figure at batches of 1,000 meets its target."""

    required = f"{holds} {limit:g}"

    def check(results: Results) -> Verdict:
        value = results.at(PUSH, 1_000, y)
        if value is None:
            return Verdict(None, "batches of 1,000 are not measured", required)
        return Verdict(
            value >= limit if holds == "≥" else value <= limit, f"{y} {value:.4g}", required
        )

    return check


MILLISECONDS = "ms of a push"
EXPERIMENT = Experiment(
    "micro_batches",
    "Micro-batches: size against throughput and latency",
    "Ours",
    "a push has a cost of its own, which larger batches share: throughput is paid for by latency.",
    points,
    (
        rate("events of a batch"),
        Plot(
            "p99_ms",
            MILLISECONDS,
            "events of a batch",
            log_x=True,
            log_y=True,
            parts=("p50_ms", "p99_ms", "longest_ms"),
        ),
    ),
    (
        Finding(
            "batches of 1,000: 20 M events/s",
            target("events_per_s", "≥", PUSHED_PER_SECOND),
        ),
        Finding("batches of 1,000: 99 of 100 pushes within 1 ms", target("p99_ms", "≤", P99_MS)),
    ),
    ("p50_ms", "p99_ms", "longest_ms"),
)
