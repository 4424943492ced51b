"""The program in processes of its own, to which the system refuses something.

They are forked from one that has loaded the program, which takes longer than what most of them do.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet

ROOT = Path(__file__).parents[2]
QUERY = "EVENT SEQ(A a, B b) WHERE a.v < b.v WITHIN 40 RETURN a.ts AS first, b.ts AS last, b.v AS v"


class Ended(NamedTuple):
    """How a process ended, and what it said."""

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
        asked = {
            "folder": os.getcwd(), "arguments": [*map(str, arguments)], "most": most,
            "deadly": deadly, "memory": memory, "environment": environment or {}, "out": out,
            "closed": [*closed],
        }  # fmt: skip
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        print(json.dumps(asked), file=self._server.stdin, flush=True)
        done = Ended(*json.loads(self._server.stdout.readline()))
        assert "Traceback" not in done.err, done.err
        return done


@contextmanager
def programs() -> Iterator[Programs]:
    """What runs the program, until the end."""
    command = [sys.executable, str(Path(__file__).with_name("forking.py"))]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        yield Programs(server)
