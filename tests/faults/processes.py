"""The program in processes of its own, to which the system may refuse something, and scripts.

They are forked from one that has loaded the program, which takes longer than most of them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet

ROOT = Path(__file__).parents[2]
QUERY = "EVENT SEQ(A a, B b) WHERE a.v < b.v WITHIN 40 RETURN a.ts AS first, b.ts AS last, b.v AS v"


class Ended(NamedTuple):
    """How a process ended, and its output."""

    status: int
    out: str
    err: str


def program(*arguments: str | Path) -> list[str]:
    """The command line of the program."""
    return [sys.executable, "-m", "sase", *map(str, arguments)]


def ended(command: list[str], **options: Any) -> Ended:
    """Run a command to its end."""
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=120, **options
    )
    assert "Traceback" not in done.stderr, done.stderr
    return Ended(done.returncode, done.stdout, done.stderr)


def write_events(path: Path, rows: int = 4_000) -> Path:
    """A Parquet file of events, of which every second one is an A and the others are Bs."""
    numbers = range(rows)
    table = pa.table({"ts": numbers, "type": ["A", "B"] * (rows // 2), "v": numbers})
    pyarrow.parquet.write_table(table, path)
    return path


# ---------------------------------------------------------------- forked


class Running:
    """The program in a process with streams that stay open."""

    def __init__(self, programs: Programs, arguments: Sequence[str | Path]) -> None:
        self._programs = programs
        self.returncode: int | None = None
        with TemporaryDirectory() as folder:
            names = [f"{folder}/{name}" for name in ("stdin", "stdout", "stderr")]
            for name in names:
                os.mkfifo(name)
            self.pid = programs.asked(arguments=[*map(str, arguments)], pipes=names)
            self.stdin = os.fdopen(os.open(names[0], os.O_WRONLY), "w", encoding="utf-8")
            self.stdout, self.stderr = (
                os.fdopen(os.open(name, os.O_RDONLY), encoding="utf-8") for name in names[1:]
            )

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.returncode is None:
            os.kill(self.pid, number)

    def communicate(self) -> tuple[str, str]:
        """Close its input, wait for its end, and return the rest of its output."""
        with suppress(BrokenPipeError):
            self.stdin.close()
        with ThreadPoolExecutor(1) as other:
            err = other.submit(self.stderr.read)
            out = self.stdout.read()
        self.returncode = self._programs.asked(wait=self.pid)
        self.stdout.close()
        self.stderr.close()
        return out, err.result()

    def left(self) -> str:
        """Read no more of its output, wait for its end, and return its messages."""
        self.stdout.close()
        self.stdin.close()
        with self.stderr:
            err = self.stderr.read()
        self.returncode = self._programs.asked(wait=self.pid)
        return err


class Programs:
    """Runs the program in processes that are forked from one."""

    def __init__(self, server: subprocess.Popen[str]) -> None:
        self._server = server

    def run(
        self,
        *arguments: str | Path,
        most: int | None = None,
        deadly: bool = False,
        memory: int | None = None,
        environment: dict[str, str | None] | None = None,
        out: str | None = None,
        closed: Sequence[str] = (),
    ) -> Ended:
        """Run it in the folder in which we are; with `None` a variable is not there.

        No file becomes larger than `most`, or it is the end of the process where that is `deadly`;
        its memory grows by no more than `memory`. Its standard output is the file `out`, or a pipe
        that nobody reads where that is empty; of stdin, stdout and stderr some may be closed.
        """
        done = self._ended(
            arguments=[*map(str, arguments)], most=most, deadly=deadly, memory=memory,
            environment=environment or {}, out=out, closed=[*closed],
        )  # fmt: skip
        assert "Traceback" not in done.err, done.err
        return done

    def printed(self, script: str, *arguments: object) -> str:
        """Return the output of a script, which is called with arguments and must not fail."""
        done = self.script(script, *arguments)
        assert done.status == 0, done.err
        return done.out

    def script(self, script: str, *arguments: object, **environment: str | None) -> Ended:
        """Run a script with arguments; with `None` a variable of its environment is not there."""
        given = [*map(str, arguments)]
        return self._ended(script=script, arguments=given, environment=environment)

    def begun(self, *arguments: str | Path) -> Running:
        """Begin it in the folder in which we are."""
        return Running(self, arguments)

    def _ended(self, **asked: Any) -> Ended:
        return Ended(*self.asked(**asked))

    def asked(self, **asked: Any) -> Any:
        """The answer of the process that forks."""
        asked = {
            "folder": os.getcwd(), "script": None, "most": None, "deadly": False, "memory": None,
            "environment": {}, "out": None, "closed": [], "pipes": None,
        } | asked  # fmt: skip
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        print(json.dumps(asked), file=self._server.stdin, flush=True)
        return json.loads(self._server.stdout.readline())


@contextmanager
def programs() -> Iterator[Programs]:
    """Runs the program, until the end."""
    command = [sys.executable, "-m", "tests.faults.forking"]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        yield Programs(server)
