"""The Python of the workers of a session: it must be able to run tasks.

Spark starts workers by PYSPARK_PYTHON, as it was when the session began, and else by the `python3`
that it finds. If this is not the Python of the calling program, or if tasks run on other machines,
one task imports the modules of tasks.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakSet

import pyarrow as pa
from pyspark.sql import SparkSession

from sase.errors import SparkError
from sase.spark.session import is_connect
from sase.spark.tasks.errors import is_foreign, translated

_VERSION = re.compile(r"different version: ([\d.]+) than that in driver")
_MISSING = re.compile(r"No module named '?([\w.]+)")
_PROGRAM = re.compile(r'Cannot run program "([^"]+)"')
# Packages that Spark itself looks for; its messages name them so.
_OF_SPARK = re.compile(r"\[(?:PACKAGE_NOT_INSTALLED|UNSUPPORTED_PACKAGE_VERSION)\] (\w+)")
# The contexts, or sessions of Connect, with workers that can run tasks.
_checked = WeakSet[Any]()


def check_workers(spark: SparkSession) -> None:
    """Refuse a session with workers that cannot run tasks; looks once at each session."""
    owner: Any = spark if is_connect(spark) else spark.sparkContext
    if owner in _checked:
        return
    if not _is_this_python(spark):
        _try(spark)
    _checked.add(owner)


def _is_this_python(spark: SparkSession) -> bool:
    """Whether tasks run on this machine by the Python of this process."""
    if is_connect(spark):
        return False
    context = spark.sparkContext
    found = shutil.which(context.pythonExec)
    if found is None or not re.match(r"local(\[|$)", context.master or ""):
        return False
    # The program of a virtual environment links to another one, so the folder decides, too.
    folders = os.path.dirname(found), os.path.dirname(sys.executable)
    return os.path.samefile(found, sys.executable) and os.path.samefile(*folders)


def _try(spark: SparkSession) -> None:
    """Run a task that imports the modules of tasks."""
    try:
        with _quiet(spark):
            (row,) = spark.range(1, numPartitions=1).mapInArrow(versions, "sase string").collect()
    except Exception as problem:
        if not is_foreign(problem):
            raise
        raise SparkError(f"{_reason(problem)}: {_remedy(spark)}") from None
    if row.sase != version():
        raise SparkError(
            f"the workers of Spark have sase {row.sase}, and this is {version()}: {_remedy(spark)}"
        )


def version() -> str:
    """The version of the package."""
    found: str = sys.modules["sase"].__version__
    return found


def versions(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The version of the package in a worker; finding this function imports all parts of tasks."""
    for _ in batches:
        yield pa.record_batch({"sase": [version()]})


def _reason(problem: Exception) -> str:
    """Why a worker cannot run a task."""
    text = str(getattr(problem, "java_exception", None) or problem)
    here = ".".join(map(str, sys.version_info[:2]))
    if version := _VERSION.search(text):
        return f"the workers of Spark run Python {version[1]}, and this is Python {here}"
    if missing := _MISSING.search(text) or _OF_SPARK.search(text):
        name = missing[1].partition(".")[0].lower()
        return f"the Python of the workers of Spark has no package {name}"
    if program := _PROGRAM.search(text):
        return f"the workers of Spark find no program {program[1]}"
    return f"the workers of Spark cannot run a task ({translated(problem)})"


def _remedy(spark: SparkSession) -> str:
    """How workers get the Python of this program."""
    if is_connect(spark):
        return "start the server of Spark Connect with PYSPARK_PYTHON, a Python with sase"
    if (spark.sparkContext.master or "").startswith("local"):
        return f"set PYSPARK_PYTHON={sys.executable} before the session starts"
    return (
        "before the session starts, set PYSPARK_PYTHON to a Python of this version that has sase on"
        " all machines (docs/clusters.md)"
    )


@contextmanager
def _quiet(spark: SparkSession) -> Iterator[None]:
    """Keep a failed task out of the log, where it would be a trace of Java; its error is raised."""
    if is_connect(spark):
        yield  # the log is that of the server
        return
    context = spark.sparkContext
    jvm: Any = context._jvm  # noqa: SLF001 - PySpark sets the level of the log, and does not tell it
    level = jvm.org.apache.logging.log4j.LogManager.getRootLogger().getLevel().toString()
    # Consoles of Spark have a higher level besides, which setting a level removes.
    console = getattr(getattr(jvm.org.apache.spark.internal, "Logging$"), "MODULE$")
    threshold = console.sparkShellThresholdLevel()
    context.setLogLevel("OFF")
    try:
        yield
    finally:
        context.setLogLevel(level)
        getattr(console, "sparkShellThresholdLevel_$eq")(threshold)
