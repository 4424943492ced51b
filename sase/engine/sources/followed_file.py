"""Follow the lines of a file by name, or of standard input."""

from __future__ import annotations

import os
import select
import stat
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from typing import IO

from sase.errors import DataError

STANDARD_INPUT, NEWLINE = "-", b"\n"
# Seconds between polls of a file; bytes read at once.
PAUSE, SIZE = 0.1, 1 << 20


def followed_lines(path: str, pause: float, say: Callable[[str], object]) -> Iterator[bytes | None]:
    """Yield whole lines as they arrive. The end of a file ends its last line, and yields None."""
    left = b""
    is_input = path == STANDARD_INPUT
    for data in _from_standard_input() if is_input else _from_file(path, pause, say):
        if data is not None:
            whole, end, left = (left + data).rpartition(NEWLINE)
            if end:
                yield whole + end
            continue
        if left.strip():
            yield left + NEWLINE
        left = b""
        yield None
    if left.strip():
        yield left + NEWLINE


def _from_standard_input() -> Iterator[bytes]:
    if sys.stdin is None:
        raise DataError("there is no standard input")
    yield from _from_stream(sys.stdin.buffer)


def _from_stream(file: IO[bytes]) -> Iterator[bytes]:
    number = file.fileno()
    while True:
        select.select([number], [], [])
        data = os.read(number, SIZE)
        if not data:
            return
        yield data


def _from_file(path: str, pause: float, say: Callable[[str], object]) -> Iterator[bytes | None]:
    """Yield the content of a file by name, and what is appended, forever.

    None separates files of that name, and the content before and after a truncation.
    """
    with ExitStack() as held:
        try:
            file = held.enter_context(open(path, "rb"))
        except OSError as problem:
            raise DataError(f"{path} cannot be read: {problem.strerror}") from problem
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            yield from _from_stream(file)
            return
        missed = None
        while True:
            other = lacks = None
            try:
                if not os.path.samestat(os.stat(path), os.fstat(file.fileno())):
                    other = open(path, "rb")  # noqa: SIM115 - held when the one before is read
            except OSError as problem:
                lacks = problem.strerror
            # Only now, so that a renamed file is read to its end.
            yield from iter(partial(file.read, SIZE), b"")
            if other is not None:
                say(f"{path} is another file now, which is read from its beginning")
                held.close()
                file = held.enter_context(other)
                yield None
            elif os.fstat(file.fileno()).st_size < file.tell():
                say(f"{path} was truncated: it is read from its beginning")
                file.seek(0)
                yield None
            else:
                if lacks and lacks != missed:
                    say(f"{path}: {lacks}: waiting for a file of this name")
                missed = lacks
                time.sleep(pause)
