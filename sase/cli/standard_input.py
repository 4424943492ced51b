"""Spool events from standard input to a temporary file."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager

from sase.cli.queries import STANDARD_INPUT, ArgumentError

# Enough to tell one format from another.
BEGINNING = 1 << 12
# How data begins that has a format of its own, and the suffix of that.
BINARY = {b"PAR1": ".parquet", b"ARROW1": ".arrow"}


def check_inputs(arguments: Namespace) -> None:
    """Refuse a query and events that are both to come on standard input."""
    inputs = [arguments.events, *(each.partition("=")[2] for each in arguments.input)]
    if STANDARD_INPUT in inputs and STANDARD_INPUT in arguments.files:
        raise ArgumentError(
            "the query and the events cannot both come on standard input: give one as a file, or"
            " the query with  -q TEXT"
        )


@contextmanager
def events_in_a_file(arguments: Namespace) -> Iterator[None]:
    """Replace `--events -` by a temporary file."""
    if arguments.events != STANDARD_INPUT:
        yield
        return
    with tempfile.TemporaryDirectory(prefix="sase-") as folder:
        arguments.events = _copied(folder)
        yield


def _copied(folder: str) -> str:
    """The path of a file with all of standard input."""
    from sase.errors import DataError

    if sys.stdin is None:
        raise ArgumentError("--events -: there is no standard input")
    source = sys.stdin.buffer
    beginning = source.read(BEGINNING)
    path = os.path.join(folder, f"standard input{_suffix(beginning)}")
    try:
        with open(path, "wb") as file:
            file.write(beginning)
            shutil.copyfileobj(source, file)
    except OSError as problem:
        raise DataError(
            f"standard input cannot be copied to {folder}: {problem.strerror}: TMPDIR names another"
            " place"
        ) from problem
    return path


def _suffix(beginning: bytes) -> str:
    """The suffix that says the format of what begins so."""
    from sase.engine.sources.tail import BOM, NO_LINES
    from sase.errors import DataError

    for mark, suffix in BINARY.items():
        if beginning.startswith(mark):
            return suffix
    for mark, (what, way) in NO_LINES.items():
        if beginning.startswith(mark):
            raise DataError(f"standard input is {what}: give text, made with  {way}")
    return ".jsonl" if beginning.removeprefix(BOM).lstrip().startswith(b"{") else ".csv"
