"""The commands of the section on standalone clusters, with a master and two workers here."""

from __future__ import annotations

import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import sase
from tests.spark.known import events

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "clusters.md").read_text(encoding="utf-8")
STANDALONE = PAGE.split("\n## Standalone\n")[1].split("\n## ")[0]
MASTER, ADDRESS = "org.apache.spark.deploy.master.Master", "127.0.0.1:7077"
WORKER = "org.apache.spark.deploy.worker.Worker"
# The seconds after which a step has failed; most take some.
PATIENCE = 400.0


def commands() -> list[str]:
    """The commands of the section, in their order."""
    blocks = [block.split("```")[0] for block in STANDALONE.split("```console\n")[1:]]
    return [line.removeprefix("$ ") for block in blocks for line in block.splitlines()]


class Terminal:
    """Runs commands of the page in a folder, with a free port in place of that of the page."""

    def __init__(self, folder: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as server:
            self._port = str(server.getsockname()[1])
        self._folder = folder
        (folder / "env").symlink_to(sys.prefix)
        (folder / "replay.py").write_text(STANDALONE.split("```python\n")[1].split("```")[0])
        self._environment = {
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "PWD": str(folder),
            "PYTHONPATH": str(ROOT),
            "SPARK_LOCAL_IP": "127.0.0.1",
            # Several on one machine: their pages take any port, and their files are in the folder.
            "SPARK_MASTER_WEBUI_PORT": "0",
            "SPARK_WORKER_WEBUI_PORT": "0",
        }

    def words(self, command: str) -> list[str]:
        """The words of a command, as a shell makes them."""
        text = command.replace("7077", self._port).replace("$PWD", str(self._folder))
        first, *rest = shlex.split(text)
        return [*([sys.executable, "-m", "sase"] if first == "sase" else [first]), *rest]

    def export(self, command: str) -> None:
        """Set a variable for the commands that follow."""
        name, _, value = self.words(command)[1].partition("=")
        self._environment[name] = value

    @contextmanager
    def started(self, command: str, *more: str) -> Iterator[subprocess.Popen[bytes]]:
        """A program that runs, with a log, until the end of the block."""
        first, *rest = self.words(command)
        number = len([*self._folder.glob("*.log")])
        with (self._folder / f"{number}.log").open("wb") as log:
            program = subprocess.Popen(
                [first, *rest[:1], *more, *rest[1:]], cwd=self._folder, env=self._environment,
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
        try:
            yield program
        finally:
            kill(program)

    def log(self) -> str:
        """The output of all programs."""
        return "\n".join(path.read_text("utf-8", "replace") for path in self._folder.glob("*.log"))

    def await_in(self, files: Callable[[], list[Path]], text: str, count: int) -> None:
        """Wait until files have a text so often."""
        end = time.monotonic() + PATIENCE
        while sum(each.read_text("utf-8", "replace").count(text) for each in files()) < count:
            assert time.monotonic() < end, f"{text!r} did not come:\n{self.log()[-5000:]}"
            time.sleep(0.05)


def kill(program: subprocess.Popen[bytes]) -> None:
    """Kill a program with all that it has started."""
    if program.poll() is None:
        os.killpg(program.pid, signal.SIGKILL)
    program.wait()


@pytest.mark.heavy
def test_a_worker_is_killed_while_tasks_run(tmp_path: Path) -> None:
    master, *workers, export, replay, submit = commands()
    assert MASTER in master and ADDRESS.partition(":")[2] in master
    assert [WORKER in each and ADDRESS in each for each in workers] == [True, True]
    assert export.startswith("export PYSPARK_PYTHON=")
    table = events(100_000)
    pq.write_table(table, tmp_path / "readings.parquet", row_group_size=10_000)
    query = re.search("-q '(.*?)'", replay)[1]  # type: ignore[index]
    local = sase.match(query, table)
    assert len(local) > 1_000
    terminal = Terminal(tmp_path)
    logs = [lambda: [tmp_path / "0.log"], *(lambda n=n: stderr_of(n) for n in "ab")]

    def stderr_of(name: str) -> list[Path]:
        return [*(tmp_path / name).rglob("stderr")]

    with terminal.started(master):
        terminal.await_in(logs[0], "New state: ALIVE", 1)
        with (
            terminal.started(workers[0], "--work-dir", str(tmp_path / "a")),
            terminal.started(workers[1], "--work-dir", str(tmp_path / "b")) as second,
        ):
            terminal.await_in(logs[0], "Registering worker", 2)
            terminal.export(export)
            with terminal.started(replay) as program:
                # Each executor has a task of the search, and more to come.
                terminal.await_in(logs[1], "Running task", 3)
                terminal.await_in(logs[2], "Running task", 3)
                kill(second)
                assert program.poll() is None, "the replay was over before"
                assert program.wait(PATIENCE) == 0, terminal.log()[-5000:]
            terminal.await_in(logs[0], "Removing worker", 1)
            found = pyarrow.csv.read_csv(tmp_path / "found.csv")
            rows = zip(*(found[f"{each}_ts"].to_pylist() for each in "abc"), strict=True)
            times = table["ts"].to_pylist()
            wanted = sorted(tuple(times[row] for row in each.values())
                            for each in local.rows.to_pylist())  # fmt: skip
            assert sorted(rows) == wanted
            with terminal.started(submit) as program:
                assert program.wait(PATIENCE) == 0, terminal.log()[-5000:]
    assert f"matches: {len(local)}" in terminal.log()
    assert "Exception" not in terminal.log().split("matches: ")[0].rpartition("replay.py")[2]
