"""The log of a cluster: the queries of the study find the planted faults, and nothing else."""

from __future__ import annotations

import re
import tomllib
from collections import defaultdict
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import sase
from sase.errors import SaseError
from sase.generate import Cluster, GeneratorError, WorkloadName, hadoop_events
from sase.generate.hadoop import ATTRIBUTES, WORKLOADS
from tests.seeds import draw_numbers, share

QUERIES = Path(__file__).parents[2] / "examples" / "queries" / "hadoop"
TYPES = tomllib.loads((QUERIES / "types.toml").read_text(encoding="utf-8"))
SEEDS = draw_numbers(share(4))
IMPRECISE = ("q5", "q6")


def rows(query: str, cluster: Cluster) -> list[dict[str, Any]]:
    """The results of a query of the examples."""
    text = (QUERIES / f"{query}.sase").read_text(encoding="utf-8")
    time: Any = ("lo", "hi") if query in IMPRECISE else "ts"
    return sase.match(text, cluster.table, types=TYPES, time=time).to_pylist()


def of_type(cluster: Cluster, kind: str) -> list[dict[str, Any]]:
    return cluster.table.filter(pc.equal(cluster.table["type"], kind)).to_pylist()


@pytest.fixture(scope="module", params=SEEDS)
def drawn(request: pytest.FixtureRequest) -> Cluster:
    """A cluster of drawn size and workload, with ten jobs and more at times."""
    rng = np.random.default_rng(request.param)
    hours, jobs = int(rng.integers(1, 4)), int(rng.integers(1, 13))
    workload: WorkloadName = get_args(WorkloadName)[rng.integers(3)]
    most = jobs * WORKLOADS[workload].reducers
    return hadoop_events(
        workload=workload,
        nodes=int(rng.integers(1, 4)),
        hours=hours,
        jobs=jobs,
        stragglers=int(rng.integers(1, most)),
        unbalanced=int(rng.integers(1, 6 * hours)),
        seed=request.param,
    )


@pytest.mark.random
@pytest.mark.slow
def test_query_3_finds_each_straggler_once(drawn: Cluster) -> None:
    found = [row["a_task_id"] for row in rows("q3", drawn)]
    assert sorted(found) == sorted(drawn.stragglers)


@pytest.mark.random
@pytest.mark.slow
@pytest.mark.parametrize(("query", "column"), [("q5", "b_task_id"), ("q6", "a_task_id")])
def test_queries_5_and_6_find_the_unbalanced_reducers(
    query: str, column: str, drawn: Cluster
) -> None:
    assert {row[column] for row in rows(query, drawn)} == drawn.unbalanced


@pytest.mark.random
@pytest.mark.slow
def test_the_queue_of_each_job_is_never_negative_and_ends_at_0(drawn: Cluster) -> None:
    queues = defaultdict(list)
    for row in rows("q4", drawn):
        queues[row["a_job_id"]].append(row["queued"])
    assert queues.keys() == {row["job_id"] for row in of_type(drawn, "JobStart")}
    for queue in queues.values():
        assert (min(queue), queue[-1]) == (0, 0)
        assert max(queue) > 0


@pytest.mark.random
@pytest.mark.slow
@pytest.mark.parametrize(
    ("query", "kind", "count"), [("q1", "Mapper", "mappers"), ("q2", "Reducer", "reducers")]
)
def test_queries_1_and_2_have_every_task_of_every_job(
    query: str, kind: str, count: str, drawn: Cluster
) -> None:
    tasks = defaultdict(list)
    for row in of_type(drawn, kind):
        tasks[row["job_id"]].append(row["period"])
    found = {row["a_job_id"]: (row[count], row["longest"]) for row in rows(query, drawn)}
    assert found == {job: (len(periods), max(periods)) for job, periods in tasks.items()}


@pytest.mark.parametrize("workload", WORKLOADS)
def test_a_workload_has_the_output_and_the_tasks_of_the_paper(workload: WorkloadName) -> None:
    cluster = hadoop_events(workload=workload, nodes=1, jobs=1, seed=3)
    kind = WORKLOADS[workload]
    sizes = [row["size"] for row in of_type(cluster, "DataIO") if row["job_id"] == 1]
    mapped = [size for size in sizes if size > 0]
    assert (len(mapped), sum(mapped), sum(sizes)) == (kind.mappers, kind.output, 0)
    mappers = [row["period"] for row in of_type(cluster, "Mapper") if row["job_id"] == 1]
    assert max(mappers) <= 80
    assert np.median(mappers) == pytest.approx(kind.mapper, rel=0.1)
    reducers = [row["period"] for row in of_type(cluster, "Reducer") if row["job_id"] == 1]
    assert len(reducers) == kind.reducers
    assert np.median(reducers) == pytest.approx(kind.reducer, rel=0.25)


def test_one_job_in_ten_waits_for_others() -> None:
    cluster = hadoop_events(nodes=1, jobs=20, seed=1)
    starts = {row["job_id"]: row["ts"] for row in of_type(cluster, "JobStart")}
    first: dict[int, Any] = {}
    for row in of_type(cluster, "Mapper"):
        first.setdefault(row["job_id"], row["ts"])
    waits = {job: (first[job] - starts[job]).total_seconds() for job in range(1, 21)}
    assert {job for job, wait in waits.items() if wait >= 2_300} == {10, 20}
    assert all(wait < 80 for job, wait in waits.items() if job % 10)


def test_events_of_a_type_have_its_attributes_and_times_of_their_own() -> None:
    cluster = hadoop_events(nodes=3, jobs=1, seed=2)
    times = cluster.table["ts"].cast(pa.int64()).to_numpy()
    assert (np.diff(times) > 0).all()
    assert {*cluster.table["type"].to_pylist()} == ATTRIBUTES.keys()
    seconds = (times[-1] - times[0]) / 10**6
    assert len(times) / seconds / 3 == pytest.approx(13.62, rel=0.02)
    for row in cluster.table.to_pylist():
        values = {name for name in row if row[name] is not None} - {"ts", "type", "lo", "hi"}
        assert values == {*ATTRIBUTES[row["type"]]}
        seconds = 14 if row["type"] in ("LoadStd", "Balance", "Imbalance") else 0
        assert (row["hi"], (row["hi"] - row["lo"]).total_seconds()) == (row["ts"], seconds)


def test_the_types_of_the_queries_are_those_of_the_generator() -> None:
    named = {name: [*own] for name, own in ATTRIBUTES.items() if name != "Metric"}
    assert named == TYPES


def test_a_cluster_without_faults_has_none() -> None:
    cluster = hadoop_events(nodes=1, jobs=1, stragglers=0, unbalanced=0)
    assert cluster.answers().to_pylist() == []
    assert [rows(query, cluster) for query in ("q3", "q5", "q6")] == [[], [], []]


def test_a_seed_gives_one_log_and_another_seed_another() -> None:
    first, same, other = (hadoop_events(nodes=1, jobs=1, seed=seed) for seed in (1, 1, 2))
    assert first.table.equals(same.table)
    assert first.answers().equals(same.answers())
    assert not first.table.equals(other.table)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"workload": "twiter"}, "workload is 'twiter', and should be one of 'twitter'"),
        ({"nodes": 0}, "nodes is 0, and should be at least 1"),
        ({"hours": 0}, "hours is 0, and should be at least 1"),
        ({"jobs": -1}, "jobs is -1, and should be at least 0"),
        ({"stragglers": 61}, "stragglers is 61, and should be at least 0 and at most 60"),
        ({"unbalanced": 7}, "unbalanced is 7, and should be at least 0 and at most 6"),
        ({"seed": -1}, "seed is -1, and should be at least 0"),
        ({"type_layout": "int64"}, "type_layout is 'int64', and should be one of"),
    ],
)
def test_a_log_that_cannot_be_made_is_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(GeneratorError, match=re.escape(message)) as raised:
        hadoop_events(**wrong)
    assert isinstance(raised.value, SaseError)
