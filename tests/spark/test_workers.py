"""Workers of another Python: an error at once, in one sentence, and with the remedy."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from unittest.mock import Mock

import pytest
from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession
from pyspark.worker_util import check_python_version

import sase
from sase import spark as on_spark
from sase.errors import PlanError, SparkError
from sase.spark import workers
from sase.spark.workers import check_workers
from tests.spark.known import BY_KEY, events, frame, local
from tests.spark.scripts import run_script

HERE = ".".join(map(str, sys.version_info[:2]))


@pytest.mark.heavy
def test_workers_of_another_python_are_refused_at_once(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "env"], check=True)
    empty, missing = tmp_path / "env" / "bin" / "python", tmp_path / "none"
    *refused, taken = run_script("other_pythons", tmp_path, str(empty), str(missing))["outcomes"]
    remedy = f": set PYSPARK_PYTHON={sys.executable} before the session starts"
    assert taken == []
    for errors, reason in zip(
        refused,
        [
            "the Python of the workers of Spark has no package ",
            "the workers of Spark find no program ",
        ],
        strict=True,
    ):
        assert len(errors) == 4
        assert all(each.startswith(reason) and each.endswith(remedy) for each in errors)
    assert f"{missing}" in refused[1][0]


def test_another_minor_version_is_named() -> None:
    with pytest.raises(PySparkRuntimeError) as raised:
        check_python_version("3.99")
    # The worker compares with the version that the driver has sent.
    reason = workers._reason(raised.value)
    assert reason == f"the workers of Spark run Python {HERE}, and this is Python {HERE}"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            "ModuleNotFoundError: No module named 'sase.spark'\n\n\tat org.X(X.java:1)",
            "the Python of the workers of Spark has no package sase",
        ),
        (
            "pyspark.errors.PySparkImportError: [PACKAGE_NOT_INSTALLED] PyArrow >= 18 must be",
            "the Python of the workers of Spark has no package pyarrow",
        ),
        (
            'java.io.IOException: Cannot run program "./environment/bin/python": error=2, No such',
            "the workers of Spark find no program ./environment/bin/python",
        ),
        (
            "org.apache.spark.SparkException: disk full\n\tat org.X(X.java:1)",
            "the workers of Spark cannot run a task (Spark gave up: disk full)",
        ),
    ],
)
def test_reasons_in_the_words_of_spark(text: str, reason: str) -> None:
    assert workers._reason(PySparkRuntimeError(text)) == reason


@pytest.mark.slow
def test_a_session_is_looked_at_once(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "_is_this_python", lambda spark: False)
    monkeypatch.setattr(workers, "_checked", set())
    tried = Mock(side_effect=workers._try)
    monkeypatch.setattr(workers, "_try", tried)
    check_workers(spark)
    check_workers(spark.newSession())
    assert tried.call_count == 1


@pytest.mark.slow
def test_another_version_of_the_package(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = sase.__version__
    monkeypatch.setattr(sase, "__version__", "99.0.0")
    with pytest.raises(SparkError, match=f"have sase {there}, and this is 99.0.0: set PYSPARK_PY"):
        workers._try(spark)


def test_the_remedy_of_a_cluster_is_a_path_on_its_machines() -> None:
    session = Mock(sparkContext=Mock(master="spark://there:7077"))
    assert "on all machines (docs/clusters.md)" in workers._remedy(session)


# ---------------------------------------------------------------- progress, and names


@pytest.mark.slow
def test_progress_ends_with_all_tasks(spark: SparkSession) -> None:
    calls: list[tuple[int, int]] = []
    events_of_spark = frame(spark, events())
    total = on_spark.match(
        BY_KEY, events_of_spark, seq="seq", output="count",
        progress=lambda done, total: calls.append((done, total)),
    )  # fmt: skip
    assert total == local(BY_KEY).total()
    found = on_spark.match(BY_KEY, events_of_spark, seq="seq")
    with on_spark.progress(spark, lambda done, total: calls.append((done, total))):
        # Long enough to be seen.
        found.mapInArrow(slow, found.schema).collect()
    assert calls and calls[-1][0] == calls[-1][1] > 0
    assert all(0 <= done <= total for done, total in calls)
    count = len(calls)
    with on_spark.progress(spark, lambda done, total: calls.append((done, total))):
        pass
    assert len(calls) == count


def slow(batches):
    """The same rows, after a while."""
    import time

    time.sleep(1)
    yield from batches


@pytest.mark.slow
def test_an_error_of_the_function_ends_the_block(spark: SparkSession) -> None:
    def fails(done: int, total: int) -> None:
        raise ValueError("no more")

    rows = spark.range(2, numPartitions=2).mapInArrow(slow, "id long")
    with pytest.raises(ValueError, match="no more"), on_spark.progress(spark, fails):
        rows.collect()


@pytest.mark.slow
def test_progress_is_refused_where_nothing_runs(spark: SparkSession) -> None:
    df = frame(spark, events(9))
    with pytest.raises(PlanError, match=r"with sase\.spark\.progress\(spark, …\):"):
        on_spark.match(BY_KEY, df, seq="seq", progress=print)  # type: ignore[call-overload]
    with pytest.raises(PlanError, match="progress=7: give a function of the tasks done"):
        on_spark.match(BY_KEY, df, seq="seq", output="count", progress=7)
    with pytest.raises(PlanError, match="progress='x'"), on_spark.progress(spark, "x"):  # type: ignore[arg-type]
        pass


def test_only_public_names_are_shown() -> None:
    assert dir(on_spark) == sorted(on_spark.__all__)
