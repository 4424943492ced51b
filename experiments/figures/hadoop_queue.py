"""Figures 7c and 7d of SASE++ 2014: data that wait for the reducers over time, by Query 4."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from functools import partial
from typing import Any

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
from experiments.figures.hadoop import SOURCE, cluster, inputs, query
from sase.generate import WorkloadName

TWITTER, WORLDCUP = "7c: Twitter", "7d: WorldCup U, a job that waits for others"
WAY, WAIT = "Query 4", 2_300
# By panel the workload, the jobs of the cluster, the one that is looked at, and the last second.
PANELS: dict[str, tuple[WorkloadName, int, int, int]] = {
    TWITTER: ("twitter", 1, 1, 3_500),
    WORLDCUP: ("worldcup_u", 10, 10, 5_000),
}


def points(size: Size) -> Iterator[Point]:
    """The queue at regular seconds after the start of a job."""
    step = size.of(100, 250, 1_000)
    for panel, (workload, jobs, job, last) in PANELS.items():
        for seconds in range(0, last + 1, step):
            yield Point(seconds, {WAY: queue(workload, jobs, job, seconds)}, panel=panel)


def queue(workload: WorkloadName, jobs: int, job: int, seconds: int) -> Make:
    """The megabytes that wait at a second of a job."""

    def make(_: Any) -> Way:
        table = cluster(workload, 1, jobs).table
        plan = sase.compile(
            query("Q4").replace("[job_id]", "[job_id = :job]"), table, params={"job": job},
            **inputs("Q4"),
        )  # fmt: skip
        return Way(lambda: plan.run(table, threads=1), partial(_waiting, seconds=seconds))

    return make


def _waiting(matches: sase.Matches, seconds: int) -> Outcome:
    found = matches.to_pylist()
    until = found[0]["started"] + timedelta(seconds=seconds)
    waiting = [row["queued"] for row in found if row["at"] <= until] or [0]
    return Outcome(len(found), figures={"queued_mb": waiting[-1] / 10**6})


def rises_and_ends(panel: str) -> Check:
    """That the queue rises to a peak, and is 0 at the end."""

    required = "a peak above 0, and 0 at the end"

    def check(results: Results) -> Verdict:
        curve = results.curve(WAY, "queued_mb", panel)
        if len(curve) < 3:
            return Verdict(None, f"{panel}: too few points", required)
        x, peak = max(curve, key=lambda point: point[1])
        last, left = curve[-1]
        told = f"{panel}: {peak:,.0f} MB at {x} s, {left:,.0f} at {last} s"
        return Verdict(peak > 0 and left == 0, told, required)

    return check


def waits(results: Results) -> Verdict:
    """That the queue of WorldCup U is empty until the job has waited, and not ever after."""
    curve = results.curve(WAY, "queued_mb", WORLDCUP)
    some, required = [x for x, queued in curve if queued > 0], f"after {WAIT} s"
    if not some:
        return Verdict(None if not curve else False, f"{WORLDCUP}: nothing waits", required)
    return Verdict(some[0] > WAIT, f"{WORLDCUP}: data first wait at {some[0]} s", required)


EXPERIMENT = Experiment(
    "hadoop_queue",
    "Figures 7c, 7d: data that wait for the reducers",
    SOURCE,
    "In the Twitter job up to about 30 GB wait when most mappers are done, then fewer as reducers"
    " consume. In the WorldCup U job nothing waits until 2,300 s, since the job waits for others;"
    " then up to about 120 MB. (The reducers of the generator start when a tenth of the mappers is"
    " done, and are faster than the mappers. So more data wait than in the paper, and the peak is"
    " earlier. Query 4 reads the queue from the log.)",
    points,
    (Plot("queued_mb", "MB that wait", "seconds since the start of the job"),),
    (
        Finding(
            "the queue of Twitter rises to a peak, and is empty at the end", rises_and_ends(TWITTER)
        ),
        Finding(
            "that of WorldCup U rises to a peak, and is empty at the end", rises_and_ends(WORLDCUP)
        ),
        Finding("in WorldCup U nothing waits for 2,300 s", waits),
    ),
    ("queued_mb",),
    once=True,
)
