"""Ctrl-C is obeyed soon in every phase of `sase run`, and leaves no file that looks whole."""

from __future__ import annotations

import contextlib
import functools
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from tests import processor_time

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs signals")
# Seconds of work; without a pause most of these runs go on for minutes.
SOON = 15
LONG = " AND ".join(f"a.v + {number} >= b.v - {number}" for number in range(40_000))
# Seconds of work after which a phase of minutes has begun, and one of the two that a file takes.
MOMENT, UNSORTED = 2.0, {"read": 0.4, "sort": 1.0}
# By phase the query, and the sign by which the program is seen to be in it.
PHASES = {
    "parse": f"EVENT SEQ(A a, B b) WHERE {LONG} WITHIN 10",
    "walk": "EVENT SEQ(A a, B b, A c, B d) WHERE a.v + b.v + c.v + d.v < 0 WITHIN 900000",
    "series": "EVENT SEQ(A a, B b, A+ c[]) WHERE a.v + b.v + c[i].v < 0 WITHIN 900000",
    "threads": "EVENT SEQ(A a, B b, A c, B d) WHERE a.v + b.v + c.v + d.v < 0 WITHIN 50000",
    "write": "EVENT SEQ(A a, B b, A c) WITHIN 900000 RETURN a.v AS v, c.v AS w",
    "read": "EVENT SEQ(A a, B b) WHERE a.v = b.v WITHIN 1",
    "sort": "EVENT SEQ(A a, B b) WHERE a.v = b.v WITHIN 1",
    "compile": "EVENT SEQ(A a, B+ b[], A c) WHERE a.v + b[i].v + c.v < 0 WITHIN 10",
}


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A file that is sorted, and a large one of text that is not."""
    folder, count = tmp_path_factory.mktemp("events"), 400_000
    table = pa.table(
        {"ts": np.arange(count), "type": ["A", "B"] * (count // 2), "v": np.arange(count) % 97}
    )
    pyarrow.parquet.write_table(table, folder / "sorted.parquet")
    shuffled = table.take(np.random.default_rng(1).permutation(count))
    pyarrow.csv.write_csv(pa.concat_tables([shuffled] * 20), folder / "unsorted.csv")
    return {"sorted": folder / "sorted.parquet", "unsorted": folder / "unsorted.csv"}


def worked(process: subprocess.Popen[str]) -> float:
    """The seconds that a program has had a processor, or where nobody tells, the time."""
    seconds = processor_time.worked(process.pid)
    return time.monotonic() if seconds is None else seconds


def reads(process: subprocess.Popen[str], file: Path) -> bool:
    """Whether a program has a file open, or where nobody tells, has worked for a second."""
    opened = Path(f"/proc/{process.pid}/fd")
    if not opened.exists():
        return process.poll() is None and worked(process) > 1
    with contextlib.suppress(OSError):  # one is closed meanwhile, or the program has ended
        return any(each.resolve() == file for each in opened.iterdir())
    return False


def wait_for_work(process: subprocess.Popen[str], seconds: float) -> None:
    """Until the program has worked for so long: a busy machine may not have begun it by then."""
    begin = worked(process)
    while process.poll() is None and worked(process) - begin < seconds:
        time.sleep(0.02)


def told_soon(process: subprocess.Popen[str]) -> str:
    """The output of the program until it ends, with a limit on its work."""
    begin = worked(process)
    while True:
        try:
            return process.communicate(timeout=1)[1]
        except subprocess.TimeoutExpired:
            if process.poll() is None and worked(process) - begin > SOON:
                raise


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("phase", "moment"),
    [("walk", 1.5), *((phase, UNSORTED.get(phase, MOMENT)) for phase in PHASES)],
)
def test_an_interrupt_is_obeyed(
    phase: str, moment: float, events: dict[str, Path], tmp_path: Path
) -> None:
    query, out = tmp_path / "query.sase", tmp_path / "found.csv"
    query.write_text(PHASES[phase])
    given = events["unsorted" if phase in UNSORTED else "sorted"]
    command = [sys.executable, "-m", "sase", "run", str(query), "--events", str(given)]
    command += ["-o", str(out), "--threads", "3" if phase == "threads" else "1"]
    # So that not all of it is held.
    command += ["--max-memory", "1GB"] if phase == "sort" else []
    compiled = {"NUMBA_CACHE_DIR": str(tmp_path / "kernels"), "SASE_COMPILE_KERNELS": "1"}
    cache = compiled if phase == "compile" else {}
    # Where the tests run in the background the signal is ignored from the start.
    heed = functools.partial(signal.signal, signal.SIGINT, signal.default_int_handler)
    process = subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, preexec_fn=heed, env=os.environ | cache
    )
    while phase in UNSORTED and process.poll() is None and not reads(process, given):
        time.sleep(0.02)
    wait_for_work(process, moment)
    assert process.poll() is None, "there was nothing left to interrupt"
    process.send_signal(signal.SIGINT)
    try:
        told = told_soon(process)
    finally:
        process.kill()
    assert process.returncode in (130, -signal.SIGINT), told
    left = {each.name for each in tmp_path.iterdir()} - {query.name, "kernels"}
    assert left in (set(), {"found.csv.partial"})
