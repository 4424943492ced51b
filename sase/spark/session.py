"""A local session that works on any machine, and what to say where Spark cannot run."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sase.errors import SparkError
from sase.spark.requirements import check_java

if TYPE_CHECKING:
    # The command line, which does not know PySpark, has its types from here.
    from pyspark.sql import DataFrame as DataFrame
    from pyspark.sql import SparkSession as SparkSession

# Few and small tasks, nothing that listens, and one time zone for all.
LOCAL = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.log.level": "ERROR",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
}
CONNECT = "sc://"


def local_session(
    master: str = "local[*]", conf: Mapping[str, str] | None = None, log: str | None = None
) -> SparkSession:
    """A session on this machine, with the settings given over those that suit it.

    `master` may also be a cluster's, or the address of a Connect server (`sc://…`), which has
    settings of its own. What Spark logs goes to the file `log`, else to standard error.
    """
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("sase")
    settings = dict(conf or {})
    if master.startswith(CONNECT):
        builder = builder.remote(master)
        settings = {"spark.sql.session.timeZone": "UTC", **settings}
    else:
        builder = builder.master(master)
        settings = {**settings_for(master), **settings}
        if active_session() is None:
            check_java()
    for name, value in settings.items():
        builder = builder.config(name, value)
    try:
        with _errors_to(log):
            return builder.getOrCreate()
    except PySparkException as problem:
        more = f"; its log is {log}" if log is not None else ""
        raise SparkError(f"Spark did not start at {master}: {_first_line(problem)}{more}") from None


def active_session() -> SparkSession | None:
    """The session of the program around us, if there is one."""
    from pyspark.sql import SparkSession

    return SparkSession.getActiveSession()


def settings_for(master: str) -> dict[str, str]:
    """The settings that suit a master: those of this machine only where tasks run on it."""
    if not master.startswith("local"):
        return {"spark.log.level": "ERROR", "spark.sql.session.timeZone": "UTC"}
    return LOCAL | {"spark.sql.shuffle.partitions": str(2 * (os.cpu_count() or 1))}


def _first_line(problem: Exception) -> str:
    return str(problem).strip().split("\n", 1)[0]


@contextmanager
def _errors_to(path: str | None) -> Iterator[None]:
    """Programs that are started in here write their standard error to a file."""
    if path is None:
        yield
        return
    sys.stderr.flush()
    before = os.dup(2)
    with open(path, "ab") as log:
        os.dup2(log.fileno(), 2)
    try:
        yield
    finally:
        sys.stderr.flush()
        os.dup2(before, 2)
        os.close(before)
