"""Figures 7a and 7b of SASE++ 2014: lifetimes of mappers and reducers, by Queries 1 and 2."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

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
from experiments.figures.hadoop import SOURCE, WORKLOADS, cluster, inputs, query
from sase.generate import WorkloadName

MAPPERS, REDUCERS = "7a: mappers", "7b: reducers"
# By panel the query, and the ends of the ranges of seconds.
PANELS = {
    MAPPERS: ("Q1", range(10, 81, 10)),
    REDUCERS: ("Q2", range(1_000, 7_001, 1_000)),
}


def points(size: Size) -> Iterator[Point]:
    """All workloads at each end of a range."""
    jobs = size.of(9, 4, 1)
    for panel, (name, ends) in PANELS.items():
        for end in ends:
            ways = {label: lived(kind, jobs, name, end) for kind, label in WORKLOADS.items()}
            yield Point(end, ways, panel=panel, alike=False)


def lived(workload: WorkloadName, jobs: int, name: str, end: int) -> Make:
    """The share of tasks of the large jobs that ran until `end` at most, in seconds."""

    def make(_: Any) -> Way:
        table = cluster(workload, 1, jobs).table
        text = query(name).partition("RETURN")[0] + "RETURN a.job_id AS job, b[].period AS periods"
        plan = sase.compile(text, table, **inputs(name))
        return Way(lambda: plan.run(table, threads=1), partial(_share, jobs=jobs, end=end))

    return make


def _share(matches: sase.Matches, jobs: int, end: int) -> Outcome:
    found = matches.to_pylist()
    periods = np.concatenate([row["periods"] for row in found if row["job"] <= jobs])
    return Outcome(len(found), figures={"share": float((periods <= end).mean())})


def longest(way: str, panel: str) -> Check:
    """That at no end of a range a smaller share of another workload's tasks has ended."""

    required = "the smallest share at each end"

    def check(results: Results) -> Verdict:
        own = dict(results.curve(way, "share", panel))
        others = [
            (other, x, share)
            for other in results.ways(panel)
            if other != way
            for x, share in results.curve(other, "share", panel)
        ]
        if not own or not others:
            return Verdict(None, f"{panel}: too few points", required)
        x = max(own, key=lambda x: min(share - own[x] for _, at, share in others if at == x))
        told = ", ".join(f"{other} {share:.0%}" for other, at, share in others if at == x)
        holds = all(own[at] <= share for _, at, share in others)
        return Verdict(holds, f"{panel}: up to {x} s {way} {own[x]:.0%}, {told}", required)

    return check


EXPERIMENT = Experiment(
    "hadoop_lifetimes",
    "Figures 7a, 7b: lifetimes of mappers and reducers by workload",
    SOURCE,
    "The mappers of Twitter run much longer, since they put out more. The reducers of WorldCup U"
    " run longest. (The lifetimes are drawn by the generator around medians that follow the figure;"
    " Queries 1 and 2 read them from the log.)",
    points,
    (Plot("share", "cumulated share of tasks", "lifetime, s"),),
    (
        Finding("the mappers of Twitter run longest", longest(WORKLOADS["twitter"], MAPPERS)),
        Finding(
            "the reducers of WorldCup U run longest", longest(WORKLOADS["worldcup_u"], REDUCERS)
        ),
    ),
    ("share",),
    once=True,
)
