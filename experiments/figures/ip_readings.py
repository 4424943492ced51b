"""Ours: Query 6 of the Hadoop study, readings of 15 seconds among the events of tasks."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pyarrow as pa

from experiments.core.checks import CPU_RATE, Check, at_least, between, every
from experiments.core.experiment import Experiment, Finding, Plot, Point, Reason, Size, Verdict
from experiments.core.results import Results
from experiments.core.ways import listed
from experiments.figures.imprecise import PANELS, SOURCE, TIME

SECOND, SEED = 1_000_000, 20140603
WAY = "optimized"
# The share of events that begin a reducer's run, and of readings of tasks that never begin.
BEGINS, READINGS = 1e-5, 0.2
THRESHOLDS = ("", "0.9", "0.999")


def stream(events: int) -> pa.Table:
    """An event each second: of tasks precise, of readings about the last 15 seconds.

    A reducer that begins is read three times, 15 seconds apart; the first reading may be of a time
    before it began, and the last one of a time after it ended.
    """
    random = np.random.default_rng(SEED)
    hi = np.arange(events, dtype=np.int64) * SECOND
    kind = np.where(random.random(events) < READINGS, "LoadStd", "Other").astype(object)
    task, value = random.integers(10**6, 2 * 10**6, events), random.random(events)
    count = max(round(events * BEGINS), 1)
    for number, begin in enumerate(random.choice(events // 100, count, replace=False) * 100):
        first, end = random.integers(1, 20), random.integers(1, 20)
        own = begin + np.array([0, first, first + 15, first + 30, first + 15 + end])
        own[-1] += own[-1] == own[-2]
        kind[own] = ["ReducerStart", "LoadStd", "LoadStd", "LoadStd", "ReducerEnd"]
        task[own], value[own] = number, [0.0, 0.1, 0.2, 0.3, 0.0]
    length = np.where(kind == "LoadStd", 15 * SECOND - 1, 0)
    kinds = pa.array(kind.tolist()).dictionary_encode()
    return pa.table({"type": kinds, "lo": hi - length, "hi": hi, "task_id": task, "val": value})


def query(threshold: str) -> str:
    """Query 6 of the paper."""
    asked = f" WITH CONFIDENCE >= {threshold}" if threshold else ""
    return (
        "EVENT SEQ(ReducerStart a, LoadStd+ b[], ReducerEnd c) WHERE [task_id]"
        f" AND b[i].val >= b[i-1].val WITHIN 10 minutes{asked}"
    )


def points(size: Size) -> Iterator[Point]:
    """A stream, by thresholds."""
    events = size.of(1_000_000, 100_000, 1_000)
    for threshold in THRESHOLDS:
        ways = {WAY: listed(query(threshold), time=TIME, time_unit="us")}
        yield Point(events, ways, lambda: stream(events), events, PANELS[threshold])


def matches_at(rate: float, panel: str) -> Check:
    """There are matches at `rate` events in a second."""

    required = f"matches, and at least {rate:g} events/s"

    def check(results: Results) -> Verdict:
        rates = [value for _, value in results.curve(WAY, CPU_RATE, panel)]
        found = [row["matches"] for row in results.measured if row["panel"] == panel]
        if not rates:
            return Verdict(None, f"{panel} is not measured", required)
        told = f"{panel}: {found[-1]:,} matches, {rates[-1]:.3g} events/s"
        return Verdict(found[-1] > 0 and rates[-1] >= rate, told, required)

    return check


def fewer_matches(results: Results) -> Verdict:
    """That each threshold leaves some matches, and fewer than the one before."""
    required = "each fewer than the one before, and some"
    found = {row["panel"]: row["matches"] for row in results.measured}
    numbers = [found[PANELS[each]] for each in THRESHOLDS if PANELS[each] in found]
    if len(numbers) < len(THRESHOLDS):
        return Verdict(None, "too few points", required)
    falls = all(one > other > 0 for one, other in pairwise(numbers))
    return Verdict(falls, " > ".join(map(str, numbers)), required)


def faster_each(factor: float) -> Check:
    """Each threshold has at least `factor` times the rate of the one before."""
    required = at_least(factor)

    def check(results: Results) -> Verdict:
        rates = [
            rate for each in THRESHOLDS for _, rate in results.curve(WAY, CPU_RATE, PANELS[each])
        ]
        if len(rates) < len(THRESHOLDS):
            return Verdict(None, "too few points", required)
        gains = [after / before for before, after in pairwise(rates)]
        told = ", ".join(f"{rate:.4g} events/s" for rate in rates)
        told += f": {', '.join(f'{gain:.3f}' for gain in gains)} times the one before"
        return Verdict(min(gains) >= factor, told, required)

    return check


def few_visited(panel: str) -> Check:
    """Walks visit at most 200 events."""
    return between(WAY, 0, 200, y="visited", panel=panel, of=max)


EXPERIMENT = Experiment(
    "ip_readings",
    "Query 6 of the Hadoop study: readings of 15 seconds",
    f"{SOURCE}, 2.3 and 6.4",
    "In the paper each optimization gains. Here one plan runs by three thresholds. (Of the events"
    " 0.00001 begin a match, as the paper's selectivity; a fifth are readings of other tasks.)",
    points,
    (Plot(CPU_RATE, "events/s of the processor", "events"),),
    (
        Finding(
            "with a threshold of 0.9 at least a million events a second",
            matches_at(1e6, PANELS["0.9"]),
        ),
        Finding(
            "a threshold is faster than the one before",
            faster_each(1.0),
            (
                Reason(
                    "There are so few walks that none can gain: they visit at most 200 of a million"
                    " events, and all three rates are within 1.1 of each other.",
                    every(
                        *(few_visited(PANELS[each]) for each in THRESHOLDS), faster_each(1 / 1.1)
                    ),
                ),
            ),
        ),
        Finding("each threshold leaves fewer of the matches", fewer_matches),
    ),
    ("matches",),
)
