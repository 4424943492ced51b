"""Outputs that take nothing, variables that are not there, and too little memory."""

from __future__ import annotations

import os
import re
import resource
import shlex
import sys
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest

import sase
from sase.engine.columns.arrow import python_rows
from tests.faults.processes import (
    QUERY,
    Ended,
    Programs,
    ended,
    program,
    write_events,
)

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs limits of processes")

ROOT = Path(__file__).parents[2]
SCRIPT = f"{QUERY}; {QUERY}"
COMMANDS = {
    "a table": "run -q QUERY --events EVENTS",
    "CSV": "run -q QUERY --events EVENTS --format csv",
    "JSON lines": "run -q QUERY --events EVENTS --format jsonl",
    "a number": "run -q QUERY --events EVENTS --output count",
    "explain": "explain -q QUERY --events EVENTS",
    "plans": "plans -q QUERY",
    "why": "why -q QUERY --events EVENTS",
    "compare": "compare -q QUERY --events EVENTS",
    "format": "format -q QUERY",
    "generate": "generate uniform --events 5k",
    "import": f"import sigma {ROOT / 'examples' / 'guessing.yml'}",
    "completion": "completion bash",
    "check of a wrong query": "check -q WRONG",
    "check as JSON": "check -q QUERY --format json",
    "recipes": "plans",
    "a script": "run -q SCRIPT --events EVENTS",
    "a graph": "explain -q QUERY --format dot",
    "help": "--help",
    "help of a command": "run --help",
    "version": "--version",
}
FILES = {
    "-": ["check -", "format -", "explain -", "plans -", "import sigma -", "run - --events EVENTS"],
    "--events -": [
        "run -q QUERY --events -", "run -q QUERY --events - --follow", "run -q SCRIPT --events -",
        "run -q SCRIPT --events - --follow",
    ],
}  # fmt: skip
READING = [(read, each) for read, every in FILES.items() for each in every]


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_events(tmp_path_factory.mktemp("events") / "e.parquet", 2000)


def words(command: str, events: Path) -> list[str]:
    known = {"QUERY": QUERY, "EVENTS": str(events), "WRONG": "EVENT SEQ(", "SCRIPT": SCRIPT}
    return [known.get(word, word) for word in command.split()]


@pytest.mark.parametrize("name", COMMANDS)
def test_a_standard_output_that_takes_nothing(name: str, events: Path, forked: Programs) -> None:
    """A full device is one line and the status 1; a pipe that nobody reads any more is silent."""
    arguments = words(COMMANDS[name], events)
    if os.path.exists("/dev/full"):
        status, _, err = forked.run(*arguments, out="/dev/full")
        assert (status, err.splitlines()[-1]) == (
            1,
            "sase: error: [Errno 28] No space left on device",
        )
    status, _, err = forked.run(*arguments, out="")
    assert (status, [line for line in err.splitlines() if "error" in line]) == (141, [])


@pytest.mark.parametrize("name", [*COMMANDS, "replay"])
def test_a_standard_output_that_is_closed(name: str, events: Path, forked: Programs) -> None:
    command = COMMANDS.get(name, "replay -q QUERY --events EVENTS")
    status, _, err = forked.run(*words(command, events), closed=["stdout"])
    assert "there is no standard output" in err.splitlines()[-1]
    assert status in (1, 2)


# Those with messages, and one of each form of results.
@pytest.mark.parametrize(
    "name",
    ["a table", "JSON lines", "compare", "generate", "check of a wrong query", "a script", "help"],
)
def test_a_standard_error_that_is_closed(name: str, events: Path, forked: Programs) -> None:
    """Messages are not written among the results."""
    expected = forked.run(*words(COMMANDS[name], events))
    done = forked.run(*words(COMMANDS[name], events), closed=["stderr"])
    assert (done.status, done.err) == (expected.status, "")
    times = re.compile(r"[\d.]+ *m?s\b")
    assert times.sub("", done.out) == times.sub("", expected.out) != ""


@pytest.mark.parametrize(("read", "command"), READING)
def test_a_standard_input_that_is_closed(
    read: str, command: str, events: Path, forked: Programs
) -> None:
    status, out, err = forked.run(*words(command, events), closed=["stdin"])
    assert (status in (1, 2), out) == (True, "")
    assert err.splitlines()[-1].endswith("there is no standard input")


@pytest.mark.parametrize(("stream", "status"), [(">&-", 1), ("2>&-", 0), ("<&-", 0)])
def test_the_streams_that_a_shell_closes(stream: str, status: int) -> None:
    command = [*program("format", "-q", QUERY), stream]
    done = ended(["sh", "-c", f"{shlex.join(command[:-1])} {stream}"], cwd=ROOT)
    assert done.status == status
    assert ("there is no standard output" in done.err) == (status == 1)


@pytest.mark.parametrize(
    "value",
    ["file/below", *(pytest.param(each, marks=pytest.mark.heavy) for each in (None, ""))],
)
def test_variables_that_are_not_there(
    value: str | None,
    events: Path,
    forked: Programs,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Neither HOME nor TMPDIR is needed, nor need they name something that can be used.

    Not of a process that is forked, since it has the kernels, which others look for in folders."""
    monkeypatch.chdir(tmp_path)
    arguments = words(COMMANDS["CSV"], events)
    expected = forked.run(*arguments)
    assert expected.status == 0
    names = ("HOME", "TMPDIR", "XDG_CACHE_HOME", "SASE_CACHE_DIR", "USER", "LOGNAME")
    (tmp_path / "file").write_text("in the way")
    environment = {name: each for name, each in os.environ.items() if name not in names}
    if value is not None:
        environment |= dict.fromkeys(names, value and str(tmp_path / value))
    done = ended(program(*arguments), env=environment)
    assert (done.status, done.out) == (0, expected.out), done.err
    assert os.listdir() == ["file"]


def test_standard_input_that_finds_no_room(tmp_path: Path) -> None:
    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, resource.RLIM_INFINITY))

    rows = "ts,type,v\n" + "".join(f"{n},A,{n}\n" for n in range(5000))
    command = program("run", "-q", QUERY, "--events", "-", "-o", tmp_path / "out.csv")
    status, out, err = ended(
        command, input=rows, preexec_fn=limited, env=os.environ | {"TMPDIR": str(tmp_path)}
    )
    assert (status, out) == (1, "")
    assert err.splitlines()[-1].startswith(
        f"sase run: error: standard input cannot be copied to {tmp_path}/sase-"
    )
    assert err.endswith(": File too large: TMPDIR names another place\n")
    assert list(tmp_path.iterdir()) == []


def test_too_little_memory(
    forked: Programs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As by `ulimit -v`: one line says it, and no file is left."""
    monkeypatch.chdir(tmp_path)
    arguments = ["generate", "retail", "--items", "500M", "-o", "shop.parquet"]
    status, out, err = forked.run(*arguments, memory=1 << 30)
    assert (status, out) == (1, "")
    assert err.splitlines()[-1].startswith("sase: error: there is not enough memory: Unable to")
    assert os.listdir() == []


@pytest.mark.parametrize("megabytes", [100, 300])
@pytest.mark.parametrize("name", ["run", "why"])
def test_too_few_addresses_to_begin(name: str, megabytes: int, events: Path) -> None:
    """As by `ulimit -v`: our sentence is alone, and not behind messages of libraries."""
    status, out, err = limited(megabytes, name, "-q", QUERY, "--events", str(events))
    assert (status, out) == (1, "")
    (line,) = err.splitlines()
    assert line.startswith(
        f"sase {name}: error: a limit such as `ulimit -v` leaves {megabytes} MiB"
    )
    assert line.endswith("takes 640 MiB at least: allow 2,048 MiB")


def test_what_loads_no_library_needs_no_addresses() -> None:
    status, _, err = limited(60, "check", "-q", QUERY)
    assert (status, err) == (0, "1 text checked: no problems\n")


def test_a_script_is_told_before_it_loads_a_library() -> None:
    script = (
        "import resource\n"
        "resource.setrlimit(resource.RLIMIT_AS, (200 << 20, 200 << 20))\n"
        "import sase\n"
        "try:\n"
        "    sase.match('EVENT A a', [])\n"
        "except sase.BudgetError as problem:\n"
        "    print(problem)\n"
    )
    status, out, err = ended([sys.executable, "-c", script])
    assert (status, err) == (0, "")
    assert out.startswith("a limit such as `ulimit -v` leaves 200 MiB of addresses")


@pytest.mark.parametrize(
    ("before", "megabytes"),
    [
        ("numpy", 400),
        ("pyarrow", 520),
        pytest.param("numpy", 520, marks=pytest.mark.heavy),
        pytest.param("pyarrow", 400, marks=pytest.mark.heavy),
    ],
)
def test_a_script_that_has_loaded_some_is_told_as_well(before: str, megabytes: int) -> None:
    """Messages of LLVM and the linker on too few addresses are our error.

    The limit is lifted before the message is printed, since that takes memory as well."""
    script = (
        f"import resource, {before}\n"
        "most = resource.RLIM_INFINITY\n"
        "lifted = (most, most)\n"
        f"resource.setrlimit(resource.RLIMIT_AS, ({megabytes} << 20, most))\n"
        "import sase\n"
        "errors = (sase.BudgetError, MemoryError)\n"
        "try:\n"
        "    sase.match('EVENT A a', [{'ts': 1, 'type': 'A'}])\n"
        "except errors as problem:\n"
        "    resource.setrlimit(resource.RLIMIT_AS, lifted)\n"
        "    print(problem)\n"
    )
    status, out, err = ended([sys.executable, "-c", script])
    assert (status, err) == (0, "")
    assert out.startswith(f"a limit such as `ulimit -v` leaves {megabytes} MiB")


def test_too_little_memory_is_no_fault_of_a_value(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(values: object) -> pa.Array:
        raise pa.ArrowMemoryError("malloc of size 64 failed")

    monkeypatch.setattr(python_rows, "array_of", refused)
    with pytest.raises(MemoryError, match="malloc of size 64 failed"):
        sase.match("EVENT A a", [{"ts": 1, "type": "A"}])


def limited(megabytes: int, *arguments: str) -> Ended:
    """The outcome of the program in a process with a limit on addresses."""
    size = megabytes << 20
    limit = partial(resource.setrlimit, resource.RLIMIT_AS, (size, size))
    return ended(program(*arguments), preexec_fn=limit)
