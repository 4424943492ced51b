"""A process that loads the program, and forks one that runs it for each line of standard input."""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
from pathlib import Path
from typing import Any

import pyarrow.csv
import pyarrow.dataset
import pyarrow.parquet

import sase
from sase.cli.main import main

# What is loaded here need not be loaded by each, nor is it of the memory that each may take.
LOADED = pyarrow.csv, pyarrow.dataset, pyarrow.parquet, sase.match, sase.explain, sase.Matcher


def limit(asked: dict[str, Any]) -> None:
    """Have the system refuse what it is to refuse to this process."""
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


def become(asked: dict[str, Any]) -> int:
    """Run the program; its exit status."""
    os.chdir(asked["folder"])
    for name, value in asked["environment"].items():
        os.environ.pop(name, None)
        if value is not None:
            os.environ[name] = value
    limit(asked)
    if asked["out"] is not None:
        lead_output(asked["out"])
    close(asked["closed"])
    try:
        status = main(asked["arguments"])
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 1
    if sys.stderr is not None:
        sys.stderr.flush()
    return status


def read_both(pipes: list[int]) -> list[str]:
    """What comes by two pipes, of which little comes by the second."""
    read = []
    for pipe in pipes:
        with open(pipe, encoding="utf-8") as file:
            read.append(file.read())
    return read


def forked(asked: dict[str, Any]) -> tuple[int, str, str]:
    """Run the program in a process of its own."""
    pipes = [os.pipe(), os.pipe()]
    child = os.fork()
    if not child:
        for number, (_, writing) in enumerate(pipes, 1):
            os.dup2(writing, number)
        os.closerange(3, pipes[-1][-1] + 1)
        try:
            os._exit(become(asked))
        finally:  # of an exception, which is as it would be
            sys.excepthook(*sys.exc_info())
            os._exit(1)
    for _, writing in pipes:
        os.close(writing)
    out, err = read_both([reading for reading, _ in pipes])
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), out, err


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(forked(json.loads(line))), flush=True)
