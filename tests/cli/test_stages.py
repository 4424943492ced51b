"""The line that shows how far Spark has come."""

from __future__ import annotations

import time

import pytest

pytest.importorskip("pyspark")

from sase.cli.messages import WIDTH, SparkProgress
from sase.spark.session import StageNow, stages_of


class Info:
    numTasks, numCompletedTasks = 8, 6


class Tracker:
    def getActiveStageIds(self) -> list[int]:
        return [5, 3, 4]

    def getStageInfo(self, number: int) -> Info | None:
        return None if number == 4 else Info()  # it has ended meanwhile


class Classic:
    """The requested part of a session."""

    @property
    def sparkContext(self) -> Classic:
        return self

    def statusTracker(self) -> Tracker:
        return Tracker()


class Connect:
    __module__ = "pyspark.sql.connect.session"  # which distinguishes a session from a classic one

    def registerProgressHandler(self, handler: object) -> None:
        self.handler = handler


def test_stages_of_a_session() -> None:
    assert stages_of(Classic())() == [StageNow(3, 8, 6), StageNow(5, 8, 6)]


def test_stages_of_connect() -> None:
    from pyspark.sql.connect.shell.progress import StageInfo

    spark = Connect()
    now = stages_of(spark)
    assert now() == []
    outcome = [StageInfo(1, 4, 4, 0, True), StageInfo(2, 10, 3, 0, False)]
    spark.handler(stages=outcome, inflight_tasks=2, operation_id="x", done=False)
    assert now() == [StageNow(2, 10, 3)]
    spark.handler(stages=outcome, inflight_tasks=0, operation_id="x", done=True)
    assert now() == []


def test_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    stages = SparkProgress(Classic(), 1_000_000)
    stages.matches = 1234
    monkeypatch.setattr(time, "monotonic", lambda: stages._begin + 7)
    bar = "█" * (WIDTH * 3 // 4) + "░" * (WIDTH // 4)
    assert (
        stages.line() == f"{bar} 12 of 16 tasks of stages 3, 5, 1,000,000 rows, 1,234 matches, 7 s"
    )


def test_the_line_between_stages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Tracker, "getActiveStageIds", lambda self: [])
    assert "░ no stage runs, 0 s" in SparkProgress(Classic(), None).line()
