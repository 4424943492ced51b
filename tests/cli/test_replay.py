"""`sase replay` before Spark is up: mistakes are reported at once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

from sase.cli import spark as cli_spark
from sase.cli.main import main
from sase.planning.replay import ReplayStrategy
from tests.faults.processes import Programs
from tests.spark_here import missing

QUERY = "EVENT SEQ(A a, B b) WHERE [id] WITHIN 5"
HEAVY = pytest.mark.heavy


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    events = {"ts": [1, 2], "type": ["A", "B"], "id": [1, 1]}
    pyarrow.parquet.write_table(pa.table(events), "events.parquet")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("-q", QUERY), "give the events once"),
        (("-q", QUERY, "--events", "events.parquet", "--table", "t"), "give the events once"),
        (("--events", "events.parquet"), "there is no query"),
        (("-q", QUERY, "--events", "-"), "only  sase run  reads events from standard input"),
        (("-q", QUERY, "--events", "events.parquet", "--conf", "x"), "--conf x: give it as KEY="),
        (("-q", QUERY, "--events", "events.parquet", "--slices", "x"), "--slices x: give a number"),
        (("-q", "EVENT SEQ(A a", "--events", "events.parquet"), "error["),
        (("-q", "EVENT A a WHERE a.x = 1", "--events", "events.parquet"), "no column `x`"),
        (("-q", QUERY, "--events", "events.parquet", "--time", "when"), "no time column `when`"),
    ],
)
def test_what_is_wrong_is_said_before_spark_is_up(
    arguments: tuple[str, ...],
    told: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    assert main(["replay", *arguments]) == 2
    assert told in capsys.readouterr().err


def test_a_folder_that_is_there_is_not_written_into(capsys: pytest.CaptureFixture[str]) -> None:
    Path("found").mkdir()
    assert main(["replay", "-q", QUERY, "--events", "events.parquet", "-o", "found/"]) == 2
    assert "found/ is there already" in capsys.readouterr().err


def test_a_file_of_no_known_format(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", "-q", QUERY, "--events", "events.parquet", "-o", "found.xls"]) == 2
    assert "the suffix names the format" in capsys.readouterr().err


def test_rows_have_no_order(capsys: pytest.CaptureFixture[str]) -> None:
    for events in (["--events", "events.parquet"], ["--table", "events"]):
        assert main(["replay", "-q", QUERY, *events, "--seq", "#row"]) == 2
        error = capsys.readouterr().err
        assert "--seq '#row' is the order of rows, and the rows that Spark reads have" in error


def test_events_are_not_written_over(capsys: pytest.CaptureFixture[str]) -> None:
    Path("day").mkdir()
    Path("events.parquet").rename("day/events.parquet")
    for events, option, path in (
        ("day", "-o", "./day/events.parquet"),
        ("day/*.parquet", "--quarantine", "day/events.parquet"),
        ("day", "-o", "day/found/"),
    ):
        assert main(["replay", "-q", QUERY, "--events", events, option, path]) == 2
        assert f"{option} {path.rstrip('/')} would be" in capsys.readouterr().err


def test_the_strategies_are_those_of_the_plan() -> None:
    assert [*cli_spark.STRATEGIES] == [*ReplayStrategy]


@pytest.mark.parametrize(
    ("text", "expected"),
    [(None, None), ("7", 7), ("-3,5", [-3, 5]), ("2026-01-01T00:00:00", 1)],
)
def test_slices(text: str | None, expected: object) -> None:
    found = cli_spark.slices_of(text)
    assert (len(found) if isinstance(found, list) and expected == 1 else found) == expected


# ---------------------------------------------------------------- needs of Spark

RUN = """
import sys
from sase.cli.main import main
sys.exit(main())
"""
BLOCKED = """
import sys
class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "pyspark":
            raise ModuleNotFoundError(f"No module named {name!r}", name="pyspark")
sys.meta_path.insert(0, Blocker())
assert "pyspark" not in sys.modules
"""
OLD = "import pyspark; pyspark.__version__ = '4.0.1'"


def replay(forked: Programs, script: str, **environment: str) -> tuple[int, str]:
    """The exit status and the messages of the command behind a script."""
    arguments = ["replay", "-q", QUERY, "--events", "events.parquet"]
    done = forked.script(script + RUN, *arguments, **environment)
    assert "Traceback" not in done.err, done.err
    return done.status, done.err


def test_without_pyspark(forked: Programs) -> None:
    status, err = replay(forked, BLOCKED)
    assert status == 1
    assert err.splitlines()[-1] == (
        "sase replay: error: pyspark is not installed, which is needed for Spark:"
        " pip install 'sase[spark]'"
    )


@pytest.mark.heavy
def test_with_a_pyspark_that_is_too_old(forked: Programs) -> None:
    pytest.importorskip("pyspark")
    status, err = replay(forked, OLD)
    assert status == 1
    assert "PySpark 4.1 or later is needed, and 4.0.1 is installed: pip" in err


def java(folder: Path, script: str) -> str:
    """A program that says it is Java."""
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    program.chmod(0o755)
    return str(folder)


def test_without_java(forked: Programs) -> None:
    pytest.importorskip("pyspark")
    status, err = replay(forked, "", JAVA_HOME="", PATH="")
    assert status == 1
    assert "Spark needs Java 17 or later, and there is none: install one" in err


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("echo 'openjdk version \"11.0.20\" 2023-07-18' >&2", "is Java 11: install one"),
        pytest.param(
            "echo 'java version \"1.8.0_381\"' >&2", "is Java 8: install one", marks=HEAVY
        ),
        pytest.param("exit 3", "does not run, and Spark needs it", marks=HEAVY),
    ],
)
def test_with_a_java_that_is_too_old(
    script: str, told: str, tmp_path: Path, forked: Programs
) -> None:
    pytest.importorskip("pyspark")
    status, err = replay(forked, "", JAVA_HOME=java(tmp_path / "jdk", script))
    assert status == 1
    assert told in err


# ---------------------------------------------------------------- the whole program

ENDLESS = "EVENT SEQ(A a, B b, A c, B d, A e) WHERE [id]"


@pytest.mark.filterwarnings("error")
def test_a_spark_that_has_ended_by_itself_is_not_told_of(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Nothing more can be written to it, and the process that ended the run names the reason."""
    called = []

    def stop() -> None:
        called.append(True)
        raise ConnectionRefusedError

    cli_spark._in_own_thread(stop)
    assert called == [True]
    assert capsys.readouterr().err == ""


@pytest.mark.heavy
@pytest.mark.skipif(bool(missing()), reason=missing() or "Spark can be started")
def test_progress_is_shown_and_an_interrupt_ends_it(tmp_path: Path) -> None:
    rows = {"ts": range(20_000), "type": ["A", "B"] * 10_000, "id": [1, 1, 2, 2] * 5_000}
    pyarrow.parquet.write_table(pa.table(rows), "events.parquet")
    settings = ("--master", "local[2]", "--conf", "spark.driver.memory=1g")
    given = ("-q", ENDLESS, "--events", "events.parquet", "-o", "found.csv")
    command = [sys.executable, "-m", "sase", "replay", *settings, *given]
    terminal, its_side = os.openpty()
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    running = subprocess.Popen(command, stderr=its_side, env=environment)
    os.close(its_side)
    shown = b""
    try:
        while b" tasks of stage" not in shown:
            shown += os.read(terminal, 4096)
        running.send_signal(signal.SIGINT)
        assert running.wait(60) == 130
        with suppress(OSError):  # which is how the end of a terminal is read
            while more := os.read(terminal, 4096):
                shown += more
    finally:
        running.kill()
        os.close(terminal)
    text = shown.decode()
    assert "starting Spark at local[2]" in text
    assert "20,000 rows" in text
    assert "Traceback" not in text
    assert not list(tmp_path.glob("found.*")) + list(tmp_path.glob("sase-spark-*"))
