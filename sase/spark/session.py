"""A local session that works on any machine, and what to say where Spark cannot run."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Few and small tasks, nothing that listens, and one time zone for all.
LOCAL = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
}


def local_session(master: str = "local[*]", conf: Mapping[str, str] | None = None) -> SparkSession:
    """A session on this machine, with the settings given over those that suit it."""
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    settings = LOCAL | {"spark.sql.shuffle.partitions": str(2 * (os.cpu_count() or 1))}
    builder = SparkSession.builder.master(master).appName("sase")
    for name, value in {**settings, **(conf or {})}.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()
