"""The requirements of Spark, a session for any machine, and the running stages of a session."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from sase.errors import SparkError, SparkMissingError

if TYPE_CHECKING:
    # The command line does not import PySpark, and gets its types from here.
    from pyspark.sql import DataFrame as DataFrame
    from pyspark.sql import SparkSession as SparkSession

# Few and small tasks, no servers, and the same time zone everywhere.
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
# The first versions with all features that are used.
PYSPARK, JAVA = (4, 1), 17
INSTALL = "pip install 'sase[spark]'"
ADVICE = (
    "install one, such as a JRE from adoptium.net or a package like openjdk-17-jre-headless, and"
    " put it on PATH or set JAVA_HOME to its folder"
)


def local_session(
    master: str = "local[*]", conf: Mapping[str, str] | None = None, log: str | None = None
) -> SparkSession:
    """Start a session on this machine; `conf` overrides the default settings.

    `master` may also be a cluster, or the address of a Connect server (`sc://…`), which has its own
    settings. The log of Spark is written to the file `log`, or else to standard error.
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
        reason = str(problem).strip().split("\n", 1)[0]
        raise SparkError(f"Spark did not start at {master}: {reason}{more}") from None


def active_session() -> SparkSession | None:
    """The active session of the calling program, or None."""
    from pyspark.sql import SparkSession

    return SparkSession.getActiveSession()


def is_connect(spark: SparkSession) -> bool:
    """Whether a session is one of Spark Connect, which has its own classes."""
    return type(spark).__module__.startswith("pyspark.sql.connect.")


def settings_for(master: str) -> dict[str, str]:
    """The default settings for a master; those for this machine only if tasks run on it."""
    if not master.startswith("local"):
        return {"spark.log.level": "ERROR", "spark.sql.session.timeZone": "UTC"}
    return LOCAL | {"spark.sql.shuffle.partitions": str(2 * (os.cpu_count() or 1))}


@contextmanager
def _errors_to(path: str | None) -> Iterator[None]:
    """Let programs that are started in this block write standard error to a file."""
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


# ---------------------------------------------------------------- requirements


def check_pyspark() -> None:
    """Refuse to run without PySpark, or with an old version."""
    try:
        import pyspark
    except ModuleNotFoundError as problem:
        raise SparkMissingError(
            f"{problem.name} is not installed, which is needed for Spark: {INSTALL}"
        ) from problem
    found = tuple(map(int, re.findall(r"\d+", pyspark.__version__)[:2]))
    if found < PYSPARK:
        needed = ".".join(map(str, PYSPARK))
        raise SparkMissingError(
            f"PySpark {needed} or later is needed, and {pyspark.__version__} is installed:"
            f" {INSTALL}"
        )


def check_java() -> None:
    """Refuse to start Spark without Java, or with an old version."""
    program = _java()
    try:
        done = subprocess.run([program, "-version"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as problem:
        raise SparkError(f"{program} does not run, and Spark needs it: {problem}") from problem
    version = java_version(done.stderr + done.stdout)
    if version is not None and version < JAVA:
        raise SparkError(
            f"Spark needs Java {JAVA} or later, and {program} is Java {version}: {ADVICE}"
        )


def _java() -> str:
    """The Java program that Spark starts: that of JAVA_HOME, or else the one on the path."""
    home = os.environ.get("JAVA_HOME")
    if home:
        program = os.path.join(home, "bin", "java")
        if shutil.which(program) is None:
            raise SparkError(
                f"Spark needs Java {JAVA} or later, and JAVA_HOME is {home}, where there is no"
                f" bin/java: {ADVICE}"
            )
        return program
    found = shutil.which("java")
    if found is None:
        raise SparkError(f"Spark needs Java {JAVA} or later, and there is none: {ADVICE}")
    return found


def java_version(text: str) -> int | None:
    """The version in the output of `java -version`, such as 17 in "17.0.2", or 8 in "1.8.0"."""
    found = re.search(r'version "(\d+)(?:\.(\d+))?', text)
    if found is None:
        return None
    first, second = int(found[1]), int(found[2] or 0)
    return second if first == 1 else first


class StageNow(NamedTuple):
    """A running stage."""

    number: int
    tasks: int
    done: int


def stages_of(spark: SparkSession) -> Callable[[], list[StageNow]]:
    """Return a function that polls the running stages of a session."""
    if is_connect(spark):
        return _of_connect(spark)
    tracker = spark.sparkContext.statusTracker()

    def now() -> list[StageNow]:
        known = ((n, tracker.getStageInfo(n)) for n in sorted(tracker.getActiveStageIds()))
        return [StageNow(n, i.numTasks, i.numCompletedTasks) for n, i in known if i is not None]

    return now


def _of_connect(spark: Any) -> Callable[[], list[StageNow]]:
    """The server reports its stages while it works."""
    latest: list[StageNow] = []

    def update(stages: Any, inflight_tasks: int, operation_id: Any, done: bool) -> None:
        latest[:] = [
            StageNow(each.stage_id, each.num_tasks, each.num_completed_tasks)
            for each in stages or ()
            if not done and each.num_completed_tasks < each.num_tasks
        ]

    spark.registerProgressHandler(update)
    return lambda: list(latest)
