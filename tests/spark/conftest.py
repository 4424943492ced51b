"""The one session of all tests of Spark; without Java, or without PySpark, they are left out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from tests.spark_here import missing

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# The modules import PySpark, so they are not even read; tests/conftest.py says so.
collect_ignore_glob = ["test_*.py"] if missing() else []
# The session, if it has started, and its settings then.
_started: list[tuple[SparkSession, dict[str, str]]] = []


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The session."""
    from sase.spark.session import local_session
    from tests.spark.known import QUICK, REPLAYS, events, local

    # Or each of Spark's processes would compile for itself the kernels that none has compiled yet.
    for query, *_ in REPLAYS.values():
        local(query, events(50))
    _keep_packages()
    session = local_session("local[2]", QUICK)
    session.sparkContext.setLogLevel("OFF")
    _started.append((session, _settings(session)))
    yield session
    _started.clear()
    session.stop()


@pytest.fixture(scope="module", autouse=True)
def settings_as_they_were() -> Iterator[None]:
    """Settings of the session by the tests of a file are gone for those of the next one."""
    yield
    for session, before in _started:
        after = _settings(session)
        changed = [name for name in before | after if before.get(name) != after.get(name)]
        for name in filter(session.conf.isModifiable, changed):
            if name in before:
                session.conf.set(name, before[name])
            else:
                session.conf.unset(name)


def _settings(session: SparkSession) -> dict[str, str]:
    return {row.key: row.value for row in session.sql("SET").collect()}


def _keep_packages() -> None:
    """Look up each package and class of Java once: every time takes a search of all archives."""
    from py4j.java_gateway import JavaClass, JavaPackage, JVMView

    for kind in (JVMView, JavaPackage):

        def kept(self: Any, name: str, look_up: Any = kind.__getattr__) -> Any:
            found = look_up(self, name)
            if isinstance(found, JavaClass | JavaPackage):
                self.__dict__[name] = found
            return found

        kind.__getattr__ = kept
