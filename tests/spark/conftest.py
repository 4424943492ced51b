"""The one session of all tests of Spark; without Java, or without PySpark, they are left out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.spark_here import missing

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# The modules import PySpark, so they are not even read; tests/conftest.py says so.
collect_ignore_glob = ["test_*.py"] if missing() else []


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The session."""
    from sase.spark.session import local_session
    from tests.spark.known import QUICK, REPLAYS, events, local

    # Or each of Spark's processes would compile for itself the kernels that none has compiled yet.
    for query, *_ in REPLAYS.values():
        local(query, events(50))
    session = local_session("local[2]", QUICK)
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()
