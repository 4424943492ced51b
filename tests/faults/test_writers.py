"""Whatever writes a file: the end at any write leaves nothing half under its name, nor a litter."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from sase.base.files import PARTIAL, PartialFile, write_whole
from sase.cli.replay import _write_folder
from sase.engine.results.sinks import FileSink
from sase.errors import SaseError
from tests.faults.processes import QUERY, Programs, program, write_events

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs limits of processes")

EVENTS, OLD = "events.parquet", "of an earlier run"
SERIES = "event   seq(A a, B b)\n-- " + "a comment " * 400 + "\nwhere a.v < b.v within 40"
# By name the command that writes a file, and the file.
WRITERS = {
    "matches as CSV": (f"run -q QUERY --events {EVENTS} -o out.csv", "out.csv"),
    "matches as JSON lines": (f"run -q QUERY --events {EVENTS} -o out.jsonl", "out.jsonl"),
    "matches as Parquet": (f"run -q QUERY --events {EVENTS} -o out.parquet", "out.parquet"),
    "matches as Arrow": (f"run -q QUERY --events {EVENTS} -o out.arrow", "out.arrow"),
    "quarantine": ("run -q QUERY --events bad.csv --quarantine out.csv", "out.csv"),
    "a page": ("explain -q QUERY --format html -o out.html", "out.html"),
    "an explanation": ("explain -q QUERY --format json -o out.json", "out.json"),
    "statistics": (f"explain -q QUERY --events {EVENTS} --save-stats out.json", "out.json"),
    "a layout": ("format -w query.sase", "query.sase"),
    "generated events": ("generate stock --events 20k -o out.parquet", "out.parquet"),
}
# The case of every run; the others are alike.
FEW = ("matches as CSV", "matches as Parquet", "a page", "a layout")
EACH = pytest.mark.parametrize(
    "name",
    [name if name in FEW else pytest.param(name, marks=pytest.mark.slow) for name in WRITERS],
)


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def prepared(name: str) -> tuple[list[str], Path]:
    """The arguments of a command with an existing output, and that output."""
    words, out = WRITERS[name]
    write_events(Path(EVENTS))
    rows = (f"{n if n % 3 else 'none'},{'AB'[n % 2]},{n}\n" for n in range(900))
    Path("bad.csv").write_text("ts,type,v\n" + "".join(rows))
    Path(out).write_text(OLD)
    Path("query.sase").write_text(SERIES)
    return [QUERY if word == "QUERY" else word for word in words.split()], Path(out)


def left_beside(out: Path) -> set[str]:
    """The new files in the folder."""
    return {*os.listdir()} - {EVENTS, "bad.csv", "query.sase", out.name}


@pytest.mark.heavy
@EACH
def test_an_end_at_any_write(name: str, forked: Programs) -> None:
    """Of the process, as by kill −9, at the first byte, in the midst and near the end."""
    arguments, out = prepared(name)
    before = out.read_bytes()
    assert forked.run(*arguments).status == 0
    whole = out.read_bytes()
    assert whole != before
    assert left_beside(out) == set()
    for size in (0, len(whole) // 2, len(whole) - 1):
        out.write_bytes(before)
        assert forked.run(*arguments, most=size, deadly=True).status == -signal.SIGXFSZ
        assert out.read_bytes() == before
        assert left_beside(out) == {out.name + PARTIAL}
        assert Path(out.name + PARTIAL).stat().st_size <= size
    # The remains of a killed process hinder nobody.
    assert forked.run(*arguments).status == 0
    assert out.read_bytes() != before
    assert left_beside(out) == set()


@pytest.mark.heavy
@EACH
def test_a_full_disk(name: str, forked: Programs) -> None:
    """One line names it; the results so far stay as a partial file, others leave nothing."""
    arguments, out = prepared(name)
    before = out.read_bytes()
    assert forked.run(*arguments).status == 0
    whole = len(out.read_bytes())
    for size in (0, whole // 2, whole - 1):
        out.write_bytes(before)
        status, _, err = forked.run(*arguments, most=size)
        assert (status, out.read_bytes()) == (1, before), err
        assert "File too large" in err.splitlines()[-1]
        if arguments[0] == "run":
            assert left_beside(out) == {out.name + PARTIAL}
            kept = "the rows written so far are in", "the written file is not whole:"
            assert any(f"{words} {out}{PARTIAL}" in err for words in kept)
            if size == whole - 1 and out.suffix in (".parquet", ".arrow"):  # which end in a footer
                assert f"the written file is not whole: {out}{PARTIAL}" in err
        else:
            assert left_beside(out) == set()
            assert name == "generated events" or f"'{out}" in err


@pytest.mark.parametrize("suffix", ["csv", pytest.param("parquet", marks=pytest.mark.heavy)])
def test_a_run_that_is_killed(suffix: str, forked: Programs) -> None:
    """By SIGKILL, while it writes: its lock ends with it, and another run takes its place."""
    write_events(Path(EVENTS))
    out, partial = Path(f"out.{suffix}"), Path(f"out.{suffix}{PARTIAL}")
    out.write_text(OLD)
    endless = "EVENT SEQ(A a, B b, A c) WITHIN 4000 RETURN a.ts AS t"
    command = program("run", "-q", endless, "--events", EVENTS, "-o", out)
    with subprocess.Popen(command, stderr=subprocess.PIPE) as process:
        deadline = time.monotonic() + 60
        while not (partial.exists() and partial.stat().st_size > 100_000):
            assert time.monotonic() < deadline
            time.sleep(0.02)
        refused = forked.run("run", "-q", QUERY, "--events", EVENTS, "-o", out)
        size = partial.stat().st_size
        process.kill()
    assert process.returncode == -signal.SIGKILL
    assert refused.status == 1
    assert refused.err.splitlines()[-1] == (
        f"sase run: error: {partial} is being written by another run: wait for its end, or name"
        " another file"
    )
    assert size > 100_000  # so that the other one wrote nothing to it
    assert out.read_text() == OLD
    done = forked.run("run", "-q", QUERY, "--events", EVENTS, "-o", out)
    assert (done.status, partial.exists()) == (0, False), done.err
    assert out.read_bytes() != OLD.encode()


# ---------------------------------------------------------------- two writers


TABLE = pa.table({"n": [1, 2, 3]})


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet", ".arrow"])
def test_two_writers_of_one_file(suffix: str) -> None:
    """The second is refused until the first is done, however that ends."""
    path = f"out{suffix}"
    for end in (FileSink.close, FileSink.discard, FileSink.abandon):
        first = FileSink(path, TABLE.schema)
        with pytest.raises(SaseError, match=f"^{path}.partial is being written by another run"):
            FileSink(path, TABLE.schema)
        first.write_batch(TABLE.to_batches()[0])
        end(first)
        FileSink(path, TABLE.schema).discard()
    assert os.listdir() == [path]


def test_a_file_that_becomes_wider_stays_locked() -> None:
    sink = FileSink("out.parquet", pa.schema({"n": pa.null()}))
    sink.write_batch(pa.record_batch({"n": pa.nulls(1)}))
    sink.write_batch(TABLE.to_batches()[0])
    with pytest.raises(SaseError, match="is being written"):
        FileSink("out.parquet", TABLE.schema)
    sink.close()
    assert os.listdir() == ["out.parquet"]
    FileSink("out.parquet", TABLE.schema).discard()


def test_many_writers_of_one_file_take_turns() -> None:
    """Each that is not refused gives the name to its own output, and to nothing else."""
    written, found = list[bytes](), set[bytes]()

    def write(number: int) -> None:
        content = bytes([65 + number]) * 100_000
        for _ in range(50):
            try:
                write_whole("out", content)
            except SaseError:
                continue
            written.append(content)

    def watch() -> None:
        while any(thread.is_alive() for thread in threads):
            if os.path.exists("out"):
                found.add(Path("out").read_bytes())

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    watch()
    assert found
    assert found <= {*written}
    assert os.listdir() == ["out"]


def test_a_partial_file_that_its_writer_renames_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever opened it before has the file that is whole by then, and must not write to that."""
    first = PartialFile("out")
    first.file.write(b"whole")
    opened = os.open

    def late(name: str, flags: int, mode: int) -> int:
        handle = opened(name, flags, mode)
        monkeypatch.setattr(os, "open", opened)
        first.commit()
        return handle

    monkeypatch.setattr(os, "open", late)
    second = PartialFile("out")
    second.file.write(b"half")
    second.file.flush()
    assert Path("out").read_bytes() == b"whole"
    second.discard()
    assert os.listdir() == ["out"]


# ---------------------------------------------------------------- existing files


def test_permissions_and_links_stay(forked: Programs) -> None:
    Path("page.html").write_text(OLD)
    Path("page.html").chmod(0o604)
    Path("link.html").symlink_to("page.html")
    assert forked.run("explain", "-q", "EVENT A a", "--format", "html", "-o", "link.html")[0] == 0
    assert Path("link.html").is_symlink()
    assert Path("page.html").read_text().startswith("<!")
    assert Path("page.html").stat().st_mode & 0o777 == 0o604


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_device_is_written_to_and_stays(forked: Programs) -> None:
    explain = "explain", "-q", "EVENT A a", "--format", "html", "-o"
    assert forked.run(*explain, "/dev/full")[::2] == (
        1,
        "sase: error: [Errno 28] No space left on device: '/dev/full'\n",
    )
    status, out, _ = forked.run(*explain, "/dev/stdout")
    assert (status, out[:2]) == (0, "<!")
    Path("full.csv").symlink_to("/dev/full")
    os.mkfifo("pipe.csv")
    write_events(Path(EVENTS))
    for name in ("full.csv", "pipe.csv"):
        status, _, err = forked.run("run", "-q", QUERY, "--events", EVENTS, "-o", name)
        assert (status, err) == (
            2,
            f"sase run: error: -o {name}: this is a pipe or a device, which no file replaces: lead"
            " standard output to it\n",
        )
    assert {*os.listdir()} == {EVENTS, "full.csv", "pipe.csv"}


# ---------------------------------------------------------------- a folder that tasks write


class Rows:
    """As much of a DataFrame as is written to a folder, by a job that may fail."""

    def __init__(self, job: Callable[[str], None]) -> None:
        self._job = job

    write = read = sparkSession = property(lambda rows: rows)

    def schema(self, schema: object) -> Rows:
        return self

    def mode(self, mode: str) -> Rows:
        assert mode == "overwrite"
        return self

    def parquet(self, folder: str) -> Rows:
        self._job(folder)
        return self

    def count(self) -> int:
        return 3


def test_two_writers_of_a_folder() -> None:
    def job(folder: str) -> None:
        os.makedirs(folder, exist_ok=True)
        with pytest.raises(SaseError, match=r"out\.partial\.lock is being written by another run"):
            _write_folder(Rows(lambda _: None), "out/")

    assert _write_folder(Rows(job), "out/") == 3
    assert os.listdir() == ["out"]


def test_a_folder_of_a_job_that_fails() -> None:
    """Neither has it a name, nor does its partial folder or a lock stay."""

    def job(folder: str) -> None:
        os.makedirs(folder)
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="the disk is full"):
        _write_folder(Rows(job), "out/")
    assert os.listdir() == []
