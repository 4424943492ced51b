"""Shared by the figures of the Hadoop study: its queries, logs of clusters, and ways."""

from __future__ import annotations

import tomllib
from functools import lru_cache
from pathlib import Path
from typing import Any

from experiments.core.experiment import Size
from sase.generate import Cluster, WorkloadName, hadoop_events

SOURCE = "SASE++, 2014, 6.5"
QUERIES = Path(__file__).parents[2] / "examples" / "queries" / "hadoop"
TYPES = tomllib.loads((QUERIES / "types.toml").read_text(encoding="utf-8"))
NAMES = ("Q1", "Q2", "Q3", "Q4", "Q5", "Q6")
IMPRECISE = ("Q5", "Q6")
WORKLOADS: dict[WorkloadName, str] = {
    "twitter": "Twitter",
    "worldcup_u": "WorldCup U",
    "worldcup_s": "WorldCup S",
}
SEED = 20140605


def query(name: str) -> str:
    """The text of a query of the examples."""
    return (QUERIES / f"{name.lower()}.sase").read_text(encoding="utf-8")


def inputs(name: str) -> dict[str, Any]:
    """The options with which a query reads a log."""
    return {"types": TYPES, "time": ("lo", "hi") if name in IMPRECISE else "ts"}


@lru_cache(maxsize=1)
def cluster(workload: WorkloadName, nodes: int, jobs: int) -> Cluster:
    """The log of an hour and of the jobs that started in it."""
    return hadoop_events(workload=workload, nodes=nodes, jobs=jobs, seed=SEED)


def busy_cluster(size: Size) -> Cluster:
    """Two Twitter jobs, in about ten million events at the full size."""
    return cluster("twitter", size.of(170, 10, 1), 2)
