"""A process that loads the program, and forks one that runs it, or a script, for each line.

It runs some commands first, so that kernels, the grammar and the registry of errors are loaded once
and not by each process.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import signal
import sys
from contextlib import redirect_stderr, redirect_stdout
from importlib import import_module
from io import StringIO
from pathlib import Path
from pkgutil import walk_packages
from tempfile import TemporaryDirectory
from typing import Any, NoReturn

import pyarrow.csv
import pyarrow.dataset
import pyarrow.parquet

import sase.api
import sase.cli
import sase.diagnostics
import sase.engine
import sase.generate
import sase.planning
from sase.cli.main import main
from tests.faults.processes import QUERY, write_events

# The seconds after which a process has ended, or it is ended.
MOST_SECONDS = 300
# Modules that are loaded here need not be loaded by each, nor do they count in the memory that each
# may take: whole packages, but none that load Spark or need an extra.
PACKAGES = sase.api, sase.cli, sase.diagnostics, sase.engine, sase.generate, sase.planning
OF_EXTRAS = {"sase.cli.shell.prompt"}
LOADED = (
    (pyarrow.csv, pyarrow.dataset, pyarrow.parquet),
    tuple(
        import_module(module.name)
        for package in PACKAGES
        for module in walk_packages(package.__path__, f"{package.__name__}.")
        if module.name not in OF_EXTRAS
    ),
)

# Commands that load modules and kernels of others, too: of a text, and of a text and events.
OF_TEXTS = "check", "format", "plans"
OF_EVENTS = "run", "explain", "why", "compare"
ENTRIES = "-q", QUERY


def load() -> None:
    """Run commands of every kind on few events, and say nothing of them."""
    with TemporaryDirectory() as folder, redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        events = str(write_events(Path(folder) / "e.parquet", 40))
        commands = [[name, *ENTRIES] for name in OF_TEXTS]
        commands += [[name, *ENTRIES, "--events", events] for name in OF_EVENTS]
        commands += [["run", "-q", f"{QUERY}; {QUERY}", "--events", events]]
        for command in commands:
            if main(command):
                raise RuntimeError(f"{command[0]} has failed")
    gc.collect()
    gc.freeze()


def limit(asked: dict[str, Any]) -> None:
    """Have the system refuse the given resources to this process."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if asked["most"] is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (asked["most"], resource.RLIM_INFINITY))
    if asked["deadly"]:  # as it is by default, and not where Python runs
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    if asked["memory"] is not None:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        size = pages * resource.getpagesize() + asked["memory"]
        resource.setrlimit(resource.RLIMIT_AS, (size, resource.RLIM_INFINITY))


def lead_output(name: str) -> None:
    """Have standard output be a file, or a pipe that nobody reads."""
    if name:
        target = os.open(name, os.O_WRONLY)
    else:
        reading, target = os.pipe()
        os.close(reading)
    os.dup2(target, 1)
    os.close(target)


def close(names: list[str]) -> None:
    """Have no such streams, as Python has where it was begun without them."""
    for name in names:
        os.close(("stdin", "stdout", "stderr").index(name))
        setattr(sys, name, None)


def run(script: str | None, arguments: list[str]) -> int:
    """Run the program, or a script as Python runs it behind `-c`; the exit status."""
    if script is None:
        return main(arguments)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    sys.argv = ["-c", *arguments]
    exec(compile(script, "<string>", "exec"), {"__name__": "__main__"})
    sys.stdout.flush()
    return 0


def become(asked: dict[str, Any]) -> int:
    """Run the program; its exit status."""
    os.chdir(asked["folder"])
    for name, value in asked["environment"].items():
        os.environ.pop(name, None)
        if value is not None:
            os.environ[name] = value
    limit(asked)
    # Programs that a shell starts in the background would not heed it, nor do their children.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if asked["out"] is not None:
        lead_output(asked["out"])
    close(asked["closed"])
    signal.alarm(MOST_SECONDS)
    try:
        status = run(asked["script"], asked["arguments"])
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 1
    if sys.stderr is not None:
        sys.stderr.flush()
    return status


def read_both(pipes: list[int]) -> list[str]:
    """The bytes of two pipes, of which the second has few."""
    read = []
    for pipe in pipes:
        with open(pipe, encoding="utf-8") as file:
            read.append(file.read())
    return read


def end_as(asked: dict[str, Any]) -> NoReturn:
    """Run the program, and end."""
    try:
        os._exit(become(asked))
    finally:  # of an exception, which is as it would be
        sys.excepthook(*sys.exc_info())
        os._exit(1)


def begun(asked: dict[str, Any]) -> int:
    """Begin the program with named pipes as its streams, and return its process."""
    child = os.fork()
    if not child:
        for number, name in enumerate(asked["pipes"]):
            end = os.open(name, os.O_WRONLY if number else os.O_RDONLY)
            os.dup2(end, number)
            os.close(end)
        sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
        end_as(asked)
    return child


def status_of(child: int) -> int:
    """How a process has ended."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def forked(asked: dict[str, Any]) -> tuple[int, str, str]:
    """Run the program in a process of its own."""
    pipes = [os.pipe(), os.pipe()]
    child = os.fork()
    if not child:
        for number, (_, writing) in enumerate(pipes, 1):
            os.dup2(writing, number)
        os.closerange(3, pipes[-1][-1] + 1)
        end_as(asked)
    for _, writing in pipes:
        os.close(writing)
    out, err = read_both([reading for reading, _ in pipes])
    return status_of(child), out, err


def done(asked: dict[str, Any]) -> Any:
    """Do the work of a line: run a process to its end, begin one, or wait for the end of one."""
    if "wait" in asked:
        return status_of(asked["wait"])
    return begun(asked) if asked["pipes"] else forked(asked)


if __name__ == "__main__":
    load()
    for line in sys.stdin:
        print(json.dumps(done(json.loads(line))), flush=True)
