"""Standard input as a file, and signals that end a command."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread
from types import FrameType

from sase.cli.queries import STANDARD_INPUT, ArgumentError, Terminated

# ---------------------------------------------------------------- signals


class Ending:
    """Handles SIGINT and SIGTERM: they raise an exception, delayed during a section `whole`.

    Only the main thread receives signals, so in another thread nothing is handled.
    """

    def __init__(self) -> None:
        self._asked: int | None = None
        self._is_held = False

    def __enter__(self) -> Ending:
        is_main = current_thread() is main_thread()
        numbers = (signal.SIGINT, signal.SIGTERM) if is_main else ()
        self._before = {number: signal.signal(number, self._take) for number in numbers}
        return self

    def __exit__(self, *problem: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    @contextmanager
    def whole(self) -> Iterator[None]:
        """Delay signals until the end of this section."""
        self._is_held = True
        try:
            yield
        finally:
            self._is_held = False
        if self._asked is not None:
            self._end(self._asked)

    def _take(self, number: int, frame: FrameType | None) -> None:
        self._asked = number
        if not self._is_held:
            self._end(number)

    def _end(self, number: int) -> None:
        raise KeyboardInterrupt if number == signal.SIGINT else Terminated


# ---------------------------------------------------------------- standard input

# The number of bytes that is enough to recognize a format.
BEGINNING = 1 << 12
# The first bytes of binary formats, with their suffixes.
BINARY = {b"PAR1": ".parquet", b"ARROW1": ".arrow"}


def check_inputs(arguments: Namespace) -> None:
    """Refuse a query and events that are both read from standard input."""
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
    """Copy all of standard input to a file, and return its path."""
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
    """The suffix of the format with these first bytes."""
    from sase.engine.sources.tail import BOM, NO_LINES
    from sase.errors import DataError

    for mark, suffix in BINARY.items():
        if beginning.startswith(mark):
            return suffix
    for mark, (what, way) in NO_LINES.items():
        if beginning.startswith(mark):
            raise DataError(f"standard input is {what}: give text, made with  {way}")
    return ".jsonl" if beginning.removeprefix(BOM).lstrip().startswith(b"{") else ".csv"
