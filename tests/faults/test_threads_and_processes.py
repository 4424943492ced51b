"""The promises of docs/engine.md on threads, tasks, processes, signals and lost inputs."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import sase
from sase.base.limits import heeding
from sase.cli.main import main
from sase.engine.kernels.jit.compiler import COMPILING
from sase.errors import SaseError
from tests.engine.operators.plans import plan_of, stream, told
from tests.engine.pipeline.test_threads import Paused
from tests.faults.processes import ROOT, write_events
from tests.user_aggregates import added_here

EVENTS = stream()
posix = pytest.mark.skipif(os.name != "posix", reason="needs signals and fork")


# ---------------------------------------------------------------- processes


@posix
@pytest.mark.parametrize(
    "method", ["fork", pytest.param("spawn", marks=pytest.mark.heavy),
               pytest.param("forkserver", marks=pytest.mark.heavy)]
)  # fmt: skip
def test_processes_that_are_started_after_use(method: str) -> None:
    """They match, by threads as well, as their parent does; and it continues undisturbed."""
    command = [sys.executable, str(ROOT / "tests/faults/after_use.py"), method]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    outcome = json.loads(done.stdout)
    here = outcome.pop("here")
    assert here[0] > 1000
    assert here == [here[0]] * 3
    assert outcome.pop("there") == [here] * 3
    assert {*outcome.values()} == {here[0]}
    assert len(outcome) == (3 if method == "fork" else 2)


@posix
def test_a_fork_while_another_thread_pushes() -> None:
    """The child's copy of that matcher is none to use, and says so; its own ones are."""
    plan, paused = plan_of("a middle", "optimized"), Paused()
    expected = len(plan.run(EVENTS))
    matcher = plan.open()
    with ThreadPoolExecutor(1) as other:
        working = other.submit(matcher.push, paused)
        assert paused.is_asked.wait(60)
        child = os.fork()
        if not child:
            status = 1
            try:
                with pytest.raises(SaseError, match="while another call"):
                    matcher.push(EVENTS)
                own = plan.open()
                status = len(own.push(EVENTS)) + len(own.finish()) != expected
            finally:
                os._exit(status)
        paused.may_go.set()
        found = len(working.result()) + len(matcher.finish())
    assert found == expected
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def in_a_child(work: Callable[[], bool], seconds: int = 20) -> int:
    """The exit status of a forked process: 0 if the work is right, -SIGALRM where it hangs."""
    child = os.fork()
    if not child:
        status = 2
        try:
            signal.alarm(seconds)
            status = not work()
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def forked_amid(query: str, expected: list[Any], step: int) -> tuple[int, bool]:
    """Fork while a thread is at a step of a run of a query; the outcome of the child."""
    stands, may_go, steps = Event(), Event(), list[str]()

    def ask(where: str) -> None:
        steps.append(where)
        if len(steps) == step:
            stands.set()
            may_go.wait(60)

    def run() -> list[Any]:
        with heeding(ask):
            return told(sase.match(query, EVENTS))

    worker = in_a_thread(run)
    is_amid = wait_for(stands, worker)
    status = in_a_child(lambda: told(sase.match(query, EVENTS)) == expected)
    may_go.set()
    assert worker.result(60) == expected
    return status, is_amid


def wait_for(stands: Event, worker: Future[Any]) -> bool:
    """Wait for an event, or the end of a thread; whether it was the event."""
    worker.add_done_callback(lambda done: stands.set())
    assert stands.wait(60)
    return not worker.done()


@posix
@pytest.mark.parametrize(
    "query",
    [
        "EVENT SEQ(A a, B b, C c) WHERE [id] AND a.v < b.v WITHIN 30 RETURN a.v",
        "EVENT SEQ(A a, B+ b[], C c) WHERE skip_till_next_match { [id] } WITHIN 30",
    ],
)
def test_forks_amid_a_query_of_another_thread(query: str) -> None:
    """At steps of reading, planning and searching; the child runs the same query to its end."""
    expected, step, ended = told(sase.match(query, EVENTS)), 1, dict[int, int]()
    assert expected
    is_amid = True
    while is_amid:
        ended[step], is_amid = forked_amid(query, expected, step)
        step += 17
    assert len(ended) > 5
    assert {*ended.values()} == {0}


@posix
@pytest.mark.parametrize("count", [8, pytest.param(60, marks=pytest.mark.heavy)])
def test_forks_while_another_thread_runs_queries(count: int) -> None:
    """Wherever it is."""
    query = "EVENT SEQ(A a, !(N n), B b) WHERE [id] AND a.v < b.v WITHIN 30 RETURN a.v"
    expected, stop = told(sase.match(query, EVENTS)), Event()

    def work() -> bool:
        return told(sase.match(query, EVENTS)) == expected

    def works() -> None:
        while not stop.is_set():
            assert work()

    worker = in_a_thread(works)
    try:
        assert [in_a_child(work) for _ in range(count)] == [0] * count
    finally:
        stop.set()
        worker.result(60)


@posix
def test_a_fork_while_another_thread_compiles() -> None:
    """It waits until that is done: a half-compiled kernel is none to go on with."""
    query = "EVENT SEQ(A a, B+ b[]) WHERE skip_till_next_match { [id] } RETURN %s(b[].v) AS v"
    compiles = Event()

    def ask(where: str) -> None:
        if where == COMPILING and not compiles.is_set():
            compiles.set()
            time.sleep(0.3)  # for the other thread to fork meanwhile

    def run(name: str) -> bool:
        with heeding(ask):
            return len(sase.match(query % name, EVENTS)) > 0

    with added_here():
        for name in ("one", "another"):
            sase.aggregate(f"forked_{name}", 0.0, lambda state, value: state + value)
        worker = in_a_thread(lambda: run("forked_one"))
        assert wait_for(compiles, worker)
        assert in_a_child(lambda: run("forked_another") and gc.isenabled(), 60) == 0
        assert worker.result(60)


@posix
def test_a_fork_amid_matches_that_threads_search() -> None:
    """There are none of these threads in the child, which says so; it may begin anew."""
    rows = 60_000
    events = pa.table({"ts": np.arange(rows), "type": ["A", "B"] * (rows // 2)})
    plan = sase.compile("EVENT SEQ(A a, B b) WITHIN 200", events)
    matches = plan.run(events, threads=2)
    _, batches = matches.to_batches()
    first = len(next(batches))

    def refused() -> bool:
        with pytest.raises(SaseError, match="of the process that was forked"):
            list(batches)
        return len(plan.run(events, threads=2)) == expected

    expected = len(plan.run(events, threads=1))
    assert in_a_child(refused) == 0
    assert first + sum(map(len, batches)) == expected


# ---------------------------------------------------------------- asyncio


def test_tasks_run_a_plan_at_once() -> None:
    plan = plan_of("a window", "optimized")
    expected = told(plan.run(EVENTS))

    async def pushed() -> list[Any]:
        """A matcher of the task's own, which other tasks come between the pushes of."""
        matcher, found = plan.open(), list[Any]()
        for at in range(0, 50, 10):
            found += told(await asyncio.to_thread(matcher.push, EVENTS.slice(at, 10)))
        return found + told(await asyncio.to_thread(matcher.finish))

    async def run() -> list[Any]:
        return told(await asyncio.to_thread(plan.run, EVENTS))

    async def all_of_them() -> list[Any]:
        return await asyncio.gather(*(task() for _ in range(4) for task in (run, pushed)))

    for found in asyncio.run(all_of_them()):
        assert sorted(found, key=repr) == sorted(expected, key=repr) != []


def test_tasks_that_push_to_one_matcher_at_once() -> None:
    """The one that works continues, even if nobody waits for it; the others are refused."""
    plan, paused = plan_of("a middle", "optimized"), Paused()
    matcher = plan.open()
    done = Event()

    def push() -> None:
        found.extend(told(matcher.push(paused)))
        done.set()

    async def tasks() -> None:
        working = asyncio.create_task(asyncio.to_thread(push))
        while not paused.is_asked.is_set():
            await asyncio.sleep(0.01)
        with pytest.raises(SaseError, match="while another call to this matcher works"):
            await asyncio.to_thread(matcher.push, EVENTS)
        working.cancel()
        with pytest.raises(asyncio.CancelledError):
            await working
        with pytest.raises(SaseError, match="while another call to this matcher works"):
            matcher.push(EVENTS)
        paused.may_go.set()

    found = list[Any]()
    asyncio.run(tasks())
    assert done.wait(60)
    assert [*found, *told(matcher.finish())] == told(plan.run(EVENTS)) != []


# ---------------------------------------------------------------- signals


def in_a_thread(work: Callable[[], Any]) -> Future[Any]:
    """The result of some work in a thread."""
    outcome = Future[Any]()

    def run() -> None:
        try:
            outcome.set_result(work())
        except BaseException as problem:
            outcome.set_exception(problem)

    threading.Thread(target=run, daemon=True).start()
    return outcome


@posix
def test_an_interrupt_is_the_main_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in other threads comes to its end meanwhile."""
    plan = plan_of("a middle", "optimized")
    expected, stop, runs = told(plan.run(EVENTS)), Event(), list[bool]()

    def work() -> None:
        while not stop.is_set():
            runs.append(told(plan.run(EVENTS)) == expected)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    worker = in_a_thread(work)
    try:
        for number in range(20):
            while len(runs) <= number:
                time.sleep(0.001)
            with pytest.raises(KeyboardInterrupt):
                os.kill(os.getpid(), signal.SIGINT)
                time.sleep(60)
        assert not worker.done()
    finally:
        stop.set()
        worker.result(60)
        signal.signal(signal.SIGINT, before)
    assert len(runs) > 20
    assert all(runs)


@posix
def test_a_handler_that_calls_what_it_has_interrupted() -> None:
    """It is refused, as another thread would be."""
    plan = plan_of("a middle", "optimized")
    matcher, caught = plan.open(), list[str]()

    def handle(number: int, frame: object) -> None:
        try:
            matcher.advance(10**6)
        except SaseError as problem:
            caught.append(str(problem))

    class Signalling(Paused):
        def batches(self) -> Any:
            os.kill(os.getpid(), signal.SIGUSR1)
            yield from EVENTS.to_batches()

    before = signal.signal(signal.SIGUSR1, handle)
    try:
        found = told(matcher.push(Signalling()))
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert len(caught) == 1
    assert caught[0].startswith("advance() while another call to this matcher works")
    assert [*found, *told(matcher.finish())] == told(plan.run(EVENTS))


@pytest.mark.filterwarnings("ignore::sase.errors.BudgetWarning")
def test_a_limit_of_time_ends_a_run_in_any_thread() -> None:
    rows = 200_000
    events = pa.table({"ts": np.arange(rows), "type": ["A", "B"] * (rows // 2)})
    endless = "EVENT SEQ(A a, B b, A c, B d) WHERE a.ts + b.ts + c.ts + d.ts < 0 WITHIN 200000"
    worker = in_a_thread(lambda: len(sase.match(endless, events, timeout=0.2)))
    with pytest.raises(sase.TimeLimitError):
        worker.result(60)


def test_the_program_in_another_thread(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where no signal arrives, so that it takes none."""
    events = write_events(tmp_path / "e.parquet", 100)
    out = tmp_path / "out.csv"
    before = signal.getsignal(signal.SIGTERM)
    run = ["run", "-q", "EVENT SEQ(A a, B b) WITHIN 2 RETURN b.v", "--events", str(events)]
    assert in_a_thread(lambda: main([*run, "-o", str(out)])).result(100) == 0
    assert len(out.read_text().splitlines()) == 51
    assert signal.getsignal(signal.SIGTERM) == before


# ---------------------------------------------------------------- inputs that go


def as_reader(table: pa.Table) -> Any:
    return table.to_reader(7)


def as_a_stream_of_another(table: pa.Table) -> Any:
    """By Arrow's C interface: its memory is given back when nobody holds it."""
    return pa.RecordBatchReader.from_stream(table.to_reader(7))


def as_frame(table: pa.Table) -> Any:
    return table.to_pandas()


def as_dicts(table: pa.Table) -> Any:
    return table.to_pylist()


FORMS = {each.__name__: each for each in (as_reader, as_a_stream_of_another, as_frame, as_dicts)}


@pytest.mark.parametrize("form", [*FORMS, "as_buffers"])
def test_matches_are_read_when_the_events_are_gone(form: str) -> None:
    """And their memory, if nobody else holds it, has been used for something else."""
    gc.freeze()  # garbage of other tests is not looked for
    plan = plan_of("a window", "optimized")
    expected = told(plan.run(EVENTS))
    if form == "as_buffers":
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, EVENTS.schema) as writer:
            writer.write_table(EVENTS)
        buffer = sink.getvalue()
        events = pa.ipc.open_stream(buffer).read_all()
        del sink, buffer
    else:
        events = FORMS[form](stream())
    matches, matcher = plan.run(events), plan.open()
    if isinstance(events, pa.RecordBatchReader):
        events = FORMS[form](stream())  # the run has taken all of the other one
    pushed = matcher.push(events)
    if hasattr(events, "close"):
        events.close()
    del events
    gc.collect()
    others = [np.full(1 << 12, 0x5A5A5A5A5A5A5A5A) for _ in range(200)]
    assert told(matches) == expected != []
    assert told(pushed) + told(matcher.finish()) == expected
    assert len(others) == 200


@pytest.mark.parametrize("suffix", ["parquet", "csv", "arrow"])
def test_matches_are_read_when_the_file_is_gone(suffix: str, tmp_path: Path) -> None:
    """Or is another one by then."""
    path, table = tmp_path / f"e.{suffix}", EVENTS.select(["ts", "type", "id", "v"])

    def write(events: pa.Table) -> None:
        if suffix == "parquet":
            pyarrow.parquet.write_table(events, path)
        elif suffix == "csv":
            pyarrow.csv.write_csv(events, path)
        else:
            with pa.ipc.new_file(path, events.schema) as writer:
                writer.write_table(events)

    query = "EVENT SEQ(A a, B b, C c) WITHIN 9"
    write(table)
    expected = told(sase.match(query, path))
    assert expected
    matches = sase.match(query, path)
    write(table.slice(30))
    others = sase.match(query, path)
    path.unlink()
    assert told(matches) == expected
    assert 0 < len(others) < len(expected)
