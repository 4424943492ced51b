"""Figure 7e of SASE++ 2014: events a second of Queries 1 to 6, and the faults that they find."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from experiments.core.checks import CPU_RATE
from experiments.core.experiment import Experiment, Finding, Outcome, Plot, Point, Size, Verdict
from experiments.core.results import Results
from experiments.core.ways import Make, listed
from experiments.figures.hadoop import NAMES, SOURCE, busy_cluster, inputs, query
from sase.generate import Cluster
from sase.generate.hadoop import EVENTS_PER_NODE

WAY = "optimized"
# The paper's slowest query.
LEAST = 300_000
# The queries that find faults, and the column with the task.
FAULTS = {"Q3": "a_task_id", "Q5": "b_task_id", "Q6": "a_task_id"}


def points(size: Size) -> Iterator[Point]:
    """Each query over one log."""
    events = busy_cluster(size).table.num_rows
    for name in NAMES:
        ways = {WAY: found(name)}
        yield Point(name, ways, lambda: busy_cluster(size), events)


def found(name: str) -> Make:
    """All matches by the default plan, and which of the faults are missed or invented."""

    def make(cluster: Cluster) -> Any:
        way = listed(query(name), **inputs(name))(cluster.table)
        if name not in FAULTS:
            return way
        planted = cluster.stragglers if name == "Q3" else cluster.unbalanced

        def told(ran: Any) -> Outcome:
            outcome = way.told(ran)
            tasks = {row[FAULTS[name]] for row in ran[0].to_pylist()}
            wrong = {"missed": len(planted - tasks), "invented": len(tasks - planted)}
            more = {"planted": len(planted), **wrong}
            return outcome._replace(figures={**outcome.figures, **more})

        return way._replace(told=told)

    return make


def at_least(rate: float) -> Verdict | Any:
    """Every query has that rate; with the nodes that a core monitors."""

    required = f"each at least {rate:,.0f} events/s"

    def check(results: Results) -> Verdict:
        rates = dict(results.curve(WAY, CPU_RATE))
        if not rates:
            return Verdict(None, "too few points", required)
        told = ", ".join(
            f"{name} {each:.3g} ({each / EVENTS_PER_NODE:,.0f} nodes)"
            for name, each in rates.items()
        )
        return Verdict(min(rates.values()) >= rate, f"events/s: {told}", required)

    return check


def exact(results: Results) -> Verdict:
    """That the tasks found are those planted."""
    rows = [row for row in results.measured if row["x"] in FAULTS]
    required = "none missed, and none invented"
    if not rows:
        return Verdict(None, "too few points", required)
    told = ", ".join(
        f"{row['x']}: {row['planted']} planted, {row['missed']} missed, {row['invented']} invented"
        for row in rows
    )
    return Verdict(all(row["missed"] == row["invented"] == 0 for row in rows), told, required)


EXPERIMENT = Experiment(
    "hadoop_throughput",
    "Figure 7e: throughput of Queries 1 to 6",
    SOURCE,
    "From 300,000 events a second to over seven million, so that a server monitors up to 22,000"
    " nodes of 13.62 events a second each. (Most events are metrics that no query names.)",
    points,
    (Plot(CPU_RATE, "events/s of the processor", "query", log_y=True, bars=True),),
    (
        Finding("every query has at least 300,000 events a second", at_least(LEAST)),
        Finding("(ours) every query has at least a million", at_least(1_000_000)),
        Finding("Queries 3, 5 and 6 find the planted faults, and nothing else", exact),
    ),
    ("matches", "planted", "missed", "invented"),
)
